"""The explorer: what it tries, what it promises, and the real recipes under each fault."""

from __future__ import annotations

import functools
import io

import pytest

from zkkit import ReentrantLock
from zkkit.errors import CounterUsedUp, SessionLost, TimedOut
from zkkit.recipes.herd import HerdLock
from zkkit.retry import once
from zkkit.show.progress import exploring
from zkkit.sim import (
    FAMILIES,
    NO_FAULTS,
    Explored,
    Faults,
    NothingAsked,
    Work,
    World,
    contenders,
    every,
    explore,
    one,
    use,
    walk,
)
from zkkit.sim.faults import KINDS
from zkkit.sim.gallery.locks import CreatesAgain, LosesAWakeup, TrustsItsPredecessorsDeath
from zkkit.sim.properties import (
    Always,
    EndsWell,
    History,
    NoLostWakeup,
    Property,
    of_a_fair_lock,
    of_a_lock,
)
from zkkit.sim.steps import Say
from zkkit.steps import Children, Create, Get, Mode, Set, Sync, Together, Wait, Watch, Within

LOCKS = {ReentrantLock: of_a_fair_lock, HerdLock: of_a_lock}


class Ends(Property):
    """Collects how things end: what is there, and what the actors ended with."""

    wants = frozenset({"ended"})
    memo = ()

    def __init__(self):
        self.seen = set()

    def after(self, memo, facts, view):
        ended = tuple(type(f.what).__name__ for f in facts if f.kind == "ended")
        return memo + ended, None

    def quiet(self, memo, view):
        self.seen.add((memo, "/l/x" in view.tree.nodes))


def ends_of(script, faults):
    """All ends of one actor with a script."""
    world, ends = World("/l"), Ends()
    world.actor("A", world.connect("A's session"), script)
    assert explore(world, faults=faults, properties=[ends]).holds
    return ends.seen


# --- the real recipes -------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True], ids=["own sessions", "one session"])
@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("fault", ["", *KINDS])
def test_two_contenders_under_each_fault(lock, fault, shared):
    """Two contenders, every interleaving, one fault of each kind: the lock keeps its promises."""
    faults = one(fault) if fault else NO_FAULTS
    world = contenders(lock, 2, shared=shared, timeout=1.0 if fault == "deadline" else None)
    verdict = explore(world, faults=faults, properties=LOCKS[lock]())
    assert verdict.holds, verdict


@pytest.mark.slow  # one fault of each kind every day
@pytest.mark.parametrize("lock", LOCKS)
def test_two_contenders_under_two_faults(lock):
    """Two faults of any kind, with a deadline."""
    world = contenders(lock, 2, timeout=1.0)
    verdict = explore(world, faults=Faults(2), properties=LOCKS[lock]())
    assert verdict.holds, verdict


@pytest.mark.parametrize("shared", [False, True], ids=["own sessions", "one session"])
@pytest.mark.parametrize("lock", LOCKS)
def test_beginning_again_in_a_new_session(lock, shared):
    """With one new beginning allowed a lost session still breaks no promise."""
    world = contenders(lock, 2, shared=shared, retry=once())
    faults = one("expire", "give up", "crash")
    verdict = explore(world, faults=faults, properties=LOCKS[lock]())
    assert verdict.holds, verdict


@pytest.mark.parametrize("lock", LOCKS)
def test_parents_made_and_reaped(lock):
    """The parent is missing at first, and reaped again whenever it is empty."""
    world = contenders(lock, 2, parent=False)
    verdict = explore(world, faults=Faults(2, ("reap",)), properties=LOCKS[lock]())
    assert verdict.holds, verdict


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["own sessions", "one session"])
@pytest.mark.parametrize("lock", LOCKS)
def test_three_contenders_under_any_fault(lock, shared):
    """Three contenders, every interleaving, any one fault."""
    verdict = explore(contenders(lock, 3, shared=shared), faults=one(), properties=LOCKS[lock]())
    assert verdict.holds, verdict


