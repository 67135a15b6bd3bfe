"""Caches, groups and fresh reads: what is shown agrees with what there is, in the end."""

from __future__ import annotations

import pytest

from zkkit.errors import ConnectionLost, NodeExists, NoNode
from zkkit.recipes.shared import until_answered
from zkkit.sim import NO_FAULTS, Say, StartNode, Work, World, explore, one
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import FreshReads, of_a_cache, of_a_cached_tree, of_a_group
from zkkit.steps import (
    Children,
    Create,
    Delete,
    Exists,
    FireKind,
    Get,
    Mark,
    Mode,
    Set,
    Spawn,
    Sync,
    Together,
    Wait,
    Watch,
)

EVERY = [NO_FAULTS, *map(one, KINDS)]
N = "/n/value"


def world_of(*scripts, nodes=("/n", "/g")):
    world = World(*map(StartNode, nodes))
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def told(world, asked, faults=NO_FAULTS):
    verdict = explore(world, asked, faults=faults)
    return verdict.story.wrong if verdict.story else verdict.outcome


# --- caches ---------------------------------------------------------------------------------


def writes(*values):
    """Each value once; 0 deletes the node."""

    def script():
        for value in values:
            yield from Work()
            if not value:
                yield from Delete(N)
                continue
            try:
                yield from Create(N, b"%d" % value)
            except NodeExists:
                yield from Set(N, b"%d" % value)

    return script


def read(watch=True):
    """The value; with a watch for what comes next."""
    while True:
        try:
            return int((yield from Get(N, watch=watch)).data)
        except NoNode:
            if (yield from until_answered(Exists(N, watch=watch))) is None:
                return 0
        except ConnectionLost:
            pass


def caches():
    """Looks with a watch, shows, waits, looks again."""
    shown = None
    while True:
        value = yield from read()
        if value != shown:
            yield from Say("event", value)
            yield from Say("sees", value)
        shown = value
        yield from Wait()


def caches_by_a_lasting_watch():
    """A persistent watch first; whatever it tells is a reason to look again."""
    yield from until_answered(Watch(N))
    shown = None
    while True:
        value = yield from read(watch=False)
        if value != shown:
            yield from Say("sees", value)
            yield from Say("event", value)
        shown = value
        yield from Wait()


CACHE = of_a_cache(N)
TELLS = of_a_cache(N, events=True)
right_caches = pytest.mark.parametrize("cache", [caches, caches_by_a_lasting_watch])


@right_caches
@pytest.mark.parametrize("faults", EVERY, ids=str)
@pytest.mark.parametrize("values", [(1, 2), (1, 0), (1, 0, 3)])
def test_the_right_cache(cache, values, faults):
    assert told(world_of(writes(*values), cache), TELLS, faults) == "holds"


def misses_a_change():
    """Looks, and sets its watch by a second look that it does not use."""
    while True:
        yield from Say("sees", (yield from read(watch=False)))
        yield from read()
        yield from Wait()


def trusts_the_news():
    """Takes a fire for the news itself: after two changes it has seen one."""
    yield from until_answered(Exists(N, watch=True))
    seen = 0
    while True:
        yield from Say("sees", seen)
        fire = yield from Wait()
        if fire.kind is FireKind.CREATED:
            seen = 1
        yield from until_answered(Exists(N, watch=True))


def looks_once():
    yield from Say("sees", (yield from read()))
    yield from Wait()
    yield from Wait()


def looks_once_and_ends():
    yield from Say("sees", (yield from read()))


def tells_and_ends():
    yield from Say("sees", (yield from read()))
    yield from Say("event", 7)


def forgets_deletions():
    while True:
        value = yield from read()
        if value:
            yield from Say("sees", value)
        yield from Wait()


def goes_back():
    """Shows what it read before it read on: two reads that overtake each other."""
    first = yield from read()
    second = yield from read()
    yield from Say("sees", second)
    yield from Say("sees", first)
    while True:
        yield from Say("sees", (yield from read()))
        yield from Wait()


