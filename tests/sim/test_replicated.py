"""The replicated cache: two holders after a failover, and where there are none."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.sim import NO_FAULTS, Story, contenders, explore, one, replay
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import NoLostWakeup, NoOverlap, of_a_lock
from zkkit.sim.replicated import ReplicatedStore, cache_contenders


def verdict_of(faults, count=2, **store):
    properties = [NoOverlap(), NoLostWakeup()]
    return explore(cache_contenders(count, **store), faults=faults, properties=properties)


@pytest.mark.parametrize("replicas", [1, 2])
def test_two_holders_after_a_failover(replicas):
    """Acknowledged, not yet replicated, and the primary fails: the next one finds no key."""
    story = verdict_of(one("failover"), replicas=replicas).story
    assert story.breaks == "holds never overlap"
    assert story.wrong == "two believe that they hold at once: A and B"
    assert [event[0] for event in story.events] == ["apply", "failover", "apply"]


def test_the_story_is_told_in_words():
    """What happened, to whom, and what A believes that is no longer so."""
    told = str(verdict_of(one("failover")).story)
    assert "A: set if absent /lock/primary" in told
    assert "FAULT: the primary fails, and /lock/replica-1 takes its place with what it has" in told
    assert "A believes" in told and "by /lock/primary, which is not there" in told


def test_the_story_can_be_kept_and_replayed(tmp_path):
    """From a file, in the same store, it comes to the same end; in another one it does not fit."""
    story = verdict_of(one("failover")).story
    story.save(tmp_path / "story.json")
    again = Story.load(tmp_path / "story.json")
    assert replay(again, cache_contenders(2), [NoOverlap()]) == story.wrong
    assert replay(again, cache_contenders(2, synchronous=True), [NoOverlap()]) is None


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("count", [2, 3])
def test_none_if_all_replicas_know_before_it_is_acknowledged(count, replicas):
    """The same failover with synchronous replication."""
    verdict = verdict_of(one("failover"), count, replicas=replicas, synchronous=True)
    assert verdict.holds, verdict


def test_none_without_a_failover():
    """Asynchronous replication alone does no harm: nobody reads the replicas."""
    verdict = verdict_of(NO_FAULTS, 3)
    assert verdict.holds, verdict


@pytest.mark.parametrize("fault", sorted({*KINDS} - {"expire", "pause"}))
def test_the_lock_script_itself_is_sound(fault):
    """It is not a mistake in the script: other faults do it no harm, and a crashed holder's lease
    runs out."""
    verdict = verdict_of(one(fault))
    assert verdict.holds, verdict


def test_a_lease_that_runs_out():
    """A holder that is slower than its lease meets the next one, however it is replicated; and
    ZooKeeper's lock does no better without a token."""
    assert verdict_of(one("pause"), synchronous=True).holds is False
    zookeeper = explore(contenders(ReentrantLock, 2), faults=one("pause"), properties=[NoOverlap()])
    assert zookeeper.holds is False


def test_an_ensemble_has_no_such_failover():
    """It is refused where it could never strike, instead of holding."""
    with pytest.raises(ValueError, match="no such fault in this world: failover; there are cancel"):
        explore(contenders(ReentrantLock, 2), of_a_lock(), faults=one("failover"))


def test_a_store_needs_a_replica():
    """Else there is nobody to take over."""
    with pytest.raises(ValueError, match="nobody to take over"):
        ReplicatedStore(replicas=0)
