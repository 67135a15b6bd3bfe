"""Histories: shared, merged where that is right, and never where it is not."""

from __future__ import annotations

import itertools
import re
import time

import pytest

import zkkit.sim.watchdog
from zkkit.errors import Cancelled, NoNode, TimedOut
from zkkit.sim import NO_FAULTS, Endless, Impure, World, explore, one, replay
from zkkit.sim.gallery import TWINS
from zkkit.sim.properties import NoLostWakeup, of_a_lock
from zkkit.sim.scripts import NotComparable, Root
from zkkit.sim.watchdog import Activity
from zkkit.steps import Children, Create, Delete, Exists, Get, Now, Wait, Within


def root_of(script):
    return Root(script, Activity())


def test_a_known_history_runs_no_code():
    """The second time the same results lead to the same moment, without running the script."""

    def script():
        seen = yield Exists("/a")
        yield Exists("/b" if seen else "/c")

    root = root_of(script)
    first = root.start.send(None).send(None)
    runs = root.runs
    assert root.start.send(None).send(None) is first
    assert root.runs == runs and first.step == Exists("/c")


def test_equal_variables_merge():
    """What was read and forgotten makes no difference."""

    def script():
        yield Children("/a")
        yield Children("/b")

    start = root_of(script).start.send(None)
    assert start.send(("x",)) is start.send(("y",))


def test_other_variables_do_not_merge():
    """What was read and kept does."""

    def script():
        names = yield Children("/a")
        yield Children("/b")
        yield Children("/" + names[0])

    start = root_of(script).start.send(None)
    x, y = start.send(("x",)), start.send(("y",))
    assert x is not y
    assert (x.send(()).step, y.send(()).step) == (Children("/x"), Children("/y"))


class Answer:
    """A learner's lock: an object with a path, and whatever it keeps."""

    def __init__(self, path):
        self.path = path
        self.seen = None

    def looks(self):
        yield Children(self.path)
        yield Children("/b")

    def looks_and_keeps(self):
        self.seen = yield Children(self.path)
        yield Children("/b")


class Slotted(Answer):
    """It keeps something where `vars` does not show it."""

    __slots__ = ("hidden",)


def test_objects_of_plain_classes_are_compared_by_their_attributes():
    """Scripts are methods of them: a loop in one comes round as any other does."""
    start = root_of(lambda: Answer("/a").looks()).start.send(None)
    assert start.send(("x",)) is start.send(("y",))
    start = root_of(lambda: Answer("/a").looks_and_keeps()).start.send(None)
    assert start.send(("x",)) is not start.send(("y",))


def test_objects_with_more_than_attributes_are_not_compared():
    """Nobody can tell whether two of them are alike: each history stands for itself."""
    start = root_of(lambda: Slotted("/a").looks()).start.send(None)
    assert start.send(("x",)) is not start.send(("y",))


def test_the_place_in_a_loop_counts():
    """Two turns of a loop over equal things look alike, except for the iterator on the stack."""

    def script():
        for name in ("a", "a"):
            yield Exists("/" + name)
        yield Exists("/end")

    first = root_of(script).start.send(None)
    second = first.send(None)
    assert second is not first
    assert second.send(None).step == Exists("/end")


def test_the_exception_being_handled_counts():
    """Two errors lead to the same place with equal variables; what is raised afterwards differs."""

    def script():
        try:
            yield Get("/a")
        except BaseException:
            yield Delete("/mine")
            raise

    start = root_of(script).start.send(None)
    gone, cancelled = start.throw(NoNode("/a")), start.throw(Cancelled())
    assert gone is not cancelled
    assert isinstance(gone.send(None).error, NoNode)
    assert isinstance(cancelled.send(None).error, Cancelled)


def test_two_names_of_one_list_count():
    """One list under two names is not the same as two equal lists."""

    def script():
        shared = yield Now()
        one: list[int] = []
        two = one if shared else []
        del shared
        yield Children("/a")
        one.append(1)
        yield Exists("/" + str(len(two)))

    start = root_of(script).start.send(None)
    assert start.send(1.0).send(()).step == Exists("/1")
    assert start.send(0.0).send(()).step == Exists("/0")


def test_the_step_itself_counts():
    """What was read only to make the step leaves no trace in the variables."""

    def script():
        yield Children("/" + (yield Children("/a"))[0])

    start = root_of(script).start.send(None)
    assert start.send(("x",)).step == Children("/x")
    assert start.send(("y",)).step == Children("/y")


def test_the_defaults_of_a_function_count():
    """Two functions with the same code are not alike if their defaults differ."""

    def script():
        name = yield Children("/a")
        give = lambda name=name: name[0]  # noqa: E731
        del name
        yield Children("/b")
        yield Children("/" + give())

    start = root_of(script).start.send(None)
    assert start.send(("x",)).send(()).step == Children("/x")
    assert start.send(("y",)).send(()).step == Children("/y")


