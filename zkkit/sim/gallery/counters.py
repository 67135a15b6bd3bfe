"""Counters: each addition counts once."""

from __future__ import annotations

from functools import partial

from ...errors import BadVersion, ConnectionLost, MultiFailed
from ...paths import join
from ...recipes.shared import delete_surely, until_answered
from ...steps import Create, Data, Exists, Get, Guid, Mode, Multi, Script, Set, Sync, Together
from ..faults import NO_FAULTS, every, one
from ..properties import of_a_counter
from ..steps import Say
from .in_line import PATH, At
from .twin import Right, Shelf, same

MARKS = "/marks"


def number(data: bytes) -> int:
    """The value that a counter's data begin with."""
    return int(data.partition(b" ")[0] or b"0")


class Adds(At):
    """Reads, and writes one more if nobody wrote meanwhile; a marker made in the same transaction
    tells after a lost reply whether it was applied."""

    def life(self) -> Script[None]:
        """One addition."""
        marker = join(MARKS, (yield from Guid()))
        yield from Say("adds", 1)
        while not (yield from self.attempt(marker)):
            pass
        yield from Say("added", 1)
        yield from self.tidy(marker)

    def attempt(self, marker: str) -> Script[bool]:
        """Whether it has worked."""
        try:
            found = yield from self.read()
            yield from self.write(found, marker)
        except (MultiFailed, BadVersion):
            return False  # somebody was quicker
        except ConnectionLost:
            return (yield from self.was_applied(marker))
        return True

    def read(self) -> Script[Data]:
        """What is there."""
        return (yield from Get(self.path))

    def write(self, found: Data, marker: str) -> Script[object]:
        """One more, if nothing has changed."""
        one_more = Set(self.path, b"%d" % self.next(found), found.stat.version)
        return (yield from Multi((one_more, Create(marker, mode=Mode.EPHEMERAL))))

    def next(self, found: Data) -> int:
        """What to write."""
        return number(found.data) + 1

    def was_applied(self, marker: str) -> Script[bool]:
        """Find out what became of it, after a lost reply."""
        _, stat = yield from until_answered(Together(Sync(marker), Exists(marker)))
        return stat is not None

    def tidy(self, marker: str) -> Script[None]:
        """Remove the marker."""
        return delete_surely(marker)


class AddsByName(Adds):
    """The value says who has added to it: after a lost reply it looks whether its own name is
    there. It needs no second node, and the value grows."""

    def write(self, found: Data, marker: str) -> Script[object]:
        _, _, names = found.data.partition(b" ")
        value = b"%d %s" % (self.next(found), names + self.name(marker))
        return (yield from Set(self.path, value, found.stat.version))

    def name(self, marker: str) -> bytes:
        """Ours, with a mark at its end."""
        return marker.rpartition("/")[2].encode() + b";"

    def was_applied(self, marker: str) -> Script[bool]:
        _, found = yield from until_answered(Together(Sync(self.path), Get(self.path)))
        return self.name(marker) in found.data

    def tidy(self, marker: str) -> Script[None]:
        yield from ()


# --- mistakes -------------------------------------------------------------------------------


class AddsAgain(Adds):
    """Adds once more after a lost reply: the first may have counted (Curator's and kazoo's do)."""

    def write(self, found: Data, marker: str) -> Script[object]:
        return (yield from Set(self.path, b"%d" % self.next(found), found.stat.version))

    def was_applied(self, marker: str) -> Script[bool]:
        yield from ()
        return False


class WritesWhateverIsThere(Adds):
    """Writes without the version it has read: two read the same and write the same."""

    def write(self, found: Data, marker: str) -> Script[object]:
        return (yield from Set(self.path, b"%d" % self.next(found)))


class BelievesThatItCounted(Adds):
    """Takes a lost reply for a success: the request may never have arrived."""

    def was_applied(self, marker: str) -> Script[bool]:
        yield from ()
        return True


class LooksWithoutSync(AddsByName):
    """Looks for its name without a Sync: a follower that lags hides it."""

    def was_applied(self, marker: str) -> Script[bool]:
        return self.name(marker) in (yield from until_answered(Get(self.path))).data


# --- the table ------------------------------------------------------------------------------

FAMILY = "counter"
_ONCE = "counts once"
_asked = partial(of_a_counter, PATH, number)
_world = partial(same, nodes=(PATH, MARKS))
_COUNTERS = Shelf(FAMILY, _asked, _world, Adds(PATH))
_NAMES = _COUNTERS.but(right=AddsByName(PATH))

RIGHT = (
    Right("Adds", FAMILY, "a marker in the same transaction", partial(_world, Adds(PATH)), _asked),
    Right(
        "AddsByName",
        FAMILY,
        "the value says who has added to it",
        partial(_world, AddsByName(PATH)),
        _asked,
    ),
)
TWINS = (
    _COUNTERS.wrong(
        AddsAgain,
        one("reply lost"),
        _ONCE,
        "A write that may have worked must be known again, or it is done twice.",
        name="adds_blindly",
    ),
    _COUNTERS.wrong(
        WritesWhateverIsThere,
        NO_FAULTS,
        _ONCE,
        "Write with the version you have read: else the last one wins, and the others are lost.",
    ),
    _COUNTERS.wrong(
        BelievesThatItCounted,
        one("request lost"),
        _ONCE,
        "After a lost connection it is unknown what was done: it may be nothing.",
    ),
    _NAMES.wrong(
        LooksWithoutSync,
        every(lag=1, reply_lost=1),
        _ONCE,
        "A follower may hide what you have done: Sync before you look for it.",
    ),
)
