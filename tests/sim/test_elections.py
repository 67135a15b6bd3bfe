"""Elections: one leader, and a leader that believes what it was told."""

from __future__ import annotations

import pytest

from zkkit.errors import NoNode, SessionLost
from zkkit.paths import join, split
from zkkit.recipes.shared import (
    create_if_free,
    create_protected,
    delete_ours,
    delete_surely,
    until_answered,
    withdraw,
)
from zkkit.sim import NO_FAULTS, Say, Work, World, explore, one
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import of_an_election
from zkkit.steps import Children, Create, Delete, Exists, Get, Guid, Mark, Mode, StillHeld, Wait

EVERY = [NO_FAULTS, *map(one, KINDS)]
E = "/e"
ASKED = of_an_election()


def world_of(*scripts):
    world = World(E)
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def told(script, faults=NO_FAULTS):
    verdict = explore(world_of(script, script), ASKED, faults=faults)
    return verdict.story.wrong if verdict.story else verdict.outcome


def leads(node):
    """Acts twice, and asks each time whether it still leads."""
    owner = node.stat.ephemeral_owner
    yield from Mark("led", node.path, node.stat.czxid)
    for _ in range(2):
        yield from Work()
        if not (yield from StillHeld(owner, node.path, node.stat.czxid)):
            yield from Say("doubts")
            return
        yield from Say("believes")
    yield from Mark("unled", node.path, node.stat.czxid)


def in_line():
    """The first in line leads; all others wait for the one just before."""
    guid, node = (yield from Guid()), None
    try:
        node, names = yield from create_protected(E, guid, Children(E), data=b"")
        while before := [name for name in names if name[36:] < split(node.path)[1][36:]]:
            try:
                path = join(E, max(before, key=lambda name: name[36:]))
                yield from until_answered(Get(path, watch=True))
                yield from Wait()
            except NoNode:
                pass
            names = yield from until_answered(Children(E))
        yield from leads(node)
    except BaseException as error:
        yield from withdraw(E, guid, node, after=error)
        raise
    yield from delete_surely(node.path)


def by_name():
    """Whoever creates the one node leads; all others wait until it goes."""
    path, mine = join(E, "leader"), (yield from Guid()).encode()
    try:
        while (node := (yield from create_if_free(path, mine))) is None:
            if (yield from until_answered(Exists(path, watch=True))) is not None:
                yield from Wait()
        yield from leads(node)
    except SessionLost:
        raise
    except BaseException:
        yield from delete_ours(path, lambda found: found.data == mine)
        raise
    yield from delete_ours(path, lambda found: found.data == mine)


@pytest.mark.parametrize("faults", EVERY, ids=str)
@pytest.mark.parametrize("election", [in_line, by_name])
def test_the_right_election(election, faults):
    assert told(election, faults) == "holds"


def stands():
    return (yield from Create(join(E, "x-"), mode=Mode.EPHEMERAL_SEQUENTIAL))


def both_lead():
    node = yield from stands()
    yield from leads(node)
    yield from Delete(node.path)


def never_leads():
    node = yield from stands()
    yield from Delete(node.path)


def leads_by_anothers_node():
    yield from stands()
    path = join(E, min((yield from Children(E))))
    yield from Mark("led", path, (yield from Get(path)).stat.czxid)
    yield from Work()


def believes_after_a_loss():
    """Goes on when it is told that its session is over."""
    node = yield from stands()
    yield from Mark("led", node.path, node.stat.czxid)
    try:
        yield from Work()
    except SessionLost:
        pass
    yield from Say("believes")
    yield from Mark("unled", node.path, node.stat.czxid)
    yield from delete_surely(node.path)


def believes_before():
    """Acts when it stands, before it is elected."""
    yield from Say("believes")
    yield from in_line()


def believes_by_a_clock_that_ran_out():
    """Does not ask whether it still leads."""
    node = yield from stands()
    yield from Mark("led", node.path, node.stat.czxid)
    yield from Work()
    yield from Say("believes")
    yield from Mark("unled", node.path, node.stat.czxid)
    yield from Delete(node.path)


@pytest.mark.parametrize(
    ("election", "faults", "found"),
    [
        (both_lead, NO_FAULTS, "two leaders at once: A and B"),
        (never_leads, NO_FAULTS, "vacuous"),
        (leads_by_anothers_node, NO_FAULTS, "B says it holds /e/x-0, a node of another session"),
        (believes_before, NO_FAULTS, "A believes that it leads, and it does not"),
    ],
)
def test_wrong_elections(election, faults, found):
    verdict = explore(world_of(election, election), ASKED, faults=faults)
    if found == "vacuous":
        assert verdict.unmet == ("somebody leads",)
    else:
        assert found in [story.wrong for story in verdict.stories]


def test_what_a_lost_session_ends():
    """A leader that was told, and goes on."""
    story = explore(world_of(believes_after_a_loss), ASKED, faults=one("expire")).story
    assert story.wrong == "A believes that it leads, and it does not"
    assert explore(world_of(believes_after_a_loss), ASKED, faults=NO_FAULTS).holds


def test_what_its_own_clock_ends():
    """A leader alone, that does not ask: its hold lapses, and it goes on."""
    world = world_of(believes_by_a_clock_that_ran_out)
    story = explore(world, ASKED, faults=one("lapse")).story
    assert story.wrong == "A believes that it leads, and it does not"
    assert explore(world, ASKED, faults=one("expire")).holds  # which it cannot know
