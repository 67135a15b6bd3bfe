"""The barriers that the contract suites run over: ours in every layout, and kazoo's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from zkkit import Barrier, DoubleBarrier

Make = Callable[..., Any]


@dataclass(frozen=True)
class Kind:
    """How to make one."""

    name: str
    make: Make

    def __str__(self) -> str:
        return self.name


class KazooDoubleBarrier:
    """kazoo's, as far as it can be called like one of ours: it has no deadlines, and tells by a
    property whether it is inside."""

    def __init__(self, client: Any, path: str, members: int) -> None:
        self._barrier = client.DoubleBarrier(path, members)

    def enter(self) -> bool:
        self._barrier.enter()
        return bool(self._barrier.participating)

    def leave(self) -> bool:
        self._barrier.leave()
        return True


class KazooBarrier:
    """kazoo's, by our names."""

    def __init__(self, client: Any, path: str) -> None:
        self._client = client
        self._barrier = client.Barrier(path)
        self.set, self.remove = self._barrier.create, self._barrier.remove

    def wait(self, timeout: float | None = None) -> bool:
        self._client.sync(self._barrier.path)  # ours does so itself: the server may lag
        return bool(self._barrier.wait(timeout))


GATE = Kind("Barrier", Barrier)
DOUBLE = Kind("DoubleBarrier", DoubleBarrier)
CURATORS = Kind("curator", lambda *given: DoubleBarrier(*given, layout="curator"))
KAZOO_GATE = Kind("kazoo.Barrier", KazooBarrier)
KAZOO_DOUBLE = Kind("kazoo.DoubleBarrier", KazooDoubleBarrier)


def over(*kinds: Any) -> Any:
    """Run a test over these kinds."""
    return pytest.mark.parametrize("kind", kinds, ids=str)


def keeps(kind: Kind) -> Any:
    """kazoo's own passes this test, too."""
    return pytest.param(kind, id=kind.name, marks=pytest.mark.front("kazoo"))


def breaks(kind: Kind, reason: str, raises: type[BaseException] = AssertionError) -> Any:
    """kazoo's own does not. Slow: it fails by letting a time pass."""
    xfail = pytest.mark.xfail(strict=True, reason=reason, raises=raises)
    return pytest.param(
        kind, id=kind.name, marks=[pytest.mark.front("kazoo"), pytest.mark.slow, xfail]
    )
