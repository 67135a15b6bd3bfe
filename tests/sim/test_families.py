"""Families: what each asks, that it has a goal, and that the shipped recipes keep it."""

from __future__ import annotations

import pytest

from zkkit import ReadWriteLock, ReentrantLock
from zkkit.errors import Cancelled, ConnectionLost, NoNode, SessionLost, TimedOut
from zkkit.recipe import pause
from zkkit.sim import (
    FAMILIES,
    NO_FAULTS,
    Faults,
    Say,
    StartNode,
    Work,
    World,
    contenders,
    explore,
    one,
    use,
)
from zkkit.sim.coverage.locks import FAMILIES as LOCKS
from zkkit.sim.faults import KINDS
from zkkit.sim.gallery.counters import Adds, AddsAgain
from zkkit.sim.gallery.in_line import PATH, PollsInLine
from zkkit.sim.gallery.leases import TwoLeases
from zkkit.sim.gallery.twin import in_container
from zkkit.sim.properties import (
    CachesAddUp,
    Converges,
    CostsAtMost,
    CountsOnce,
    EndsWell,
    EventsSumUp,
    Fifo,
    FreshReads,
    Goal,
    InOrder,
    LeadsAsItBelieves,
    MembersAreCounted,
    NeverGoesBack,
    NobodyIsKeptIn,
    NobodyIsLeftOutside,
    NobodyIsOvertaken,
    NobodyLeavesEarly,
    NobodyPassesEarly,
    NobodyStarves,
    NobodyTakesAway,
    NoOverlap,
    NoSleeper,
    NothingTakenTwice,
    NothingVanishes,
    OnePlace,
    ReadersAndWriters,
    RealGrants,
    ServesOnce,
    WorksWhileItHolds,
    items_of,
    mutual_exclusion,
    of_a_barrier,
    of_a_cache,
    of_a_counter,
    of_a_double_barrier,
    of_a_group,
    of_a_lock,
    of_a_queue,
    of_an_election,
    of_leases,
    of_readers_and_writers,
    one_leader,
)
from zkkit.steps import Children, Create, Delete, Get, Mode, Set, Spawn, Stop, Wait

GIVEN = {
    "of_leases": (2,),
    "of_a_double_barrier": (2,),
    "of_a_counter": ("/n",),
    "of_a_queue": ("/q",),
    "of_a_cache": ("/n",),
    "of_a_cached_tree": ("/n",),
    "of_a_group": ("/g",),
}
SEMAPHORES = LOCKS["semaphore"]
each_family = pytest.mark.parametrize("family", FAMILIES)


def asked(family):
    return FAMILIES[family](*GIVEN.get(family, ()))


@each_family
def test_every_family_has_a_goal_and_lets_nobody_fail(family):
    """So that neither nothing nor failing passes."""
    properties = asked(family)
    assert any(isinstance(each, Goal) for each in properties)
    assert any(isinstance(each, EndsWell) for each in properties)
    assert len({each.name for each in properties}) == len(properties)


def idles():
    yield from Get("/n")


@each_family
def test_nothing_done_holds_in_no_family(family):
    """Whatever is asked, scripts that only look on are called vacuous."""
    world = World("/n", "/q", "/g")
    for name in "AB":
        world.actor(name, world.connect(name), idles)
    verdict = explore(world, asked(family), faults=one())
    assert (verdict.holds, verdict.outcome) == (False, "vacuous")


ALONE = [
    mutual_exclusion(), one_leader(), NoOverlap(), ReadersAndWriters(), Fifo(), RealGrants(),
    OnePlace(), WorksWhileItHolds(), NobodyTakesAway(), LeadsAsItBelieves(), ServesOnce(),
    CostsAtMost(requests=1), NobodyIsOvertaken(), NobodyStarves(), NobodyStarves(word="took"),
    NobodyPassesEarly(2), NobodyIsLeftOutside(2), NobodyLeavesEarly(2), NobodyIsKeptIn(2),
    CountsOnce("/n"), NothingVanishes(items_of("/q", int)), NothingTakenTwice(),
    InOrder(items_of("/q", int)), Converges("/n"), NeverGoesBack("/n"), EventsSumUp(),
    FreshReads("/n"), CachesAddUp("/n", lambda path: False), MembersAreCounted("/g"),
]  # fmt: skip


@pytest.mark.parametrize("alone", ALONE, ids=lambda alone: alone.name)
def test_nothing_done_holds_for_no_property_alone(alone):
    """What is about something that somebody must do asks whether anybody does it."""
    world = World("/n", "/q", "/g")
    for name in "AB":
        world.actor(name, world.connect(name), idles)
    verdict = explore(world, [alone], faults=NO_FAULTS)
    assert verdict.outcome == "vacuous" and verdict.unmet == (alone.needs.name,)
    assert verdict.asked == (alone.name, alone.needs.name)


