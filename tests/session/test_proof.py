"""The proof that a session lives, with made-up times: a timeout of 10 and a gap of 3."""

from __future__ import annotations

import threading

import pytest

from zkkit.session.clock import Proof, gap_for


@pytest.fixture
def proof() -> Proof:
    """Of a session whose connect was sent at 0 and answered at 1."""
    return Proof(10.0, 3.0, sent_at=0.0, answered_at=1.0)


def test_a_new_session_is_proved_from_its_connect(proof: Proof) -> None:
    assert proof.holds(0, 9.9)
    assert not proof.holds(0, 10.0)


def test_an_answered_sync_alone_proves_nothing(proof: Proof) -> None:
    """A deposed leader answers Syncs."""
    for at in range(4, 100, 4):
        proof.synced(at, at + 0.1)
    assert proof.deadline == 10.0


def test_a_write_alone_proves_no_more_than_the_connect(proof: Proof) -> None:
    """It may be answered before the follower has told the leader that it heard of us."""
    for at in range(2, 10):
        proof.wrote(at, at + 0.1)
    assert proof.deadline == 10.0


def test_a_sync_and_then_a_write_prove_what_came_before_the_sync(proof: Proof) -> None:
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.3)
    proof.wrote(7.4, 7.5)
    assert proof.deadline == 4.0 + 10


def test_a_sync_too_soon_reaches_back_further(proof: Proof) -> None:
    """Less than the gap after the one before: the leader need not have pinged in between."""
    proof.synced(4.0, 4.1)
    proof.synced(7.0, 7.1)
    proof.wrote(7.2, 7.3)
    assert proof.deadline == 0.0 + 10
    proof.synced(7.2, 7.3)
    proof.wrote(7.4, 7.5)
    assert proof.deadline == 4.0 + 10


def test_a_write_sent_before_the_sync_was_answered(proof: Proof) -> None:
    """It may have overtaken the follower's answer to the ping."""
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.6)
    proof.wrote(7.4, 7.7)
    assert proof.deadline == 0.0 + 10


def test_what_a_write_would_prove(proof: Proof) -> None:
    assert proof.promise == 10.0
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.3)
    assert proof.promise == 14.0
    proof.wrote(7.4, 7.5)
    assert proof.deadline == proof.promise
    proof.disconnected()
    assert proof.promise == proof.deadline


def test_a_broken_connection_voids_what_was_begun(proof: Proof) -> None:
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.3)
    proof.disconnected()
    proof.wrote(7.4, 7.5)
    assert proof.deadline == 10.0
    proof.reconnected(8.0, 8.1)
    assert proof.deadline == 10.0
    proof.wrote(8.2, 8.3)
    assert proof.deadline == 18.0


def test_too_late_a_write_revives_nothing(proof: Proof) -> None:
    """What was granted before the lapse is lost; what is granted after it stands."""
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.3)
    proof.wrote(7.4, 10.0)
    assert not proof.holds(0, 10.1)
    assert proof.era == 1
    assert proof.holds(1, 13.9)
    assert not proof.holds(1, 14.0)


def test_once_asked_too_late_it_stays_lost(proof: Proof) -> None:
    proof.synced(4.0, 4.1)
    proof.synced(7.2, 7.3)
    assert not proof.holds(0, 10.0)
    proof.wrote(7.4, 9.0)  # by the clock of somebody who is slow to tell
    assert not proof.holds(0, 9.1)


@pytest.mark.concurrent
def test_no_answer_is_ever_taken_back() -> None:
    """Whoever was told no is not told yes afterwards, however asking and proving fall together."""
    for round_ in range(300):
        proof = Proof(10.0, 3.0, sent_at=0.0, answered_at=1.0)
        proof.synced(4.0, 4.1)
        proof.synced(7.2, 7.3)
        answers: list[bool] = []
        ready = threading.Barrier(2)

        def ask(proof: Proof = proof, answers: list[bool] = answers, ready: object = ready) -> None:
            ready.wait()  # type: ignore[attr-defined]
            answers.extend(proof.holds(0, 10.0 + n / 1000) for n in range(50))

        asking = threading.Thread(target=ask)
        asking.start()
        ready.wait()
        proof.wrote(7.4, 9.9)
        asking.join()
        assert answers == sorted(answers, reverse=True) or all(answers), round_


def test_the_gap_is_more_than_half_a_tick() -> None:
    """By default a server grants no timeout below two ticks."""
    assert gap_for(10.0, None) > 10.0 / 2 / 2
    assert gap_for(10.0, 0.5) > 0.5 / 2
