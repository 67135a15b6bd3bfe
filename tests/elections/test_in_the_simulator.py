"""Elections in the simulator: what the casts of `zkkit sim coverage` leave out, and broken twins
that must be caught. Every election under every fault is in tests/sim/test_coverage.py."""

from __future__ import annotations

from typing import Any

import pytest

from zkkit import HerdElection, LeaderLatch, LeaderSelector
from zkkit.errors import Cancelled, NoNode, SessionLost
from zkkit.paths import join, protected
from zkkit.recipes.elections import Leadership
from zkkit.recipes.line import first_in_line
from zkkit.recipes.shared import (
    create_protected,
    list_children,
    read_all,
    wait_for_change,
    withdraw,
)
from zkkit.recipes.tenure import still_held
from zkkit.sim import NO_FAULTS, Say, Work, World, explore, one
from zkkit.sim.coverage.cast import LOST
from zkkit.sim.coverage.elections import leading, letting_serve
from zkkit.sim.faults import every
from zkkit.sim.properties import Always, ServesOnce, of_an_election
from zkkit.steps import (
    Children,
    Create,
    Delete,
    Dismiss,
    Employ,
    Exists,
    Guid,
    Mode,
    Node,
    Recall,
    Remember,
    Script,
    Wait,
)

ASKED = of_an_election(fails=LOST)


def slowly(fault: str) -> Any:
    """Not every day."""
    return pytest.param(fault, marks=pytest.mark.slow)


def cast(*lives: Any) -> World:
    """Actors A, B, ... that live so, each in a session of its own."""
    world = World("/l")
    for name, life in zip("ABC", lives, strict=False):
        session = world.connect(f"{name}'s session")
        world.actor(name, session, life(session), None)
    return world


def holds(world: World, faults: Any, asked: Any = ASKED) -> None:
    verdict = explore(world, asked, faults=faults)
    assert verdict.holds, str(verdict)


# --- further worlds -------------------------------------------------------------------------------

POLICIES = [
    lambda s: LeaderLatch(s, "/l"),
    lambda s: LeaderLatch(s, "/l", error_policy="lost"),
    lambda s: HerdElection(s, "/l"),
]
NAMES = ["suspended", "lost", "herd"]


def leading_on(make: Any) -> Any:
    """Leads, and if it is in doubt waits until it leads again."""

    def live(session: Any) -> Any:
        latch = make(session)

        def begin(deadline: Any) -> Script[None]:
            yield from latch.start.of()
            try:
                while True:
                    lead = yield from latch.wait.of()
                    yield from Work()
                    if (yield from still_held(lead)):
                        yield from Say("believes")
                        return
                    yield from Say("doubts")
            except SessionLost:
                pass
            finally:
                yield from latch.close.of()

        return begin

    return live


@pytest.mark.parametrize("make", POLICIES, ids=NAMES)
@pytest.mark.parametrize("fault", ["lapse", "request lost", slowly("reply lost"), slowly("expire")])
def test_who_is_in_doubt_leads_again(make, fault):
    """A lapsed proof, a broken connection, a lost session: whoever waits for its candidate does not
    wait for ever, alone and beside another one."""
    holds(cast(leading_on(make)), one(fault))
    holds(cast(leading_on(make), leading(make)), one(fault))


@pytest.mark.parametrize("make", POLICIES, ids=NAMES)
def test_a_lapse_and_a_broken_connection(make):
    holds(cast(leading_on(make)), every(lapse=1, request_lost=1))


@pytest.mark.parametrize(
    "fault",
    ["", "lapse", slowly("cancel"), slowly("request lost"), slowly("reply lost"), slowly("reap")],
)
def test_two_functions_do_not_run_together(fault):
    """As long as no session ends under a leader: its node stays until its function has ended, also
    when it is in doubt by its own clock."""
    faults = one(fault) if fault else NO_FAULTS
    lives = [letting_serve(LeaderSelector)] * 2
    holds(cast(*lives), faults, (ServesOnce(everywhere=True), *ASKED))


