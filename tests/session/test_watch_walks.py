"""Random walks of one session with a server that the test plays: nobody waits for nothing.

The runner, its table of watches and the transport's outbox are the real ones. Below them are a
queue (in the order of `send`; what was sent fails when the connection breaks, what was not is kept)
and a server that keeps one watch per connection, path and kind. A walk takes one
small step after the other, in random order: send, serve, deliver, break, connect, change a node,
start a script, cancel one. After each of them

    whoever waits for a watch has it on the server, or its fire is on its way;

and when all has come to rest the server has no watch that nobody waits for.
"""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import zkkit
from zkkit.errors import ConnectionLost, NoNode, ZkkitError
from zkkit.kernel import WatchKey, WatchKind
from zkkit.session import opcodes
from zkkit.session.clock import now
from zkkit.session.kazoo_transport import KazooTransport
from zkkit.session.link import Fired
from zkkit.session.options import Options
from zkkit.session.platforms import threads
from zkkit.session.pulse import Beat
from zkkit.session.run import Run
from zkkit.session.transport import Outgoing
from zkkit.steps import Children, Data, Exists, FireKind, Get, Script, Stat, Wait

STAT = Stat(7, 7, 0, 0, 0, 0, 0, 1, 0, 0, 7)
PATHS = ("/a", "/b")
WALKS, STEPS = 600, 120
OPTIONS = Options(
    "nowhere:1", timeout=1000.0, connect_timeout=1.0
)  # so long that no timer goes off


class Server:
    """Serves requests in order; what goes to the client goes on one wire, in order."""

    def __init__(self) -> None:
        self.nodes = set(PATHS)
        self.watches: set[WatchKey] = set()
        self.inbox: deque[Any] = deque()
        self.wire: deque[tuple[str, Any]] = deque()

    def serve(self) -> None:
        """Take the oldest request."""
        call = self.inbox.popleft()
        there = call.path in self.nodes
        if call.type == opcodes.REMOVE_WATCHES:
            (kind,) = struct.unpack(">i", call.body[-4:])
            self.watches.discard(WatchKey(WatchKind(kind), call.path))
            self._reply(None)
        elif call.type == opcodes.EXISTS:
            self._watch(call, WatchKind.DATA)
            self._reply(STAT if there else None)
        elif not there:
            self._reply(NoNode(call.path))
        elif call.type == opcodes.GET:
            self._watch(call, WatchKind.DATA)
            self._reply(Data(b"", STAT))
        else:
            self._watch(call, WatchKind.CHILD)
            self._reply(())

    def _watch(self, call: Any, kind: WatchKind) -> None:
        if call.body[-1]:
            self.watches.add(WatchKey(kind, call.path))

    def _reply(self, value: Any) -> None:
        self.wire.append(("reply", value))

    def change(self, path: str) -> None:
        """Somebody deletes the node, or creates it."""
        gone = path in self.nodes
        self.nodes ^= {path}
        hit = {WatchKey(WatchKind.DATA, path)}
        if gone:
            hit.add(WatchKey(WatchKind.CHILD, path))
        if hit & self.watches:
            self.watches -= hit
            self.wire.append(("fire", (FireKind.DELETED if gone else FireKind.CREATED, path)))

    def hang_up(self) -> None:
        """All that belongs to the connection is gone."""
        self.watches.clear()
        self.inbox.clear()
        self.wire.clear()

    def will_tell(self, key: WatchKey) -> bool:
        """Whether who waits for this watch has it, or will hear of it."""
        fires = [fire for what, fire in self.wire if what == "fire"]
        return key in self.watches or any(path == key.path for _, path in fires)


class Cable:
    """A standing connection on which nothing moves by itself: link and socket in one."""

    last_xid = 0
    outgoing = b""
    left = False

    def __init__(self) -> None:
        self.link = self
        self.queue: deque[Outgoing] = deque()
        self.pending: deque[Outgoing] = deque()

    def request(self, kind: int, body: bytes, what: Any, sent_at: float) -> None:
        if not isinstance(what.owner, Beat):
            self.queue.append(what)

    def unanswered(self) -> tuple[list[Any], list[Any]]:
        return list(self.pending), list(self.queue)

    def flush(self) -> None:
        """The test says when."""


