"""The barriers in the simulator: what falls between their steps, and broken twins that are caught.

Every cast under every fault is in tests/sim/test_coverage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from zkkit import Barrier, DoubleBarrier
from zkkit.errors import NoNode
from zkkit.paths import join
from zkkit.recipes.barriers.double import Membership
from zkkit.recipes.barriers.layouts import BarrierRound, ByRounds, Way
from zkkit.recipes.shared import applied, create_protected, delete_surely, read_all, until_answered
from zkkit.scripting import script, timed_script
from zkkit.sim import Say, StartNode, Work, World, explore
from zkkit.sim.coverage.barriers import PATH, meeting, of_members, of_more, opening, waiting
from zkkit.sim.faults import NO_FAULTS, every, one
from zkkit.sim.lives import named
from zkkit.sim.properties import NobodyPassesEarly, of_a_barrier, of_a_double_barrier
from zkkit.sim.properties.base import Property, View
from zkkit.sim.state import Fact
from zkkit.steps import Children, Exists, FireKind, Get, Guid, Mode, Multi, Node, Script, Set, Wait


def world_of(*lives: Any, nodes: Sequence[Any] = (PATH,)) -> World:
    world = World(*nodes)
    for life, (name, session) in zip(lives, named(world, len(lives)), strict=True):
        world.actor(name, session, life(session), None)
    return world


# --- a gate ---------------------------------------------------------------------------------------


class StaysClosed(Property):
    """Whoever has closed the barrier again finds it closed: nobody else opens it here."""

    name = "it stays closed"
    wants = frozenset({"said", "applied"})
    memo = False

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        memo = memo or any(fact.what == "closed again" for fact in facts)
        gone = memo and PATH not in view.tree.nodes
        return memo, "the barrier that was closed again is open" if gone else None


def closing_again(session: Any) -> Any:
    """Waits until it is open, and closes it."""
    gate = Barrier(session, PATH)

    def begin(deadline: Any) -> Script[None]:
        yield from gate.wait.of()
        yield from gate.set.of()
        yield from Say("closed again")

    return begin


def opened_again(kind: type[Any], faults: Any) -> Any:
    world = World(StartNode(PATH))
    remover, closer = named(world, 2)
    world.actor(remover[0], remover[1], kind(remover[1], PATH).remove.of)
    world.actor(closer[0], closer[1], closing_again(closer[1]), None)
    return explore(world, [StaysClosed()], faults=faults)


class DeletesAgain(Barrier):
    """Deletes until it is confirmed, whichever node that is by then."""

    @script
    def remove(self) -> Script[None]:
        yield from delete_surely(self.path, outlives_session=True)


@pytest.mark.parametrize("fault", ["reply lost", "request lost", "expire", "give up"])
def test_a_remove_opens_one_barrier(fault):
    verdict = opened_again(Barrier, one(fault))
    assert verdict.holds, str(verdict)


def test_also_on_a_server_that_lags():
    verdict = opened_again(Barrier, every(reply_lost=1, lag=1))
    assert verdict.holds, str(verdict)


def test_who_deletes_again_is_caught():
    verdict = opened_again(DeletesAgain, one("reply lost"))
    assert verdict.holds is False
    assert verdict.story.faults == ("reply lost",)


class LooksTwice(Barrier):
    """Looks, and looks again to set its watch."""

    @timed_script(otherwise=False)
    def wait(self, timeout: float | None = None) -> Script[bool]:
        if (yield from until_answered(Exists(self.path))) is not None:
            yield from until_answered(Exists(self.path, watch=True))
            yield from Wait()
        return True


class TakesADropForAnOpening(Barrier):
    """Does not look again when it is woken."""

    def _wait(self) -> Script[bool]:
        if (yield from until_answered(Exists(self.path, watch=True))) is not None:
            yield from Wait()
        return True


@pytest.mark.parametrize(
    ("kind", "faults", "broken"),
    [
        (LooksTwice, NO_FAULTS, "nobody waits at an open barrier"),
        (TakesADropForAnOpening, one("request lost"), "nobody passes early"),
    ],
)
def test_wrong_gates(kind, faults, broken):
    def wrongly(session: Any) -> Any:
        def begin(deadline: Any) -> Script[None]:
            yield from kind(session, PATH).wait.of()
            yield from Say("passes")

        return begin

    asked = of_a_barrier(path=PATH)
    assert explore(world_of(opening, waiting), asked, faults=faults).holds
    verdict = explore(world_of(opening, wrongly), asked, faults=faults)
    assert verdict.holds is False
    assert verdict.story.breaks == broken


class ClosedIsClosed(Property):
    """Who comes after somebody has closed the barrier does not pass: nobody opens it here."""

    name = "closed is closed"
    wants = frozenset({"said"})
    memo: Any = (False, frozenset())

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        closed, came = memo
        for fact in facts:
            closed = closed or fact.what == "closed"
            if fact.what == "comes" and closed:
                came = came | {fact.actor}
            if fact.what == "passes" and fact.actor in came:
                return (closed, came), "somebody passes a barrier that is closed"
        return (closed, came), None


class BelievesItsServer(Barrier):
    """Does not let its server catch up before it looks."""

    def _wait(self) -> Script[bool]:
        while True:
            try:
                yield from until_answered(Get(self.path, watch=True))
            except NoNode:
                return True
            yield from Wait()


@pytest.mark.parametrize("kind", [Barrier, BelievesItsServer])
def test_a_server_that_lags_opens_nothing(kind):
    """It shows a barrier as open that was closed by way of another server: only the twin passes."""

    def closes(gate: Any) -> Script[None]:
        yield from gate.set.of()
        yield from Say("closed")

    def comes(gate: Any) -> Script[None]:
        yield from Work()
        yield from Say("comes")
        yield from gate.wait.of()
        yield from Say("passes")

    world = World()
    (name, session), (other, another) = named(world, 2)
    world.actor(name, session, closes, kind(session, PATH))
    world.actor(other, another, comes, kind(another, PATH))
    verdict = explore(world, [ClosedIsClosed()], faults=one("lag"))
    assert verdict.holds is (kind is Barrier), str(verdict)


# --- a meeting ------------------------------------------------------------------------------------


class LetThroughTogether(Property):
    """Whenever a round is opened, so many of those whom it names are there at that zxid."""

    name = "let through together"
    wants = frozenset({"applied"})
    memo: Any = b""

    def __init__(self, count: int) -> None:
        self.count = count

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        entry = view.tree.nodes.get(PATH)
        data = entry.data if entry is not None else b""
        if data == memo or not data:
            return data, None
        now, before = BarrierRound.of(data), BarrierRound.of(memo)
        there = now.members & {*entry.children}
        if now.opened_by != before.opened_by and len(there) < self.count:
            return data, f"{len(there)} of {self.count} are there when the round is opened"
        return data, None


ASKED = (*of_members(2), LetThroughTogether(2))


def twin(base: type[Any] = DoubleBarrier, layout: type[Any] = ByRounds, **options: Any) -> Any:
    """An actor with a barrier that has a mistake, in its script or in its layout."""

    class Twin(base):  # type: ignore[misc]
        def __init__(self, session: Any, path: str, members: int) -> None:
            super().__init__(session, path, members)
            self._layout = layout(path, members)

    return meeting(2, make=Twin, **options)


def curators(session: Any, path: str, members: int) -> Any:
    """A member that keeps to Curator's layout."""
    return DoubleBarrier(session, path, members, layout="curator")


