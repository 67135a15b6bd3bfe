"""Verdicts: what an exploration found, and how far that can be trusted.

holds      nothing asked about is broken in any state within the bounds, and all goals were met
broken     something is: with a story for each broken property
vacuous    nothing is broken, and a goal was never met: nobody did what all this is about
unknown    the budget of states or seconds was used up, or these were random walks; or a goal was
           not met, and not everything was explored
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Literal

from .story import Story

_WHY_NOT = {
    "deadline": "no script stands in a Within",
    "reap": "no container is emptied, no node has a TTL",
    "pause": "nobody is granted anything",
    "lapse": "nobody is granted anything",
    "lag": "nobody writes while another one reads",
    "request lost": "nobody asks for anything",
    "reply lost": "nobody asks for anything",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an exploration found. `holds` is None where it cannot be known."""

    holds: bool | None
    states: int
    events: int
    seconds: float
    bounds: str
    asked: tuple[str, ...]
    """The names of the properties and goals that were asked about."""
    stories: tuple[Story, ...] = ()
    """One for each property that was found broken, the gravest first: as they were asked about."""
    complete: str = "all explored"
    """Or "bounded": by preemptions, by walks, or since enough was found; or "given up"."""
    unmet: tuple[str, ...] = ()
    """The names of the goals that were not reached."""
    could_strike: tuple[str, ...] = ()
    """The kinds of faults that could happen somewhere in what was explored ..."""
    could_not_strike: tuple[str, ...] = ()
    """... and those that were asked for, and never could."""
    whom: tuple[str, ...] = ()
    """The names of the actors that faults were to strike; all, if none is named."""
    stood_still: tuple[str, ...] = ()
    """The steps that scripts took and that gave 0 each time: Now, Random. What they would do with
    another number was not explored."""

    @property
    def story(self) -> Story | None:
        """The gravest one."""
        return self.stories[0] if self.stories else None

    @property
    def outcome(self) -> Literal["holds", "broken", "vacuous", "unknown"]:
        """The verdict in a word."""
        if self.holds is None:
            return "unknown"
        if self.holds:
            return "holds"
        return "vacuous" if self.unmet and not self.stories else "broken"

    def __str__(self) -> str:
        lines = [
            f"{self.outcome}: {self.states:,} states in {self.seconds:.2f} s, {self.complete} "
            f"({self.bounds})"
        ]
        if self.unmet and not self.stories:
            how = "never" if self.outcome == "vacuous" else "not"
            lines.append(f"{how} reached: {', '.join(self.unmet)}")
        asked = "; ".join(self.asked) or "only whether scripts keep the rules"
        lines.append(fill(f"asked: {asked}", 100, subsequent_indent="    "))
        if self.could_strike:
            lines.append(f"faults that could strike: {', '.join(self.could_strike)}")
        if self.could_not_strike:
            never = [
                # The reasons are true of all actors together.
                f"{kind} ({_WHY_NOT[kind]})" if kind in _WHY_NOT and not self.whom else kind
                for kind in self.could_not_strike
            ]
            how = "never could" if self.complete == "all explored" else "did not come up"
            whom = f" (for {' and '.join(self.whom)})" if self.whom else ""
            lines.append(f"faults that {how}{whom}: {', '.join(never)}")
        if self.stood_still:
            lines.append(
                f"gave 0 each time, and nothing else was tried: {', '.join(self.stood_still)}"
            )
        if len(self.stories) > 1:
            lines.append(f"broken: {', '.join(story.breaks for story in self.stories)}")
        return "\n".join([*lines, *map(str, self.stories[:1])])
