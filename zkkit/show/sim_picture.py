"""Draws the picture of a simulated story: one figure, from a layout."""

from __future__ import annotations

from typing import Any

from zkkit.show import canvas
from zkkit.show.sim_layout import (
    CHANNEL,
    LEFT,
    LIFELINE,
    LINE,
    NUMBER,
    PAD,
    SMALL,
    TAIL,
    TEXT,
    Arrow,
    StoryLayout,
    StoryRow,
)
from zkkit.show.sim_nodes import Box, TextLine
from zkkit.sim.story import Story

_INCH = 72.0
_HEAD = 19.0  # the row of lane names
_COLOURS = {"good": "#00654A", "alarm": "#A83A00", "soft": canvas.MUTED}
_FIRES: dict[str, Any] = {"color": canvas.ORANGE, "lw": 1.4, "linestyle": "-"}
_WATCHES: dict[str, Any] = {"color": canvas.BLUE, "lw": 1.4, "linestyle": (0, (3, 1.5))}
_SOFT_FILL, _HELD_FILL, _NEW_FILL = "#F4F4F4", "#D5EEE5", "#DCEBF7"


class StoryPicture:
    """Draws a layout. The axes count points from the upper left corner."""

    def __init__(self, story: Story, title: str) -> None:
        self._story = story
        probe = canvas.start(1.0)
        agg = canvas.need("matplotlib.backends.backend_agg")
        self._renderer = agg.FigureCanvasAgg(probe).get_renderer()
        self._fonts = canvas.need("matplotlib.font_manager").FontProperties
        self._patches = canvas.need("matplotlib.patches")
        self._layout = layout = StoryLayout(story, self._measure)
        room = layout.width - 2 * LEFT
        self._title = layout.wrap(title, 15, room, bold=True)
        about = story.origin.about if story.origin else ""
        soft = [text for text in (about, story.bounds) if text]
        self._soft = [line for text in soft for line in layout.wrap(text, TEXT, room)]
        wrong = f"✗ Broken: {story.wrong}"
        self._wrong = layout.wrap(wrong, 10.5, room - 20, bold=True)
        self._why = [line for text in story.why for line in layout.wrap(f"· {text}", 9, room - 20)]
        self._top = 14 + 20 * len(self._title) + 13 * len(self._soft) + 8
        y = self._top + _HEAD
        for row in layout.rows:
            row.top = y
            y += row.height
        self._bottom = y
        legend = 18.0
        height = y + 12 + self._end_height + legend + 6
        self.figure = canvas.start(height / _INCH, layout.width / _INCH)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, layout.width)
        self._axes.set_ylim(height, 0)
        self._draw_head()
        self._draw_rows()
        self._draw_lanes()
        self._draw_end()
        self._draw_legend(height - legend / 2 - 4)

    @property
    def _end_height(self) -> float:
        return 15.0 * len(self._wrong) + 13 * len(self._why) + 12

    def _measure(self, text: str, size: float, bold: bool) -> float:
        font = self._fonts(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
        width, _, _ = self._renderer.get_text_width_height_descent(text, font, False)
        return float(width) * _INCH / canvas.DPI

    # --- pieces -----------------------------------------------------------------------------

    def _text(self, x: float, y: float, line: TextLine, size: float = TEXT, **more: Any) -> None:
        settings = {
            "fontsize": size,
            "color": _COLOURS.get(line.tone, canvas.INK),
            "fontweight": "bold" if line.bold else "normal",
            "va": "center",
            "parse_math": False,
            "zorder": 5,
        }
        self._axes.text(x, y, line.text, **(settings | more))

    def _rectangle(self, x: float, y: float, width: float, height: float, **look: Any) -> None:
        self._axes.add_patch(self._patches.Rectangle((x, y), width, height, **look))

    def _draw_head(self) -> None:
        y = 14 + 10.0
        for text in self._title:
            self._text(LEFT, y, TextLine(text, "strong"), 15)
            y += 20
        for text in self._soft:
            self._text(LEFT, y - 3, TextLine(text, "soft"))
            y += 13
        layout = self._layout
        middle = self._top + _HEAD / 2
        for number, name in enumerate(layout.lanes):
            width = self._measure(name, 11, True)
            size = 11 * min(1.0, (layout.lane - 16) / width)
            self._text(layout.lifeline(number) - 4, middle, TextLine(name, "strong"), size)
        self._text(layout.nodes_left, middle, TextLine(layout.heading, "strong"))

    def _draw_rows(self) -> None:
        layout = self._layout
        room = layout.width - 2 * LEFT
        for row in layout.rows:
            if row.band:
                band = {"facecolor": canvas.YELLOW, "linewidth": 0}
                self._rectangle(LEFT, row.top, room, row.height, alpha=0.18, zorder=0, **band)
                self._rectangle(LEFT, row.top, room, row.band_height, zorder=4.5, **band)
            self._axes.plot(
                [LEFT, layout.width - LEFT], [row.top] * 2, color=canvas.GRID, lw=0.8, zorder=1
            )
            self._draw_row(row)

    def _draw_row(self, row: StoryRow) -> None:
        layout = self._layout
        first = row.top + (PAD / 2 if row.band else PAD) + LINE / 2
        number = TextLine(str(row.number), "strong" if row.band else "soft")
        self._text(LEFT + 14, first, number, ha="right")
        for place, text in enumerate(row.band):
            y = first + LINE * place
            self._text(LEFT + NUMBER + 2, y, TextLine(text, "strong"))
        y = row.texts_top + LINE / 2
        for lane, lines in row.cells.items():
            x = layout.lifeline(lane) + LIFELINE
            for place, line in enumerate(lines):
                self._text(x, y + LINE * place, line)
                if line.tail:
                    end = x + self._measure(line.text, TEXT, line.bold) + TAIL
                    self._text(end, y + LINE * place, TextLine(line.tail, "soft"), SMALL)
        tallest = max([0, *(len(box.lines) for box in row.boxes)])
        for box in row.boxes:
            self._draw_box(row, box)
        below = y + LINE * tallest + (6 if tallest else 0)
        for place, text in enumerate(row.notes):
            self._text(layout.nodes_left, below + LINE * place, TextLine(text, "alarm"), SMALL)
        for place, arrow in enumerate(row.arrows):
            self._draw_arrow(row, arrow, row.top + row.height - CHANNEL * (place + 0.7))

    def _draw_box(self, row: StoryRow, box: Box) -> None:
        layout = self._layout
        x, y = layout.slot(box.slot), row.texts_top - 2
        exists = box.state == "there"
        fill = _HELD_FILL if box.held else _NEW_FILL if box.changed else _SOFT_FILL
        edge = canvas.BLUE if box.changed else "#BBBBBB"
        self._rectangle(
            x, y, layout.box, LINE * len(box.lines) + 4,
            facecolor=fill if exists else "white",
            edgecolor=edge if exists else canvas.ORANGE,
            linewidth=1.7 if box.changed else 0.9,
            linestyle="-" if exists else (0, (3, 2)),
            zorder=3,
        )  # fmt: skip
        for place, line in enumerate(box.lines):
            middle = x + layout.box / 2
            self._text(middle, y + 2 + LINE * (place + 0.5), line, SMALL, ha="center")

    def _draw_arrow(self, row: StoryRow, arrow: Arrow, y: float) -> None:
        layout = self._layout
        box = next(box for box in row.boxes if box.slot == arrow.slot)
        bottom = row.texts_top + 3 + LINE * len(box.lines)
        shift = 6 if arrow.fires else -6
        x, end = layout.slot(arrow.slot) + layout.box / 2 + shift, layout.lifeline(arrow.lane)
        look = _FIRES if arrow.fires else _WATCHES
        self._axes.plot([end, x, x], [y, y, bottom], zorder=2.5, **look)
        marker = "<" if arrow.fires else "^"
        head = (end + 4, y) if arrow.fires else (x, bottom + 2)
        tail = (x, bottom + 1) if arrow.fires else (end, y)
        for place, shape in ((head, marker), (tail, "o")):
            self._axes.plot(
                *([each] for each in place), marker=shape, ms=5 if shape != "o" else 3.5,
                color=look["color"], zorder=6,
            )  # fmt: skip

    # --- lanes ------------------------------------------------------------------------------

    def _draw_lanes(self) -> None:
        rows = self._layout.rows
        middles = [*(row.texts_top + LINE / 2 for row in rows), self._bottom]
        for lane in range(len(self._layout.lanes)):
            at_first = self._story.scenes[0].doing[lane]
            if at_first != "ended":
                self._line(self._layout.lifeline(lane), self._top + _HEAD, middles[0], at_first)
            for row, begin, end in zip(rows, middles, middles[1:], strict=False):
                self._draw_stretch(lane, row, begin, end)

    def _draw_stretch(self, lane: int, row: StoryRow, begin: float, end: float) -> None:
        """A lane's line from the first text of one row to that of the next."""
        x, name = self._layout.lifeline(lane), self._layout.lanes[lane]
        scene = self._story.scenes[row.number]
        does = scene.doing[lane]
        if does == "ended":
            if not row.number or self._story.scenes[row.number - 1].doing[lane] != "ended":
                self._axes.plot([x - 5, x + 5], [begin] * 2, color=canvas.INK, lw=2.2, zorder=6)
        else:
            self._line(x, begin, end, does)
        holds = [hold for hold in scene.holds if hold.who == name]
        if holds:
            real = all(hold.real for hold in holds)
            self._bar(x, begin, end, real)
        if lane in row.cells:
            self._axes.plot([x], [begin], marker="o", ms=5.5, color=canvas.INK, zorder=6)

    def _line(self, x: float, begin: float, end: float, does: str) -> None:
        style = {"waits": (0, (1, 2)), "has not begun": (0, (1, 5))}.get(does, "-")
        self._axes.plot([x, x], [begin, end], color=canvas.MUTED, lw=1.3, linestyle=style, zorder=2)

    def _bar(self, x: float, begin: float, end: float, real: bool) -> None:
        look = (
            {"facecolor": canvas.GREEN, "edgecolor": "none"}
            if real
            else {"facecolor": "white", "edgecolor": canvas.ORANGE, "hatch": "////"}
        )
        # A little longer than its row: no seam is to be seen where two rows meet.
        self._rectangle(x - 3.5, begin, 7, end - begin + 0.5, zorder=4, linewidth=1, **look)

    # --- the end ----------------------------------------------------------------------------

    def _draw_end(self) -> None:
        layout = self._layout
        y, height = self._bottom, self._end_height
        self._rectangle(
            LEFT, y + 4, layout.width - 2 * LEFT, height, facecolor="#A83A00", linewidth=0, zorder=3
        )
        for place, text in enumerate(self._wrong):
            middle = y + 4 + 6 + 15 * (place + 0.5)
            self._text(LEFT + 10, middle, TextLine(text, "strong"), 10.5, color="white")
        top = y + 4 + 6 + 15 * len(self._wrong)
        for place, text in enumerate(self._why):
            self._text(LEFT + 10, top + 13 * (place + 0.5), TextLine(text), 9, color="white")

    def _draw_legend(self, y: float) -> None:
        scenes = self._story.scenes
        arrows = [arrow for row in self._layout.rows for arrow in row.arrows]
        holds = [hold for scene in scenes for hold in scene.holds]
        x = LEFT + 4
        entries = [
            ("bar", "holds", any(hold.real for hold in holds)),
            (
                "empty bar",
                "believes it holds: its node is not there",
                not all(h.real for h in holds),
            ),
            ("dots", "waits", any("waits" in scene.doing for scene in scenes)),
            ("watch", "sets a watch", any(not arrow.fires for arrow in arrows)),
            ("fire", "the watch fires", any(arrow.fires for arrow in arrows)),
        ]
        for kind, text, shown in entries:
            if shown:
                self._sample(kind, x, y)
                self._text(x + 24, y, TextLine(text, "soft"), SMALL)
                x += 24 + self._measure(text, SMALL, False) + 18

    def _sample(self, kind: str, x: float, y: float) -> None:
        if kind in ("bar", "empty bar"):
            self._bar(x + 12, y - 6, y + 6, kind == "bar")
        elif kind == "dots":
            self._axes.plot([x, x + 18], [y, y], color=canvas.MUTED, lw=1.3, linestyle=(0, (1, 2)))
        else:
            fires = kind == "fire"
            look = _FIRES if fires else _WATCHES
            self._axes.plot([x, x + 18], [y, y], **look)
            end = x if fires else x + 18
            self._axes.plot([end], [y], marker="<" if fires else ">", ms=5, color=look["color"])
