"""Whoever holds, and whoever has let go or given up: what is right of them and what is wrong; and
who is told to be to blame where others suffer."""

from __future__ import annotations

import re

import pytest

import zkkit
from zkkit.errors import BadVersion, ConnectionLost, SessionLost, TimedOut
from zkkit.paths import join
from zkkit.recipe import (
    create_if_free,
    create_protected,
    delete_ours,
    list_children,
    pause,
    protected,
    until_answered,
    withdraw,
)
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Say, StartNode, Work, World, contenders, explore, one
from zkkit.sim.properties import (
    NobodyGivesUp,
    of_a_barrier,
    of_a_counter,
    of_a_fair_lock,
    of_a_lock,
    of_a_queue,
    of_an_election,
    of_leases,
    of_readers_and_writers,
)
from zkkit.steps import (
    Create,
    Delete,
    Exists,
    Get,
    Guid,
    Mark,
    Mode,
    Recall,
    Remember,
    Set,
    Spawn,
    Stop,
    Wait,
    Within,
)


def world_of(*scripts, nodes=("/l",)):
    world = World(*map(StartNode, nodes))
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def acquired(node):
    return Mark("acquired", node.path, node.stat.czxid)


def released(node):
    return Mark("released", node.path, node.stat.czxid)


def taken(hold, *, first="acquired", wait=None):
    """Takes /l/lock, lets `hold` do the rest, and leaves."""

    def script():
        mine = (yield from Guid()).encode()
        try:
            while (node := (yield from create_if_free("/l/lock", mine))) is None:
                yield from (wait or wait_for_it)()
            yield from Mark(first, node.path, node.stat.czxid)
            yield from hold(node, mine)
        finally:
            yield from delete_ours("/l/lock", lambda found: found.data == mine)

    return script


def wait_for_it():
    if (yield from until_answered(Exists("/l/lock", watch=True))) is not None:
        yield from Wait()


# --- right ones -----------------------------------------------------------------------------


def marks_late(node, mine):
    """Deletes its node, and then says that it has let go."""
    yield from Work()
    yield from delete_ours("/l/lock", lambda found: found.data == mine)
    yield from released(node)


def hands_on(node, mine):
    """Lets a script of its own work, and waits for it."""

    def job():
        yield from Work()
        yield from Remember("done", True)

    try:
        spawned = yield from Spawn(job(), "job")
        while (yield from Recall("done", watch=True)) is None:
            yield from Wait()
        yield from Stop(spawned)
    finally:
        yield from released(node)


def says_it_twice(node, mine):
    yield from acquired(node)
    try:
        yield from Work()
    finally:
        yield from released(node)


@pytest.mark.parametrize(
    ("hold", "faults"),
    [
        (marks_late, one("request lost", "reply lost", "crash", "expire", "pause", "lapse")),
        (hands_on, NO_FAULTS),
        (hands_on, one("crash")),
        (says_it_twice, one()),
    ],
)
def test_who_holds_may_do_so(hold, faults):
    verdict = explore(world_of(taken(hold), taken(hold)), of_a_lock(), faults=faults)
    assert verdict.holds, verdict


def polls_with_an_old_watch():
    """Something else is watched since long ago."""
    yield from until_answered(Exists("/l", watch=True))
    yield from taken(says_it_twice, wait=lambda: pause(1.0))()


@pytest.mark.parametrize("asked", [of_a_lock(), of_leases(1)], ids=["lock", "leases"])
def test_an_old_watch_is_not_what_a_poller_relies_on(asked):
    world = world_of(polls_with_an_old_watch, polls_with_an_old_watch)
    verdict = explore(world, asked, faults=NO_FAULTS)
    assert verdict.holds, verdict


def watches_then_pauses():
    """Its watch comes too late, and its clock hides that."""

    def wait():
        yield from until_answered(Exists("/l/lock", watch=True))
        try:
            yield from Within(1.0, Wait())
        except TimedOut:
            pass

    return taken(says_it_twice, wait=wait)()