def tells_too_little():
    """Tells of the first value only."""
    value = yield from read()
    yield from Say("event", value)
    while True:
        yield from Say("sees", value)
        yield from Wait()
        value = yield from read()


def tells_twice():
    while True:
        value = yield from read()
        yield from Say("event", value)
        yield from Say("event", value)
        yield from Say("sees", value)
        yield from Wait()


def tells_nothing():
    while True:
        yield from Say("sees", (yield from read()))
        yield from Wait()


def makes_it_up():
    while True:
        yield from Say("sees", (yield from read()) + 5)
        yield from Wait()


def says_nothing():
    yield from read()


@pytest.mark.parametrize(
    ("cache", "values", "asked", "found"),
    [
        (misses_a_change, (1,), CACHE, "B shows 0 for good, and /n/value has 1"),
        (trusts_the_news, (1, 2), CACHE, "B shows 0 for good, and /n/value has 1"),
        (looks_once, (1,), CACHE, "B shows 0 for good, and /n/value has 1"),
        (looks_once_and_ends, (1,), CACHE, "B shows 0 for good, and /n/value has 1"),
        (tells_and_ends, (1,), CACHE[2:3], "B shows 0, and the last event it told was 7"),
        (forgets_deletions, (1, 0), CACHE, "B shows 1 for good, and /n/value has 0"),
        (goes_back, (1,), CACHE, "B goes back from 1 to 0"),
        (tells_too_little, (1,), CACHE, "B shows 1, and the last event it told was 0"),
        (tells_twice, (1,), CACHE, "B tells of 0 twice"),
        (tells_nothing, (1,), TELLS, "B shows 1 and has told of no change"),
        (makes_it_up, (1,), CACHE[1:2], "B shows 5, which /n/value never had"),
        (says_nothing, (1,), CACHE, "vacuous"),
    ],
)
def test_wrong_caches(cache, values, asked, found):
    assert told(world_of(writes(*values), cache), asked) == found


def test_events_need_not_be_told():
    """Unless they are asked for."""
    assert told(world_of(writes(1), tells_nothing), CACHE) == "holds"


def takes_over(*watched):
    """The whole of a cache: of one node, at the beginning and so many times when it is woken."""
    kind = "created"
    for watch in watched:
        found = yield from Get("/n", watch=watch)
        yield from Mark("cached", "/n", found.stat.mzxid, kind)
        kind = "changed"
        if watch:
            yield from Wait()


def takes_over_and_waits():
    yield from takes_over(False)
    yield from Exists("/g", watch=True)
    yield from Wait()


def has_it_taken_over(*watched):
    yield from Spawn(takes_over(*watched), "cache")
    yield from Work()


def sets_the_node():
    yield from Set("/n", b"1")


@pytest.mark.parametrize(
    ("cache", "found"),
    [
        (takes_over_and_waits, "B's cache has not seen what has become of /n, and waits"),
        (lambda: takes_over(False), "B's cache has not seen what has become of /n, and has ended"),
        (lambda: takes_over(True, True), "holds"),
        (lambda: has_it_taken_over(True, True), "holds"),
    ],
)
def test_a_cache_of_many_nodes_may_be_an_actor_of_its_own(cache, found):
    """Whether it waits in the end or has stopped."""
    asked = of_a_cached_tree("/n", lambda path: path == "/n")
    assert told(world_of(sets_the_node, cache), asked) == found


# --- fresh reads ----------------------------------------------------------------------------


def reads(*before):
    def script():
        yield from Work()
        yield from Say("asks")
        for request in before:
            yield from request
        yield from Say("reads", int((yield from Get("/n")).data or b"0"))

    return script


def sets():
    yield from Set("/n", b"1")


def test_fresh_reads():
    """A follower that lags shows what was; after a Sync it does not."""
    asked = [FreshReads("/n")]
    for faults in EVERY:
        assert told(world_of(sets, reads(Sync("/n"))), asked, faults) == "holds"
    found = told(world_of(sets, reads()), asked, one("lag"))
    assert found == "B reads 0, and when it asked /n had 1"
    assert told(world_of(sets, reads()), asked) == "holds"


