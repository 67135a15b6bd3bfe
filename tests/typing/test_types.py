"""The types users see, pinned. mypy checks this file; to pytest most of it only is importable."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, assert_type

import pytest

import zkkit
from zkkit import (
    Barrier,
    Cache,
    CachedNode,
    CacheListener,
    ChildrenCache,
    ChildrenWatch,
    ChildrenWatchLock,
    DataWatch,
    DoubleBarrier,
    HerdElection,
    HerdReadWriteLock,
    Hold,
    LeaderLatch,
    LeaderSelector,
    Leadership,
    Lease,
    Lock,
    MultiLock,
    NodeCache,
    PersistentWatcher,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
    SharedCount,
    TreeCache,
    revoke,
)
from zkkit.aio import AioSession
from zkkit.errors import ZkkitError
from zkkit.recipe import LongLived
from zkkit.recipes.elections import LeaderTerm, Participant
from zkkit.recipes.locks import Leases, MultiHold, Place, Statistics, Turn, first_n
from zkkit.recipes.locks.readwrite import ReadLock, WriteLock
from zkkit.scripting import AnySession, Awaiting, Blocking, Recipe, S, script, timed_script
from zkkit.steps import (
    Call,
    Children,
    Create,
    Data,
    Exists,
    Fire,
    Get,
    Guid,
    Heard,
    Multi,
    Node,
    Recall,
    Script,
    Set,
    Spawned,
    Stat,
    Sync,
    Together,
    Wait,
    Within,
)


def barriers_and_watchers(session: zkkit.Session) -> None:
    """On a blocking session."""
    gate, meeting = Barrier(session, "/b"), DoubleBarrier(session, "/d", 2)
    assert_type(gate.set(), None)
    assert_type(gate.remove(), None)
    assert_type(gate.wait(timeout=1), bool)
    assert_type(meeting.enter(timeout=1), bool)
    assert_type(meeting.leave(), bool)
    with PersistentWatcher(session, "/w", recursive=True) as watcher:
        assert_type(watcher, PersistentWatcher[zkkit.Session])
        assert_type(watcher.persistent, bool)
        watcher.add_listener(lambda fire: assert_type(fire, Fire))
    watch = DataWatch(session, "/w")
    assert_type(watch(print), DataWatch[zkkit.Session])
    assert_type(watch.stop(), None)
    for data, stat in watch:
        assert_type(data, bytes | None)
        assert_type(stat, Stat | None)
    for children in ChildrenWatch(session, "/w"):
        assert_type(children, tuple[str, ...])


async def barriers_and_watchers_awaited(session: AioSession) -> None:
    """On an asyncio session."""
    gate, meeting = Barrier(session, "/b"), DoubleBarrier(session, "/d", 2)
    assert_type(await gate.wait(timeout=1), bool)
    assert_type(await gate.remove(), None)
    assert_type(await meeting.enter(), bool)
    assert_type(await meeting.leave(timeout=1), bool)
    async with PersistentWatcher(session, "/w") as watcher:
        assert_type(watcher, PersistentWatcher[AioSession])
    watch = DataWatch(session, "/w")
    assert_type(watch(print), DataWatch[AioSession])
    assert_type(await watch.stop(), None)
    async for data, stat in watch:
        assert_type(data, bytes | None)
        assert_type(stat, Stat | None)
    async for children in ChildrenWatch(session, "/w"):
        assert_type(children, tuple[str, ...])


def blocking(session: zkkit.Session) -> None:
    """On a blocking session every call gives its result."""
    assert_type(session.get("/a"), Data)
    assert_type(session.get("/a").data, bytes)
    assert_type(session.create("/a", b"", make_parents=True), Node)
    assert_type(session.set("/a", b"", version=1), Stat)
    assert_type(session.exists("/a"), Stat | None)
    assert_type(session.children("/a"), tuple[str, ...])
    assert_type(session.multi(Create("/a")), tuple[str | Stat | None, ...])
    assert_type(session.run(Get("/a")), Data)
    assert_type(session.run(Children("/a"), timeout=1.0), tuple[str, ...])
    assert_type(session.run(script_of_a_number()), int)
    assert_type(session.spawn(script_of_a_number()), Spawned)

    lock = ReentrantLock(session, "/x")
    assert_type(lock, ReentrantLock[zkkit.Session])
    hold = lock.acquire()
    assert_type(hold, Hold[zkkit.Session] | None)
    assert_type(lock.acquire(False), Hold[zkkit.Session] | None)
    assert_type(lock.acquire(blocking=True, timeout=2.0), Hold[zkkit.Session] | None)
    if hold:
        assert_type(hold.check(), bool)
        assert_type(hold.valid, bool)
        assert_type(hold.token, int)
        assert_type(hold.path, str)
    with lock as held:
        assert_type(held, Hold[Blocking])
        assert_type(held.check(), bool)
        assert_type(held.transaction(Set("/a", b"")), tuple[str | Stat | None, ...])
    with lock.held(timeout=2.0) as held_within:
        assert_type(held_within, Hold[Blocking])
    with zkkit.connect("127.0.0.1:2181") as opened:
        assert_type(opened, zkkit.Session)


def elections(session: zkkit.Session) -> None:
    """Elections, on a blocking session."""
    latch = LeaderLatch(session, "/x", id="me", error_policy="lost")
    assert_type(latch, LeaderLatch[zkkit.Session])
    lead = latch.wait(timeout=1.0)
    assert_type(lead, Leadership[zkkit.Session] | None)
    if lead:
        assert_type(lead.token, int)
        assert_type(lead.check(), bool)
        assert_type(lead.transaction(Set("/a", b"")), tuple[str | Stat | None, ...])
    assert_type(latch.is_leader, bool)
    assert_type(latch.leadership, Leadership[zkkit.Session] | None)
    assert_type(latch.leader(), Participant | None)
    assert_type(latch.participants(), tuple[Participant, ...])
    assert_type(HerdElection(session, "/x").wait(), Leadership[zkkit.Session] | None)
    with latch as started:
        assert_type(started.close(), None)

    def serve(term: LeaderTerm[Any]) -> None:
        assert_type(term.token, int)

    selector = LeaderSelector(session, "/x", serve, auto_requeue=True)
    assert_type(selector.start(), None)
    assert_type(selector.requeue(), bool)
    assert_type(selector.interrupt(), None)
    assert_type(selector.leader(), Participant | None)
    assert_type(selector.close(), None)


async def elections_awaited(session: AioSession) -> None:
    """The same, awaited."""
    async with LeaderLatch(session, "/x") as latch:
        lead = await latch.wait(timeout=1.0)
        assert_type(lead, Leadership[AioSession] | None)
        if lead:
            assert_type(await lead.check(), bool)
        assert_type(await latch.participants(), tuple[Participant, ...])
    assert_type(await HerdElection(session, "/x").leader(), Participant | None)

    async def serve(term: LeaderTerm[Any]) -> None: ...

    async with LeaderSelector(session, "/x", serve) as selector:
        assert_type(await selector.requeue(), bool)
        assert_type(await selector.interrupt(), None)


def family(session: zkkit.Session) -> None:
    """The other locks, on a blocking session."""
    assert_type(Lock(session, "/x", layout="kazoo").acquire(), Hold[zkkit.Session] | None)
    assert_type(ChildrenWatchLock(session, "/x").acquire(False), Hold[zkkit.Session] | None)
    assert_type(ReentrantLock(session, "/x").participants(), tuple[str, ...])
    assert_type(ReentrantLock(session, "/x").statistics(), Statistics)
    assert_type(ReentrantLock(session, "/x", rule=first_n(2)).on_revoke(print), None)

    pair = ReadWriteLock(session, "/x")
    assert_type(pair.read, ReadLock[zkkit.Session])
    assert_type(pair.write, WriteLock[zkkit.Session])
    assert_type(pair.read.acquire(timeout=1.0), Hold[zkkit.Session] | None)
    with pair.write as writing:
        assert_type(writing, Hold[Blocking])
        assert_type(writing.token, int)
    assert_type(HerdReadWriteLock(session, "/x").write.acquire(), Hold[zkkit.Session] | None)

    count = SharedCount(session, "/n", seed=3)
    assert_type(count.get(), int)
    semaphore = Semaphore(session, "/x", count)
    lease = semaphore.acquire()
    assert_type(lease, Lease[zkkit.Session] | None)
    leases = semaphore.acquire_many(2, timeout=1.0)
    assert_type(leases, Leases[zkkit.Session] | None)
    if leases:
        assert_type([each for each in leases], list[Lease[zkkit.Session]])
        assert_type(leases.release(), None)

    several = MultiLock(session, ["/a", Lock(session, "/b")])
    holds = several.acquire()
    assert_type(holds, MultiHold[zkkit.Session] | None)
    with several.held(timeout=1.0) as held:
        assert_type(held, MultiHold[Blocking])
        assert_type(held.token, tuple[int, ...])
        assert_type(held.check(), bool)
    assert_type(revoke(session, "/x/y"), None)


async def family_awaited(session: AioSession) -> None:
    """The other locks, awaited."""
    assert_type(await Lock(session, "/x").acquire(), Hold[AioSession] | None)
    pair = ReadWriteLock(session, "/x", reader_rule="first-writer")
    assert_type(pair.read, ReadLock[AioSession])
    assert_type(await pair.write.acquire(False), Hold[AioSession] | None)
    async with pair.read as reading:
        assert_type(reading, Hold[Awaiting])
    semaphore = Semaphore(session, "/x", 3)
    assert_type(await semaphore.acquire(), Lease[AioSession] | None)
    leases = await semaphore.acquire_many(2)
    assert_type(leases, Leases[AioSession] | None)
    if leases:
        assert_type(await leases.release(), None)
    assert_type(await semaphore.participants(), tuple[str, ...])
    async with MultiLock(session, ["/a", "/b"]) as held:
        assert_type(held, MultiHold[Awaiting])
        assert_type(held.token, tuple[int, ...])
    asking = revoke(session, "/x/y")
    _ = assert_type(asking, Coroutine[Any, Any, None])
    await asking


def rule_of_ones_own(ahead: Sequence[Place]) -> Turn:
    """What fits as `rule=`."""
    return Turn(not ahead, ahead[0].name if ahead else "")


def ruled(session: zkkit.Session) -> None:
    ReentrantLock(session, "/x", rule=rule_of_ones_own)


async def awaiting(session: AioSession) -> None:
    """On an asyncio session every call gives a coroutine of the same."""
    asked = session.get("/a")
    _ = assert_type(asked, Coroutine[Any, Any, Data])
    assert_type(await asked, Data)
    assert_type(await session.create("/a"), Node)
    assert_type(await session.exists("/a"), Stat | None)
    assert_type(await session.children("/a"), tuple[str, ...])
    assert_type(await session.run(Get("/a")), Data)
    assert_type(await session.run(script_of_a_number(), timeout=1.0), int)
    assert_type(session.spawn(script_of_a_number()), Spawned)

    lock = ReentrantLock(session, "/x")
    assert_type(lock, ReentrantLock[AioSession])
    acquiring = lock.acquire(timeout=2.0)
    _ = assert_type(acquiring, Coroutine[Any, Any, Hold[AioSession] | None])
    hold = await acquiring
    if hold:
        assert_type(await hold.check(), bool)
    async with lock as held:
        assert_type(held, Hold[Awaiting])
        assert_type(await held.check(), bool)
        assert_type(held.valid, bool)
        await held.release()
    async with lock.held(timeout=2.0) as held_within:
        assert_type(held_within, Hold[Awaiting])
    async with zkkit.aio.connect("127.0.0.1:2181") as opened:
        assert_type(opened, AioSession)
    assert_type(await zkkit.aio.connect("127.0.0.1:2181"), AioSession)


def script_of_a_number() -> Script[int]:
    """A script's type says what it returns."""
    yield from Guid()
    return 1


