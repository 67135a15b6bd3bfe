"""Stories: told in words, kept in a file, replayed."""

from __future__ import annotations

import json

import pytest

from zkkit import ReentrantLock
from zkkit.sim import Story, StoryMismatch, contenders, explore
from zkkit.sim.gallery import TWINS

DEATH = TWINS[0]


@pytest.fixture(scope="module")
def story():
    """The shortest story of a lock that trusts its predecessor's death."""
    return explore(DEATH.broken(), faults=DEATH.faults, properties=DEATH.properties()).story


def test_a_story_is_told_step_by_step(story):
    """Who did what with which outcome, the fault, and what was wrong in the end."""
    text = str(story)
    assert text.startswith("mutual exclusion: A and C hold /l at once")
    assert "FAULT: B is cancelled" in text
    assert "A: create /l/<A>lock- -> /l/<A>lock-0000000000" in text
    assert "C wakes: deleted /l/<B>lock-0000000001" in text
    told = "B: delete /l/<B>lock-0000000001 -> done", "C holds /l/<C>lock-0000000002"
    assert text.index(told[0]) < text.index(told[1])


@pytest.mark.parametrize("twin", TWINS, ids=[twin.name for twin in TWINS])
def test_every_story_can_be_kept_and_replayed(twin, tmp_path):
    """From a file it comes to the same end."""
    found = explore(twin.broken(), faults=twin.faults, properties=twin.properties()).story
    found.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json")
    assert again == found
    assert again.replay(twin.broken(), twin.properties()) == found.wrong


def test_the_right_lock_does_not_end_that_way(story):
    """Where the code is right the story does not fit, or ends well."""
    try:
        assert story.replay(DEATH.right(), DEATH.properties()) is None
    except StoryMismatch as mismatch:
        assert "does not fit this world" in str(mismatch)


def test_another_world(story):
    """In a world with fewer actors the story does not fit, and that is said."""
    with pytest.raises(StoryMismatch, match="does not fit"):
        story.replay(contenders(ReentrantLock, 1), DEATH.properties())


def test_files_that_are_no_story(story, tmp_path):
    """Another schema, or something else altogether."""
    path = tmp_path / "story.json"
    story.save(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "schema": 99}))
    with pytest.raises(StoryMismatch, match="schema 99"):
        Story.load(path)
    for text in ("no json", "{}", '{"schema": 1}'):
        path.write_text(text)
        with pytest.raises(StoryMismatch, match="is no story"):
            Story.load(path)
