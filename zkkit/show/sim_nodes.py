"""The nodes in the picture of a simulated story: which of them matter, and what their boxes say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import commonpath
from typing import NamedTuple

from zkkit.paths import split
from zkkit.sim.scenes import Scene, Znode
from zkkit.sim.story import Story


class TextLine(NamedTuple):
    """One line of text and how it is meant: plain, soft, strong, good or alarm. `tail`: small
    print behind it."""

    text: str
    tone: str = "plain"
    tail: str = ""

    @property
    def bold(self) -> bool:
        """Whether it stands out."""
        return self.tone in ("strong", "good", "alarm")


@dataclass
class Box:
    """A node in a row. `state`: there, gone, or absent (it is not there, but matters)."""

    slot: int
    lines: list[TextLine]
    state: str
    held: bool
    changed: bool = True


FIRES = ("wakes", "fire")
"""Deeds by which an actor is told of a node that it watches."""


class Nodes:
    """The nodes that change, are watched or are held in a story, each in a slot of its own. `base`
    is the directory they are all in; the picture says their names without it."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self.paths = _that_matter(story)
        self.base = _base(self.paths)
        self._local = re.compile(rf"(?<![^\s\[(]){re.escape(self.base)}/(?=[^\s,])")
        self.rows = [self._boxes(number) for number in range(len(story.scenes))]
        _emphasise(self.rows)

    def name(self, text: str) -> str:
        """Paths, or a sentence with paths, as the picture says them."""
        return self._local.sub("", text)

    def _boxes(self, number: int) -> list[Box]:
        scene = self._story.scenes[number]
        before = self._story.scenes[number - 1] if number else None
        present = {node.path: node for node in scene.nodes}
        was = {node.path: node for node in before.nodes} if before else {}
        found = []
        for slot, path in enumerate(self.paths):
            now, old = present.get(path), was.get(path)
            more = [*self._held(scene, path), *self._watched(scene, path)]
            heard = any(deed.path == path and deed.kind in FIRES for deed in scene.deeds)
            if now is None and old is None and not more and not heard:
                continue
            if now is None:
                more.insert(0, TextLine("deleted" if old is not None else "not there", "alarm"))
            else:
                more = [*self._about(now), *more]
            state = "there" if now is not None else "absent" if old is None else "gone"
            held = now is not None and any(hold.path == path for hold in scene.holds)
            found.append(Box(slot, [TextLine(self.name(path)), *more], state, held))
        return found

    def _about(self, node: Znode) -> list[TextLine]:
        """What its name does not say already."""
        said = []
        named = [lane.session for lane in self._story.lanes if f"<{lane.name}" in node.path]
        several = len({lane.session for lane in self._story.lanes}) > 1
        if node.old:
            said.append(TextLine("of the old session", "alarm"))
        elif node.owner and several and node.owner not in named:
            said.append(TextLine(f"of {node.owner}", "soft"))
        if node.data:
            said.append(TextLine(f"data {node.data}"))
        if node.version:
            said.append(TextLine(f"version {node.version}"))
        return said

    def _held(self, scene: Scene, path: str) -> list[TextLine]:
        return [
            TextLine(f"{hold.who} holds", "good")
            if hold.real
            else TextLine(f"{hold.who} believes it holds", "alarm")
            for hold in scene.holds
            if hold.path == path
        ]

    def _watched(self, scene: Scene, path: str) -> list[TextLine]:
        return [
            TextLine(f"{w.who} watches{' children' * w.children}") if w.on_server
            else TextLine(f"{w.who}'s watch is gone", "alarm")
            for w in scene.watches
            if w.path == path
        ]  # fmt: skip


def _emphasise(rows: Sequence[list[Box]]) -> None:
    """Make strong what is different from the row before, and leave out the small print of what is
    not."""
    before: dict[int, list[TextLine]] | None = None
    for boxes in rows:
        now = {box.slot: list(box.lines) for box in boxes}
        for box in boxes:
            known = before.get(box.slot, []) if before is not None else []
            box.changed = before is not None and box.lines != known
            if box.lines == known:
                box.lines = [line for line in known if line.tone != "soft"]
            elif box.state == "there" and box.changed:
                box.lines = [
                    TextLine(line.text, "strong") if line.tone == "plain" and line not in known
                    else line
                    for line in box.lines
                ]  # fmt: skip
        before = now


def _that_matter(story: Story) -> list[str]:
    """The paths of nodes that change, are watched or are held, in the order they appear."""
    found: dict[str, None] = {}
    before: dict[str, Znode] | None = None
    for scene in story.scenes:
        now = {node.path: node for node in scene.nodes}
        if before is not None:
            changed = [path for path in (*before, *now) if before.get(path) != now.get(path)]
            found.update(dict.fromkeys(changed))
        found.update(dict.fromkeys(watch.path for watch in scene.watches))
        found.update(dict.fromkeys(hold.path for hold in scene.holds))
        before = now
    # A parent first: it is there before its children.
    return sorted(found, key=lambda path: path not in {split(p)[0] for p in found})


def _base(paths: Sequence[str]) -> str:
    """The directory that all of them are in; those above others do not count."""
    parents = {split(path)[0] for path in paths}
    inner = [split(path)[0] for path in paths if path not in parents]
    return commonpath(inner) if inner else "/"
