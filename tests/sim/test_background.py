"""Background scripts and user code in a world: `Spawn`, `Stop` and `Call`, as in a session."""

from __future__ import annotations

import itertools
import logging

import pytest

import zkkit
import zkkit.sim.watchdog
from zkkit.errors import (
    Cancelled,
    NoNode,
    SessionClosed,
    SessionLost,
    TimedOut,
    Unsupported,
)
from zkkit.hooks import guarded
from zkkit.sim import (
    NO_FAULTS,
    Endless,
    Impure,
    Story,
    Work,
    World,
    explore,
    one,
    replay,
)
from zkkit.sim.properties import History, NoLostWakeup, NothingLeft
from zkkit.sim.steps import Say
from zkkit.steps import (
    Actor,
    Call,
    Create,
    Delete,
    Dismiss,
    Employ,
    Exists,
    Get,
    IfUntaken,
    Mode,
    Notify,
    Post,
    Posted,
    Recall,
    Remember,
    Set,
    Spawn,
    Stop,
    Wait,
    Within,
)

ASKED = (NoLostWakeup(), NothingLeft())


def world_of(*scripts):
    """Actors A, B, ... with these scripts, each in a session of its own."""
    world = World("/l", one_process=True)
    for name, each in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), each)
    return world


def alone(*scripts, faults=NO_FAULTS, properties=None):
    """Explore them; what is asked is what must hold of a lock, or these."""
    return explore(world_of(*scripts), properties or ASKED, faults=faults)


# --- what a recipe could do with them, each with its broken twin --------------------------------


def heart():
    """Keeps a node for as long as it runs, and takes it away, however far it came."""
    try:
        yield from Create("/l/heart", mode=Mode.EPHEMERAL)
        yield from Wait()
    finally:
        try:
            yield from Delete("/l/heart")
        except NoNode:
            pass


def heart_that_cleans_what_it_knows():
    """Broken: cancelled while its create is under way it knows of no node."""
    yield from Create("/l/heart", mode=Mode.EPHEMERAL)
    try:
        yield from Wait()
    finally:
        yield from Delete("/l/heart")


def living(heart):
    def lives():
        beating = yield from Spawn(heart(), "heart")
        try:
            yield from Work()
        finally:
            yield from Stop(beating)

    return lives


def test_a_helper_that_is_stopped():
    """Whenever its parent ends or is cancelled, the helper leaves nothing behind."""
    verdict = alone(living(heart), faults=one("cancel"))
    assert verdict.holds, verdict


def test_a_helper_that_leaves_something():
    """The broken one is caught, and the story tells of it by name."""
    broken = living(heart_that_cleans_what_it_knows)
    story = alone(broken, faults=one("cancel")).story
    assert "/l/heart is left behind" in story.wrong
    told = str(story)
    assert "A spawns A's heart" in told and "A's heart ends with Cancelled" in told
    assert replay(story, world_of(broken), ASKED) == story.wrong


def test_a_story_of_helpers_means_the_same_in_every_world(tmp_path):
    """Whoever was spawned has the same number whatever else was explored before."""
    scripts = [living(heart), living(heart), living(heart_that_cleans_what_it_knows)]
    story = alone(*scripts, faults=one("cancel")).story
    story.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json")
    assert replay(again, world_of(*scripts), ASKED) == story.wrong


def test_stop_waits_for_the_clean_up():
    """After Stop the node is gone. Whoever does not wait may still see it."""

    def stops(wait):
        def script():
            beating = yield from Spawn(heart(), "heart")
            yield from Work()
            stopping = Stop(beating)
            yield from stopping if wait else Spawn(iter(stopping), "stopper")
            if (yield from Exists("/l/heart")) is not None:
                yield from Say("sees it")

        return script

    seen = History("it is gone", lambda facts, view: "it is not", "said")
    assert alone(stops(True), properties=[*ASKED, seen]).holds
    assert alone(stops(False), properties=[seen]).story.wrong == "it is not"


def test_a_helper_ends_with_its_session():
    """When all others have ended the session is closed: the helper is told, its nodes go."""

    def lives():
        yield from Spawn(heart(), "heart")

    ended = History(
        "told",
        lambda facts, view: (
            f"{view.name(facts[-1].actor)} ends with {facts[-1].what!r}"
            if isinstance(facts[-1].what, SessionClosed)
            else None
        ),
        "ended",
    )
    assert alone(lives, faults=one("crash", "expire")).holds
    verdict = alone(lives, properties=[ended])
    assert "A's heart ends with SessionClosed" in verdict.story.wrong
    assert "A's session is closed" in str(verdict.story)