def caches(session: zkkit.Session) -> None:
    """Caches, on a blocking session."""
    cache = Cache(session, "/x", single=True)
    assert_type(cache, Cache[zkkit.Session])
    assert_type(cache.start(), None)
    assert_type(cache.get(), CachedNode | None)
    assert_type(cache.children("/x"), Mapping[str, CachedNode])
    assert_type([node.data for node in cache], list[bytes | None])
    cache.add_listener(CacheListener(changed=lambda old, new: print(old.stat, new.stat)))
    with ChildrenCache(session, "/x", start_mode="build_initial") as children:
        assert_type(children, ChildrenCache[zkkit.Session])
        assert_type(children.refresh(forced=True), None)
    with TreeCache(session, "/x", max_depth=2) as tree:
        assert_type(tree.state, Literal["latent", "started", "failed", "closed"])
    with NodeCache(session, "/x") as node:
        assert_type(node.rebuild(), None)


async def awaited_caches(session: AioSession) -> None:
    """The same, awaited; reading is not."""
    async with Cache(session, "/x") as cache:
        assert_type(cache.get("/x/a"), CachedNode | None)
    async with ChildrenCache(session, "/x") as children:
        assert_type(await children.refresh(), None)
    node = NodeCache(session, "/x", build_initial=True)
    assert_type(await node.start(), None)
    assert_type(await node.close(), None)


