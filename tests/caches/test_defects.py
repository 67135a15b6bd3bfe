"""Known defects of kazoo's and Curator's caches (docs/peers.md), which zkkit does not have."""

from __future__ import annotations

import threading

import pytest

from tests.caches.kinds import ALL, CACHE, KAZOO, TREE, Told, kazoo_breaks, over
from zkkit import NodeCache
from zkkit.testing import eventually

pytestmark = pytest.mark.front("threads")


@pytest.mark.concurrent
@pytest.mark.defect("K-21")
@over(CACHE, TREE)
def test_dead_nodes_stay_dead(kind, open_session, started, witness, zk_path, agrees):
    """Changed and deleted at once, again and again: whatever was asked before answers late, no node
    comes back, and every event follows from the one before."""
    told = Told(kind.make(open_session(), zk_path))
    cache = started(told.cache)
    witness.ensure_path(zk_path)
    for number in range(40):
        path = f"{zk_path}/{number % 4}"
        sent = [
            witness.create_async(path, b""),
            witness.set_async(path, b"1"),
            witness.set_async(path, b"2"),
            witness.delete_async(path),
        ]
        for each in sent:
            each.get()
    agrees(kind, cache)
    eventually(told.adds_up)
    assert [node.path for node in cache] == [zk_path]


@pytest.mark.concurrent
@pytest.mark.defect("K-21")
@over(CACHE, TREE, kazoo_breaks("K-21 (#645): what was read before a node went brings it back"))
def test_a_slow_listener_brings_no_node_back(
    kind, open_session, started, witness, zk_proxy, zk_path
):
    """Nodes change and are read, and go before anybody was told: in the end they are gone."""
    paths = [f"{zk_path}/{number}" for number in range(5)]
    for path in paths:
        witness.create(path, b"", makepath=True)
    there: set[str] = set()
    busy, go_on = threading.Event(), threading.Event()

    def hear(event):
        if event.node is None:
            return
        (there.discard if event.new is None else there.add)(event.path)
        if event.node.data == b"wait":
            busy.set()
            go_on.wait(10)

    cache = kind.make(open_session(zk_proxy.hosts), zk_path)
    cache.add_listener(hear)
    started(cache)
    eventually(lambda: there == {zk_path, *paths})
    witness.set(zk_path, b"wait")
    assert busy.wait(10)
    for path in paths:
        before = zk_proxy.requests["get"]
        witness.set(path, b"1")
        if kind is KAZOO:  # ours reads no further while somebody is being told
            eventually(lambda: zk_proxy.requests["get"] > before)  # noqa: B023
    for path in paths:
        witness.delete(path)
    witness.create(f"{zk_path}/last", b"")
    go_on.set()
    eventually(lambda: f"{zk_path}/last" in there)
    assert there == {zk_path, f"{zk_path}/last"}


@pytest.mark.defect("C-16")
def test_deleted_parents_stay_deleted(open_session, started, witness, zk_path):
    """A NodeCache makes nothing, neither when it starts nor when a parent was deleted."""
    path = f"{zk_path}/parent/node"
    told = Told(NodeCache(open_session(), path))
    cache = started(told.cache)
    for _ in range(2):
        witness.create(path, b"", makepath=True)
        eventually(lambda: path in cache)
        witness.delete(zk_path, recursive=True)
        eventually(lambda: path not in cache)
    assert witness.exists(zk_path) is None
    eventually(told.adds_up)


@pytest.mark.defect("C-17")
@over(*ALL)
def test_iterating_when_the_last_child_is_gone(kind, open_session, started, witness, zk_path):
    """A loop over the content, or over the children, ends."""
    witness.create(f"{zk_path}/a/only", b"", makepath=True)
    cache = started(kind.make(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    witness.delete(f"{zk_path}/a/only")
    witness.set(zk_path, b"now")
    witness.set(f"{zk_path}/a", b"now")
    eventually(lambda: {node.data for node in cache} == {b"now"})
    assert not cache.children(f"{zk_path}/a")
    for node in cache:
        list(cache.children(node.path))
