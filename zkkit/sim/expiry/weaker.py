"""The weaker rules, each with an ensemble in which it is found out."""

from __future__ import annotations

from typing import NamedTuple

from ..names import by_name
from . import rules
from .model import ClockModel
from .rules import ClockRule

_ONE_LEADER = ClockModel(elections=0, breaks=0)
_LONGER = ClockModel(timeout=6, elections=0, breaks=0)
_LOST = "lost is final"


class WeakerRule(NamedTuple):
    """A rule with one mistake, and the least that brings it to light."""

    name: str
    rule: type[ClockRule]
    ensemble: ClockModel
    breaks: str = "valid means alive"
    mistake: str = ""

    @property
    def about(self) -> str:
        """The mistake in words."""
        return self.mistake or " ".join((self.rule.__doc__ or "").split())


WEAKER = (
    WeakerRule("Pings", rules.Pings, _ONE_LEADER),
    WeakerRule("OneSync", rules.OneSync, _ONE_LEADER),
    WeakerRule("TwoSyncs", rules.TwoSyncs, _LONGER),
    WeakerRule("ThreeSyncs", rules.ThreeSyncs, ClockModel(timeout=7, elections=1, breaks=0)),
    WeakerRule("TwoWrites", rules.TwoWrites, _LONGER),
    WeakerRule("TrustsTheLastWrite", rules.TrustsTheLastWrite, _ONE_LEADER),
    WeakerRule("TrustsAReconnect", rules.TrustsAReconnect, ClockModel(elections=1, breaks=1)),
    WeakerRule("NoLatch", rules.NoLatch, _ONE_LEADER, _LOST),
    WeakerRule(
        "GapOfHalfATick",
        rules.RealRule,
        ClockModel(gap=1, elections=0, breaks=0, near=True),
        mistake="The real rule with a gap of half a tick, no more. The leader's ping is due just "
        "then: the Sync may be faster.",
    ),
)


def weaker_rule(name: str) -> WeakerRule:
    """The one of this name."""
    return by_name(WEAKER, name, "there is no rule", "zkkit sim clocks")
