"""Listeners: what they may call, whom they hold up, and when they are called no more."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.caches.kinds import CHILDREN, Told, content
from tests.caches.lives import BUILT, CACHES, TOLD
from zkkit import ChildrenCache, DataWatch, NodeCache, PersistentWatcher, SharedCount
from zkkit.steps import Exists, Set
from zkkit.testing import eventually

HERE = pytest.mark.front("threads", "gevent")  # on asyncio a listener waits for nothing
NUMBER = b"\0\0\0\1"

CALLS = {
    "rebuild": (NodeCache, lambda cache: cache.rebuild()),
    "rebuild-children": (ChildrenCache, lambda cache: cache.rebuild()),
    "refresh": (ChildrenCache, lambda cache: cache.refresh(forced=True)),
    "clear": (ChildrenCache, lambda cache: cache.clear()),
    "clear_and_refresh": (ChildrenCache, lambda cache: cache.clear_and_refresh()),
    "rebuild_node": (ChildrenCache, lambda cache: cache.rebuild_node(f"{cache.path}/x")),
    "start-node": (
        NodeCache,
        lambda cache: NodeCache(cache.session, cache.path, build_initial=True).start(),
    ),
    "start-children": (
        ChildrenCache,
        lambda cache: ChildrenCache(cache.session, cache.path, start_mode="build_initial").start(),
    ),
}


@HERE
@pytest.mark.defect("K-17")
@pytest.mark.parametrize("name", CALLS)
def test_it_may_call_any_method(front, name, open_session, witness, zk_path):
    """It gets its answer, and the session's listeners are called as before."""
    make, call = CALLS[name]
    witness.create(f"{zk_path}/x", b"1", makepath=True)
    session = open_session()
    cache = make(session, zk_path)
    called: list[Any] = []

    def listen(event: Any) -> None:
        if not called:
            called.append("begun")
            call(cache)
            called.append("returned")

    cache.add_listener(listen)
    front.call(lambda: cache.start())
    eventually(lambda: called == ["begun", "returned"])
    seen: list[Any] = []
    front.call(lambda: DataWatch(session, zk_path)(lambda data, stat: seen.append(data)))
    eventually(lambda: seen)


@HERE
@pytest.mark.concurrent
def test_what_it_asks_for_is_told_in_order(front, open_session, started, witness, zk_path, agrees):
    """It reads everything again for each event, and all listeners hear of all in one order."""
    cache = ChildrenCache(open_session(), zk_path)
    before, after = Told(cache), []
    cache.add_listener(lambda event: cache.refresh(forced=True))
    cache.add_listener(after.append)
    started(cache)
    witness.ensure_path(zk_path)
    for number in range(30):
        path = f"{zk_path}/{number % 3}"
        witness.delete(path) if witness.exists(path) else witness.create(path)
    agrees(CHILDREN, cache)
    eventually(lambda: before.adds_up() and after == before.events)


@pytest.fixture
def hold(front, open_session, witness, zk_path):
    """`hold(session)`: one of its listeners takes long from now on, until the event that it gives
    is set."""
    held: list[threading.Event] = []

    def begin(session: Any) -> threading.Event:
        busy, go_on = threading.Event(), threading.Event()
        held.append(go_on)
        watch = DataWatch(session, f"{zk_path}-busy")
        front.call(lambda: watch(lambda data, stat: (busy.set(), go_on.wait(30))))
        eventually(busy.is_set)
        return go_on

    yield begin
    for go_on in held:
        go_on.set()


@HERE
@pytest.mark.parametrize("name", CACHES)
def test_it_holds_up_no_cache(front, name, open_session, started, hold, witness, zk_path):
    """While it takes long, caches of the session are read and follow; listeners hear of all that in
    their turn."""
    witness.create(f"{zk_path}/x", NUMBER, makepath=True)
    session = open_session()
    told = Told(CACHES[name](session, zk_path))
    go_on = hold(session)
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    before = content(cache)
    witness.set(zk_path, b"2")
    witness.set(f"{zk_path}/x", b"2")
    eventually(lambda: content(cache) != before)
    assert told.events == []
    go_on.set()
    eventually(lambda: content(cache) and told.adds_up())


@HERE
@pytest.mark.parametrize("name", BUILT)
def test_it_holds_up_no_start(front, name, open_session, hold, witness, zk_path):
    """What is to be there when `start` returns is there."""
    witness.create(zk_path, NUMBER, makepath=True)
    session = open_session()
    hold(session)
    recipe = BUILT[name](session, zk_path)
    front.call(lambda: recipe.start())
    front.call(lambda: recipe.close())


@HERE
def test_it_holds_up_no_value(front, open_session, started, witness, zk_path):
    """A value that is followed goes on while its own listener thinks about the one before."""
    count = SharedCount(open_session(), zk_path)
    go_on, told = threading.Event(), []
    count.add_listener(lambda now: (told.append(now.value), go_on.wait(30)))
    started(count)
    for number in (1, 2, 3):
        witness.set(zk_path, b"\0\0\0" + bytes([number]))
        eventually(lambda number=number: count.value == number)
    go_on.set()
    eventually(lambda: told == [1, 2, 3])


@HERE
@pytest.mark.parametrize("name", TOLD)
def test_it_is_not_called_when_it_is_closed(front, name, open_session, hold, witness, zk_path):
    """What it was to hear of waited for its turn when `close` was called."""
    witness.create(zk_path, NUMBER, makepath=True)
    session = open_session()
    recipe = TOLD[name](session, zk_path)
    told: list[Any] = []
    recipe.add_listener(told.append)
    if isinstance(recipe, PersistentWatcher):
        recipe.add_reset_listener(lambda: told.append("reset"))
    go_on = hold(session)
    front.call(lambda: recipe.start())
    if isinstance(recipe, DataWatch):
        recipe._function = lambda data, stat: told.append(data)
    witness.create(f"{zk_path}/x", b"")
    witness.set(zk_path, b"\0\0\0\2")
    front.call(lambda: session.exists(zk_path))
    eventually(lambda: any("waits for" in each for each in session.standing()))
    front.call(lambda: recipe.close())
    go_on.set()
    last: list[Any] = []
    front.call(lambda: session.background(Exists(zk_path), last.append))
    eventually(lambda: last)  # it was in the queue behind all others
    assert told == []


@pytest.mark.front("asyncio")
@pytest.mark.parametrize("name", TOLD)
def test_nor_on_asyncio(front, name, open_session, witness, zk_path):
    """Closed while changes pour in: what comes later is not told."""
    witness.create(zk_path, NUMBER, makepath=True)
    session = open_session()

    async def live() -> bool:
        recipe = TOLD[name](session, zk_path)
        told: list[Any] = []
        recipe.add_listener(told.append)
        await recipe.start()
        for number in range(5):
            for byte in range(5):
                session.background(Set(zk_path, bytes([0, 0, number, byte])), lambda outcome: None)
            await session.exists(zk_path)
        await recipe.close()
        before = len(told)
        for _ in range(20):
            await session.exists(zk_path)
        return len(told) == before

    for _ in range(10):
        assert front.call(live)
