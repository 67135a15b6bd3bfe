"""Why whoever waits waits in vain: what for, who could have woken it, and why nobody will."""

from __future__ import annotations

import re

import pytest

from tests.sim.answers import ANSWERS
from zkkit.errors import NoNode, TimedOut
from zkkit.sim import NO_FAULTS, Story, World, explore, one
from zkkit.sim.exhibits import find
from zkkit.sim.faults import Faults
from zkkit.sim.gallery import ALL
from zkkit.sim.properties import Always, NoLostWakeup, NoSleeper
from zkkit.sim.steps import Work
from zkkit.steps import Children, Create, Delete, Exists, Get, Mark, Mode, Set, Wait, Watch, Within

EPHEMERAL = Mode.EPHEMERAL


def story_of(*scripts, faults: Faults = NO_FAULTS, asked=None) -> Story:
    """The story of actors A, B, ... of whom one waits for ever."""
    world = World("/d")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    story = explore(world, asked or [NoLostWakeup()], faults=faults).story
    assert story is not None
    return story


def why(story: Story) -> list[str]:
    """The sentences, without the numbers of lines."""
    return [re.sub(r"test_in_vain.py:\d+", "line", each) for each in story.why]


def after(path: str, script):
    """Lets a script begin when a node is there."""

    def later():
        while (yield from Exists(path, watch=True)) is None:
            yield from Wait()
        yield from script()

    return later


def leaves(path: str, mode: Mode = EPHEMERAL):
    def creates():
        yield from Create(path, mode=mode)

    return creates


def watches(path: str):
    def waits():
        yield from Get(path, watch=True)
        yield from Wait()

    return waits


def test_no_watch_was_ever_set():
    """A bare Wait."""

    def waits():
        yield from Wait()

    story = story_of(waits)
    assert story.headline == "A waits for ever: it has no watch"
    assert why(story) == [
        "A waits without a watch [line]: nothing can wake it",
        "it never set one",
        "there is nobody else",
    ]


def test_a_request_that_fails_sets_no_watch():
    """Get with a watch on a node that is not there."""

    def waits():
        try:
            yield from Get("/d/x", watch=True)
        except NoNode:
            pass
        yield from Wait()

    assert (
        "`get /d/x with a watch` gave NoNode in step 1: that sets no watch" in story_of(waits).why
    )


def test_a_watch_fires_once():
    """Whoever waits again without setting it again."""

    def waits_twice():
        yield from Get("/d", watch=True)
        yield from Wait()
        yield from Wait()

    def sets():
        yield from Set("/d", b"1")
        yield from Set("/d", b"2")

    assert any(
        re.fullmatch(r"its watch of /d fired in step \d, and it set no other", each)
        for each in story_of(waits_twice, sets).why
    )


def test_a_fire_that_came_before_the_wait_is_used_up():
    """It was taken by the first Wait at once, and the second one has none."""

    def waits_late():
        yield from Get("/d", watch=True)
        yield from Set("/d", b"1")
        yield from Wait()
        yield from Wait()

    said = "the watch that it set in step 1 (`get /d with a watch`) is used up"
    assert said in story_of(waits_late).why


def test_watches_go_with_the_connection():
    """Woken by that, it must set them again."""

    def waits_again():
        yield from Get("/d", watch=True)
        yield from Wait()
        yield from Wait()

    world = World("/d")
    world.actor("A", world.connect(), waits_again)
    waits_twice = Always(
        "not without a watch",
        lambda view: "A waits" if view.actors[0][1] == "wait" and not view.sessions[0][6] else None,
        at_end=True,
    )
    story = explore(world, [waits_twice], faults=one("request lost")).story
    assert "its watch went with the connection in step 2" in story.why


def test_a_node_that_is_gone_already():
    """It went before the watch was set: who deleted it, and when."""

    def comes_and_goes():
        yield from Create("/d/x")
        yield from Delete("/d/x")

    def looks_late():
        yield from Children("/d")
        yield from Exists("/d/x", watch=True)
        yield from Wait()

    late = Always(
        "not too late",
        lambda view: (
            "B waits for ever"
            if view.actors[1][1] == "wait" and view.tree.nodes["/d"].creates
            else None
        ),
        at_end=True,
    )
    story = story_of(comes_and_goes, looks_late, asked=[late])
    assert story.headline == "B waits for ever: for /d/x, which is gone already"
    waits, gone, others = why(story)
    assert re.fullmatch(r"B waits for /d/x to be created \(watched since step \d\) \[line\]", waits)
    assert re.fullmatch(
        r"/d/x is gone already: it was deleted in step \d by A \[line\], before the watch was set; "
        r"nobody is left to create it again",
        gone,
    )
    assert others == "A has ended"


