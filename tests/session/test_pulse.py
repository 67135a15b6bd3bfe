"""The beats by which a session proves that it lives."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.record import Recorder
from zkkit.session.clock import gap_for, now
from zkkit.session.pulse import Beat, Pulse
from zkkit.session.worker import Timer
from zkkit.steps import Request
from zkkit.testing import Proxy, eventually, throughout


def test_beats_keep_a_hold_valid_and_are_no_recipes_business(
    zk_ensemble: LocalEnsemble, zk_proxy: Proxy, zk_path: str
) -> None:
    """A timeout of quiet: beats on the wire, and nothing in the record but what the lock did."""
    recorder = Recorder()
    with zkkit.connect(zk_proxy.hosts, timeout=1.5) as session:
        lock = zkkit.ReentrantLock(session, zk_path)
        with lock:
            pass
        session.hooks.add(recorder)
        with lock as hold:
            before = zk_proxy.requests["beat"]
            throughout(lambda: hold.valid, 1.4 * session.timeout)
            assert zk_proxy.requests["beat"] - before >= 3
    assert recorder.count("step") <= 5  # where the server had reaped the empty parent meanwhile
    assert recorder.count("watch_fired") == 0


def test_the_servers_without_the_beats_lose_the_hold(zk_proxy: Proxy, zk_path: str) -> None:
    """Reads that are answered all the time prove nothing; what cannot be proved is lost."""
    with zkkit.connect(zk_proxy.hosts, timeout=1.5) as session:
        with zkkit.ReentrantLock(session, zk_path) as hold:
            session._runner._pulse._send = lambda step, beat: None
            session._runner._pulse._hang_up = None
            known = session.session_id
            eventually(lambda: session.exists("/") and not hold.valid, 5.0)
            assert session.session_id == known


def test_a_proof_that_takes_its_time_is_waited_for_in_peace(zk_proxy: Proxy, zk_path: str) -> None:
    """After a standstill no write proves anything until a new chain of beats is there. They go on
    at their pace: writes that prove nothing must not keep the Syncs from being sent."""
    with zkkit.connect(zk_proxy.hosts, timeout=2.0) as session:
        lock = zkkit.ReentrantLock(session, zk_path)
        with lock:
            pass
        with session._runner._monitor:
            proof = session._runner._pulse.proof
            assert proof is not None
            at = now()
            proof._heard = deque([(at - 3.0, at - 2.9)])
            proof._reached.clear()
            proof._reached.append((at - 2.9, at - 3.0))
            proof._state = (proof.era, at - 1.0)
        before = zk_proxy.requests["beat"]
        hold = lock.acquire(timeout=10.0)
        assert hold is not None
        assert hold.valid
        assert zk_proxy.requests["beat"] - before < 20


@pytest.mark.parametrize(
    "loss", [pytest.param("lose_request", marks=pytest.mark.slow), "lose_reply"]
)
def test_a_lost_beat_costs_no_hold(zk_proxy: Proxy, zk_path: str, loss: str) -> None:
    """The connection breaks, and the next one proves the session anew."""
    with zkkit.connect(zk_proxy.hosts, timeout=2.0) as session:
        with zkkit.ReentrantLock(session, zk_path) as hold:
            lost = getattr(zk_proxy, loss)("beat", count=2)
            assert lost.wait(10.0)
            throughout(lambda: hold.valid, 1.0)


@pytest.mark.slow  # the same beats, elsewhere
def test_below_a_chroot(zk_hosts: str, zk_path: str) -> None:
    """What the beats look at is not there; that it is not is an answer, too."""
    with zkkit.connect(zk_hosts) as outside:
        outside.create(zk_path)
    with zkkit.connect(zk_hosts + zk_path, timeout=1.5) as session:
        with zkkit.ReentrantLock(session, "/lock") as hold:
            throughout(lambda: hold.valid, 1.5 * session.timeout)


def lapses(monkeypatch: pytest.MonkeyPatch, tick: float | None, round_trip: float) -> bool:
    """Whether what is held lapses within ten timeouts on such a link; both in shares of a timeout.
    Nothing but the pulse takes time here, and no clock runs."""
    at, numbers = 0.0, itertools.count()
    timers: list[tuple[float, int, Timer]] = []
    lapsed: list[int] = []

    def call_at(moment: float, function: Callable[[], object]) -> Timer:
        timer = Timer(function)
        heapq.heappush(timers, (moment, next(numbers), timer))
        return timer

    def send(step: Request[Any], beat: Beat) -> None:
        sent_at = at
        call_at(at + round_trip, lambda: pulse.answered(beat, sent_at, None))

    monkeypatch.setattr("zkkit.session.pulse.now", lambda: at)
    pulse = Pulse(
        tick=tick, send=send, at=call_at, is_held=lambda: True, lapsed=lapsed.append, hang_up=None
    )
    at = round_trip
    pulse.opened(1.0, 0.0, anew=True)
    pulse.connected()
    while at < 10.0 and not lapsed:
        at, _, timer = heapq.heappop(timers)
        if timer.function is not None:
            timer.function()
    return bool(lapsed)


@pytest.mark.parametrize(
    ("tick", "longest"), [(None, 1 / 14), (0.05, 1 / 8)], ids=["unknown", "known"]
)
def test_the_slowest_link(
    monkeypatch: pytest.MonkeyPatch, tick: float | None, longest: float
) -> None:
    """How long round trips may be, in shares of the timeout: longer where the tick is given."""
    assert not lapses(monkeypatch, tick, 0.99 * longest)
    assert lapses(monkeypatch, tick, 1.05 * longest)


def test_the_tick_comes_to_the_pulse(zk_hosts: str) -> None:
    """What `connect` is told decides how far apart the requests of a proof must be."""
    with zkkit.connect(zk_hosts, timeout=10.0, tick=0.5) as session:
        proof = session._runner._pulse.proof
        assert proof is not None and proof.gap == gap_for(10.0, 0.5) != gap_for(10.0, None)


@pytest.mark.parametrize("tick", [0, -1, 6.0, "2"])
def test_a_tick_that_makes_no_sense(tick: Any) -> None:
    with pytest.raises(ValueError, match="tick"):
        zkkit.connect("127.0.0.1:1", timeout=10.0, tick=tick)
