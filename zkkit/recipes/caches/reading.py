"""How caches read: whole levels in one flight, and what a fire or an answer means to them.

**Costs.** A flight takes as long as one request, so a level of a tree is read in one; a level of
more than FLIGHT requests in several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from ...errors import NoAuth, NoNode
from ...paths import join
from ...steps import Exists, Fire, FireKind, Heard, Request, Script, Wait
from ..shared import read_all, there, until_answered

R = TypeVar("R")

FLIGHT = 10_000
"""The most requests that a cache sends at once."""


def read_many(requests: Sequence[Request[Any]]) -> Script[list[Any]]:
    """What these requests give, in as few flights as may be; None for a node that is not there, or
    that we may not read. Asked for again while the connection breaks."""
    found: list[Any] = []
    for first in range(0, len(requests), FLIGHT):
        outcomes = yield from read_all(*requests[first : first + FLIGHT])
        found += [there(each, HIDDEN) for each in outcomes]
    return found


HIDDEN = (NoNode, NoAuth)
"""What may not be read is not there."""


def read_or_await(read: Request[R]) -> Script[R | None]:
    """What this read gives, which sets a watch; None if there is no node, or none that we may read,
    and then that is watched: such a read leaves no watch, `Exists` does. (It fires when the node
    comes, goes or has new data, not when its ACL is changed: no watch does.)"""
    while True:
        try:
            return (yield from until_answered(read))
        except NoAuth:
            yield from until_answered(Exists(read.path, watch=True))
            try:  # it may have been allowed, and have changed, before there was a watch
                return (yield from until_answered(read))
            except HIDDEN:
                return None
        except NoNode:
            if (yield from until_answered(Exists(read.path, watch=True))) is None:
                return None


def next_fires() -> Script[tuple[Fire, ...]]:
    """Wait until a watch fires, and give all that have fired by then: they are looked at together,
    and however often one node has changed, once."""
    first = yield from Wait()
    return (first, *(yield from Heard()))


def is_cut_off(fires: Iterable[Fire]) -> bool:
    """Whether the connection broke meanwhile: everything is to be read again."""
    return any(fire.kind is FireKind.NONE for fire in fires)


def below(parent: str, names: Iterable[str]) -> list[str]:
    """The paths of children."""
    return [join(parent, name) for name in names]