def in_a_script(lock: ReentrantLock[AnySession]) -> Script[None]:
    """Inside a script each step is worth exactly what it gives."""
    assert_type((yield from Children("/a")), tuple[str, ...])
    assert_type((yield from Get("/a")), Data)
    assert_type((yield from Exists("/a")), Stat | None)
    assert_type((yield from Create("/a")), Node)
    assert_type((yield from Multi((Create("/a"),))), tuple[str | Stat | None, ...])
    assert_type((yield from Wait()), Fire)
    assert_type((yield from Heard()), tuple[Fire, ...])
    assert_type((yield from Guid()), str)
    assert_type((yield from Recall("key")), Any)
    assert_type((yield from Call(print)), Any)
    assert_type((yield from script_of_a_number()), int)

    assert_type((yield from Together(Create("/a"), Children("/a"))), tuple[Node, tuple[str, ...]])
    assert_type(
        (yield from Together(Create("/a"), Children("/a"), settle=True)),
        tuple[Node | ZkkitError, tuple[str, ...] | ZkkitError],
    )
    assert_type((yield from Together(Create("/a"), Sync("/a"), Get("/a"))), tuple[Any, ...])
    assert_type((yield from Within(1.0, Get("/a"))), Data)
    assert_type((yield from Within(1.0, script_of_a_number())), int)

    hold = yield from lock.acquire.of(timeout=2.0)
    assert_type(hold, Hold[AnySession] | None)
    if hold is not None:
        assert_type((yield from hold.check.of()), bool)
    yield from lock.release.of()


