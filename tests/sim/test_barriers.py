"""Barriers, one way and two: right ones are not accused under any fault, wrong ones are caught."""

from __future__ import annotations

import pytest

from zkkit.errors import NodeExists, NoNode, TimedOut
from zkkit.recipes.shared import delete_surely, until_answered
from zkkit.sim import NO_FAULTS, Say, Work, World, explore, one
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import (
    NobodyWaitsWhile,
    NoLostWakeup,
    of_a_barrier,
    of_a_double_barrier,
)
from zkkit.steps import Children, Create, Delete, Exists, Get, Guid, Mode, Wait, Within

EVERY = [NO_FAULTS, *map(one, KINDS)]


def world_of(*scripts, nodes=("/b",)):
    world = World(*nodes)
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def told(world, asked, faults=NO_FAULTS):
    """What is found, in words; the outcome if there is no story."""
    verdict = explore(world, asked, faults=faults)
    return verdict.story.wrong if verdict.story else verdict.outcome


# --- a barrier that one opens ---------------------------------------------------------------


def opens():
    yield from Work()
    yield from Say("arrives")
    try:
        yield from until_answered(Delete("/b/gate"))
    except NoNode:
        pass  # by ourselves: the reply was lost


def waits():
    """Until the gate is gone: looking and watching at one go."""
    while (yield from until_answered(Exists("/b/gate", watch=True))) is not None:
        yield from Wait()
    yield from Say("passes")


def waits_by_get():
    while True:
        try:
            yield from until_answered(Get("/b/gate", watch=True))
        except NoNode:
            break
        yield from Wait()
    yield from Say("passes")


def waits_with_a_clock():
    """Belt and braces: it looks again now and then."""
    while (yield from until_answered(Exists("/b/gate", watch=True))) is not None:
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass
    yield from Say("passes")


def polls():
    while (yield from until_answered(Exists("/b/gate"))) is not None:
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass
    yield from Say("passes")


GATES = [of_a_barrier(), of_a_barrier(path="/b/gate")]
by_words_and_by_path = pytest.mark.parametrize("asked", GATES, ids=["words", "path"])


@by_words_and_by_path
@pytest.mark.parametrize("faults", EVERY, ids=str)
@pytest.mark.parametrize("waiter", [waits, waits_by_get, waits_with_a_clock, polls])
def test_the_right_gate(waiter, faults, asked):
    """Nobody is accused who waits since the opener was cancelled, has crashed or has expired."""
    assert told(world_of(opens, waiter, nodes=("/b/gate",)), asked, faults) == "holds"


@pytest.mark.parametrize("fault", ["cancel", "crash", "expire"])
def test_no_lost_wakeup_would_accuse_it(fault):
    """Which is why a barrier is asked something else."""
    world = world_of(opens, waits, nodes=("/b/gate",))
    assert told(world, [NoLostWakeup()], one(fault)) == "B waits for ever"


def looks_twice():
    if (yield from Exists("/b/gate")) is not None:
        yield from Exists("/b/gate", watch=True)
        yield from Wait()
    yield from Say("passes")


def looks_twice_with_a_clock():
    while (yield from Exists("/b/gate")) is not None:
        yield from Exists("/b/gate", watch=True)
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass
    yield from Say("passes")


def watches_the_wrong_node():
    while (yield from Exists("/b/gate")) is not None:
        yield from Get("/b", watch=True)
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass
    yield from Say("passes")


def does_not_wait():
    yield from Exists("/b/gate")
    yield from Say("passes")


def passes_when_woken():
    if (yield from Exists("/b/gate", watch=True)) is not None:
        yield from Wait()
    yield from Say("passes")


def never_passes():
    yield from Exists("/b/gate")


def fails():
    yield from Get("/b/gates")


@by_words_and_by_path
@pytest.mark.parametrize(
    ("waiter", "faults", "found"),
    [
        (looks_twice, NO_FAULTS, "B waits, watching /b/gate, though"),
        (looks_twice_with_a_clock, NO_FAULTS, "B waits for its clock, watching /b/gate, though"),
        (watches_the_wrong_node, NO_FAULTS, "B waits for its clock, watching /b, though"),
        (does_not_wait, NO_FAULTS, "B passes when 0 of 1 have arrived"),
        (passes_when_woken, one("request lost"), "B passes when 0 of 1 have arrived"),
        (never_passes, NO_FAULTS, "vacuous"),
        (fails, NO_FAULTS, "B fails with NoNode"),
    ],
)
def test_wrong_gates(waiter, faults, found, asked):
    """A lost wakeup is found also where a clock would end the wait."""
    assert told(world_of(opens, waiter, nodes=("/b/gate",)), asked, faults).startswith(found)


def test_pollers_are_accused_on_request():
    """Who watches nothing polls: that is right, unless it is asked not to."""
    gone = lambda view: None if "/b/gate" in view.tree.nodes else "the gate is open"  # noqa: E731
    world = world_of(opens, polls, nodes=("/b/gate",))
    assert told(world, [NobodyWaitsWhile(gone)]) == "holds"
    found = told(world, [NobodyWaitsWhile(gone, pollers=True)])
    assert found == "B waits for its clock though the gate is open"


# --- a barrier at which so many meet --------------------------------------------------------


