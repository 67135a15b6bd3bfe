"""The ready-made properties on little scripts: the right ones pass under every fault, and what a
property forbids is told. (Broken twins of each, found by exploring: test_gallery.)"""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NoNode
from zkkit.paths import split
from zkkit.sim import NO_FAULTS, Faults, Say, Work, World, contenders, explore, one, use
from zkkit.sim.faults import KINDS
from zkkit.sim.gallery import OTHERS
from zkkit.sim.gallery.barriers import Meets
from zkkit.sim.gallery.counters import Adds
from zkkit.sim.gallery.readers import reader, writer
from zkkit.sim.outside import ReadOutside, WriteOutside
from zkkit.sim.properties import (
    Always,
    AtMost,
    CountsOnce,
    History,
    NobodyPassesEarly,
    NoOverlap,
    NothingLost,
    ReadersAndWriters,
    mutual_exclusion,
    of_a_fair_lock,
    one_leader,
)
from zkkit.steps import Create, Delete, Get, Mark, Mode, Set, Wait

TWINS = {twin.name: twin for twin in OTHERS}


def world_of(*scripts, nodes=("/n",)):
    """A world in which A, B, ... each run a script in a session of their own."""
    world = World(*nodes)
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def holds(path):
    """Say that we hold by a node of this name, work, and let it go."""

    def script():
        node = yield from Create(path, mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from Work()
        yield from Mark("released", node.path, node.stat.czxid)
        yield from Delete(node.path)

    return script


def wrong(world, *properties, faults=NO_FAULTS):
    """What the first story says is wrong; None if all holds."""
    verdict = explore(world, faults=faults, properties=properties)
    assert verdict.holds is not None
    return None if verdict.holds else f"{verdict.story.breaks}: {verdict.story.wrong}"


# --- grants -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", sorted({*KINDS} - {"expire", "pause"}))
def test_holds_do_not_overlap_unless_one_is_late(fault):
    """Whatever else happens, whoever believes that it holds is alone in that."""
    verdict = explore(
        contenders(ReentrantLock, 2, timeout=1.0), faults=one(fault), properties=[NoOverlap()]
    )
    assert verdict.holds, verdict


@pytest.mark.parametrize("fault", ["expire", "pause"])
def test_a_late_holder_overlaps(fault):
    """Expired and not told: two believe that they hold, while only one has its node."""
    world = contenders(ReentrantLock, 2)
    assert wrong(world, mutual_exclusion(), faults=one(fault)) is None
    told = "holds never overlap: two believe that they hold at once: A and B"
    assert wrong(world, NoOverlap(), faults=one(fault)) == told


def test_at_most_so_many():
    """Three hold: two are too few, three are enough; each directory is counted for itself."""
    three = world_of(*[holds("/n/x-")] * 3)
    told = "at most 2: three holders at once, where 2 may be: A, B and C"
    assert wrong(three, AtMost(2)) == told
    assert wrong(three, AtMost(3)) is None
    apart = world_of(holds("/n/x-"), holds("/m/x-"), nodes=("/n", "/m"))
    assert wrong(apart, mutual_exclusion()) is None
    assert (
        wrong(world_of(*[holds("/n/x-")] * 2), one_leader())
        == "one leader: two leaders at once: A and B"
    )


def test_readers_and_writers():
    """Readers may be many; a writer is alone, but for itself."""

    def downgrades():
        write = yield from Create("/n/__WRIT__", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from Mark("acquired", write.path, write.stat.czxid)
        read = yield from Create("/n/__READ__", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from Mark("acquired", read.path, read.stat.czxid)
        yield from Work()

    reader, writer = holds("/n/__READ__"), holds("/n/__WRIT__")
    assert wrong(world_of(reader, reader, reader), ReadersAndWriters()) is None
    assert wrong(world_of(downgrades), ReadersAndWriters()) is None
    for other, does in ((reader, "reads"), (writer, "writes")):
        told = f"no writer with anyone: A writes in /n while B {does}"
        assert wrong(world_of(writer, other), ReadersAndWriters()) == told


def test_who_writes_may_be_said_otherwise():
    """Other names need a function that knows them; without one all are taken for writers."""
    world = world_of(holds("/n/w-"), holds("/n/r-"))
    by_letter = ReadersAndWriters(lambda path: split(path)[1].startswith("w"))
    assert "A writes in /n while B reads" in wrong(world, by_letter)
    assert "A writes in /n while B writes" in wrong(world, ReadersAndWriters())


@pytest.mark.parametrize("fault", KINDS)
def test_the_right_readers_and_writers(fault):
    """One writer and one reader, under each fault."""
    world = World("/l")
    for name, make in zip("AB", (writer, reader), strict=True):
        session = world.connect(f"{name}'s session")
        lock = make(session, "/l")
        world.actor(name, session, use, lock, timeout=1.0)
    assert wrong(world, ReadersAndWriters(), faults=one(fault)) is None


# --- writes -------------------------------------------------------------------------------------


def appends(name):
    """Read, work, and write with the name added, without any lock."""

    def script():
        data = (yield from Get("/n")).data
        yield from Work()
        yield from Set("/n", data + name)

    return script


def test_a_lost_update_is_told():
    """Two write what they have read; the second has not seen the first one's."""
    told = wrong(world_of(appends(b"A"), appends(b"B")), NothingLost("/n"))
    assert told == "nothing is lost: B replaces 'A' in /n by 'B', and an update is gone"
    assert wrong(world_of(appends(b"A")), NothingLost("/n")) is None


def test_a_deleted_node_is_a_lost_update():
    """What is gone is lost."""

    def deletes():
        yield from Delete("/n")

    assert "'A' in /n by ''" in wrong(world_of(appends(b"A"), deletes), NothingLost("/n"))


@pytest.mark.parametrize("fault", KINDS)
@pytest.mark.parametrize("name", ["WritesUnguarded", "WritesUnfenced"])
def test_guarded_and_fenced_writes_lose_nothing(name, fault):
    """Under each fault, not only the one that shows the mistake."""
    right = TWINS[name]
    verdict = explore(right.right(), faults=one(fault), properties=right.properties())
    assert verdict.holds, verdict


def test_a_late_write_is_refused():
    """Nothing is lost not because nobody is late, but because one who is gets refused."""

    def refused(facts, view):
        late = [f.actor for f in facts if isinstance(f.what, WriteOutside) and not f.outcome]
        return f"{view.name(late[0])} is" if late else None

    world = TWINS["WritesUnfenced"].right()
    nobody = History("nobody is refused", refused, "applied")
    assert wrong(world, nobody, faults=one("pause")) == "nobody is refused: A is"
    assert wrong(world, nobody) is None


def test_what_the_store_does():
    """It keeps the greatest token and refuses smaller ones; without a token it takes anything."""
    answers = []

    def asks():
        yield from Work()
        answers.append((yield from WriteOutside("/n", b"x", 5)))
        answers.append((yield from WriteOutside("/n", b"y", 4)))
        answers.append((yield from ReadOutside("/n", 4)))
        answers.append((yield from ReadOutside("/n", 6)))
        answers.append((yield from WriteOutside("/n", b"z", 5)))
        answers.append((yield from WriteOutside("/n", b"w")))
        answers.append((yield from ReadOutside("/n")))

    world = world_of(asks)
    assert wrong(world) is None
    assert answers[:7] == [True, False, None, b"x", False, True, b"w"]


# --- counters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "faults", [NO_FAULTS, *map(one, KINDS), Faults(2, ("reply lost",))], ids=str
)
def test_the_right_counter_counts_once(faults):
    """Two that add one each, under each fault, and with both replies lost."""
    world = world_of(*[Adds("/n").life] * 2, nodes=("/n", "/marks"))
    assert wrong(world, CountsOnce("/n"), faults=faults) is None


def test_k_additions_leave_exactly_k():
    """When all have worked, the counter shows their number."""
    three = world_of(*[Adds("/n").life] * 3, nodes=("/n", "/marks"))
    exactly = Always(
        "three", lambda view: None if view.tree.nodes["/n"].data == b"3" else "not", at_end=True
    )
    assert wrong(three, CountsOnce("/n"), exactly) is None


def test_a_counter_that_loses():
    """Two that read before they write: one addition is missing."""

    def adds():
        yield from Say("adds", 1)
        data, _ = yield from Get("/n")
        yield from Set("/n", b"%d" % (int(data or b"0") + 1))
        yield from Say("added", 1)

    told = "counts once: /n shows 1, where 2 was added"
    assert wrong(world_of(adds, adds), CountsOnce("/n")) == told


def test_a_counter_in_other_clothes():
    """The number may be written in any way, and more than one be added."""

    def adds():
        yield from Say("adds", 5)
        yield from Set("/n", (5).to_bytes(8, "big"))
        yield from Say("added", 5)

    read = lambda data: int.from_bytes(data, "big")  # noqa: E731
    assert wrong(world_of(adds), CountsOnce("/n", read)) is None
    assert "shows 5, where 10 was added" in wrong(world_of(adds, adds), CountsOnce("/n", read))


# --- barriers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", KINDS)
def test_the_right_barrier(fault):
    """Nobody passes early, under each fault."""
    world = world_of(*[Meets("/n", 2).life] * 2)
    assert wrong(world, NobodyPassesEarly(2), faults=one(fault)) is None


def gate(wait):
    """One that opens a gate, and one that waits for it."""

    def opens():
        yield from Work()
        yield from Say("opens")
        yield from Delete("/n/gate")

    def goes():
        yield from wait()
        yield from Say("through")

    return world_of(opens, goes, nodes=("/n/gate",))


def test_a_gate_with_words_of_its_own():
    """A barrier that one actor opens: count is one."""

    def waits():
        try:
            yield from Get("/n/gate", watch=True)
            yield from Wait()
        except NoNode:
            pass

    def runs():
        yield from Get("/n")

    asked = NobodyPassesEarly(1, arrives="opens", passes="through")
    assert wrong(gate(waits), asked) is None
    told = "nobody passes early: B passes when 0 of 1 have arrived"
    assert wrong(gate(runs), asked) == told


# --- one's own ------------------------------------------------------------------------------------


def test_a_property_of_the_history():
    """It is given all facts of its kinds, in order, across events."""

    def turns(facts, view):
        names = [view.name(fact.actor) for fact in facts if fact.kind == "acquired"]
        return None if names == sorted(names) else f"{' then '.join(names)}"

    world = contenders(ReentrantLock, 2)
    told = wrong(world, History("A is first", turns, "acquired"))
    assert told == "A is first: B then A"
    each_once = History(
        "each holds once",
        lambda facts, view: "again" if len({f.actor for f in facts}) < len(facts) else None,
        "acquired",
    )
    assert wrong(world, each_once, faults=one()) is None
    assert wrong(contenders(ReentrantLock, 1, times=2), each_once) == "each holds once: again"


@pytest.mark.parametrize("make", [
    lambda: History("mine", lambda facts, view: None, "bought"),
    lambda: Always("mine", lambda view: None, "bought"),
])  # fmt: skip
def test_facts_that_do_not_exist_are_refused(make):
    """Else the property would never be asked, and pass."""
    with pytest.raises(ValueError, match="'mine' asks for no such facts: bought"):
        make()


def test_properties_go_together():
    """Of several the first that is broken is told."""
    world = contenders(ReentrantLock, 2)
    no = Always("never", lambda view: "no", "acquired")
    assert wrong(world, *of_a_fair_lock(), no, NoOverlap()) == "never: no"
