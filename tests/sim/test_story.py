"""Stories: told in words, kept in a file that stands alone, replayed."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys

import pytest

from zkkit import ReentrantLock
from zkkit.errors import BadVersion, MultiFailed, NoNode, TimedOut, ZkkitError
from zkkit.recipes.shared import pause, until_answered
from zkkit.retry import NEVER
from zkkit.sim import (
    NO_FAULTS,
    Story,
    StoryMismatch,
    World,
    contenders,
    explore,
    explore_origin,
    one,
    replay,
)
from zkkit.sim.errors import NoWorld
from zkkit.sim.exhibits import ALL, find, twin
from zkkit.sim.gallery.locks import TrustsItsPredecessorsDeath
from zkkit.sim.names import NoSuchName
from zkkit.sim.origin import Maker, Origin
from zkkit.sim.properties import Always, EndsWell, Property, of_a_fair_lock, of_a_lock
from zkkit.sim.steps import Say
from zkkit.steps import (
    Check,
    Create,
    Delete,
    Exists,
    Get,
    Mode,
    Multi,
    Post,
    Posted,
    Recall,
    Remember,
    Set,
    Wait,
    Within,
)

DEATH = twin("TrustsItsPredecessorsDeath")


@functools.cache
def story_of(name: str) -> Story:
    """The shortest story of a twin."""
    return find(name).story


@pytest.fixture
def story():
    """The shortest story of a lock that trusts its predecessor's death."""
    return story_of(DEATH.name)


@pytest.fixture
def file(story, tmp_path):
    """It, in a file."""
    story.save(tmp_path / "story.json")
    return tmp_path / "story.json"


# --- in words -----------------------------------------------------------------------------


def test_a_story_is_told_step_by_step(story):
    """Who did what with which outcome, the fault, and what was wrong in the end."""
    text = str(story)
    assert text.startswith("two holders at once: A and C (breaks: mutual exclusion)")
    assert "FAULT: B is cancelled" in text
    assert "A: create /l/<A>lock- (ephemeral, sequential) -> /l/<A>lock-0" in text
    assert "C wakes: deleted /l/<B>lock-1" in text
    assert "B gets Cancelled" in text
    told = "B: delete /l/<B>lock-1 -> done", "C holds /l/<C>lock-2"
    assert text.index(told[0]) < text.index(told[1])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("LeaksWatches", "B: exists /l/<A>lock-0 with a watch -> not there   [locks.py:*]"),
        ("LeaksWatches", "B watches /l/<A>lock-0"),
        ("LeaksWatches", "there now: /l, /l/<B>lock-1"),
        ("HoldsAfterExpiry", "deleted: /l/<B>lock-1"),
        (
            "CreatesAgain",
            "A: create /l/<A>lock- (ephemeral, sequential) -> ConnectionLost   [locks.py:*]",
        ),
        ("CreatesAgain", "A waits   [locks.py:*]"),
        ("SearchesWithoutSync", "A's session's follower shows only: /l"),
        ("TakesAnOldNode", "there now: /l, /l/<A>lock-0 (of A's session, the old one)"),
        ("HoldsAfterExpiry", "B believes it holds by /l/<B>lock-1, which is not there"),
        ("RemovesOthersWatches", "C's watch of /l/lock is gone, and C does not know it"),
        ("RemovesOthersWatches", "B no longer watches /l/lock"),
        ("WatchesTheParent", "A will hear when it waits: children of /l"),
        ("WatchesTheParent", "B watches the children of /l"),
        ("DeletesByName", "there now: /l, /l/lock (of B's session; data <B>)"),
        ("ComparesAsText", "B holds /l/<B>lock--2147483648   [owned.py:*]"),
        ("adds_blindly", "A: set /n to 2 if version 1 -> done (version 2)   [counters.py:*]"),
        ("adds_blindly", "A: get /n -> 1 (version 1)   [counters.py:*]"),
        ("adds_blindly", "there now: /n (data 2; version 2), /marks"),
        ("adds_blindly", "A says: adds 1   [counters.py:*]"),
        ("passes_when_woken", "A says: passes   [barriers.py:*]"),
        ("TakesAnOldNode", "A gets SessionLost   [locks.py:*]"),
        ("WritesUnguarded", "B has done its work   [stores.py:*]"),
    ],
)
def test_the_words_say_how_things_stand(name, line):
    """Nodes with owner and data, watches that are set, lost or leak, holds without a node."""
    words = [each for scene in story_of(name).words for each in scene]
    assert line in [re.sub(r":\d+\]$", ":*]", each) for each in words]


