"""Groups: who is there, and who looks at them."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from ...paths import join, protected
from ...recipes.shared import create_protected, list_children, until_answered, withdraw
from ...steps import Create, Fire, FireKind, Guid, Mode, Node, Script, Wait
from ..faults import NO_FAULTS, one
from ..properties import of_a_group
from ..steps import Say, Work
from ..world import World
from .in_line import PATH, At
from .twin import Right, Shelf, crew

MEMBER = "member-"


class Joins(At):
    """A node of its own session, by which it is known; removed when it leaves."""

    mode: ClassVar[Mode] = Mode.EPHEMERAL

    def life(self) -> Script[None]:
        """Join, stay a while, leave."""
        name = protected((yield from Guid()), MEMBER)
        node: Node | None = None
        try:
            node = yield from self.join(name)
            yield from Work()
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from self.leave(name, node)

    def join(self, name: str) -> Script[Node]:
        """Become a member."""
        (node,) = yield from create_protected(self.path, name, data=b"", mode=self.mode)
        made: Node = node
        return made

    def leave(self, name: str, node: Node) -> Script[None]:
        """Be no member any more."""
        return withdraw(self.path, name, node)


class Counts(At):
    """Says how many members there are, and looks again whenever it is woken."""

    def life(self) -> Script[None]:
        """Look, tell, and wait, for ever."""
        while True:
            yield from Say("members", len((yield from self.look())))
            yield from self.wait()

    def look(self) -> Script[tuple[str, ...]]:
        """Who is there, watched."""
        return list_children(self.path, watch=True)

    def wait(self) -> Script[Fire]:
        """Wait until somebody may have come or gone."""
        return (yield from Wait())


# --- mistakes -------------------------------------------------------------------------------


class StaysForGood(Joins):
    """A node that outlives its session: who has crashed is a member for ever."""

    mode = Mode.PERSISTENT


class JoinsTwice(Joins):
    """Joins once more after a lost reply, under another number, and knows only one of the two."""

    def join(self, name: str) -> Script[Node]:
        member = Create(join(self.path, MEMBER), mode=Mode.EPHEMERAL_SEQUENTIAL)
        return (yield from until_answered(member))


class CountsOnFires(Counts):
    """Takes each fire for one more member: somebody may have gone, or two have come."""

    def life(self) -> Script[None]:
        members = len((yield from self.look()))
        while True:
            yield from Say("members", members)
            yield from self.wait()
            yield from self.look()
            members += 1


class CountsDeafly(Counts):
    """Takes only changes for news: when the connection breaks all watches are gone."""

    def wait(self) -> Script[Fire]:
        while (fire := (yield from Wait())).kind is FireKind.NONE:
            pass
        return fire


# --- the table ------------------------------------------------------------------------------

FAMILY = "group"
_COUNTED, _ALIVE = "members are counted", "members are alive"
_asked = partial(of_a_group, PATH)


def _world(it: Joins, count: int = 2) -> World:
    return crew(*[it] * (count - 1), Counts(PATH))


def _counting(it: Counts, count: int = 2) -> World:
    return crew(*[Joins(PATH)] * (count - 1), it)


_JOIN = Shelf(FAMILY, _asked, _world, Joins(PATH))
_COUNT = Shelf(FAMILY, _asked, _counting, Counts(PATH))

RIGHT = (
    Right(
        "Joins", FAMILY, "a node that goes with its session", partial(_world, Joins(PATH)), _asked
    ),
    Right(
        "Counts",
        FAMILY,
        "look again whenever something changes",
        partial(_counting, Counts(PATH)),
        _asked,
    ),
)
TWINS = (
    _JOIN.wrong(
        StaysForGood,
        one("crash"),
        _ALIVE,
        "Be a member by an ephemeral node: it goes when you do.",
    ),
    _JOIN.wrong(
        JoinsTwice,
        one("reply lost"),
        _ALIVE,
        "Join under a name that you know again after a lost reply.",
    ),
    _COUNT.wrong(
        CountsOnFires, NO_FAULTS, _COUNTED, "A fire says that you should look, not who has come."
    ),
    _COUNT.wrong(
        CountsDeafly,
        one("request lost"),
        _COUNTED,
        "When the connection breaks all watches are gone: look again.",
    ),
)
