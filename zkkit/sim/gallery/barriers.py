"""Barriers: a gate that one opens, a meeting that all must come to, and one with two ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ...errors import BadVersion, ConnectionLost
from ...paths import join
from ...recipes.shared import create_or_there, delete_surely, list_children, until_answered
from ...steps import Create, Exists, Get, Guid, Mode, Script, Set, Wait
from ..faults import NO_FAULTS, one
from ..properties import NobodyWaitsWhile, Property, View, of_a_barrier
from ..steps import Say, Work
from ..world import World
from .in_line import PATH, At
from .twin import Right, Shelf, crew, same

READY = "ready"

# --- a gate ---------------------------------------------------------------------------------


class Opens(At):
    """Opens the gate: deletes the node that keeps it closed."""

    def life(self) -> Script[None]:
        """Take some time, then open."""
        yield from Work()
        yield from Say("arrives")
        yield from delete_surely(self.path, outlives_session=True)


class WaitsAtTheGate(At):
    """Watches the node that keeps the gate closed, and looks again when it is woken."""

    def life(self) -> Script[None]:
        """Wait, and pass."""
        while (yield from self.closed()):
            yield from Wait()
        yield from Say("passes")

    def closed(self) -> Script[bool]:
        """Whether the node is there; it is watched then."""
        return (yield from until_answered(Exists(self.path, watch=True))) is not None


class Permits(Opens):
    """Opens the gate by creating a node."""

    def life(self) -> Script[None]:
        yield from Work()
        yield from Say("arrives")
        yield from create_or_there(Create(self.path))


class WaitsForAPermit(WaitsAtTheGate):
    """Waits until the node is created that opens the gate."""

    def closed(self) -> Script[bool]:
        return not (yield from super().closed())


class TakesAnyWakeForOpen(WaitsAtTheGate):
    """Takes any wake for the opening: a lost connection wakes as well."""

    def life(self) -> Script[None]:
        if (yield from self.closed()):
            yield from Wait()
        yield from Say("passes")


# --- a meeting ------------------------------------------------------------------------------


class Meets(NamedTuple):
    """Each leaves a node that stays; whoever counts enough of them passes, and whoever is woken
    counts again."""

    path: str
    many: int = 2

    def life(self) -> Script[None]:
        """Come, wait for the others, go on."""
        yield from Work()  # each comes when it comes
        yield from Say("arrives")
        yield from self.arrive((yield from Guid()))
        yield from self.wait()
        yield from Say("passes")

    def arrive(self, guid: str) -> Script[None]:
        """Say that we are here. Twice is once: the name is ours, and the node stays."""
        return create_or_there(Create(join(self.path, guid)))

    def wait(self) -> Script[None]:
        """Wait until enough have come."""
        while len((yield from list_children(self.path, watch=True))) < self.many:
            yield from Wait()


class MeetsInOneNode(Meets):
    """All write their names into one node, each if nobody wrote meanwhile, and wait until there are
    enough of them."""

    def arrive(self, guid: str) -> Script[None]:
        mine = guid.encode() + b";"
        while True:
            try:
                data, stat = yield from until_answered(Get(self.path))
                if mine in data:
                    return
                yield from Set(self.path, data + mine, stat.version)
            except (BadVersion, ConnectionLost):
                continue

    def wait(self) -> Script[None]:
        while (yield from until_answered(Get(self.path, watch=True))).data.count(b";") < self.many:
            yield from Wait()


class MeetsWhenReady(Meets):
    """Only the last to come says that all are there, in a second step: it may never take it (as in
    Curator's double barrier)."""

    def wait(self) -> Script[None]:
        ready = join(self.path, READY)
        names = yield from list_children(self.path)
        if READY in names or len(names) >= self.many:
            yield from create_or_there(Create(ready))
            return
        while (yield from until_answered(Exists(ready, watch=True))) is None:
            yield from Wait()


class PassesWithoutCounting(Meets):
    """Goes on when it is woken, and does not count again."""

    def wait(self) -> Script[None]:
        if len((yield from list_children(self.path, watch=True))) < self.many:
            yield from Wait()


class CountsBeforeItWatches(Meets):
    """Counts, and sets its watch afterwards: who comes between wakes nobody."""

    def wait(self) -> Script[None]:
        while len((yield from list_children(self.path))) < self.many:
            yield from list_children(self.path, watch=True)
            yield from Wait()


class ArrivesTwice(Meets):
    """Comes a second time after a lost reply: the server numbers both."""

    def arrive(self, guid: str) -> Script[None]:
        member = Create(join(self.path, "member-"), mode=Mode.PERSISTENT_SEQUENTIAL)
        yield from until_answered(member)


# --- the table ------------------------------------------------------------------------------

FAMILY = "barrier"
_EARLY = "nobody passes early"


def _of_three() -> Sequence[Property]:
    return of_a_barrier(count=3)


def _of_two() -> Sequence[Property]:
    """Nobody waits when all have signed, whatever has become of them since."""

    def all_have_signed(view: View) -> str | None:
        return "all have signed" if len(view.tree.nodes[PATH].children) >= 2 else None

    return (
        NobodyWaitsWhile(all_have_signed, "nobody waits when all have signed"),
        *of_a_barrier(count=2),
    )


def _gate(it: WaitsAtTheGate, count: int = 2) -> World:
    return crew(Opens(PATH), *[it] * (count - 1))


def _permit(count: int) -> World:
    opened = join(PATH, "open")
    return crew(Permits(opened), *[WaitsForAPermit(opened)] * (count - 1))


def _meeting(kind: type[Meets], count: int) -> World:
    return same(kind(PATH, 2), count)


_at_the_gate = partial(of_a_barrier, path=PATH)
_GATE = Shelf(FAMILY, _at_the_gate, _gate, WaitsAtTheGate(PATH))
_MEETING = Shelf(FAMILY, partial(of_a_barrier, count=2), same, Meets(PATH))
_THREE = _MEETING.but(properties=_of_three, build=partial(same, count=3), right=Meets(PATH, 3))

RIGHT = (
    Right(
        "WaitsAtTheGate",
        FAMILY,
        "watch the node that keeps it closed",
        partial(_gate, WaitsAtTheGate(PATH)),
        _at_the_gate,
    ),
    Right("WaitsForAPermit", FAMILY, "watch for the node that opens it", _permit, of_a_barrier),
    Right(
        "Meets",
        FAMILY,
        "each leaves a node, all count them",
        partial(_meeting, Meets),
        partial(of_a_barrier, count=2),
    ),
    Right(
        "MeetsInOneNode",
        FAMILY,
        "all sign one node",
        partial(_meeting, MeetsInOneNode),
        partial(of_a_barrier, count=2),
    ),
)
TWINS = (
    _THREE.wrong(
        PassesWithoutCounting,
        NO_FAULTS,
        _EARLY,
        "To be woken is no news: count again.",
        name="passes_when_woken",
    ),
    _GATE.wrong(
        TakesAnyWakeForOpen,
        one("request lost"),
        _EARLY,
        "A broken connection wakes all who wait: look whether the gate is open.",
    ),
    _MEETING.wrong(
        CountsBeforeItWatches,
        NO_FAULTS,
        "nobody is left outside",
        "Count what the watch's own request shows: who came before it wakes nobody.",
    ),
    _MEETING.wrong(
        ArrivesTwice,
        one("reply lost"),
        _EARLY,
        "Arrive under a name of your own: after a lost reply twice must be once.",
    ),
    _MEETING.but(properties=_of_two).wrong(
        MeetsWhenReady,
        one("crash"),
        "nobody waits when all have signed",
        "What one actor alone must do may never be done: let everybody be able to see it.",
    ),
)
