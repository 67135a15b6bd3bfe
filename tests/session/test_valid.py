"""Two holders are never valid at once, whatever becomes of the servers.

One holds a lock, the other waits for it. A fault strikes the holder's server. Both are asked all
the time whether their hold is valid: the first must say no before the second may say yes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import SessionClosed
from zkkit.recipes.locks.hold import Hold
from zkkit.retry import Forever
from zkkit.session.clock import Proof
from zkkit.session.pulse import Pulse
from zkkit.testing import Proxy, throughout

TIMEOUTS = (2.0, 4.0, 10.0)


class Rivals:
    """A holder and a waiter in two sessions of one timeout."""

    def __init__(self, path: str, timeout: float, holders: str, waiters: str, stack: Any) -> None:
        options = {"timeout": timeout, "retry": Forever(0.1), "connect_timeout": 20.0}
        self.timeout = timeout
        self.first = stack.enter_context(zkkit.connect(holders, **options))
        self.second = stack.enter_context(zkkit.connect(waiters, **options))
        self.lost = threading.Event()
        self.granted = threading.Event()
        self.holds: list[Hold[Any]] = [zkkit.ReentrantLock(self.first, path).acquire()]
        self.holds[0].on_lost(self.lost.set)
        waiting = threading.Thread(target=self._wait, args=(path,), daemon=True)
        waiting.start()

    def _wait(self, path: str) -> None:
        with suppress(SessionClosed):  # the test is over, and nobody lost a lock
            self.holds.append(zkkit.ReentrantLock(self.second, path).acquire())
            self.granted.set()

    def both_valid(self) -> bool:
        first, *second = self.holds
        return first.valid and bool(second) and second[0].valid and first.valid


@contextmanager
def rivals(
    path: str, holders: str, waiters: str, timeouts: tuple[float, ...] = TIMEOUTS
) -> Iterator[list[Rivals]]:
    """Pairs of rivals, one for each timeout, watched over until the end of the block."""
    both: list[float] = []
    over = threading.Event()
    with ExitStack() as stack:
        pairs = [Rivals(f"{path}-{t:g}", t, holders, waiters, stack) for t in timeouts]

        def watch() -> None:
            while not over.wait(0.001):
                both.extend(pair.timeout for pair in pairs if pair.both_valid())

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield pairs
        finally:
            over.set()
            watching.join(5.0)
        assert not both, f"two were valid at once, {len(both)} times: at timeouts {set(both)}"


def host(ensemble: LocalEnsemble, *nodes: int) -> str:
    return ",".join(f"127.0.0.1:{ensemble.ports[node]}" for node in nodes)


def others(ensemble: LocalEnsemble, *nodes: int) -> list[int]:
    return [node for node in ensemble.nodes if node not in nodes]


@contextmanager
def cut(ensemble: LocalEnsemble, node: int) -> Iterator[None]:
    ensemble.cut(node)
    try:
        yield
    finally:
        ensemble.heal(node)


@contextmanager
def paused(ensemble: LocalEnsemble, node: int) -> Iterator[None]:
    ensemble.pause(node)
    try:
        yield
    finally:
        ensemble.resume(node)


def follower_of(ensemble: LocalEnsemble) -> int:
    return others(ensemble, ensemble.leader())[0]


def await_handover(pairs: list[Rivals]) -> None:
    for pair in pairs:
        assert pair.granted.wait(pair.timeout + 20.0), pair.timeout
        assert pair.lost.is_set() or not pair.holds[0].valid
        assert pair.holds[1].valid


def take_any_answer_for_life(monkeypatch: Any) -> None:
    """The broken twin: no beats, and a hold is valid while any server answers our pings."""
    monkeypatch.setattr(Pulse, "_begin", lambda self, step: None)
    monkeypatch.setattr(Pulse, "is_proved", lambda self: True)
    monkeypatch.setattr(Proof, "holds", lambda self, era, at: True)


@pytest.mark.parametrize("twin", [False, True], ids=["proof", "any answer"])
def test_a_follower_is_cut_off_whose_client_knows_no_other(
    zk_ensemble: LocalEnsemble, zk_path: str, monkeypatch: Any, twin: bool
) -> None:
    """It answers its client all the time; the leader expires the session. The twin, which takes
    any answer for life, is caught."""
    if twin:
        take_any_answer_for_life(monkeypatch)
    node = follower_of(zk_ensemble)
    hosts, rest = host(zk_ensemble, node), host(zk_ensemble, *others(zk_ensemble, node))

    def strike() -> None:
        with rivals(zk_path, hosts, rest, (2.0,)) as (pair,), cut(zk_ensemble, node):
            assert pair.granted.wait(20.0)
            assert twin or pair.lost.is_set()
            time.sleep(0.2)  # time for the twin to be seen

    if twin:
        with pytest.raises(AssertionError, match="two were valid at once"):
            strike()
    else:
        strike()


@pytest.mark.slow  # four seconds of patience
def test_a_follower_is_cut_off_whose_client_knows_the_others(
    zk_ensemble: LocalEnsemble, zk_path: str
) -> None:
    """The beat stays unanswered, the session moves, and the hold is kept."""
    node = follower_of(zk_ensemble)
    with (
        rivals(zk_path, zk_ensemble.hosts, host(zk_ensemble, *others(zk_ensemble, node)), (2.0,))
        as (pair,),
    ):  # fmt: skip
        move_to(pair.first, zk_ensemble.ports[node])
        with cut(zk_ensemble, node):
            time.sleep(2 * pair.timeout)
            assert pair.holds[0].valid
            assert not pair.lost.is_set()
            assert not pair.granted.is_set()


def move_to(session: zkkit.Session, port: int) -> None:
    """Let a session hang up until it is connected to this port."""
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        sock = session.kazoo._connection._socket
        if session.state == "connected" and sock is not None and sock.getpeername()[1] == port:
            return
        session._transport.hang_up()
        time.sleep(0.1)
    raise AssertionError(f"the session never came to port {port}")


@pytest.mark.slow
@pytest.mark.parametrize("known", ["one", "three"])
def test_a_follower_is_cut_off(zk_ensemble: LocalEnsemble, zk_path: str, known: str) -> None:
    """At all timeouts; whether its hold was kept or not, never two."""
    node = follower_of(zk_ensemble)
    rest = host(zk_ensemble, *others(zk_ensemble, node))
    hosts = host(zk_ensemble, node) if known == "one" else zk_ensemble.hosts
    with rivals(zk_path, hosts, rest) as pairs:
        if known == "three":
            for pair in pairs:
                move_to(pair.first, zk_ensemble.ports[node])
        with cut(zk_ensemble, node):
            if known == "one":
                await_handover(pairs)
            else:
                time.sleep(1.5 * max(TIMEOUTS))
                assert [pair.holds[0].valid for pair in pairs] == [True] * len(pairs)


@pytest.mark.slow
def test_the_leader_is_cut_off_and_the_others_return(
    zk_ensemble: LocalEnsemble, zk_path: str
) -> None:
    """A deposed leader answers its client, even Syncs, while the new one expires the session."""
    leader = zk_ensemble.leader()
    rest = others(zk_ensemble, leader)
    with rivals(zk_path, host(zk_ensemble, leader), host(zk_ensemble, *rest)) as pairs:
        with cut(zk_ensemble, leader):
            for node in rest:
                zk_ensemble.kill(node)
            for node in rest:
                zk_ensemble.restart(node)
            await_handover(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("known", ["one", "three"])
def test_the_leader_is_killed(zk_ensemble: LocalEnsemble, zk_path: str, known: str) -> None:
    """Whoever knows another server keeps its hold, or loses it; never two."""
    leader = zk_ensemble.leader()
    hosts = host(zk_ensemble, leader) if known == "one" else zk_ensemble.hosts
    rest = host(zk_ensemble, *others(zk_ensemble, leader))
    with rivals(zk_path, hosts, rest) as pairs:
        zk_ensemble.kill(leader)
        try:
            if known == "one":
                await_handover(pairs)
            else:
                time.sleep(1.5 * max(TIMEOUTS))
        finally:
            zk_ensemble.restart(leader)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize("seconds", [1.0, 12.0], ids=["briefly", "for long"])
def test_a_server_is_paused(
    zk_ensemble: LocalEnsemble, zk_path: str, who: str, seconds: float
) -> None:
    """Within the timeouts and beyond them."""
    leader = zk_ensemble.leader()
    node = leader if who == "leader" else others(zk_ensemble, leader)[0]
    rest = host(zk_ensemble, *others(zk_ensemble, node))
    with rivals(zk_path, host(zk_ensemble, node), rest) as pairs:
        with paused(zk_ensemble, node):
            time.sleep(seconds)
        time.sleep(2.0)
        for pair in pairs:
            if seconds > pair.timeout:
                await_handover([pair])


@pytest.mark.slow
def test_a_slow_link(zk_ensemble: LocalEnsemble, zk_hosts: str, zk_path: str) -> None:
    """Delays of a twentieth of the timeout lose no hold."""
    with Proxy(zk_hosts) as proxy, rivals(zk_path, proxy.hosts, zk_hosts) as pairs:
        proxy.delay(0.05)  # each way
        time.sleep(1.5 * max(TIMEOUTS))
        assert [pair.holds[0].valid for pair in pairs] == [True] * len(pairs)


@pytest.mark.slow
def test_a_slower_link_where_the_tick_is_known(zk_hosts: str, zk_path: str) -> None:
    """Round trips of a tenth of the timeout lose a hold, unless the servers' tick is given."""
    timeout, ticks = 10.0, (0.5, None)  # the first is that of the tests' servers
    with Proxy(zk_hosts) as proxy, ExitStack() as stack:
        proxy.delay(0.05 * timeout)  # each way
        sessions = [
            stack.enter_context(
                zkkit.connect(proxy.hosts, timeout=timeout, tick=tick, connect_timeout=60.0)
            )
            for tick in ticks
        ]
        known, unknown = (
            zkkit.ReentrantLock(session, f"{zk_path}/{number}").acquire()
            for number, session in enumerate(sessions)
        )
        throughout(lambda: known.valid, 1.5 * timeout)
        assert not unknown.valid


@pytest.mark.slow  # quickly: tests/locks/test_lapsed.py
@pytest.mark.parametrize("idle", [2, 10])
def test_a_grant_is_valid_at_once_in_an_idle_session(
    zk_hosts: str, zk_path: str, idle: int
) -> None:
    """After so many timeouts of silence."""
    with zkkit.connect(zk_hosts, timeout=1.0) as session:
        lock = zkkit.ReentrantLock(session, zk_path)
        time.sleep(idle * session.timeout)
        with lock as hold:
            assert hold.valid
