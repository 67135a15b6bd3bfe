"""The picture of a comparison: ratios between peers, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.bench.kit import ground
from zkkit.bench.peers.cells import ASYNCIO, CURATOR, KAZOO, ZKKIT
from zkkit.bench.peers.comparison import ComparedRatios, ComparisonWords
from zkkit.bench.peers.figures import ComparisonResults
from zkkit.show import canvas
from zkkit.show.wording import many

_ROW = 0.46  # inches
_LETTER = 0.0086  # of a row's name, as a part of the width
_LOOKS = {
    KAZOO: canvas.Style(canvas.ORANGE, "^"),
    CURATOR: canvas.Style(canvas.BLUE, "o"),
    ZKKIT: canvas.Style(canvas.BLUE, "o"),
    ASYNCIO: canvas.Style(canvas.GREEN, "s"),
}
_OTHER = canvas.Style(canvas.PINK, "D")
_FILLS = (
    (canvas.BLUE, ""), (canvas.GREEN, "//"), (canvas.PINK, ".."), (canvas.ORANGE, "\\\\"),
    (canvas.MUTED, ""), (canvas.YELLOW, "xx"),
)  # fmt: skip
_NAMED = 0.05  # a part that is smaller has no room for its number
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)

ShareBars = Sequence[tuple[str, Mapping[str, float]]]
"""The name of each bar, and its parts."""


def ratios_png(results: ComparisonResults, said: ComparisonWords) -> bytes:
    """Ratios with their intervals, a line for each row."""
    names = [name for name, _ in said.ratios.rows]
    with canvas.style():
        figure, axes = _start(names, said.title, _footer(results))
        _draw(axes, said.ratios)
        axes.set_xlabel(said.ratios.axis)
        return canvas.as_png(figure)


def shares_png(
    bars: ShareBars,
    parts: Sequence[str],
    *,
    title: str,
    footer: str,
    axis: str,
) -> bytes:
    """One bar below the other, each of the same parts, which make 1 together."""
    with canvas.style(**{"hatch.linewidth": 0.6}):
        figure, axes = _start([name for name, _ in bars], title, footer)
        _stack(axes, bars, parts)
        axes.set_xlabel(axis)
        return canvas.as_png(figure)


def _stack(axes: Any, bars: ShareBars, parts: Sequence[str]) -> None:
    left = [0.0] * len(bars)
    for part, (colour, hatch) in zip(parts, _FILLS, strict=False):
        widths = [shares.get(part, 0.0) for _, shares in bars]
        drawn = axes.barh(
            range(len(bars)), widths, left=left, height=0.66, color=colour, hatch=hatch,
            edgecolor="white", label=part, zorder=3,
        )  # fmt: skip
        said = [f"{width:.0%}" if width >= _NAMED else "" for width in widths]
        axes.bar_label(
            drawn, said, label_type="center", color="white", fontsize=10, fontweight="bold",
            zorder=4, bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(visible=False, axis="y")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.005, 1.0), ncols=len(parts), frameon=False,
        handletextpad=0.3, borderaxespad=0.2, columnspacing=1.0,
    )  # fmt: skip


def _start(names: Sequence[str], title: str, footer: str) -> tuple[Any, Any]:
    """A figure with a row for each of these names, and room for the longest."""
    figure = canvas.start(2.3 + _ROW * len(names))
    height = figure.get_size_inches()[1]
    axes = figure.subplots()
    left = max(0.22, 0.02 + _LETTER * max(map(len, names)))
    figure.subplots_adjust(left=left, right=0.97, top=1 - 1.0 / height, bottom=1.05 / height)
    canvas.caption(figure, title, footer, largest=16)
    return figure, axes


def _footer(results: ComparisonResults) -> str:
    """What the points are, and what they were measured on."""
    plan, head = results.plan, results.head
    return (
        f"Points: median of {many(plan.repeats, 'repeat')}; bars: interval of the median. "
        f"{', '.join(f'{name} {version}' for name, version in results.versions.items())}.\n"
        f"{ground.briefly(head)}, {ground.data(head)}, seed {plan.seed}."
    )


def _draw(axes: Any, drawn: ComparedRatios) -> None:
    rows, asked = drawn.rows, drawn.asked
    others = list(dict.fromkeys(name for _, ratios in rows for name in ratios))
    for place, name in enumerate(others):
        look = _LOOKS.get(name, _OTHER)
        shift = (place - (len(others) - 1) / 2) * 0.6 / len(others)
        found = [(row, ratios[name]) for row, (_, ratios) in enumerate(rows) if name in ratios]
        axes.errorbar(
            [ratio.median for _, ratio in found],
            [row + shift for row, _ in found],
            xerr=[
                [ratio.median - ratio.low for _, ratio in found],
                [ratio.high - ratio.median for _, ratio in found],
            ],
            color=look.colour, marker=look.marker, markersize=8.5, markeredgecolor="white",
            linestyle="none", elinewidth=1.8, capsize=4, zorder=3,
            label=drawn.label(name),
        )  # fmt: skip
    goals = [(asked[name], row) for row, (name, _) in enumerate(rows) if name in asked]
    if goals:
        axes.plot(
            [goal for goal, _ in goals], [row for _, row in goals], color=canvas.INK, marker="|",
            markersize=20, markeredgewidth=2, linestyle="none", zorder=2.5, label="asked",
        )  # fmt: skip
    axes.axvline(1.0, color=canvas.INK, lw=1.4, zorder=2)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.005, 1.0), ncols=len(others) + 1, frameon=False,
        handletextpad=0.3, borderaxespad=0.2,
    )  # fmt: skip