@pytest.mark.parametrize(
    "fault", ["", "cancel", "deadline", pytest.param("reply lost", marks=pytest.mark.slow)]
)
def test_all_are_there_when_they_are_let_through(fault):
    world = World(PATH)
    for name, session in named(world, 2):
        deadline = 1.0 if fault == "deadline" else None
        world.actor(name, session, meeting(2, works=False)(session), deadline)
    verdict = explore(world, ASKED, faults=one(fault) if fault else NO_FAULTS)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("left", [b"x\nx\ny", b"anything"])
def test_stale_data_let_nobody_through(left):
    world = world_of(meeting(2), nodes=[StartNode(PATH, left)])
    verdict = explore(world, [NobodyPassesEarly(2)], faults=NO_FAULTS)
    assert verdict.unmet == ("somebody says 'passes'",) and not verdict.stories, str(verdict)


class ChecksNobody(ByRounds):
    """Writes the names of those whom it counted, and does not check that they are still there."""

    def _let(self, those: Any, present: Any, found: Any) -> Way:
        return Way(those.opened_by, Set(self.path, those.data, found.stat.version))


class TrustsWhatIsLeft(ByRounds):
    """Takes whatever names somebody for a round that goes on."""

    def way(self, node: Node, seen: tuple[Any, ...]) -> Way | None:
        way = super().way(node, seen)
        now = BarrierRound.of(seen[0].data)
        return way or (Way(now.opened_by) if now.members else None)


class CountsEveryChild(ByRounds):
    """Takes whatever is below its path for a member, as kazoo's does."""

    def _members(self, node: Node, names: Any) -> frozenset[str]:
        return frozenset(names)


STRANGERS = [PATH, join(PATH, "config")]


@pytest.mark.parametrize("make", [DoubleBarrier, curators], ids=["zkkit", "curator"])
def test_a_strangers_node_is_no_member(make):
    """Neither on the way in nor on the way out."""
    life = meeting(2, make=make)
    asked = of_a_double_barrier(2)
    verdict = explore(world_of(life, life, nodes=STRANGERS), asked, faults=NO_FAULTS)
    assert verdict.holds, str(verdict)


