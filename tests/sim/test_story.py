"""Stories: told in words, kept in a file that stands alone, replayed."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

from zkkit import ReentrantLock
from zkkit.errors import ZkkitError
from zkkit.retry import NEVER
from zkkit.sim import Story, StoryMismatch, contenders, explore, one
from zkkit.sim.errors import NoWorld
from zkkit.sim.exhibits import ALL, NoTwin, find, twin
from zkkit.sim.gallery.locks import TrustsItsPredecessorsDeath
from zkkit.sim.origin import Maker, Origin
from zkkit.sim.properties import of_a_fair_lock, of_a_lock

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
    assert text.startswith("mutual exclusion: A and C hold /l at once")
    assert "FAULT: B is cancelled" in text
    assert "A: create /l/<A>lock- -> /l/<A>lock-0" in text
    assert "C wakes: deleted /l/<B>lock-1" in text
    told = "B: delete /l/<B>lock-1 -> done", "C holds /l/<C>lock-2"
    assert text.index(told[0]) < text.index(told[1])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("LeaksWatches", "B: exists /l/<A>lock-0 with a watch -> not there"),
        ("LeaksWatches", "B watches /l/<A>lock-0"),
        ("LeaksWatches", "there now: /l, /l/<B>lock-1"),
        ("HoldsAfterExpiry", "deleted: /l/<B>lock-1"),
        ("CreatesAgain", "A: create /l/<A>lock- -> connection lost"),
        ("CreatesAgain", "A waits"),
        ("SearchesWithoutSync", "A's session's follower shows only: /l"),
        ("TakesAnOldNode", "there now: /l, /l/<A>lock-0 (of A's session, the old one)"),
        ("HoldsAfterExpiry", "B believes it holds by /l/<B>lock-1, which is not there"),
        ("RemovesOthersWatches", "C's watch of /l/lock is gone, and C does not know it"),
        ("RemovesOthersWatches", "B no longer watches /l/lock"),
        ("WatchesTheParent", "A will hear when it waits: children of /l"),
        ("WatchesTheParent", "B watches the children of /l"),
        ("DeletesByName", "there now: /l, /l/lock (of B's session; data <B>)"),
        ("ComparesAsText", "B holds /l/<B>lock--2147483648"),
        ("adds_blindly", "B: set /n to 3 -> done"),
    ],
)
def test_the_words_say_how_things_stand(name, line):
    """Nodes with owner and data, watches that are set, lost or leak, holds without a node."""
    assert line in [each for scene in story_of(name).words for each in scene]


def test_no_name_needs_a_key():
    """Neither guids nor zeros are left anywhere."""
    for each in ALL:
        assert "0000" not in str(story_of(each.name)), each.name


# --- in a file ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in ALL])
def test_every_story_can_be_kept_and_replayed(name, tmp_path):
    """From a file it is the same story, and comes to the same end in the world it remembers."""
    found = story_of(name)
    found.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json")
    assert again == found and str(again) == str(found)
    assert again.replay(again.origin.world(), again.origin.properties()) == found.wrong


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


@pytest.mark.parametrize("schema", [1, 3, 99, None, "two"])
def test_another_schema(file, schema):
    """Older or newer: named, with the way out."""
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": schema}))
    with pytest.raises(StoryMismatch, match=f"schema {schema!r}; this zkkit reads 2") as said:
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
        assert story.replay(DEATH.right(), DEATH.properties()) is None
    except StoryMismatch as mismatch:
        assert "does not fit this world" in str(mismatch)


def test_another_world(story):
    """In a world with fewer actors the story does not fit, and the event is named."""
    with pytest.raises(StoryMismatch, match="event 3 cannot happen"):
        story.replay(contenders(ReentrantLock, 1), DEATH.properties())


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
    found = Origin(build, Maker.of(of_a_fair_lock), "a shop").explore(faults=one("cancel")).story
    found.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json").origin
    assert again == found.origin and again.about == "a shop"
    assert found.replay(again.world(), again.properties()) == found.wrong
    assert "/shop/lock" in found.wrong


def own_world(count):
    """A world of this file's."""
    return contenders(TrustsItsPredecessorsDeath, count)


def test_own_code_runs_only_where_it_is_trusted(story):
    """An origin of code outside zkkit: its own author explores it, others must name its package."""
    origin = Origin(Maker.of(own_world, 3), Maker.of(of_a_lock))
    assert origin.explore(faults=one("cancel")).story.wrong == story.wrong
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
        Origin(call).world()


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
    with pytest.raises(NoTwin, match="no 'LeakWatch'") as said:
        twin("LeakWatch")
    assert "do you mean LeaksWatches?" in said.value.hint
