"""A process with many sessions: `python many.py <front> <hosts> <path> <sessions>`.

It opens all of them, leaves them alone for a moment, and lets each one write a node and read it.
Then it obeys the lines of its stdin:

    suspended   wait until no session has a connection
    again       let each one read its node again, which must still be its own
    close       close all
    count       do nothing

What the process has of threads, open files and memory it writes to stdout before, after each of
these, as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import zkkit
import zkkit.aio
from zkkit.steps import Mode
from zkkit.testing import aio, eventually

OPTIONS = {"timeout": 30.0, "connect_timeout": 60.0}
"""Two busy cores must not cost anybody the session."""

AT_ONCE = 20
"""How many are opened, used or closed at the same time."""

PATIENCE = 60.0


def say(moment: str) -> None:
    """What the process has now."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    fact = {
        "moment": moment,
        "threads": int(status["Threads"]),
        "names": sorted({re.sub(r"\d+", "N", each.name) for each in threading.enumerate()}),
        "files": len(os.listdir("/proc/self/fd")),
        "kilobytes": int(status["VmRSS"].split()[0]),
    }
    print(json.dumps(fact), flush=True)


def on_threads(hosts: str, path: str, count: int) -> None:
    def each(do: Callable[[Any], Any], of: Iterable[Any]) -> list[Any]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(do, of))

    def write(number: int) -> None:
        sessions[number].create(f"{path}/{number}", mode=Mode.EPHEMERAL)
        sessions[number].set(f"{path}/{number}", str(number).encode())

    def read(number: int) -> None:
        found = sessions[number].get(f"{path}/{number}")
        assert found.data == str(number).encode()
        assert found.stat.ephemeral_owner == sessions[number].session_id

    say("before")
    sessions = each(lambda _: zkkit.connect(hosts, **OPTIONS), range(count))
    time.sleep(1.0)  # to see what is there while nobody does anything
    say("idle")
    each(write, range(count))
    each(read, range(count))
    say("used")
    for order in map(str.strip, sys.stdin):
        if order == "suspended":
            eventually(lambda: all(s.state == "suspended" for s in sessions), PATIENCE)
        elif order == "again":
            each(read, range(count))
        elif order == "close":
            each(lambda session: session.close(), sessions)
        say(order)


async def on_asyncio(hosts: str, path: str, count: int) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def each(do: Callable[[Any], Awaitable[Any]], of: Iterable[Any]) -> list[Any]:
        async def one(item: Any) -> Any:
            async with few:
                return await do(item)

        return await asyncio.gather(*map(one, of))

    async def opened(number: int) -> zkkit.aio.AioSession:
        return await zkkit.aio.connect(hosts, **OPTIONS)

    async def write(number: int) -> None:
        await sessions[number].create(f"{path}/{number}", mode=Mode.EPHEMERAL)
        await sessions[number].set(f"{path}/{number}", str(number).encode())

    async def read(number: int) -> None:
        found = await sessions[number].get(f"{path}/{number}")
        assert found.data == str(number).encode()
        assert found.stat.ephemeral_owner == sessions[number].session_id

    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    say("before")
    sessions = await each(opened, range(count))
    await asyncio.sleep(1.0)  # as above
    say("idle")
    await each(write, range(count))
    await each(read, range(count))
    say("used")
    async for line in orders:
        order = line.decode().strip()
        if order == "suspended":
            await aio.eventually(lambda: all(s.state == "suspended" for s in sessions), PATIENCE)
        elif order == "again":
            await each(read, range(count))
        elif order == "close":
            await each(lambda session: session.close(), sessions)
        say(order)


def main(front: str, hosts: str, path: str, count: str) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if front == "asyncio":
        asyncio.run(on_asyncio(hosts, path, int(count)))
    else:
        on_threads(hosts, path, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
