"""Sessions that are opened once and serve all runs of an experiment."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

import zkkit
from zkkit import Session
from zkkit.errors import NoNode, ZkkitError
from zkkit.steps import Children, Delete, Script, Sync

_SESSION_TIMEOUT = 30.0  # seconds; a busy machine must not cost a contender its session
_GOODBYE = 2.0  # seconds to remove our nodes at the end


class Pool:
    """One session for the gate and one for each of `size` contenders, below one root node.

    Whatever ends it, the sessions are closed and the root is removed.
    """

    def __init__(self, hosts: str, size: int, *, connect_timeout: float = 10.0) -> None:
        self.root = f"/zkkit-bench-{uuid.uuid4().hex[:12]}"
        self.contenders: list[Session] = []
        self.gate = zkkit.connect(hosts, timeout=_SESSION_TIMEOUT, connect_timeout=connect_timeout)
        try:
            self.gate.create(self.root)
            while len(self.contenders) < size:
                self.contenders.append(
                    zkkit.connect(hosts, timeout=_SESSION_TIMEOUT, connect_timeout=connect_timeout)
                )
        except BaseException:
            self.close()
            raise

    @contextmanager
    def directory(self, name: str) -> Iterator[str]:
        """A fresh node to put a lock under; after a failure `close` removes it.

        It is persistent: the server could reap an empty container in the middle of a run, and
        making it again would count as creates.
        """
        path = f"{self.root}/{name}"
        self.gate.create(path)
        yield path
        self.gate.delete(path)

    def close(self) -> None:
        """End all waits, close all sessions, remove our nodes. Closing twice is harmless."""
        _close_all(self.contenders)
        try:
            self.gate.run(_remove(self.root), timeout=_GOODBYE)
        except ZkkitError:
            pass  # the servers are gone, or were never there: nothing more can be done
        finally:
            self.gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _close_all(sessions: Sequence[Session]) -> None:
    # Together: a frozen server costs each of them its patience.
    if sessions:
        with ThreadPoolExecutor(max_workers=min(32, len(sessions))) as executor:
            list(executor.map(Session.close, sessions))


def _remove(path: str) -> Script[None]:
    """Delete a node and all below it. The contenders' nodes went with their sessions; the sync
    is there to see that."""
    yield from Sync(path)
    for name in (yield from Children(path)):
        yield from _remove(f"{path}/{name}")
    try:
        yield from Delete(path)
    except NoNode:
        return
