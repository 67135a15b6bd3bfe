"""How a world begins and whom it strikes: the order of children, starting nodes, chosen victims."""

from __future__ import annotations

import itertools

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NoNode
from zkkit.recipes.herd import HerdLock
from zkkit.sim import (
    NO_FAULTS,
    Faults,
    StartNode,
    Work,
    World,
    contenders,
    every,
    explore,
    one,
    replay,
    use,
)
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import Property, mutual_exclusion, of_a_fair_lock, of_a_lock
from zkkit.steps import Children, Create, Delete, Get, Mark, Mode, Wait

LISTINGS = ("sorted", "reversed", "shuffled", "any")


# --- the order of children ------------------------------------------------------------------


def takes_the_first_listed(path, *, first):
    """A lock for which the first name listed is the lowest, or the one that `first` picks."""
    node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
    mine = node.path.rpartition("/")[2]
    while True:
        names = yield from Children(path)
        ahead = first(names)
        if ahead == mine:
            break
        try:
            yield from Get(f"{path}/{ahead}", watch=True)
            yield from Wait()
        except NoNode:
            pass
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


def world_of(listing, first):
    world = World("/l", listing=listing)
    for name in "AB":
        world.actor(name, world.connect(name), takes_the_first_listed, "/l", first=first)
    return world


def the_first(names):
    return names[0]


@pytest.mark.parametrize("listing", ["reversed", "any"])
def test_whoever_takes_the_first_listed_is_caught(listing):
    """With sorted names it holds, by luck."""
    asked = [mutual_exclusion()]
    assert explore(world_of("sorted", the_first), asked, faults=NO_FAULTS).holds
    world = world_of(listing, the_first)
    verdict = explore(world, asked, faults=NO_FAULTS)
    assert verdict.holds is False
    assert replay(verdict.story, world, asked) == verdict.story.wrong
    assert ("lists in reverse" in str(verdict.story)) == (listing == "any")


@pytest.mark.parametrize("listing", LISTINGS)
def test_whoever_takes_the_lowest_holds_in_every_order(listing):
    assert explore(world_of(listing, min), [mutual_exclusion()], faults=NO_FAULTS).holds


@pytest.mark.parametrize("listing", LISTINGS[1:])
def test_the_fair_lock_holds_in_every_order(listing):
    world = World("/l", listing=listing)
    for name in "AB":
        session = world.connect(f"{name}'s session")
        world.actor(name, session, use, ReentrantLock(session, "/l"))
    assert explore(world, of_a_fair_lock(), faults=one()).holds


def test_the_orders_step_by_step():
    """Each lists the same names; shuffled ones always in the same way, neither up nor down."""
    names = [f"n-{number}" for number in range(6)]
    seen = {}
    for listing in LISTINGS:
        world = World("/l", listing=listing)
        session = world.connect()
        for name in names:
            world.take(session, Create(f"/l/{name}"))
        seen[listing] = world.take(session, Children("/l"))
        assert world.take(session, Children("/l")) == seen[listing]
    assert list(seen["sorted"]) == names and list(seen["reversed"]) == names[::-1]
    assert sorted(seen["shuffled"]) == names
    assert list(seen["shuffled"]) not in (names, names[::-1])


def test_any_order_costs_nothing_where_there_is_one_child():
    """Two outcomes only where they differ."""

    def lists(path):
        yield from Children(path)

    found = []
    for below in ((), ("x",), ("x", "y")):
        world = World("/l", *[f"/l/{name}" for name in below], listing="any")
        world.actor("A", world.connect(), lists, "/l")
        found.append(explore(world, [], faults=NO_FAULTS).events)
    assert found[0] == found[1] < found[2]


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="shuffled, any"):
        World("/l", listing="upside down")


# --- starting nodes -------------------------------------------------------------------------


def test_a_world_begins_with_nodes():
    """Data, mode and a counter; levels above are made."""
    world = World(
        "/l",
        StartNode("/config", b"on"),
        StartNode("/a/b/queue", mode=Mode.CONTAINER, next_sequence=7),
    )
    session = world.connect()
    assert world.take(session, Get("/config")).data == b"on"
    made = world.take(session, Create("/a/b/queue/n-", mode=Mode.PERSISTENT_SEQUENTIAL))
    assert made.path == "/a/b/queue/n-0000000007"
    assert world.tree.nodes["/a/b/queue"].mode is Mode.CONTAINER
    assert world.tree.nodes["/a/b"].mode is world.tree.nodes["/config"].mode is Mode.PERSISTENT
    assert world.tree.nodes["/l"].mode is Mode.CONTAINER


def test_the_counter_is_true():
    """It has counted the children that are there, and given the numbers they have."""
    world = World(StartNode("/q"), StartNode("/q/x"), StartNode("/q/n-0000000004"))
    session = world.connect()
    made = world.take(session, Create("/q/n-", mode=Mode.PERSISTENT_SEQUENTIAL))
    assert made.path == "/q/n-0000000005"
    world = World(StartNode("/q"), StartNode("/q/x"), StartNode("/q/y"))
    made = world.take(world.connect(), Create("/q/n-", mode=Mode.PERSISTENT_SEQUENTIAL))
    assert made.path == "/q/n-0000000002"


def test_those_made_later_have_a_later_zxid():
    world = World(*[StartNode(f"/q/n-{number:010}") for number in range(3)])
    zxids = [world.tree.nodes[f"/q/n-{number:010}"].czxid for number in range(3)]
    assert zxids == sorted(set(zxids))


@pytest.mark.parametrize(
    "nodes", [(StartNode("/x", mode=Mode.EPHEMERAL),), (StartNode("/x"), StartNode("/x"))]
)
def test_what_cannot_be_there_is_refused(nodes):
    with pytest.raises(ValueError, match="cannot begin with"):
        World(*nodes)


# --- whom faults strike ---------------------------------------------------------------------


class Struck(Property):
    """Collects who ended with an error."""

    name = "struck"
    wants = frozenset({"ended"})

    def __init__(self):
        self.seen = set()

    def after(self, memo, facts, view):
        self.seen |= {view.name(f.actor) for f in facts if f.kind == "ended" and f.what is not None}
        return memo, None


@pytest.mark.parametrize("faults", [one("cancel", whom=["B"]), every(cancel=1, whom="B")])
def test_a_fault_strikes_only_whom_it_may(faults):
    struck = Struck()
    assert explore(contenders(ReentrantLock, 2), [*of_a_lock(), struck], faults=faults).holds
    assert struck.seen == {"B"}
    assert "strikes B only" in str(faults)


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"reap"}))
def test_each_fault_strikes_only_whom_it_may(kind):
    """Every event of every kind is of the one chosen, or of its session."""
    world = contenders(HerdLock, 2, timeout=1.0)
    machine = world.machine(Faults(1, (kind,), whom=("A",)))
    free = world.machine(Faults(1, (kind,)))
    state, chosen, others = machine.begin().done(()), set(), set()
    for _ in itertools.repeat(None, 12):
        chosen |= {event[1] for event in machine.misfortunes(state)}
        others |= {event[1] for event in free.misfortunes(state)}
        moves = machine.moves(state)
        if not moves:
            break
        state = machine.after(state, moves[-1]).done(())
    machine.close()
    free.close()
    assert chosen <= {0}
    assert others - {0} == {1}


def test_nobody_of_that_name():
    with pytest.raises(ValueError, match="the actors are A, B"):
        explore(contenders(ReentrantLock, 2), of_a_lock(), faults=one("cancel", whom=["Z"]))