def test_a_deadline_around_an_impure_script_is_no_hiding_place():
    """What runs inside a Within is run again as well."""
    runs = itertools.count()

    def counts():
        yield from Exists(f"/l/{next(runs)}")
        yield from Exists("/l")

    def hides():
        yield from Within(1.0, counts())

    with pytest.raises(Impure, match=r"counts \(.*test_scripts.py:\d+\)"):
        alone(hides, faults=NO_FAULTS)


def alone(script, **options):
    """Explore one actor."""
    world = World("/l")
    world.actor("A", world.connect(), script)
    return explore(world, properties=(), **options)


def test_a_clock_is_noticed():
    """A script that reads a clock does something else when it is run again: file and line."""

    def reads_a_clock():
        yield Exists(f"/l/{time.monotonic_ns()}")
        yield Exists("/l")

    with pytest.raises(Impure, match=r"reads_a_clock \(.*test_scripts.py:\d+\)"):
        alone(reads_a_clock, faults=NO_FAULTS)


def test_a_shared_object_is_noticed():
    """A script that counts its own runs is no function of its results."""
    runs = itertools.count()

    def counts_its_runs():
        yield Exists("/l")
        yield Exists(f"/l/{next(runs)}")
        yield Exists("/l")

    with pytest.raises(Impure, match=r"counts_its_runs \(.*test_scripts.py:\d+\)"):
        alone(counts_its_runs)


def test_no_step_is_noticed():
    """A script that yields something else: a story that says where."""

    def yields_a_number():
        yield Exists("/l")
        yield 42

    story = alone(yields_a_number).story
    assert story.breaks == "scripts raise nothing of their own"
    assert re.fullmatch(
        r"A's script fails: NotAStep: a script yielded 42, which is no step: "
        r"test_scripts.py:\d+ in yields_a_number",
        story.wrong,
    )


def test_a_path_that_makes_no_sense_is_noticed():
    """A path that ZooKeeper would refuse is a mistake of the script, and told with its line."""

    def forgets_the_slash():
        yield Exists("l")

    wrong = alone(forgets_the_slash).story.wrong
    assert re.search(r"^A's script fails: InvalidPath: .*, at test_scripts.py:\d+$", wrong)


def test_an_endless_computation_is_ended(monkeypatch):
    """A script that never yields again is interrupted, and the line named."""
    monkeypatch.setattr(zkkit.sim.watchdog, "PATIENCE", 0.1)

    def computes_for_ever():
        yield Exists("/l")
        while True:
            pass

    with pytest.raises(Endless, match=r"computes_for_ever \(.*test_scripts.py:\d+\)"):
        alone(computes_for_ever)


def test_an_endless_chain_of_small_steps_is_ended():
    """Steps that take no time, again and again: the script would never wait."""

    def asks_the_time():
        while True:
            yield Now()

    with pytest.raises(Endless, match=r"asks_the_time \(.*test_scripts.py:\d+\)"):
        alone(asks_the_time)


def test_a_swallowed_cancel_is_noticed():
    """A script that ends as if it had not been cancelled is named; one that re-raises is not."""

    def swallows_its_cancel():
        try:
            yield Exists("/l")
        except Cancelled:
            return

    def lets_it_pass():
        try:
            yield Exists("/l")
        finally:
            yield Children("/l")

    story = alone(swallows_its_cancel).story
    assert story.faults == ("cancel",)
    assert re.fullmatch(
        r"A's script fails: SwallowedCancel: it was cancelled, and ended as if nothing had "
        r"happened, at test_scripts.py:\d+",
        story.wrong,
    )
    assert alone(lets_it_pass, faults=one("cancel")).holds


def test_a_bug_in_a_script_is_a_story():
    """An error of Python's is told with its line, step by step, and comes again in a replay."""

    def fails():
        yield Exists("/l")
        found = yield from Children("/l")
        found.sort()  # the bug

    story = alone(fails, faults=NO_FAULTS).story
    line = fails.__code__.co_firstlineno + 3
    assert story.breaks == "scripts raise nothing of their own"
    assert story.wrong == (
        f"A's script fails: AttributeError: 'tuple' object has no attribute 'sort', at "
        f"test_scripts.py:{line}"
    )
    assert str(story).splitlines()[-1] == (
        f"       A ends with AttributeError   [test_scripts.py:{line}]"
    )
    world = World("/l")
    world.actor("A", world.connect(), fails)
    assert replay(story, world, []) == story.wrong


def test_a_bug_before_the_first_step_is_a_story():
    """Nothing has happened yet, and that is what it says."""

    def fails_at_once():
        raise ZeroDivisionError
        yield

    story = alone(fails_at_once).story
    assert story.events == () and "ZeroDivisionError, at test_scripts.py:" in story.wrong


