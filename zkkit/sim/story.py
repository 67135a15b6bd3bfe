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
from typing import TYPE_CHECKING, Any

from .errors import StoryMismatch
from .faults import KINDS
from .scenes import Lane, Scene, lines, plain, restored
from .standing import short
from .telling import scene_of, tell_event

if TYPE_CHECKING:
    from .machine import Machine
    from .origin import Origin
    from .properties import Property
    from .state import Draft, Event
    from .world import World

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Story:
    """Events that lead to something wrong. The first scene is the beginning; then there is one for
    each event."""

    wrong: str
    events: tuple[Event, ...]
    lanes: tuple[Lane, ...]
    scenes: tuple[Scene, ...]
    bounds: str = ""
    origin: Origin | None = None

    @classmethod
    def of(cls, machine: Machine, events: Sequence[Event], wrong: str, bounds: str) -> Story:
        """Tell what these events did."""
        draft = machine.begin()
        scenes = [scene_of(machine, (), None, draft)]
        cast = [*range(machine.count), *_spawned(draft)]
        for event in events:
            state = draft.done(())
            if event not in machine.moves(state) and event not in machine.misfortunes(state):
                raise StoryMismatch(
                    f"the story does not fit this world: event {len(scenes)} cannot happen "
                    f"({tell_event(machine, event)})",
                    hint="replay it in the world, and with the code, it was found in",
                )
            draft = machine.after(state, event)
            scenes.append(scene_of(machine, event, state, draft))
            cast += _spawned(draft)
        lanes = tuple(
            Lane(machine.names[a], machine.session_names[machine.home[a]]) for a in cast
        )  # fmt: skip
        told = tuple(scene._replace(doing=_of_cast(cast, scene.doing)) for scene in scenes)
        return cls(short(machine.names, wrong), tuple(events), lanes, told, bounds)

    @property
    def length(self) -> int:
        """How many requests the server saw, and how many faults there were."""
        return sum(part == "apply" or part in KINDS for e in self.events for part in e)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults in it, in order."""
        return tuple(part for event in self.events for part in event if part in KINDS)

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """For each scene what happened, then line by line what it did."""
        before = (None, *self.scenes)
        return tuple(
            (scene.head, *lines(self.lanes, last, scene))
            for last, scene in zip(before, self.scenes, strict=False)
        )

    def replay(self, world: World, properties: Sequence[Property]) -> str | None:
        """Let it happen again; gives what is wrong at its end, or None."""
        from .explore import retrace

        return retrace(world, self.events, properties)

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        content = {
            "schema": SCHEMA,
            "wrong": self.wrong,
            "bounds": self.bounds,
            "origin": plain(self.origin),
            "lanes": plain(self.lanes),
            "events": plain(self.events),
            "scenes": plain(self.scenes),
        }
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Story:
        """Read it from a file. Nothing that the file names is imported."""
        from .origin import Origin

        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            schema = content["schema"]
            if schema == SCHEMA:
                story = cls(
                    restored(str, content["wrong"]),
                    restored(tuple[tuple[Any, ...], ...], content["events"]),
                    restored(tuple[Lane, ...], content["lanes"]),
                    restored(tuple[Scene, ...], content["scenes"]),
                    restored(str, content["bounds"]),
                    restored(Origin | None, content["origin"]),
                )
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
        told = [self.wrong]
        for number, (head, *more) in enumerate(self.words):
            told.append(f"{number:3}. {head}")
            told += [f"       {line}" for line in more]
        return "\n".join(told)


def _spawned(draft: Draft) -> list[int]:
    return [fact.what for fact in draft.facts if fact.kind == "spawned"]


def _of_cast(cast: Sequence[int], doing: Sequence[str]) -> tuple[str, ...]:
    """What those do who have a lane; whoever is spawned later, or has ended, does nothing."""
    return tuple(doing[a] if a < len(doing) else "ended" for a in cast)