def test_a_helper_that_goes_on_regardless():
    """It is told that its session is closed a few times, and then cut off."""

    def stubborn():
        while True:
            try:
                yield from Get("/l", watch=True)
                yield from Wait()
            except SessionLost:
                pass

    def lives():
        yield from Spawn(stubborn(), "stubborn")

    assert alone(lives).holds


def test_nobody_cancels_a_helper_but_stop():
    """The fault `cancel` strikes actors that somebody waits for."""

    def works():
        yield from Work()

    def lives():
        yield from Spawn(works())
        yield from Work()

    assert alone(lives, faults=one("cancel"), properties=[_cancelled("A's background")]).holds
    assert not alone(lives, faults=one("cancel"), properties=[_cancelled("A")]).holds


def _cancelled(name):
    def check(facts, view):
        hit = [f for f in facts if view.name(f.actor) == name and isinstance(f.what, Cancelled)]
        return f"{name} is cancelled" if hit else None

    return History("nobody is cancelled", check, "ended")


def test_helpers_do_not_depend_on_who_spawned_first():
    """Two parents and four helpers: the order of spawning makes no states of its own."""

    def works():
        yield from Work()

    def spawns(times):
        def script():
            for _ in range(times):
                yield from Work()
                yield from Spawn(works())

        return script

    assert alone(spawns(2), spawns(2)).states < 150


def test_a_helper_of_a_helper():
    """Scripts spawn scripts, which have names of their own."""

    def child():
        yield from Spawn(heart(), "child")
        yield from Work()

    def parent():
        yield from Spawn(child(), "child")
        yield from Spawn(child(), "child")
        yield from Work()

    names = History(
        "no grandchildren",
        lambda facts, view: (
            "there are: " + ", ".join(view.name(f.what) for f in facts) if len(facts) == 4 else None
        ),
        "spawned",
    )
    assert alone(parent, properties=[names]).story.wrong == (
        "there are: A's child, A's child 2, A's child's child, A's child 2's child"
    )


def listening(listener, called):
    """Calls user code for each of two changes; `called` is told the order."""

    def listens():
        for number in range(2):
            yield from Set("/l", b"")
            yield from (Call(called, number) if listener == "call" else Spawn(tell(called, number)))

    return listens


def tell(called, number):
    yield from Set("/l", b"")
    yield from Call(called, number)


def in_order():
    def check(facts, view):
        numbers = [fact.what.args[0] for fact in facts]
        return None if numbers == sorted(numbers) else f"called in the order {numbers}"

    return History("in order", check, "called")


def test_user_code_runs_in_order():
    """One after the other, in every interleaving, also when the caller is cancelled."""

    def called(number):
        return None

    def second():
        yield from Spawn(tell(called, 2))
        yield from Spawn(tell(called, 3))

    assert alone(listening("call", called), faults=one("cancel"), properties=[in_order()]).holds
    assert alone(second, properties=[in_order()]).holds


def test_user_code_out_of_order_is_caught():
    """A script that asks for it in the wrong order is."""

    def called(number):
        return None

    def backwards():
        for number in (1, 0):
            yield from Call(called, number)

    assert not alone(backwards, properties=[in_order()]).holds


def test_user_code_is_called_for_who_has_left():
    """A cancelled caller gets nothing, but what it asked for still runs."""

    def called():
        return None

    def calls():
        yield from Call(called)

    def check(facts, view):
        return "both" if [f.kind for f in facts] == ["ended", "called"] else None

    verdict = alone(
        calls, faults=one("cancel"), properties=[History("no", check, "ended", "called")]
    )
    assert verdict.story.wrong == "both"


def test_what_user_code_gives_may_be_changed():
    """A list belongs to whom it was given: other histories get one of their own."""

    def calls():
        names = yield from Call(lambda: [])
        stat = yield from Exists("/l/x")
        names.append("x")
        yield from Exists("/l")
        assert len(names) == 1, names
        if stat:
            names.append("y")

    def creates():
        yield from Create("/l/x")

    assert alone(calls, creates, faults=one("cancel")).holds


# --- user code that is an actor of its own --------------------------------------------------------


def employing(*, waits):
    """Lets user code run, and ends with it or before."""

    def lives():
        yield from Employ("job", works)
        try:
            yield from Work()
        finally:
            yield from Dismiss("job")
            while waits and not (yield from Recall("job", watch=True)).ended:
                try:
                    yield from Wait()
                except SessionLost:
                    pass

    def works(stop):
        while not (yield from Recall(stop, watch=True)).dismissed:
            yield from Wait()
        yield from Work()  # it takes its time
        yield from Say("ends")

    return lives


