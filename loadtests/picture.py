"""The picture of a load test: fires, handoffs and throughput of each design, side by side.

One row for each design and number of users; one mark for each run, with the colour and the shape
that zkkit's other pictures give the design.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadtests import words
from loadtests.words import Results
from zkkit.show import canvas
from zkkit.show.wording import lies, many, milliseconds

Run = Mapping[str, Any]


def png(results: Results) -> bytes:
    """1600 pixels wide, on white."""
    with canvas.style():
        return canvas.as_png(_draw(results))


def _draw(results: Results) -> Any:
    rows = [(line["design"], line["users"]) for line in results["figures"]]
    height = 2.75 + 0.6 * len(rows)
    figure = canvas.start(height)
    panels = figure.subplots(1, 3, sharey=True)
    figure.subplots_adjust(
        left=0.15, right=0.965, top=1 - 0.98 / height, bottom=1.25 / height, wspace=0.16
    )
    heading = figure.text(
        canvas.MARGIN, 1 - 0.3 / height, words.title(results), fontweight="bold", va="center"
    )
    canvas.fit(figure, heading, largest=17)
    figure.text(canvas.MARGIN, 0.08 / height, _footer(results), fontsize=9, color=canvas.MUTED)
    _prepare(panels[0], rows)
    _panel(panels[0], results, rows, "Watches fired", "fires per acquisition", _fires)
    _panel(
        panels[1], results, rows, "Handoff", "from release to next grant (ms)", _p50, milliseconds
    )
    _tails(panels[1], results, rows)
    _panel(panels[2], results, rows, "Throughput", "acquisitions per second", _rate)
    return figure


def _prepare(axes: Any, rows: Sequence[tuple[str, int]]) -> None:
    looks = canvas.looks([design for design, _ in rows])
    axes.set_yticks(
        range(len(rows)), [f"{design}\n{many(users, 'user')}" for design, users in rows]
    )
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for label, (design, _) in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(looks[design].colour)
        label.set_fontweight("bold")


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _panel(
    axes: Any,
    results: Results,
    rows: Sequence[tuple[str, int]],
    heading: str,
    unit: str,
    value: Callable[[Run], float | None],
    say: Callable[[float], str] = _short,
) -> None:
    looks = canvas.looks([design for design, _ in rows])
    most = 0.0
    for place, row in enumerate(rows):
        found = [v for run in _of(results, row) if (v := value(run)) is not None]
        if not found:
            continue
        look, middle = looks[row[0]], statistics.median(found)
        axes.barh(place, middle, height=0.34, color=look.colour, alpha=0.22, zorder=1)
        axes.plot(
            found,
            [place] * len(found),
            look.marker,
            color=look.colour,
            markersize=8.5,
            markeredgecolor="white",
            clip_on=False,
            zorder=3,
        )
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


def _tails(axes: Any, results: Results, rows: Sequence[tuple[str, int]]) -> None:
    """The 99th percentiles, as open marks: a mean hides them."""
    looks = canvas.looks([design for design, _ in rows])
    most = axes.get_xlim()[1]
    for place, row in enumerate(rows):
        for run in _of(results, row):
            if run["handoff_ms"] is None:
                continue
            tail, look = run["handoff_ms"]["p99"], looks[row[0]]
            axes.plot(
                [run["handoff_ms"]["p50"], tail],
                [place] * 2,
                "-",
                color=look.colour,
                lw=1,
                zorder=2,
            )
            axes.plot(
                tail,
                place,
                look.marker,
                markersize=7.5,
                markerfacecolor="white",
                markeredgecolor=look.colour,
                clip_on=False,
                zorder=3,
            )
            most = max(most, tail * 1.12)
    axes.set_xlim(0, most)


def _of(results: Results, row: tuple[str, int]) -> list[Run]:
    return [run for run in results["runs"] if (run["design"], run["users"]) == row]


def _fires(run: Run) -> float | None:
    found = run["server_fires_each"] if run["server_fires_each"] is not None else run["fires_each"]
    return None if found is None else float(found)


def _p50(run: Run) -> float | None:
    return None if run["handoff_ms"] is None else float(run["handoff_ms"]["p50"])


def _rate(run: Run) -> float | None:
    return float(run["per_second"])


def _footer(results: Results) -> str:
    plan, machine, ensemble = results["plan"], results["machine"], results["ensemble"]
    saturated = sum(run["saturated"] for run in results["runs"])
    counted = "by us: the servers were silent" if results["silent"] else "by the servers"
    text = (
        "One mark per run; bars: their median. Handoff: filled median, open 99th percentile. "
        f"Fires counted {counted}.\n"
        f"Each hold at least {plan['hold_ms']:g} ms. Data {lies(ensemble['medium'])}. "
        f"{machine['cpu_count']} CPUs, {machine['python']}, "
        f"{ensemble['size']} x ZooKeeper {ensemble['zookeeper']}."
    )
    if saturated:
        text += (
            f"\nIn {saturated} of {len(results['runs'])} runs the client's CPU was saturated: "
            "their times are the interpreter's."
        )
    return text