def test_a_goal_is_asked_for_once():
    """Whatever it is called: a property and a family may want the same."""
    names = tuple(each.name for each in of_an_election())
    verdict = explore(contenders(ReentrantLock, 2), of_an_election(), faults=NO_FAULTS)
    assert verdict.asked == names and "somebody is granted" not in names


def writes(data):
    yield from Say("adds", 1)
    yield from Set("/n", data)
    yield from Say("added", 1)


def puts(data):
    yield from Say("puts", 1)
    yield from Create("/q/item-", data, Mode.PERSISTENT_SEQUENTIAL)
    yield from Say("put", 1)


@pytest.mark.parametrize(
    ("asked", "script", "where"),
    [
        (of_a_counter("/n"), writes, "/n"),
        (of_a_cache("/n"), writes, "/n"),
        (of_a_queue("/q"), puts, "/q/item-0"),
    ],
    ids=["counter", "cache", "queue"],
)
def test_data_that_cannot_be_read_are_told(asked, script, where):
    """As a story, with whoever wrote them where that is known."""
    world = World(StartNode("/n"), StartNode("/q"))
    world.actor("A", world.connect("A"), script, b"first")
    wrong = explore(world, asked, faults=NO_FAULTS).story.wrong
    assert wrong.startswith(f"{where} has b'first', which cannot be read: invalid literal")


def test_the_writer_is_named():
    world = World(StartNode("/n"))
    world.actor("A", world.connect("A"), writes, b"first")
    verdict = explore(world, of_a_counter("/n"), faults=NO_FAULTS)
    assert verdict.story.wrong.endswith(": A wrote it")


def stops_all():
    yield from Get("/n")
    raise SystemExit(1)


def says_a_word():
    yield from Say("adds", "1")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (stops_all, "A's script fails: SystemExit: 1, at test_families.py:"),
        (says_a_word, "A's script fails: TypeError: Say('adds'): the amount is no number: '1', at"),
    ],
)
def test_what_a_script_does_wrong_is_a_story(script, found):
    world = World("/n")
    world.actor("A", world.connect("A"), script)
    assert explore(world, [], faults=NO_FAULTS).story.wrong.startswith(found)


def fails():
    yield from Get("/n")
    raise NoNode("/n")


@each_family
def test_failing_holds_in_no_family(family):
    world = World("/n", "/q", "/g")
    world.actor("A", world.connect("A"), fails)
    verdict = explore(world, asked(family), faults=NO_FAULTS)
    assert verdict.story.breaks == "nobody fails" and "A fails with NoNode" in verdict.story.wrong


def polls(look, word=""):
    """Looks again from time to time; says what it has found if there is a word for it."""
    said = None
    while True:
        found = yield from look()
        if found != said and word:
            yield from Say(word, found)
            said = found
        yield from pause(1.0)


def count():
    return len((yield from Children("/q")))


def value():
    return int((yield from Get("/n")).data or b"0")


def joins():
    member = yield from Create("/q/a", mode=Mode.EPHEMERAL)
    yield from Work()
    yield from Delete(member.path)


@pytest.mark.parametrize(
    ("asked", "look", "word", "other"),
    [
        (of_a_barrier(path="/n"), count, "", joins),
        (of_a_double_barrier(2), count, "", joins),
        (of_a_queue("/q"), count, "", joins),
        (of_a_cache("/n"), value, "sees", lambda: (yield from Set("/n", b"1"))),
        (of_a_group("/q"), count, "members", joins),
    ],
    ids=["barrier", "double barrier", "queue", "cache", "group"],
)
def test_whoever_looks_from_time_to_time_may_do_so_for_ever(asked, look, word, other):
    """Where waiting for ever may be right. Without a pause it is not."""

    def verdict(polling):
        world = World(StartNode("/n"), StartNode("/q"))
        for name, script in zip("AB", (polling, other), strict=True):
            world.actor(name, world.connect(name), script)
        return explore(world, asked, faults=NO_FAULTS)

    def spins():
        while True:
            yield from look()

    assert verdict(lambda: polls(look, word)).story is None
    found = {story.breaks for story in verdict(spins).stories}
    assert found == {"nobody goes round for ever"}


EXCUSES = [ConnectionLost("busy"), SessionLost("busy"), TimedOut("busy"), Cancelled()]


@each_family
@pytest.mark.parametrize("excuse", EXCUSES, ids=lambda excuse: type(excuse).__name__)
def test_an_excuse_needs_a_fault(family, excuse):
    """Nobody loses its connection, its session or its patience while nothing goes wrong."""

    def gives_up():
        yield from Get("/n")
        raise excuse

    world = World("/n", "/q", "/g")
    world.actor("A", world.connect("A"), gives_up)
    verdict = explore(world, asked(family), faults=NO_FAULTS)
    assert verdict.story.breaks == "nobody fails"
    assert f"A fails with {excuse!r} before any fault has happened" in verdict.story.wrong
    struck = explore(world, asked(family), faults=one("request lost")).story
    assert struck.faults == ()  # and after one it is excused


