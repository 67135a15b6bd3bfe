"""The casts of the watchers: each as a small cache, which says what it sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NoNode, SessionLost
from ...recipes.caches.children_watch import ChildrenWatch
from ...recipes.caches.data_watch import DataWatch, Seen
from ...recipes.caches.persistent_watcher import PersistentWatcher
from ...recipes.shared import create_or_there, until_answered
from ...steps import Create, Fire, Get, Script, Set
from ..properties import MembersAreCounted, of_a_cache
from ..properties.waiting import EndsWell
from ..steps import Say
from ..world import SimSession
from .cast import LOST, Begin, Cast, Life

PATH = "/l"


def number(data: bytes | None) -> int:
    """What a node has, 0 for nothing."""
    return int(data or b"0")


class TellingData(DataWatch[Any]):
    """Says what it would call its function with."""

    def _news(self, found: Seen, fire: Fire | None) -> Script[object]:
        yield from Say("sees", number(found.data))
        return None


class TellingChildren(ChildrenWatch[Any]):
    """The same of children."""

    def _news(self, found: tuple[str, ...], fire: Fire | None) -> Script[object]:
        yield from Say("members", len(found))
        return None


class TellingWatcher(PersistentWatcher[Any]):
    """Reads at every reset and at every fire, as its users are told to."""

    def _reset(self) -> Script[None]:
        try:
            data, _ = yield from until_answered(Get(self.path))
        except NoNode:
            data = b""
        yield from Say("sees", number(data))

    def _tell(self, event: Fire) -> Script[None]:
        return self._reset()


class WithoutPersistent(TellingWatcher):
    """On servers that have no persistent watches."""

    def _live(self) -> Script[None]:
        return self._live_by_one_shots()


def following(make: Callable[[SimSession], Any]) -> Life:
    """Follows the node for ever, from session to session."""

    def live(session: SimSession) -> Begin:
        watcher = make(session)

        def begin(deadline: float | None) -> Script[None]:
            while True:
                try:
                    yield from watcher._live()
                    return
                except SessionLost:
                    continue

        return begin

    return live


def looping(session: SimSession) -> Begin:
    """A loop over the changes."""
    watch = DataWatch(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        told: tuple[Seen] | None = None
        while True:
            try:
                told = ((yield from watch._next.of(told)),)
            except SessionLost:
                continue
            yield from Say("sees", number(told[0].data))

    return begin


def changing(session: SimSession) -> Begin:
    """Writes the node twice."""

    def begin(deadline: float | None) -> Script[None]:
        for value in (b"1", b"2"):
            yield from until_answered(Set(PATH, value))

    return begin


def joining(session: SimSession) -> Begin:
    """Makes children."""

    def begin(deadline: float | None) -> Script[None]:
        for name in "ab":
            yield from create_or_there(Create(f"{PATH}/{name}"))

    return begin


_SEES = of_a_cache(PATH, fails=LOST)
_COUNTS = (MembersAreCounted(PATH), EndsWell(*LOST))
_WATCHERS: tuple[tuple[str, Life], ...] = (
    ("DataWatch", following(lambda s: TellingData(s, PATH))),
    ("DataWatch, a loop", looping),
    ("PersistentWatcher", following(lambda s: TellingWatcher(s, PATH))),
    ("PersistentWatcher, recursive", following(lambda s: TellingWatcher(s, PATH, recursive=True))),
    ("PersistentWatcher, by one-shot watches", following(lambda s: WithoutPersistent(s, PATH))),
)

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "watcher": (
        *[
            Cast(f"{name} and a writer", (life, changing), _SEES, shared=shared)
            for name, life in _WATCHERS
            for shared in (False, True)
        ],
        Cast(
            "ChildrenWatch and a writer",
            (following(lambda s: TellingChildren(s, PATH)), joining),
            _COUNTS,
        ),
    ),
}
