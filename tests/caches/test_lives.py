"""What holds for every recipe that lives in the background, whatever it does there."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest

from tests.caches.lives import ALL, BUILT
from zkkit import Cache, LeaderLatch, NodeCache, SharedCount
from zkkit.errors import NoAuth, NotStarted
from zkkit.recipes.caches.content import Memory
from zkkit.testing import eventually


def notes(session: Any) -> int:
    """How many notes the session itself keeps."""
    return len(session._runner._engine._table)


@pytest.mark.parametrize("name", ALL)
def test_nothing_of_it_stays_in_its_session(front, name, open_session, zk_path):
    """A session lives for months: what was started and closed in it is not kept, nor is a note."""
    session, actor = open_session(), front.actor()
    before = notes(session)

    def live(number: int) -> weakref.ref[Any]:
        recipe = ALL[name](session, f"{zk_path}/{number % 3}")
        actor.call(lambda: recipe.start())
        actor.call(lambda: recipe.close())
        return weakref.ref(recipe)

    lives = [live(number) for number in range(100 if front.name == "threads" else 10)]
    actor.call(lambda: session.exists("/"))  # it keeps what it was asked to do until the next thing
    eventually(lambda: gc.collect() >= 0 and not [each for each in lives if each() is not None])
    assert notes(session) == before and not session._runner._engine._heeding


# --- closed or left while it is starting ----------------------------------------------------------


@pytest.fixture
def starting(front, open_session, witness, zk_proxy, zk_path):
    """`starting(name)`: a recipe whose start waits for an answer that does not come, until
    `zk_proxy.thaw()`."""
    witness.create(zk_path, b"\0\0\0\1", makepath=True)

    def make(name: str) -> Any:
        recipe = BUILT[name](open_session(zk_proxy.hosts, timeout=20.0), zk_path)
        zk_proxy.freeze(replies_only=True)
        return recipe

    yield make
    zk_proxy.thaw()


def waits_for_an_answer(recipe: Any) -> bool:
    return any(repr(recipe) in each for each in recipe.session.standing())


@pytest.mark.parametrize("name", BUILT)
def test_closed_while_it_is_starting(front, name, starting, zk_proxy):
    """Whoever starts it is told so, at once, and nothing lives on."""
    recipe = starting(name)
    start = front.actor().begin(lambda: recipe.start())
    eventually(lambda: waits_for_an_answer(recipe))
    front.call(lambda: recipe.close())
    with pytest.raises(NotStarted, match="closed"):
        start.result(10)
    assert recipe.session.standing() == []
    zk_proxy.thaw()
    front.call(lambda: recipe.close())


@pytest.mark.parametrize("name", BUILT)
def test_left_while_it_is_starting(front, name, starting, zk_proxy):
    """Its caller is interrupted: nothing lives on."""
    recipe = starting(name)
    caught = front.interrupted(lambda: recipe.start(), lambda: eventually(
        lambda: waits_for_an_answer(recipe)
    ))  # fmt: skip
    assert caught is not None
    eventually(lambda: recipe.session.standing() == [])
    zk_proxy.thaw()


@pytest.mark.parametrize("recipe", [LeaderLatch, SharedCount, Cache])
@pytest.mark.front("threads")
def test_left_just_as_it_has_started(front, recipe, open_session, zk_path, contenders):
    """The main thread is interrupted in `with`, before its block: it is closed again."""
    session = open_session()
    busy, go_on = threading.Event(), threading.Event()
    session._runner.hand_over(lambda: (busy.set(), go_on.wait(10)))
    assert busy.wait(10)
    lives = recipe(session, zk_path)

    def block() -> None:
        with lives:
            raise AssertionError("inside")

    engine = session._runner._engine
    caught = front.interrupted(block, lambda: eventually(lambda: len(engine._handed_over) > 1))
    assert isinstance(caught, KeyboardInterrupt)
    go_on.set()
    eventually(lambda: not engine._handed_over and session.standing() == [])
    if recipe is LeaderLatch:
        assert contenders(zk_path) == []


@pytest.mark.front("asyncio")
@pytest.mark.parametrize("name", BUILT)
def test_cancelled_just_as_it_has_started(front, name, open_session, witness, zk_path):
    """The cancel comes together with the result, which nobody takes: it is closed again."""
    witness.create(zk_path, b"\0\0\0\1", makepath=True)
    session = open_session()
    lives = BUILT[name](session, zk_path)

    async def block() -> None:
        task, start = asyncio.current_task(), session._runner.start

        def cancelled_when_done(run: Any) -> None:
            session._runner.start = start
            run.on_done.append(task.cancel)
            start(run)

        session._runner.start = cancelled_when_done
        async with lives:
            raise AssertionError("inside")

    with pytest.raises(asyncio.CancelledError):
        front.call(lambda: _outcome(block))
    eventually(lambda: session.standing() == [])


async def _outcome(block: Any) -> None:
    await asyncio.create_task(block())


def test_what_it_cannot_read_is_raised_and_it_is_not_started(front, open_session, zk_path, witness):
    """It may be started again, when that is mended."""
    from kazoo.security import OPEN_ACL_UNSAFE, make_acl

    witness.create(zk_path, b"\0\0\0\1", makepath=True)
    witness.set_acls(zk_path, [make_acl("world", "anyone", admin=True)])
    count = SharedCount(open_session(), zk_path)
    with pytest.raises(NoAuth):
        front.call(lambda: count.start())
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    front.call(lambda: count.start())
    assert count.value == 1
    front.call(lambda: count.close())


# --- what goes wrong ------------------------------------------------------------------------------


class Breaks(NodeCache):
    """Has a mistake of its own."""

    def _live(self) -> Any:
        yield from super()._read_now()
        raise RuntimeError("a mistake")


def test_a_state_that_tells_the_truth(front, open_session, zk_path, caplog):
    """A cache that an error has ended says that it has failed, and can be closed."""
    cache = Breaks(open_session(), zk_path)
    front.call(lambda: cache.start())
    eventually(lambda: cache.state == "failed")
    eventually(lambda: "a mistake" in caplog.text)
    front.call(lambda: cache.close())
    assert cache.state == "closed"


class Full(Memory):
    """A storage that cannot keep some."""

    def put(self, node: Any) -> None:
        if node.data == b"2":
            raise OSError("the disk is full")
        super().put(node)

    def clear(self) -> None:
        raise OSError("the disk is gone")


def test_a_storage_that_raises(front, open_session, zk_path, witness, caplog):
    """It is logged; the cache goes on, its listeners hear of everything, and what comes later is
    kept as before."""
    witness.create(zk_path, b"1")
    cache = Cache(open_session(), zk_path, storage=Full())
    told: list[Any] = []
    cache.add_listener(lambda event: told.append(event.new and event.new.data))
    front.call(lambda: cache.start())
    eventually(lambda: cache.initialized)
    witness.set(zk_path, b"2")
    eventually(lambda: b"2" in told)
    assert cache.get().data == b"1" and "the disk is full" in caplog.text
    witness.set(zk_path, b"3")
    eventually(lambda: cache.get().data == b"3")
    assert told == [b"1", None, b"2", b"3"] and cache.state == "started"
    front.call(lambda: cache.close())
    eventually(lambda: "the disk is gone" in caplog.text)
    assert cache.state == "closed"
