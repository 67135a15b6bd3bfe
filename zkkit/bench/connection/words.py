"""How fast the connection is, in words: the title, the tables, the text beside the picture.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from zkkit.bench.connection.figures import ConnectionFigure, ConnectionResults
from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import AT_ONCE, PIPELINED, ROUND_TRIP, SESSION_KAZOO
from zkkit.bench.kit.tables import FigureTable
from zkkit.bench.peers.comparison import (
    KAZOO,
    ZKKIT,
    conditions_of,
    saturated_note,
    times_as,
    told_ratio,
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


def alt_text(results: ConnectionResults) -> str:
    """What the picture shows, for those who do not see it."""
    parts = [f"{title(results)}. How much faster than kazoo, with an interval;"]
    for figure in results.figures:
        ratios = ", ".join(f"{n} {told_ratio(r)}" for n, r in figure.ratios.items())
        parts.append(f"{figure.row.name}: {ratios};")
    return " ".join(parts).rstrip(";") + "."


# --- tables -----------------------------------------------------------------------------


def tables(results: ConnectionResults) -> Iterator[FigureTable]:
    """All tables."""
    yield _speed(results)
    yield _cpu(results)
    if results.idle:
        yield _idle(results)


def _speed(results: ConnectionResults) -> FigureTable:
    peers = results.plan.peers
    ours = [peer for peer in peers if peer != KAZOO]
    rows = [
        (
            figure.row.name,
            *(_value(figure, peer) for peer in peers),
            *(told_ratio(figure.ratios.get(peer)) for peer in ours),
        )
        for figure in results.figures
    ]
    starred = any(number for f in results.figures for number in f.saturated.values())
    notes = [*LEGEND, *([saturated_note("connection")] if starred else [])]
    head = ("operation", *peers, *(f"{peer} : kazoo" for peer in ours))
    return FigureTable("Speed", head, rows, notes)


def _value(figure: ConnectionFigure, peer: str) -> str:
    star = "*" if figure.saturated[peer] else ""
    return f"{figure.values[peer].median:,.0f}{star} {figure.row.unit}"


def _cpu(results: ConnectionResults) -> FigureTable:
    peers = results.plan.peers
    rows = [
        (figure.row.name, *(_us(figure.client_us[peer]) for peer in peers))
        for figure in results.figures
    ]
    return FigureTable("CPU", ("operation", *peers), rows, CPU_LEGEND)


def _us(microseconds: float | None) -> str:
    return "?" if microseconds is None else f"{microseconds:,.0f}"


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


def conditions(results: ConnectionResults) -> dict[str, str]:
    """What the figures were measured on, and how."""
    ratios = [ratio for figure in results.figures for ratio in figure.ratios.values()]
    return conditions_of(results.head, results.plan, results.versions, (), ratios)