def test_a_watch_that_is_new_is():
    world = world_of(watches_then_pauses, watches_then_pauses)
    found = explore(world, of_a_lock(), faults=NO_FAULTS).story.wrong
    assert "waits for its clock, watching /l/lock, while nobody holds" in found


@pytest.mark.parametrize(
    "lock",
    [
        pytest.param("Lock", marks=pytest.mark.slow),
        "ChildrenWatchLock",
        "HerdLock",
        "ReentrantLock",
    ],
)
def test_no_lock_of_the_kits_own_is_accused(lock):
    verdict = explore(contenders(getattr(zkkit, lock), 2), of_a_lock(), faults=one())
    assert verdict.holds, verdict


def test_a_watch_that_stays_hides_nothing_worse():
    """Two hold at once, and watch: what matters is told."""

    def all_hold():
        name = protected((yield from Guid()), "n-")
        (node,) = yield from create_protected("/l", name, data=b"")
        yield from list_children("/l", watch=True)
        yield from acquired(node)
        yield from Work()
        yield from released(node)
        yield from withdraw("/l", name, node)

    story = explore(world_of(all_hold, all_hold), of_a_lock(), faults=NO_FAULTS).story
    assert story.wrong == "two holders at once: A and B"


def test_the_herds_readers_are_known_by_their_names():
    """By default, as Curator's are; all others write."""
    lock = zkkit.HerdReadWriteLock
    world = World("/l")
    for name, kind in (("A", "read"), ("B", "read"), ("C", "write")):
        session = world.connect(name)
        world.actor(name, session, zkkit.sim.use, getattr(lock(session, "/l"), kind))
    assert explore(world, of_readers_and_writers(readers=2), faults=NO_FAULTS).holds


def test_whoever_finds_nothing_may_go_home():
    """Unless it is asked to wait."""

    def puts():
        yield from Say("puts", 1)
        yield from Create("/q/item-", b"1", Mode.PERSISTENT_SEQUENTIAL)
        yield from Say("put", 1)

    def takes():
        yield from Say("takes")
        names = yield from list_children("/q")
        if names:
            found = yield from Get(join("/q", min(names)))
            yield from Delete(join("/q", min(names)))
            yield from Say("took", int(found.data))

    world = world_of(puts, takes, nodes=("/q",))
    assert explore(world, of_a_queue("/q"), faults=NO_FAULTS).holds
    waits = NobodyGivesUp(("takes", "took"))
    found = explore(world, [*of_a_queue("/q"), waits], faults=NO_FAULTS).story.wrong
    assert found == "B has ended: it has said 'takes', and never 'took'"


@pytest.mark.parametrize("faults", [one("cancel"), one("request lost")])
def test_whoever_was_struck_may_give_up(faults):
    def comes():
        yield from Say("arrives")
        yield from Work()
        try:
            yield from Get("/l")
        except ConnectionLost:
            return
        yield from Say("passes")

    verdict = explore(world_of(comes, comes), [NobodyGivesUp(("arrives", "passes"))], faults=faults)
    assert verdict.holds, verdict


def test_whoever_was_woken_by_its_clock_may_give_up():
    def comes():
        yield from Say("arrives")
        yield from pause(1.0)
        if len((yield from list_children("/l"))) > 1:
            yield from Say("passes")

    verdict = explore(world_of(comes), of_a_barrier(count=2), faults=NO_FAULTS)
    assert verdict.story is None


def test_what_is_taken_back_need_not_be_done():
    def adds():
        yield from Say("adds", 1)
        try:
            found = yield from Get("/l")
            yield from Set("/l", b"%d" % (int(found.data or b"0") + 1), found.stat.version)
            yield from Say("added", 1)
        except BadVersion:
            yield from Say("adds", -1)

    assert explore(world_of(adds, adds), of_a_counter("/l"), faults=NO_FAULTS).holds


