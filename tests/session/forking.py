"""A process that forks while it has sessions: `python forking.py <front> <hosts> <path> <child>`.

Its sessions are at work when it forks, so a child is born at any moment of theirs: with locks that
nobody will release, half a frame in a buffer, and open files that it shares with its parent. The
child finds that the copies refuse to work, closes and drops them, and opens a session of its own.
The parent must notice nothing of all this. It says "fine" in the end.

On gevent the same program runs on greenlets. There a child has a copy of each of them, which goes
on as soon as the child waits for something.

A "careful" child is as zkkit makes it. A "careless" one says goodbye on the connections that it
shares with its parent, as a client would that knows nothing of forks.
"""

from __future__ import annotations

import sys

if sys.argv[1] == "gevent":  # before anybody else knows of threads and forks
    from gevent import monkey

    monkey.patch_all()

import asyncio
import gc
import multiprocessing
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from kazoo.exceptions import ConnectionClosedError

import zkkit
import zkkit.aio
from zkkit.errors import ForkedSession
from zkkit.steps import Mode
from zkkit.testing import aio, eventually

FORKS = 2 if sys.argv[1] == "gevent" else 6
SESSIONS = 3
PATIENCE = 30.0


class Ear:
    """Hears how sessions change."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def session_changed(self, event: Any) -> None:
        self.heard.append(event.kind)


def refused(use: Callable[[], object]) -> None:
    """It raises ForkedSession, and nothing else."""
    try:
        use()
    except ForkedSession:
        return
    raise AssertionError("a copy of the parent's session works in the child")


def say_goodbye() -> None:
    """Shut down all connections of the process."""
    for number in os.listdir("/proc/self/fd"):
        try:
            end = socket.socket(fileno=os.dup(int(number)))
        except OSError:  # no socket, or the listing's own
            continue
        with end:
            if end.family == socket.AF_INET:
                end.shutdown(socket.SHUT_RDWR)


def own_session(hosts: str, path: str) -> None:
    """A new session works as any other, and leaves nothing."""
    before = set(threading.enumerate())
    with zkkit.connect(hosts, timeout=5.0, handler=HANDLER) as session:
        session.create(f"{path}/child-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        with zkkit.ReentrantLock(session, f"{path}/lock-of-children").held(
            timeout=PATIENCE
        ) as hold:
            assert hold.check()
        for number in range(SESSIONS):
            assert session.exists(f"{path}/{number}"), "the parent's session is over"
    eventually(lambda: set(threading.enumerate()) <= before, 10.0)


# --- threads --------------------------------------------------------------------------------


def child_of_threads(
    hosts: str, path: str, careless: bool, sessions: list[Any], holds: list[Any]
) -> None:
    if careless:
        say_goodbye()
    for session, hold in zip(sessions, holds, strict=True):
        refused(lambda session=session: session.get(path))
        refused(lambda session=session: zkkit.ReentrantLock(session, path).acquire(timeout=1))
        assert not hold.valid and not session.session_id
        asked = session.kazoo.exists_async(path)
        assert isinstance(asked.exception, ConnectionClosedError), asked.exception
        session.close()
    sessions.clear()
    holds.clear()
    gc.collect()
    own_session(hosts, path)


def on_threads(hosts: str, path: str, careless: bool) -> None:
    ear, over, turns = Ear(), threading.Event(), [0] * SESSIONS
    failed: list[Exception] = []
    sessions = [zkkit.connect(hosts, timeout=10.0, handler=HANDLER) for _ in range(SESSIONS)]
    ids = [session.session_id for session in sessions]
    holds = []
    for number, session in enumerate(sessions):
        session.create(f"{path}/{number}", mode=Mode.EPHEMERAL)
        holds.append(zkkit.ReentrantLock(session, f"{path}/lock-{number}").acquire())
        session.hooks.add(ear)

    def work(number: int) -> None:
        try:
            while not over.is_set():
                sessions[number].set(f"{path}/{number}", str(turns[number]).encode())
                turns[number] += 1
        except Exception as error:
            failed.append(error)

    workers = [
        threading.Thread(target=work, args=(number,), daemon=True) for number in range(SESSIONS)
    ]
    for worker in workers:
        worker.start()

    def went_on() -> None:
        then = list(turns)
        eventually(
            lambda: failed or all(now > was for was, now in zip(then, turns, strict=True)), PATIENCE
        )
        assert not failed, failed

    for _ in range(FORKS):
        went_on()
        child = FORK.Process(target=child_of_threads, args=(hosts, path, careless, sessions, holds))
        child.start()
        child.join(PATIENCE)
        assert child.exitcode == 0, f"the child failed: {child.exitcode}"
    went_on()
    over.set()
    for worker in workers:
        worker.join(PATIENCE)
    assert [session.session_id for session in sessions] == ids and ear.heard == []
    for number, (session, hold) in enumerate(zip(sessions, holds, strict=True)):
        assert session.get(f"{path}/{number}").data == str(turns[number] - 1).encode()
        assert hold.valid and hold.check()
        hold.release()
    assert not [name for name in sessions[0].children(path) if name.startswith("child")]
    for session in sessions:
        session.close()
    eventually(lambda: threading.enumerate() == [threading.current_thread()], 10.0)
    print("fine")


# --- asyncio --------------------------------------------------------------------------------


def child_of_asyncio(hosts: str, path: str, careless: bool, sessions: list[Any]) -> None:
    if careless:
        say_goodbye()

    async def main() -> None:
        for session in sessions:
            try:
                await session.get(path)
            except ForkedSession:
                pass
            else:
                raise AssertionError("a copy of the parent's session works in the child")
            assert not session.session_id and session.state == "closed"
            await zkkit.LeaderLatch(session, path).close()
            await session.close()
        sessions.clear()
        gc.collect()
        async with zkkit.aio.connect(hosts, timeout=5.0) as own:
            await own.create(f"{path}/child-", mode=Mode.EPHEMERAL_SEQUENTIAL)
            async with zkkit.ReentrantLock(own, f"{path}/lock-of-children").held(timeout=PATIENCE):
                assert len(await own.children(path)) > SESSIONS

    asyncio.run(main())
    own_session(hosts, path)


async def on_asyncio(hosts: str, path: str, careless: bool) -> None:
    ear, turns = Ear(), [0] * SESSIONS
    sessions = [await zkkit.aio.connect(hosts, timeout=10.0) for _ in range(SESSIONS)]
    ids = [session.session_id for session in sessions]
    for number, session in enumerate(sessions):
        await session.create(f"{path}/{number}", mode=Mode.EPHEMERAL)
        session.hooks.add(ear)
    hold = await zkkit.ReentrantLock(sessions[0], f"{path}/lock").acquire()
    over = False

    async def work(number: int) -> None:
        while not over:
            await sessions[number].set(f"{path}/{number}", str(turns[number]).encode())
            turns[number] += 1

    async def went_on() -> None:
        then = list(turns)
        await aio.eventually(
            lambda: all(now > was for was, now in zip(then, turns, strict=True)), PATIENCE
        )

    async with asyncio.TaskGroup() as group:
        for number in range(SESSIONS):
            group.create_task(work(number))
        for _ in range(FORKS):
            await went_on()
            child = FORK.Process(target=child_of_asyncio, args=(hosts, path, careless, sessions))
            child.start()
            await asyncio.to_thread(child.join, PATIENCE)
            assert child.exitcode == 0, f"the child failed: {child.exitcode}"
        await went_on()
        over = True
    assert [session.session_id for session in sessions] == ids and ear.heard == []
    for number, session in enumerate(sessions):
        found = await session.get(f"{path}/{number}")
        assert found.data == str(turns[number] - 1).encode()
    assert hold is not None and hold.valid and await hold.check()
    assert not [name for name in await sessions[0].children(path) if name.startswith("child")]
    for session in sessions:
        await session.close()
    print("fine")


HANDLER = "gevent" if sys.argv[1] == "gevent" else "threading"
FORK = multiprocessing.get_context("fork")

if __name__ == "__main__":
    front, hosts, path, kind = sys.argv[1:]
    careless = kind == "careless"
    if front == "asyncio":
        asyncio.run(on_asyncio(hosts, path, careless))
    else:
        on_threads(hosts, path, careless)
