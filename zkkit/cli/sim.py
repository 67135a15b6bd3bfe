"""`zkkit sim gallery`, `clocks` and `replay`: stories that the simulator finds, told and drawn."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zkkit.errors import ZkkitError
from zkkit.show.progress import Progress
from zkkit.show.sim_story import draw, words
from zkkit.show.table import paint, table
from zkkit.sim import Story, StoryMismatch, World
from zkkit.sim.errors import NoWorld
from zkkit.sim.exhibits import ALL, find, twin
from zkkit.sim.expiry import WEAKER, Ensemble, RealRule, try_rule, weaker_rule
from zkkit.sim.explore import Verdict
from zkkit.sim.origin import Maker, Origin
from zkkit.sim.properties import Property, of_a_lock

SAME, ANOTHER, UNKNOWN = 0, 1, 2

_ABOUT_GALLERY = """\
Mistakes that have been made in locks and other recipes, one each, and what the simulator finds: the
shortest story of requests and faults that leads to something wrong. Without a name all are explored
and listed; with one its story is told.
"""
_GALLERY = """\
examples:
  zkkit sim gallery
  zkkit sim gallery LeaksWatches                                in words
  zkkit sim gallery LeaksWatches --png story.png                and as a picture
  zkkit sim gallery LeaksWatches --save story.json              to be replayed

exit codes:
  0 every mistake is caught   1 one is not   2 unknown (also wrong usage)
"""
_ABOUT_CLOCKS = """\
When may a client say that its session lives? The rule of real sessions, and weaker ones, in a model
of a leader, a follower, a leader that was deposed, and time: is each of them caught? Without a name
all are listed, the real one first; with one its shortest story is told.
"""
_CLOCKS = """\
examples:
  zkkit sim clocks
  zkkit sim clocks ThreeSyncs                                   in words
  zkkit sim clocks ThreeSyncs --png story.png                   and as a picture

exit codes:
  0 the real rule holds, every other is caught   1 not so   2 unknown (also wrong usage)
"""
_ABOUT_REPLAY = """\
Tells a story from a file, step by step, and lets it happen again in the world it was found in: does
it come to the same end? A story remembers its world if it is one of the gallery's, or was explored
by an Origin. Nothing outside zkkit is imported unless you name it with --world.
"""
_REPLAY = """\
examples:
  zkkit sim replay story.json
  zkkit sim replay story.json --svg story.svg --png story.png   draw it
  zkkit sim replay story.json --world shop.worlds:two_buyers    in a world of your own: a function
                                                                that gives a World, or a World and
                                                                its properties

exit codes:
  0 it comes to the same end   1 it does not: it ends well or otherwise, or no longer fits
  2 unknown: there is no world to replay it in (also wrong usage)
"""


def add_to(commands: Any) -> None:
    """Add the commands to a parser's commands."""
    top = commands.add_parser("sim", help="stories of the simulator: tell, draw, replay")
    own = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    gallery = _add(own, "gallery", "mistakes and their stories", _ABOUT_GALLERY, _GALLERY)
    gallery.set_defaults(command=_gallery)
    gallery.add_argument("name", nargs="?", metavar="NAME", help="one of them; its story is told")
    gallery.add_argument("--save", metavar="FILE", help="keep the story, as JSON")
    _add_pictures(gallery)
    clocks = _add(own, "clocks", "rules by which a hold is valid", _ABOUT_CLOCKS, _CLOCKS)
    clocks.set_defaults(command=_clocks)
    clocks.add_argument("name", nargs="?", metavar="NAME", help="a rule; its story is told")
    _add_pictures(clocks)
    replay = _add(own, "replay", "let a story happen again", _ABOUT_REPLAY, _REPLAY)
    replay.set_defaults(command=_replay)
    replay.add_argument("story", metavar="STORY", help="the file of a saved story")
    replay.add_argument(
        "--world", metavar="MODULE:FUNCTION", help="builds the world; it is imported and called"
    )
    _add_pictures(replay)