def test_a_clock_may_run_out_and_a_script_be_stopped():
    """Neither of them is a fault, nor any fault of theirs."""

    def sleeps():
        while True:
            yield from Wait()

    def impatient():
        spawned = yield from Spawn(sleeps())
        yield from Stop(spawned)
        yield from pause(1.0)
        yield from Get("/n")
        raise TimedOut("enough")

    world = World("/n")
    world.actor("A", world.connect("A"), impatient)
    verdict = explore(world, [EndsWell(TimedOut)], faults=NO_FAULTS)
    assert verdict.holds, verdict


def test_who_may_fail_can_be_said():
    """By default those whom a fault explains."""

    def looks_first(lock):
        yield from Get("/l")  # may be lost
        yield from use(lock)

    def world():
        world = World("/l")
        session = world.connect("A's session")
        world.actor("A", session, looks_first, ReentrantLock(session, "/l"))
        return world

    lost = one("request lost")
    assert explore(world(), of_a_lock(), faults=lost).holds
    strict = explore(world(), of_a_lock(fails=()), faults=lost)
    assert strict.story.wrong.startswith("A fails with ConnectionLost")


# --- leases, readers, counters --------------------------------------------------------------


def test_leases_are_given_together():
    """A semaphore of two that lets one in at a time is none, though nobody is wronged."""
    two = contenders(TwoLeases, 2, below=("locks", "leases"))
    assert explore(two, of_leases(2), faults=NO_FAULTS).holds
    alone = explore(in_container(PollsInLine(PATH)), of_leases(2), faults=NO_FAULTS)
    assert alone.outcome == "vacuous" and alone.unmet == ("2 hold together",)


def test_who_takes_two_waits_beside_one():
    """And may have one of them by then, without a word of it."""
    cast = next(each for each in SEMAPHORES if "both at once" in each.name)

    def verdict(**more):
        return explore(cast.world(None), of_leases(2, **more), faults=NO_FAULTS)

    assert verdict().story.breaks == "nobody sleeps beside a free lease"
    assert verdict(at_once=2).holds


def test_what_a_clock_has_ended_is_taken():
    """Until its node is gone: whoever waits for that does not sleep."""
    world = contenders(ReentrantLock, 2)
    assert explore(world, [NoSleeper(1), mutual_exclusion()], faults=one("lapse")).holds


def readers_and_a_writer(*kinds):
    world = World("/l")
    for name, kind in zip("ABC", kinds, strict=False):
        session = world.connect(f"{name}'s session")
        world.actor(name, session, use, getattr(ReadWriteLock(session, "/l"), kind))
    return world


def test_readers_read_together():
    """If it is said that there are two."""
    family = of_readers_and_writers(readers=2)
    assert explore(readers_and_a_writer("read", "read"), family, faults=NO_FAULTS).holds
    writers = explore(readers_and_a_writer("write", "write"), family, faults=NO_FAULTS)
    assert writers.outcome == "vacuous"


def test_a_goal_beyond_the_bounds_is_no_vacuity():
    """Two read together only if one of them is left while it could go on."""

    def verdict(preemptions):
        world, family = readers_and_a_writer("read", "read"), of_readers_and_writers(readers=2)
        return explore(world, family, faults=NO_FAULTS, preemptions=preemptions)

    bounded, met = verdict(0), verdict(1)
    assert (bounded.holds, bounded.outcome, bounded.complete) == (None, "unknown", "bounded")
    assert "not reached: 2 hold together" in str(bounded)
    assert (met.outcome, met.complete) == ("holds", "bounded")


def counters(adds):
    world = World(StartNode("/n"), StartNode("/marks"))
    for name in "AB":
        world.actor(name, world.connect(name), adds, "/n")
    return world


@pytest.mark.parametrize("fault", KINDS)
def test_the_right_counter(fault):
    assert explore(counters(adds_one), of_a_counter("/n"), faults=one(fault)).holds


def adds_one(path):
    return Adds(path).life()


def adds_blindly(path):
    return AddsAgain(path).life()


def adds_nothing(path):
    yield from Say("adds", 1)
    yield from Get(path)
    yield from Say("added", 1)


def adds_by_chance(path):
    yield from Say("adds", 1)
    data, _ = yield from Get(path)
    yield from Set(path, b"%d" % (int(data or b"0") + 1))
    yield from Say("added", 1)


@pytest.mark.parametrize(
    ("adds", "faults"),
    [(adds_blindly, one("reply lost")), (adds_nothing, NO_FAULTS), (adds_by_chance, NO_FAULTS)],
)
def test_wrong_counters(adds, faults):
    verdict = explore(counters(adds), of_a_counter("/n"), faults=faults)
    assert verdict.story.breaks == "counts once"


def test_goals_are_reached_without_the_faults():
    """A world in which faults can only be met still has to work without them."""
    verdict = explore(counters(adds_one), of_a_counter("/n"), faults=Faults(2, ("crash",)))
    assert verdict.holds and verdict.unmet == ()
