"""Sessions on another transport than kazoo's: one in memory, where the test plays the servers."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import zkkit
from zkkit.aio import AioSession
from zkkit.errors import (
    AuthFailed,
    ConnectFailed,
    ConnectionLost,
    NoNode,
    SessionClosed,
    SessionLost,
    UnknownServerError,
    ZkkitError,
)
from zkkit.kernel import WatchKind
from zkkit.session import opcodes
from zkkit.session.clock import now
from zkkit.session.options import Options
from zkkit.session.platforms import threads
from zkkit.session.pulse import Beat
from zkkit.session.transport import Listener, Outgoing, Transport
from zkkit.steps import (
    Children,
    Data,
    Delete,
    Exists,
    Fire,
    FireKind,
    Get,
    Node,
    Script,
    Stat,
    Sync,
    Together,
    Wait,
    Watch,
)
from zkkit.testing import eventually

STAT = Stat(7, 7, 0, 0, 0, 0, 0, 1, 0, 0, 7)


class ScriptedTransport:
    """Keeps the promises of a `Transport` and knows no server: the test answers. Beats are answered
    by itself, unless it is `silent`."""

    chroot = ""
    servers = 1
    last_zxid = 7
    client = "nothing below"

    def __init__(self, *, session_id: int = 1, timeout: float = 5.0) -> None:
        self.refusals: dict[str, str] = {}
        self.denied = False
        self.silent = False
        self.sent: deque[Outgoing] = deque()
        self.kept: deque[Outgoing] = deque()
        self.hung_up = 0
        self.shut: list[float] = []
        self._first = session_id, timeout
        self._connected = False
        self._listener: Listener

    # what the runner asks for

    def open(self, listener: Listener, seat: Any) -> None:
        self._listener = listener
        session_id, timeout = self._first
        if session_id:
            assert self.connect(session_id, timeout)

    def send(self, call: Outgoing) -> None:
        if not self._connected:
            if not call.perishable:
                self.kept.append(call)
            return
        call.sent_at = now()
        if not isinstance(call.owner, Beat):
            self.sent.append(call)
        elif not self.silent:
            self._answer(call, None)

    def flush(self) -> None:
        """It went out at once."""

    def suspend(self) -> None:
        self._connected = False

    def resume(self) -> None:
        self._connected = True
        while self.kept:
            self.send(self.kept.popleft())

    def take_back(self, owner: Any) -> list[Outgoing]:
        found = [call for call in self.kept if call.owner is owner]
        self.kept = deque(call for call in self.kept if call.owner is not owner)
        return found

    def forget_unsent(self) -> None:
        self.kept.clear()

    def hang_up(self) -> None:
        self.hung_up += 1

    try_another = hang_up

    def shut_down(self, patience: float) -> None:
        self.shut.append(patience)

    # what the test lets happen

    def connect(self, session_id: int = 1, timeout: float = 5.0) -> bool:
        """A server gives us this session; whether it is wanted."""
        wanted = self._listener.session_opened(session_id, timeout, now())
        if wanted:
            self._listener.connection_up()
        return wanted

    def reply(self, value: Any) -> None:
        """Answer the oldest request."""
        self._answer(self.sent.popleft(), value)

    def fire(self, kind: FireKind, path: str) -> None:
        self._listener.fired(kind, path)

    def drop(self) -> None:
        """The connection breaks, and with it fails what was under way."""
        self._listener.connection_down()
        broken, self.sent = self.sent, deque()
        for call in broken:
            self._answer(call, ConnectionLost("dropped", path=call.path))

    def expire(self) -> None:
        self.drop()
        self._listener.session_over()

    def end(self, why: str) -> None:
        self._listener.ended(why)

    def _answer(self, call: Outgoing, value: Any) -> None:
        if not isinstance(value, ConnectionLost):
            self._listener.answered(call.sent_at)
        failed = value if isinstance(value, ZkkitError) else None
        self._listener.replied(call, None if failed else value, failed)


def options(**given: Any) -> Options:
    return Options("nowhere:1", **{"timeout": 5.0, "connect_timeout": 0.3, **given})


@pytest.fixture
def transport() -> ScriptedTransport:
    return ScriptedTransport()


@pytest.fixture
def open_session(transport: ScriptedTransport) -> Iterator[Callable[..., zkkit.Session]]:
    """A blocking session over the scripted transport."""
    opened: list[zkkit.Session] = []

    def connect(over: Transport = transport, **given: Any) -> zkkit.Session:
        opened.append(zkkit.Session(options(**given), threads(), over))
        return opened[-1]

    yield connect
    for session in opened:
        session.close()


def types(transport: ScriptedTransport) -> list[str]:
    """The kinds of the requests that wait for an answer."""
    return [opcodes.NAMES[call.type] for call in transport.sent]


# --- opening and closing --------------------------------------------------------------------


def test_open_and_close(open_session: Any, transport: ScriptedTransport) -> None:
    """Id and timeout are what the server gave; the client below is the transport's."""
    session = open_session()
    assert (session.state, session.session_id, session.timeout) == ("connected", 1, 5.0)
    assert session.kazoo == "nothing below"
    session.close()
    assert session.state == "closed"
    assert len(transport.shut) == 1


