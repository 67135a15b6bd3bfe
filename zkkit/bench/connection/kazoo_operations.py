"""The operations by kazoo's client, whichever connection is below it. To acquire is to do it once;
there is nothing to release. An answer that is none is an error."""

from __future__ import annotations

from typing import Any

from zkkit.bench.connection.plan import AT_ONCE

DATA = b"x" * 100


class KazooOperation:
    """One caller of a client."""

    def __init__(self, client: Any, path: str) -> None:
        self._client, self._path = client, path

    def release(self) -> None: ...


class KazooExists(KazooOperation):
    """It asks for one stat after the other."""

    def acquire(self) -> None:
        if self._client.exists(self._path) is None:
            raise LookupError(self._path)


class KazooSet(KazooOperation):
    """It sets the data again and again, one request at a time."""

    def acquire(self) -> None:
        self._client.set(self._path, DATA)


class KazooPipelined(KazooOperation):
    """It has many requests under way at once."""

    def acquire(self) -> None:
        asked = [self._client.exists_async(self._path) for _ in range(AT_ONCE)]
        if None in [each.get() for each in asked]:
            raise LookupError(self._path)


RACES: dict[str, type[KazooOperation]] = {
    "exists": KazooExists,
    "set": KazooSet,
    "pipelined": KazooPipelined,
}
