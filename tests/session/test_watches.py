"""Watches: who is woken, by what, and what is left on the servers."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

import zkkit
from tests.support.ensembles import watches
from zkkit.errors import DeadlineExceeded, NoNode
from zkkit.steps import (
    Call,
    Children,
    Create,
    Delete,
    Exists,
    Fire,
    FireKind,
    Get,
    Script,
    Set,
    Step,
    Stop,
    Wait,
    Watch,
)
from zkkit.testing import Proxy, eventually


def look_and_wait(step: Step[Any], ready: threading.Event) -> Script[Fire]:
    """Set a watch, say so, wait for it."""
    yield from step
    yield from Call(ready.set)
    return (yield from Wait())


def listen(step: Step[Any], heard: queue.Queue[Any]) -> Script[None]:
    """Set a watch, say so, and tell every fire."""
    yield from step
    yield from Call(heard.put, "ready")
    while True:
        fire = yield from Wait()
        yield from Call(heard.put, fire)


@pytest.mark.parametrize(
    ("before", "look", "change", "kind"),
    [
        ([Create], Get, lambda s, p: s.set(p, b"x"), FireKind.CHANGED),
        ([Create], Get, lambda s, p: s.delete(p), FireKind.DELETED),
        ([Create], Exists, lambda s, p: s.set(p, b"x"), FireKind.CHANGED),
        ([Create], Exists, lambda s, p: s.delete(p), FireKind.DELETED),
        ([], Exists, lambda s, p: s.create(p), FireKind.CREATED),
        ([Create], Children, lambda s, p: s.create(f"{p}/child"), FireKind.CHILD),
        ([Create], Children, lambda s, p: s.delete(p), FireKind.DELETED),
    ],
)
def test_one_shot_watches(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any,
    before: Any, look: Any, change: Any, kind: FireKind,
) -> None:  # fmt: skip
    """Each look wakes its run on each change it is about, saying which."""
    for make in before:
        session.run(make(zk_path))
    ready = threading.Event()
    fire = beside(session.run, look_and_wait(look(zk_path, watch=True), ready), timeout=10.0)
    assert ready.wait(5.0)
    change(other, zk_path)
    assert fire.result(5.0) == Fire(kind, zk_path)


def test_a_watch_fires_once(session: zkkit.Session, zk_path: str) -> None:
    """One look, one fire: the second change wakes nobody."""

    def script() -> Script[None]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Set(zk_path, b"1")
        yield from Set(zk_path, b"2")
        yield from Wait()
        yield from Wait()

    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.5)


def test_a_fire_before_the_wait_is_kept(session: zkkit.Session, zk_path: str) -> None:
    """Whoever comes late to the Wait finds what has fired meanwhile, in order."""

    def script() -> Script[list[Fire]]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Children(zk_path, watch=True)
        yield from Set(zk_path, b"x")
        yield from Create(f"{zk_path}/child")
        return [(yield from Wait()), (yield from Wait())]

    assert session.run(script(), timeout=5.0) == [
        Fire(FireKind.CHANGED, zk_path),
        Fire(FireKind.CHILD, zk_path),
    ]


def test_a_look_that_fails_leaves_no_watch(
    session: zkkit.Session, zk_path: str, watchers: Any
) -> None:
    """Get of a node that is not there sets no watch, neither here nor there."""

    def script() -> Script[Fire]:
        try:
            yield from Get(zk_path, watch=True)
        except NoNode:
            yield from Create(zk_path)
        return (yield from Wait())

    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.3)
    assert watchers(zk_path) == 0


# --- several runs, one watch on the server ------------------------------------------------


def test_two_runs_are_both_woken(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any, watchers: Any
) -> None:
    """The server has one watch for the session; its fire wakes every run that waits for it."""
    session.create(zk_path)
    ready = [threading.Event(), threading.Event()]
    fires = [
        beside(session.run, look_and_wait(Get(zk_path, watch=True), each), timeout=10.0)
        for each in ready
    ]
    assert all(each.wait(5.0) for each in ready)
    assert watchers(zk_path) == 1
    other.set(zk_path, b"x")
    assert [fire.result(5.0) for fire in fires] == [Fire(FireKind.CHANGED, zk_path)] * 2


def test_the_last_one_leaving_removes_the_watch(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any, watchers: Any,
) -> None:  # fmt: skip
    """One cancelled run leaves the other's watch in place; the last one takes it away."""
    session.create(zk_path)
    ready = [threading.Event() for _ in range(3)]
    spawned = [session.spawn(look_and_wait(Get(zk_path, watch=True), each)) for each in ready[:2]]
    fire = beside(session.run, look_and_wait(Exists(zk_path, watch=True), ready[2]), timeout=10.0)
    assert all(each.wait(5.0) for each in ready)
    session.run(Stop(spawned[0]), timeout=5.0)
    assert watchers(zk_path) == 1
    other.set(zk_path, b"x")
    assert fire.result(5.0) == Fire(FireKind.CHANGED, zk_path)

    again = [threading.Event(), threading.Event()]
    spawned = [session.spawn(look_and_wait(Get(zk_path, watch=True), each)) for each in again]
    assert all(each.wait(5.0) for each in again)
    session.run(Stop(spawned[0]), timeout=5.0)
    assert watchers(zk_path) == 1
    session.run(Stop(spawned[1]), timeout=5.0)
    eventually(lambda: watchers(zk_path) == 0)


