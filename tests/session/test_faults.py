"""What happens to a session when the network fails it."""

from __future__ import annotations

import queue
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import zkkit
from zkkit.errors import ConnectionLost, DeadlineExceeded, NodeExists, SessionLost
from zkkit.retry import NEVER
from zkkit.session import opcodes
from zkkit.session.link import BODY, Reply
from zkkit.steps import (
    Call,
    Create,
    Delete,
    Exists,
    Fire,
    FireKind,
    Get,
    Mode,
    Script,
    Set,
    Sync,
    Wait,
)
from zkkit.testing import Proxy, eventually, expire

# --- states ---------------------------------------------------------------------------------


def test_states_across_a_cut(through: zkkit.Session, zk_proxy: Proxy, ear: Any) -> None:
    """A cut that is mended in time: suspended, then connected, in the same session."""
    through.hooks.add(ear)
    before = through.session_id
    zk_proxy.cut()
    eventually(lambda: through.state == "suspended")
    zk_proxy.mend()
    eventually(lambda: through.state == "connected")
    assert ear.states == ["suspended", "connected"]
    assert through.session_id == before


def mishear(session: Any, monkeypatch: Any, kind: int, change: Callable[[Reply], Reply]) -> None:
    """Let the reply to the next request of this kind be another one."""
    link = session._transport._standing.link
    receive = link.receive

    def misheard(data: bytes) -> list[Any]:
        heard = receive(data)
        for place, each in enumerate(heard):
            if isinstance(each, Reply) and each.what.type == kind:
                monkeypatch.undo()
                heard[place] = change(each)
        return list(heard)

    monkeypatch.setattr(link, "receive", misheard)


def test_a_reply_that_calls_the_session_over_makes_it_ask_again(
    session: zkkit.Session, zk_path: str, ear: Any, monkeypatch: Any
) -> None:
    """It breaks the connection, though pings are answered there, and hears the truth on the next
    one: here that the session lives."""
    mishear(session, monkeypatch, opcodes.CREATE2, lambda reply: reply._replace(error=-112))
    session.hooks.add(ear)
    before = session.session_id
    with pytest.raises(ConnectionLost):
        session.create(zk_path)
    eventually(lambda: ear.states == ["suspended", "connected"])
    assert session.session_id == before
    assert session.exists(zk_path) is not None


def test_a_multi_that_calls_the_session_over(
    session: zkkit.Session, zk_path: str, ear: Any, monkeypatch: Any
) -> None:
    """The same; of a multi it is said in the reply's body, as the error of an operation."""
    over = struct.pack(">i?ii", -1, False, -112, -112) + struct.pack(">i?i", -1, True, -1)
    mishear(
        session,
        monkeypatch,
        opcodes.MULTI,
        lambda reply: reply._replace(frame=reply.frame[:BODY] + over),
    )
    session.hooks.add(ear)
    with pytest.raises(ConnectionLost):
        session.multi(Create(zk_path))
    eventually(lambda: ear.states == ["suspended", "connected"])
    assert session.exists(zk_path) is not None


@pytest.mark.slow
@pytest.mark.concurrent
def test_no_session_survives_its_end(open_session: Any, zk_ensemble: Any, zk_path: str) -> None:
    """However a reconnect and the end of the session meet: it is told, and begins a new one. (In
    one of a hundred such meetings a server keeps the connection of a session that is over.)"""
    session = open_session(zk_ensemble.hosts, timeout=6.0)
    for number in range(150):
        before = session.session_id
        expire(zk_ensemble.hosts, *session.kazoo.client_id)

        def moved_on(number: int = number, before: int = before) -> bool:
            try:
                session.create(f"{zk_path}-{number}", mode=Mode.EPHEMERAL)
            except (ConnectionLost, SessionLost, NodeExists):
                pass
            return session.session_id not in (0, before)

        eventually(moved_on, 4.0)