def test_a_node_that_nobody_creates():
    """It was never there."""

    def waits():
        yield from Exists("/d/x", watch=True)
        yield from Wait()

    story = story_of(waits)
    assert story.headline == "A waits for ever: for /d/x, which is never created"
    assert why(story) == [
        "A waits for /d/x to be created (watched since step 1) [line]",
        "/d/x was never there, and nobody is left to create it",
        "there is nobody else",
    ]


def test_a_node_that_its_session_left_behind():
    """Its session lives and its script has ended: the culprit, not only the victim."""
    story = story_of(leaves("/d/x"), after("/d/x", watches("/d/x")))
    assert story.headline == "B waits for ever: for /d/x, which A left behind"
    waits, left = why(story)
    assert waits.startswith("B waits for /d/x to be deleted or set (watched since step ")
    assert re.fullmatch(
        r"/d/x is a node of A's session, which lives \(A created it in step \d \[line\]\); "
        r"A's script has ended \(in step \d\); nobody is left to delete it",
        left,
    )


def test_a_node_left_behind_in_the_same_session():
    """Two actors in one session: the one who created it is to blame."""
    world = World("/d")
    session = world.connect("the session")
    world.actor("A", session, leaves("/d/x"))
    world.actor("B", session, after("/d/x", watches("/d/x")))
    story = explore(world, [NoLostWakeup()], faults=NO_FAULTS).story
    assert story.headline == "B waits for ever: for /d/x, which A left behind"
    assert story.why[1].startswith("/d/x is a node of the session, which lives (A created it in")


def test_how_the_script_ended_is_said():
    """With which error."""

    def creates_and_fails():
        yield from Create("/d/x", mode=EPHEMERAL)
        yield from Delete("/nowhere")

    story = story_of(creates_and_fails, after("/d/x", watches("/d/x")))
    assert re.search(r"A's script has ended \(in step \d with NoNode\)", story.why[1])


def test_ones_own_node():
    """Nobody but itself could delete it."""

    def waits_for_itself():
        yield from Create("/d/x", mode=EPHEMERAL)
        yield from Get("/d/x", watch=True)
        yield from Wait()

    story = story_of(waits_for_itself)
    assert story.headline == "A waits for ever: for its own node /d/x"
    assert why(story)[1] == (
        "/d/x is a node of A's own session (A created it in step 1 [line]): "
        "it lives as long as A waits"
    )


def test_two_that_wait_for_each_other():
    """Each is explained."""

    def holds(mine: str, other: str):
        def waits():
            yield from Create(mine, mode=EPHEMERAL)
            while True:
                try:
                    yield from Get(other, watch=True)
                except NoNode:
                    yield from Exists(other, watch=True)
                yield from Wait()

        return waits

    story = story_of(holds("/d/a", "/d/b"), holds("/d/b", "/d/a"))
    said = " ".join(story.why)
    assert story.headline == "A waits for ever: for /d/b of B's session"
    assert "/d/b is a node of B's session, which lives (B created it in step" in said
    assert "/d/a is a node of A's session, which lives (A created it in step" in said
    assert "has ended" not in said and "still at work" not in said


def test_children_that_do_not_change_any_more():
    """A watch of the list of children."""

    def waits():
        yield from Children("/d", watch=True)
        yield from Wait()

    story = story_of(waits)
    assert story.headline == "A waits for ever: for the children of /d to change"
    assert "nobody is left to create or delete a child of /d" in story.why


def test_a_node_that_stays():
    """A persistent node, or a container, that nobody touches."""
    story = story_of(watches("/d"))
    assert "/d is a container: it stays as it is until somebody deletes or sets it" in story.why
    story = story_of(leaves("/d/x", Mode.PERSISTENT), after("/d/x", watches("/d/x")))
    assert story.headline == "B waits for ever: for /d/x, a persistent node that A created"
    assert re.fullmatch(
        r"/d/x is a persistent node \(A created it in step \d \[line\]\): it stays as it is until "
        r"somebody deletes or sets it",
        why(story)[1],
    )


