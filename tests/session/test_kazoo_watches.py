"""Watches of scripts and watches by `session.kazoo`, on the same nodes of one session.

The server has one watch of each kind for a session and a path, and one mode for them all: neither
side may take the other's away, or turn a lasting one into one that fires once."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NoNodeError
from kazoo.protocol.serialization import GetData

import zkkit
from zkkit.errors import DeadlineExceeded
from zkkit.session import kazoo_transport
from zkkit.session.transport import Outgoing
from zkkit.steps import Children, Exists, Fire, FireKind, Get, Request, Script, Stop, Wait, Watch
from zkkit.testing import Proxy, eventually

Ask = Callable[[Any, str, Any], object]

ASKS: dict[str, Ask] = {
    "get": lambda kazoo, path, watch: kazoo.get(path, watch=watch),
    "exists": lambda kazoo, path, watch: kazoo.exists(path, watch=watch),
    "get_children": lambda kazoo, path, watch: kazoo.get_children(path, watch=watch),
}


def listen(step: Request[Any], heard: queue.Queue[Any]) -> Script[None]:
    """Set a watch, say so by None, and tell every fire."""
    yield from step
    heard.put(None)
    while True:
        heard.put((yield from Wait()))


def look_and_leave(session: zkkit.Session, step: Request[Any]) -> None:
    """Somebody waits for this watch in vain, and gives up."""

    def script() -> Script[None]:
        yield from step
        yield from Wait()

    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.2)
    session.exists("/")  # what was sent to clean up has reached the server


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("ask", ASKS)
def test_a_lasting_watch_bears_one_of_kazoos(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, recursive: bool, ask: str
) -> None:
    """Its owner goes on hearing of everything; kazoo's watcher hears of the first it asked for."""
    told: queue.Queue[Any] = queue.Queue()
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    session.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) is None
    ASKS[ask](session.kazoo, zk_path, told.put)
    for number in range(3):
        other.set(zk_path, str(number).encode())
        assert heard.get(timeout=5.0) == Fire(FireKind.CHANGED, zk_path)
    below = f"{zk_path}/child"
    other.create(below)
    fire = Fire(FireKind.CREATED, below) if recursive else Fire(FireKind.CHILD, zk_path)
    assert heard.get(timeout=5.0) == fire
    event = told.get(timeout=5.0)
    assert (event.type, event.path) == ("CHILD" if ask == "get_children" else "CHANGED", zk_path)
    other.delete(below)
    assert heard.get(timeout=5.0).path == fire.path
    assert told.empty()