def meets(count):
    def script():
        yield from Work()
        yield from Say("arrives")
        me = yield from Create("/b/m-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        try:
            while len((yield from Children("/b", watch=True))) < count:
                yield from Wait()
        except BaseException:
            yield from delete_surely(me.path)
            raise
        yield from Say("passes")

    return script


def sleeps(count):
    """Counts first, then watches."""

    def script():
        yield from Say("arrives")
        yield from Create("/b/m-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        while len((yield from Children("/b"))) < count:
            yield from Children("/b", watch=True)
            yield from Wait()
        yield from Say("passes")

    return script


@pytest.mark.parametrize("faults", EVERY, ids=str)
def test_the_right_meeting(faults):
    """Whoever waits for one that never comes is right."""
    assert told(world_of(meets(2), meets(2)), of_a_barrier(count=2), faults) == "holds"


def test_wrong_meetings():
    """One who is not woken, and one who counts wrongly."""
    found = told(world_of(sleeps(2), sleeps(2)), of_a_barrier(count=2))
    assert found == "A waits, watching /b, though all 2 have arrived"
    early = told(world_of(meets(1), meets(1)), of_a_barrier(count=2))
    assert early == "A passes when 1 of 2 has arrived"


# --- a double barrier -----------------------------------------------------------------------


def enters(me, count):
    """Curator's: whoever sees that all are there makes the node `ready`, which lets all in."""
    yield from Say("arrives")
    yield from Create(me, mode=Mode.EPHEMERAL)
    while (yield from Exists("/b/ready", watch=True)) is None:
        if len((yield from Children("/b/m"))) >= count:
            try:
                yield from Create("/b/ready")
            except NodeExists:
                pass
            break
        yield from Wait()
    yield from Say("passes")


def leaves(me):
    """Deletes its node and waits until none is left."""
    yield from Say("leaves")
    yield from Delete(me)
    while (yield from members("/b/m")):
        yield from Wait()
    yield from Say("left")


def members(path):
    try:
        return (yield from Children(path, watch=True))
    except NoNode:
        return ()  # reaped


def enters_by_count(me, count):
    """Without `ready`: whoever is slow can still count, if nobody leaves before all do."""
    yield from Say("arrives")
    yield from Create(me, mode=Mode.EPHEMERAL)
    while len((yield from members("/b/m"))) < count:
        yield from Wait()
    yield from Say("passes")


def leaves_by_name(me):
    """Says by another node that it leaves, and keeps its own."""
    yield from Say("leaves")
    yield from Create(me.replace("/m/", "/out/"), mode=Mode.EPHEMERAL)
    while not {*(yield from members("/b/m"))} <= {*(yield from members("/b/out"))}:
        yield from Wait()
    yield from Say("left")


def cleans_up(script):
    """Whatever stops it, it leaves no node behind: it knows the names beforehand."""

    def guest():
        me = f"/b/m/{(yield from Guid())}"
        try:
            yield from script(me)
        except BaseException:
            yield from delete_surely(me)
            yield from delete_surely(me.replace("/m/", "/out/"))
            raise

    guest.__wrapped__ = script
    guest.__name__ = script.__name__
    return guest


@cleans_up
def curators(me):
    yield from enters(me, 2)
    yield from Work()
    yield from leaves(me)


@cleans_up
def counted(me):
    yield from enters_by_count(me, 2)
    yield from Work()
    yield from leaves_by_name(me)


DOUBLE = ("/b/m", "/b/out")


@pytest.mark.parametrize("faults", EVERY, ids=str)
@pytest.mark.parametrize("guest", [curators, counted])
def test_the_right_double_barrier(guest, faults):
    """Both ways, under every fault."""
    assert told(world_of(guest, guest, nodes=DOUBLE), of_a_double_barrier(2), faults) == "holds"


@cleans_up
def out_at_once(me):
    yield from enters(me, 2)
    yield from Work()
    yield from Say("leaves")
    yield from Delete(me)
    yield from Say("left")


@cleans_up
def in_at_once(me):
    yield from Work()
    yield from Say("arrives")
    yield from Create(me, mode=Mode.EPHEMERAL)
    yield from Say("passes")
    yield from leaves(me)


@cleans_up
def forgotten(me):
    """Counts without `ready`, and deletes its node when it leaves: who is slow misses it."""
    yield from enters_by_count(me, 2)
    yield from leaves(me)


@cleans_up
def kept_in(me):
    """Looks, and watches with a second look."""
    yield from enters(me, 2)
    yield from Say("leaves")
    yield from Delete(me)
    while (yield from Children("/b/m")):
        yield from Children("/b/m", watch=True)
        yield from Wait()
    yield from Say("left")


@cleans_up
def stays_in(me):
    yield from enters(me, 2)


@pytest.mark.parametrize(
    ("guest", "found"),
    [
        (out_at_once, "A is out while B has not begun to leave"),
        (in_at_once, "A passes when 1 of 2 has arrived"),
        (forgotten, "A waits, watching /b/m, though all 2 have arrived"),
        (kept_in, "A waits, watching /b/m, /b/ready, though all others have begun to leave"),
        (stays_in, "A has ended: it has said 'passes', and never 'left'"),
    ],
)
def test_wrong_double_barriers(guest, found):
    """In and out in their own words."""
    wrong = told(world_of(guest, guest, nodes=DOUBLE), of_a_double_barrier(2))
    assert wrong.replace("B waits", "A waits") == found


def test_a_guest_that_leaves_its_node_keeps_others_in():
    """One that is cancelled and does not clean up: whoever waits for it waits for ever."""

    def careless():
        yield from curators.__wrapped__("/b/m/x" + (yield from Guid()))

    found = told(world_of(careless, careless, nodes=DOUBLE), of_a_double_barrier(2), one("cancel"))
    assert found.endswith("though all others have begun to leave")
