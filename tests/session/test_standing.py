"""A link on a socket, and the loop that reads it: with a peer that the test plays, and for real."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import zkkit
from tests.support.certificates import certificate
from zkkit.errors import DeadlineExceeded, ZkkitError
from zkkit.session.clock import now
from zkkit.session.link import BODY, PING_XID, Heard, Link, Pong, Reply
from zkkit.session.loop import NAME, Loop, Seat
from zkkit.session.opcodes import GET
from zkkit.session.standing import Standing
from zkkit.testing import Proxy, eventually

MANY = 1 << 16


def frame(xid: int, body: bytes = b"") -> bytes:
    content = struct.pack(">iqi", xid, 7, 0) + body
    return struct.pack(">i", len(content)) + content


class Room:
    """A standing connection with the test at the other end; it is the receiver as well."""

    def __init__(self, timeout: float, wrap: Callable[..., Any] = lambda *ends: ends) -> None:
        ours, self.peer = wrap(*socket.socketpair())
        ours.setblocking(False)
        self.peer.settimeout(5.0)
        self.heard: list[Heard] = []
        self.ends: list[str] = []
        self.drains = 0
        self._monitor = threading.RLock()
        self.seat = Seat()
        self.socket = ours
        self.standing = Standing(ours, Link(0), timeout, self, self.seat)
        self.standing.begin()

    def ask(self, body: bytes = b"", what: str = "asked") -> None:
        with self._monitor:
            self.standing.link.request(GET, body, what, now())
            self.standing.flush()

    def close(self) -> None:
        self.standing.hang_up("the test is over")
        eventually(lambda: self.standing.is_over)
        self.seat.stop()
        self.peer.close()

    # the receiver

    def batch(self) -> Any:
        return self._monitor

    def hear(self, heard: Heard) -> None:
        self.heard.append(heard)

    def drained(self) -> None:
        self.drains += 1

    def over(self, why: str) -> None:
        assert self.socket.fileno() == -1, "it is closed by then"
        self.ends.append(why)


@pytest.fixture
def room() -> Iterator[Callable[..., Room]]:
    """`room(timeout, wrap=...)` makes one."""
    rooms: list[Room] = []

    def make(timeout: float = 30.0, **options: Any) -> Room:
        rooms.append(Room(timeout, **options))
        return rooms[-1]

    yield make
    for each in rooms:
        each.close()


def read(peer: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += peer.recv(count - len(data))
    return data


def test_said_and_heard(room: Any) -> None:
    here = room()
    here.ask(b"body")
    assert read(here.peer, 16) == struct.pack(">iii", 12, 1, GET) + b"body"
    here.peer.sendall(frame(1, b"reply"))
    eventually(lambda: [type(each) for each in here.heard] == [Reply])


def test_a_peer_that_does_not_read(room: Any) -> None:
    """What the socket does not take waits; whoever sends never does. Later all of it arrives."""
    here = room()
    bodies = [bytes([number]) * MANY for number in range(200)]
    for body in bodies:
        here.ask(body)
    assert here.standing.full and len(here.standing.link.outgoing) > 0
    said = read(here.peer, 200 * (MANY + 12))
    assert [said[at] for at in range(12, len(said), MANY + 12)] == list(range(200))
    eventually(lambda: not here.standing.full and here.drains == 1)
    taken, not_taken = here.standing.link.unanswered()
    assert len(taken) == 200 and not not_taken


@pytest.mark.parametrize("how", ["half", "closed", "reset", "ours"])
def test_how_it_ends(room: Any, how: str) -> None:
    """Told once, with the reason; what the peer had said before is heard."""
    here = room()
    here.ask()
    here.peer.sendall(frame(1))
    eventually(lambda: len(here.heard) == 1)
    if how == "half":
        here.peer.shutdown(socket.SHUT_WR)
    elif how == "closed":
        read(here.peer, 12)
        here.peer.close()
    elif how == "reset":
        here.ask()  # unread when it is closed: so the kernel resets the connection
        here.peer.close()
        here.ask()
    else:
        here.standing.hang_up("we did not like it")
    eventually(lambda: here.standing.is_over)
    (why,) = here.ends
    if how == "ours":
        assert why == "we did not like it"
    elif how != "reset":
        assert why == "the server hung up"
    here.ask()  # nobody is there any more: nothing happens
    assert len(here.ends) == 1


def test_what_was_said_before_the_garbage(room: Any) -> None:
    here = room()
    here.ask()
    here.peer.sendall(frame(1) + b"HTTP/1.1 400 Bad Request")
    eventually(lambda: here.standing.is_over)
    assert len(here.heard) == 1
    assert "no ZooKeeper server" in here.ends[0]


def test_pings_keep_an_idle_connection(room: Any) -> None:
    """Sent when nothing else is; answered, they keep it for longer than its patience."""
    here = room(2.4)
    for _ in range(3):
        length, xid, _ = struct.unpack(">iii", read(here.peer, 12))
        assert (length, xid) == (8, PING_XID)
        here.peer.sendall(frame(PING_XID))
    eventually(lambda: sum(isinstance(each, Pong) for each in here.heard) >= 3)
    assert not here.ends


def test_a_silent_peer_is_given_up(room: Any) -> None:
    here = room(0.6)
    here.ask()
    eventually(lambda: here.standing.is_over)
    assert "has said nothing for" in here.ends[0]


def test_a_receiver_that_fails(room: Any, caplog: Any, monkeypatch: Any) -> None:
    """That ends its connection, and no other."""
    here, other = room(), room()

    def fail(heard: Heard) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(here, "hear", fail)
    for each in (here, other):
        each.ask()
        each.peer.sendall(frame(1))
    eventually(lambda: here.standing.is_over and len(other.heard) == 1)
    assert not other.standing.is_over
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("garbage", [b"", b"HTTP"])
def test_who_cannot_be_told_is_told_of_the_end(room: Any, monkeypatch: Any, garbage: bytes) -> None:
    """One piece of news cannot be dealt with: those behind it in the same read count as
    unanswered, so that nobody waits for ever."""
    here = room()

    def fail(heard: Heard) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(here, "hear", fail)
    for what in ("first", "second", "third"):
        here.ask(what=what)
    here.peer.sendall(frame(1) + frame(2) + garbage)
    eventually(lambda: here.ends)
    assert here.standing.link.unanswered() == (["second", "third"], [])


def test_hung_up_in_the_middle_of_a_frame(room: Any, tmp_path: Path) -> None:
    """What comes by TLS after we have hung up is decrypted like what came before."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl._create_unverified_context()
    server.load_cert_chain(*certificate(tmp_path, "server"))

    def encrypted(ours: socket.socket, peer: socket.socket) -> Any:
        with ThreadPoolExecutor(1) as pool:
            wrapped = pool.submit(server.wrap_socket, peer, server_side=True)
            return client.wrap_socket(ours), wrapped.result()

    here = room(wrap=encrypted)
    here.ask()
    body = b"x" * 2000
    here.peer.sendall(frame(1, body)[:500])
    eventually(lambda: here.standing.link._incoming)
    with here.batch():
        here.peer.sendall(frame(1, body)[500:])
        here.standing.hang_up("we did not like it")
    eventually(lambda: here.ends)
    assert [each.frame[BODY:] for each in here.heard] == [body]