@pytest.mark.parametrize("wraps", [True, False])
def test_the_last_number_is_given_twice(wraps):
    """A quiet server gives the last sequence number again and again: nobody may hold with it."""
    world = contenders(ReentrantLock, 2, next_sequence=2**31 - 2, wraps=wraps)
    refused = of_a_fair_lock(fails=[CounterUsedUp])
    verdict = explore(world, faults=NO_FAULTS, properties=refused)
    assert verdict.holds, verdict
    verdict = explore(world, faults=NO_FAULTS, properties=[EndsWell()])
    assert "CounterUsedUp" in str(verdict), verdict


def test_three_contenders():
    """Three contenders, every interleaving, without faults and in one session with any fault."""
    for world, faults in (
        (contenders(ReentrantLock, 3), NO_FAULTS),
        (contenders(ReentrantLock, 3, shared=True), one()),
        (contenders(HerdLock, 3), NO_FAULTS),
    ):
        verdict = explore(world, of_a_lock(), faults=faults)
        assert verdict.holds, verdict


def test_reentry():
    """An owner that acquires twice and releases twice keeps others out until the second one."""
    world = World("/l")
    for name in "AB":
        session = world.connect(name)
        lock = ReentrantLock(session, "/l")

        def twice(lock=lock):
            yield from lock.acquire.of()
            try:
                yield from use(lock)
            finally:
                yield from lock.release.of()

        world.actor(name, session, twice)
    verdict = explore(world, faults=one("cancel"), properties=of_a_fair_lock())
    assert verdict.holds, verdict


# --- what can happen ---------------------------------------------------------------------


def creates():
    yield from Create("/l/x", mode=Mode.EPHEMERAL)


def acting(lock):
    """Acquire, work, act, work on, release."""
    yield from lock.acquire.of()
    try:
        yield from Work()
        yield from Say("acts")
        yield from Work()
    finally:
        yield from lock.release.of()


def test_a_holder_that_pauses():
    """Its session expires meanwhile and another one acquires; then it goes on, and acts as though
    it held. Two believe that they hold, but only one of them has a node."""

    def world():
        world = World("/l")
        for name in "AB":
            session = world.connect(f"{name}'s session")
            lock = ReentrantLock(session, "/l")
            world.actor(name, session, acting, lock)
        return world

    def rightly(facts, view):
        believe = {grant.actor for grant in view.grants}
        hold = {grant.actor for grant in view.real_grants()}
        return "A does not" if hold and facts[-1].actor in believe - hold else None

    acts = History("who acts holds", rightly, "said")
    story = explore(world(), faults=one("pause"), properties=[acts]).story
    assert story.wrong == "A does not" and story.faults == ("pause",)
    kinds = [event[0] for event in story.events]
    assert kinds.index("pause") < kinds.index("go on") and kinds[-1] == "work"
    assert explore(world(), faults=one("request lost"), properties=[acts]).holds
    verdict = explore(world(), faults=one("pause"), properties=of_a_fair_lock())
    assert verdict.holds, verdict


def test_only_holders_pause():
    """Whoever holds nothing can be slow, expire or crash; the fault `pause` is about holding."""

    def works():
        yield from Create("/l/x")
        yield from Work()

    world = World("/l")
    world.actor("A", world.connect(), works)
    assert (
        explore(world, of_a_lock(), faults=one("pause")).states
        == explore(world, of_a_lock(), faults=NO_FAULTS).states
    )


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("request lost", {(("NoneType",), True), (("ConnectionLost",), False)}),
        ("reply lost", {(("NoneType",), True), (("ConnectionLost",), True)}),
        ("cancel", {(("NoneType",), True), (("Cancelled",), True)}),
        ("crash", {(("NoneType",), True), ((), False)}),
        ("expire", {(("NoneType",), True), (("SessionLost",), False)}),
        ("give up", {(("NoneType",), True), (("SessionLost",), False)}),
    ],
)
def test_what_a_fault_means(fault, expected):
    """A create under each fault: how the actor ends, and whether its node is there in the end."""
    assert ends_of(creates, one(fault)) == expected


