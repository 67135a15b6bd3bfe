"""The beats by which a session proves that it lives."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.record import Recorder
from zkkit.session.clock import now
from zkkit.testing import Proxy, throughout


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


def test_the_servers_without_the_beats_lose_the_hold(
    zk_proxy: Proxy, zk_path: str, eventually: Any
) -> None:
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


@pytest.mark.parametrize("tick", [0, -1, 6.0, "2"])
def test_a_tick_that_makes_no_sense(tick: Any) -> None:
    with pytest.raises(ValueError, match="tick"):
        zkkit.connect("127.0.0.1:1", timeout=10.0, tick=tick)
