"""Double barriers: all come in together, and nobody goes before all are ready to go."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ...paths import join, protected
from ...recipes.shared import (
    create_or_there,
    create_protected,
    delete_surely,
    list_children,
    until_answered,
    wait_for_change,
    withdraw,
)
from ...steps import Create, Exists, Guid, Mode, Node, Script, Wait
from ..faults import NO_FAULTS, one
from ..properties import of_a_double_barrier
from ..steps import Say, Work
from ..world import World
from .barriers import READY
from .in_line import PATH
from .twin import Right, Shelf, same

MEMBER = "member-"


class ComesAndGoes(NamedTuple):
    """One node for each, which goes with its session, and a node that says that all have come.
    Coming in, whoever counts enough makes sure of that node; going out, each deletes its own and
    waits until none is left."""

    path: str
    many: int = 2

    def life(self) -> Script[None]:
        """Enter, work, leave."""
        name = protected((yield from Guid()), MEMBER)
        node: Node | None = None
        yield from Work()  # each comes when it comes
        try:
            yield from Say("arrives")
            node = yield from self.arrive(name)
            yield from self.wait_for_all()
            yield from Say("passes")
            yield from Work()
            yield from Say("leaves")
            yield from self.depart(node)
            yield from self.wait_for_none()
            yield from Say("left")
        except BaseException as ended:
            yield from self.clean_up(name, node, ended)
            raise

    def arrive(self, name: str) -> Script[Node]:
        """Say that we are here."""
        (made,) = yield from create_protected(self.path, name, data=b"", mode=Mode.EPHEMERAL)
        node: Node = made
        return node

    def wait_for_all(self) -> Script[None]:
        """Wait until enough have come."""
        while True:
            names = yield from list_children(self.path, watch=True)
            if READY in names:
                return
            if len(names) >= self.many:
                yield from create_or_there(Create(join(self.path, READY)))
                return
            yield from Wait()

    def depart(self, node: Node) -> Script[None]:
        """Say that we are ready to go."""
        return delete_surely(node.path)

    def wait_for_none(self) -> Script[None]:
        """Wait until nobody is left inside."""
        while {*(yield from list_children(self.path, watch=True))} - {READY}:
            yield from Wait()

    def clean_up(self, name: str, node: Node | None, ended: BaseException) -> Script[None]:
        """Nobody must wait for one who has given up."""
        return withdraw(self.path, name, node, after=ended)


class WatchesOneNode(ComesAndGoes):
    """The same with a watch on one node at a time: coming in on the node that says that all have
    come, going out on the one that is first of those inside."""

    def wait_for_all(self) -> Script[None]:
        names = yield from list_children(self.path)
        if READY not in names and len(names) < self.many:
            while (yield from until_answered(Exists(join(self.path, READY), watch=True))) is None:
                yield from Wait()
        yield from create_or_there(Create(join(self.path, READY)))

    def wait_for_none(self) -> Script[None]:
        while inside := {*(yield from list_children(self.path))} - {READY}:
            yield from wait_for_change(join(self.path, min(inside)))


# --- mistakes -------------------------------------------------------------------------------


class SaysNothingOfAll(ComesAndGoes):
    """Passes when it counts enough, and leaves no word: who looks when others have gone again waits
    for ever."""

    def wait_for_all(self) -> Script[None]:
        while len((yield from list_children(self.path, watch=True))) < self.many:
            yield from Wait()


class CountsTheReadyNode(ComesAndGoes):
    """Going out it counts all children, the node that says that all have come among them."""

    def wait_for_none(self) -> Script[None]:
        while (yield from list_children(self.path, watch=True)):
            yield from Wait()


class GoesWhenItsOwnIsGone(ComesAndGoes):
    """Deletes its node and goes: others are still at work."""

    def wait_for_none(self) -> Script[None]:
        yield from ()


class GoesWhenWoken(ComesAndGoes):
    """Goes when it is woken on the way out, and does not look again."""

    def wait_for_none(self) -> Script[None]:
        if {*(yield from list_children(self.path, watch=True))} - {READY}:
            yield from Wait()


class LeavesItsNameBehind(ComesAndGoes):
    """Cleans nothing up when it is cancelled: those inside wait for it for ever."""

    def clean_up(self, name: str, node: Node | None, ended: BaseException) -> Script[None]:
        yield from ()


# --- the table ------------------------------------------------------------------------------

FAMILY = "double barrier"
_asked = partial(of_a_double_barrier, 2)
_TWO = Shelf(FAMILY, _asked, same, ComesAndGoes(PATH))


def _all(kind: type[ComesAndGoes], count: int) -> World:
    return same(kind(PATH, 2), count)


RIGHT = (
    Right(
        "ComesAndGoes",
        FAMILY,
        "watch the directory, count again",
        partial(_all, ComesAndGoes),
        _asked,
    ),
    Right(
        "WatchesOneNode", FAMILY, "watch one node at a time", partial(_all, WatchesOneNode), _asked
    ),
)
TWINS = (
    _TWO.wrong(
        SaysNothingOfAll,
        NO_FAULTS,
        "nobody is left outside",
        "What was true for a moment is missed by the slow: leave a node that says it was.",
    ),
    _TWO.wrong(
        CountsTheReadyNode,
        NO_FAULTS,
        "nobody is kept in",
        "Know which children are members: count no others.",
    ),
    _TWO.wrong(
        GoesWhenItsOwnIsGone, NO_FAULTS, "nobody leaves early", "The way out is a barrier as well."
    ),
    _TWO.but(
        build=partial(same, count=3),
        properties=partial(of_a_double_barrier, 3),
        right=ComesAndGoes(PATH, 3),
    ).wrong(GoesWhenWoken, NO_FAULTS, "nobody leaves early", "One that goes is not all of them."),
    _TWO.wrong(
        LeavesItsNameBehind,
        one("cancel"),
        "nobody is kept in",
        "Whoever gives up takes its node along, or all others wait for it.",
    ),
)