def removing(session: Any) -> Any:
    """Somebody with a heavy hand: deletes the first node that it sees, once."""

    def begin(deadline: Any) -> Script[None]:
        for name in sorted((yield from list_children("/l")), key=lambda name: name[-10:])[:1]:
            try:
                yield from Delete(join("/l", name))
                yield from Say("removed")
            except NoNode:
                pass

    return begin


def believes_in_vain(view: Any) -> str | None:
    """In the end nobody believes in a node that is not there."""
    lost = [grant for grant in view.grants if grant not in view.real_grants()]
    return f"{view.name(lost[0].actor)} leads by a node that has gone" if lost else None


IN_VAIN = Always("nobody leads in vain", believes_in_vain, at_end=True)


def staying(make: Any) -> Any:
    """A candidate that is never closed: it stays until the end, and so does what it believes."""

    def live(session: Any) -> Any:
        latch = make(session)

        def begin(deadline: Any) -> Script[None]:
            yield from latch.start.of()
            yield from Recall("for ever", watch=True)
            yield from Wait()

        return begin

    return live


@pytest.mark.parametrize("make", POLICIES, ids=NAMES)
@pytest.mark.parametrize("count", [1, 2])
def test_somebody_removes_a_node(make, count):
    """Whosever it is: when all is quiet somebody leads, by a node that is there."""
    led = Always(
        "somebody leads", lambda view: None if view.real_grants() else "nobody leads", at_end=True
    )
    verdict = explore(cast(*[staying(make)] * count, removing), [IN_VAIN, led], faults=NO_FAULTS)
    assert verdict.holds, str(verdict)


# --- broken twins ---------------------------------------------------------------------------------


