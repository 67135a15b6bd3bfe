"""What stands where in the picture of a simulated story: rows of cells and boxes, all in points.

Time goes down, one row for each event. On the left a lane for each actor, on the right a slot for
each node that matters: one that changes, is watched or is held in this story. A node keeps its
slot, so that its life is read from top to bottom.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zkkit.show.sim_nodes import FIRES, Box, Line, Nodes
from zkkit.sim.scenes import Deed, Scene
from zkkit.sim.story import Story

Measure = Callable[[str, float, bool], float]
"""The width of a text of this size, bold or not."""

TEXT, SMALL = 8.6, 7.8  # sizes of letters
LINE, PAD, GAP = 11.6, 6.0, 8.0  # height of a line, room inside a row, room between boxes
CHANNEL = 6.0  # room for one arrow below a row's texts
LEFT, NUMBER, LIFELINE = 14.0, 20.0, 10.0
_LANE_LEAST, _LANE_MOST, _BOX_MOST = 118.0, 190.0, 130.0
_PAGE = 720.0  # the least width


class Arrow(NamedTuple):
    """A watch that is set, from its lane to a slot; or a fire, from the slot to the lane."""

    lane: int
    slot: int
    fires: bool


@dataclass
class Row:
    """One event."""

    number: int
    band: list[str] = field(default_factory=list)
    cells: dict[int, list[Line]] = field(default_factory=dict)
    boxes: list[Box] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    top: float = 0.0
    height: float = 0.0

    @property
    def band_height(self) -> float:
        """How high the words of a fault are."""
        return LINE * len(self.band) + PAD if self.band else 0.0

    @property
    def texts_top(self) -> float:
        """Where cells and boxes begin, below the words of a fault."""
        return self.top + self.band_height + PAD


class Layout:
    """The whole picture: columns, and rows from top to bottom."""

    def __init__(self, story: Story, measure: Measure) -> None:
        self.story = story
        self._measure = measure
        self.lanes = [lane.name for lane in story.lanes]
        self.nodes = Nodes(story)
        boxes = self.nodes.rows
        texts = [line for row in boxes for box in row for line in box.lines]
        widths = [measure(line.text, SMALL, line.bold) for line in texts]
        self.box = min(_BOX_MOST, max(widths, default=40.0) + 10)
        for box in itertools.chain(*boxes):
            box.lines = self._wrapped(box.lines, SMALL, self.box - 8)
        self.heading = "nodes after each event"
        if self.nodes.base != "/":
            self.heading = f"nodes in {self.nodes.base} after each event"
        slots = len(self.nodes.paths) * (self.box + GAP) - GAP
        nodes = max(measure(self.heading, TEXT, True), slots)
        room = _PAGE - 2 * LEFT - NUMBER - nodes - GAP
        self.lane = min(_LANE_MOST, max(_LANE_LEAST, room / max(1, len(self.lanes))))
        self.nodes_left = LEFT + NUMBER + self.lane * len(self.lanes) + GAP
        self.width = max(_PAGE, self.nodes_left + nodes + LEFT)
        self.rows = [self._row(number, boxes[number]) for number in range(len(story.scenes))]
        if not self.rows[0].boxes and not self.rows[0].cells:
            del self.rows[0]  # nothing that matters is there at the beginning

    def lifeline(self, lane: int) -> float:
        """Where a lane's line stands."""
        return LEFT + NUMBER + LIFELINE + self.lane * lane

    def slot(self, number: int) -> float:
        """The left edge of a slot."""
        return self.nodes_left + number * (self.box + GAP)

    def wrap(self, text: str, size: float, width: float, bold: bool = False) -> list[str]:
        """The text in lines that fit into this width."""
        done, line = [], ""
        for word in text.split(" "):
            longer = f"{line} {word}" if line else word
            if self._measure(longer, size, bold) <= width:
                line = longer
                continue
            if line:
                done.append(line)
            while self._measure(word, size, bold) > width and len(word) > 1:
                fits = next(
                    n for n in range(len(word) - 1, 0, -1)
                    if n == 1 or self._measure(word[:n], size, bold) <= width
                )  # fmt: skip
                done.append(word[:fits])
                word = word[fits:]
            line = word
        return [*done, line]

    def _wrapped(self, lines: Sequence[Line], size: float, width: float) -> list[Line]:
        return [
            Line(part, line.tone)
            for line in lines
            for part in self.wrap(line.text, size, width, line.bold)
        ]

    # --- rows -----------------------------------------------------------------------------

    def _row(self, number: int, boxes: list[Box]) -> Row:
        scene, before = self.story.scenes[number], self._before(number)
        row = Row(number, boxes=boxes)
        if scene.fault:
            room = self.width - 2 * LEFT - NUMBER
            row.band = self.wrap(scene.head, TEXT, room, bold=True)
        self._fill_cells(row, scene, before)
        for view in scene.views:
            if before is None or view not in before.views:
                seen = ", ".join(map(self.nodes.name, view.paths)) or "no node"
                text = f"{view.session}'s follower shows only: {seen}"
                row.notes += self.wrap(text, SMALL, self.width - self.nodes_left - LEFT)
        row.arrows = self._arrows(scene, before)
        tallest = max([0, *map(len, row.cells.values())])
        right = max([0, *(len(box.lines) for box in boxes)]) + len(row.notes)
        texts = max(LINE * tallest, LINE * right + (GAP / 2 if boxes else 0))
        row.height = row.band_height + texts + 2 * PAD + CHANNEL * len(row.arrows)
        return row

    def _before(self, number: int) -> Scene | None:
        return self.story.scenes[number - 1] if number else None

    def _fill_cells(self, row: Row, scene: Scene, before: Scene | None) -> None:
        def put(lane: int, *lines: Line) -> None:
            named = [Line(self.nodes.name(text), tone) for text, tone in lines]
            fitting = self._wrapped(named, TEXT, self.lane - LIFELINE - 8)
            row.cells.setdefault(lane, []).extend(fitting)

        event = self.story.events[row.number - 1] if row.number else ("apply",)
        if scene.fault or event[0] != "apply":
            told = Line(f"⚡ {scene.fault}", "alarm") if scene.fault else Line(scene.head, "soft")
            for lane in self._lanes_of(scene.whom):
                put(lane, told)
        unreal = {(hold.who, hold.path) for hold in scene.holds if not hold.real}
        for deed in scene.deeds:
            for lane in self._lanes_of((deed.who,) if deed.who else scene.whom[:1]):
                put(lane, *_cell(deed, (deed.who, deed.path) in unreal))
        for lane, does in enumerate(scene.doing[: len(self.lanes)]):
            if does == "waits" and (before is None or before.doing[lane : lane + 1] != (does,)):
                put(lane, Line("waits", "soft"))

    def _lanes_of(self, names: Sequence[str]) -> list[int]:
        return [self.lanes.index(name) for name in names if name in self.lanes]

    def _arrows(self, scene: Scene, before: Scene | None) -> list[Arrow]:
        known = {(w.who, w.path) for w in before.watches} if before else set()
        found = [
            Arrow(self.lanes.index(watch.who), self.nodes.paths.index(watch.path), False)
            for watch in scene.watches
            if watch.who in self.lanes and (watch.who, watch.path) not in known
        ]
        for deed in scene.deeds:
            if deed.kind in FIRES and deed.path in self.nodes.paths and deed.who in self.lanes:
                slot = self.nodes.paths.index(deed.path)
                found.append(Arrow(self.lanes.index(deed.who), slot, True))
        return found


_TONES = {"wakes": "strong", "fire": "strong", "holds": "good", "releases": "strong"}


def _cell(deed: Deed, unreal: bool) -> list[Line]:
    if not deed.outcome:
        return [Line(deed.text, "alarm" if unreal else _TONES.get(deed.kind, "soft"))]
    nobody = [] if deed.who else [Line("(nobody waits for it)", "soft")]
    tone = "alarm" if deed.kind == "lost" else "plain"
    return [*nobody, Line(deed.text), Line(f"→ {deed.outcome}", tone)]
