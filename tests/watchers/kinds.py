"""The watches that the contract suite runs over: ours, and kazoo's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from zkkit import ChildrenWatch, DataWatch

Begin = Callable[[Any, str, Callable[..., object]], Any]


@dataclass(frozen=True)
class Kind:
    """Whose watches they are: how a function is made to be called."""

    name: str
    data: Begin
    children: Begin

    def __str__(self) -> str:
        return self.name


OURS = Kind(
    "zkkit",
    lambda session, path, function: DataWatch(session, path)(function),
    lambda session, path, function: ChildrenWatch(session, path)(function),
)


def _kazoos(name: str) -> Begin:
    def begin(client: Any, path: str, function: Callable[..., object]) -> Any:
        client.sync(path)  # ours do so themselves: the server may lag
        return getattr(client, name)(path, function)

    return begin


KAZOO = Kind("kazoo", _kazoos("DataWatch"), _kazoos("ChildrenWatch"))


def over(*kinds: Any) -> Any:
    """Run a test over these kinds."""
    return pytest.mark.parametrize("kind", kinds, ids=str)


kazoo_keeps = pytest.param(KAZOO, id=KAZOO.name, marks=pytest.mark.front("kazoo"))
"""kazoo's own watches pass this test, too."""


def kazoo_breaks(reason: str, raises: type[BaseException] = AssertionError) -> Any:
    """kazoo's own do not; `reason` names the issue. Slow: it fails by letting a time pass."""
    xfail = pytest.mark.xfail(strict=True, reason=reason, raises=raises)
    marks = [pytest.mark.front("kazoo"), pytest.mark.slow, xfail]
    return pytest.param(KAZOO, id=KAZOO.name, marks=marks)
