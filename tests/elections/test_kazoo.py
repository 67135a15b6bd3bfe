"""What kazoo's Election promises, asked of it and of LeaderSelector. Where kazoo's fails it is an
expected failure with the number of its issue: slow, since it fails by letting a time pass."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.elections.kinds import Duty
from zkkit.testing import eventually, expire_session


class KazooElection:
    """kazoo's Election, as far as it can be used like a selector."""

    def __init__(self, client: Any, path: str, duty: Duty, name: str) -> None:
        self._election = client.Election(path, name)
        self._duty = duty
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.stop = threading.Event()  # kazoo has nothing that would set it

    def _run(self) -> None:
        try:
            self._election.run(self._duty.blocking, self)
        except Exception:  # its session is gone
            pass

    def start(self) -> None:
        self._thread.start()

    def interrupt(self) -> None:
        self._election.cancel()

    def close(self) -> None:
        self._duty.go.set()
        self._election.cancel()

    def participants(self) -> list[Any]:
        return list(self._election.contenders())


def make(front: Any, session: Any, path: str, duty: Duty, name: str) -> Any:
    """A candidate, of zkkit's or of kazoo's."""
    if front.name == "kazoo":
        return KazooElection(session, path, duty, name)
    return duty.selector(session, path, id=name)


def ours_and(*kazoo_marks: Any) -> Any:
    """Run it over LeaderSelector on threads, and over kazoo's Election."""
    theirs = pytest.param("Election", marks=[pytest.mark.front("kazoo"), *kazoo_marks])
    ours = pytest.param("LeaderSelector", marks=pytest.mark.front("threads"))
    return pytest.mark.parametrize("whose", [ours, theirs])


def breaks(reason: str) -> list[Any]:
    return [pytest.mark.slow, pytest.mark.xfail(strict=True, reason=reason, raises=AssertionError)]


@pytest.fixture
def duties(front):
    """What each of two leaders does; both are let go in the end."""
    duties = [Duty(front), Duty(front)]
    yield duties
    for duty in duties:
        duty.go.set()


@pytest.fixture
def candidates(front, duties, open_session, zk_path):
    """Two of them: the first leads, the second waits."""
    names = ("one", "two")
    first, second = (
        make(front, open_session(), zk_path, duty, name)
        for duty, name in zip(duties, names, strict=True)
    )
    front.call(lambda: first.start())
    duties[0].runs(1)
    front.call(lambda: second.start())
    eventually(lambda: len(front.call(lambda: first.participants())) == 2)
    yield [first, second]
    for each in (first, second):
        front.call(lambda each=each: each.close())


@ours_and()
def test_one_after_the_other(front, whose, candidates, duties):
    """The second leads when the first one's function has returned (test_election)."""
    assert duties[1].terms == []
    duties[0].go.set()
    duties[1].runs(1)
    assert duties[0].running == 0


@pytest.mark.defect("K-19")
@ours_and(*breaks("K-19 (#116, #264): the leader is not told, and a second one runs beside it"))
def test_the_leaders_session_expires(front, whose, candidates, duties, zk_hosts):
    """Its function is told, and ends; the next one leads."""
    session = candidates[0].session if whose == "LeaderSelector" else _client(candidates[0])
    expire_session(zk_hosts, session)
    duties[1].runs(1)
    eventually(lambda: duties[0].running == 0, 3)


@pytest.mark.defect("K-19")
@ours_and(*breaks("K-19 (#432): cancel does not stop a function that runs"))
def test_a_leader_is_interrupted(front, whose, candidates, duties):
    """Its function is told, and ends; the next one leads."""
    front.call(lambda: candidates[0].interrupt())
    eventually(lambda: duties[0].running == 0, 3)
    duties[1].runs(1)


def _client(election: KazooElection) -> Any:
    return election._election.lock.client
