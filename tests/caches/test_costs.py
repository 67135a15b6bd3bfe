"""What caches cost: watches, fires and requests for each event, flights for each level."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.caches.kinds import ALL, CACHE, CHILDREN, NODE, ONE_OF_EACH, SINGLE, TREE, Kind, over
from zkkit.record import Recorder
from zkkit.steps import Create
from zkkit.testing import eventually

pytestmark = pytest.mark.front("threads")  # the requests are the recipe's, not the front's


class Cost(NamedTuple):
    """Of one event."""

    fires: int
    requests: int
    flights: int


def spent(recorder: Recorder) -> Cost:
    """What was spent since the recorder was there. What took off together is one flight."""
    steps = [event for hook, event in recorder if hook == "step"]
    flights = {event.t_ns - event.duration for event in steps}
    return Cost(recorder.count("watch_fired"), len(steps), len(flights))


def counted(cache: Any, change: Any, done: Any, cost: Cost) -> None:
    """A change that the cache takes over costs this, and nothing more comes after it."""
    recorder = Recorder()
    cache.session.hooks.add(recorder)
    change()
    eventually(done)
    eventually(lambda: spent(recorder) == cost, 5, otherwise=lambda: (spent(recorder), cost))
    cache.session.hooks.remove(recorder)


# changed, created, deleted: a child; of caches of one node: that node
COSTS = [
    (CACHE, Cost(1, 1, 1), Cost(1, 1, 1), Cost(1, 1, 1)),
    (SINGLE, Cost(1, 1, 1), Cost(1, 1, 1), Cost(1, 1, 1)),
    (NODE, Cost(1, 1, 1), Cost(1, 1, 1), Cost(1, 2, 2)),
]


@pytest.mark.parametrize(
    ("kind", "changed", "created", "deleted"), COSTS, ids=[str(each[0]) for each in COSTS]
)
def test_of_each_event(kind, changed, created, deleted, open_session, started, witness, zk_path):
    """One fire, and one request to look."""
    path = zk_path if kind in (NODE, SINGLE) else f"{zk_path}/x"
    witness.create(path, b"", makepath=True)
    cache = started(kind.make(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    counted(cache, lambda: witness.set(path, b"1"), lambda: cache.get(path).data == b"1", changed)
    counted(cache, lambda: witness.delete(path), lambda: path not in cache, deleted)
    counted(cache, lambda: witness.create(path, b""), lambda: path in cache, created)


@over(TREE, CHILDREN)
def test_of_each_event_by_watches(kind, open_session, started, witness, zk_path):
    """A node's own watch and its parent's both fire when it goes: two fires, which may be looked at
    together or one after the other."""
    path = f"{zk_path}/x"
    witness.create(path, b"", makepath=True)
    cache = started(kind.make(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    counted(
        cache,
        lambda: witness.set(path, b"1"),
        lambda: cache.get(path).data == b"1",
        Cost(1, 1, 1),
    )
    recorder = Recorder()
    cache.session.hooks.add(recorder)
    witness.delete(path)
    eventually(lambda: path not in cache)
    most = 3 if kind is TREE else 2
    eventually(lambda: spent(recorder)[:2] == (2, most), 5, otherwise=lambda: spent(recorder))
    assert spent(recorder).flights <= 2
    cache.session.hooks.remove(recorder)
    counted(cache, lambda: witness.create(path, b""), lambda: path in cache, Cost(1, most, 2))


@pytest.mark.parametrize(
    ("kind", "count"),
    [(CACHE, 1), (SINGLE, 1), (NODE, 1), (CHILDREN, 5 + 1), (TREE, 2 * (1 + 5 + 5))],
    ids=str,
)
def test_watches(kind, count, front, open_session, witness, zk_path, left_clean):
    """One for all, or one for each node (of a tree two); none is left."""
    for number in range(5):
        witness.create(f"{zk_path}/{number}/x", b"", makepath=True)
    session = open_session()
    recorder = Recorder()
    session.hooks.add(recorder)
    cache = kind.make(session, zk_path)
    front.call(lambda: cache.start())
    eventually(lambda: cache.initialized)
    assert recorder.count("watch_set") == count
    front.call(lambda: cache.close())
    left_clean(f"{zk_path}/0/x")


def grown(session: Any, path: str, *widths: int) -> int:
    """Make a tree with so many nodes on each level, below `path`; how many there are."""
    level, paths = [path], [path]
    for width in widths:
        level = [f"{parent}/{n}" for parent in level for n in range(width)]
        paths += level
    for first in range(0, len(paths), 500):
        session.multi(*[Create(each) for each in paths[first : first + 500]])
    return len(paths)


def flights_to_read(kind: Kind, front: Any, session: Any, path: str, size: int) -> Cost:
    recorder = Recorder()
    session.hooks.add(recorder)
    cache = kind.make(session, path)
    front.call(lambda: cache.start())
    eventually(lambda: cache.initialized, 60)
    assert len(cache) == size
    cost = spent(recorder)
    session.hooks.remove(recorder)
    front.call(lambda: cache.close())
    return cost


@pytest.mark.parametrize(
    ("kind", "requests", "flights"),
    # Sync and Watch; then of three levels all nodes, and the children of those that have some.
    [(CACHE, 2 + 73 + 13, 1 + 2 + 2 + 1), (TREE, 1 + 2 * 73, 1 + 3)],
    ids=str,
)
def test_to_read_a_tree(kind, requests, flights, front, open_session, zk_path):
    """A level in at most two flights, whatever its width."""
    session = open_session()
    size = grown(session, zk_path, 12, 5)
    assert flights_to_read(kind, front, session, zk_path, size) == (0, requests, flights)


@pytest.mark.slow
@over(*ONE_OF_EACH)
def test_to_read_a_large_tree(kind, front, open_session, zk_path):
    """Ten thousand nodes on three levels: at most three flights for each."""
    session = open_session(timeout=20.0)
    size = grown(session, zk_path, 100, 100)
    assert size > 10_000
    cost = flights_to_read(kind, front, session, zk_path, size)
    assert cost.flights <= 3 * 3


@pytest.mark.slow
@over(*ONE_OF_EACH)
def test_to_read_a_wide_tree(kind, front, open_session, zk_path):
    """The same on one level."""
    session = open_session(timeout=20.0)
    cost = flights_to_read(kind, front, session, zk_path, grown(session, zk_path, 10_000))
    assert cost.flights <= 3 * 2


@pytest.mark.concurrent
@over(*ALL)
def test_a_storm_is_looked_at_together(kind, front, open_session, started, witness, zk_path):
    """However often a node has changed between two looks, it is read once: changes that come while
    a flight is under way share the next one."""
    witness.create(zk_path, b"", makepath=True)
    if kind is CHILDREN:
        witness.create(f"{zk_path}/x", b"")
    path = f"{zk_path}/x" if kind is CHILDREN else zk_path
    cache = started(kind.make(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    recorder = Recorder()
    cache.session.hooks.add(recorder)
    for future in [witness.set_async(path, b"%d" % n) for n in range(100)]:
        future.get()
    eventually(lambda: cache.get(path).data == b"99")
    cost = spent(recorder)
    cache.session.hooks.remove(recorder)
    assert cost.requests <= cost.fires + 1
    if kind in (CACHE, SINGLE):
        assert cost.fires == 100


def test_watches_that_are_used_up_are_forgotten(open_session, started, witness, zk_path):
    """Children that come and go leave nothing behind in the session, whatever their names."""
    witness.ensure_path(zk_path)
    cache = started(CHILDREN.make(open_session(), zk_path))
    for _ in range(30):
        path = witness.create(f"{zk_path}/n-", b"", sequence=True)
        eventually(lambda: path in cache)  # noqa: B023
        witness.delete(path)
        eventually(lambda: path not in cache)  # noqa: B023
    runs = cache.session._runner._engine.runs
    watched = lambda: [key.path for run in list(runs.values()) for key in list(run.watches)]  # noqa: E731
    eventually(lambda: watched() == [zk_path], otherwise=watched)


def test_a_mark_for_each_change(open_session, started, witness, zk_path):
    """Hooks are told what a cache takes over."""
    session = open_session()
    recorder = Recorder()
    session.hooks.add(recorder)
    cache = started(CACHE.make(session, zk_path))
    eventually(lambda: cache.initialized)
    witness.create(zk_path, b"")
    eventually(lambda: len(cache) == 1)
    witness.set(zk_path, b"1")
    eventually(lambda: cache.get().data == b"1")
    witness.delete(zk_path)
    eventually(lambda: len(cache) == 0)
    marks = [event for hook, event in recorder if hook == "cached"]
    assert [(m.kind, m.path, m.recipe) for m in marks] == [
        (kind, zk_path, "Cache") for kind in ("created", "changed", "deleted")
    ]
    assert marks[0].zxid < marks[1].zxid == marks[2].zxid
