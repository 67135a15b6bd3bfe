"""Stories: what happened, event by event, so that it can be read, kept, drawn and replayed.

A story is the list of events that lead to something wrong, each as a scene (zkkit.sim.scenes). It
is kept as JSON with a schema version and stands alone: the words and the picture need no world.
Replayed in its world it must come to the same end; how that world is built it may remember
(zkkit.sim.origin).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_type_hints

from .errors import StoryMismatch
from .machine import Machine
from .origin import Origin
from .scenes import Lane, Scene, headed, lines, plain, restored
from .snapshot import short
from .state import Event
from .telling import Teller
from .why import explained

SCHEMA = 4
_IN_FILE = (
    "wrong", "culprit", "breaks", "why", "bounds", "origin", "lanes", "events", "scenes",
)  # fmt: skip


class Breach(NamedTuple):
    """What is wrong: the name of the property that is broken, and what was found, in words."""

    breaks: str
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """Events that lead to something wrong. The first scene is the beginning; then there is one for
    each event."""

    wrong: str
    """What was found."""
    breaks: str
    """The name of the property that is broken."""
    events: tuple[Event, ...]
    lanes: tuple[Lane, ...]
    scenes: tuple[Scene, ...]
    bounds: str = ""
    origin: Origin | None = None
    culprit: str = ""
    """In a few words who, or what, is to blame; "" where the finding says it."""
    why: tuple[str, ...] = ()
    """Why it ended so, in sentences; empty where there is nothing to add."""

    @classmethod
    def of(cls, machine: Machine, events: Sequence[Event], breach: Breach, bounds: str) -> Story:
        """Tell what these events did. Raises StoryMismatch if one of them cannot happen."""
        teller = Teller(machine)
        for event in events:
            teller.happen(event)
        roster, cast = teller.roster, teller.cast
        lanes = tuple(Lane(roster.names[a], roster.session_names[roster.home[a]]) for a in cast)
        scenes = tuple(
            scene._replace(
                doing=_of_cast(cast, scene.doing, "ended"), stands=_of_cast(cast, scene.stands, "")
            )
            for scene in teller.scenes
        )
        wrong = short(roster.names, breach.text)
        why = explained(teller, machine.moves(teller.state), wrong)
        return cls(
            wrong, breach.breaks, tuple(events), lanes, scenes, bounds, None, why.brief,
            why.sentences,
        )  # fmt: skip

    @property
    def headline(self) -> str:
        """What was found, with the culprit where it is known."""
        return f"{self.wrong}: {self.culprit}" if self.culprit else self.wrong

    @property
    def length(self) -> int:
        """How many requests the server saw, and how many faults there were."""
        requests = sum(event.count("apply") for event in self.events)
        return requests + len(self.faults)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults in it, in order."""
        return tuple(each for s in self.scenes if s.fault for each in s.fault.split(" and "))

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """For each scene what happened, then line by line what it did."""
        before = (None, *self.scenes)
        return tuple(
            (headed(scene), *lines(self.lanes, last, scene))
            for last, scene in zip(before, self.scenes, strict=False)
        )

    def save(self, path: str | Path) -> None:
        """Write it to a file. Raises OSError if it cannot be written."""
        content = {"schema": SCHEMA, **{name: plain(getattr(self, name)) for name in _IN_FILE}}
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Story:
        """Read it from a file. Nothing that the file names is imported. Raises StoryMismatch if it
        cannot be read, is no story, or was written by another version."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            schema = content["schema"]
            if schema == SCHEMA:
                hints = get_type_hints(cls)
                story = cls(**{name: restored(hints[name], content[name]) for name in _IN_FILE})
                if len(story.scenes) != len(story.events) + 1:
                    raise ValueError("it has not one scene for each event")
                if not all(event and isinstance(event[0], str) for event in story.events):
                    raise ValueError("an event does not say what happens")
                if any(len(scene.doing) != len(story.lanes) for scene in story.scenes):
                    raise ValueError("a scene does not say what every actor does")
                return story
        except OSError as error:
            raise StoryMismatch(
                f"{path} cannot be read: {error.strerror}", hint="give the file of a saved story"
            ) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoryMismatch(
                f"{path} is no story: {error!r}", hint="give a file that Story.save wrote"
            ) from error
        raise StoryMismatch(
            f"{path} has schema {schema!r}; this zkkit reads {SCHEMA}",
            hint="explore again and save it anew, or use the zkkit that wrote it",
        )

    def __str__(self) -> str:
        text = [f"{self.headline} (breaks: {self.breaks})"]
        for number, (head, *more) in enumerate(self.words):
            text.append(f"{number:3}. {head}")
            text += [f"       {line}" for line in more]
        if self.why:
            text += ["why:", *(f"     {sentence}" for sentence in self.why)]
        return "\n".join(text)


def _of_cast(cast: Sequence[int], each: Sequence[str], otherwise: str) -> tuple[str, ...]:
    """What `each` says of those who have a lane. Whoever is spawned later, or has ended, has
    none."""
    return tuple(each[a] if a < len(each) else otherwise for a in cast)