def test_a_deadline():
    """An inner deadline may run out or not; a pause always ends by itself."""

    def tries():
        try:
            yield from Within(1.0, Create("/l/x"))
        except TimedOut:
            yield from Within(0.1, Wait())

    assert ends_of(tries, one("deadline")) == {
        (("NoneType",), True),
        (("TimedOut",), True),
    }


def watcher_and_writer(read, faults):
    world = World("/l")
    world.actor("R", world.connect("R's session"), read)

    def write():
        yield from Set("/l", b"1")
        yield from Set("/l", b"2")

    world.actor("W", world.connect("W's session"), write)
    return explore(world, faults=faults, properties=[NoLostWakeup(), EndsWell()])


def test_a_follower_never_goes_back():
    """What one session reads may be old, but never older than what it has read before."""
    read = set()

    def reads():
        first = yield from Get("/l")
        second = yield from Get("/l")
        read.add((first.data, second.data))
        assert first.stat.version <= second.stat.version

    assert watcher_and_writer(reads, one("lag")).holds
    assert read == {(b"", b""), (b"", b"1"), (b"", b"2"), (b"1", b"1"), (b"1", b"2"), (b"2", b"2")}


def test_the_fire_comes_before_the_data():
    """Whoever sees a change it watched for has been told of it before: it need not wait."""

    def reads():
        before = yield from Get("/l", watch=True)
        after = yield from Get("/l")
        if before != after:
            yield from Wait()

    assert watcher_and_writer(reads, one("lag")).holds


class Fresh(Property):
    """Whatever is read is what the leader has."""

    name = "fresh"
    wants = frozenset({"applied"})

    def after(self, memo, facts, view):
        for fact in facts:
            if isinstance(fact.what, Get) and fact.outcome.data != view.tree.nodes["/l"].data:
                return memo, "old data"
        return memo, None


def reader_of(*requests):
    def reads():
        yield from Together(*requests)

    world = World("/l")
    world.actor("R", world.connect(), reads)

    def write():
        yield from Set("/l", b"1")

    world.actor("W", world.connect(), write)
    return world


def test_a_lagging_follower_shows_old_data():
    """Only with a lag does a reader see what is no longer so."""
    world = reader_of(Get("/l"))
    assert explore(world, faults=NO_FAULTS, properties=[Fresh()]).holds
    assert explore(world, faults=one("lag"), properties=[Fresh()]).story.wrong == "old data"


def test_sync_lets_the_follower_catch_up():
    """After a sync nothing that was there before it is missing."""

    class WriterFirst(Fresh):
        """Only what was written before the reader's sync must be seen."""

        wants = frozenset({"applied"})
        memo = b""

        def after(self, memo, facts, view):
            for fact in facts:
                if isinstance(fact.what, Sync):
                    memo = view.tree.nodes["/l"].data
                if isinstance(fact.what, Get) and fact.outcome.data < memo:
                    return memo, "old data"
            return memo, None

    synced = reader_of(Sync("/l"), Get("/l"))
    assert explore(synced, faults=one("lag"), properties=[WriterFirst()]).holds


