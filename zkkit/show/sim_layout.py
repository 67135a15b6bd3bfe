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

from zkkit.show.sim_nodes import FIRES, Box, Nodes, TextLine
from zkkit.sim.places import line_of
from zkkit.sim.scenes import Deed, Scene
from zkkit.sim.story import Story

Measure = Callable[[str, float, bool], float]
"""The width of a text of this size, bold or not."""

TEXT, SMALL = 8.6, 7.8  # sizes of letters
LINE, PAD, GAP = 11.6, 6.0, 8.0  # height of a line, room inside a row, room between boxes
TAIL = 8.0  # room before small print behind a text
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
class StoryRow:
    """One event."""

    number: int
    band: list[str] = field(default_factory=list)
    cells: dict[int, list[TextLine]] = field(default_factory=dict)
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


class StoryLayout:
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
        least = max(_LANE_LEAST, self._longest_word() + LIFELINE + 8)
        self.lane = min(_LANE_MOST, max(least, room / max(1, len(self.lanes))))
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

    def _longest_word(self) -> float:
        """How wide the widest word is that stands in a lane: a path cannot be read in pieces."""
        texts = {
            (word, line.bold)
            for scene in self.story.scenes
            for deed in scene.deeds
            for line in _cell(deed, unreal=False)
            for word in self.nodes.name(line.text).split(" ")
        }
        return max((self._measure(word, TEXT, bold) for word, bold in texts), default=0.0)

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

    def _wrapped(self, lines: Sequence[TextLine], size: float, width: float) -> list[TextLine]:
        return [
            TextLine(part, line.tone)
            for line in lines
            for part in self.wrap(line.text, size, width, line.bold)
        ]

    # --- rows -----------------------------------------------------------------------------

    def _row(self, number: int, boxes: list[Box]) -> StoryRow:
        scene = self.story.scenes[number]
        before = self.story.scenes[number - 1] if number else None
        row = StoryRow(number, boxes=boxes)
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

    def _fill_cells(self, row: StoryRow, scene: Scene, before: Scene | None) -> None:
        def put(lane: int, *lines: TextLine) -> None:
            named = [TextLine(self.nodes.name(each.text), each.tone) for each in lines]
            fitting = self._wrapped(named, TEXT, self._room)
            row.cells.setdefault(lane, []).extend(fitting)

        event = self.story.events[row.number - 1] if row.number else ("apply",)
        if scene.fault or event[0] != "apply":
            text, tone = (f"⚡ {scene.fault}", "alarm") if scene.fault else (scene.head, "soft")
            for lane in self._lanes_of(scene.whom):
                put(lane, TextLine(text, tone))
            for lane in self._lanes_of(scene.whom[:1] if scene.place else ()):
                self._add_line(row.cells[lane], scene.place)
        unreal = {(hold.who, hold.path) for hold in scene.holds if not hold.real}
        said: dict[int, str] = {}  # the line of the script that a lane's texts belong to

        def at(lane: int, where: str) -> None:
            """Close the texts of one line, where the next ones belong to another."""
            if said.get(lane) and said[lane] != where:
                self._add_line(row.cells[lane], said[lane])
            said[lane] = where

        for deed in scene.deeds:
            for lane in self._lanes_of((deed.who,) if deed.who else scene.whom[:1]):
                at(lane, deed.where)
                put(lane, *_cell(deed, (deed.who, deed.path) in unreal))
        for lane, does in enumerate(scene.doing):
            if does == "waits" and (before is None or before.doing[lane] != does):
                at(lane, scene.stands[lane] if scene.stands else "")
                put(lane, TextLine("waits", "soft"))
        for lane in list(said):
            at(lane, "")

    @property
    def _room(self) -> float:
        """How wide the texts of a lane may be."""
        return self.lane - LIFELINE - 8

    def _add_line(self, cell: list[TextLine], where: str) -> None:
        """Put the line of the script behind the last text, or below it if there is no room."""
        place, last = f"[{line_of(where)}]", cell[-1]
        text = self._measure(last.text, TEXT, last.bold)
        if not last.tail and text + TAIL + self._measure(place, SMALL, False) <= self._room:
            cell[-1] = last._replace(tail=place)
        else:
            cell += self._wrapped([TextLine(place, "soft")], TEXT, self._room)

    def _lanes_of(self, names: Sequence[str]) -> list[int]:
        return [self.lanes.index(name) for name in names if name in self.lanes]

    def _arrows(self, scene: Scene, before: Scene | None) -> list[Arrow]:
        known = {(w.who, w.path) for w in before.watches} if before else set()
        new = [(w.who, w.path, False) for w in scene.watches if (w.who, w.path) not in known]
        fired = [(deed.who, deed.path, True) for deed in scene.deeds if deed.kind in FIRES]
        return [
            Arrow(self.lanes.index(who), self.nodes.paths.index(path), fires)
            for who, path, fires in (*new, *fired)
            if who in self.lanes and path in self.nodes.paths
        ]


_TONES = {"wakes": "strong", "fire": "strong", "holds": "good", "releases": "strong"}


def _cell(deed: Deed, unreal: bool) -> list[TextLine]:
    if not deed.outcome:
        return [TextLine(deed.text, "alarm" if unreal else _TONES.get(deed.kind, "soft"))]
    nobody = [] if deed.who else [TextLine("(nobody waits for it)", "soft")]
    tone = "alarm" if deed.kind == "lost" else "plain"
    return [*nobody, TextLine(deed.text), TextLine(f"→ {deed.outcome}", tone)]
