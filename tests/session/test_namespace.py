"""Namespaces and chroots: paths below a root that nobody else needs to know."""

from __future__ import annotations

from typing import Any

import pytest

import zkkit
from zkkit.errors import InvalidPath, MultiFailed, NodeExists, NoNode
from zkkit.steps import Create, Fire, FireKind, Get, Mode, Script, Set, Wait, Watch


@pytest.fixture(params=["namespace", "namespace with slash", "deep", "chroot", "both"])
def rooted(request: Any, open_session: Any, zk_hosts: str, zk_path: str) -> tuple[Any, str]:
    """A session that lives below a root, and the root."""
    kind = request.param
    if kind == "namespace":
        return open_session(namespace=zk_path[1:]), zk_path
    if kind == "namespace with slash":
        return open_session(namespace=f"{zk_path}/"), zk_path
    if kind == "deep":
        return open_session(namespace=f"{zk_path}/a/b"), f"{zk_path}/a/b"
    open_session().create(zk_path)
    if kind == "chroot":
        return open_session(zk_hosts + zk_path), zk_path
    return open_session(zk_hosts + zk_path, namespace="ns"), f"{zk_path}/ns"


def test_nodes_are_really_below(rooted: tuple[zkkit.Session, str], other: zkkit.Session) -> None:
    """The session sees short paths; everybody else sees where the node really is."""
    session, root = rooted
    node = session.create("/n-", b"x", mode=Mode.EPHEMERAL_SEQUENTIAL)
    assert node.path == "/n-0000000000"
    assert session.get(node.path).data == b"x"
    assert session.children("/") == ("n-0000000000",)
    assert other.get(f"{root}/n-0000000000").stat == node.stat


def test_root_is_the_root(rooted: tuple[zkkit.Session, str], other: zkkit.Session) -> None:
    """The node at / is the namespace's own."""
    session, root = rooted
    session.set("/", b"top")
    assert other.get(root).data == b"top"
    assert session.exists("/") == other.exists(root)


def test_errors_speak_the_sessions_paths(rooted: tuple[zkkit.Session, str]) -> None:
    """Nobody is told of a root that he did not write."""
    session, _ = rooted
    with pytest.raises(NoNode) as caught:
        session.get("/none")
    assert caught.value == NoNode("/none")
    session.create("/a")
    with pytest.raises(NodeExists) as exists:
        session.create("/a")
    assert exists.value.path == "/a"
    with pytest.raises(MultiFailed) as failed:
        session.multi(Set("/a", b""), Create("/a"))
    assert failed.value.error == NodeExists("/a")


def test_multi_results_are_stripped(rooted: tuple[zkkit.Session, str]) -> None:
    """Paths in a multi's results are the session's, too."""
    session, _ = rooted
    assert session.multi(Create("/a"), Create("/a/b")) == ("/a", "/a/b")


def test_fires_are_stripped(rooted: tuple[zkkit.Session, str], other: zkkit.Session) -> None:
    """A fire names the node as the session does, for both sorts of watches."""
    session, root = rooted
    session.create("/a")

    def look() -> Script[tuple[Fire, Fire]]:
        yield from Get("/a", watch=True)
        yield from Watch("/", recursive=True)
        yield from Set("/a", b"x")
        first = yield from Wait()
        yield from Create("/b")
        return first, (yield from Wait())

    first, second = session.run(look(), timeout=5.0)
    assert first == Fire(FireKind.CHANGED, "/a")
    assert second == Fire(FireKind.CREATED, "/b")
    assert other.exists(f"{root}/b") is not None


def test_recipes_live_there(rooted: tuple[zkkit.Session, str], other: zkkit.Session) -> None:
    """A lock in a namespace contends below it."""
    session, root = rooted
    with zkkit.ReentrantLock(session, "/lock") as hold:
        assert hold.path.startswith("/lock/_c_")
        assert other.exists(root + hold.path) is not None
        assert hold.check()


def test_namespace_that_is_there(open_session: Any, zk_path: str) -> None:
    """Two sessions share one namespace."""
    one = open_session(namespace=zk_path)
    one.create("/a", b"x")
    assert open_session(namespace=zk_path).get("/a").data == b"x"


def test_namespace_stays(open_session: Any, other: zkkit.Session, zk_path: str) -> None:
    """Its root is a plain node: nobody would make a reaped one again."""
    open_session(namespace=f"{zk_path}/a")
    for path in (zk_path, f"{zk_path}/a"):
        stat = other.exists(path)
        assert stat is not None
        assert stat.ephemeral_owner == 0  # a container would show its mark here


@pytest.mark.parametrize("namespace", ["", "/"])
def test_no_namespace(open_session: Any, zk_hosts: str, zk_path: str, namespace: str) -> None:
    """An empty namespace is none, also below a chroot."""
    open_session(namespace=namespace).create(zk_path)
    below = open_session(zk_hosts + zk_path, namespace=namespace)
    assert below.create("/a").path == "/a"
    assert below.children("/") == ("a",)


@pytest.mark.parametrize("namespace", ["a//b", "a/../b", "a\nb"])
def test_invalid_namespace(zk_hosts: str, namespace: str) -> None:
    """A namespace is a path, and checked as one."""
    with pytest.raises(InvalidPath):
        zkkit.connect(zk_hosts, namespace=namespace)