def _outlives(facts, view):
    return "it does" if [fact.kind for fact in facts[:2]] == ["ended", "said"] else None


def test_user_code_is_dismissed_and_outwaited():
    """It hears that it is to stop, ends when it likes, and wakes who waits for that; also if the
    session is lost meanwhile, of which it hears nothing."""
    last = History("nobody outlives its employer", _outlives, "ended", "said")
    for faults in (NO_FAULTS, one("expire"), one("give up"), one("crash")):
        verdict = alone(employing(waits=True), faults=faults, properties=[*ASKED, last])
        assert verdict.holds, verdict
    assert alone(employing(waits=False), properties=[last]).story.wrong == "it does"


def test_who_is_stopped_when_its_session_ends_hears_of_both():
    """A stop that comes with the end of the session is not forgotten."""

    def child():
        while True:
            try:
                yield from Wait()
            except SessionLost:
                pass

    def lives():
        spawned = yield from Spawn(child())
        try:
            yield from Work()
        finally:
            yield from Stop(spawned)

    verdict = alone(lives, faults=one("expire"))
    assert verdict.holds, verdict


# --- scripts that break the rules ---------------------------------------------------------------


def test_user_code_that_differs_is_noticed():
    """What is called must be deterministic: the function, script and line are named."""
    count = itertools.count()

    def asks():
        number = yield from Call(next, count)
        yield from Exists(f"/l/{number}")

    with pytest.raises(Impure, match=r"built-in function next.*asks \(.*test_background.py:\d+\)"):
        alone(asks)


@pytest.mark.parametrize("listener", [False, True], ids=["called", "a listener"])
def test_endless_user_code_is_ended(monkeypatch, listener):
    """User code that does not come back is interrupted, and the line named; so is a listener,
    though it may raise what it likes."""
    monkeypatch.setattr(zkkit.sim.watchdog, "PATIENCE", 0.1)

    def spins():
        while True:
            pass

    def listens():
        with guarded(logging.getLogger("zkkit"), "a listener failed"):
            spins()

    def calls():
        yield from Call(listens if listener else spins)

    with pytest.raises(Endless, match=r"spins \(.*test_background.py:\d+\)"):
        alone(calls)


def test_a_stop_that_is_swallowed_is_noticed():
    """A helper that ends as if it had not been stopped is named, with its line."""

    def swallows():
        try:
            yield from Wait()
        except Cancelled:
            return

    wrong = alone(living(swallows)).story.wrong
    assert wrong.startswith("A's heart's script fails: SwallowedCancel: it was cancelled")
    assert f"at test_background.py:{swallows.__code__.co_firstlineno + 2}" in wrong


def test_a_helper_that_reads_a_clock_is_noticed():
    """The rules hold in the background as well."""
    count = itertools.count()

    def helper():
        yield from Exists(f"/l/{next(count)}")
        yield from Exists("/l")

    with pytest.raises(Impure, match=r"helper \(.*test_background.py:\d+\)"):
        alone(living(helper))


def test_nonsense_is_refused():
    """Something that is no script, no handle, or cannot be compared."""

    def runs(step):
        def script():
            yield from step

        return script

    for step in (Spawn(None), Within(1.0, None)):
        story = alone(runs(step)).story
        assert "NotAStep: None is neither a script nor a step" in story.wrong
    story = alone(runs(Stop(None))).story
    assert "NotAStep: Stop(spawned=None) stops nothing" in story.wrong
    with pytest.raises(Unsupported, match="cannot compare"):
        alone(runs(Call(lambda: [object()])))


# --- the same in a real session -----------------------------------------------------------------


def starts_after_its_parent(root):
    def child():
        yield from Create(f"{root}/child")

    spawned = yield from Spawn(child())
    parent = yield from Create(f"{root}/parent")
    child_stat = None
    while child_stat is None:
        child_stat = yield from Exists(f"{root}/child")
    yield from Stop(spawned)
    return parent.stat.czxid < child_stat.czxid


def never_begins(root):
    def child():
        yield from Create(f"{root}/child")

    spawned = yield from Spawn(child())
    yield from Stop(spawned)
    return (yield from Exists(f"{root}/child"))


def cleans_up(root):
    def child():
        try:
            yield from Create(f"{root}/child")
            yield from Wait()
        finally:
            yield from Delete(f"{root}/child")

    spawned = yield from Spawn(child())
    yield from Exists(root)
    yield from Stop(spawned)
    again = yield from Stop(spawned)
    return again, (yield from Exists(f"{root}/child"))


