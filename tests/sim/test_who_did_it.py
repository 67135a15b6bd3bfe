"""Who has deleted what, and whose hold has ended: also in a transaction, after a cancel, and where
several hold by one node."""

from __future__ import annotations

import pytest

from zkkit.errors import ConnectionLost, MultiFailed, NoNode
from zkkit.recipes.shared import delete_surely, until_answered
from zkkit.sim import NO_FAULTS, Work, World, explore, one, replay
from zkkit.sim.properties import (
    History,
    NobodyTakesAway,
    Property,
    WorksWhileItHolds,
    mutual_exclusion,
)
from zkkit.sim.properties.locks import AtMost
from zkkit.steps import Children, Create, Delete, Get, Mark, Mode, Multi, Set, StillHeld


def world_of(*scripts, shared=False):
    world = World("/l")
    together = world.connect("the session") if shared else None
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, together or world.connect(f"{name}'s session"), script)
    return world


def holds(node):
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()


def holder():
    node = yield from Create("/l/n", mode=Mode.EPHEMERAL)
    yield from holds(node)


def takes_away(delete):
    def script():
        try:
            yield from delete("/l/n")
        except (NoNode, MultiFailed, ConnectionLost):
            pass

    return script


def in_a_transaction(path):
    yield from Multi((Create("/l/other"), Delete(path), Create(path), Set("/l", b"")))


@pytest.mark.parametrize("delete", [Delete, in_a_transaction])
def test_whoever_takes_a_node_away_is_named(delete):
    def script():
        yield from delete("/l/n")

    verdict = explore(world_of(holder, takes_away(delete)), [NobodyTakesAway()], faults=NO_FAULTS)
    assert verdict.story.wrong == "B deletes /l/n, which A holds"
    assert replayed(verdict.story, delete)


def replayed(story, delete):
    world = world_of(holder, takes_away(delete))
    return replay(story, world, [NobodyTakesAway()]) == story.wrong


def test_a_transaction_tells_what_was_there_and_went():
    """Not what it has made itself, and nothing if it was refused."""
    told = []

    def script():
        yield from Create("/l/a")
        yield from Multi((Delete("/l/a"), Create("/l/b"), Delete("/l/b")))
        try:
            yield from Multi((Create("/l/c"), Delete("/l/a")))
        except MultiFailed:
            pass

    def check(facts, view):
        told.append([(fact.actor, fact.what) for fact in facts])

    asked = [History("what went", check, "deleted")]
    assert explore(world_of(script), asked, faults=NO_FAULTS).holds
    assert told[-1] == [(0, "/l/a")]


def says_so_later():
    """Its node goes first, and then it says that it holds no more. Cancelled in between, its delete
    arrives all the same."""
    node = yield from Create("/l/n", mode=Mode.EPHEMERAL)
    try:
        yield from holds(node)
    finally:
        try:
            yield from delete_surely(node.path)
        finally:
            yield from Mark("released", node.path, node.stat.czxid)


def cancelled_at_its_delete():
    """No clean-up: the cancel hits the delete itself."""
    node = yield from Create("/l/n", mode=Mode.EPHEMERAL)
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Delete(node.path)


@pytest.mark.parametrize("script", [says_so_later, cancelled_at_its_delete])
@pytest.mark.parametrize("fault", ["cancel", "crash", "reply lost"])
def test_whoever_deletes_its_own_node_takes_nothing_away(script, fault):
    """Also if it has left by the time that its request arrives."""
    verdict = explore(world_of(script), [NobodyTakesAway()], faults=one(fault))
    assert not verdict.stories, verdict.story


def test_whoever_has_left_is_named_as_well():
    """What it asked for arrives after it was cancelled: it was it all the same."""
    verdict = explore(
        world_of(holder, takes_away(Delete)), [BreaksOnlyAfterACancel()], faults=one("cancel")
    )
    assert verdict.story.wrong == "B deletes /l/n, which A holds"
    told = [line for lines in verdict.story.words for line in lines if "delete /l/n" in line]
    assert told and all("test_who_did_it.py" in line for line in told)


class BreaksOnlyAfterACancel(NobodyTakesAway):
    def wrong(self, fact, view):
        return super().wrong(fact, view) if view.struck else None


# --- one node, several holders --------------------------------------------------------------


def counted(*, works=True):
    """A lease on one node that all share."""
    node = yield from until_answered(Get("/l"))
    yield from Mark("acquired", "/l", node.stat.czxid)
    if works:
        yield from Work()
    yield from Mark("released", "/l", node.stat.czxid)


def counted_briefly():
    yield from counted(works=False)


@pytest.mark.parametrize("shared", [False, True])
def test_who_releases_ends_its_own_hold_only(shared):
    """The other one goes on to hold by the same node, and works rightly."""
    world = world_of(counted, counted_briefly, shared=shared)
    verdict = explore(world, [WorksWhileItHolds()], faults=NO_FAULTS)
    assert verdict.holds, verdict.story


def test_so_it_is_seen_that_a_third_one_is_too_many():
    """Two may hold: one of three has released, and still there are two more."""
    world = world_of(counted, counted, counted)
    assert explore(world, [AtMost(3)], faults=NO_FAULTS).holds
    assert not explore(world, [AtMost(2)], faults=NO_FAULTS).holds

    def again():
        yield from counted_briefly()
        yield from counted()

    assert not explore(world_of(counted, again), [mutual_exclusion()], faults=NO_FAULTS).holds


def test_a_hold_may_be_released_by_another_one_of_its_session():
    """Who holds nothing by this node releases for the others of its session, and for no other."""

    def takes():
        node = yield from Create("/l/n")
        yield from Mark("acquired", node.path, node.stat.czxid)

    def releases():
        while not (yield from Children("/l")):
            yield from Work()
        zxid = (yield from Get("/l/n")).stat.czxid
        yield from Mark("released", "/l/n", zxid)
        yield from Work()

    class Ends(Property):
        name = "nobody holds in the end"

        def quiet(self, memo, view):
            return "still held" if view.grants else None

    world = world_of(takes, releases, shared=True)
    assert explore(world, [Ends()], faults=NO_FAULTS).holds
    assert not explore(world_of(takes, releases), [Ends()], faults=NO_FAULTS).holds


def test_what_others_hold_by_a_node_is_not_held_by_oneself():
    def asks_and_holds():
        zxid = (yield from Get("/l")).stat.czxid
        yield from Mark("acquired", "/l", zxid)
        held = yield from StillHeld(0, "/l", zxid)
        if not held:
            yield from Create("/never")

    def asks_only():
        zxid = (yield from Get("/l")).stat.czxid
        if (yield from StillHeld(0, "/l", zxid)):
            yield from Create("/never")

    class Never(Property):
        name = "never"
        wants = frozenset({"applied"})

        def after(self, memo, facts, view):
            return memo, "created" if "/never" in view.tree.nodes else None

    assert explore(world_of(asks_and_holds, asks_only), [Never()], faults=NO_FAULTS).holds