# --- wrong ones, and who is to blame ------------------------------------------------------------


def gives_up(node, mine):
    yield from delete_surely(node.path)
    yield from Work()
    yield from released(node)


def leads_on(node, mine):
    yield from delete_surely(node.path)
    yield from Say("believes")
    yield from Mark("unled", node.path, node.stat.czxid)


def works_unsessioned(node, mine):
    try:
        yield from Work()
    except SessionLost:
        yield from Work()
        raise
    finally:
        yield from released(node)


@pytest.mark.parametrize(
    ("script", "asked", "faults", "found"),
    [
        (taken(gives_up), of_a_lock(), NO_FAULTS, "A has given up /l/lock and works on"),
        (
            taken(leads_on, first="led"),
            of_an_election(),
            NO_FAULTS,
            "A has given up /l/lock and believes that it leads",
        ),
        (taken(works_unsessioned), of_a_lock(), one("expire"), "A works and holds nothing"),
    ],
)
def test_who_has_let_go_is_accused(script, asked, faults, found):
    story = explore(world_of(script, script), asked, faults=faults).story
    assert story.wrong == found


def adds_by_value():
    """Finds its own value, and takes it for its own: another one may have written it."""
    yield from Say("adds", 1)
    while True:
        found = yield from until_answered(Get("/l"))
        more = b"%d" % (int(found.data or b"0") + 1)
        try:
            yield from Set("/l", more, found.stat.version)
        except BadVersion:
            continue
        except ConnectionLost:
            if (yield from until_answered(Get("/l"))).data != more:
                continue
        yield from Say("added", 1)
        return


def puts_hopefully():
    for item in (1, 2):
        yield from Say("puts", item)
        try:
            yield from Create(join("/l", str(item)), b"%d" % item)
        except ConnectionLost:
            pass
        yield from Say("put", item)


def takes_one():
    yield from Say("takes")
    yield from Wait()


def never_deletes():
    mine = (yield from Guid()).encode()
    while (node := (yield from create_if_free("/l/lock", mine))) is None:
        pass
    yield from acquired(node)
    yield from Work()
    yield from released(node)


@pytest.mark.parametrize(
    ("scripts", "asked", "faults", "culprit"),
    [
        (
            (adds_by_value, adds_by_value),
            of_a_counter("/l"),
            one("request lost"),
            r"B said 'added' in step \d+ \[.*\], though its request was lost",
        ),
        (
            (puts_hopefully, takes_one),
            of_a_queue("/l"),
            one("request lost"),
            r"A said 'put' in step \d+ \[.*\], though its request was lost",
        ),
        ((never_deletes, never_deletes), of_a_lock(), NO_FAULTS, "A never deletes /l/lock"),
    ],
)
def test_the_culprit_is_who_claimed_it_or_left_it(scripts, asked, faults, culprit):
    story = explore(world_of(*scripts), asked, faults=faults).story
    assert re.fullmatch(culprit, story.culprit), story


def test_who_left_its_node_is_named():
    """Whoever waits for the children of a directory waits for one that has ended."""

    def leaves_its_node():
        yield from Create("/l/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        while len((yield from list_children("/l", watch=True))) > 1:
            yield from Wait()

    story = explore(
        world_of(leaves_its_node, leaves_its_node), of_a_fair_lock(), faults=NO_FAULTS
    ).story
    assert re.fullmatch(r"[AB] has ended and left /l/n-\d", story.culprit), story


def test_one_error_is_one_story():
    """A script's own error is told once."""

    def fails():
        yield from Get("/l")
        raise LookupError("nothing")

    verdict = explore(world_of(fails), of_a_lock(), faults=NO_FAULTS)
    assert [story.breaks for story in verdict.stories] == ["scripts raise nothing of their own"]
    assert ": nothing, at test_holders.py:" in verdict.story.wrong


def test_words_agree_in_number():
    assert str(one("cancel", whom=["A"])) == "at most 1 fault of cancel, which strikes A only"