@pytest.mark.slow  # all stories of the gallery
def test_no_name_needs_a_key():
    """Neither guids nor zeros are left anywhere."""
    for each in ALL:
        assert "0000" not in str(story_of(each.name)), each.name


# --- the learner's own code -------------------------------------------------------------------


def told(*scripts, asked=(), faults=NO_FAULTS):
    """The words of a story of these scripts, by A, B, ...; of each place the line in its script."""
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    end = Always("nothing is quiet", lambda view: "it is quiet", at_end=True)
    found = explore(world, asked or [end], faults=faults).story
    starts = [script.__code__.co_firstlineno for script in scripts]

    def relative(match):
        line = int(match[1])
        return f"[+{line - max(each for each in starts if each <= line)}]"

    words = [each for scene in found.words for each in scene]
    return [re.sub(r"\[test_story.py:(\d+)\]", relative, each) for each in words]


def test_the_line_is_the_learners_own():
    """Not that of a shared script of zkkit's which it calls, also inside a deadline."""

    def mine():
        yield from until_answered(Exists("/l"))
        try:
            yield from Within(1.0, until_answered(Exists("/l/x", watch=True)))
        finally:
            yield from pause(1.0)

    words = told(mine)
    assert "A: exists /l -> there   [+1]" in words
    assert "A: exists /l/x with a watch -> not there   [+3]" in words
    assert "A ends   [+5]" in words


def test_every_step_of_every_story_has_a_line():
    """Unless no script has a part in it: the server does something by itself."""
    for each in ALL:
        for scene in story_of(each.name).scenes[1:]:
            by_itself = scene.head.startswith(("the server expires the", "FAULT: the server reaps"))
            assert scene.where or by_itself, (each.name, scene.head)
            for deed in scene.deeds:
                assert deed.where or deed.kind == "fire", (each.name, deed)
                assert re.fullmatch(r"(\w+\.py:\d+ in \w+)?", deed.where)


def test_the_stories_of_the_gallery_are_short():
    """Nobody reads more than that. (Who comes, before it has done anything, does not count.)"""
    for each in ALL:
        events = [event for event in story_of(each.name).events if event[0] != "come"]
        assert len(events) <= 15, each.name


def test_a_request_nobody_waits_for_has_the_line_that_sent_it():
    """It was under way when its sender left."""

    def creates():
        yield from Create("/l/x")

    words = told(creates, faults=one("cancel"), asked=[Fails("nobody waits for it")])
    assert "(nobody waits for it): create /l/x (persistent) -> /l/x   [+1]" in words


class Fails(Property):
    """Something happens whose owner has left."""

    wants = frozenset({"applied"})

    def __init__(self, name):
        self.name = name

    def after(self, memo, facts, view):
        return memo, self.name if any(fact.actor < 0 for fact in facts) else None


