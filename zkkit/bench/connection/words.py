"""How fast the connection is, in words: the title, the tables, the text beside the picture.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from zkkit.bench.connection.figures import ConnectionFigure, ConnectionResults
from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import AT_ONCE, PIPELINED, ROUND_TRIP, SESSION_KAZOO
from zkkit.bench.kit.tables import FigureTable
from zkkit.bench.peers.cells import KAZOO, ZKKIT
from zkkit.bench.peers.comparison import (
    ComparedRatios,
    ComparisonWords,
    conditions_of,
    in_microseconds,
    speed_table,
    times_as,
)

LEGEND = (
    "median over the repeats. A ratio to kazoo says how much faster: of rates, or of times the",
    "other way round; above 1 kazoo is slower. In brackets an interval of the median, by order",
    "statistics.",
    f"pipelined: {AT_ONCE} requests of one session under way at once; sessions: one caller each;",
    f"{SESSION_KAZOO}: kazoo's own calls on zkkit's connection.",
)
CPU_LEGEND = ("CPU microseconds of the client's process for one operation, over all repeats.",)
IDLE_LEGEND = ("what the sessions take over what the process takes without them.",)


def title(results: ConnectionResults) -> str:
    """The finding, in one line: what is asked."""
    found = {figure.row: figure.ratios.get(ZKKIT) for figure in results.figures}
    pipelined, alone = found.get(PIPELINED), found.get(ROUND_TRIP)
    if pipelined is None or alone is None:
        return "Nothing was measured"
    many = times_as("many pipelined operations", KAZOO, pipelined)
    return f"zkkit does {many}, and a round trip {times_as('fast', KAZOO, alone)}"


def in_words(results: ConnectionResults) -> ComparisonWords:
    """All that is said about the results."""
    figures = results.figures
    ratios = ComparedRatios(
        [(figure.row.name, figure.ratios) for figure in figures],
        "how much faster than kazoo",
        above="kazoo is slower",
        beside=KAZOO,
        asked={f.row.name: f.row.asked for f in figures if f.row.asked is not None},
    )
    return ComparisonWords(title(results), ratios, tuple(_tables(results)), conditions_of(results))


# --- tables -----------------------------------------------------------------------------


def _tables(results: ConnectionResults) -> Iterator[FigureTable]:
    peers = results.plan.peers
    yield speed_table(
        "operation",
        peers,
        {peer: f"{peer} : kazoo" for peer in peers if peer != KAZOO},
        [
            (figure.row.name, [_value(figure, peer) for peer in peers], figure.ratios)
            for figure in results.figures
        ],
        LEGEND,
    )
    yield _cpu(results)
    if results.idle:
        yield _idle(results)


def _value(figure: ConnectionFigure, peer: str) -> str:
    star = "*" if figure.saturated[peer] else ""
    return f"{figure.values[peer].median:,.0f}{star} {figure.row.unit}"


def _cpu(results: ConnectionResults) -> FigureTable:
    peers = results.plan.peers
    rows = [
        (figure.row.name, *(in_microseconds(figure.client_us[peer]) for peer in peers))
        for figure in results.figures
    ]
    return FigureTable("CPU", ("operation", *peers), rows, CPU_LEGEND)


def _idle(results: ConnectionResults) -> FigureTable:
    head = ("in one process", "threads", "open files", "memory, MB", "kB for each")
    rows = [(f"{one.sessions:,} sessions, {one.peer}", *_taken(one)) for one in results.idle]
    why = [f"{one.peer}: {one.failed}" for one in results.idle if one.failed]
    return FigureTable("Idle sessions", head, rows, [*IDLE_LEGEND, *why])


def _taken(one: IdleFootprint) -> tuple[str, ...]:
    took = one.took
    if took is None:
        return ("?",) * 4
    each = f"{took.memory / one.sessions / 1e3:,.0f}"
    return f"{took.threads:,}", f"{took.files:,}", f"{took.memory / 1e6:,.1f}", each
