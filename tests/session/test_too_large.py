"""Requests that are larger than servers take: they hang up on them, whoever sends them again."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble, config
from zkkit.errors import ConnectionLost, NoNode, TooLarge
from zkkit.session.kazoo_transport import KazooTransport
from zkkit.session.limit import SERVERS_TAKE, Limit
from zkkit.session.link import BODY, Reply
from zkkit.session.options import Options
from zkkit.session.platforms import threads
from zkkit.session.transport import Outgoing
from zkkit.session.wire import Wire
from zkkit.steps import OPEN_ACL, Create, Set, Sync, Together

Open = Callable[..., zkkit.Session]
LARGE = b"x" * (SERVERS_TAKE + 1)


def reconnects(ear: Any) -> int:
    return int(ear.states.count("connected"))


@pytest.mark.parametrize(
    "write",
    [
        lambda session, path: session.create(path + "/x", LARGE),
        lambda session, path: session.create(path + "/a/b", LARGE, make_parents=True),
        lambda session, path: session.set(path, LARGE),
        lambda session, path: session.multi(*[Create(f"{path}/{n}", LARGE[::4]) for n in range(5)]),
        lambda session, path: session.exists(path + "/" + "x" * len(LARGE)),
    ],
    ids=["create", "create with parents", "set", "multi", "exists"],
)
def test_large_request_is_refused_once(
    session: zkkit.Session, zk_path: str, ear: Any, write: Callable[..., Any]
) -> None:
    """The error names the size and the limit; nothing is sent again, and the session lives on."""
    session.create(zk_path)
    before = session.session_id
    session.hooks.add(ear)
    with pytest.raises(TooLarge, match=r"1,048,575") as caught:
        write(session, zk_path)
    assert f"{caught.value.size:,} bytes" in str(caught.value)
    assert session.exists(zk_path) is not None
    assert session.session_id == before
    assert session.children(zk_path) == ()
    assert reconnects(ear) == 1


def test_large_request_in_a_flight(session: zkkit.Session, zk_path: str) -> None:
    """It is the one that is called too large; the others' outcomes are as they are."""
    session.create(zk_path)
    flight = Together(Set(zk_path, b"before"), Set(zk_path, LARGE), Sync("/"), settle=True)
    first, large, last = session.run(flight)
    assert isinstance(large, TooLarge)
    assert not isinstance(first, TooLarge) and not isinstance(last, TooLarge)
    assert session.get(zk_path).data in (b"before", b"")


@pytest.mark.parametrize("recipe", [zkkit.ReentrantLock, zkkit.Lock, zkkit.Semaphore])
def test_lock_with_large_node_data(
    open_session: Open, other: zkkit.Session, zk_path: str, ear: Any, recipe: Any
) -> None:
    """Acquiring says what is wrong instead of trying for ever, and leaves nothing behind."""
    session = open_session(node_data=LARGE)
    session.hooks.add(ear)
    options = {"limit": 1} if recipe is zkkit.Semaphore else {}
    lock = recipe(session, zk_path, **options)
    with pytest.raises(TooLarge, match=r"1,048,\d\d\d bytes"):
        lock.acquire(timeout=20.0)
    assert reconnects(ear) <= 3
    other.run(Sync("/"))
    for place in (zk_path, zk_path + "/locks", zk_path + "/leases"):
        with contextlib.suppress(NoNode):
            assert not [name for name in other.children(place) if name.startswith("_c_")]


def test_the_limit_is_that_of_the_servers(session: zkkit.Session, zk_path: str) -> None:
    """One byte less is written."""
    session.create(zk_path)
    frame = Outgoing(Wire("", OPEN_ACL).encode(Set(zk_path, b"")), zk_path).size
    assert session.set(zk_path, LARGE[: SERVERS_TAKE - frame]).data_length == SERVERS_TAKE - frame
    with pytest.raises(TooLarge) as caught:
        session.set(zk_path, LARGE[: SERVERS_TAKE - frame + 1])
    assert caught.value.size == SERVERS_TAKE + 1
    assert pickle.loads(pickle.dumps(caught.value)) == caught.value


def test_many_children_are_read(session: zkkit.Session, zk_path: str) -> None:
    """The limit is for requests: a reply may be larger."""
    session.create(zk_path)
    for part in range(6):
        ops = [Create(f"{zk_path}/{part}-{n:0200}") for n in range(1000)]
        session.multi(*ops)
    names = session.children(zk_path)
    assert len(names) == 6000
    assert sum(map(len, names)) > SERVERS_TAKE