@pytest.mark.parametrize(
    ("recursive", "what"),
    [(False, "a change of /d or its children"), (True, "a change of /d or below it")],
)
def test_a_persistent_watch(recursive, what):
    """What it would have told of."""

    def waits():
        yield from Watch("/d", recursive=recursive)
        yield from Wait()

    assert story_of(waits).culprit == f"for {what}"


def test_a_watch_that_the_server_has_no_more():
    """Another actor of the session took it along."""
    story = find("RemovesOthersWatches").story
    assert story.culprit == "its watch of /l/lock is gone"
    assert story.why[0].startswith("C waits for /l/lock to be deleted or set (watched since step")
    assert re.fullmatch(
        r"the server has this watch no more: it went in step \d+, with that of B, which ended",
        story.why[1],
    )


def test_those_who_are_still_at_work():
    """Where a property looks while somebody works, it is not said that nobody is left."""

    def holds():
        node = yield from Create("/d/x", mode=EPHEMERAL)
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from Work()
        yield from Mark("released", node.path, node.stat.czxid)
        yield from Delete("/d/x")

    story = story_of(holds, after("/d/x", watches("/d/x")), asked=[NoSleeper(2)])
    assert story.wrong.startswith("B waits while ")
    said = " ".join(story.why)
    assert "A is still at work" in said and "nobody is left" not in said


@pytest.mark.parametrize(
    ("looks", "could"),
    [
        (Children("/d", watch=True), "only A could create or delete a child of /d"),
        (Exists("/d/x", watch=True), "/d/x was never there, and only A could create it"),
    ],
)
def test_who_is_left_to_wake_it(looks, could):
    """Whoever is still at work may yet do it."""

    def works():
        yield from Work()

    def waits():
        yield from looks
        yield from Wait()

    assert could in story_of(works, waits, asked=[NoSleeper(1)]).why


def test_a_wait_that_ends_by_its_clock():
    """What it waits for as well is explained: the clock hides nothing."""

    def waits():
        yield from Exists("/d/x", watch=True)
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass

    pauses = Always(
        "nobody pauses",
        lambda view: "A waits" if view.actors[0][1] == "pause" else None,
        "applied",
    )
    story = story_of(waits, asked=[pauses])
    assert story.headline == "A waits: for /d/x, which is never created"
    assert why(story)[0] == (
        "A waits for /d/x to be created (watched since step 1), or for its clock [line]"
    )


def test_a_finding_about_something_else_names_no_culprit():
    """Who waits is explained; the headline is the finding's own."""

    def waits():
        yield from Exists("/d/x", watch=True)
        yield from Wait()

    never = Always("nothing is quiet", lambda view: "it is quiet", at_end=True)
    story = story_of(waits, asked=[never])
    assert story.headline == "it is quiet" and story.why


def test_a_finding_that_says_what_is_watched_is_not_said_again():
    """Only what is new: that it is one's own, has gone, or was left behind."""

    def waits():
        yield from Children("/d", watch=True)
        yield from Wait()

    wrong = Always("nobody waits", lambda view: "A waits, watching /d, at rest", at_end=True)
    assert story_of(waits, asked=[wrong]).culprit == ""

    def waits_for_none():
        yield from Exists("/d/x", watch=True)
        yield from Wait()

    assert story_of(waits_for_none, asked=[wrong]).culprit == "for /d/x, which is never created"


def test_nothing_is_explained_while_something_is_under_way():
    """A finding in the midst of things."""

    def waits():
        yield from Exists("/d/x", watch=True)
        yield from Wait()

    def says():
        yield from Children("/d")
        yield from Children("/d")

    once = Always("nobody lists", lambda view: "somebody listed", "applied")
    assert story_of(waits, says, asked=[once]).why == ()


@pytest.mark.parametrize(
    ("name", "culprit"),
    [
        ("ThrowsAwayTheRest", r"B removed item 2, in step \d+ \[queues.py:\d+\]"),
        ("RemovesBeforeItWorks", r"B removed item 1, in step \d+ \[queues.py:\d+\]"),
        ("AddsTwo", r"A wrote /n last, in step \d+ \[counters.py:\d+\]"),
    ],
)
def test_the_culprit_is_named_not_the_victim(name, culprit):
    """Who removed the item, or wrote the counter: in the headline, and before whoever waits."""
    answer = next(each for each in (*ALL, *ANSWERS) if each.name == name)
    story = explore(answer.broken(), answer.properties(), faults=answer.faults).story
    assert re.fullmatch(culprit, story.culprit)
    assert story.why[0] == story.culprit