def test_a_persistent_watch_keeps_firing():
    """Two changes, two wakeups, in every interleaving, also beside a one-shot watch."""

    def watches():
        yield from Watch("/l")
        yield from Get("/l", watch=True)
        while (yield from Get("/l")).data != b"2":
            yield from Wait()

    assert watcher_and_writer(watches, NO_FAULTS).holds


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_children_are_watched_beside_a_recursive_watch(lasting, leaves):
    """The recursive watch stands in for the watch on the children that the server would mix up
    with it, also after whoever set it has left."""
    world = World("/l")
    session = world.connect()

    def listens():
        yield from Watch("/l", recursive=True)
        while not leaves and not (yield from Children("/l")):
            assert (yield from Wait()).path == "/l/x"

    def looks():
        if lasting:
            yield from Watch("/l")
        while not (yield from Children("/l", watch=not lasting)):
            assert (yield from Wait()).path == "/l"

    world.actor("listener", session, listens)
    world.actor("looker", session, looks)
    world.actor("writer", world.connect(), lambda: iter(Create("/l/x")))
    verdict = explore(world, faults=NO_FAULTS, properties=[NoLostWakeup(), EndsWell()])
    assert verdict.holds, verdict


def test_together_is_explored_member_by_member():
    """Another one's write may fall between two members of a flight."""
    verdict = explore(contenders(ReentrantLock, 2), faults=NO_FAULTS, properties=[
        Always("nobody comes between", lambda view: (
            "somebody did" if any(len(actor[2]) == 1 for actor in view.actors)
            and len(view.tree.nodes["/l"].children) == 2 else None
        ))
    ])  # fmt: skip
    assert verdict.holds is False


# --- what it promises ----------------------------------------------------------------------


def test_a_verdict_names_its_bounds():
    """Never 'all' without saying of what."""
    verdict = explore(contenders(ReentrantLock, 2), of_a_lock(), faults=every(lag=1, reply_lost=1))
    assert verdict.bounds == "2 actors, at most 2 faults of lag, reply lost, each at most 1"
    assert f"{verdict.states:,} states" in str(verdict)


def test_a_budget_gives_unknown():
    """Out of states or out of seconds: neither true nor false."""
    for budget in ({"states": 50}, {"seconds": 0.0}):
        verdict = explore(contenders(ReentrantLock, 3), of_a_lock(), **budget)
        assert verdict.holds is None and verdict.story is None
        assert "given up after" in verdict.bounds


def test_progress_is_told():
    """The callback hears how far it has come."""
    heard = []
    verdict = explore(
        contenders(ReentrantLock, 3), of_a_lock(), faults=NO_FAULTS, progress=heard.append
    )
    assert [far.over for far in heard] == [False] * (len(heard) - 1) + [True]
    assert heard[-1].states == verdict.states


