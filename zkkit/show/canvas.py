"""What all pictures share: sizes, colours, marks, and how to get a PNG.

matplotlib is imported only when a picture is drawn, and drawn to a file without any display.
The colours are safe for the colour-blind (Okabe and Ito's); each design has a marker of its own.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from zkkit.errors import ZkkitError
from zkkit.record import export

BLUE, ORANGE, GREEN, PINK, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"
INK, MUTED, GRID = "#222222", "#555555", "#DDDDDD"
WIDTH, HEIGHT, DPI = 10.0, 5.0, 160  # inches, inches, dots per inch: 1600 x 800
MARGIN = 0.02  # left and right of the texts, as a part of the width
_BESIDE = 0.18  # inches from the axes to a label at the end of a line
_LABEL = 0.16  # the height of a label at the end of a line, as a part of the axis
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
}


class NoPicture(ZkkitError, ImportError):
    """matplotlib cannot be imported."""


need = partial(export.need, missing=NoPicture, so="no picture: ")
"""Import a module that not everybody has; NoPicture if it is missing."""


class Style(NamedTuple):
    """How a design is drawn."""

    colour: str
    marker: str


_LOOKS = {
    "herd": Style(ORANGE, "^"),
    "sequential": Style(BLUE, "o"),
    "rw-herd": Style(ORANGE, "^"),
    "rw": Style(BLUE, "o"),
}
_OTHERS = (Style(GREEN, "s"), Style(PINK, "D"), Style(YELLOW, "v"))


def start(height: float, width: float = WIDTH) -> Any:
    """A figure of this size in inches, on white, to be drawn within `style()`.
    It is no figure of pyplot's: nothing is left behind in a notebook."""
    return need("matplotlib.figure").Figure(figsize=(width, height), dpi=DPI, facecolor="white")


def style(**more: Any) -> Any:
    """A context in which pictures are drawn in our style; `more` are further settings."""
    return need("matplotlib").rc_context({**_STYLE, **more})


def as_png(figure: Any) -> bytes:
    """The drawn figure as a file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor="white")
    return buffer.getvalue()


def as_svg(figure: Any, title: str, words: str) -> str:
    """The drawn figure as SVG, with a title and a description for those who cannot see it.
    To be called within `style(**SVG)`: the same picture gives the same text."""
    buffer = io.StringIO()
    about = {"Title": title, "Description": words, "Date": None, "Creator": "zkkit"}
    figure.savefig(buffer, format="svg", facecolor="white", metadata=about)
    head, named, body = buffer.getvalue().partition("</title>")
    head = head.replace("<svg ", '<svg role="img" ', 1)
    return f"{head}{named}\n <desc>{escape(words)}</desc>{body}"


SVG = {"svg.hashsalt": "zkkit"}


def caption(figure: Any, title: str, footer: str = "", *, largest: float = 17) -> None:
    """The finding above a picture, as large as the width allows; below it how to read it."""
    height = figure.get_size_inches()[1]
    heading = figure.text(MARGIN, 1 - 0.3 / height, title, fontweight="bold", va="center")
    heading.set_fontsize(largest)
    room = figure.bbox.width * (1 - 2 * MARGIN)
    canvas = need("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    width = heading.get_window_extent(canvas.get_renderer()).width
    heading.set_fontsize(largest * min(1.0, room / width))
    figure.text(MARGIN, 0.1 / height, footer, fontsize=9, color=MUTED, va="bottom")


class End(NamedTuple):
    """Where a line ends, and what is written there."""

    x: float
    y: float
    text: str
    look: Style


def label_ends(axes: Any, ends: Sequence[End]) -> None:
    """Names beside the right ends of the lines, each tied to its end. Where they would lie on each
    other they make room to both sides."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: end.y)
    places = apart([end.y for end in ends], (high - low) * _LABEL, low, high)
    moves = need("matplotlib.transforms")
    beside = axes.transAxes + moves.ScaledTranslation(_BESIDE, 0, axes.figure.dpi_scale_trans)
    for end, place in zip(ends, places, strict=True):
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(1, place),
            textcoords=moves.blended_transform_factory(beside, axes.transData),
            color=end.look.colour,
            fontsize=10.5,
            fontweight="bold",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.look.colour,
                "linewidth": 0.9,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 6,  # the mark at the end
            },
        )


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as can be to those wanted (which ascend), at least a gap from each other, all
    of them between low and high if there is room."""
    # Less i gaps each, they need only not descend: neighbours that do share their mean.
    groups: list[list[float]] = []
    for number, value in enumerate(wanted):
        groups.append([value - number * gap])
        while len(groups) > 1 and fmean(groups[-2]) > fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    free = [fmean(group) for group in groups for _ in group]
    most = high - (len(free) - 1) * gap
    return [max(low, min(value, most)) + number * gap for number, value in enumerate(free)]


def short(number: float) -> str:
    """A number as a label has it."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def looks(designs: Sequence[str]) -> dict[str, Style]:
    """How to draw each of these designs."""
    spare = iter(_OTHERS * len(designs))
    return {name: _LOOKS[name] if name in _LOOKS else next(spare) for name in designs}