def test_a_cache_stays_fresh_beside_kazoos_watchers(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """And kazoo's go on when the cache is closed."""
    session.create(zk_path, b"0")
    cache = zkkit.Cache(session, zk_path)
    cache.start()
    seen: list[bytes] = []
    lists: list[list[str]] = []
    session.kazoo.DataWatch(zk_path, lambda data, stat: seen.append(data) or True)
    session.kazoo.ChildrenWatch(zk_path, lambda names: lists.append(names) or True)
    for number in (b"1", b"2"):
        other.set(zk_path, number)
        eventually(lambda number=number: cache.get(zk_path).data == seen[-1] == number)
    other.create(f"{zk_path}/a")
    eventually(lambda: cache.get(f"{zk_path}/a") is not None and lists[-1] == ["a"])
    cache.close()
    session.exists("/")
    other.set(zk_path, b"after")
    other.delete(f"{zk_path}/a")
    eventually(lambda: seen[-1] == b"after" and lists[-1] == [])


@pytest.mark.parametrize(
    ("ask", "left"), [("get", Get), ("exists", Exists), ("get_children", Children)]
)
def test_who_gives_up_leaves_kazoo_its_watch(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, ask: str, left: Any
) -> None:
    """A script that waited on the same node has no use for the watch any more; kazoo has."""
    told: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    ASKS[ask](session.kazoo, zk_path, told.put)
    look_and_leave(session, left(zk_path, watch=True))
    other.delete(zk_path)
    assert told.get(timeout=5.0).type == "DELETED"


@pytest.mark.parametrize("ask", ASKS)
def test_who_listened_leaves_kazoo_its_watch(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, ask: str, watchers: Any,
) -> None:  # fmt: skip
    """A lasting watch stays as long as one of kazoo's relies on it, and no longer."""
    told: queue.Queue[Any] = queue.Queue()
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    listener = session.spawn(listen(Watch(zk_path), heard))
    assert heard.get(timeout=5.0) is None
    ASKS[ask](session.kazoo, zk_path, told.put)
    session.run(Stop(listener))
    session.exists("/")
    assert watchers(zk_path) == 1
    other.delete(zk_path)
    assert told.get(timeout=5.0).type == "DELETED"
    eventually(lambda: watchers(zk_path) == 0)


def test_a_look_of_kazoos_that_fails_leaves_no_watch(
    session: zkkit.Session, zk_path: str, watchers: Any
) -> None:
    """Then the last script removes the server's, as ever."""
    with pytest.raises(NoNodeError):
        session.kazoo.get(zk_path, watch=print)
    session.create(zk_path)
    look_and_leave(session, Get(zk_path, watch=True))
    eventually(lambda: watchers(zk_path) == 0)


def test_kazoo_waits_for_a_node_that_is_not_there(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    told: queue.Queue[Any] = queue.Queue()
    assert session.kazoo.exists(zk_path, watch=told.put) is None
    look_and_leave(session, Exists(zk_path, watch=True))
    other.create(zk_path)
    assert told.get(timeout=5.0).type == "CREATED"


def test_a_broken_connection_ends_kazoos_watches(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str, watchers: Any
) -> None:
    """kazoo forgets its watchers then, and so does the session: nothing is kept for them."""
    told: queue.Queue[Any] = queue.Queue()
    through.create(zk_path)
    through.kazoo.get(zk_path, watch=told.put)
    zk_proxy.drop()
    assert told.get(timeout=5.0).type == "NONE"
    look_and_leave(through, Get(zk_path, watch=True))
    eventually(lambda: watchers(zk_path) == 0)


def test_a_request_of_kazoos_that_is_lost(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str, watchers: Any
) -> None:
    """It has set no watch that anybody waits for."""
    through.create(zk_path)
    zk_proxy.freeze()
    asked = through.kazoo.get_async(zk_path, watch=print)
    zk_proxy.drop()
    zk_proxy.thaw()
    with pytest.raises(ConnectionLoss):
        asked.get(timeout=5.0)
    look_and_leave(through, Get(zk_path, watch=True))
    eventually(lambda: watchers(zk_path) == 0)


def test_kazoo_overtakes_nobody(session: zkkit.Session, zk_path: str, monkeypatch: Any) -> None:
    """Its watch is not asked for where a lasting one stands for it: that must be there before."""
    monkeypatch.setattr(kazoo_transport, "_BACKLOG", 1)
    runner: Any = session._runner  # type: ignore[attr-defined]
    transport: Any = session._transport  # type: ignore[attr-defined]
    with session._runner.batch():  # type: ignore[attr-defined]
        for path in (zk_path, "/"):
            transport.send(Outgoing(runner._wire.encode(Watch(path)), path))
        assert transport._outbox
        session.kazoo._queue.append((GetData("/", print), session.kazoo.handler.async_result()))
        transport._answer_the_bell()
        asked = [each.what for each in transport._standing.link._asked]
    assert [isinstance(what, Outgoing) for what in asked] == [True, True, False]


def test_kazoos_watch_outside_the_namespace(
    open_session: Any, other: zkkit.Session, zk_path: str
) -> None:
    """What happens there is no news of a node that has the same end of its path."""
    inside, outside = f"{zk_path}-in", f"{zk_path}-no"
    session = open_session(namespace=inside)
    session.create("/x")
    other.create(outside)
    other.create(f"{outside}/x")
    told: queue.Queue[Any] = queue.Queue()
    heard: queue.Queue[Any] = queue.Queue()
    session.spawn(listen(Get("/x", watch=True), heard))
    assert heard.get(timeout=5.0) is None
    session.kazoo.get(f"{outside}/x", watch=told.put)
    other.set(f"{outside}/x", b"1")
    assert told.get(timeout=5.0).path == f"{outside}/x"
    session.exists("/")
    assert heard.empty()
    other.set(f"{inside}/x", b"1")
    assert heard.get(timeout=5.0) == Fire(FireKind.CHANGED, "/x")


@pytest.mark.parametrize("namespace", [None, "ns"])
def test_below_a_chroot(
    open_session: Any, other: zkkit.Session, zk_hosts: str, zk_path: str, namespace: str | None
) -> None:
    """Both mean the same node, though they call it differently."""
    other.create(zk_path)
    session = open_session(zk_hosts + zk_path, namespace=namespace)
    root = "" if namespace is None else f"/{namespace}"
    told: queue.Queue[Any] = queue.Queue()
    heard: queue.Queue[Any] = queue.Queue()
    session.create("/x")
    session.spawn(listen(Watch("/", recursive=True), heard))
    assert heard.get(timeout=5.0) is None
    session.kazoo.get_children(root or "/", watch=told.put)
    other.create(f"{zk_path}{root}/y")
    assert heard.get(timeout=5.0) == Fire(FireKind.CREATED, "/y")
    event = told.get(timeout=5.0)
    assert (event.type, event.path) == ("CHILD", root or "/")
    other.create(f"{zk_path}{root}/z")
    assert heard.get(timeout=5.0) == Fire(FireKind.CREATED, "/z")