# --- the loop -----------------------------------------------------------------------------------


def loop_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == NAME]


def test_one_thread_that_ends_with_the_last_seat() -> None:
    eventually(lambda: not loop_threads())  # those of sessions before us
    seats = [Seat() for _ in range(5)]
    done: list[int] = []
    for number, seat in enumerate(seats):
        seat.soon(lambda number=number: done.append(number))  # type: ignore[misc]
    eventually(lambda: done == [0, 1, 2, 3, 4])
    assert len(loop_threads()) == 1
    for seat in seats[:-1]:
        seat.stop()
        seat.stop()  # twice is harmless
    assert len(loop_threads()) == 1
    seats[-1].stop()
    assert not loop_threads()
    seats[0].soon(lambda: done.append(5))  # it has left: the caller does it
    assert done[-1] == 5


def test_timers_come_in_time_and_in_order() -> None:
    seat = Seat()
    called: list[Any] = []
    begun = now()
    for wait in (0.15, 0.05, 0.1):
        seat.at(begun + wait, lambda wait=wait: called.append((wait, now())))  # type: ignore[misc]
    seat.at(begun + 0.07, lambda: called.append("never")).cancel()
    eventually(lambda: len(called) == 3)
    assert [wait for wait, _ in called] == [0.05, 0.1, 0.15]
    assert all(at >= begun + wait for wait, at in called)
    seat.stop()


def test_a_timer_that_is_always_due_holds_up_nobody() -> None:
    """It is set anew, for a moment that is over, whenever it is called."""
    seat, called, done = Seat(), threading.Event(), threading.Event()

    def again() -> None:
        called.set()
        if not done.is_set():
            seat.at(now() - 1.0, again)

    seat.at(now(), again)
    assert called.wait(5.0)
    seat.soon(done.set)
    assert done.wait(5.0)
    seat.stop()


class Listening:
    """Something that is told when its socket can be read."""

    is_over = False
    longest_rest = 10.0

    def __init__(self, seat: Seat, told: Callable[[], object]) -> None:
        ours, self.peer = socket.socketpair()
        self._told = told
        self._seat = seat
        self.wrote = threading.Event()
        self.fileno = ours.fileno
        self._socket = ours
        seat.attach(self)

    def can_read(self) -> None:
        self._socket.recv(1)
        self._told()

    def can_write(self) -> None:
        """It was never full."""
        self._seat.await_writing(self, False)
        self.wrote.set()

    def close(self, seat: Seat) -> None:
        seat.detach(self, self._socket.close)
        self.peer.close()