def test_modes_versions_and_amounts_are_told():
    """How a node lives; which version was asked for and found; also an amount of 0."""

    def writes():
        yield from Say("sees", 0)
        yield from Say("begins")
        yield from Create("/l/a", mode=Mode.EPHEMERAL)
        yield from Create("/l/b", mode=Mode.PERSISTENT_SEQUENTIAL_TTL, ttl_ms=5)
        yield from Set("/l", b"1", 0)
        try:
            yield from Delete("/l/a", 3)
        except BadVersion:
            pass
        try:
            yield from Multi((Create("/l/c"), Check("/l", 0)))
        except MultiFailed:
            pass
        yield from Exists("/l")

    words = told(writes)
    for line in (
        "A says: sees 0   [+1]",
        "A says: begins   [+2]",
        "A: create /l/a (ephemeral) -> /l/a   [+3]",
        "A: create /l/b (persistent, sequential, for 5 ms) -> /l/b1   [+4]",
        "A: set /l to 1 if version 0 -> done (version 1)   [+5]",
        "A: delete /l/a if version 3 -> BadVersion (it has version 0)   [+7]",
        "A: all or nothing: create /l/c (persistent), check /l if version 0 -> "
        "MultiFailed (BadVersion of /l, it has version 1)   [+11]",
        "A: exists /l -> there (version 1)   [+14]",
    ):
        assert line in words


def test_what_is_remembered_is_told():
    """Under a key that can be read; of zkkit's own recipes nothing, that is their business."""

    def notes():
        yield from Exists("/l")
        yield from Recall("turn")
        yield from Remember(("turn", 2), "mine")
        yield from Recall(("turn", 2))
        yield from Remember(("turn", 2), None)
        yield from Post("/l", "first")
        yield from Posted("/l")

    words = told(notes)
    for line in (
        "A: recall turn -> nothing   [+2]",
        "A remembers turn, 2: 'mine'   [+3]",
        "A: recall turn, 2 -> 'mine'   [+4]",
        "A forgets turn, 2   [+5]",
        "A posts /l: 'first'   [+6]",
        "A: read the board on /l -> nothing   [+7]",
    ):
        assert line in words
    assert "remembers" not in str(story_of(DEATH.name))


def test_errors_thrown_into_a_script_are_told_once():
    """Which one, and where; one that is the outcome of a request is told as that."""

    def times_out():
        try:
            yield from Within(1.0, waits())
        except TimedOut:
            pass

    def waits():
        yield from Exists("/l/x", watch=True)
        try:
            yield from Get("/l/y")
        except NoNode:
            pass
        yield from Wait()

    over = Always("no deadline", lambda view: "it is over", "ended")
    words = told(times_out, waits, faults=one("deadline"), asked=[over])
    assert [each for each in words if " gets " in each] == [
        "A gets Cancelled   [+1]",
        "A gets TimedOut   [+2]",
    ]
    words = told(times_out, waits, faults=one("cancel"), asked=[over])
    assert [each for each in words if " gets " in each] == ["A gets Cancelled   [+1]"]
    words = told(waits)
    assert "A: get /l/y -> NoNode   [+3]" in words
    assert not [each for each in words if " gets " in each]


def test_the_headline_names_the_culprit():
    """Of a node that is left behind: who created it, in which line; and who touched it last."""

    def leaves():
        me = yield from Create("/l/x", mode=Mode.EPHEMERAL)
        yield from Set(me.path, b"1")

    world = World("/l")
    world.actor("A", world.connect("A's session"), leaves)
    found = explore(world, of_a_lock(), faults=NO_FAULTS).story
    line = leaves.__code__.co_firstlineno + 1
    assert found.culprit == f"A created it in step 1 [test_story.py:{line}]"
    assert found.headline == f"{found.wrong}: {found.culprit}"
    assert found.why == (
        f"A created /l/x in step 1 [test_story.py:{line}]",
        f"A touched it last, in step 2 [test_story.py:{line + 1}]",
        f"A's script ended in step 2 [test_story.py:{line + 1}]",
    )


def test_who_fails_is_told_with_its_line():
    """An error that a step raised, and the script did not expect."""

    def fails():
        yield from Delete("/nowhere")

    world = World("/l")
    world.actor("A", world.connect("A's session"), fails)
    found = explore(world, [EndsWell()], faults=NO_FAULTS).story
    line = fails.__code__.co_firstlineno + 1
    assert found.wrong.startswith("A fails with NoNode")
    assert found.culprit == f"in fails (test_story.py:{line})"


