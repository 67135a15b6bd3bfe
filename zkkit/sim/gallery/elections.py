"""Elections: at most one leads, and it knows when that is over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...errors import ConnectionLost, NoNode, SessionLost
from ...paths import join, split
from ...recipes.line import Place, ahead_of
from ...steps import Children, Create, Delete, Get, Mark, Mode, Node, Script, Wait
from ..faults import NO_FAULTS, one
from ..properties import of_an_election
from ..steps import Say, Work
from .in_line import PATH, InLine, OneName
from .twin import Right, Shelf, actors, both, in_container, twin

LATCH = "latch-"


def stands_for_election(path: str) -> Script[None]:
    """Create a node, then look: the first leads, all others wait for the one just before."""
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while before := _before((yield from Children(path)), node):
        yield from _outwait(join(path, before[-1].name))
    yield from _lead(node)


def looks_then_stands(path: str) -> Script[None]:
    """Looks for a leader before it creates its node: two of them see nobody."""
    leader = yield from Children(path)
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while leader and (before := _before((yield from Children(path)), node)):
        yield from _outwait(join(path, before[-1].name))
    yield from _lead(node)


def _lead(node: Node) -> Script[None]:
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


def _before(names: tuple[str, ...], node: Node) -> Sequence[Place]:
    return ahead_of(split(node.path)[1], names, (LATCH,)) or ()


def _outwait(path: str) -> Script[None]:
    """Wait until this node may have gone."""
    try:
        yield from Get(path, watch=True)
        yield from Wait()
    except (NoNode, ConnectionLost):
        pass


class Stands(InLine):
    """Stands in line; the first leads."""

    kind = LATCH
    kinds = (LATCH,)
    began = "led"
    over = "unled"

    def work(self) -> Script[None]:
        yield from Say("believes")
        yield from Work()


class TakesTheChair(OneName):
    """Whoever creates the one node leads; all others wait for its going."""

    name = "leader"
    began = "led"
    over = "unled"

    def work(self) -> Script[None]:
        yield from Say("believes")
        yield from Work()


# --- mistakes -------------------------------------------------------------------------------


class LeadsOnAfterExpiry(Stands):
    """Goes on as a leader when it has learned that its session is over."""

    def work(self) -> Script[None]:
        try:
            yield from super().work()
        except SessionLost:
            yield from Say("believes")
            raise


class SitsDownBeside(TakesTheChair):
    """Somebody sits there: it takes that for its own node, and leads."""

    def take(self, mine: bytes) -> Script[Node | None]:
        made = yield from super().take(mine)
        if made is not None:
            return made
        try:
            return Node(self.node, (yield from Get(self.node)).stat)
        except (NoNode, ConnectionLost):
            return None


# --- the table ------------------------------------------------------------------------------

FAMILY = "election"
_LINE = Shelf(FAMILY, of_an_election, in_container, Stands(PATH))
_CHAIR = _LINE.but(right=TakesTheChair(PATH))

RIGHT = (
    Right(
        "Stands",
        FAMILY,
        "watch the one just ahead",
        partial(in_container, Stands(PATH)),
        of_an_election,
    ),
    Right(
        "TakesTheChair",
        FAMILY,
        "one name, and wait for its going",
        partial(in_container, TakesTheChair(PATH)),
        of_an_election,
    ),
)
TWINS = (
    twin(
        looks_then_stands,
        both(actors, looks_then_stands, stands_for_election, 2),
        NO_FAULTS,
        "one leader",
        of_an_election,
        FAMILY,
        "Stand first, then look: who looks first may see nobody, and so may others.",
    ),
    _LINE.wrong(
        LeadsOnAfterExpiry,
        one("expire"),
        "leaders believe what they were told",
        "Who has lost its session leads no more: stop, whatever you were doing.",
    ),
    _CHAIR.wrong(
        SitsDownBeside,
        NO_FAULTS,
        "one leader",
        "That the node is there says that somebody leads, not that you do.",
    ),
)
