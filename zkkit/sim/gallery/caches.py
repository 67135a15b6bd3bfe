"""Caches: what they show comes to be what is there, and never goes back."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ...errors import NoNode
from ...recipes.shared import until_answered
from ...steps import Data, Exists, Fire, FireKind, Get, Script, Set, Wait, Watch
from ..faults import NO_FAULTS, one
from ..properties import of_a_cache
from ..steps import Say
from ..world import World
from .in_line import PATH, At
from .twin import Right, Shelf, crew


class Changes(NamedTuple):
    """Writes these values, one after the other."""

    path: str
    values: tuple[int, ...] = (1, 2)

    def life(self) -> Script[None]:
        """All of them. Twice the same is once."""
        for value in self.values:
            yield from until_answered(Set(self.path, b"%d" % value))


class Follows(At):
    """Reads with a watch, and reads again whenever it is woken."""

    def life(self) -> Script[None]:
        """Look, tell, and wait, for ever."""
        yield from self.begin()
        newest, shown = -1, 0
        while True:
            found = yield from self.read()
            if self.is_news(found, newest):
                newest = found.stat.mzxid if found else newest
                value = int(found.data or b"0") if found else 0
                yield from self.show(value, shown)
                shown = value
            yield from self.wait()

    def begin(self) -> Script[None]:
        """Get ready."""
        yield from ()

    def read(self) -> Script[Data | None]:
        """What is there, watched; None if nothing is."""
        while True:
            try:
                return (yield from until_answered(Get(self.path, watch=True)))
            except NoNode:
                if (yield from until_answered(Exists(self.path, watch=True))) is None:
                    return None

    def is_news(self, found: Data | None, newest: int) -> bool:
        """Whether to show it: a server that lags may show us something older."""
        return found is None or found.stat.mzxid > newest

    def show(self, value: int, before: int) -> Script[None]:
        """Show it, and tell whoever listens."""
        if value != before:
            yield from Say("event", value)
        yield from Say("sees", value)

    def wait(self) -> Script[Fire]:
        """Wait until something may have changed."""
        return (yield from Wait())


class Listens(Follows):
    """One persistent watch for all that happens, and a look whenever it says something."""

    def begin(self) -> Script[None]:
        yield from until_answered(Watch(self.path))

    def read(self) -> Script[Data | None]:
        try:
            return (yield from until_answered(Get(self.path)))
        except NoNode:
            return None


# --- mistakes -------------------------------------------------------------------------------


class WatchesOnce(Follows):
    """Reads with a watch once, and without one from then on: watches fire once."""

    def life(self) -> Script[None]:
        yield from self.show(int((yield from Get(self.path, watch=True)).data or b"0"), 0)
        while True:
            yield from self.wait()
            found = yield from until_answered(Get(self.path))
            yield from self.show(int(found.data), 0)


class ReadsThenWatches(Follows):
    """Reads, and sets its watch afterwards: what changes between the two is never seen."""

    def read(self) -> Script[Data | None]:
        found = yield from until_answered(Get(self.path))
        yield from until_answered(Exists(self.path, watch=True))
        return found


class IgnoresTheConnection(Follows):
    """Takes only changes for news: when the connection breaks all watches are gone (kazoo's
    barriers and queues do so)."""

    def wait(self) -> Script[Fire]:
        while (fire := (yield from Wait())).kind is FireKind.NONE:
            pass
        return fire


class ForgetsWhenCutOff(Follows):
    """Shows nothing while the connection is broken, as though nothing were there."""

    def wait(self) -> Script[Fire]:
        fire = yield from Wait()
        if fire.kind is FireKind.NONE:
            yield from Say("sees", 0)
        return fire


class CountsFires(Follows):
    """Takes each fire for one change: several changes can be one fire."""

    def life(self) -> Script[None]:
        yield from self.read()
        value = 0
        while True:
            yield from self.wait()
            value += 1
            yield from self.show(value, value - 1)
            yield from self.read()


# --- the table ------------------------------------------------------------------------------

FAMILY = "cache"
_AGREE = "caches converge"
_asked = partial(of_a_cache, PATH)


def _world(it: Follows, count: int = 2) -> World:
    return crew(Changes(PATH), *[it] * (count - 1))


_CACHE = Shelf(FAMILY, _asked, _world, Follows(PATH))

RIGHT = (
    Right(
        "Follows",
        FAMILY,
        "read with a watch, again and again",
        partial(_world, Follows(PATH)),
        _asked,
    ),
    Right("Listens", FAMILY, "one persistent watch", partial(_world, Listens(PATH)), _asked),
)
TWINS = (
    _CACHE.wrong(WatchesOnce, NO_FAULTS, _AGREE, "A watch fires once: set it with every read."),
    _CACHE.wrong(
        ReadsThenWatches, NO_FAULTS, _AGREE, "Read and watch in one request, or you miss a change."
    ),
    _CACHE.wrong(
        IgnoresTheConnection,
        one("request lost"),
        _AGREE,
        "When the connection breaks all watches are gone: read again.",
    ),
    _CACHE.wrong(
        ForgetsWhenCutOff,
        one("request lost"),
        "caches never go back",
        "Cut off is not gone: show what you knew last.",
    ),
    _CACHE.wrong(
        CountsFires, NO_FAULTS, _AGREE, "A fire says that you should look, not what it is."
    ),
)
