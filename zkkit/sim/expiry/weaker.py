"""The weaker rules, each with an ensemble in which it is found out."""

from __future__ import annotations

import difflib
from typing import NamedTuple

from ...errors import ZkkitError
from . import rules
from .model import Ensemble
from .rules import ClockRule

_ONE_LEADER = Ensemble(elections=0, breaks=0)
_LONGER = Ensemble(timeout=6, elections=0, breaks=0)
_LOST = "lost is final"


class NoSuchRule(ZkkitError):
    """There is no weaker rule of this name."""


class WeakerRule(NamedTuple):
    """A rule with one mistake, and the least that brings it to light."""

    name: str
    rule: type[ClockRule]
    ensemble: Ensemble
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
    WeakerRule("ThreeSyncs", rules.ThreeSyncs, Ensemble(timeout=7, elections=1, breaks=0)),
    WeakerRule("TwoWrites", rules.TwoWrites, _LONGER),
    WeakerRule("TrustsTheLastWrite", rules.TrustsTheLastWrite, _ONE_LEADER),
    WeakerRule("TrustsAReconnect", rules.TrustsAReconnect, Ensemble(elections=1, breaks=1)),
    WeakerRule("NoLatch", rules.NoLatch, _ONE_LEADER, _LOST),
    WeakerRule(
        "GapOfHalfATick",
        rules.RealRule,
        Ensemble(gap=1, elections=0, breaks=0, near=True),
        mistake="The real rule with a gap of half a tick, no more. The leader's ping is due just "
        "then: the Sync may be faster.",
    ),
)


def weaker_rule(name: str) -> WeakerRule:
    """The one of this name."""
    names = {each.name.lower(): each for each in WEAKER}
    if name.lower() not in names:
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"do you mean {names[near[0]].name}? " if near else ""
        raise NoSuchRule(
            f"there is no rule {name!r}", hint=f"{hint}`zkkit sim clocks` lists them all"
        )
    return names[name.lower()]
