"""The watchers in the simulator: broken twins that are caught, and nodes that come and go.

Every watcher under every fault is in tests/sim/test_coverage.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from zkkit.recipes.caches.data_watch import Seen
from zkkit.recipes.caches.one_shots import OneShots
from zkkit.recipes.shared import create_or_there, delete_surely, until_answered
from zkkit.sim import World, explore
from zkkit.sim.coverage.watchers import (
    PATH,
    TellingData,
    TellingWatcher,
    WithoutPersistent,
    changing,
    following,
)
from zkkit.sim.faults import NO_FAULTS, every, one
from zkkit.sim.lives import named
from zkkit.sim.properties import Converges
from zkkit.sim.properties.base import Property, View
from zkkit.sim.state import Fact
from zkkit.steps import Create, Exists, FireKind, Get, Script, Sync, Wait, Watch


def world_of(kind: Any, writer: Any = changing, **options: Any) -> World:
    """One who follows the node, one who writes it, and one who asks for something in the session of
    the first: its connection may break with that."""
    world = World(PATH)
    (name, session), (other, another) = named(world, 2)
    world.actor(name, session, following(lambda s: kind(s, PATH, **options))(session), None)
    world.actor(other, another, writer(another), None)
    world.actor("asks", session, lambda: until_answered(Exists(PATH)))
    return world


class NeverGoesBackAtAll(Property):
    """What is seen never becomes older, from session to session."""

    name = "never goes back at all"
    wants = frozenset({"said"})
    memo = 0

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.what == "sees":
                if fact.outcome < memo:
                    return memo, f"{fact.outcome} is seen after {memo}"
                memo = fact.outcome
        return memo, None


def replacing(session: Any) -> Any:
    """Deletes the node and creates it again."""

    def begin(deadline: float | None) -> Script[None]:
        yield from delete_surely(PATH, outlives_session=True)
        yield from create_or_there(Create(PATH, b"2"))

    return begin


KINDS = [
    (TellingData, {}),
    (TellingWatcher, {}),
    (TellingWatcher, {"recursive": True}),
    (WithoutPersistent, {}),
    (WithoutPersistent, {"recursive": True}),
]


@pytest.mark.parametrize("fault", ["", "request lost", "reply lost", "expire", "lag", "reap"])
@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_node_that_goes_and_comes_back(kind, options, fault):
    """Whatever was seen last is what is there."""
    world = world_of(kind, replacing, **options)
    verdict = explore(world, [Converges(PATH)], faults=one(fault) if fault else NO_FAULTS)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_new_session_at_a_server_that_lags(kind, options):
    """What is seen never goes back, also where the next session begins in the past. (Who reads at a
    reset reads what the server has: that is only asked of what syncs.)"""
    asked = [Converges(PATH), *([NeverGoesBackAtAll()] if kind is TellingData else [])]
    verdict = explore(world_of(kind, **options), asked, faults=every(expire=1, lag=1))
    assert verdict.holds, str(verdict)


# --- broken twins ---------------------------------------------------------------------------------


class ReadsThenWatches(TellingData):
    """Reads, and sets its watch afterwards."""

    def _look(self, *first: Sync) -> Script[Seen]:
        data, stat = yield from until_answered(Get(self.path))
        yield from until_answered(Exists(self.path, watch=True))
        return Seen(data, stat)


class IsDeaf(TellingData):
    """Takes only changes for news: kazoo's watchers before 2.0 did."""

    def _live(self) -> Script[None]:
        found = yield from self._look(Sync(self.path))
        while True:
            yield from self._news(found, None)
            while (yield from Wait()).kind is FireKind.NONE:
                pass
            found = yield from self._look()


class ResetsFirst(TellingWatcher):
    """Has others read before the watch is set."""

    def _live(self) -> Script[None]:
        yield from self._reset()
        yield from until_answered(Watch(self.path))
        while True:
            yield from self._tell((yield from Wait()))


class LooksOnlyOnce(WithoutPersistent):
    """Sets one-shot watches, and not again."""

    def _live_by_one_shots(self) -> Script[None]:
        yield from OneShots(self.path, recursive=False).look()
        yield from self._reset()
        while True:
            yield from self._tell((yield from Wait()))


@pytest.mark.parametrize(
    ("kind", "faults", "broken"),
    [
        (ReadsThenWatches, NO_FAULTS, "caches converge"),
        (IsDeaf, one("request lost"), "caches converge"),
        (ResetsFirst, NO_FAULTS, "caches converge"),
        (LooksOnlyOnce, NO_FAULTS, "caches converge"),
    ],
)
def test_a_broken_twin_is_caught(kind, faults, broken):
    verdict = explore(world_of(kind), [Converges(PATH), NeverGoesBackAtAll()], faults=faults)
    assert verdict.holds is False
    assert broken in [story.breaks for story in verdict.stories], str(verdict)