def test_servers_count_no_watch_afterwards(
    session: zkkit.Session, zk_path: str, zk_ensemble: Any
) -> None:
    """By `wchs` the servers have as many watches after a cancelled wait as before it."""
    before = watches(zk_ensemble)
    session.create(zk_path)
    ready = threading.Event()
    spawned = session.spawn(look_and_wait(Get(zk_path, watch=True), ready))
    assert ready.wait(5.0)
    assert watches(zk_ensemble) == before + 1
    session.run(Stop(spawned), timeout=5.0)
    eventually(lambda: watches(zk_ensemble) == before)


def test_a_run_that_ends_takes_its_watch_along(
    session: zkkit.Session, zk_path: str, watchers: Any
) -> None:
    """Also without a cancel: a script that looked and did not wait leaves nothing."""
    session.create(zk_path)
    session.run(Get(zk_path, watch=True))
    eventually(lambda: watchers(zk_path) == 0)


def test_a_watch_set_again_while_it_is_removed(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any
) -> None:
    """One run leaves and the next one comes at the same moment: the next one is woken."""
    session.create(zk_path)
    for number in range(20):
        session.background(Get(zk_path, watch=True), lambda outcome: None)
        ready = threading.Event()
        fire = beside(session.run, look_and_wait(Get(zk_path, watch=True), ready), timeout=5.0)
        assert ready.wait(5.0)
        other.set(zk_path, str(number).encode())
        assert fire.result(5.0).kind is FireKind.CHANGED


# --- lasting watches --------------------------------------------------------------------------


