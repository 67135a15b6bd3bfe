"""One process that takes locks: a session, and actors on one of the fronts.

It is started with an `Order` as JSON, and reads in a file what it is to do (`actors.Told`). It ends
when it is told so. Whoever started it sees to it that it does not live longer: it may be stopped,
and then cannot see to that itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import zkkit
from zkkit.chaos.actors import CLOSE, Actor, Ground, Told, drive, settled
from zkkit.chaos.diary import Diary
from zkkit.chaos.scene import KINDS, LONG, QUICK, wanted
from zkkit.errors import ConnectFailed
from zkkit.retry import Forever

FRONTS = ("threads", "asyncio", "gevent")

_LONG_ACTORS = 2
_LOOK = 0.05  # seconds between two looks at the session and at what it is told

_PROGRAM = "from zkkit.chaos.client import main; main()"
_PATCHED = f"from gevent import monkey; monkey.patch_all(); {_PROGRAM}"


@dataclass(frozen=True)
class Order:
    """What a process is told when it is started."""

    name: str
    front: str
    hosts: str
    timeout: float
    directory: str
    seed: str

    @property
    def argv(self) -> list[str]:
        """The command that starts it. gevent must be there before anything else is imported."""
        program = _PATCHED if self.front == "gevent" else _PROGRAM
        return [sys.executable, "-c", program, json.dumps(asdict(self))]

    @property
    def diary(self) -> Path:
        return Path(self.directory) / f"{self.name}.jsonl"

    @property
    def secret(self) -> Path:
        """Where it keeps the id and the password of its session, so that it can be expired."""
        return Path(self.directory) / f"{self.name}.session"


def told_in(directory: str | Path) -> Told:
    """What the clients that write into a directory are told."""
    return Told(Path(directory) / "phase")


async def _live(order: Order, ground: Ground) -> None:
    """The whole life of the process."""
    diary, told = Diary(order.diary), told_in(order.directory)
    diary.note("born", front=order.front, pid=os.getpid(), timeout=order.timeout)
    session = await _connected(order, ground, told)
    if session is None:
        return

    def actor(name: str) -> Actor:
        return Actor(order.name, name, ground, diary, told, f"{order.seed} {name}")

    lives = [actor(kind).live(wanted(session, QUICK, [kind])) for kind in KINDS]
    lives += [actor(f"long-{n}").live(wanted(session, LONG)) for n in range(_LONG_ACTORS)]
    ended = [ground.start(life) for life in lives]
    known = rested = False
    while told() != CLOSE:
        known = _keep_secret(order, session, diary, known)
        if not rested and all(over() for over in ended):
            rested = True
            diary.note("rested")
        await settled(ground.sleep(_LOOK))
    await settled(session.close())
    diary.note("end")


async def _connected(order: Order, ground: Ground, told: Told) -> Any:
    """A session, as soon as one is to be had; None if it is told to end before that."""
    while told() != CLOSE:
        try:
            return await settled(
                ground.open(order.hosts, timeout=order.timeout, retry=Forever(0.1))
            )
        except ConnectFailed:
            continue
    return None


def _keep_secret(order: Order, session: Any, diary: Diary, known: object) -> Any:
    """Write down id and password of the session when they are new."""
    secret = session.kazoo.client_id
    if secret is not None and secret != known and secret[0]:
        diary.note("session", id=f"{secret[0]:#x}")
        fresh = order.secret.with_suffix(".new")
        fresh.write_text(json.dumps([secret[0], secret[1].hex()]))
        fresh.replace(order.secret)
        return secret
    return known


def _start_thread(life: Coroutine[Any, Any, None]) -> Callable[[], bool]:
    thread = threading.Thread(target=drive, args=(life,), daemon=True)
    thread.start()
    return lambda: not thread.is_alive()


def _start_task(life: Coroutine[Any, Any, None]) -> Callable[[], bool]:
    return asyncio.get_running_loop().create_task(life).done


def _blocking(handler: str) -> Callable[..., Any]:
    return lambda hosts, **options: zkkit.connect(hosts, handler=handler, **options)


def main() -> None:
    """Live as the order in the first argument says."""
    logging.disable(logging.CRITICAL)  # every lost connection is logged, and here they are wanted
    order = Order(**json.loads(sys.argv[1]))
    if order.front == "asyncio":
        asyncio.run(_live(order, Ground("asyncio", zkkit.aio.connect, asyncio.sleep, _start_task)))
        return
    handler = "gevent" if order.front == "gevent" else "threading"
    drive(_live(order, Ground(order.front, _blocking(handler), time.sleep, _start_thread)))
