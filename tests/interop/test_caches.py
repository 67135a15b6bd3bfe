"""Caches: each sees what the other side writes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.interop.sides import PATIENCE
from zkkit.bench.peers.curator import PeerFailed
from zkkit.errors import NoNode
from zkkit.testing import eventually

pytestmark = pytest.mark.interop

KINDS = ("cache", "children_cache")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def started(actor: Any, kind: str, path: str) -> Any:
    """A cache that has everything."""
    cache = getattr(actor, kind)(path)
    cache.start()
    assert cache.heard.wait(1, PATIENCE, "initialized"), "it never said that it has everything"
    return cache


def ends_as(cache: Any, content: dict[str, bytes]) -> None:
    """It comes to have this content, and its events sum to it."""
    eventually(lambda: cache.content() == content, otherwise=cache.content)
    eventually(lambda: sum_of(cache.told()) == content, otherwise=cache.told)


def sum_of(told: list[tuple[str, str, bytes]]) -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    for event, path, data in told:
        if event == "deleted":
            del content[path]
        else:
            assert (event == "changed") == (path in content), (event, path)
            content[path] = data
    return content


@pytest.mark.concurrent
def test_a_cache_sees_what_the_other_side_writes(order, zk_path, kind):
    """What is there already, then what is created, changed and deleted, with its data."""
    writer, reader = order(), order()
    writer.create(zk_path)
    writer.create(f"{zk_path}/old", b"1")
    root = {zk_path: b""} if kind == "cache" else {}
    eventually(lambda: has(reader, f"{zk_path}/old"))
    cache = started(reader, kind, zk_path)
    ends_as(cache, {**root, f"{zk_path}/old": b"1"})
    writer.create(f"{zk_path}/new", b"\x00\xff")
    writer.set(f"{zk_path}/old", b"2")
    ends_as(cache, {**root, f"{zk_path}/old": b"2", f"{zk_path}/new": b"\x00\xff"})
    writer.delete(f"{zk_path}/old")
    ends_as(cache, {**root, f"{zk_path}/new": b"\x00\xff"})
    assert Counter(event for event, path, _ in cache.told() if path != zk_path) == {
        "created": 2, "changed": 1, "deleted": 1
    }  # fmt: skip


@pytest.mark.concurrent
def test_caches_of_both_end_with_the_same(python, java, zk_path, kind):
    """Both write, both follow: both end with what the servers have, and with the sum of their
    events."""
    ours, theirs = python(), java()
    ours.create(zk_path)
    caches = [started(actor, kind, zk_path) for actor in (ours, theirs)]
    content = {zk_path: b""} if kind == "cache" else {}
    for number in range(12):
        writer, other = (ours, theirs) if number % 2 else (theirs, ours)
        node = f"{zk_path}/{number}"
        writer.create(node, b"new")
        content[node] = b"new"
        eventually(lambda of=other, path=node: has(of, path))
        if number % 3:
            other.set(node, f"set {number}".encode())
            content[node] = f"set {number}".encode()
        if number % 4 == 0:
            other.delete(node)
            del content[node]
    for cache in caches:
        ends_as(cache, content)


def has(actor: Any, path: str) -> bool:
    """Whether the actor's server has the node."""
    try:
        actor.data(path)
    except (NoNode, PeerFailed):
        return False
    return True


def test_a_deep_tree_is_seen_by_both(python, java, zk_path):
    """Levels that one side makes in a cache of the other's, and the going of all of them."""
    ours, theirs = python(), java()
    ours.create(zk_path)
    caches = [started(actor, "cache", zk_path) for actor in (ours, theirs)]
    theirs.create(f"{zk_path}/a/b/c", b"deep")
    nodes = {zk_path: b"", f"{zk_path}/a": b"", f"{zk_path}/a/b": b"", f"{zk_path}/a/b/c": b"deep"}
    for cache in caches:
        eventually(lambda one=cache: set(one.content()) == set(nodes), otherwise=cache.content)
        assert cache.content()[f"{zk_path}/a/b/c"] == b"deep"
    for path in sorted(nodes, reverse=True)[:-1]:
        eventually(lambda path=path: has(ours, path))
        ours.delete(path)
    for cache in caches:
        ends_as(cache, {zk_path: b""})