def test_a_bug_is_found_where_it_was_made_not_where_it_was_noticed():
    """A step that zkkit refuses names the line that made it."""

    def writes_text():
        yield from Create("/l/x", "text")

    line = writes_text.__code__.co_firstlineno + 1
    assert alone(writes_text).story.wrong.endswith(f"at test_scripts.py:{line}")


def test_an_address_in_an_error_makes_no_two_stories():
    """The finding says nothing that differs from run to run."""

    def fails():
        yield Exists("/l")
        raise LookupError(object())

    assert "0x" not in alone(fails).story.wrong


def test_a_wait_for_nothing_is_told():
    """The default properties tell of a script that waits for ever."""

    def waits():
        yield Wait()

    world = World()
    world.actor("A", world.connect(), waits)
    verdict = explore(world, of_a_lock(), faults=NO_FAULTS)
    assert verdict.holds is False
    assert verdict.story.wrong == "A waits for ever"


# --- going round for ever -----------------------------------------------------------------


def polls(pause):
    def polls_for_a_node():
        while (yield from Exists("/l/x")) is None:
            if pause:
                try:
                    yield from Within(0.1, Wait())
                except TimedOut:
                    pass

    return polls_for_a_node


def world_of(*scripts):
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(), script)
    return world


def creates():
    yield from Children("/l")
    yield from Create("/l/x")


@pytest.mark.parametrize("pause", [False, True], ids=["at once", "with pauses"])
def test_polling_for_nothing_is_told(pause):
    """Nobody can ever make the node: the script goes round for ever, and is named."""
    verdict = explore(world_of(polls(pause)), [NoLostWakeup()])
    assert verdict.holds is False
    assert "A goes round for ever in" in verdict.story.wrong
    assert re.search(r"polls_for_a_node \(test_scripts.py:\d+\)", verdict.story.wrong)
    assert "A asked last: exists /l/x -> not there [test_scripts.py:" in verdict.story.why[0]
    assert verdict.story.why[1] == "there is nobody else"
    assert replay(verdict.story, world_of(polls(pause)), [NoLostWakeup()]) == verdict.story.wrong


@pytest.mark.parametrize("pause", [False, True], ids=["at once", "with pauses"])
def test_polling_for_what_can_come_is_right(pause):
    """As long as somebody can still make the node, polling is slow but right; if whoever would
    have made it is cancelled, crashed or refused, it is not."""
    assert explore(
        world_of(polls(pause), polls(pause), creates), [NoLostWakeup()], faults=NO_FAULTS
    ).holds
    verdict = explore(world_of(creates, polls(pause)), [NoLostWakeup()], faults=one("crash"))
    assert verdict.holds is False and verdict.story.faults == ("crash",)
    assert "B goes round for ever" in verdict.story.wrong and "A goes" not in verdict.story.wrong


def test_two_that_give_way_to_each_other():
    """Each takes a node, sees the other's, gives its own up and tries again: they may meet for
    ever, but need not: no state is without a way out. Two that wait for each other have none."""

    def polite(mine, other):
        def gives_way():
            while True:
                yield from Create(mine)
                if (yield from Exists(other)) is None:
                    break
                yield from Delete(mine)
            yield from Delete(mine)

        return gives_way

    def waits_for(mine, other):
        def insists():
            yield from Create(mine)
            while (yield from Exists(other)) is not None:
                pass
            yield from Delete(mine)

        return insists

    pairs = (("/l/a", "/l/b"), ("/l/b", "/l/a"))
    deadlock = explore(
        world_of(*[waits_for(*pair) for pair in pairs]), of_a_lock(), faults=NO_FAULTS
    )
    assert "A goes round for ever in" in deadlock.story.wrong
    assert "and B goes round for ever in" in deadlock.story.wrong
    civil = explore(
        world_of(*[polite(*pair) for pair in pairs]), of_a_lock(), faults=NO_FAULTS, states=2000
    )
    # Zxids grow with every try: by rank there is an end to it all the same.
    assert civil.stories == () and civil.complete == "all explored"


def test_going_round_matters_only_to_who_asks():
    """It is a property: without it a script may go on for ever."""
    assert alone(polls(False)).holds


MANY_STATES = ("TrustsItsPredecessorsDeath", "RemovesOthersWatches", "WatchesTheParent")


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(
            twin, id=twin.name, marks=[pytest.mark.slow] if twin.name in MANY_STATES else []
        )
        for twin in TWINS
    ],
)
def test_merging_changes_no_verdict(twin, monkeypatch):
    """Where every history stands for itself the shortest stories have the same length and end."""

    def judge(world):
        verdict = explore(world, faults=twin.faults, properties=twin.properties(), states=20_000)
        story = verdict.story
        return verdict.holds, story and (story.wrong, len(story.events))

    merged = judge(twin.broken())

    def refuse(generator, seen):
        raise NotComparable(generator)

    monkeypatch.setattr("zkkit.sim.scripts.generator_value", refuse)
    assert judge(twin.broken()) == merged