def test_who_is_granted_beside_whom_is_told(story):
    """The one who should not have been, and since when the other holds."""
    assert re.fullmatch(
        r"C is granted /l/<C>lock-2 in step 10 \[\S+\] though A holds /l/<A>lock-0 since step 2 "
        r"\[\S+\]",
        *story.why,
    )


# --- in a file ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in ALL])
def test_every_story_can_be_kept_and_replayed(name, tmp_path):
    """From a file it is the same story, and comes to the same end in the world it remembers."""
    found = story_of(name)
    found.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json")
    assert again == found and str(again) == str(found)
    assert replay(again, again.origin.world(), again.origin.properties()) == found.wrong


def test_a_file_stands_alone(story, file):
    """It is told word for word where nothing of its world can be had."""
    code = (
        "import sys; from zkkit.sim import Story; import zkkit.sim.gallery as g; "
        "g.TWINS = g.OTHERS = (); print(Story.load(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"{story}\n"


def test_loading_imports_nothing(file, tmp_path, monkeypatch):
    """Whatever a file names: only replaying looks for it."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    content = json.loads(file.read_text())
    content["origin"]["build"]["function"] = "trap:world"
    file.write_text(json.dumps(content))
    loaded = Story.load(file)
    with pytest.raises(NoWorld, match="trap:world is code outside zkkit: it is not run unasked"):
        loaded.origin.world()


@pytest.mark.parametrize("schema", [1, 2, 3, 99, None, "two"])
def test_another_schema(file, schema):
    """Older or newer: named, with the way out."""
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": schema}))
    with pytest.raises(StoryMismatch, match=f"schema {schema!r}; this zkkit reads 4") as said:
        Story.load(file)
    assert "save it anew" in said.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"events": "none"},
        {"events": []},
        {"events": [1, 2]},
        {"events": [[]] * 10},
        {"events": [[7]] * 10},
        {"lanes": [{"name": "A"}]},
        {"lanes": []},
        {"scenes": [{}]},
        {"scenes": None},
        {"wrong": 7},
        {"why": "because"},
        {"culprit": None},
        {"origin": "somewhere"},
        {"origin": {"build": 1, "ask": None, "about": ""}},
        {
            "origin": {
                "build": {"function": "f:g", "arguments": [], "options": 1.5},
                "ask": None,
                "about": "",
            }
        },
    ],
)
def test_a_file_with_a_hole(file, change):
    """Whatever is missing or of another kind: no story, and no crash later."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(StoryMismatch, match="is no story"):
        Story.load(file)


@pytest.mark.parametrize("content", [b"no json", b"{}", b"[]", b"3", b"\xff\xfe", b"", b"[" * 9999])
def test_files_that_are_no_story(tmp_path, content):
    """Something else altogether."""
    (tmp_path / "story.json").write_bytes(content)
    with pytest.raises(StoryMismatch, match="is no story"):
        Story.load(tmp_path / "story.json")


def test_no_file(tmp_path):
    """What cannot be read is named."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(StoryMismatch, match="cannot be read"):
            Story.load(path)


# --- in its world, and in others ------------------------------------------------------------


def test_the_right_lock_does_not_end_that_way(story):
    """Where the code is right the story does not fit, or ends well."""
    try:
        assert replay(story, DEATH.right(), DEATH.properties()) is None
    except StoryMismatch as mismatch:
        assert "does not fit this world" in str(mismatch)


def test_another_world(story):
    """In a world with fewer actors the story does not fit, and the event is named."""
    with pytest.raises(StoryMismatch, match="event 3 cannot happen"):
        replay(story, contenders(ReentrantLock, 1), DEATH.properties())


def test_a_story_of_an_ad_hoc_world_has_no_origin(tmp_path):
    """It is told and kept all the same."""
    found = explore(DEATH.broken(), faults=DEATH.faults, properties=DEATH.properties()).story
    assert found.origin is None
    found.save(tmp_path / "story.json")
    assert Story.load(tmp_path / "story.json") == found


def test_an_origin_of_ones_own(tmp_path):
    """A function, a class and options: kept in the file, and called again."""
    build = Maker.of(contenders, TrustsItsPredecessorsDeath, 3, path="/shop/lock")
    assert str(build) == (
        "zkkit.sim.lives:contenders(TrustsItsPredecessorsDeath, 3, path='/shop/lock')"
    )
    found = explore_origin(
        Origin(build, Maker.of(of_a_fair_lock), "a shop"), faults=one("cancel")
    ).story
    found.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json").origin
    assert again == found.origin and again.about == "a shop"
    assert replay(found, again.world(), again.properties()) == found.wrong
    assert "there now: /shop, /shop/lock" in str(found)


def own_world(count):
    """A world of this file's."""
    return contenders(TrustsItsPredecessorsDeath, count)


def test_own_code_runs_only_where_it_is_trusted(story):
    """An origin of code outside zkkit: its own author explores it, others must name its package."""
    origin = Origin(Maker.of(own_world, 3), Maker.of(of_a_lock))
    assert explore_origin(origin, faults=one("cancel")).story.wrong == story.wrong
    with pytest.raises(NoWorld, match=f"--world {__name__}:own_world"):
        origin.world()
    assert len(origin.world(trusted=[__name__]).actors) == 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Maker("os:system", ("true",)), "outside zkkit"),
        (Maker("zkkit.cli:main", (["doctor"],)), "outside zkkit.sim"),
        (Maker("zkkitten:world"), "outside zkkit"),
        (Maker("zkkit.sim.nowhere:world"), "cannot be imported"),
        (Maker("zkkit.sim.lives:nobody"), "cannot be imported"),
        (Maker("nonsense"), "outside zkkit"),
        (Maker(""), "outside zkkit"),
        (Maker("zkkit.sim.story:Story"), "no function that builds"),
        (Maker("zkkit.sim.explore:Machine"), "no function that builds"),
        (Maker("zkkit.sim.lives:contenders", (3,)), "fails: TypeError"),
        (Maker("zkkit.sim.lives:contenders", ({"reference": "os:system"}, 2)), "outside zkkit"),
        (Maker("zkkit.sim.faults:one"), "which is no world"),
    ],
)
def test_what_a_file_may_not_ask_for(call, said):
    """Nothing but functions of the simulator, with classes of zkkit; and they must give a world."""
    with pytest.raises(NoWorld, match=said):
        Origin(call, Maker.of(of_a_lock)).world()


@pytest.mark.parametrize("function", ["faults:one", "lives:contenders", "exhibits:twin"])
def test_what_is_asked_must_be_properties(function):
    """Else nothing would be asked, and the story would seem to end well."""
    with pytest.raises(ZkkitError):
        Origin(Maker.of(own_world, 2), Maker(f"zkkit.sim.{function}")).properties()


@pytest.mark.parametrize(
    "call",
    [
        lambda: Maker.of(lambda: None),
        lambda: Maker.of(contenders, ReentrantLock, 3, retry=NEVER),
        lambda: Maker.of(contenders, ReentrantLock, {1, 2}),
        lambda: Maker.of(functools.partial(contenders, ReentrantLock), 3),
    ],
)
def test_what_cannot_be_kept_is_refused_at_once(call):
    """Not when the file is read on another day."""
    with pytest.raises(NoWorld, match=r"cannot be (found again|kept)"):
        call()


def test_a_twin_by_name():
    """Any case will do; a near miss is told the right name."""
    assert twin("leakswatches").name == "LeaksWatches"
    with pytest.raises(NoSuchName, match="no 'LeakWatch'") as said:
        twin("LeakWatch")
    assert "do you mean LeaksWatches?" in said.value.hint
