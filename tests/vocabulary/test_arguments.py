"""Arguments that make no sense are refused where the call is written, in every recipe.

No servers: nothing is begun. (In the simulator's session a call that is not refused says so.)
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from zkkit import (
    AtomicFloat,
    AtomicInt,
    AtomicLong,
    Cache,
    CachedAtomicInt,
    CachedAtomicLong,
    CachedNode,
    CacheEvent,
    CacheListener,
    ChildrenWatchLock,
    HerdLock,
    HerdReadWriteLock,
    Lock,
    MultiLock,
    PromotedToLock,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
    SharedCount,
    SharedValue,
    TreeCache,
)
from zkkit.aio import AioSession
from zkkit.errors import Unsupported
from zkkit.recipes.caches.content import EventKind, Memory
from zkkit.recipes.locks import Hold, MultiHold, first_n
from zkkit.retry import Exponential
from zkkit.sim import World
from zkkit.steps import Get, Node, Stat

SESSION: Any = World().connect()
OTHER: Any = World().connect()

LOCKS: dict[str, Any] = {
    "ReentrantLock": ReentrantLock(SESSION, "/l"),
    "Lock": Lock(SESSION, "/l"),
    "Lock-kazoo": Lock(SESSION, "/l", layout="kazoo"),
    "read": ReadWriteLock(SESSION, "/l").read,
    "write": ReadWriteLock(SESSION, "/l").write,
    "Semaphore": Semaphore(SESSION, "/l", 3),
    "MultiLock": MultiLock(SESSION, ["/a", "/b"]),
    "HerdLock": HerdLock(SESSION, "/l"),
    "ChildrenWatchLock": ChildrenWatchLock(SESSION, "/l"),
    "HerdReadWriteLock.read": HerdReadWriteLock(SESSION, "/l").read,
}
OVER_ALL = pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)


class AioStandIn(AioSession):
    """A session of asyncio that was not connected."""

    def __init__(self) -> None:
        self.node_data = b""


AIO: Any = AioStandIn()


async def awaited(*told: Any) -> None: ...


async def awaited_steps(*told: Any) -> Any:
    yield


def steps(*told: Any) -> Any:
    yield


class AwaitedSelector:
    """A coroutine is always true."""

    def traverses(self, path: str) -> bool:
        return True

    async def accepts(self, path: str) -> bool:
        return False


class AwaitedStorage(Memory):
    async def put(self, node: CachedNode) -> None:  # type: ignore[override]
        """Nobody awaits it."""


NAN, INFINITE = float("nan"), float("inf")


@OVER_ALL
@pytest.mark.parametrize("blocking", [2, 0, 1, 2.5, "x", None, "False"])
def test_blocking(lock, blocking):
    """acquire(2) waits for ever in silence elsewhere: here it is told that a deadline is meant by
    timeout=."""
    with pytest.raises(ValueError, match=r"blocking must be True or False.*timeout="):
        lock.acquire(blocking)
    with pytest.raises(ValueError, match="blocking"):
        lock.acquire.of(blocking)


@OVER_ALL
@pytest.mark.parametrize("timeout", ["2", NAN, -1, -0.1, True, INFINITE, 1e12, b"2", [2]])
def test_timeout(lock, timeout):
    """Neither a text nor what is no time; and a deadline that no thread could wait for."""
    for call in (
        lambda: lock.acquire(timeout=timeout),
        lambda: lock.acquire(True, timeout),
        lambda: lock.held(timeout=timeout),
        lambda: lock.acquire.of(timeout=timeout),
    ):
        with pytest.raises(ValueError, match="timeout must be a number of seconds"):
            call()


def test_what_makes_sense_is_begun():
    """The simulator's session refuses to run it itself: so it came that far."""
    for given in ((), (False,), (True, 2), (True, 0.5), (False, None)):
        with pytest.raises(Unsupported, match="simulator"):
            LOCKS["ReentrantLock"].acquire(*given)


@pytest.mark.parametrize("limit", [2.5, "3", 0, -1, True, None, [3]])
def test_limit(limit):
    """Of a semaphore: a whole number, or a SharedCount of the same session."""
    with pytest.raises(ValueError, match=r"limit of a semaphore.*SharedCount"):
        Semaphore(SESSION, "/l", limit)