def test_persistent_watch_fires_again_and_again(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """It tells of the node and of its list of children, and of nothing below."""
    heard: queue.Queue[Any] = queue.Queue()
    session.spawn(listen(Watch(zk_path), heard))
    assert heard.get(timeout=5.0) == "ready"
    other.create(zk_path)
    other.set(zk_path, b"1")
    other.set(zk_path, b"2")
    other.create(f"{zk_path}/child")
    other.set(f"{zk_path}/child", b"x")
    other.delete(f"{zk_path}/child")
    other.delete(zk_path)
    kinds = ["created", "changed", "changed", "child", "child", "deleted"]
    assert [heard.get(timeout=5.0) for _ in kinds] == [Fire(FireKind(k), zk_path) for k in kinds]
    assert heard.empty()


def test_recursive_watch_tells_of_everything_below(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """Each node below is named itself; of lists of children nothing is told."""
    heard: queue.Queue[Any] = queue.Queue()
    session.spawn(listen(Watch(zk_path, recursive=True), heard))
    assert heard.get(timeout=5.0) == "ready"
    other.create(zk_path)
    other.create(f"{zk_path}/a")
    other.create(f"{zk_path}/a/b")
    other.set(f"{zk_path}/a/b", b"x")
    other.delete(f"{zk_path}/a/b")
    other.create(f"{zk_path}-beside")
    other.set(zk_path, b"last")
    assert [heard.get(timeout=5.0) for _ in range(6)] == [
        Fire(FireKind.CREATED, zk_path),
        Fire(FireKind.CREATED, f"{zk_path}/a"),
        Fire(FireKind.CREATED, f"{zk_path}/a/b"),
        Fire(FireKind.CHANGED, f"{zk_path}/a/b"),
        Fire(FireKind.DELETED, f"{zk_path}/a/b"),
        Fire(FireKind.CHANGED, zk_path),
    ]


@pytest.mark.parametrize("recursive", [False, True])
def test_lasting_watch_survives_a_reconnect(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str, recursive: bool
) -> None:
    """After a broken connection it is set again, and a NONE fire says that news were missed."""
    heard: queue.Queue[Any] = queue.Queue()
    through.create(zk_path)
    through.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    for _ in range(2):
        zk_proxy.drop()
        assert heard.get(timeout=5.0) == Fire(FireKind.NONE, zk_path)
        through.exists("/")  # whatever is read from now on is read with the watch in place
        other.set(zk_path, b"x")
        assert heard.get(timeout=5.0) == Fire(FireKind.CHANGED, zk_path)


def test_lasting_watch_ends_with_its_run(
    session: zkkit.Session, zk_path: str, watchers: Any
) -> None:
    """When the run is over, the server has no watch any more."""
    heard: queue.Queue[Any] = queue.Queue()
    spawned = session.spawn(listen(Watch(zk_path), heard))
    assert heard.get(timeout=5.0) == "ready"
    assert watchers(zk_path) == 1
    session.run(Stop(spawned), timeout=5.0)
    eventually(lambda: watchers(zk_path) == 0)


def test_one_shot_watch_is_woken_by_a_drop(
    through: zkkit.Session, zk_proxy: Proxy, zk_path: str, beside: Any
) -> None:
    """The connection broke, so the watch is gone: look again."""
    through.create(zk_path)
    ready = threading.Event()
    fire = beside(through.run, look_and_wait(Get(zk_path, watch=True), ready), timeout=10.0)
    assert ready.wait(5.0)
    zk_proxy.drop()
    assert fire.result(5.0) == Fire(FireKind.NONE, zk_path)


# --- several kinds on one node (the server mixes them up: ZOOKEEPER-4466, before 3.9) ----------


@pytest.mark.parametrize("recursive", [False, True])
def test_lasting_watch_bears_a_one_shot_one_beside_it(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, recursive: bool
) -> None:
    """A run that looks once does not use up the watch of another that listens for good."""
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    session.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    session.spawn(look_and_wait(Get(zk_path, watch=True), ready))
    assert ready.wait(5.0)
    for number in range(3):
        other.set(zk_path, str(number).encode())
        assert heard.get(timeout=3.0) == Fire(FireKind.CHANGED, zk_path)


def test_lasting_watch_bears_the_removal_of_a_one_shot_one(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """A cancelled wait takes its own watch away, not that of the run that listens."""
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    session.spawn(listen(Watch(zk_path), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    spawned = session.spawn(look_and_wait(Get(zk_path, watch=True), ready))
    assert ready.wait(5.0)
    session.run(Stop(spawned), timeout=5.0)
    session.run(Exists(zk_path))
    other.set(zk_path, b"x")
    assert heard.get(timeout=3.0) == Fire(FireKind.CHANGED, zk_path)


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("look", [Get, Exists, Children])
def test_one_shot_watch_bears_the_removal_of_a_lasting_one(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any, look: Any,
    recursive: bool,
) -> None:  # fmt: skip
    """When the listening run ends, the one that waits on the same node is still woken."""
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    listener = session.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    fire = beside(session.run, look_and_wait(look(zk_path, watch=True), ready), timeout=3.0)
    assert ready.wait(5.0)
    session.run(Stop(listener), timeout=5.0)
    session.run(Exists(zk_path))
    other.delete(zk_path)
    assert fire.result(5.0).kind in (FireKind.DELETED, FireKind.NONE)


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("first", ["look", "listen"])
def test_look_at_children_beside_a_lasting_watch(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any, recursive: bool,
    first: str,
) -> None:  # fmt: skip
    """Who waits for a change of the children is woken, although a recursive watch on the same
    node hears of the children themselves only."""
    session.create(zk_path)
    heard: queue.Queue[Any] = queue.Queue()
    ready = threading.Event()
    fires = []

    def look() -> None:
        script = look_and_wait(Children(zk_path, watch=True), ready)
        fires.append(beside(session.run, script, timeout=3.0))
        assert ready.wait(5.0)

    if first == "look":
        look()
    session.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    if first == "listen":
        look()
    session.exists("/")
    other.create(f"{zk_path}/child")
    assert fires[0].result(5.0).path == zk_path
    assert heard.get(timeout=3.0).path in (zk_path, f"{zk_path}/child")


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("last", ["looker", "listener", "fire"])
def test_nothing_is_left_of_mixed_watches(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, watchers: Any,
    recursive: bool, last: str,
) -> None:  # fmt: skip
    """In whatever order the runs leave, or are woken, the server has no watch in the end."""
    session.create(zk_path)
    heard: queue.Queue[Any] = queue.Queue()
    listener = session.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    looker = session.spawn(look_and_wait(Get(zk_path, watch=True), ready))
    assert ready.wait(5.0)
    leaving = [looker, listener] if last == "listener" else [listener, looker]
    session.run(Stop(leaving[0]), timeout=5.0)
    if last == "fire":
        other.set(zk_path, b"x")
    else:
        session.run(Stop(leaving[1]), timeout=5.0)
    eventually(lambda: watchers(zk_path) == 0, 3.0)


def test_both_lasting_kinds_on_one_node(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """One run listens to the node, another to all below it: each hears what is its own."""
    one: queue.Queue[Any] = queue.Queue()
    all_: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    session.spawn(listen(Watch(zk_path, recursive=True), all_))
    assert all_.get(timeout=5.0) == "ready"
    session.spawn(listen(Watch(zk_path), one))
    assert one.get(timeout=5.0) == "ready"
    other.create(f"{zk_path}/a")
    other.create(f"{zk_path}/a/b")
    assert one.get(timeout=3.0) == Fire(FireKind.CHILD, zk_path)
    assert all_.get(timeout=3.0) == Fire(FireKind.CREATED, f"{zk_path}/a")
    assert all_.get(timeout=3.0) == Fire(FireKind.CREATED, f"{zk_path}/a/b")


@pytest.mark.parametrize(
    ("recursive", "beside_it", "asks", "changes"),
    [
        (True, Watch, "add_watch", [(Create, "/a", FireKind.CREATED)]),
        (True, Get, "get", [(Set, "", FireKind.CHANGED)] * 2),
        (False, Get, "get", [(Set, "", FireKind.CHANGED)] * 2),
        (True, Children, "children", [(Create, f"/{n}", FireKind.CREATED) for n in "ab"]),
        (False, Children, "children", [(Create, f"/{n}", FireKind.CHILD) for n in "ab"]),
    ],
)
def test_a_lasting_watch_misses_nothing(
    through: zkkit.Session, other: zkkit.Session, zk_proxy: Proxy, zk_path: str,
    recursive: bool, beside_it: Any, asks: str, changes: Any,
) -> None:  # fmt: skip
    """What happens while another run sets a watch on the same node, but has no answer yet."""
    heard: queue.Queue[Any] = queue.Queue()
    other.create(zk_path)
    through.spawn(listen(Watch(zk_path, recursive), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    before = zk_proxy.requests[asks]
    zk_proxy.freeze(replies_only=True)
    step = Watch(zk_path) if beside_it is Watch else beside_it(zk_path, watch=True)
    through.spawn(look_and_wait(step, ready))
    eventually(lambda: zk_proxy.requests[asks] > before, 5.0)
    for change, below, _ in changes:
        other.run(change(zk_path + below, b"x"))
    zk_proxy.thaw()
    for _, below, kind in changes:
        path = zk_path if kind is FireKind.CHILD else zk_path + below
        assert heard.get(timeout=5.0) == Fire(kind, path)


def test_who_relied_on_a_lasting_watch_is_woken_after_it_was_left(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any, watchers: Any,
) -> None:  # fmt: skip
    """A recursive watch stood in for one on the children; who set it has left."""
    heard: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    listener = session.spawn(listen(Watch(zk_path, recursive=True), heard))
    assert heard.get(timeout=5.0) == "ready"
    ready = threading.Event()
    script = look_and_wait(Children(zk_path, watch=True), ready)
    fire = beside(session.run, script, timeout=5.0)
    assert ready.wait(5.0)
    session.run(Stop(listener), timeout=5.0)
    session.exists("/")
    other.create(f"{zk_path}/child")
    assert fire.result(5.0) == Fire(FireKind.CHILD, zk_path)
    eventually(lambda: watchers(zk_path) == 0, 3.0)


def test_data_and_children_watches_are_removed_apart(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any
) -> None:
    """A run that leaves its data watch does not take another's child watch along."""
    session.create(zk_path)
    ready = [threading.Event(), threading.Event()]
    spawned = session.spawn(look_and_wait(Get(zk_path, watch=True), ready[0]))
    fire = beside(session.run, look_and_wait(Children(zk_path, watch=True), ready[1]), timeout=5.0)
    assert all(each.wait(5.0) for each in ready)
    session.run(Stop(spawned), timeout=5.0)
    other.create(f"{zk_path}/child")
    assert fire.result(5.0) == Fire(FireKind.CHILD, zk_path)


def test_one_run_with_two_watches_is_woken_once_by_a_delete(
    session: zkkit.Session, zk_path: str
) -> None:
    """The server tells a session once that a node is gone, whatever it watched there."""

    def script() -> Script[list[Fire]]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Children(zk_path, watch=True)
        yield from Delete(zk_path)
        fires = [(yield from Wait())]
        yield from Create(zk_path)
        yield from Exists(zk_path, watch=True)
        yield from Set(zk_path, b"x")
        fires.append((yield from Wait()))
        return fires

    assert session.run(script(), timeout=5.0) == [
        Fire(FireKind.DELETED, zk_path),
        Fire(FireKind.CHANGED, zk_path),
    ]