def test_progress_is_shown():
    """Ready made: on a terminal one line that goes again, elsewhere a line now and then."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, ends in ((Terminal(), "\r\x1b[K"), (io.StringIO(), "still to go on from\n")):
        world = contenders(ReentrantLock, 2)
        show = exploring(stream, every=0.0)
        show(Explored(1234, 56, 0.5))
        explore(world, of_a_lock(), progress=show)
        assert "1,234 states in 0.5 s" in stream.getvalue()
        assert stream.getvalue().endswith(ends)


def test_cancel_is_on_by_default():
    """Who names no faults still gets one cancel."""
    default = explore(contenders(ReentrantLock, 2), of_a_lock())
    assert (
        default.states
        == explore(contenders(ReentrantLock, 2), of_a_lock(), faults=one("cancel")).states
    )


def test_the_first_story_is_a_shortest_one():
    """It is the same every time, and no random walk finds a shorter one."""
    story = explore(contenders(CreatesAgain, 2), of_a_lock(), faults=one("reply lost")).story
    again = explore(contenders(CreatesAgain, 2), of_a_lock(), faults=one("reply lost")).story
    assert story == again
    for seed in range(10):
        walked = walk(contenders(CreatesAgain, 2), of_a_lock(), seed=seed, faults=one("reply lost"))
        assert len(walked.story.events) >= len(story.events)


def test_few_preemptions():
    """A bound on preemptions covers less, says so, and finds what needs none."""
    few = explore(contenders(ReentrantLock, 3), of_a_lock(), faults=NO_FAULTS, preemptions=1)
    more = explore(contenders(ReentrantLock, 3), of_a_lock(), faults=NO_FAULTS, preemptions=3)
    assert few.holds and more.holds and few.events < more.events
    assert "at most 1 preemption" in few.bounds
    broken = explore(
        contenders(CreatesAgain, 2), of_a_lock(), faults=one("reply lost"), preemptions=0
    )
    assert broken.holds is False


def test_random_walks():
    """The same seed walks the same way; a mistake is found; nothing found proves nothing."""
    broken = [
        walk(contenders(TrustsItsPredecessorsDeath, 3), of_a_lock(), seed=7, faults=one("cancel"))
        for _ in range(2)
    ]
    assert broken[0].holds is False and broken[0].story == broken[1].story
    right = walk(contenders(ReentrantLock, 3), of_a_lock(), seed=7, walks=200)
    assert right.holds is None and "seed 7" in right.bounds


def test_properties_of_ones_own():
    """A function of the state, and errors that an actor may end with."""
    world = contenders(ReentrantLock, 2)
    crowd = Always("no crowd", lambda view: "two" if len(view.tree.nodes) > 3 else None)
    assert explore(world, faults=NO_FAULTS, properties=[crowd]).story.wrong == "two"
    lost = one("expire")
    strict = explore(contenders(ReentrantLock, 2), faults=lost, properties=[EndsWell()])
    mild = explore(contenders(ReentrantLock, 2), faults=lost, properties=[EndsWell(SessionLost)])
    assert strict.holds is False and "SessionLost" in strict.story.wrong and mild.holds


def test_a_wrong_way_to_a_known_state():
    """Two faults end in the same state; the way by one of them is wrong, and is not overlooked."""

    def works():
        yield from Work()

    def verdict(*faults):
        world = World("/l")
        world.actor("A", world.connect(), works)
        return explore(world, faults=one(*faults), properties=[EndsWell()])

    assert verdict("crash").holds
    assert verdict("crash", "expire").story.faults == ("expire",)


def test_a_new_beginning_waits_for_the_old_node():
    """A session given up by its own clock leaves its node for a while: the next attempt waits
    behind it, and gets the lock when the server has expired it."""
    world = contenders(ReentrantLock, 1, retry=once())
    verdict = explore(world, faults=one("give up"), properties=[*of_a_fair_lock(), EndsWell()])
    assert verdict.holds is False and "SessionLost" in verdict.story.wrong  # while it held
    waited = Always(
        "nobody waits for itself",
        lambda view: "it does" if view.actors[0][1] == "wait" else None,
    )
    verdict = explore(world, faults=one("give up"), properties=[waited])
    assert verdict.story.breaks == "nobody waits for itself"


def test_nonsense_is_refused():
    """A fault nobody knows, and a world without actors."""
    with pytest.raises(ValueError, match="no such fault in this world: rain; there are cancel, "):
        explore(contenders(ReentrantLock, 2), of_a_lock(), faults=one("rain"))
    with pytest.raises(ValueError, match="nobody in this world"):
        explore(World(), of_a_lock())


@pytest.mark.parametrize("search", [explore, functools.partial(walk, seed=1)])
def test_what_must_hold_has_to_be_said(search):
    """Nothing is assumed of a world: without properties the families are named."""
    with pytest.raises(NothingAsked) as refused:
        search(contenders(ReentrantLock, 2))
    assert all(family in str(refused.value) for family in FAMILIES)


def test_the_verdict_names_what_was_asked():
    """All of it, whatever the outcome; and that nothing was asked, if so."""
    names = tuple(each.name for each in of_a_lock())
    for lock in (ReentrantLock, LosesAWakeup):
        verdict = explore(contenders(lock, 2), of_a_lock(), faults=NO_FAULTS)
        assert verdict.asked == names
        assert f"asked: {'; '.join(names)}" in " ".join(str(verdict).split())
    nothing = explore(contenders(ReentrantLock, 2), [], faults=NO_FAULTS)
    assert str(nothing).endswith("asked: only whether scripts keep the rules")