def test_limit_of_another_session():
    """Its path may mean another node there."""
    with pytest.raises(ValueError, match="of its session"):
        Semaphore(SESSION, "/l", SharedCount(OTHER, "/n"))


@pytest.mark.parametrize("count", [0, -1, 1.0, "2", True, None, 4])
def test_count_of_leases(count):
    """A whole number that can be had."""
    with pytest.raises(ValueError, match="leases"):
        LOCKS["Semaphore"].acquire_many(count)
    with pytest.raises(ValueError, match="blocking"):
        LOCKS["Semaphore"].acquire_many(2, 2)
    with pytest.raises(ValueError, match="timeout"):
        LOCKS["Semaphore"].acquire_many(2, timeout="2")


@pytest.mark.parametrize(
    "locks",
    [
        "/one/path",
        ReentrantLock(SESSION, "/l"),
        None,
        3,
        [3],
        [b"/l"],
        [ReadWriteLock(SESSION, "/l")],
        [LOCKS["MultiLock"]],
    ],
    ids=lambda each: type(each).__name__,
)
def test_members_of_a_multi_lock(locks):
    """A list, of paths and single locks."""
    with pytest.raises(ValueError, match="a MultiLock takes"):
        MultiLock(SESSION, locks)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ReentrantLock(SESSION, "/l", node_data="text"), "node_data must be bytes"),
        (lambda: Lock(SESSION, "/l", node_data="text"), "node_data must be bytes"),
        (lambda: Semaphore(SESSION, "/l", 1, node_data=3), "node_data must be bytes"),
        (lambda: ReadWriteLock(SESSION, "/l", node_data="text"), "node_data must be bytes"),
        (lambda: ReentrantLock(SESSION, "/l", rule="first"), "a rule must be something"),
        (lambda: ReentrantLock(SESSION, "/l", persistent="no"), "persistent must be True or"),
        (lambda: Lock(SESSION, "/l", layout="java"), "there is no layout 'java'"),
        (lambda: Lock(SESSION, "/l", layout=[]), "there is no layout"),
        (lambda: ReadWriteLock(SESSION, "/l", layout=None), "there is no layout"),
        (lambda: ReadWriteLock(SESSION, "/l", reader_rule={}), "there is no reader rule"),
        (lambda: first_n(0), "at least one"),
        (lambda: first_n(1.5), "whole number"),
        (lambda: first_n("2"), "whole number"),
        (lambda: SharedCount(SESSION, "/n", seed="3"), "an integer"),
        (lambda: SharedCount(SESSION, "/n", seed=True), "an integer"),
        (lambda: SharedCount(SESSION, "/n").set(2.5), "an integer"),
        (lambda: SharedCount(SESSION, "/n").set(2**31), "an integer"),
        (lambda: LOCKS["ReentrantLock"].on_revoke("call me"), "a callback must be something"),
        (lambda: AtomicLong(SESSION, "/n", retry=5), "retry must be a policy .* not 5"),
        (lambda: AtomicLong(SESSION, "/n", retry=Exponential), "retry .* not <class"),
        (lambda: AtomicLong(SESSION, "/n", promoted_to=5), "promoted_to must be the path of a"),
        (
            lambda: AtomicLong(SESSION, "/n", promoted_to=PromotedToLock("/l", retry=5)),
            "retry .* not 5",
        ),
        (lambda: SharedCount(SESSION, "/n").try_set(5, 6), "what `versioned` or .* not 5"),
        (lambda: SharedValue(SESSION, "/n").try_set((b"", 0, 0), b""), "what `versioned` or"),
        (
            lambda: CachedAtomicLong(SharedCount(SESSION, "/n"), 5),
            "a CachedAtomicLong takes its numbers from an AtomicLong, not from <SharedCount",
        ),
        (lambda: CachedAtomicLong(AtomicInt, 5), "numbers from an AtomicLong, not from <class"),
        (lambda: CachedAtomicLong(AtomicInt(SESSION, "/n"), 5), "numbers from an AtomicLong"),
        (lambda: CachedAtomicInt(AtomicLong(SESSION, "/n"), 5), "numbers from an AtomicInt"),
        (lambda: AtomicFloat(SESSION, "/n").add(10**400), "a finite number as text"),
        (lambda: AtomicFloat(SESSION, "/n").add(NAN), "a finite number as text, not nan"),
        (lambda: AtomicFloat(SESSION, "/n").try_set(-INFINITE), "finite number as text, not -inf"),
        (
            lambda: AtomicLong(SESSION, "/n", layout="kazoo").add(10**5000),
            "an integer as text, not one of more digits",
        ),
        (lambda: Cache(SESSION, "/c", storage=object()), r"storage must be .* has put\(\), remove"),
        (
            lambda: TreeCache(SESSION, "/c", selector=lambda path: True),
            r"selector must be an object that has traverses\(\), accepts\(\), not <function",
        ),
        (lambda: TreeCache(SESSION, "/c", selector=AwaitedSelector()), r"^accepts\(\) of selector"),
        (lambda: Cache(SESSION, "/c", storage=AwaitedStorage()), r"^put\(\) of storage must be a"),
        (lambda: ReentrantLock(SESSION, "/l", rule=awaited), "a rule must be a plain function"),
        (lambda: Cache(SESSION, "/c").get(5), "path must be text, or None .* not 5"),
        (lambda: Cache(SESSION, "/c").children(b"/c"), "path must be text, or None .* not b'/c'"),
        (lambda: CacheListener(after_initialized=5), "after_initialized must be True or False"),
        (lambda: Cache(AIO, "/c").add_listener(Lock(AIO, "/l").release), "nobody would await it"),
        (
            lambda: Cache(AIO, "/c").add_listener(partial(Lock(AIO, "/l").acquire, False)),
            "nobody would await it",
        ),
    ],
)
def test_other_arguments(make: Any, says: str) -> None:
    """A sentence that names the argument."""
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("name", ["created", "changed", "deleted", "initialized"])
def test_functions_of_a_cache_listener(name: str) -> None:
    """Each is checked as a listener is, where it is given; one that counts as false is one, too."""
    says = {
        5: "must be something that can be called",
        "": "must be something that can be called",
        awaited: "must be a plain function",
        awaited_steps: "nobody would iterate",
        steps: "nobody would iterate",
    }
    for wrong, why in says.items():
        with pytest.raises(ValueError, match=f"^{name} {why}|^{name} must be .*{why}"):
            CacheListener(**{name: wrong})  # type: ignore[arg-type]

    class Falsy:
        heard = 0

        def __bool__(self) -> bool:
            return False

        def __call__(self, *told: Any) -> None:
            self.heard += 1

    falsy, node = Falsy(), CachedNode("/c", b"", Stat(1, 1, 0, 0, 0, 0, 0, 7, 0, 0, 1))
    listener = CacheListener(**{name: falsy})  # type: ignore[arg-type]
    for event in (
        CacheEvent(EventKind.CREATED, "/c", None, node),
        CacheEvent(EventKind.CHANGED, "/c", node, node),
        CacheEvent(EventKind.DELETED, "/c", node, None),
        CacheEvent(EventKind.INITIALIZED, "/c"),
    ):
        listener(event)
    assert falsy.heard == 1


def test_methods_of_a_blocking_session_are_callbacks() -> None:
    """A recipe's own method can be called back where it is not awaited."""
    Cache(SESSION, "/c").add_listener(Lock(SESSION, "/l").release)


def test_arguments_of_holds() -> None:
    """Callbacks that cannot be called, and transactions of what is no operation."""
    stat = Stat(1, 1, 0, 0, 0, 0, 0, 7, 0, 0, 1)
    hold: Any = Hold(LOCKS["ReentrantLock"], Node("/l/x", stat), 1)
    for each in (hold, MultiHold(LOCKS["MultiLock"], (hold,))):
        with pytest.raises(ValueError, match="callback"):
            each.on_lost(None)
        for op in ("text", Get("/a"), None):
            with pytest.raises(ValueError, match="a transaction takes"):
                each.transaction(op)
