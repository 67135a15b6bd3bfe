"""The picture of a load test: fires, handoffs and throughput of each design, side by side.

One row for each design and number of users; one mark for each run, with the colour and the shape
that zkkit's other pictures give the design.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from loadtests import words
from loadtests.figures import StepFigure
from loadtests.results import LoadResults
from zkkit.bench.kit import ground
from zkkit.show import canvas
from zkkit.show.wording import many, milliseconds


def png(results: LoadResults) -> bytes:
    """1600 pixels wide, on white."""
    with canvas.style():
        return canvas.as_png(_draw(results))


class _Row(NamedTuple):
    """The runs of one design with one number of users."""

    label: str
    look: canvas.Style
    runs: list[StepFigure]


def _draw(results: LoadResults) -> Any:
    rows = _rows(results)
    height = 2.75 + 0.6 * len(rows)
    figure = canvas.start(height)
    fires, handoffs, throughput = figure.subplots(1, 3, sharey=True)
    figure.subplots_adjust(
        left=0.15, right=0.965, top=1 - 0.98 / height, bottom=1.25 / height, wspace=0.16
    )
    canvas.caption(figure, words.title(results), _footer(results))
    _prepare(fires, rows)
    _panel(fires, rows, "Watches fired", "fires per acquisition", _fires)
    _panel(handoffs, rows, "Handoff", "from release to next grant (ms)", _p50, milliseconds)
    _tails(handoffs, rows)
    _panel(throughput, rows, "Throughput", "acquisitions per second", lambda run: run.per_second)
    return figure


def _rows(results: LoadResults) -> list[_Row]:
    lines = results.figures
    looks = canvas.looks([line.design for line in lines])
    runs: dict[tuple[str, int], list[StepFigure]] = defaultdict(list)
    for run in results.runs:
        runs[run.design, run.users].append(run)
    return [
        _Row(f"{design}\n{many(users, 'user')}", looks[design], runs[design, users])
        for design, users in ((line.design, line.users) for line in lines)
    ]


def _prepare(axes: Any, rows: Sequence[_Row]) -> None:
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(row.look.colour)
        label.set_fontweight("bold")


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _panel(
    axes: Any,
    rows: Sequence[_Row],
    heading: str,
    unit: str,
    value: Callable[[StepFigure], float | None],
    say: Callable[[float], str] = _short,
) -> None:
    most = 0.0
    for place, (_, look, runs) in enumerate(rows):
        found = [v for run in runs if (v := value(run)) is not None]
        if not found:
            continue
        middle = statistics.median(found)
        axes.barh(place, middle, height=0.34, color=look.colour, alpha=0.22, zorder=1)
        for each in found:
            _mark(axes, each, place, look, size=8.5, fill=look.colour, edge="white")
        axes.annotate(
            say(middle),
            (0, place - 0.25),
            xytext=(5, 0),
            textcoords="offset points",
            color=look.colour,
            fontsize=10.5,
            fontweight="bold",
            va="bottom",
        )
        most = max(most, *found)
    axes.set_title(heading, loc="left", fontsize=12, pad=10)
    axes.set_xlabel(unit)
    axes.set_xlim(0, max(most * 1.12, 1e-9))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _tails(axes: Any, rows: Sequence[_Row]) -> None:
    """The 99th percentiles, as open marks: a mean hides them."""
    most = axes.get_xlim()[1]
    for place, (_, look, runs) in enumerate(rows):
        for handoff in (run.handoff_ms for run in runs if run.handoff_ms is not None):
            ends = [handoff.p50, handoff.p99]
            axes.plot(ends, [place] * 2, "-", color=look.colour, lw=1, zorder=2)
            _mark(axes, handoff.p99, place, look, size=7.5, fill="white", edge=look.colour)
            most = max(most, handoff.p99 * 1.12)
    axes.set_xlim(0, most)


def _mark(
    axes: Any, x: float, y: float, look: canvas.Style, *, size: float, fill: str, edge: str
) -> None:
    axes.plot(
        x,
        y,
        look.marker,
        markersize=size,
        markerfacecolor=fill,
        markeredgecolor=edge,
        clip_on=False,
        zorder=3,
    )


def _fires(run: StepFigure) -> float | None:
    return run.fires_each if run.server_fires_each is None else run.server_fires_each


def _p50(run: StepFigure) -> float | None:
    return None if run.handoff_ms is None else run.handoff_ms.p50


def _footer(results: LoadResults) -> str:
    saturated = sum(run.saturated for run in results.runs)
    counted = "by us: the servers were silent" if results.silent else "by the servers"
    text = (
        "One mark per run; bars: their median. Handoff: filled median, open 99th percentile. "
        f"Fires counted {counted}.\n"
        f"Each hold at least {results.plan.hold_ms:g} ms. "
        f"{ground.data(results.head).capitalize()}. {ground.briefly(results.head)}."
    )
    if saturated:
        text += (
            f"\nIn {saturated} of {len(results.runs)} runs the client's CPU was saturated: "
            "their times are the interpreter's."
        )
    return text
