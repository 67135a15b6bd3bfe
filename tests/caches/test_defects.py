"""Known defects of kazoo's and Curator's caches (docs/peers.md), which zkkit does not have."""

from __future__ import annotations

import pytest

from tests.caches.kinds import ALL, CACHE, TREE, Told, over
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
