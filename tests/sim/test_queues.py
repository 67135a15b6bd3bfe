"""Queues: nothing is lost, nothing is taken twice, all in order; right ones under every fault."""

from __future__ import annotations

import pytest

from zkkit.errors import ConnectionLost, MultiFailed, NodeExists, NoNode
from zkkit.paths import join
from zkkit.recipes.shared import delete_surely, until_answered
from zkkit.sim import NO_FAULTS, Faults, Say, StartNode, Work, World, explore, one
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import NothingVanishes, items_of, of_a_queue
from zkkit.steps import (
    Children,
    Create,
    Delete,
    Exists,
    Get,
    Guid,
    Mode,
    Multi,
    Sync,
    Together,
    Wait,
)

EVERY = [NO_FAULTS, *map(one, KINDS)]
Q = "/q"
ONCE, AGAIN = of_a_queue(Q), of_a_queue(Q, redelivers=True)


def world_of(*scripts, nodes=(Q, "/locks", "/seen")):
    # No containers: a queue that is reaped counts its items from 0 again, and names come back.
    world = World(*map(StartNode, nodes))
    for name, script in zip("ABCD", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def told(world, asked, faults=NO_FAULTS):
    verdict = explore(world, asked, faults=faults)
    return verdict.story.wrong if verdict.story else verdict.outcome


# --- right ones -----------------------------------------------------------------------------


def puts(*items):
    """Each under a name of its own, so that it is put once whatever is lost."""

    def script():
        for item in items:
            yield from Say("puts", item)
            data = b"%d" % item
            while True:
                try:
                    yield from Create(f"{Q}/i-", data, Mode.PERSISTENT_SEQUENTIAL)
                    break
                except ConnectionLost:
                    _, names = yield from Together(Sync(Q), Children(Q))
                    if (yield from has(names, data)):
                        break
                    return  # it was not put, or is taken already: we do not say that it was
                except NoNode:
                    yield from make(Q)
            yield from Say("put", item)

    return script


def has(names, data):
    for name in names:
        try:
            if (yield from Get(join(Q, name))).data == data:
                return True
        except NoNode:
            pass
    return False


def make(path):
    try:
        yield from until_answered(Create(path))
    except NodeExists:
        pass


def first_of():
    """The first item and its data; waits for one."""
    while True:
        try:
            names = yield from Children(Q, watch=True)
        except (NoNode, ConnectionLost):
            yield from make(Q)
            continue
        for name in sorted(names):
            try:
                return join(Q, name), int((yield from Get(join(Q, name))).data)
            except NoNode:
                pass
        if not names:
            yield from Wait()


def takes(times=1):
    """Takes what it could delete: at most once."""

    def script():
        for _ in range(times):
            yield from Say("takes")
            while True:
                path, item = yield from first_of()
                try:
                    yield from Delete(path)
                    break
                except NoNode:
                    pass  # somebody was quicker
            yield from Say("took", item)
            yield from Work()

    return script


def takes_in_a_transaction(times=1):
    """Deletes it and leaves a note of its own in one: after a lost reply the note tells."""

    def script():
        for _ in range(times):
            yield from Say("takes")
            note = join("/seen", (yield from Guid()))
            while True:
                path, item = yield from first_of()
                try:
                    yield from Multi((Delete(path), Create(note, mode=Mode.EPHEMERAL)))
                    break
                except MultiFailed:
                    yield from make("/seen")
                except ConnectionLost:
                    _, found = yield from Together(Sync(note), Exists(note))
                    if found is not None:
                        break
            yield from Say("took", item)
            yield from Work()

    return script


def locks_items(times=1):
    """Locks an item while it works on it, and deletes it when it is done: at least once."""

    def script():
        for _ in range(times):
            yield from Say("takes")
            path, lock, item = yield from lock_one()
            yield from Say("took", item)
            try:
                yield from Work()
                yield from Say("done", item)
                yield from delete_surely(path)
            finally:
                yield from delete_surely(lock)

    return script


def lock_one(mode=Mode.EPHEMERAL):
    me = (yield from Guid()).encode()
    while True:
        locked = yield from listing("/locks")
        names = yield from listing(Q)
        for name in sorted({*names} - {*locked}):
            lock = join("/locks", name)
            try:
                if (yield from locks(lock, me, mode)):
                    try:
                        data = (yield from until_answered(Get(join(Q, name)))).data
                        return join(Q, name), lock, int(data)
                    except NoNode:
                        yield from delete_surely(lock)  # somebody has done it meanwhile
            except BaseException:
                yield from delete_surely(lock)
                raise
        if {*names} <= {*locked}:
            yield from Wait()


def listing(path):
    while True:
        try:
            return (yield from until_answered(Children(path, watch=True)))
        except NoNode:
            yield from make(path)


def locks(lock, me, mode):
    """Whether the lock is ours."""
    while True:
        try:
            yield from Create(lock, me, mode)
            return True
        except NodeExists:
            return False
        except NoNode:
            yield from make("/locks")
        except ConnectionLost:
            yield from until_answered(Sync(lock))
            try:
                return (yield from until_answered(Get(lock))).data == me
            except NoNode:
                pass


@pytest.mark.parametrize("faults", EVERY, ids=str)
@pytest.mark.parametrize("taker", [takes(), takes_in_a_transaction()], ids=["plain", "noted"])
def test_the_right_queue(taker, faults):
    """Two items, two takers."""
    assert told(world_of(puts(1, 2), taker, taker), ONCE, faults) == "holds"


@pytest.mark.parametrize("faults", EVERY, ids=str)
def test_the_right_queue_that_redelivers(faults):
    """One item, two who lock it: whoever is struck gives it to the other."""
    assert told(world_of(puts(1), locks_items(), locks_items()), AGAIN, faults) == "holds"


def test_the_right_queue_that_redelivers_two():
    """Two items, in order."""
    assert told(world_of(puts(1, 2), locks_items(2)), AGAIN, one("cancel", "crash")) == "holds"


# --- wrong ones -----------------------------------------------------------------------------


def takes_without_asking():
    """Reads the first and does not care whether its delete worked."""
    yield from Say("takes")
    path, item = yield from first_of()
    try:
        yield from Delete(path)
    except NoNode:
        pass
    yield from Say("took", item)


def takes_the_last():
    yield from Say("takes")
    while not (names := (yield from Children(Q, watch=True))):
        yield from Wait()
    path = join(Q, max(names))
    item = int((yield from Get(path)).data)
    yield from Delete(path)
    yield from Say("took", item)


def takes_two_and_keeps_one():
    yield from Say("takes")
    path, _ = yield from first_of()
    yield from Delete(path)
    path, item = yield from first_of()
    yield from Delete(path)
    yield from Say("took", item)


def sleeps_beside_it():
    yield from Say("takes")
    while not (names := (yield from Children(Q))):
        yield from Children(Q, watch=True)
        yield from Wait()
    path = join(Q, min(names))
    item = int((yield from Get(path)).data)
    yield from Delete(path)
    yield from Say("took", item)


def makes_it_up():
    yield from Say("takes")
    yield from first_of()
    yield from Say("took", 7)


def puts_twice():
    """Puts again after a lost reply."""
    yield from Say("puts", 1)
    while True:
        try:
            yield from Create(f"{Q}/i-", b"1", Mode.PERSISTENT_SEQUENTIAL)
            break
        except ConnectionLost:
            pass
    yield from Say("put", 1)


def puts_for_a_while():
    """Puts an item that goes with its session."""
    yield from Say("puts", 1)
    yield from Create(f"{Q}/i-", b"1", Mode.EPHEMERAL_SEQUENTIAL)
    yield from Say("put", 1)
    yield from Work()


def looks_on():
    yield from Get(Q)


@pytest.mark.parametrize(
    ("scripts", "faults", "found"),
    [
        ((puts(1), takes_without_asking, takes_without_asking), NO_FAULTS, "item 1 is taken twice"),
        ((puts(1, 2), takes_the_last), NO_FAULTS, "B takes item 2 before item 1"),
        ((puts(1, 2), takes_two_and_keeps_one), NO_FAULTS, "item 1 is lost: put, never taken"),
        ((puts(1), sleeps_beside_it), NO_FAULTS, "B waits, watching /q, though item 1 is there"),
        ((puts(1), makes_it_up), NO_FAULTS, "B takes item 7, which nobody has put"),
        ((puts_twice, takes(2)), one("reply lost"), "item 1 is taken twice: by B both times"),
        ((puts_for_a_while, looks_on), one("expire"), "item 1 is lost"),
        ((puts(1), looks_on), NO_FAULTS, "vacuous"),
    ],
)
def test_wrong_queues(scripts, faults, found):
    assert told(world_of(*scripts), ONCE, faults).startswith(found)


def deletes_before_it_works():
    """Nobody gets it again if it is struck at work."""
    yield from Say("takes")
    path, lock, item = yield from lock_one()
    yield from Say("took", item)
    yield from delete_surely(path)
    yield from Work()
    yield from Say("done", item)
    yield from delete_surely(lock)


def locks_for_ever():
    """With a lock that outlives it."""
    yield from Say("takes")
    path, lock, item = yield from lock_one(Mode.PERSISTENT)
    yield from Say("took", item)
    yield from Work()
    yield from Say("done", item)
    yield from delete_surely(path)
    yield from delete_surely(lock)


def locks_nothing():
    yield from Say("takes")
    path, item = yield from first_of()
    yield from Say("took", item)
    yield from Work()
    yield from Say("done", item)
    yield from delete_surely(path)


@pytest.mark.parametrize(
    ("taker", "faults", "found"),
    [
        (deletes_before_it_works, one("crash"), "item 1 is lost: put, never worked off"),
        (locks_nothing, NO_FAULTS, "item 1 is taken twice: by B and by C"),
    ],
)
def test_wrong_queues_that_redeliver(taker, faults, found):
    assert told(world_of(puts(1), taker, taker), AGAIN, faults).startswith(found)


def test_a_lock_that_outlives_its_holder():
    """Its item is there, and whoever could work on it waits beside it."""
    world = world_of(puts(1), locks_for_ever, locks_items())
    found = told(world, AGAIN, one("crash"))
    assert found == "C waits, watching /locks, /q, though item 1 is there"


def test_what_is_lost_is_excused_once():
    """A taker that crashes may have one item in its hands, not two."""
    world = world_of(puts(1, 2, 3), takes_two_and_keeps_one, looks_on)
    assert told(world, ONCE, Faults(1, ("crash",))).startswith("item 1 is lost")


def test_what_is_done_and_not_removed():
    """It comes again, though nothing has gone wrong."""

    def forgets():
        yield from Say("takes")
        _, lock, item = yield from lock_one()
        yield from Say("took", item)
        yield from Work()
        yield from Say("done", item)
        yield from delete_surely(lock)

    found = told(world_of(puts(1), forgets, forgets), AGAIN)
    assert found.startswith("item 1 is taken twice")


def test_nothing_is_excused_before_a_fault():
    """A taker that drops what it has, and fails with an error that only a fault explains."""

    def drops():
        yield from Say("takes")
        path, _ = yield from first_of()
        yield from delete_surely(path)
        raise ConnectionLost("dropped")

    asked = [NothingVanishes(items_of(Q, int))]
    assert told(world_of(puts(1), drops), asked).startswith("item 1 is lost")