def test_no_server_takes_us(open_session: Any) -> None:
    """The error tells what the transport knows of each server."""
    transport = ScriptedTransport(session_id=0)
    transport.refusals["nowhere:1"] = "it is full"
    with pytest.raises(ConnectFailed, match="nowhere:1: it is full"):
        open_session(transport)
    transport.denied = True
    with pytest.raises(AuthFailed):
        open_session(transport)


def test_transport_that_gives_up(
    open_session: Any, transport: ScriptedTransport, beside: Any
) -> None:
    """Whoever waits is told why, and so is who comes later."""
    session = open_session()
    asked = beside(session.exists, "/x")
    eventually(lambda: transport.sent)
    transport.end("somebody cut the cable")
    with pytest.raises(SessionClosed, match="somebody cut the cable"):
        asked.result(5.0)
    with pytest.raises(SessionClosed):
        session.exists("/x")


# --- requests and fires ---------------------------------------------------------------------


def test_replies(open_session: Any, transport: ScriptedTransport, beside: Any) -> None:
    """A value is the result, an error is raised; a flight is sent in order and lands as one."""
    session = open_session()
    asked = beside(session.get, "/x")
    eventually(lambda: types(transport) == ["get"])
    transport.reply(Data(b"one", STAT))
    assert asked.result(5.0).data == b"one"

    asked = beside(session.get, "/x")
    eventually(lambda: transport.sent)
    transport.reply(NoNode("/x"))
    with pytest.raises(NoNode):
        asked.result(5.0)

    asked = beside(session.run, Together(Sync("/"), Exists("/x"), Children("/x"), settle=True))
    eventually(lambda: types(transport) == ["sync", "exists", "children"])
    for value in (None, None, NoNode("/x")):
        assert not asked.done()
        transport.reply(value)
    assert asked.result(5.0) == (None, None, NoNode("/x"))


def test_refusal_of_what_stood_for_a_watch_of_the_clients(
    open_session: Any, transport: ScriptedTransport
) -> None:
    """Those who watch by the client's own object look again when it is connected again."""
    session = open_session()
    listener: Any = transport._listener
    assert listener.client_asks(WatchKind.DATA, "/y")
    session.spawn(Watch("/x"))
    eventually(lambda: transport.sent)
    assert not listener.client_asks(WatchKind.DATA, "/x")
    transport.reply(UnknownServerError(-6))
    assert transport.hung_up == 0
    listener.client_answered(WatchKind.DATA, "/x", True)
    assert transport.hung_up == 1
    assert listener.client_asks(WatchKind.DATA, "/x")


def test_body_of_a_request(open_session: Any, transport: ScriptedTransport, beside: Any) -> None:
    """What goes out is jute, and what comes in is decoded by what the request brings along."""
    asked = beside(open_session().exists, "/x")
    (call,) = eventually(lambda: list(transport.sent))
    assert (call.type, call.body, call.size) == (opcodes.EXISTS, b"\0\0\0\2/x\0", 15)
    transport.reply(call.decode(b"head" + struct.pack(">qqqqiiiqiiq", *STAT), 4))
    assert asked.result(5.0) == STAT


def waiting(path: str) -> Script[Fire]:
    yield from Get(path, watch=True)
    return (yield from Wait())


def test_fire(open_session: Any, transport: ScriptedTransport, beside: Any) -> None:
    """It wakes who watches that node, and nobody else."""
    session = open_session()
    fires = {path: beside(session.run, waiting(path)) for path in ("/x", "/y")}
    eventually(lambda: len(transport.sent) == 2)
    transport.reply(Data(b"", STAT))
    transport.reply(Data(b"", STAT))
    transport.fire(FireKind.DELETED, "/y")
    assert fires["/y"].result(5.0) == Fire(FireKind.DELETED, "/y")
    assert not fires["/x"].done()


# --- the connection, and the session --------------------------------------------------------