class Door(Recipe[S]):
    """Methods of every sort that a recipe can have."""

    @script
    def open(self, how: int) -> Script[int]:
        yield from Guid()
        return how

    @timed_script
    def enter(self, timeout: float | None = None) -> Script[str]:
        return (yield from Guid())

    @timed_script(otherwise=False)
    def wait(self, patience: int, timeout: float | None = None) -> Script[bool]:
        yield from Guid()
        return True

    @timed_script(otherwise=False)
    def number(self, *, timeout: float | None = None) -> Script[str]:
        return (yield from Guid())

    def of_its_own(self) -> Script[None]:
        """In a script of the recipe itself nobody knows which world it is in."""
        assert_type((yield from self.open.of(2)), int)
        assert_type((yield from self.enter.of(timeout=1.0)), str | None)
        assert_type((yield from self.wait.of(1, 2.0)), bool)


def doors(door: Door[zkkit.Session], other: Door[AnySession]) -> Script[None]:
    """A timed method says what it gives after its deadline: None, or what was said there."""
    assert_type(door.open(1), int)
    assert_type(door.enter(timeout=1.0), str | None)
    assert_type(door.wait(1, timeout=1.0), bool)
    assert_type(door.number(timeout=1.0), str | bool)
    assert_type((yield from door.wait.of(1)), bool)
    assert_type((yield from other.enter.of()), str | None)


async def doors_awaited(door: Door[AioSession]) -> None:
    assert_type(await door.open(1), int)
    assert_type(await door.enter(), str | None)
    assert_type(await door.wait(1), bool)


class Clock(LongLived[S, int]):
    """A recipe that goes on in the background and tells numbers."""

    def _live(self) -> Script[None]:
        assert_type((yield from self._tell(1)), None)


def living(session: zkkit.Session) -> None:
    """It is started and closed by a block, and its listeners take what it tells."""
    with Clock(session, "/x") as clock:
        assert_type(clock, Clock[zkkit.Session])
        clock.add_listener(hex)
    assert_type(clock.close(), None)


async def living_awaited(session: AioSession) -> None:
    async with Clock(session, "/x") as clock:
        assert_type(clock, Clock[AioSession])
        clock.remove_listener(hex)
    assert_type(await clock.start(), None)


@pytest.mark.slow
def test_mistakes_are_found(tmp_path: Path) -> None:
    """mypy refuses what would fail at run time: a forgotten await, a hold that may be None,
    arguments of the wrong type."""
    snippet = textwrap.dedent(
        """
        import zkkit
        from zkkit.aio import AioSession
        from zkkit.scripting import AnySession
        from zkkit.steps import Children, Create, Script, Together, Guid
        def blocking(session: zkkit.Session) -> None:
            lock = zkkit.ReentrantLock(session, "/x")
            lock.acquire().release()                    # 8: may be None
            lock.acquire(timeout="2")                   # 9: no number
            lock.acquire(patience=2)                    # 10: no such option
            session.create("/x", "text")                # 11: no bytes
            names: list[str] = session.children("/x")   # 12: a tuple
            with lock as hold:
                hold.token = "x"                        # 14: a number
            zkkit.Semaphore(session, "/x")              # 15: of how many?

        async def awaiting(session: AioSession) -> None:
            session.get("/x").data                      # 18: not awaited
            with zkkit.ReentrantLock(session, "/x"):    # 19: async with
                pass

        def script() -> Script[int]:
            name: str = yield from Children("/x")       # 23: names
            yield from Together(Create("/x"), Guid())   # 24: no request
            return "x"                                  # 25: no number

        def in_a_script(lock: zkkit.ReentrantLock[AnySession]) -> Script[None]:
            lock.acquire()                              # 28: in a script only `of`
            yield from lock.acquire.of(patience=2)      # 29: no such option
            (yield from lock.acquire.of()).token        # 30: may be None
        """
    )
    file = tmp_path / "snippet.py"
    file.write_text(snippet)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml"),
         "--cache-dir", str(root / ".mypy_cache"), str(file)],
        cwd=root, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    expected = {
        number for number, line in enumerate(snippet.splitlines(), 1) if f"# {number}:" in line
    }
    assert len(expected) == 15
    assert found == expected, done.stdout
