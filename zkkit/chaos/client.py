"""One process: a session, and on one of the fronts its actors, who take locks, lead, count,
keep gates, meet and change a tree, and its caches and watches, which follow that tree.

It gets an `Order` as JSON when it is started, follows the phases of the run (`actors.PhaseFile`)
and ends with the last one. Its parent makes sure that it does not live longer: a stopped process
cannot do that itself.
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
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import zkkit
from zkkit.chaos.actors import CLOSE, ActorInStorm, PhaseFile, StormActor
from zkkit.chaos.counting import CountingActor, ways_to_add
from zkkit.chaos.diary import Diary
from zkkit.chaos.gates import GateKeeper, Passenger
from zkkit.chaos.ground import AttemptCancelled, Ground, drive, settled
from zkkit.chaos.meetings import MeetingMember
from zkkit.chaos.scene import KINDS, LONG, QUICK, QUICK_KINDS, locks_to_take
from zkkit.chaos.selecting import ElectedActor
from zkkit.chaos.trees import WATCHER, Gardener, StormCaches, converge
from zkkit.chaos.watching import StormWatches, TreeWatcher
from zkkit.errors import ConnectFailed
from zkkit.retry import Forever

A = TypeVar("A", bound=ActorInStorm)

FRONTS = ("threads", "asyncio", "gevent")

_LONG_ACTORS = 2
_LOOK = 0.05  # seconds between two looks at the session and the phase

_PROGRAM = "from zkkit.chaos.client import main; main()"
_PATCHED = f"from gevent import monkey; monkey.patch_all(); {_PROGRAM}"


@dataclass(frozen=True)
class Order:
    """What a process needs to know when it is started."""

    name: str
    front: str
    hosts: str
    timeout: float
    directory: str
    seed: str
    processes: int
    """How many there are of its kind, itself among them."""

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


async def _live(order: Order, ground: Ground) -> None:
    """Do all that the process does, from its birth to its end."""
    diary, phase = Diary(order.diary), PhaseFile(Path(order.directory))
    diary.note("born", front=order.front, pid=os.getpid(), timeout=order.timeout)
    session = await _connected(order, ground, phase)
    if session is None:
        return

    def actor(kind: type[A], name: str) -> A:
        return kind(order.name, name, ground, diary, phase, Random(f"{order.seed} {name}"))

    caches = StormCaches(session, diary)
    await caches.start()
    watches = StormWatches(session, diary)
    watcher = actor(TreeWatcher, "watcher")
    watched = ground.start(watcher.live(session))
    lives = [
        actor(StormActor, kind).live(locks_to_take(session, QUICK, [kind])) for kind in QUICK_KINDS
    ]
    for number in range(_LONG_ACTORS):
        lives.append(actor(StormActor, f"long-{number}").live(locks_to_take(session, LONG, KINDS)))
    lives.append(actor(ElectedActor, "selector").be_elected(session))
    lives += [actor(CountingActor, name).live(one) for name, one in ways_to_add(session).items()]
    lives.append(actor(Gardener, "gardener").live(session))
    lives.append(actor(GateKeeper, "keeper").live(session))
    lives.append(actor(Passenger, "passenger").live(session))
    lives.append(actor(MeetingMember, "member").live(session, order.processes))
    ended = [ground.start(life) for life in lives]
    rested = False
    known: object = None
    while phase.read() != CLOSE:
        secret = session.kazoo.client_id
        if secret is not None and secret != known and secret[0]:
            known = secret
            diary.note("session", id=f"{secret[0]:#x}")
            _keep(order.secret, *secret)
        if not rested and all(over() for over in ended):
            rested = True
            diary.note("rested")
        await settled(ground.sleep(_LOOK))
    if not rested:
        diary.note("standing", scripts=session.standing())
    contents = {**caches.contents, WATCHER: watcher.content}
    await converge(Path(order.directory), ground, diary, contents, watches.like)
    watcher.done = True
    while not watched():
        await settled(ground.sleep(_LOOK))
    await settled(session.close())
    diary.note("end")


async def _connected(order: Order, ground: Ground, phase: PhaseFile) -> Any:
    """A session, as soon as one can be had; None if the run closes before that."""
    while phase.read() != CLOSE:
        try:
            return await settled(
                ground.open(order.hosts, timeout=order.timeout, retry=Forever(0.1))
            )
        except ConnectFailed:
            continue
    return None


def _keep(file: Path, session_id: int, password: bytes) -> None:
    """Write down id and password of a session, in one step."""
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps([session_id, password.hex()]))
    fresh.replace(file)


def _start_thread(life: Coroutine[Any, Any, None]) -> Callable[[], bool]:
    thread = threading.Thread(target=drive, args=(life,), daemon=True)
    thread.start()
    return lambda: not thread.is_alive()


def _start_task(life: Coroutine[Any, Any, None]) -> Callable[[], bool]:
    return asyncio.get_running_loop().create_task(life).done


async def _cancel_task(seconds: float, call: Callable[[], Any]) -> Any:
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await call()
    except TimeoutError as error:
        if not scope.expired():  # one of its own
            raise
        raise AttemptCancelled from error


def _cancel_greenlet(seconds: float, call: Callable[[], Any]) -> Any:
    import gevent

    timer = gevent.Timeout(seconds)
    try:
        with timer:
            return drive(settled(call()))
    except gevent.Timeout as error:
        if error is not timer:
            raise
        raise AttemptCancelled from error


def main() -> None:
    """Live as the order in the first argument says."""
    logging.disable(logging.CRITICAL)  # every lost connection is logged, and here they are wanted
    order = Order(**json.loads(sys.argv[1]))
    if order.front == "asyncio":
        ground = Ground(zkkit.aio.connect, asyncio.sleep, _start_task, _cancel_task)
        asyncio.run(_live(order, ground))
    elif order.front == "gevent":
        connect = partial(zkkit.connect, handler="gevent")
        drive(_live(order, Ground(connect, time.sleep, _start_thread, _cancel_greenlet)))
    else:
        connect = partial(zkkit.connect, handler="threading")
        drive(_live(order, Ground(connect, time.sleep, _start_thread, None)))