def test_connection_down_and_up(
    open_session: Any, transport: ScriptedTransport, beside: Any, ear: Any
) -> None:
    """What was under way fails, what is asked meanwhile is kept and sent in order, who waits looks
    again; the session is the same."""
    session = open_session()
    session.hooks.add(ear)
    waits = beside(session.run, waiting("/x"))
    eventually(lambda: transport.sent)
    transport.reply(Data(b"", STAT))
    under_way = beside(session.delete, "/x")
    eventually(lambda: transport.sent)
    transport.drop()
    with pytest.raises(ConnectionLost):
        under_way.result(5.0)
    assert waits.result(5.0) == Fire(FireKind.NONE, "/x")
    asked = beside(session.run, Together(Exists("/a"), Exists("/b")))
    eventually(lambda: len(transport.kept) == 2)
    assert transport.connect()
    assert [call.path for call in transport.sent] == ["/a", "/b"]
    transport.reply(None)
    transport.reply(STAT)
    assert asked.result(5.0) == (None, STAT)
    assert ear.states == ["suspended", "connected"]
    assert session.session_id == 1


def test_session_over(
    open_session: Any, transport: ScriptedTransport, beside: Any, ear: Any
) -> None:
    """Everybody in it is told, what it never sent is forgotten, and the next one begins empty."""
    session = open_session()
    session.hooks.add(ear)
    waits = beside(session.run, waiting("/x"))
    eventually(lambda: transport.sent)
    transport.reply(Data(b"", STAT))
    transport.drop()
    kept = beside(session.delete, "/x")
    eventually(lambda: transport.kept)
    transport.expire()
    with pytest.raises(SessionLost):
        kept.result(5.0)
    assert waits.result(5.0).kind is FireKind.NONE
    assert transport.connect(2)
    assert not transport.sent and not transport.kept
    assert session.session_id == 2
    assert ear.states == ["suspended", "lost", "connected"]


def test_lost_by_our_own_clock(open_session: Any, beside: Any, ear: Any) -> None:
    """Nobody answers for the whole timeout: the session is given up for good, and not taken back
    when a server offers it again."""
    transport = ScriptedTransport(timeout=1.0)
    transport.silent = True
    session = open_session(transport, timeout=1.0)
    session.hooks.add(ear)
    asked = beside(session.delete, "/x")
    with pytest.raises(SessionLost, match="no server has answered"):
        asked.result(5.0)
    assert session.session_id == 0
    assert transport.hung_up == 1
    transport.drop()
    assert not transport.connect(1)
    transport.silent = False
    assert transport.connect(2)
    assert session.session_id == 2
    assert ear.states == ["lost", "connected"]


# --- recipes, and the other front -----------------------------------------------------------


def test_lock(open_session: Any, transport: ScriptedTransport, beside: Any) -> None:
    """A lock is acquired and released by the answers of the test."""
    lock = zkkit.ReentrantLock(open_session(), "/lock")

    def visit() -> tuple[Any, bool]:
        with lock as hold:
            return hold, hold.valid

    visited = beside(visit)
    eventually(lambda: types(transport) == ["create", "children"])
    path = transport.sent[0].body[4:].split(b"\0")[0].decode() + "0000000000"
    transport.reply(Node(path, STAT))
    transport.reply((path.rpartition("/")[2],))
    eventually(lambda: types(transport) == ["delete"])
    assert transport.sent[0].path == path
    transport.reply(None)
    hold, was_valid = visited.result(5.0)
    assert (hold.path, hold.token, was_valid, hold.valid) == (path, 7, True, False)


def test_asyncio(transport: ScriptedTransport) -> None:
    """The awaited front runs on the same seam."""

    async def main() -> None:
        session = AioSession(options(), threads(), transport)
        await session._open()
        async with session:
            asked = asyncio.create_task(session.run(Delete("/x")))
            await asyncio.sleep(0)
            assert types(transport) == ["delete"]
            transport.reply(NoNode("/x"))
            with pytest.raises(NoNode):
                await asked
        assert session.state == "closed"

    asyncio.run(main())


def test_where_scripts_stand(open_session: Any, transport: ScriptedTransport, beside: Any) -> None:
    """For each script the innermost one it is in, and what it waits for."""
    session = open_session()

    def outer() -> Script[Fire]:
        return (yield from waiting("/x"))

    looks = beside(session.run, outer())
    eventually(lambda: transport.sent)
    (standing,) = session.standing()
    assert " in waiting (" in standing
    assert standing.endswith(" waits for the reply to Get /x")
    transport.reply(Data(b"", STAT))
    (standing,) = session.standing()
    assert standing.endswith(" waits for a watch on /x")
    transport.fire(FireKind.DELETED, "/x")
    looks.result(5.0)
    assert session.standing() == []
