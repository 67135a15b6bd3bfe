"""How fast locks are, in words: the title, the tables, the text beside the picture.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from zkkit.bench.kit.tables import FigureTable
from zkkit.bench.locks.figures import LockFigure, LocksResults, PeerFigure
from zkkit.bench.locks.layers import LayerShares
from zkkit.bench.peers.cells import ASYNCIO, OURS, ZKKIT
from zkkit.bench.peers.comparison import (
    ComparedRatios,
    ComparisonWords,
    conditions_of,
    in_microseconds,
    speed_table,
    times_as,
)
from zkkit.bench.peers.layers import LAYERS
from zkkit.show.wording import many

LEGEND = (
    "acquisitions in a second, median over the repeats; zkkit : other is the ratio of these rates,",
    "above 1 zkkit is faster; in brackets an interval of the median, by order statistics.",
)
CPU_LEGEND = (
    "CPU microseconds for one acquire and release, over all repeats; client busy: of one core;",
    "machine busy: of all cores, by this client and the servers.",
)
THREADS_LEGEND = (
    "the client's CPU microseconds of the table above, by the kind of thread that used them;",
    "the rest of the time it waits for the servers.",
)
LAYERS_LEGEND = (
    "microseconds of the client's CPU, as above; the shares are of runs of their own, under a",
    "profile whose cost is taken off. docs/bench-locks.md says what each layer is.",
)
_SHOWN = 0.5  # microseconds; a thread that used less is not worth a number
_STALL = 1.0  # seconds that no acquire of a session alone takes while all is well


def title(results: LocksResults) -> str:
    """The finding, in one line: the mutex, where most sessions contend."""
    mutexes = _mutexes(results, ZKKIT)
    if not mutexes or not mutexes[-1].ratios:
        return "Nothing was measured"
    most = mutexes[-1]
    ratios = " and ".join(times_as("often", *one) for one in most.ratios.items())
    number = most.sessions
    where = f"With {number} sessions on one mutex" if number > 1 else "An uncontended mutex:"
    return f"{where} zkkit acquires {ratios}"


def _mutexes(results: LocksResults, subject: str) -> list[LockFigure]:
    return [f for f in results.figures if f.kind == "mutex" and f.subject == subject]


def in_words(results: LocksResults) -> ComparisonWords:
    """All that is said about the results."""
    rows = [(row_name(figure), figure.ratios) for figure in results.figures]
    ratios = ComparedRatios(rows, "zkkit's rate over the other's")
    alt_texts = {"layers.png": _layers_in_words(results)} if results.layers else {}
    warmed = ", ".join(f"{name} {number:,}" for name, number in results.warmed.items())
    conditions = {
        "warm-up": f"acquisitions before anything counts: {warmed}",
        **conditions_of(results, ", nothing done while holding"),
    }
    return ComparisonWords(title(results), ratios, tuple(_tables(results)), conditions, alt_texts)


def _layers_in_words(results: LocksResults) -> str:
    parts = [
        f"{layers_name(one)}: "
        + ", ".join(f"{layer} {share:.0%}" for layer, share in one.shares().items())
        for one in results.layers
    ]
    return f"{layers_title(results)}. Shares of CPU time by layer; {'; '.join(parts)}."


# --- tables -----------------------------------------------------------------------------


def _tables(results: LocksResults) -> Iterator[FigureTable]:
    others = [peer for peer in results.plan.peers if peer not in OURS]
    speed = speed_table(
        "lock",
        [f"{peer} /s" for peer in (ZKKIT, *others)],
        {peer: f"zkkit : {peer}" for peer in others},
        [
            (
                row_name(figure),
                [_rate(figure.peers[peer]) for peer in (figure.subject, *others)],
                figure.ratios,
            )
            for figure in results.figures
        ],
        LEGEND,
    )
    yield speed._replace(notes=[*speed.notes, *_stalls(results)])
    yield _cpu(results)
    if any(peer.thread_us for f in results.figures for peer in f.peers.values()):
        yield _threads(results)
    if results.layers:
        yield _layers(results)


def _stalls(results: LocksResults) -> Iterator[str]:
    """Where a session alone stood still: the rate of that one cell tells nothing."""
    for run in results.runs:
        longest, turn = max(run.longest_acquire, run.longest_release), run.turn
        if turn.row.sessions == 1 and longest > _STALL:
            yield (
                f"{turn.peer} stood still for {longest:.1f} s at {turn.row.kind.name}, "
                f"repeat {turn.repeat + 1}: see ZOOKEEPER-4537 in docs/bench-locks.md."
            )


def _cpu(results: LocksResults) -> FigureTable:
    servers = sorted(
        {name for f in results.figures for p in f.peers.values() for name in p.server_us}
    )
    head = ("lock", "client", *servers, "client busy", "machine busy")
    rows = [
        (
            f"{row_name(figure)}{'' if name == ASYNCIO else f', {name}'}",
            in_microseconds(peer.client_us),
            *(in_microseconds(peer.server_us[server]) for server in servers),
            _share(peer.client_share),
            _share(peer.machine_share),
        )
        for figure in results.figures
        for name, peer in figure.peers.items()
        if name == figure.subject or figure.subject == ZKKIT  # the others' are there once
    ]
    return FigureTable("CPU", head, rows, CPU_LEGEND)


def _threads(results: LocksResults) -> FigureTable:
    """The threads at work on a mutex: with one session, and with a middling number of them."""
    mutexes = _mutexes(results, ZKKIT)
    shown = [one.sessions for one in (mutexes[0], *mutexes[1:][len(mutexes[1:]) // 2 :][:1])]
    columns = [
        (f"{name}, {many(sessions, 'session')}", peer)
        for sessions in shown
        for subject in OURS
        for figure in _mutexes(results, subject)
        for name, peer in figure.peers.items()
        if figure.sessions == sessions and peer.thread_us
        if name == figure.subject or figure.subject == ZKKIT
    ]
    kinds = sorted(
        {kind for _, peer in columns for kind, used in peer.thread_us.items() if used >= _SHOWN},
        key=lambda kind: -sum(peer.thread_us.get(kind, 0.0) for _, peer in columns),
    )
    rows = [(kind, *(_part(kind, peer) for _, peer in columns)) for kind in kinds]
    head = ("threads", *(name for name, _ in columns))
    return FigureTable("Where the time goes, by thread", head, rows, THREADS_LEGEND)


# --- layers -----------------------------------------------------------------------------


def layers_title(results: LocksResults) -> str:
    """The finding: which layer has most of zkkit's CPU time where most sessions contend."""
    most = max(results.layers, key=lambda one: one.sessions)
    layer, share = max(most.shares().items(), key=lambda one: one[1])
    return f"{layers_name(most)}: the largest part of the CPU time is {layer}, {share:.0%}"


