"""The picture of the shop: what was sold, and how long the buyers stood there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zkkit.bench.shop.run import Sale
from zkkit.bench.shop.words import NAMES, finding
from zkkit.show import canvas

_RIGHT, _WRONG = canvas.BLUE, canvas.ORANGE


def png(sales: Sequence[Sale]) -> bytes:
    """What was sold, and how long the buyers stood there; 1600 pixels wide, on white."""
    height = 1.9 + 0.55 * len(sales)
    with canvas.style():
        figure = canvas.start(height)
        left, right = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": (1.25, 1)})
        figure.subplots_adjust(
            left=0.145, right=0.955, top=1 - 1.2 / height, bottom=0.62 / height, wspace=0.12
        )
        canvas.caption(figure, finding(sales), largest=16)
        left.set_yticks(range(len(sales)), [NAMES[sale.way] for sale in sales])
        left.set_ylim(len(sales) - 0.4, -0.6)
        _draw_sold(left, sales)
        _draw_times(right, sales)
        return canvas.as_png(figure)


def _draw_sold(axes: Any, sales: Sequence[Sale]) -> None:
    _prepare(axes, "Items sold", "items")
    _scale(axes, max(sale.sold for sale in sales), 1.55)
    for row, sale in enumerate(sales):
        in_stock = sale.sold - sale.oversold
        axes.barh(row, in_stock, height=0.56, color=_RIGHT)
        axes.barh(
            row,
            sale.oversold,
            left=in_stock,
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
    """Let the axis go from 0 to `most`, with room for labels beyond it, where there are no
    ticks."""
    axes.set_xlim(0, most)
    axes.locator_params(axis="x", nbins=5)
    ticks = [tick for tick in axes.get_xticks() if 0 <= tick <= most]
    axes.set_xlim(0, max(most, 0.01) * room)
    axes.set_xticks(ticks)


def _prepare(axes: Any, heading: str, unit: str) -> None:
    axes.set_title(heading, loc="left", fontsize=12.5, pad=8)
    axes.set_xlabel(unit, loc="left")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=canvas.INK)
