"""A client that goes by the real rule never says valid of an expired session; weaker rules do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zkkit.session.clock import Proof
from zkkit.show.sim_story import draw
from zkkit.sim import Story
from zkkit.sim.expiry import WEAKER, ClockModel, RealRule, calm, try_rule, weaker_rule
from zkkit.sim.expiry.rules import (
    ForgetsNothing,
    RealRuleAtAnyTime,
    SyncThenWrite,
    ThreeSyncs,
)
from zkkit.sim.names import NoSuchName

ONE_LEADER = ClockModel(elections=0, breaks=0)
each_weaker = pytest.mark.parametrize(
    "weaker",
    [
        pytest.param(
            each, id=each.name, marks=[pytest.mark.slow] if each.name == "GapOfHalfATick" else []
        )
        for each in WEAKER
    ],
)
"""All weaker rules; the one that takes the most states not every day."""


# --- the real rule ----------------------------------------------------------------------------


def test_the_rule_of_real_sessions_holds():
    """Whatever is delayed, cut off or deposed, and for all time."""
    assert issubclass(RealRule, Proof)
    verdict = try_rule(RealRule, ClockModel(elections=1, breaks=0))
    assert verdict.holds, verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "ensemble"),
    [
        (RealRule, ClockModel()),
        (RealRule, ClockModel(timeout=8, half_tick=2, gap=3, elections=0, breaks=0, near=True)),
        (RealRule, ClockModel(timeout=7, late=1, gap=3, elections=0, breaks=0, near=True)),
        (RealRuleAtAnyTime, ClockModel(elections=1, breaks=0, near=True)),
    ],
    ids=str,
)
def test_the_rule_of_real_sessions_holds_within_wider_bounds(rule, ensemble):
    """Both faults, finer time, late pings; and whatever the client sends, at any time."""
    verdict = try_rule(rule, ensemble)
    assert verdict.holds, verdict


@pytest.mark.slow
def test_the_rule_in_short_holds():
    """It is what the weaker ones differ from."""
    verdict = try_rule(SyncThenWrite, ClockModel(near=True))
    assert verdict.holds, verdict


@pytest.mark.slow
def test_it_needs_pings_that_are_in_time():
    """If a leader's ping may be as late as the gap is longer than half a tick, the rule breaks:
    that is what it assumes."""
    assert try_rule(RealRule, replace(ONE_LEADER, late=1, near=True)).holds is False


@pytest.mark.parametrize("rule", [RealRule, SyncThenWrite])
def test_without_faults_valid_stays_true(rule):
    """Through a hundred beats. A timeout of twice the gap is too short for that: the price."""
    assert calm(rule, ONE_LEADER, 200) == [True] * 200
    assert len(calm(rule, replace(ONE_LEADER, timeout=4), 200)) < 200


# --- weaker ones ------------------------------------------------------------------------------


@each_weaker
def test_a_weaker_rule_is_caught(weaker):
    """By the property it breaks; also where the leader expires sessions a whole tick later, as a
    real one that rounds up may."""
    verdict = try_rule(weaker.rule, weaker.ensemble)
    assert verdict.holds is False
    assert verdict.story.breaks == weaker.breaks
    tick = 2 * weaker.ensemble.half_tick
    assert try_rule(weaker.rule, replace(weaker.ensemble, grace=tick)).holds is False


@each_weaker
def test_it_says_what_is_wrong(weaker):
    """In sentences, for the table."""
    assert weaker.about.endswith(".") and "\n" not in weaker.about


@pytest.mark.slow
def test_three_syncs_hold_under_one_leader():
    """Only a deposed leader, which answers Syncs as well, breaks them."""
    weaker = weaker_rule("ThreeSyncs")
    verdict = try_rule(ThreeSyncs, replace(weaker.ensemble, elections=0))
    assert verdict.holds, verdict
    assert all(calm(ThreeSyncs, replace(weaker.ensemble, elections=0), 100))


@pytest.mark.slow
def test_to_forget_beats_with_the_connection_is_not_what_keeps_the_rule_safe():
    """A new connection is heard of by the leader, later than all beats before it."""
    verdict = try_rule(ForgetsNothing, ClockModel())
    assert verdict.holds, verdict


def test_an_unknown_rule_is_named():
    """With the one that was meant."""
    with pytest.raises(NoSuchName, match="no rule 'twosync'") as raised:
        weaker_rule("twosync")
    assert "TwoSyncs" in raised.value.hint


# --- the model --------------------------------------------------------------------------------


def test_sessions_do_expire():
    """As soon as they may: a unit earlier, and even the real rule would be caught."""
    verdict = try_rule(RealRule, replace(ONE_LEADER, grace=-1))
    assert verdict.story.breaks == "valid means alive"


def test_too_many_states_are_unknown():
    """That is no proof."""
    verdict = try_rule(RealRule, states=1000)
    assert verdict.holds is None


# --- stories ----------------------------------------------------------------------------------


def test_a_cut_off_follower_answers_pings():
    """The story of the rule that most clients go by."""
    told = draw(try_rule(weaker_rule("Pings").rule, weaker_rule("Pings").ensemble).story).words
    assert "follower notes that the client is active, and answers the ping by itself" in told
    assert "leader pings the follower; nothing arrives" in told
    assert "leader has heard nothing of the session since 0, and expires it" in told
    assert "client believes it holds by /hold, which is not there" in told


def test_the_answer_to_a_ping_is_still_under_way():
    """Why two are not enough."""
    told = str(try_rule(weaker_rule("TwoSyncs").rule, weaker_rule("TwoSyncs").ensemble).story)
    assert "follower answers the ping: the client was active" in told
    assert "follower has answered a ping; that is still under way" in told


def test_a_deposed_leader_answers_syncs():
    """Why three are not enough."""
    told = str(try_rule(weaker_rule("ThreeSyncs").rule, weaker_rule("ThreeSyncs").ensemble).story)
    assert "FAULT: at 0 the others elect a new leader" in told
    assert told.count("leader answers the Sync, though it is deposed") == 3
    assert "new leader has heard nothing of the session since 0, and expires it" in told


def test_a_story_is_kept_and_drawn(tmp_path):
    """It is a story like any other."""
    story = try_rule(weaker_rule("NoLatch").rule, weaker_rule("NoLatch").ensemble).story
    story.save(tmp_path / "story.json")
    assert Story.load(tmp_path / "story.json") == story
    assert "says: lost" in draw(story).svg()