# --- groups ---------------------------------------------------------------------------------


def joins():
    """Is a member for a while, and leaves; after a lost connection it makes sure."""
    node = yield from Create("/g/m-", mode=Mode.EPHEMERAL_SEQUENTIAL)
    yield from Mark("entered", node.path, node.stat.czxid)
    yield from Work()
    yield from until_answered(Delete(node.path))
    yield from Mark("left", node.path, node.stat.czxid)


def lists():
    while True:
        members = yield from until_answered(Children("/g", watch=True))
        yield from Say("members", len(members))
        yield from Wait()


def lists_by_a_lasting_watch():
    yield from until_answered(Watch("/g"))
    while True:
        members = yield from until_answered(Children("/g"))
        yield from Say("members", len(members))
        yield from Wait()


GROUP = of_a_group("/g")


@pytest.mark.parametrize("group", [lists, lists_by_a_lasting_watch])
@pytest.mark.parametrize("faults", [NO_FAULTS, one("crash"), one("expire"), one("lag")], ids=str)
def test_the_right_group(group, faults):
    assert told(world_of(group, joins, joins), GROUP, faults) == "holds"


def lists_late():
    """Lists, and then sets a watch by a second look."""
    while True:
        yield from Say("members", len((yield from Children("/g"))))
        yield from Children("/g", watch=True)
        yield from Wait()


def counts_the_news():
    """Counts how often it is woken."""
    count = len((yield from Children("/g", watch=True)))
    while True:
        yield from Say("members", count)
        yield from Wait()
        count += 1
        yield from Children("/g", watch=True)


FOR_GOOD = "/g/m-0 stays a member for good, "


def joins_for_ever():
    node = yield from Create("/g/m-", mode=Mode.PERSISTENT_SEQUENTIAL)
    yield from Mark("entered", node.path, node.stat.czxid)
    yield from Work()


def joins_silently_for_ever():
    yield from Create("/g/m-", mode=Mode.PERSISTENT_SEQUENTIAL)


def joins_and_forgets():
    yield from Create("/g/m-", mode=Mode.EPHEMERAL_SEQUENTIAL)


def joins_elsewhere(says=True):
    node = yield from Create("/n/m-", mode=Mode.EPHEMERAL_SEQUENTIAL)
    if says:
        yield from Mark("entered", node.path, node.stat.czxid)
    yield from Delete(node.path)


def joins_without_a_node():
    yield from Work()
    yield from Mark("entered", "/g/m-0", 5)


@pytest.mark.parametrize(
    ("scripts", "found"),
    [
        ((lists_late, joins), "A shows 0 members for good, and /g has 1"),
        ((counts_the_news, joins), "A shows 1 member for good, and /g has 0"),
        ((lists, joins_without_a_node), "B enters by /g/m-0, which is not there"),
        ((lists, joins_for_ever), "B enters by /g/m-0, which would outlive its session"),
        ((lists, joins_silently_for_ever), FOR_GOOD + "which is of no session"),
        ((lists, joins_and_forgets), FOR_GOOD + "whose session has no more to do"),
        ((lists, joins_elsewhere), "B enters by /n/m-0, which is not below /g"),
        ((lists, lambda: joins_elsewhere(says=False)), "vacuous"),
        ((lists, lists), "vacuous"),
        ((joins, joins), "vacuous"),
    ],
)
def test_wrong_groups(scripts, found):
    assert told(world_of(*scripts), GROUP) == found


def test_together_is_one_flight():
    """(Sync and read may fly together: that is fresh as well.)"""

    def at_one_go():
        yield from Work()
        yield from Say("asks")
        _, data = yield from Together(Sync("/n"), Get("/n"))
        yield from Say("reads", int(data.data or b"0"))

    assert told(world_of(sets, at_one_go), [FreshReads("/n")], one("lag")) == "holds"