class WalkedTransport(KazooTransport):
    """The transport, with the test in the place of whoever reads and writes its connection."""

    def __init__(self, server: Server) -> None:
        super().__init__(OPTIONS, threads())
        self._server = server
        self._handler: Any = SimpleNamespace(go_on=lambda *told: None, tell_fire=lambda fire: None)
        self._standing: Any = None

    @property
    def up(self) -> bool:
        return self._standing is not None

    @property
    def queue(self) -> deque[Outgoing]:
        return self._standing.queue if self.up else deque()

    def open(self, listener: Any, seat: Any) -> None:
        self._listener = listener
        self.reconnect()

    def shut_down(self, patience: float) -> None:
        """There is nothing to close."""

    def reconnect(self) -> None:
        self._standing = Cable()
        assert self._listener.session_opened(1, 1000.0, now())
        self._listener.connection_up()

    def send_one(self) -> None:
        call = self.queue.popleft()
        self._standing.pending.append(call)
        self._server.inbox.append(call)

    def deliver_one(self) -> None:
        what, content = self._server.wire.popleft()
        if what == "fire":
            self.hear(Fired(*content, b""))
            return
        call = self._standing.pending.popleft()
        failed = content if isinstance(content, ZkkitError) else None
        self._listener.replied(call, None if failed else content, failed)

    def break_off(self) -> None:
        self._server.hang_up()
        with self.batch():
            self.over("broken off")