class OverwritesOthers(ByRounds):
    """Writes whatever others have written meanwhile."""

    def _let(self, those: Any, present: Any, found: Any) -> Way:
        way = super()._let(those, present, found)
        *checks, write = way.request.ops
        return way._replace(request=Multi((*checks, Set(write.path, write.data))))


class LooksOnce(ByRounds):
    """Reads who was let through, and lists who is there: who joins between is overlooked."""

    def inside(self, opened_by: str) -> Script[list[str]]:
        found, names = yield from read_all(Get(self.path), Children(self.path))
        if not isinstance(names, tuple):
            return []
        now = BarrierRound.of(found.data)
        return sorted(now.members & {*names}) if now.opened_by == opened_by else []


class LeavesAtOnce(DoubleBarrier):
    """Deletes its node and goes."""

    def _leave(self, node: Node, opened_by: str) -> Script[None]:
        yield from delete_surely(node.path)


class LeavesItsNode(DoubleBarrier):
    """Cleans nothing up when it is cancelled on the way in."""

    def _enter(self) -> Script[Membership]:
        name = yield from Guid()
        node, *seen = yield from create_protected(
            self.path, name, *self._layout.reads, data=b"", mode=Mode.EPHEMERAL, settle=True
        )
        while True:
            way = self._layout.way(node, tuple(seen))
            if way is None:
                yield from self.outwait()
            elif way.request is None or (yield from applied(way.request)):
                return Membership(node, way.opened_by)
            seen = yield from read_all(*self._layout.reads)

    def outwait(self) -> Script[None]:
        yield from Wait()


class IsDeaf(LeavesItsNode):
    """Waits on when a broken connection wakes it, as kazoo's does."""

    def outwait(self) -> Script[None]:
        while (yield from Wait()).kind is FireKind.NONE:
            pass


@pytest.mark.parametrize(
    ("life", "faults", "broken", "nodes"),
    [
        (twin(layout=ChecksNobody), one("cancel"), "let through together", [PATH]),
        (
            twin(layout=TrustsWhatIsLeft),
            NO_FAULTS,
            "nobody passes early",
            [StartNode(PATH, b"x\nx\ny")],
        ),
        (twin(layout=CountsEveryChild), NO_FAULTS, "nobody passes early", STRANGERS),
        (twin(LeavesAtOnce), NO_FAULTS, "nobody leaves early", [PATH]),
        (twin(LeavesItsNode), one("cancel"), "nobody is kept in", [PATH]),
        (twin(IsDeaf), one("request lost"), "nobody is left outside", [PATH]),
    ],
)
def test_a_broken_twin_is_caught(life, faults, broken, nodes):
    asked = ASKED if nodes == [PATH] else of_members(2)
    verdict = explore(world_of(life, life, nodes=nodes), asked, faults=faults)
    assert verdict.holds is False
    assert broken in [story.breaks for story in verdict.stories], str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("layout", [OverwritesOthers, LooksOnce])
def test_a_mistake_that_only_a_third_brings_to_light(layout):
    """More come than are counted, so that somebody joins a round that goes on."""
    life = twin(layout=layout, works=True)
    verdict = explore(world_of(*[life] * 3), of_more(2), faults=NO_FAULTS, preemptions=2)
    assert verdict.holds is False, str(verdict)


# --- Curator's layout -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["", "request lost", "reply lost", "lag"])
def test_curators_layout_for_one_round(fault):
    """One clean round, in which nobody fails: a broken connection harms nobody."""
    life = meeting(2, make=curators)
    faults = one(fault) if fault else NO_FAULTS
    verdict = explore(world_of(life, life), of_members(2), faults=faults)
    assert verdict.holds, str(verdict)


class ReadyTogether(Property):
    """When `ready` is created so many members are there."""

    name = "let through together"
    wants = frozenset({"applied"})
    memo = False

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        ready = join(PATH, "ready") in view.tree.nodes
        there = len({*view.tree.nodes[PATH].children} - {"ready"})
        return ready, f"{there} are there" if ready and not memo and there < 2 else None


@pytest.mark.parametrize(
    ("asked", "faults", "nodes"),
    [
        (NobodyPassesEarly(2), NO_FAULTS, [PATH, join(PATH, "ready")]),
        (ReadyTogether(), one("cancel"), [PATH]),
    ],
)
def test_what_curators_layout_does_not_give(asked, faults, nodes):
    """What the documents list: a `ready` that is left over, and one who gives up while it is
    counted."""
    life = meeting(2, make=curators)
    verdict = explore(world_of(life, life, nodes=nodes), [asked], faults=faults)
    assert verdict.holds is False