def is_known_by_name(root):
    def child():
        yield from Remember("who", (yield from Actor()).name)

    yield from Remember("who", "nobody")
    spawned = yield from Spawn(child(), "child")
    before = yield from Recall("who")
    yield from Exists(root)
    yield from Stop(spawned)
    return before, (yield from Recall("who"))


def stops_itself(root):
    def child():
        me = None
        while me is None:
            yield from Exists(root)
            me = yield from Recall("child")
        try:
            yield from Stop(me)
        except Cancelled:
            yield from Remember("child", "cancelled")
            raise

    child_handle = yield from Spawn(child())
    yield from Remember("child", child_handle)
    while (yield from Recall("child")) != "cancelled":
        yield from Exists(root)
    return (yield from Stop(child_handle))


def calls(root):
    given = yield from Call(divmod, 7, 2)
    try:
        yield from Call(divmod, 7, 0)
    except ZeroDivisionError as error:
        return given, str(error), (yield from Within(60, Call(len, "four")))


def tells_who_looks_on(root):
    def child():
        yield from Get(root, watch=True)
        yield from Remember("ready", 1)
        fire = yield from Wait()
        yield from Remember("heard", fire.kind)

    yield from Spawn(child())
    while not (yield from Recall("ready")):
        yield from Exists(root)
    yield from Set(root, b"news")
    while not (yield from Recall("heard")):
        yield from Exists(root)
    return (yield from Recall("heard"))


def hears_of_a_note(root):
    def child():
        seen = []
        while (value := (yield from Recall("note", watch=True))) != 2:
            seen.append(value)
            fire = yield from Wait()
            seen.append((fire.kind, fire.path))
        yield from Remember("seen", tuple(seen))

    yield from Spawn(child())
    yield from Exists(root)
    for note in (1, 2):
        yield from Remember("note", note)
        yield from Exists(root)
    yield from Remember("note", 3)  # nobody heeds it any more
    while not (yield from Recall("seen")):
        yield from Exists(root)
    return (yield from Recall("seen"))


def heeds_its_own_note(root):
    yield from Recall("note", watch=True)
    yield from Recall("note", watch=True)
    yield from Remember("note", 1)
    yield from Remember("note", 2)
    fire = yield from Wait()
    try:
        yield from Within(0.05, Wait())  # one watch, one fire
    except TimedOut:
        return fire.kind, (yield from Recall("note"))


def employs(root):
    job = yield from Recall("job")
    assert job is None
    yield from Employ("job", serves)
    yield from Dismiss("job")
    yield from Dismiss("job")
    while not (job := (yield from Recall("job", watch=True))).ended:
        yield from Wait()
    yield from Dismiss("job")
    yield from Remember("job", None)
    return job.dismissed, job.actor is not None


def serves(stop):
    """A script in a world; in a session, which does not run it, it ends at once."""
    yield from Work()


def notifies(root):
    yield from Notify(divmod, 7, 0)  # nobody gets what it raises
    return (yield from Call(len, "four"))


def undoes_what_nobody_takes(root):
    yield from IfUntaken(cleans_up, root)
    return "taken"


def finds_what_was_posted(root):
    before = yield from Posted(root)
    yield from Post(root, "first")
    yield from Post(f"{root}/other", "another")
    yield from Post(root, "second")
    return before, (yield from Posted(root))


SCRIPTS = (
    finds_what_was_posted, undoes_what_nobody_takes,
    hears_of_a_note, heeds_its_own_note, employs, notifies,
    starts_after_its_parent, never_begins, cleans_up, is_known_by_name, stops_itself, calls,
    tells_who_looks_on,
)  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS, ids=[each.__name__ for each in SCRIPTS])
def test_a_session_agrees(script, zk_hosts):
    """What a real session gives is the only thing that comes out in the world."""
    given = []

    def reports():
        yield from Call(given.append, (yield from script("/l")))

    verdict = alone(reports)
    assert verdict.holds, verdict
    with zkkit.connect(zk_hosts) as session:
        path = session.create("/agree-", mode=Mode.PERSISTENT_SEQUENTIAL).path
        real = session.run(script(path))
    assert given and all(each == real for each in given), (given, real)


def test_who_waits_for_a_note_in_vain_is_explained():
    """The story says that it waits for somebody in its own session."""

    def waits():
        yield from Recall("note", watch=True)
        yield from Recall("other", watch=True)
        yield from Remember("other", 1)
        yield from Wait()
        yield from Wait()

    told = str(alone(waits).story)
    assert "waits for something in its own session" in told
    assert "which nobody there will do any more" in told