@pytest.mark.parametrize("busy_with", ["a socket", "a timer"])
def test_what_came_while_somebody_took_his_time(busy_with: str) -> None:
    """It is heard before a timer finds that nothing was said."""
    seat, told = Seat(), list[str]()
    other = Listening(seat, lambda: told.append("heard"))

    def take_time() -> None:
        if busy_with == "a timer":
            done = now() + 0.1
            while now() < done:
                pass
        other.peer.send(b"x")
        seat.at(now() - 1.0, lambda: told.append("timer"))

    def two_timers() -> None:
        seat.at(now() - 2.0, take_time)
        seat.at(now() - 1.0, lambda: told.append("timer"))

    slow = Listening(seat, take_time)
    if busy_with == "a socket":
        slow.peer.send(b"x")
    else:
        seat.soon(two_timers)
    eventually(lambda: "timer" in told)
    eventually(lambda: "heard" in told)
    assert told[0] == "heard"
    for each in (other, slow):
        seat.soon(lambda each=each: each.close(seat))  # type: ignore[misc]
    seat.stop()


def test_who_takes_long_is_not_served_all_the_time() -> None:
    """Others have as much of the thread as he, if there are any."""
    seat, begun = Seat(), list[float]()

    def take_time() -> None:
        begun.append(now())
        slow.peer.send(b"x")
        while now() < begun[-1] + 0.3:
            pass

    slow = Listening(seat, take_time)
    slow.peer.send(b"x")
    eventually(lambda: any(later - sooner < 0.5 for sooner, later in pairwise(begun)))
    other = Listening(seat, bool)
    eventually(lambda: begun[-1] - begun[-2] > 0.55)
    count = len(begun)
    seat.await_writing(slow, True)  # he is resting, or soon will be
    assert slow.wrote.wait(5.0)
    eventually(lambda: len(begun) > count + 2)
    assert all(later - sooner > 0.55 for sooner, later in pairwise(begun[count - 2 :]))
    for each in (other, slow):
        seat.soon(lambda each=each: each.close(seat))  # type: ignore[misc]
    seat.stop()


def test_nobody_is_overheard_who_comes_just_before_the_sleep() -> None:
    """Between the last look and the sleep there is no moment without a wake-up."""
    loop = Loop()
    loop.start()
    for _ in range(3000):
        done = threading.Event()
        loop.soon(done.set)
        assert done.wait(5.0)
    loop.stop()
    loop.soon(done.clear)  # it has ended: the caller does it
    assert not done.is_set()


# --- for real -----------------------------------------------------------------------------------


def test_a_server_that_does_not_read(through: zkkit.Session, zk_proxy: Proxy, zk_path: str) -> None:
    """Deadlines hold, what waits is bounded, and all is well when it reads again."""
    through.create(zk_path)
    zk_proxy.freeze()
    transport: Any = through._transport
    callers = [threading.Thread(target=set_in_vain, args=(through, zk_path)) for _ in range(30)]
    begun = now()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(10.0)
        assert not caller.is_alive()
    assert now() - begun < 5.0
    assert len(transport._standing.link.outgoing) < 2_500_000
    zk_proxy.thaw()
    eventually(lambda: through.exists(zk_path) is not None)
    through.set(zk_path, b"after")
    assert through.get(zk_path).data == b"after"


def set_in_vain(session: zkkit.Session, path: str) -> None:
    with suppress(DeadlineExceeded, ZkkitError):
        session.run(zkkit.steps.Set(path, bytes(900_000)), timeout=1.0)


@pytest.mark.slow
def test_a_slow_hook_of_many_callers(open_session: Any, zk_path: str) -> None:
    """Another session, whose timeout is not much longer than all of them take, keeps its hold."""
    slow, other = open_session(timeout=30.0), open_session(timeout=6.0)
    until, waits = now() + 10.0, threading.Event()

    class Slow:
        def step(self, event: Any) -> None:
            waits.wait(0.3)

    def ask() -> None:
        while now() < until:
            slow.exists("/")

    lost = threading.Event()
    hold = zkkit.ReentrantLock(other, zk_path).acquire()
    hold.on_lost(lost.set)
    slow.hooks.add(Slow())
    callers = [threading.Thread(target=ask) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30.0)
    assert not lost.is_set()
    assert hold.valid


def test_a_slow_hook(session: zkkit.Session, other: zkkit.Session, zk_path: str) -> None:
    """It holds up whatever else is read in this process, but nothing is lost by it."""
    waits = threading.Event()

    class Slow:
        def step(self, event: Any) -> None:
            waits.wait(0.2)

    session.hooks.add(Slow())
    before = session.session_id, other.session_id
    for number in range(4):
        session.create(f"{zk_path}-{number}")
        assert other.exists(f"{zk_path}-{number}") is not None
    assert (session.session_id, other.session_id) == before
    assert session.state == other.state == "connected"