def test_states_from_birth_to_death(open_session: Any, zk_proxy: Proxy, ear: Any) -> None:
    """A cut that lasts too long: lost by our own clock; a new session; closed."""
    session = open_session(zk_proxy.hosts, timeout=1.5)
    session.hooks.add(ear)
    before = session.session_id
    zk_proxy.cut()
    eventually(lambda: session.state == "lost", 3.0)
    assert session.session_id == 0
    zk_proxy.mend()
    eventually(lambda: session.state == "connected")
    assert session.session_id not in (0, before)
    session.close()
    assert ear.states == ["suspended", "lost", "connected", "closed"]


def test_expired_by_the_servers(
    session: zkkit.Session, other: zkkit.Session, zk_hosts: str, zk_path: str, ear: Any,
    beside: Any,
) -> None:  # fmt: skip
    """The servers say that the session is over: every run is told, and a new session begins."""
    session.hooks.add(ear)
    session.create(zk_path, mode=Mode.EPHEMERAL)
    ready = threading.Event()

    def script() -> Script[None]:
        yield from Call(ready.set)
        yield from Wait()

    waiting = beside(session.run, script(), timeout=10.0)
    assert ready.wait(5.0)
    before = session.session_id
    expire(zk_hosts, *session.kazoo.client_id)
    with pytest.raises(SessionLost):
        waiting.result(5.0)
    eventually(lambda: session.state == "connected" and session.session_id not in (0, before))
    assert "lost" in ear.states
    assert session.exists(zk_path) is None


# --- the session's own clock -------------------------------------------------------------------


