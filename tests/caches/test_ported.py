"""What Curator's and kazoo's own tests of their caches ask for, on real servers.

What every cache must do is in test_contract.py: there are the basics of all of them, a lost
session, two caches, a node that is deleted and created again.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import random
from typing import Any

import pytest
from kazoo.security import OPEN_ACL_UNSAFE

from tests.caches.kinds import ALL, CACHE, CHILDREN, NODE, TREE, Told, content, over, tree
from zkkit import Cache, CacheListener, ChildrenCache, NodeCache, TreeCache
from zkkit.errors import NotStarted, Unimplemented
from zkkit.recipes.caches.content import Memory
from zkkit.steps import Children, Get, Stat
from zkkit.testing import eventually, throughout

pytestmark = pytest.mark.front("threads")  # what differs between fronts is in the contract


# --- Cache ------------------------------------------------------------------------------------


def test_listeners_for_some_events(open_session, started, witness, zk_path):
    """(testListenerBuilder, testAfterInitialized)"""
    witness.create(zk_path, b"0")
    cache = Cache(open_session(), zk_path)
    heard: list[Any] = []
    late: list[Any] = []
    cache.add_listener(
        CacheListener(
            created=lambda new: heard.append(("created", new.data)),
            changed=lambda old, new: heard.append(("changed", old.data, new.data)),
            deleted=lambda old: heard.append(("deleted", old.data)),
            initialized=lambda: heard.append("initialized"),
        )
    )
    cache.add_listener(CacheListener(created=late.append, after_initialized=True))
    cache.add_listener(CacheListener())
    started(cache)
    eventually(lambda: heard == [("created", b"0"), "initialized"])
    witness.set(zk_path, b"1")
    eventually(lambda: heard[2:] == [("changed", b"0", b"1")])
    witness.delete(zk_path)
    eventually(lambda: heard[3:] == [("deleted", b"1")])
    assert not late
    witness.create(zk_path, b"2")
    eventually(lambda: [node.data for node in late] == [b"2"])


def test_a_storage_of_ones_own(front, open_session, witness, zk_path, agrees):
    """It is kept when the cache is closed. The next one knows what is in it, and tells only what
    has changed meanwhile (testReconnectConsistency)."""
    for name in ("same", "changes", "goes", "anew"):
        witness.create(f"{zk_path}/{name}", b"1", makepath=True)
    storage = Memory()
    first = Cache(open_session(), zk_path, storage=storage, clear_on_close=False)
    front.call(lambda: first.start())
    agrees(CACHE, first)
    front.call(lambda: first.close())
    witness.set(f"{zk_path}/changes", b"2")
    witness.delete(f"{zk_path}/goes")
    witness.delete(f"{zk_path}/anew")
    witness.create(f"{zk_path}/anew", b"1")
    witness.create(f"{zk_path}/comes", b"1")
    second = Cache(open_session(), zk_path, storage=storage, clear_on_close=False)
    assert content(second) == content(first)
    heard: list[Any] = []
    second.add_listener(lambda event: heard.append((event.kind.value, event.path[-5:])))
    front.call(lambda: second.start())
    eventually(lambda: second.initialized)
    agrees(CACHE, second)
    front.call(lambda: second.close())
    assert sorted(heard) == [
        ("changed", "anges"), ("created", "/anew"), ("created", "comes"), ("deleted", "/anew"),
        ("deleted", "/goes"), ("initialized", zk_path[-5:]),
    ]  # fmt: skip
    assert len(storage) == 5


@pytest.mark.parametrize("kind", [CACHE, TREE, CHILDREN, NODE], ids=str)
def test_compressed(kind, open_session, started, witness, zk_path, caplog):
    """gzip, as Curator writes it; what is not compressed is there without data, and logged."""
    path = zk_path if kind is NODE else f"{zk_path}/x"
    witness.create(path, gzip.compress(b"much " * 100), makepath=True)
    cache = kind.make(open_session(), zk_path, compressed=True)
    with caplog.at_level(logging.WARNING, "zkkit.recipes"):
        started(cache)
        eventually(lambda: path in cache and cache.get(path).data == b"much " * 100)
        witness.set(path, b"plain")
        eventually(lambda: cache.get(path).data is None)
        eventually(lambda: f"the data of {path} are not compressed" in caplog.text)


def test_without_persistent_watches(zk_connect, zk_path):
    """The servers do not know them: it watches each node (testImplementationSelection)."""
    cache = Cache(zk_connect(), zk_path)
    script = cache._live()
    script.send(None)
    step = script.send((None, Unimplemented(zk_path)))
    assert step.requests == (Get(zk_path, watch=True), Children(zk_path, watch=True))


class WithoutPersistentWatches(Cache):
    """As it is on servers that do not know them."""

    def _live(self) -> Any:
        return self._follow_each()


@pytest.mark.parametrize("single", [False, True])
def test_following_each(single, open_session, started, witness, zk_path):
    """It shows the same."""
    told = Told(WithoutPersistentWatches(open_session(), zk_path, single=single))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    witness.create(f"{zk_path}/a/b", b"1", makepath=True)
    witness.set(zk_path, b"1")
    there = tree(witness, zk_path)
    part = {zk_path: there[zk_path]} if single else there
    eventually(lambda: content(cache) == part)
    eventually(told.adds_up)


@pytest.mark.slow
def test_more_than_64k_nodes(open_session, started, zk_path):
    """(testGreaterThan64kZNodes, CURATOR-690)"""
    from tests.caches.test_costs import grown

    session = open_session(timeout=30.0)
    size = grown(session, zk_path, 300, 220)
    cache = started(Cache(session, zk_path))
    eventually(lambda: cache.initialized, 60)
    assert len(cache) == size > 2**16


# --- NodeCache ---------------------------------------------------------------------------------


def test_told_only_if_the_data_differ(open_session, started, witness, zk_path):
    """Writing the same again is no news, though the stat follows."""
    witness.create(zk_path, b"1")
    told = Told(NodeCache(open_session(), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    witness.set(zk_path, b"1")
    eventually(lambda: cache.get().stat.version == 1)
    eventually(lambda: told.changes == [("created", "")])
    witness.set(zk_path, b"2")
    eventually(lambda: told.changes[1:] == [("changed", "")])


def test_what_was_not_told(open_session, started, witness, zk_path):
    """Of a NodeCache events add up by the data: the next one follows from the node as it is in the
    cache, whose version nobody was told."""
    witness.create(zk_path, b"1")
    told = Told(NodeCache(open_session(), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    witness.set(zk_path, b"1")
    eventually(lambda: cache.get().stat.version == 1)
    witness.set(zk_path, b"2")
    eventually(lambda: len(told.events) == 3)
    created, _, changed = told.events
    assert (created.new.stat.version, changed.old.stat.version) == (0, 1)
    assert created.new.data == changed.old.data and cache.get() == changed.new


@over(*ALL)
def test_the_stat_follows(kind, open_session, started, witness, zk_proxy, zk_path):
    """What children and ACLs leave in a node's stat is there after its next read, and no event
    tells of it."""
    path = f"{zk_path}/x" if kind is CHILDREN else zk_path
    witness.create(path, b"", makepath=True)
    told = Told(kind.make(open_session(zk_proxy.hosts, timeout=20.0), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    for again in (
        lambda: witness.create(f"{path}/below", b""),
        lambda: witness.set_acls(path, OPEN_ACL_UNSAFE),
        lambda: witness.delete(f"{path}/below"),
    ):
        again()
        zk_proxy.drop()  # so it reads everything again
        eventually(lambda: cache.get(path).stat == Stat(*witness.get(path)[1]))
    assert eventually(
        lambda: {name for name, below in told.changes if below == path.removeprefix(zk_path)}
    ) == {"created"}
    if kind in (NODE, CHILDREN):
        witness.create(f"{path}/below", b"")
        cache.rebuild()
        assert cache.get(path).stat.children == 1
    if kind is CHILDREN:
        witness.create(f"{path}/more", b"")
        cache.refresh(forced=True)
        assert cache.get(path).stat.children == 2


@over(NODE, CHILDREN)
def test_built_before_it_starts(kind, front, open_session, started, witness, zk_path):
    """Everything is there when `start` returns, and nobody is told of it; of what comes, they are.
    (testRebuildAgainstOtherProcesses, testModes)"""
    path = zk_path if kind is NODE else f"{zk_path}/x"
    witness.create(path, b"1", makepath=True)
    if kind is NODE:
        cache: Any = NodeCache(open_session(), zk_path, build_initial=True)
    else:
        cache = ChildrenCache(open_session(), zk_path, start_mode="build_initial")
    told: list[Any] = []
    cache.add_listener(lambda event: told.append((event.kind.value, event.path)))
    started(cache)
    assert cache.get(path).data == b"1"
    witness.set(path, b"2")
    eventually(lambda: ("changed", path) in told)
    assert ("created", path) not in told


@over(NODE, CHILDREN)
def test_rebuilt(kind, front, open_session, started, witness, zk_path):
    """It shows at once what others wrote before. It must be started."""
    path = zk_path if kind is NODE else f"{zk_path}/x"
    witness.create(path, b"0", makepath=True)
    cache = kind.make(open_session(), zk_path)
    with pytest.raises(NotStarted, match="not started yet"):
        cache.rebuild()
    started(cache)
    eventually(lambda: cache.initialized)
    for number in range(1, 20):
        witness.set(path, b"%d" % number)
        cache.rebuild()
        assert cache.get(path).data == b"%d" % number
    cache.close()
    with pytest.raises(NotStarted, match="closed"):
        cache.rebuild()
    assert len(cache) == 0


# --- ChildrenCache -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["normal", "post_initialized"])
@pytest.mark.parametrize("count", [0, 3])
def test_start_modes(mode, count, open_session, started, witness, zk_path):
    """The children that are there are told as created; and in one mode that these were all.
    (testPostInitializedForEmpty, testChildrenInitialized, -Normal)"""
    witness.ensure_path(zk_path)
    for number in range(count):
        witness.create(f"{zk_path}/{number}", b"")
    told = Told(ChildrenCache(open_session(), zk_path, start_mode=mode))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    expected = [("created", f"/{number}") for number in range(count)]
    expected += [("initialized", "")] * (mode == "post_initialized")
    eventually(lambda: told.short == expected)


def test_the_start_mode_must_be_one(open_session, zk_path):
    with pytest.raises(ValueError, match="no start mode 'eager': use one of normal, build_initial"):
        ChildrenCache(open_session(), zk_path, start_mode="eager")
    with pytest.raises(ValueError, match="max_depth must be a whole number from 0"):
        TreeCache(open_session(), zk_path, max_depth=-1)
    with pytest.raises(ValueError, match="single must be True or False"):
        Cache(open_session(), zk_path, single=1)


@over(CHILDREN, TREE)
def test_without_data(kind, open_session, started, witness, zk_path):
    """Nodes have none, but that they change is told (testUpdateWhenNotCachingData)."""
    witness.create(f"{zk_path}/x", b"1", makepath=True)
    told = Told(kind.make(open_session(), zk_path, data=False))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    witness.set(f"{zk_path}/x", b"2")
    eventually(lambda: ("changed", "/x") in told.changes)
    assert cache.get(f"{zk_path}/x").data is None and cache.get(f"{zk_path}/x").stat.version == 1


def test_cleared_and_refreshed(open_session, started, witness, zk_path):
    """Cleared without a word; by a refresh all are told as created. Without clearing, a refresh
    tells only what is new."""
    for name in ("a", "b"):
        witness.create(f"{zk_path}/{name}", b"1", makepath=True)
    cache = ChildrenCache(open_session(), zk_path)
    told: list[Any] = []
    cache.add_listener(lambda event: told.append((event.kind.value, event.path[-2:])))
    started(cache)
    eventually(lambda: len(cache) == 2 and len(told) == 2)
    for forced in (False, True):
        cache.refresh(forced=forced)
        assert len(told) == 2
    cache.clear()
    assert len(cache) == 0 and len(told) == 2
    cache.refresh()
    assert len(cache) == 2
    eventually(lambda: told[2:] == [("created", "/a"), ("created", "/b")])
    cache.clear_and_refresh()
    assert len(cache) == 2
    eventually(lambda: told[4:] == [("created", "/a"), ("created", "/b")])
    witness.set(f"{zk_path}/a", b"2")  # and it follows as before
    eventually(lambda: told[6:] == [("changed", "/a")])
    witness.create(f"{zk_path}/c", b"")
    eventually(lambda: told[7:] == [("created", "/c")])
    witness.set(f"{zk_path}/c", b"2")
    eventually(lambda: told[8:] == [("changed", "/c")])


def test_one_node_rebuilt(open_session, started, witness, zk_path):
    """(testRebuildNode)"""
    witness.create(f"{zk_path}/x", b"0", makepath=True)
    cache = started(ChildrenCache(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    for number in range(1, 20):
        witness.set(f"{zk_path}/x", b"%d" % number)
        cache.rebuild_node(f"{zk_path}/x")
        assert cache.get(f"{zk_path}/x").data == b"%d" % number
    with pytest.raises(ValueError, match="is not a child of"):
        cache.rebuild_node(f"{zk_path}/x/y")


class DeletesWhenListed:
    """Deletes a child when it has been listed, and not yet read."""

    def __init__(self, witness: Any, parent: str, name: str) -> None:
        self._witness, self._parent, self._child = witness, parent, f"{parent}/{name}"
        self.deleted = False

    def step(self, event: Any) -> None:
        if (event.kind, event.path, self.deleted) == ("Children", self._parent, False):
            self.deleted = True
            self._witness.delete(self._child)


@over(CACHE, TREE, CHILDREN)
def test_a_child_goes_before_it_is_read(kind, open_session, started, witness, zk_path, agrees):
    """It is initialized all the same (CURATOR-476, testInitializedEvenIfChildDeleted)."""
    for name in "ab":
        witness.create(f"{zk_path}/{name}", b"", makepath=True)
    options = {"start_mode": "post_initialized"} if kind is CHILDREN else {}
    told = Told(kind.make(session := open_session(), zk_path, **options))
    session.hooks.add(deletes := DeletesWhenListed(witness, zk_path, "a"))
    cache = started(told.cache)
    eventually(lambda: ("initialized", "") in told.short)
    assert deletes.deleted and ("created", "/a") not in told.short
    agrees(kind, cache)


def test_removed_and_added(open_session, started, witness, zk_path):
    """One goes while another comes: both are told, and each once (testIssue27)."""
    for name in "abc":
        witness.create(f"{zk_path}/{name}", b"", makepath=True)
    told = Told(ChildrenCache(open_session(), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    witness.delete(f"{zk_path}/a")
    witness.create(f"{zk_path}/a", b"")
    eventually(lambda: told.changes[3:] == [("deleted", "/a"), ("created", "/a")])
    assert len(cache) == 3


def test_a_parent_that_is_reaped(open_session, started, witness, zk_path, agrees):
    """The node goes and comes again: nothing is missed (testParentContainerMissing)."""
    told = Told(ChildrenCache(open_session(), f"{zk_path}/a/b"))
    cache = started(told.cache)
    for _ in range(3):
        witness.create(f"{zk_path}/a/b/c", b"", makepath=True)
        agrees(CHILDREN, cache)
        assert len(cache) == 1
        witness.delete(zk_path, recursive=True)
        eventually(lambda: len(cache) == 0)
    assert witness.exists(zk_path) is None
    eventually(told.adds_up)


@over(*ALL)
def test_nothing_is_told_after_it_is_closed(kind, open_session, witness, zk_path):
    """(testDeleteNodeAfterCloseDoesntCallExecutor)"""
    witness.create(f"{zk_path}/x", b"", makepath=True)
    told = Told(kind.make(open_session(), zk_path))
    told.cache.start()
    eventually(lambda: told.cache.initialized)
    told.cache.close()
    before = len(told.events)
    witness.delete(zk_path, recursive=True)
    throughout(lambda: len(told.events) == before, 0.2)


# --- TreeCache ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("depth", "found"),
    [(0, [""]), (1, ["", "/a"]), (2, ["", "/a", "/a/b"]), (None, ["", "/a", "/a/b", "/a/b/c"])],
)
def test_depth(depth, found, open_session, started, witness, zk_path):
    """(testDepth0, testDepth1, testDepth1Deeper)"""
    told = Told(TreeCache(open_session(), zk_path, max_depth=depth))
    cache = started(told.cache)
    witness.create(f"{zk_path}/a/b/c", b"", makepath=True)
    eventually(lambda: [node.path.removeprefix(zk_path) for node in cache] == found)
    witness.set(f"{zk_path}/a/b/c", b"1")
    witness.create(f"{zk_path}/a/b/c/d", b"")
    witness.set(zk_path, b"1")
    eventually(lambda: cache.get().data == b"1")
    eventually(told.adds_up)
    assert {path for _, path in told.changes} <= {*found, "/a/b/c/d"}


def test_from_the_root(open_session, started, witness, zk_path):
    """Of the whole ensemble (testFromRoot, testFromRootWithDepth)."""
    witness.ensure_path(f"{zk_path}/x")
    cache = started(TreeCache(open_session(), "/", max_depth=1))
    eventually(lambda: zk_path in cache)
    assert "/" in cache and f"{zk_path}/x" not in cache and "/zookeeper" in cache
    assert zk_path[1:] in cache.children("/")


@over(CACHE, TREE)
@pytest.mark.parametrize("root", ["/", "/a"])
def test_with_a_namespace(kind, root, open_session, started, witness, zk_path):
    """Paths are below it (testWithNamespace, testWithNamespaceAtRoot)."""
    witness.ensure_path(zk_path)
    cache = started(kind.make(open_session(namespace=zk_path), root))
    eventually(lambda: cache.initialized)
    witness.create(f"{zk_path}/a/b", b"1", makepath=True)
    eventually(lambda: [n.path for n in cache] == (["/"] * (root == "/") + ["/a", "/a/b"]))


class Picky:
    """Leaves out what is called so, and what is below something that is called otherwise."""

    def traverses(self, path: str) -> bool:
        return not path.endswith("/leaf")

    def accepts(self, path: str) -> bool:
        if path.endswith("/bad"):
            raise asyncio.CancelledError("no idea")
        return not path.endswith("/secret")


def test_a_selector(open_session, started, witness, zk_path, caplog):
    """(testSelector) One that raises has said no."""
    cache = started(TreeCache(open_session(), zk_path, selector=Picky()))
    for name in ("a/b", "leaf/hidden", "a/secret/x", "bad/x"):
        witness.create(f"{zk_path}/{name}", b"", makepath=True)
    found = ["", "/a", "/a/b", "/leaf"]
    eventually(lambda: [node.path.removeprefix(zk_path) for node in cache] == found)
    eventually(lambda: "the selector of" in caplog.text)


def test_connection_events(open_session, started, witness, zk_proxy, zk_path):
    """Suspended when the connection breaks, reconnected when everything has been read again; a
    node that came meanwhile is told before that."""
    witness.ensure_path(zk_path)
    for kind in (TREE, CHILDREN):
        told = Told(kind.make(open_session(zk_proxy.hosts, timeout=20.0), zk_path))
        cache = started(told.cache)
        eventually(lambda: cache.initialized and told.adds_up())  # noqa: B023
        eventually(lambda: kind is CHILDREN or ("initialized", "") in told.short)  # noqa: B023
        del told.events[:]
        zk_proxy.cut()
        eventually(lambda: told.short == [("suspended", "")])  # noqa: B023
        witness.create(f"{zk_path}/{kind}", b"")
        zk_proxy.mend()
        expected = [("suspended", ""), ("created", f"/{kind}"), ("reconnected", "")]
        eventually(lambda: told.short == expected)  # noqa: B023


def test_iterating(open_session, started, witness, zk_path):
    """(testBasic, testEmptyTree, testWithDeletedNodes, testIteratorWithRandomGraph)"""
    cache = started(TreeCache(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    assert not list(cache) and len(cache) == 0
    chance = random.Random(7)
    paths = [zk_path]
    witness.create(zk_path, b"")
    for number in range(40):
        paths.append(f"{chance.choice(paths)}/{number}")
        witness.create(paths[-1], b"")
    eventually(lambda: [node.path for node in cache] == sorted(paths))
    assert len(cache) == 41
    witness.delete(zk_path, recursive=True)
    eventually(lambda: not list(cache) and len(cache) == 0)


@over(CACHE, TREE)
def test_outside_of_the_tree(kind, open_session, started, witness, zk_path):
    """Nothing is known of it, and that is no error (kazoo's get_data_out_of_tree and the like)."""
    cache = started(kind.make(open_session(), zk_path))
    for path in ("/", "/zookeeper", f"{zk_path}/none"):
        assert cache.get(path) is None and not cache.children(path) and path not in cache
    assert None not in cache


@over(CACHE, TREE, CHILDREN)
def test_what_may_not_be_read(kind, open_session, started, witness, zk_path):
    """It is not there for us; its siblings are."""
    from kazoo.security import make_digest_acl

    witness.create(f"{zk_path}/open", b"", makepath=True)
    secret = [make_digest_acl("somebody", "else", all=True)]
    witness.create(f"{zk_path}/secret", b"", acl=secret)
    cache = started(kind.make(open_session(), zk_path))
    eventually(lambda: cache.initialized)
    assert f"{zk_path}/open" in cache and f"{zk_path}/secret" not in cache


@pytest.mark.slow
@over(*ALL)
def test_servers_that_come_late(kind, open_session, started, witness, zk_proxy, zk_path, agrees):
    """Started while no server can be reached, it follows as soon as one can
    (testServerNotStartedYet, testWithBadConnect)."""
    witness.create(f"{zk_path}/x", b"", makepath=True)
    session = open_session(zk_proxy.hosts, timeout=4.0)
    zk_proxy.cut()
    eventually(lambda: session.state != "connected")
    told = Told(kind.make(session, zk_path))
    cache = started(told.cache)
    assert not cache.initialized
    zk_proxy.mend()
    agrees(kind, cache)
    eventually(told.adds_up)
