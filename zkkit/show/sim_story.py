"""The picture of a story that the simulator found: who did what, step by step, and what was there.

    drawing = draw(verdict.story)
    drawing                     # shows itself in a notebook
    drawing.svg(), drawing.png(), drawing.words

Lanes are actors; time goes down. On the right are the nodes after each event. A thick bar is a
hold, a dotted line somebody who waits, a band a fault. Everything is drawn from the story's scenes,
which its words are made from as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from zkkit.show import canvas
from zkkit.show.sim_picture import StoryPicture
from zkkit.sim.story import Story


@dataclass(frozen=True)
class Drawing:
    """A story that shows itself."""

    story: Story

    @property
    def title(self) -> str:
        """The finding, in a line."""
        story = self.story
        finding = story.headline
        faults = " and ".join(dict.fromkeys(story.faults))
        return f"{finding[:1].upper()}{finding[1:]}" + (f" (fault: {faults})" if faults else "")

    @property
    def words(self) -> str:
        """All that the picture says: its title, what it is about, who is in it, and the story."""
        story = self.story
        about = story.origin.about if story.origin else ""
        who = f"in it: {', '.join(lane.name for lane in story.lanes)}"
        parts = (self.title, about, story.bounds, who, f"✗ Broken: {story}")
        return "\n".join(filter(None, parts))

    def svg(self) -> str:
        """The picture as SVG: one text that refers to nothing outside, with its words inside.
        Raises NoPicture if matplotlib is not installed."""
        with canvas.style(**canvas.SVG, **{"svg.fonttype": "none"}):
            return canvas.as_svg(
                StoryPicture(self.story, self.title).figure, self.title, self.words
            )

    def png(self) -> bytes:
        """The picture as PNG, 160 dots an inch, on white. Raises NoPicture if matplotlib is not
        installed."""
        with canvas.style():
            return canvas.as_png(StoryPicture(self.story, self.title).figure)

    def __repr__(self) -> str:
        return self.words

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        svg = self.svg()
        return (
            f'<figure style="margin: 0; overflow-x: auto">{svg[svg.index("<svg") :]}</figure>\n'
            f"<details><summary>The same in words</summary>\n"
            f"<pre>{escape(self.words)}</pre></details>"
        )


def draw(story: Story) -> Drawing:
    """The story as a picture. It is drawn when it is shown: only then NoPicture is raised, if
    matplotlib is not installed."""
    return Drawing(story)