@pytest.mark.slow  # a whole session timeout, as tests/locks/test_faults.py has
def test_frozen_longer_than_the_timeout(
    open_session: Any, session: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """Lost by our own clock, while kazoo has said nothing of it; after the thaw the old session
    is closed on the servers and a new one made."""
    frozen = open_session(zk_proxy.hosts, timeout=2.0)
    frozen.create(zk_path, mode=Mode.EPHEMERAL)
    before = frozen.session_id
    zk_proxy.freeze()
    began = time.monotonic()
    eventually(lambda: frozen.state == "lost", 4.0)
    assert time.monotonic() - began < frozen.timeout + 1.0
    assert frozen.kazoo.state != "LOST"
    assert frozen.session_id == 0
    zk_proxy.thaw()
    eventually(lambda: frozen.state == "connected")
    assert frozen.session_id not in (0, before)
    eventually(lambda: session.exists(zk_path) is None, 1.5)


def lose_by_clock(session: zkkit.Session) -> None:
    """As if no server had answered for the whole timeout, before kazoo has noticed anything."""
    with session._runner._monitor:
        session._runner._clock.expires = 0.0
        session._runner._tick()
    assert session.session_id == 0


def test_old_session_is_closed_not_left_to_expire(
    open_session: Any, session: zkkit.Session, zk_path: str
) -> None:
    """The servers, who heard of us to the last, would keep the lost session for its whole
    timeout; it is closed instead."""
    slow = open_session(timeout=5.0)
    slow.create(zk_path, mode=Mode.EPHEMERAL)
    before = slow.session_id
    lose_by_clock(slow)
    eventually(lambda: slow.state == "connected")
    assert slow.session_id not in (0, before)
    eventually(lambda: session.exists(zk_path) is None, 1.5)


@pytest.mark.slow  # a whole session timeout; expired_by_the_servers has none
def test_every_run_is_told_that_the_session_is_lost(
    open_session: Any, zk_proxy: Proxy, zk_path: str, beside: Any
) -> None:
    """Whether waiting or asking: SessionLost, once, and the script may go on in the next one."""
    session = open_session(zk_proxy.hosts, timeout=1.5)
    ready = threading.Event()
    lost: list[str] = []

    def waiting() -> Script[int]:
        yield from Call(ready.set)
        try:
            yield from Wait()
        except SessionLost as error:
            lost.append(str(error))
        return (yield from Create(zk_path, mode=Mode.EPHEMERAL)).stat.ephemeral_owner

    def asking() -> Script[None]:
        while True:
            try:
                yield from Get("/")
            except ConnectionLost:
                continue

    waits = beside(session.run, waiting(), timeout=20.0)
    assert ready.wait(5.0)
    zk_proxy.freeze()
    asks = beside(session.run, asking(), timeout=20.0)
    with pytest.raises(SessionLost, match=r"1\.5 s"):
        asks.result(5.0)
    zk_proxy.thaw()
    assert waits.result(10.0) == session.session_id != 0
    assert len(lost) == 1


def test_watch_asked_for_again_after_a_loss(
    open_session: Any, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """A look that was under way when the session was lost, and is repeated in the next session,
    sets a watch that wakes."""
    other.create(zk_path)
    session = open_session(zk_proxy.hosts)
    heard: queue.Queue[Any] = queue.Queue()

    def look_and_wait() -> Script[Fire]:
        while True:
            try:
                yield from Get(zk_path, watch=True)
                yield from Call(heard.put, "looked")
                return (yield from Wait())
            except (SessionLost, ConnectionLost):
                continue

    def listen() -> Script[None]:
        while True:
            fire = yield from look_and_wait()
            yield from Call(heard.put, fire)

    zk_proxy.freeze()
    session.spawn(listen())
    lose_by_clock(session)
    zk_proxy.thaw()
    while True:
        assert heard.get(timeout=5.0) == "looked"
        other.set(zk_path, b"x")
        fire = heard.get(timeout=3.0)
        if fire == Fire(FireKind.CHANGED, zk_path):
            break
        assert fire.kind is FireKind.NONE


def test_a_slow_network_is_no_loss(through: zkkit.Session, zk_proxy: Proxy, ear: Any) -> None:
    """Delays below the timeout are only delays."""
    through.hooks.add(ear)
    zk_proxy.delay(0.1)
    began = time.monotonic()
    through.exists("/")
    assert time.monotonic() - began >= 0.2
    zk_proxy.delay(0)
    through.exists("/")
    assert ear.states == []


# --- lost replies -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("create", lambda s, p: s.create(f"{p}/new")),
        ("set", lambda s, p: s.set(p, b"new")),
        ("delete", lambda s, p: s.delete(f"{p}/old")),
        ("multi", lambda s, p: s.multi(Create(f"{p}/new"))),
    ],
)
def test_lost_reply_of_a_write(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str,
    operation: str, call: Any,
) -> None:  # fmt: skip
    """The outcome is unknown, so the caller is told; here it has been applied."""
    other.create(zk_path)
    other.create(f"{zk_path}/old")
    before = other.exists(zk_path)
    session_id = through.session_id
    loss = zk_proxy.lose_reply(operation)
    with pytest.raises(ConnectionLost) as caught:
        call(through, zk_path)
    assert loss.wait(5.0)
    assert caught.value.path.startswith(zk_path)
    other.run(Exists(zk_path))
    after = other.exists(zk_path)
    assert before is not None
    assert after is not None
    assert (after.version, after.cversion) != (before.version, before.cversion)
    through.exists("/")
    assert through.session_id == session_id


def test_a_reply_to_nothing_we_asked(
    open_session: Any, other: zkkit.Session, zk_hosts: str, zk_path: str, monkeypatch: Any
) -> None:
    """Like a broken connection: the session goes on. (kazoo's thread would die of it.)"""
    session = open_session(zk_hosts)
    before = session.session_id
    link = session._transport._standing.link
    read = link._read

    def misread(frame: bytes, before: Any) -> Any:
        (xid,) = struct.unpack_from(">i", frame)
        if xid > 0:
            monkeypatch.undo()
            frame = struct.pack(">i", xid + 1) + frame[4:]
        return read(frame, before)

    monkeypatch.setattr(link, "_read", misread)
    with pytest.raises(ConnectionLost):
        session.create(zk_path)
    assert session.get(zk_path).data == b""
    assert session.session_id == before