def _add(own: Any, name: str, about: str, description: str, epilog: str) -> Any:
    return own.add_parser(
        name,
        help=about,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_pictures(own: Any) -> None:
    own.add_argument("--svg", metavar="FILE", help="draw the story as SVG")
    own.add_argument("--png", metavar="FILE", help="draw the story as PNG")


# --- the gallery --------------------------------------------------------------------------


def _gallery(given: argparse.Namespace) -> int:
    if given.name is not None:
        return _one(given)
    if given.save or given.svg or given.png:
        raise NoStory("which story?", hint="name one: zkkit sim gallery NAME --png story.png")
    rows, verdicts = [], []
    with Progress(len(ALL), "explored") as progress:
        for each in ALL:
            verdict = find(each.name)
            verdicts.append(verdict.holds)
            length = str(verdict.story.length) if verdict.story else "-"
            faults = ", ".join(each.faults.kinds) if each.faults.at_most else "none"
            rows.append((each.name, faults, _caught(verdict), length, each.mistake))
            progress.done(each.name)
    # The mistake last: it is the longest.
    _print_table(("name", "fault", "verdict", "length", "mistake"), rows)
    print("\nlength: requests and faults.  One of them told: zkkit sim gallery NAME")
    return _code(verdicts)


def _one(given: argparse.Namespace) -> int:
    verdict = find(twin(given.name).name)
    story = verdict.story
    if story is None:
        print(f"{given.name}: {verdict}")
        return _code([verdict.holds])
    print(words(story))
    if given.save:
        _written(given.save, story.save)
    _draw(story, given)
    return 0


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """As wide as the terminal."""
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    told = table(heads, rows, left=len(heads))
    print("\n".join(_cut(line, wide) for line in told.splitlines()))


def _cut(line: str, wide: int | None) -> str:
    return line if wide is None or len(line) <= wide else line[: wide - 1] + "…"


def _caught(verdict: Verdict) -> str:
    return {False: "caught", True: "NOT CAUGHT", None: "unknown"}[verdict.holds]


def _code(verdicts: list[bool | None]) -> int:
    """Of what was found about mistakes: a mistake that holds is one that was not caught."""
    return ANOTHER if True in verdicts else UNKNOWN if None in verdicts else 0


# --- clocks -------------------------------------------------------------------------------


def _clocks(given: argparse.Namespace) -> int:
    if given.name is not None:
        return _clock(given)
    if given.svg or given.png:
        raise NoStory("which story?", hint="name a rule: zkkit sim clocks NAME --png story.png")
    real = try_rule(RealRule, Ensemble())
    said = {True: "holds", False: "BROKEN", None: "unknown"}[real.holds]
    rows = [(RealRule.__name__, said, f"{real.states:,}", "The rule of real sessions.")]
    verdicts = []
    with Progress(len(WEAKER), "explored") as progress:
        for each in WEAKER:
            verdict = try_rule(each.rule, each.ensemble)
            verdicts.append(verdict.holds)
            rows.append((each.name, _caught(verdict), f"{verdict.states:,}", each.about))
            progress.done(each.name)
    _print_table(("rule", "verdict", "states", "what it does"), rows)
    print("\nOne of them told: zkkit sim clocks NAME")
    return ANOTHER if real.holds is False else UNKNOWN if real.holds is None else _code(verdicts)


def _clock(given: argparse.Namespace) -> int:
    weaker = weaker_rule(given.name)
    verdict = try_rule(weaker.rule, weaker.ensemble)
    if verdict.story is None:
        print(f"{weaker.name}: {verdict}")
        return _code([verdict.holds])
    print(f"{weaker.name}: {weaker.about}\n{words(verdict.story)}")
    _draw(verdict.story, given)
    return 0


# --- replaying ----------------------------------------------------------------------------


class NoStory(ZkkitError):
    """No story to do this with, or no place to write it to."""


def _replay(given: argparse.Namespace) -> int:
    story = Story.load(given.story)
    print(words(story))
    _draw(story, given)
    print()
    try:
        world, properties = _world(story, given.world)
    except NoWorld:
        print(paint("Unknown", "yellow", sys.stdout) + ": it cannot be replayed.", flush=True)
        raise
    try:
        wrong = story.replay(world, properties)
    except StoryMismatch as mismatch:
        print(f"It no longer happens: {mismatch.message}.")
        return ANOTHER
    if wrong == story.wrong:
        print(paint("The same end", "red", sys.stdout) + f": {wrong}.")
        return SAME
    if wrong is None:
        print(paint("It ends well", "green", sys.stdout) + ": nothing is wrong any more.")
    else:
        print(f"It comes to another end: {wrong}.")
    return ANOTHER


def _world(story: Story, named: str | None) -> tuple[World, tuple[Property, ...]]:
    """The world to replay it in, and what to ask there."""
    origin = story.origin
    if named is None:
        if origin is None:
            raise NoWorld(
                "the story does not say how its world is built",
                hint="give a function that builds it: --world package.module:function",
            )
        return origin.world(), _asked(origin, ())
    if "" not in sys.path:
        sys.path.insert(0, "")  # as Python itself does: the directory we are in
    package = named.partition(":")[0].partition(".")[0]
    trusted = () if package == "zkkit" else (package,)  # not all of zkkit: the file may name more
    if origin is not None and origin.build.function == named:
        return origin.world(trusted), _asked(origin, trusted)
    match Maker(named).make(trusted):
        case World() as world:
            return world, of_a_lock() if origin is None else _asked(origin, trusted)
        case World() as world, [*properties] if all(isinstance(p, Property) for p in properties):
            return world, tuple(properties)
        case built:
            raise NoWorld(
                f"{named} gives {built!r}, which is no world",
                hint="let it give a World, or a World and a list of its properties",
            )


def _asked(origin: Origin, trusted: tuple[str, ...]) -> tuple[Property, ...]:
    properties = origin.properties(trusted)
    return of_a_lock() if properties is None else tuple(properties)


# --- files --------------------------------------------------------------------------------


def _draw(story: Story, given: argparse.Namespace) -> None:
    drawing = draw(story)
    if given.svg:
        _written(given.svg, lambda path: path.write_text(drawing.svg(), encoding="utf-8"))
    if given.png:
        _written(given.png, lambda path: path.write_bytes(drawing.png()))


def _written(name: str, write: Any) -> None:
    try:
        write(Path(name))
    except OSError as error:
        raise NoStory(f"cannot write {name}: {error.strerror}", hint="give another file") from error
    print(f"Wrote {name}", file=sys.stderr)
