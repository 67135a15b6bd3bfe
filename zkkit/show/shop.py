"""The shop that oversells, as a table, a picture and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zkkit.bench.oversell import Sale
from zkkit.show import canvas

__all__ = ["HEADERS", "cells", "finding", "png", "words"]

HEADERS = (
    "kept apart by",
    "sold",
    "oversold",
    "shelf says",
    "last sale after",
    "all served after",
    "fires",
)
NAMES = {
    "none": "nothing",
    "in-process": "threading.Lock",
    "herd": "HerdLock",
    "sequential": "ReentrantLock",
}
_RIGHT, _WRONG = canvas.BLUE, canvas.ORANGE


def cells(sale: Sale) -> tuple[str, ...]:
    """One row of the table."""
    return (
        NAMES.get(sale.way, sale.way),
        str(sale.sold),
        str(sale.oversold),
        str(sale.left),
        f"{sale.last_sale_s:.2f} s",
        f"{sale.served_s:.2f} s",
        "?" if sale.fires is None else f"{sale.fires:,}",
    )


def finding(sales: Sequence[Sale]) -> str:
    """What the shop teaches, in one line."""
    wrong = [f"{_name(sale)} oversells {sale.oversold}" for sale in sales if sale.oversold]
    right = [_name(sale) for sale in sales if not sale.oversold]
    items = max((sale.items for sale in sales), default=0)
    parts = [", ".join(wrong)] if wrong else []
    if right:
        parts.append(f"{' and '.join(right)} sell{'s' if len(right) == 1 else ''} exactly {items}")
    said = "; ".join(parts)
    return said[:1].upper() + said[1:] if said.startswith("no lock") else said


def words(sales: Sequence[Sale]) -> str:
    """All that the picture shows."""
    lines = [f"{finding(sales)}."]
    for sale in sales:
        fires = "an unknown number of" if sale.fires is None else f"{sale.fires:,}"
        lines.append(
            f"{NAMES.get(sale.way, sale.way)}: {sale.sold} sold of {sale.items} in stock to "
            f"{sale.buyers} buyers in {sale.processes} processes, {sale.oversold} too many; all "
            f"served after {sale.served_s:.2f} s; {fires} watches fired."
        )
    return "\n".join(lines)


def png(sales: Sequence[Sale]) -> bytes:
    """What was sold, and how long the buyers stood there; 1600 pixels wide, on white."""
    height = 1.9 + 0.55 * len(sales)
    with canvas.style():
        figure = canvas.start(height)
        left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": (1.25, 1)})
        figure.subplots_adjust(
            left=0.145, right=0.955, top=1 - 1.2 / height, bottom=0.62 / height, wspace=0.12
        )
        heading = figure.text(
            canvas.MARGIN, 1 - 0.33 / height, finding(sales), fontweight="bold", va="center"
        )
        canvas.fit(figure, heading, largest=16)
        left.set_yticks(range(len(sales)), [NAMES.get(sale.way, sale.way) for sale in sales])
        left.set_ylim(len(sales) - 0.4, -0.6)
        _draw_sold(left, sales)
        _draw_times(right, sales)
        return canvas.as_png(figure)


def _draw_sold(axes: Any, sales: Sequence[Sale]) -> None:
    _prepare(axes, "Items sold", "items")
    _scale(axes, max(sale.sold for sale in sales), 1.55)
    for row, sale in enumerate(sales):
        there = sale.sold - sale.oversold
        axes.barh(row, there, height=0.56, color=_RIGHT)
        axes.barh(
            row,
            sale.oversold,
            left=there,
            height=0.56,
            color="white",
            edgecolor=_WRONG,
            hatch="///",
        )
        text = f"{sale.sold}, {sale.oversold} too many" if sale.oversold else f"{sale.sold}, right"
        colour = _WRONG if sale.oversold else _RIGHT
        axes.annotate(text, (sale.sold, row), (6, 0), textcoords="offset points", va="center",
                      color=colour, fontweight="bold", fontsize=10.5)  # fmt: skip
    stock = max(sale.items for sale in sales)
    axes.axvline(stock, color=canvas.INK, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.annotate(f"{stock} in stock", (stock, -0.6), (4, -2), textcoords="offset points",
                  va="top", fontsize=9.5, color=canvas.INK)  # fmt: skip


def _draw_times(axes: Any, sales: Sequence[Sale]) -> None:
    _prepare(axes, "Until every buyer was served", "seconds")
    _scale(axes, max(sale.served_s for sale in sales), 1.75)
    axes.tick_params(axis="y", length=0)
    for row, sale in enumerate(sales):
        axes.barh(row, sale.served_s, height=0.56, color="#999999")
        fires = "" if sale.fires is None else f", {sale.fires:,} fires"
        axes.annotate(f"{sale.served_s:.2f} s{fires}", (sale.served_s, row), (6, 0),
                      textcoords="offset points", va="center", fontsize=10.5)  # fmt: skip


def _scale(axes: Any, most: float, room: float) -> None:
    """From 0 to `most`, with room for labels beyond it, where there are no ticks."""
    axes.set_xlim(0, most)
    ticks = [tick for tick in axes.get_xticks() if 0 <= tick <= most]
    axes.set_xlim(0, max(most, 0.01) * room)
    axes.set_xticks(ticks)


def _prepare(axes: Any, heading: str, unit: str) -> None:
    axes.set_title(heading, loc="left", fontsize=12.5, pad=8)
    axes.set_xlabel(unit, loc="left")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=canvas.INK)


def _name(sale: Sale) -> str:
    return "no lock" if sale.way == "none" else NAMES.get(sale.way, sale.way)