class Walk:
    """One session and the scripts in it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pace = self.random.choice((1, 3))  # how fast requests get out
        self.paths = self.random.choice((PATHS, PATHS[:1]))
        self.server = Server()
        self.transport = WalkedTransport(self.server)
        self.session = zkkit.Session(OPTIONS, threads(), self.transport)
        self.runner = self.session._runner
        self.runs: dict[int, Run] = {}
        self.awaited: dict[int, WatchKey] = {}
        self.log: list[str] = []

    def watcher(self, name: int, path: str, kind: WatchKind) -> Script[None]:
        """Waits for changes again and again, as who stands in line does."""
        for _ in range(self.random.randrange(1, 6)):
            try:
                if kind is WatchKind.CHILD:
                    yield from Children(path, watch=True)
                else:
                    yield from Get(path, watch=True)
            except NoNode:
                if self.random.random() < 0.5:
                    continue
                try:
                    yield from Exists(path, watch=True)
                except ConnectionLost:
                    continue
                kind = WatchKind.DATA
            except ConnectionLost:
                continue
            self.awaited[name] = WatchKey(kind, path)
            yield from Wait()

    def start(self) -> None:
        name = len(self.runs)
        kind = self.random.choice((WatchKind.DATA, WatchKind.DATA, WatchKind.CHILD))
        body = self.watcher(name, self.random.choice(self.paths), kind)
        run = self.runs[name] = Run(body, f"actor {name}", "")
        self.runner.start(run)

    def cancel(self) -> None:
        live = [run for run in self.runs.values() if not run.done]
        self.runner.abandon(self.random.choice(live))

    def possible(self) -> Iterator[Callable[[], object]]:
        """What can happen next; the more often it is given, the likelier it is."""
        up, transport, server = self.transport.up, self.transport, self.server
        live = sum(not run.done for run in self.runs.values())
        if up:
            yield from [transport.send_one] * (self.pace if transport.queue else 0)
            yield from [server.serve] * (3 if server.inbox else 0)
            yield from [transport.deliver_one] * (3 if server.wire else 0)
            yield transport.break_off
        else:
            yield from [transport.reconnect] * 3
        yield self.change
        if live < 4:
            yield from [self.start] * 2
        if live:
            yield from [self.cancel] * 2

    def change(self) -> None:
        self.server.change(self.random.choice(self.paths))

    def step(self) -> None:
        action = self.random.choice(list(self.possible()))
        self.log.append(action.__name__)
        action()
        self.check()

    def waiting(self) -> list[WatchKey]:
        return [self.awaited[name] for name, run in self.runs.items() if run.waiting]

    def check(self) -> None:
        for key in self.waiting():
            assert self.server.will_tell(key), (key, self.log)

    def come_to_rest(self) -> None:
        """Everything on its way arrives, and nothing is on the server that nobody needs."""
        if not self.transport.up:
            self.transport.reconnect()
        self.move_all()
        assert self.server.watches == set(self.waiting()), self.log

    def move_all(self) -> None:
        while self.transport.queue or self.server.inbox or self.server.wire:
            for pile, move in (
                (self.transport.queue, self.transport.send_one),
                (self.server.inbox, self.server.serve),
                (self.server.wire, self.transport.deliver_one),
            ):
                while pile:
                    move()
                    self.check()


@pytest.fixture
def walk() -> Iterator[Walk]:
    """One whose steps the test chooses."""
    walk = Walk(0)
    yield walk
    walk.session.close()


@pytest.mark.parametrize("seed", range(8))
def test_nobody_waits_for_nothing(seed: int) -> None:
    for number in range(WALKS // 8):
        walk = Walk(1000 * seed + number)
        try:
            for _ in range(STEPS):
                walk.step()
            walk.come_to_rest()
        finally:
            walk.session.close()


def after_a_loss(then: Script[Any]) -> Script[Any]:
    """Goes on with that when the connection breaks."""
    with suppress(ConnectionLost):
        yield from Exists("/b")
    return (yield from then)


def watching(path: str) -> Script[Any]:
    yield from Get(path, watch=True)
    return (yield from Wait())


def test_removal_that_was_not_sent(walk: Walk) -> None:
    """It is dropped with its connection: on the next one it would remove another run's watch."""
    leaver = Run(watching("/a"), "leaver", "")
    walk.runner.start(leaver)
    walk.move_all()
    assert walk.server.watches == {WatchKey(WatchKind.DATA, "/a")}
    stayer = Run(after_a_loss(watching("/a")), "stayer", "")
    walk.runner.start(stayer)
    walk.transport.send_one()
    walk.runner.abandon(leaver)
    assert [each.type for each in walk.transport.queue] == [opcodes.REMOVE_WATCHES]
    walk.transport.break_off()
    walk.transport.reconnect()
    assert [each.type for each in walk.transport.queue] == [opcodes.GET]
    walk.move_all()
    assert stayer.waiting
    assert walk.server.watches == {WatchKey(WatchKind.DATA, "/a")}


def test_order_across_connections(walk: Walk) -> None:
    """What was not sent when the connection broke goes out before what was made after that."""
    reacting = Run(after_a_loss(watching("/later")), "reacting", "")
    walk.runner.start(reacting)
    walk.transport.send_one()
    walk.runner.start(Run(watching("/earlier"), "slow", ""))
    walk.transport.break_off()
    walk.transport.reconnect()
    assert [each.path for each in walk.transport.queue] == ["/earlier", "/later"]


@pytest.mark.parametrize("unsent", ["while it broke", "while there was none"])
def test_what_nobody_waits_for_is_not_sent(walk: Walk, unsent: str) -> None:
    """Neither is it counted among those who are about to watch."""
    if unsent == "while there was none":
        walk.transport.break_off()
    leaver = Run(watching("/a"), "leaver", "")
    walk.runner.start(leaver)
    walk.runner.abandon(leaver)
    if unsent == "while it broke":
        walk.transport.break_off()
    walk.transport.reconnect()
    assert not walk.transport.queue
    another = Run(watching("/a"), "another", "")
    walk.runner.start(another)
    walk.move_all()
    assert another.waiting
    walk.runner.abandon(another)
    walk.move_all()
    assert not walk.server.watches