class LeadsAtOnce(LeaderLatch[Any]):
    """Does not look who was there before."""

    def _stand(self) -> Script[None]:
        name = protected((yield from Guid()), "latch-")
        node: Node | None = None
        try:
            (node,) = yield from create_protected(self.path, name, data=b"")
            while True:
                yield from self._lead(node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise


class TrustsTheOneAhead(LeaderLatch[Any]):
    """The one ahead has gone, so it leads: that may only have been a candidate."""

    def _stand(self) -> Script[None]:
        name = protected((yield from Guid()), "latch-")
        node: Node | None = None
        try:
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=b""
            )
            turn = first_in_line(self._line.ahead_of(node, names))
            if not turn.mine:
                yield from wait_for_change(join(self.path, turn.behind))
            while True:
                yield from self._lead(node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise


class KeepsItsOldNode(LeaderLatch[Any]):
    """After a lost session it takes the node of the old one for its own (CURATOR-696)."""

    def _stand(self) -> Script[None]:
        name = yield from Recall((self, "name"))
        if name is None:
            name = protected((yield from Guid()), "latch-")
            yield from Remember((self, "name"), name)
        node: Node | None = None
        try:
            found = [each for each in (yield from list_children(self.path)) if name in each]
            if found:
                (stat,) = yield from read_all(Exists(join(self.path, found[0])))
                node = Node(join(self.path, found[0]), stat) if stat else None
            if node is None:
                (node,) = yield from create_protected(self.path, name, data=b"")
            names = yield from list_children(self.path)
            while True:
                turn = first_in_line(self._line.ahead_of(node, names))
                if turn.mine:
                    yield from self._lead(node)
                else:
                    yield from wait_for_change(join(self.path, turn.behind))
                names = yield from list_children(self.path)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise


class StandsTwice(LeaderLatch[Any]):
    """Creates again after a lost reply, and waits for itself."""

    def _stand(self) -> Script[None]:
        create = Create(join(self.path, "latch-"), b"", Mode.EPHEMERAL_SEQUENTIAL)
        while True:
            (node,) = yield from read_all(create)
            names = yield from list_children(self.path)
            while not (turn := first_in_line(self._line.ahead_of(node, names))).mine:
                yield from wait_for_change(join(self.path, turn.behind))
                names = yield from list_children(self.path)
            try:
                yield from self._lead(node)
            finally:
                yield from withdraw(self.path, "latch-", node)


class StaysACandidate(LeaderLatch[Any]):
    """Leaves its node when it is closed."""

    def _stand(self) -> Script[None]:
        name = protected((yield from Guid()), "latch-")
        node, names = yield from create_protected(self.path, name, Children(self.path), data=b"")
        while True:
            turn = first_in_line(self._line.ahead_of(node, names))
            if turn.mine:
                yield from self._lead(node)
            else:
                yield from wait_for_change(join(self.path, turn.behind))
            names = yield from list_children(self.path)


class HearsNoClock(LeaderLatch[Any]):
    """Does not notice that its proof has lapsed: its node keeps everybody out, itself as well."""

    def _still_in_office(self, lead: Leadership[Any]) -> Script[bool]:
        return (yield from Recall(self._led, watch=True)) is not None


class HasNoSentry(LeaderLatch[Any]):
    """Nobody watches over its node: somebody else removes it, and it leads on."""

    def _watch_over(self, lead: Leadership[Any], when_suspended: bool) -> Script[None]:
        yield from ()


class TakesItsNodeForAnothers(HerdElection[Any]):
    """After a broken connection it finds the chair taken, by itself, and waits for it to go."""

    def _if_there(self, node: Node) -> Script[Node | None]:
        yield from ()
        return None


def latch(kind: Any) -> Any:
    return lambda session: kind(session, "/l")


@pytest.mark.parametrize(
    ("kind", "count", "faults", "broken"),
    [
        (LeadsAtOnce, 2, NO_FAULTS, "one leader"),
        (TrustsTheOneAhead, 3, one("crash"), "one leader"),
        (KeepsItsOldNode, 1, one("give up"), "grants are real"),
        (StandsTwice, 1, one("reply lost"), "no lost wakeup"),
        (StaysACandidate, 2, NO_FAULTS, "no lost wakeup"),
        (HearsNoClock, 1, one("lapse"), "no lost wakeup"),
        (TakesItsNodeForAnothers, 1, one("request lost"), "no lost wakeup"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_twin_is_caught(kind, count, faults, broken):
    """Each has one mistake, and the property that is there for it finds it."""
    verdict = explore(cast(*[leading_on(latch(kind))] * count), ASKED, faults=faults)
    assert verdict.holds is False, verdict
    assert broken in [story.breaks for story in verdict.stories], verdict


def test_a_twin_without_a_sentry_is_caught():
    world = cast(staying(latch(HasNoSentry)), removing)
    assert explore(world, [IN_VAIN], faults=NO_FAULTS).holds is False


# --- broken twins of the selector -----------------------------------------------------------------


class DoesNotWait(LeaderSelector[Any]):
    """Asks its function to stop, and goes on before it has: it runs twice (or beside the next)."""

    def _until_it_ends(self) -> Script[None]:
        yield from ()


class LeavesEarly(LeaderSelector[Any]):
    """Deletes its node when it asks its function to stop."""

    def _lead(self, node: Node) -> Script[None]:
        lead = Leadership(self, node)
        yield from Remember(self._queued, None)
        yield from self._take_office(lead, when_suspended=True)
        yield from Employ(self._job, self._serve, node)
        try:
            while not (yield from Recall(self._job, watch=True)).ended:
                yield from Wait()
        except (Cancelled, SessionLost):
            yield from self._leave_office(lead, lost=False)
            yield from Dismiss(self._job)
            yield from withdraw(self.path, "", node)
            raise


@pytest.mark.parametrize(
    ("kind", "faults", "everywhere"),
    [(DoesNotWait, one("expire"), False), (LeavesEarly, NO_FAULTS, True)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_twin_of_the_selector_is_caught(kind, faults, everywhere):
    lives = [letting_serve(kind, again=not everywhere)] * (2 if everywhere else 1)
    verdict = explore(cast(*lives), [ServesOnce(everywhere=everywhere)], faults=faults)
    assert verdict.holds is False, verdict
