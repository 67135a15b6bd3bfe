"""A comparison of peers, judged and in words: how zkkit does beside each of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.kit.statistics import Interval
from zkkit.bench.kit.tables import FigureTable
from zkkit.bench.peers.cells import CURATOR, ComparedSpeeds
from zkkit.bench.peers.figures import ComparisonResults
from zkkit.show.wording import many

_ALIKE = 1.25  # an interval that goes further does not make peers alike
_SURE = 0.9  # an interval of less confidence makes a title say "about"


class ComparedRatios(NamedTuple):
    """Ratios to be drawn, and what they are."""

    rows: Sequence[tuple[str, Mapping[str, Interval]]]
    """The name of each row, and a ratio for each peer that is compared."""
    what: str
    """What the ratios are; `above` says what is so where they are above 1."""
    above: str = "zkkit is faster"
    beside: str = ""
    """Beside which peer each of the others is; if none, zkkit is beside each of them."""
    asked: Mapping[str, float] = MappingProxyType({})
    """Which ratio is wanted, by the name of the row."""

    @property
    def axis(self) -> str:
        """What the axis shows."""
        return f"{self.what} (as fast: 1; to the right {self.above})"

    def label(self, peer: str) -> str:
        """Which ratio is that of a peer."""
        return f"{peer} : {self.beside}" if self.beside else f"zkkit : {full_name(peer)}"


class ComparisonWords(NamedTuple):
    """All that is said about the results of a comparison."""

    title: str
    """The finding, in one line."""
    ratios: ComparedRatios
    tables: Sequence[FigureTable]
    conditions: Mapping[str, str]
    """What the figures were measured on, and how."""
    alt_texts: Mapping[str, str] = MappingProxyType({})
    """What further pictures show, for those who do not see them; by file name."""

    def alt_text(self, picture: str) -> str:
        """What a picture shows."""
        if picture in self.alt_texts:
            return self.alt_texts[picture]
        lines = (
            f"{name}: {', '.join(f'{peer} {told_ratio(ratio)}' for peer, ratio in ratios.items())}"
            for name, ratios in self.ratios.rows
        )
        what = self.ratios.what
        return f"{self.title}. {what[0].upper()}{what[1:]}, with an interval; {'; '.join(lines)}."


def full_name(peer: str) -> str:
    """What people call a peer."""
    return "Java Curator" if peer == CURATOR else peer


def told_ratio(ratio: Interval | None) -> str:
    """A ratio with its interval, as text."""
    if ratio is None:
        return "?"
    return f"{ratio.median:.2f} ({ratio.low:.2f}..{ratio.high:.2f})"


def times_as(adverb: str, peer: str, ratio: Interval) -> str:
    """How zkkit compares with a peer, "1.50 times as often as kazoo", if the interval allows to say
    so. A wide interval with 1 in it does not say that they are alike: it is told itself."""
    if ratio.low <= 1 <= ratio.high:
        if ratio.low >= 1 / _ALIKE and ratio.high <= _ALIKE:
            return f"about as {adverb} as {full_name(peer)}"
        return f"{ratio.low:.2f} to {ratio.high:.2f} times as {adverb} as {full_name(peer)}"
    about = "" if ratio.confidence >= _SURE else "about "
    return f"{about}{ratio.median:.2f} times as {adverb} as {full_name(peer)}"


def speed_table(
    what: str,
    peers: Iterable[str],
    ratios: Mapping[str, str],
    lines: Iterable[tuple[str, Sequence[str], Mapping[str, Interval]]],
    notes: Iterable[str],
) -> FigureTable:
    """The table of all rows: the name of each, a figure of each of the peers, and the ratios.
    `ratios` are the heads of their columns, by peer; a star in a figure marks a saturated client;
    `what` is measured."""
    rows = [
        (name, *values, *(told_ratio(found.get(peer)) for peer in ratios))
        for name, values, found in lines
    ]
    if any("*" in text for row in rows for text in row):
        notes = [
            *notes,
            "* the client used over 90 % of one core: the figure tells more about the Python "
            f"interpreter than about the {what}.",
        ]
    return FigureTable("Speed", (what, *peers, *ratios.values()), rows, list(notes))


def in_microseconds(time: float | None) -> str:
    """CPU time as text, as tables have it."""
    return "?" if time is None else f"{time:,.0f}"


def doubted(speeds: ComparedSpeeds[Any, Any], what: str) -> Judgement | None:
    """What speaks against the cells, if anything does: that `what` is measured broke its promise,
    that the measuring was stopped, or that a cell is missing or void."""
    cells, planned = speeds.cells, len(speeds.plan)
    broken = [f"{cell.name}: {cell.broken}" for cell in cells if cell.broken]
    if broken:
        return Judgement("broken", f"A {what} is broken: {first_of(broken)}.")
    doubts = [f"{cell.name} is void: {cell.void}" for cell in cells if cell.void]
    if speeds.stopped:
        doubts.insert(0, speeds.stopped)
    elif len(cells) != planned:
        doubts.insert(0, f"{len(cells)} of {planned} cells were measured")
    return Judgement("unknown", f"Unknown: {first_of(doubts)}.") if doubts else None


def conditions_of(results: ComparisonResults, more: str = "") -> dict[str, str]:
    """What the figures were measured on, and how; `more`: what else belongs to the plan."""
    plan, versions, machine = results.plan, results.versions, results.head.machine
    clients = ", ".join(f"{name} {version}" for name, version in versions.items())
    java = f" or Java ({' '.join(results.peer_flags)})" if CURATOR in versions else ""
    sure = min((ratio.confidence for ratio in results.all_ratios()), default=None)
    how = {
        "client": f"{clients}; each in a process of its own, on {machine.python}{java}",
        "plan": f"{many(plan.repeats, 'repeat')} of {plan.seconds:g} s, "
        f"peers and rows ABBA, seed {plan.seed}{more}",
        "intervals": "none" if sure is None else f"sure to {sure:.0%}",
    }
    return facts(results.head, how)
