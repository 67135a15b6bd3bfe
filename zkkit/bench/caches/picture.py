"""The picture of two caches: the watches each sets, and the requests it sends for one change."""

from __future__ import annotations

from typing import Any

from zkkit.bench.caches.designs import CHANGES, CacheDesign
from zkkit.bench.caches.figures import CacheResults, title
from zkkit.bench.kit import ground
from zkkit.show import canvas
from zkkit.show.wording import many

_BAR = 0.36  # the height of a bar; a kind of change has 1


def compare_png(results: CacheResults) -> bytes:
    """The picture for results of a comparison of caches, 1600 pixels wide, on white."""
    with canvas.style():
        figure = canvas.start(canvas.HEIGHT)
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1, 1.25)})
        figure.subplots_adjust(left=0.065, right=0.97, top=0.775, bottom=0.2, wspace=0.85)
        canvas.caption(figure, title(results), _footer(results))
        looks = canvas.looks([design.name for design in results.plan.designs])
        _draw_watches(left, results, looks)
        _draw_requests(right, results, looks)
        return canvas.as_png(figure)


def _draw_watches(axes: Any, results: CacheResults, looks: dict[str, canvas.Style]) -> None:
    axes.set_title("Watches set to follow a tree", loc="left", fontsize=12.5, pad=28)
    axes.text(0, 1.03, "watches", transform=axes.transAxes, color=canvas.MUTED, fontsize=10.5)
    axes.set_xlabel("nodes in the tree")
    ends = []
    for design in results.plan.designs:
        points = [(n, runs[0].watches) for each, n, runs in results.cells() if each is design]
        if not points:
            continue
        look = looks[design.name]
        axes.plot(*zip(*points, strict=True), color=look.colour, marker=look.marker, markersize=8.5,
                  markeredgecolor="white", linewidth=2, clip_on=False, zorder=3)  # fmt: skip
        nodes, watches = points[-1]
        ends.append(canvas.End(nodes, watches, f"{design.name}: {watches:,}", look))
    most = max(results.plan.nodes)
    axes.set_xlim(0, most * 1.03)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, position: f"{value:,.6g}")
    axes.yaxis.set_major_formatter(lambda value, position: f"{value:,.6g}")
    axes.grid(visible=False, axis="x")
    canvas.label_ends(axes, ends)


def _draw_requests(axes: Any, results: CacheResults, looks: dict[str, canvas.Style]) -> None:
    axes.set_title("What one change costs the cache", loc="left", fontsize=12.5, pad=28)
    axes.text(0, 1.03, "a node is", transform=axes.transAxes, color=canvas.MUTED, fontsize=10.5,
              ha="right")  # fmt: skip
    axes.set_xlabel("requests sent", loc="left")
    designs = results.plan.designs
    most = max(law.requests for design in designs for law in design.per_event.values())
    for row, kind in enumerate(CHANGES):
        for place, design in enumerate(designs):
            _draw_bar(axes, results, design, kind, row, place, looks[design.name])
    axes.set_yticks(range(len(CHANGES)), CHANGES)
    axes.set_ylim(len(CHANGES) - 0.4, -0.6)
    axes.set_xticks(range(most + 1))
    axes.set_xlim(0, most * 2.5)  # with room for what stands beside the bars
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=canvas.INK)


def _draw_bar(
    axes: Any,
    results: CacheResults,
    design: CacheDesign,
    kind: str,
    row: int,
    place: int,
    look: canvas.Style,
) -> None:
    runs = [run for run in results.runs if run.design == design.name]
    if not runs:
        return
    found = runs[-1].changes[kind]
    requests, fires, watches = (
        getattr(found, what) / found.events for what in ("requests", "fires", "watches")
    )
    at = row + (place - (len(results.plan.designs) - 1) / 2) * _BAR * 1.1
    axes.barh(at, requests, height=_BAR, color=look.colour)
    text = f"{canvas.short(requests)}, after {many(round(fires), 'fire')}"
    if watches:
        text += f", {canvas.short(watches)} watch{'es' if watches > 1 else ''} set"
    axes.annotate(text, (requests, at), (5, 0), textcoords="offset points", va="center",
                  color=look.colour, fontweight="bold", fontsize=9.5)  # fmt: skip


def _footer(results: CacheResults) -> str:
    plan = results.plan
    legend = "; ".join(f"{design.name} is {design.does}" for design in plan.designs)
    return (
        f"{legend}.\n{many(plan.changes, 'change')} of each kind, one at a time; all counts are "
        f"exact. {ground.briefly(results.head)}."
    )