class Ear:
    """Hears what becomes of calls."""

    def __init__(self) -> None:
        self.errors: list[Any] = []

    def answered(self, sent_at: float) -> None: ...

    def replied(self, call: Outgoing, value: Any, error: Any) -> None:
        self.errors.append(error)


@pytest.mark.parametrize("answer", ["done", "refused"])
def test_servers_that_take_more(answer: str) -> None:
    """Where a request of some size was answered, one of that size is not called too large: its
    connection broke for another reason."""
    transport = KazooTransport(Options("h:1"), threads())
    ear: Any = Ear()
    transport._listener = ear
    call = Outgoing(Wire("", OPEN_ACL).encode(Set("/x", LARGE)), "/x")
    assert isinstance(transport._limit.error(call.size, call.path), TooLarge)
    refusal = Reply(call, 1.0, NoNode.code, 7, 1, bytes(BODY))
    transport.hear(refusal if answer == "refused" else refusal._replace(error=0, frame=bytes(99)))
    assert [type(error) for error in ear.errors] == [NoNode if answer == "refused" else type(None)]
    assert isinstance(transport._limit.error(call.size, call.path), ConnectionLost)


# --- servers that take less than by default -----------------------------------------------------


def blamed(limit: Limit, *sizes: int) -> bool:
    """Whether a request of the last size is, when connections break by such requests."""
    for size in sizes:
        limit.hung_up_on(size if limit.suspects(size, 0.0) else 0)
    return isinstance(limit.error(sizes[-1], "/x"), TooLarge)


def test_three_times_running() -> None:
    """Then it must be the size. One that is larger goes on with the row."""
    assert not blamed(Limit(), 5000, 5000)
    assert blamed(Limit(), 5000, 5000, 5000)
    assert blamed(Limit(), 5000, 7000, 6000)
    limit = Limit()
    limit.taken(120)
    assert blamed(limit, 5000, 5000, 5000, 5000)
    error = limit.error(5000, "/x")
    assert isinstance(error, TooLarge) and error.limit == 120
    assert pickle.loads(pickle.dumps(error)) == error
    limit.taken(5000)
    assert isinstance(limit.error(5000, "/x"), ConnectionLost)


@pytest.mark.parametrize(
    "sizes",
    [(5000, 5000, 0, 5000), (5000, 5000, 4000), (5000, 5000, 80), (900, 900, 900), (0, 0, 0)],
)
def test_the_innocent(sizes: tuple[int, ...]) -> None:
    """Not blamed: if a connection broke otherwise meanwhile, one that is smaller than those before,
    and what every server takes."""
    assert not blamed(Limit(), *sizes)


def test_beside_one_that_is_larger() -> None:
    """Of several under way it is the largest on which they hang up."""
    limit = Limit()
    assert blamed(limit, 2000, 5000, 5000)
    assert isinstance(limit.error(2000, "/x"), ConnectionLost)


def test_what_was_answered_once() -> None:
    """Servers take it, and what is smaller."""
    limit = Limit()
    limit.taken(5000)
    assert not blamed(limit, 5000, 5000, 5000)
    assert blamed(limit, 5001, 5001, 5001)


def test_hung_up_on_later() -> None:
    """They hang up on what is too large at once: later it has another reason."""
    assert Limit().suspects(5000, 0.01) and not Limit().suspects(5000, 30.0)


@pytest.mark.slow
def test_servers_that_take_less(ear: Any) -> None:
    """A lock whose nodes are too large for these servers says so instead of trying for ever, and
    leaves nothing; nobody else's request is blamed."""
    flags = (*config.FAST_START, "-Djute.maxbuffer=4096")
    with LocalEnsemble(1, jvm_flags=flags) as ensemble:
        with zkkit.connect(ensemble.hosts, node_data=b"x" * 10_000) as session:
            session.hooks.add(ear)
            with pytest.raises(TooLarge, match=r"10,\d\d\d bytes.*set to take less") as caught:
                zkkit.ReentrantLock(session, "/lock").acquire(timeout=60.0)
            assert 0 < caught.value.limit < 4096
            assert session.exists("/lock") is None or session.children("/lock") == ()
            session.create("/fits", b"x" * 3000)
            with zkkit.ReentrantLock(session, "/lock", node_data=b"x" * 3000):
                pass
