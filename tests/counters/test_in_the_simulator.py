"""Counters in the simulator: several faults together, and broken twins that must be caught.

Every recipe under every single fault is in tests/sim/test_coverage.py. Each twin has one mistake in
how a write is found out; if one of them passes, the check is worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from zkkit.errors import ConnectionLost, MultiFailed
from zkkit.recipes.counters import receipts
from zkkit.recipes.counters.shared_value import Shared
from zkkit.recipes.shared import create_or_there, read_all
from zkkit.sim import explore
from zkkit.sim.coverage import COVERED
from zkkit.sim.faults import NO_FAULTS, Faults, every, one
from zkkit.sim.verdict import Verdict
from zkkit.steps import (
    Create,
    Data,
    Get,
    Guid,
    Mode,
    Multi,
    Script,
    Set,
    Wait,
)

CASTS = {str(cast): cast for family in ("counter", "shared value") for cast in COVERED[family]}
TWO, SHARED, SAME = "AtomicLong: 2", "AtomicLong: 2, one session", "SharedCount, by version: 2"


def explored(name: str, faults: Faults) -> Verdict:
    cast = CASTS[name]
    deadline = 1.0 if "deadline" in faults.kinds and faults.at_most else None
    return explore(cast.world(deadline), cast.properties, faults=faults, states=2_000_000)


@pytest.mark.parametrize(
    "faults",
    [
        every(reply_lost=1, request_lost=1),
        every(reply_lost=2),
        every(lag=1, reply_lost=1),
        every(reply_lost=1, cancel=1),
    ],
    ids=["reply and request", "two replies", "lag", "cancel"],
)
@pytest.mark.parametrize("name", [TWO, SHARED, SAME])
def test_faults_together(name, faults):
    """A second fault strikes whoever is just finding out what came of the first."""
    verdict = explored(name, faults)
    assert verdict.holds, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("name", [TWO, SHARED, SAME])
def test_any_two_faults(name):
    """Any two together: a reply is lost and then the session; servers lag where one looks in the
    next session; and so on."""
    verdict = explored(name, Faults(2))
    assert verdict.holds, str(verdict)


# --- twins --------------------------------------------------------------------------------------


def send(
    path: str, write: Create | Set, receipt: str, lost: Callable[[str, bytes], Script[Any]]
) -> Script[int]:
    """As receipts does it, but for what is done when the reply is `lost`: it gives the zxid, 0 for
    a refusal, None to send it again."""
    guid = (yield from Guid()).encode()
    while True:
        try:
            _, left = yield from Multi((write, Set(receipt, guid)))
            return left.mzxid
        except ConnectionLost:
            found = yield from lost(receipt, guid)
            if found is not None:
                return found
        except MultiFailed as refused:
            if refused.index == 0:
                return 0
            yield from create_or_there(Create(receipt, mode=Mode.EPHEMERAL))


def takes_it_for_a_refusal(path: str, write: Create | Set, receipt: str) -> Script[int]:
    """Reads and adds again after a lost reply: Curator's and kazoo's way (C-14, K-23)."""

    def lost(receipt: str, guid: bytes) -> Script[Any]:
        yield from ()
        return 0

    return send(path, write, receipt, lost)


def takes_it_for_a_success(path: str, write: Create | Set, receipt: str) -> Script[int]:
    """Believes that it counted: the request may never have arrived."""

    def lost(receipt: str, guid: bytes) -> Script[Any]:
        yield from ()
        return 1

    return send(path, write, receipt, lost)


def looks_without_sync(path: str, write: Create | Set, receipt: str) -> Script[int]:
    """A follower that lags hides the receipt."""

    def lost(receipt: str, guid: bytes) -> Script[Any]:
        (left,) = yield from read_all(Get(receipt))
        return left.stat.mzxid if isinstance(left, Data) and left.data == guid else 0

    return send(path, write, receipt, lost)


def begins_anew(path: str, found: Any, replacing: Create | Set) -> Script[int]:
    """After its session was lost it takes the write for refused, and reads and adds again."""
    yield from ()
    return 0


def believes_the_value(found: Data | None, now: Data | None, ours: bytes) -> bool:
    """Takes a higher version for another's write, whatever the value is: it may be ours."""
    return True


TWINS: list[tuple[str, Faults, dict[str, Any]]] = [
    (TWO, one("reply lost"), {"_send": takes_it_for_a_refusal}),
    (TWO, one("request lost"), {"_send": takes_it_for_a_success}),
    (TWO, every(lag=1, reply_lost=1), {"_send": looks_without_sync}),
    (TWO, every(reply_lost=1, expire=1), {"_commit_in_doubt": begins_anew}),
    (TWO, every(reply_lost=1, expire=1), {"_anothers": believes_the_value}),
    (TWO, one("give up"), {"_commit_in_doubt": begins_anew}),
    (TWO, one("give up"), {"_anothers": believes_the_value}),
]


@pytest.mark.parametrize(
    "twin", TWINS, ids=lambda twin: "-".join(part.__name__ for part in twin[2].values())
)
def test_twins(twin, monkeypatch):
    """Each counts twice, or forgets."""
    name, faults, changed = twin
    for place, mistake in changed.items():
        monkeypatch.setattr(receipts, place, mistake)
    verdict = explored(name, faults)
    assert verdict.holds is False, str(verdict)
    assert "counts once" in str(verdict.story)


def test_a_twin_without_version(monkeypatch):
    """Writes whatever is there: two read the same, and one of them is lost."""
    monkeypatch.setattr(receipts, "_replacing", lambda path, found, data: Set(path, data))
    verdict = explored(TWO, NO_FAULTS)
    assert verdict.holds is False, str(verdict)


def sleeps_on(self: Shared[Any, Any]) -> Script[None]:
    """Takes a wakeup by a broken connection for none: its watch is gone, and it does not look."""
    while True:
        found = yield from self.ensure(watch=True)
        yield from self._follow(found)
        while (yield from Wait()).kind == "none":
            pass


def test_a_twin_that_follows(monkeypatch):
    """What it shows stays behind."""
    monkeypatch.setattr(Shared, "_live", sleeps_on)
    verdict = explored("SharedCount, set and followed: 2", one("request lost"))
    assert verdict.holds is False, str(verdict)
    assert "caches converge" in str(verdict.story)
