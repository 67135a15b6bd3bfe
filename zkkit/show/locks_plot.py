"""The picture of how fast locks are: zkkit's rate over each other peer's, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zkkit.show import canvas
from zkkit.show.findings import Figure, Results
from zkkit.show.locks_findings import full_name, row_name, title
from zkkit.show.wording import lies, many

_ROW = 0.46  # inches
_LOOKS = {"kazoo": canvas.Look(canvas.ORANGE, "^"), "Curator": canvas.Look(canvas.BLUE, "o")}
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10)


def ratios_png(results: Results) -> bytes:
    """Ratios with their intervals, a line for each row."""
    figures = results["figures"]
    with canvas.style():
        figure = canvas.start(2.3 + _ROW * len(figures))
        height = figure.get_size_inches()[1]
        axes = figure.subplots()
        figure.subplots_adjust(left=0.22, right=0.97, top=1 - 1.0 / height, bottom=1.05 / height)
        heading = figure.text(
            canvas.MARGIN, 1 - 0.3 / height, title(results), fontweight="bold", va="center"
        )
        canvas.fit(figure, heading, largest=16)
        figure.text(
            canvas.MARGIN, 0.1 / height, _footer(results), fontsize=9, color=canvas.MUTED,
            va="bottom",
        )  # fmt: skip
        _draw_ratios(axes, figures)
        return canvas.as_png(figure)


def _draw_ratios(axes: Any, figures: Sequence[Figure]) -> None:
    others = list(dict.fromkeys(name for figure in figures for name in figure["ratios"]))
    for place, name in enumerate(others):
        look = _LOOKS[name]
        shift = (place - (len(others) - 1) / 2) * 0.3
        found = [(row, f["ratios"][name]) for row, f in enumerate(figures) if name in f["ratios"]]
        axes.errorbar(
            [ratio["median"] for _, ratio in found],
            [row + shift for row, _ in found],
            xerr=[
                [ratio["median"] - ratio["low"] for _, ratio in found],
                [ratio["high"] - ratio["median"] for _, ratio in found],
            ],
            color=look.colour, marker=look.marker, markersize=8.5, markeredgecolor="white",
            linestyle="none", elinewidth=1.8, capsize=4, zorder=3,
            label=f"zkkit : {full_name(name)}",
        )  # fmt: skip
    axes.axvline(1.0, color=canvas.INK, lw=1.4, zorder=2)
    axes.set_xscale("log")
    ticks = [t for t in _TICKS if _within(axes, t)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(figures)), [row_name(figure) for figure in figures])
    axes.set_ylim(len(figures) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("zkkit's rate over the other's (as fast: 1; to the right zkkit is faster)")
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.005, 1.0), ncols=len(others), frameon=False,
        handletextpad=0.3, borderaxespad=0.2,
    )  # fmt: skip


def _within(axes: Any, value: float) -> bool:
    low, high = axes.get_xlim()
    return bool(low <= value <= high)


def _footer(results: Results) -> str:
    plan, machine, ensemble = results["plan"], results["machine"], results["ensemble"]
    return (
        f"Points: median of {many(plan['repeats'], 'repeat')}; bars: interval of the median. "
        f"{', '.join(f'{name} {version}' for name, version in results['versions'].items())}.\n"
        f"{machine['cpu_count']} CPUs, {machine['python']}, {ensemble['size']} x ZooKeeper "
        f"{ensemble['zookeeper']}, data {lies(ensemble['medium'])}, seed {plan['seed']}."
    )
