"""Broken twins of the caches, which exploration must catch; every cache under every fault is in
tests/sim/test_coverage.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from zkkit import Cache, ChildrenCache, NodeCache, TreeCache
from zkkit.recipes.caches.base import _Note
from zkkit.recipes.caches.content import Seen
from zkkit.recipes.caches.reading import next_fires, read_many
from zkkit.recipes.caches.tree_cache import WatchesEach
from zkkit.recipes.shared import until_answered
from zkkit.sim import NO_FAULTS, World, explore, one
from zkkit.sim.coverage.caches import caching, changing
from zkkit.sim.faults import Faults
from zkkit.sim.properties import of_a_cached_tree
from zkkit.steps import (
    Create,
    Delete,
    Fire,
    FireKind,
    Get,
    Heard,
    Recall,
    Script,
    Set,
    Sync,
    Together,
    Watch,
)

AGAIN = changing(Delete("/l/a"), Create("/l/a"))
GONE = changing(Set("/l/a", b"1"), Delete("/l/a"))
CHILD = changing(Create("/l/a"), Set("/l/a", b"1"))
NODE = changing(Set("/l", b"1"))
TREE = of_a_cached_tree("/l")
CHILDREN = of_a_cached_tree("/l", lambda path: path.count("/") == 2)
ROOT = of_a_cached_tree("/l", lambda path: path == "/l")


def found(kind: Any, changes: Any, asked: Any, faults: Faults, *nodes: str) -> str:
    """What is wrong with a cache of this kind: "" for nothing."""
    world = World(*(nodes or ("/l",)))
    for name, life in (("A", caching(lambda session: kind(session, "/l"))), ("B", changes)):
        session = world.connect(f"{name}'s session")
        world.actor(name, session, life(session), None)
    verdict = explore(world, asked, faults=faults)
    assert verdict.holds is not None
    return verdict.story.wrong if verdict.story else ""


class ComparesVersions(Cache):
    """Takes a node with the same version for the same node (Curator, C-10)."""

    def _take(self, seen: Seen, *, silently: bool = False) -> Script[None]:
        known = (yield from Recall(_Note(self, "known"))) or None
        had = known.nodes if known else {}
        news = {
            path: node
            for path, node in seen.items()
            if not (node and path in had and had[path].stat.version == node.stat.version)
        }
        yield from super()._take(news)


class TrustsNews(Cache):
    """Takes the word of a fire that a node is gone, and does not look."""

    def _live(self) -> Script[None]:
        yield from until_answered(Watch(self.path, True))
        yield from self._read_tree()
        while True:
            yield from self._believe((yield from next_fires()))

    def _believe(self, fires: Iterable[Fire]) -> Script[None]:
        for fire in fires:
            if fire.kind is FireKind.DELETED:
                yield from self._take({fire.path: None})
            elif fire.kind is FireKind.NONE:
                yield from self._read_tree()
            else:
                yield from self._look_at(fire.path)

    def _look_at(self, path: str) -> Script[None]:
        yield from self._read([path])


class TakesALateAnswer(TrustsNews):
    """Takes over what it has read when it has heard by then that the node is gone: that is back,
    for good (kazoo, K-21)."""

    def _look_at(self, path: str) -> Script[None]:
        (seen,) = yield from read_many([Get(path)])
        yield from until_answered(Sync(path))  # whatever comes between
        yield from self._believe((yield from Heard()))
        yield from self._take({path: self._cached(path, seen)})


class ReadsThenWatches(Cache):
    """Sets its watch when it has read: what happens between the two is never seen."""

    def _live(self) -> Script[None]:
        yield from self._read_tree()
        yield from until_answered(Watch(self.path, True))
        while True:
            fires = yield from next_fires()
            yield from self._read(dict.fromkeys(fire.path for fire in fires))


class GoesOnAfterABreak(TreeCache):
    """Looks only at what fires tell of, also when the connection broke and all watches are gone."""

    def _follow(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        each = WatchesEach(self)
        yield from each.read_tree()
        while True:
            fires = yield from next_fires()
            yield from each.look([fire for fire in fires if fire.kind is not FireKind.NONE])


class WaitsForNothing(NodeCache):
    """A get of what is not there sets no watch: it never hears that the node came."""

    def _live(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        while True:
            (seen,) = yield from read_many([Get(self.path, watch=True)])
            yield from self._take({self.path: self._cached(self.path, seen)})
            yield from next_fires()


class ForgetsInANewSession(NodeCache):
    """Tells everything as created again when a session was lost."""

    def _live(self) -> Script[None]:
        yield from self._forget()
        yield from super()._live()


class ListsOnly(ChildrenCache):
    """Looks at names: a child that was created anew has the same one, or one that changed."""

    def _look(self, watched: set[str], fires: Iterable[Fire]) -> Script[None]:
        yield from self._list(watched)


class LooksWithoutAWatch(WatchesEach):
    def look(self, fires: Iterable[Fire]) -> Script[None]:
        paths = [fire.path for fire in fires]
        seen = dict(zip(paths, (yield from read_many([Get(p) for p in paths])), strict=True))
        cache = self._cache
        yield from cache._take({path: cache._cached(path, node) for path, node in seen.items()})


class ForgetsToWatchAgain(TreeCache):
    """A watch fires once: it looks at what fired, and sets no new one."""

    def _follow(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        each = LooksWithoutAWatch(self)
        yield from each.read_tree()
        while True:
            yield from each.look((yield from next_fires()))


class LeavesDescendants(TreeCache):
    """After a break it looks at what is there, and forgets to ask what is there no more."""

    def _take_without(self, found: Any, *, silently: bool = False) -> Script[None]:
        yield from ()


BOTH = ("/l", "/l/a")
TWINS = [
    (ComparesVersions, AGAIN, TREE, NO_FAULTS, "has not seen what has become of /l/a", BOTH),
    (TrustsNews, AGAIN, TREE, NO_FAULTS, "/l/a", BOTH),
    (TakesALateAnswer, GONE, TREE, NO_FAULTS, "/l/a is created as it was before", BOTH),
    (ReadsThenWatches, CHILD, TREE, NO_FAULTS, "lacks /l/a", ("/l",)),
    (GoesOnAfterABreak, CHILD, TREE, one("request lost"), "/l/a", ("/l",)),
    (WaitsForNothing, changing(Create("/l")), ROOT, NO_FAULTS, "lacks /l", ("/m",)),
    (ForgetsInANewSession, NODE, ROOT, one("expire"), "by what it told is there", ("/l",)),
    (ListsOnly, changing(Set("/l/a", b"1")), CHILDREN, NO_FAULTS, "/l/a", BOTH),
    (ForgetsToWatchAgain, CHILD, TREE, NO_FAULTS, "/l/a", ("/l",)),
    (LeavesDescendants, changing(Delete("/l/a")), TREE, one("request lost"), "/l/a", BOTH),
]  # fmt: skip


@pytest.mark.parametrize(
    ("twin", "changes", "asked", "faults", "wrong", "nodes"),
    TWINS,
    ids=[twin[0].__name__ for twin in TWINS],
)
def test_a_broken_twin_is_caught(twin, changes, asked, faults, wrong, nodes):
    """With this mistake, and without it nothing is wrong."""
    assert wrong in found(twin, changes, asked, faults, *nodes)
    assert found(twin.__base__, changes, asked, faults, *nodes) == ""


@pytest.mark.parametrize("kind", [Cache, NodeCache, ChildrenCache, TreeCache])
def test_a_session_begins_with_a_sync(kind):
    """A new session may be served by somebody who lags behind what the last one saw. The simulator
    has no such server, so this looks at the first step."""
    step = next(kind(World().connect(), "/l")._live())
    first = step.requests[0] if isinstance(step, Together) else step
    assert first == Sync("/l")