def layers_name(one: LayerShares) -> str:
    """One profiled run, for people."""
    return f"{one.peer}, {many(one.sessions, 'session')}"


def _layers(results: LocksResults) -> FigureTable:
    """The layers at work on a mutex, measured in runs of their own."""
    rows = [(layer, *(_layer(results, one, layer) for one in results.layers)) for layer in LAYERS]
    head = ("layer", *map(layers_name, results.layers))
    return FigureTable("Where the time goes, by layer of zkkit", head, rows, LAYERS_LEGEND)


def _layer(results: LocksResults, one: LayerShares, layer: str) -> str:
    share = one.shares().get(layer, 0.0)
    used = [
        figure.peers[one.peer].client_us
        for figure in _mutexes(results, one.peer)
        if figure.sessions == one.sessions
    ]
    return f"{used[0] * share:,.0f} ({share:.0%})" if used and used[0] else f"{share:.0%}"


def _part(kind: str, peer: PeerFigure) -> str:
    used, total = peer.thread_us.get(kind, 0.0), sum(peer.thread_us.values())
    return f"{used:,.0f} ({used / total:.0%})" if used >= _SHOWN else "-"


def _share(part: float | None) -> str:
    return "?" if part is None else f"{part:.0%}"


def _rate(peer: PeerFigure) -> str:
    return f"{peer.rate.median:,.0f}{'*' if peer.saturated else ''}"


def _sessions(one: LockFigure) -> str:
    return many(one.sessions, "session")


def row_name(figure: LockFigure) -> str:
    """One line of the comparison, for people."""
    alone = figure.sessions == 1
    kind = figure.kind if figure.subject == ZKKIT else f"{figure.kind} on asyncio"
    return f"{kind}, {'uncontended' if alone else _sessions(figure)}"