def test_lost_request_of_a_write(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """To the caller it looks the same, but nothing has been applied."""
    zk_proxy.lose_request("create")
    with pytest.raises(ConnectionLost):
        through.create(zk_path)
    assert other.exists(zk_path) is None


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("get", lambda s, p: s.get(p).data),
        ("exists", lambda s, p: s.exists(p).data_length),
        ("children", lambda s, p: s.children(p)),
    ],
)
def test_reads_are_repeated(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str,
    operation: str, call: Any,
) -> None:  # fmt: skip
    """A read changes nothing, so the session asks again by itself."""
    other.create(zk_path, b"x")
    loss = zk_proxy.lose_reply(operation, count=2)
    assert call(through, zk_path) == call(other, zk_path)
    assert loss.wait(5.0)


def test_reads_are_repeated_only_as_often_as_allowed(
    open_session: Any, zk_proxy: Proxy, zk_path: str
) -> None:
    """The session's retry policy decides."""
    session = open_session(zk_proxy.hosts, retry=NEVER)
    session.create(zk_path, b"x")
    zk_proxy.lose_reply("get")
    with pytest.raises(ConnectionLost):
        session.get(zk_path)
    assert session.get(zk_path).data == b"x"


def test_a_flight_of_which_a_part_is_lost(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """Each request of a flight has its own outcome."""
    from zkkit.steps import Together

    other.create(zk_path)
    zk_proxy.lose_reply("set")
    outcomes = through.run(
        Together(Create(f"{zk_path}/a"), Set(zk_path, b"x"), Get(zk_path), settle=True),
        timeout=10.0,
    )
    assert outcomes[0].path == f"{zk_path}/a"
    assert isinstance(outcomes[1], ConnectionLost)
    assert other.get(zk_path).data == b"x"


# --- requests that were never sent ------------------------------------------------


def test_unsent_requests_wait_for_the_mend(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str, beside: Any
) -> None:
    """What is asked during a cut is sent afterwards, in the same session."""
    before = through.session_id
    zk_proxy.cut()
    eventually(lambda: through.state == "suspended")
    made = beside(through.create, zk_path, mode=Mode.EPHEMERAL)
    time.sleep(0.2)
    assert not made.done()
    zk_proxy.mend()
    assert made.result(5.0).stat.ephemeral_owner == before == through.session_id


def test_unsent_requests_keep_their_order(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """What was asked first is sent first, also when somebody asks at the moment of the mend."""
    outcomes: queue.Queue[Any] = queue.Queue()

    class Eager:
        def session_changed(self, event: Any) -> None:
            if event.kind == "connected":
                through.background(Exists(zk_path), outcomes.put)

    zk_proxy.cut()
    eventually(lambda: through.state == "suspended")
    through.background(Create(zk_path), outcomes.put)
    through.hooks.add(Eager())
    zk_proxy.mend()
    found = {type(outcome.step): outcome for outcome in (outcomes.get(timeout=5.0) for _ in "12")}
    assert found[Create].error is None
    assert found[Exists].result is not None


@pytest.mark.slow  # a whole session timeout; its twin below has none
def test_unsent_requests_do_not_reach_the_next_session(
    open_session: Any, other: zkkit.Session, zk_proxy: Proxy, zk_path: str, beside: Any,
) -> None:  # fmt: skip
    """A request of a lost session is not sent in the new one: its script is told instead."""
    session = open_session(zk_proxy.hosts, timeout=1.5)
    zk_proxy.cut()
    eventually(lambda: session.state == "suspended")
    made = beside(session.create, zk_path)
    with pytest.raises(SessionLost):
        made.result(5.0)
    zk_proxy.mend()
    eventually(lambda: session.state == "connected")
    session.exists("/")
    assert other.exists(zk_path) is None


def test_no_two_requests_of_a_session_have_the_same_number(
    through: zkkit.Session, zk_proxy: Proxy, monkeypatch: Any
) -> None:
    """Whatever the connection: a server that still hears of a write which was sent to another one
    would take it for the answer to a request of the same number (ZOOKEEPER-2684)."""
    numbers: list[int] = []
    transport = through._transport
    hear = transport.hear

    def note(heard: Any) -> None:
        if isinstance(heard, Reply):
            numbers.append(heard.xid)
        hear(heard)

    monkeypatch.setattr(transport, "hear", note)
    for _ in range(3):
        for _ in range(5):
            through.exists("/")
        zk_proxy.drop()
    through.exists("/")
    assert len(numbers) >= 16
    assert numbers == sorted(set(numbers))


def test_what_was_never_sent_does_not_reach_the_next_session(
    open_session: Any, other: zkkit.Session, zk_path: str
) -> None:
    """Our clock ends the session while a request still waits for its socket."""
    session = open_session(timeout=5.0)
    old = session.session_id
    runner = session._runner
    with runner._monitor:
        session._transport._standing.full = True
        runner.start(runner.background_run(iter(Create(zk_path)), "too late"))
        lose_by_clock(session)
    eventually(lambda: session.session_id not in (0, old))
    session.exists("/")  # what was kept has been sent by now
    assert other.exists(zk_path) is None


def test_cancelled_unsent_request_is_cleaned_up_after(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """The caller has left during a cut; after the mend the clean-up comes after the request."""

    def script() -> Script[None]:
        try:
            yield from Create(zk_path)
        finally:
            while True:
                try:
                    yield from Delete(zk_path)
                    break
                except ConnectionLost:
                    continue

    zk_proxy.cut()
    eventually(lambda: through.state == "suspended")
    with pytest.raises(DeadlineExceeded):
        through.run(script(), timeout=0.2)
    zk_proxy.mend()
    through.exists("/")
    assert other.exists(zk_path) is None


def test_deadline_holds_on_frozen_servers(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """The caller is let go in time, and when the servers come back nothing is left."""

    def script() -> Script[None]:
        try:
            yield from Create(zk_path)
            yield from Wait()
        finally:
            yield from Delete(zk_path)

    zk_proxy.freeze()
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        through.run(script(), timeout=0.3)
    assert time.monotonic() - began < 0.3 + 1
    zk_proxy.thaw()
    through.exists("/")
    eventually(lambda: other.exists(zk_path) is None)


def test_what_was_given_up_does_not_pile_up(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """A server that reads nothing: what nobody waits for any more is not kept, and not applied when
    the server is back, but for what the sockets on the way have taken."""
    through.create(zk_path)
    zk_proxy.freeze()
    tries = 15
    for _ in range(tries):
        with pytest.raises(DeadlineExceeded):
            through.run(Set(zk_path, bytes(900_000)), timeout=0.02)
    outbox = through._transport._outbox  # type: ignore[attr-defined]
    assert sum(call.size for call in outbox) == 0
    zk_proxy.thaw()
    through.run(Sync("/"))
    assert through.get(zk_path).stat.version < tries


@pytest.mark.concurrent
def test_an_inner_deadline_and_a_cancel_leave_no_orphan(
    open_session: Any, other: zkkit.Session, zk_proxy: Proxy, zk_path: str
) -> None:
    """A lock attempt on frozen servers, timed out from within and then cancelled from without,
    has withdrawn its node when the servers are back."""
    session = open_session(zk_proxy.hosts, timeout=10.0)
    lock = zkkit.ReentrantLock(session, zk_path)
    session.create(zk_path)
    holder = zkkit.ReentrantLock(other, zk_path)
    assert holder.acquire()

    def script() -> Script[None]:
        yield from lock.acquire.of(timeout=0.2)

    zk_proxy.freeze()
    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.4)
    zk_proxy.thaw()
    session.exists("/")
    eventually(lambda: len(other.children(zk_path)) == 1, 3.0)
