"""`zkkit sim`: stories that the simulator finds, told and drawn; what it covers, and how fast."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from zkkit.errors import ZkkitError
from zkkit.show.progress import Progress
from zkkit.show.sim_story import draw
from zkkit.show.table import paint, table
from zkkit.sim import Story, StoryMismatch, World, replay
from zkkit.sim.coverage import COVERED, FAULTS, widened
from zkkit.sim.errors import NoWorld
from zkkit.sim.exhibits import ALL, find
from zkkit.sim.expiry import WEAKER, ClockModel, RealRule, try_rule, weaker_rule
from zkkit.sim.origin import Maker
from zkkit.sim.properties import Property
from zkkit.sim.speed import tell_speed
from zkkit.sim.verdict import Verdict

SAME, ANOTHER, UNKNOWN = 0, 1, 2
_HOLDS = {"holds": "holds", "broken": "BROKEN", "vacuous": "VACUOUS", "unknown": "unknown"}
_CAUGHT = {"holds": "NOT CAUGHT", "broken": "caught", "vacuous": "vacuous", "unknown": "unknown"}

_ABOUT_GALLERY = """\
Mistakes that have been made in locks and other recipes, one each, and what the simulator finds: the
shortest story of requests and faults that leads to something wrong. Without a name all are explored
and listed by family, with what each teaches; with one its story is told.
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
_ABOUT_COVERAGE = """\
Explores the recipes, family by family, with at most one fault of each kind, and prints how many
states there are. All of them take some minutes.
"""
_COVERAGE = f"""\
examples:
  zkkit sim coverage semaphore
  zkkit sim coverage lock --whole      those that are bounded, with wider bounds: up to an hour

families: {", ".join(COVERED)}

exit codes:
  0 everything holds   1 something is broken   2 unknown (also wrong usage)
"""
_ABOUT_SPEED = "How fast the explorer is, and how its work grows with actors and faults.\n"
_SPEED = """\
examples:
  zkkit sim speed

exit codes:
  0 all is done within the limits   1 it is not
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
                                                                that gives a World and its
                                                                properties; or the World alone, if
                                                                the story says what was asked

exit codes:
  0 it comes to the same end   1 it does not: it ends well or otherwise, or no longer fits
  2 unknown: there is no world to replay it in (also wrong usage)
"""


def add_to(commands: Any) -> None:
    """Add the commands to a parser's commands."""
    top = commands.add_parser("sim", help="stories of the simulator: tell, draw, replay")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Any, about: str, description: str, epilog: str) -> Any:
        parser = subparsers.add_parser(name, help=about, description=description, epilog=epilog)
        parser.set_defaults(command=command)
        return parser

    gallery = add("gallery", _gallery, "mistakes and their stories", _ABOUT_GALLERY, _GALLERY)
    gallery.add_argument("name", nargs="?", metavar="NAME", help="one of them; its story is told")
    gallery.add_argument("--save", metavar="FILE", help="keep the story, as JSON")
    _add_pictures(gallery)
    clocks = add("clocks", _clocks, "rules by which a hold is valid", _ABOUT_CLOCKS, _CLOCKS)
    clocks.add_argument("name", nargs="?", metavar="NAME", help="a rule; its story is told")
    _add_pictures(clocks)
    coverage = add("coverage", _coverage, "explore the recipes", _ABOUT_COVERAGE, _COVERAGE)
    coverage.add_argument(
        "family", nargs="?", choices=list(COVERED), metavar="FAMILY", help="one family of recipes"
    )
    coverage.add_argument("--whole", action="store_true", help="the bounded ones, less bounded")
    add("speed", lambda args: tell_speed(), "how fast the explorer is", _ABOUT_SPEED, _SPEED)
    replay = add("replay", _replay, "let a story happen again", _ABOUT_REPLAY, _REPLAY)
    replay.add_argument("story", metavar="STORY", help="the file of a saved story")
    replay.add_argument(
        "--world", metavar="MODULE:FUNCTION", help="builds the world; it is imported and called"
    )
    _add_pictures(replay)


def _add_pictures(parser: Any) -> None:
    parser.add_argument("--svg", metavar="FILE", help="draw the story as SVG")
    parser.add_argument("--png", metavar="FILE", help="draw the story as PNG")


# --- the gallery --------------------------------------------------------------------------


def _gallery(args: argparse.Namespace) -> int:
    if args.name is not None:
        return _tell(args.name, find(args.name), args)
    _refuse_files(args, "name one: zkkit sim gallery NAME --png story.png")
    verdicts = []
    tables: dict[str, list[tuple[str, ...]]] = {}
    with Progress(len(ALL), "explored") as progress:
        for each in ALL:
            verdict = find(each.name)
            verdicts.append(verdict.holds)
            length = str(verdict.story.length) if verdict.story else "-"
            faults = ", ".join(each.faults.kinds) if each.faults.at_most else "none"
            row = f"  {each.name}", faults, _CAUGHT[verdict.outcome], length, each.teaches
            tables.setdefault(each.family, []).append(row)
            progress.done(each.name)
    # What it teaches last: it is the longest.
    empty = ("",) * 4
    rows = [row for name, those in tables.items() for row in ((name, *empty), *those)]
    _print_table(("name", "fault", "verdict", "length", "what it teaches"), rows)
    print("\nlength: requests and faults.  One of them told: zkkit sim gallery NAME")
    return _code(verdicts)


def _refuse_files(args: argparse.Namespace, hint: str) -> None:
    if any(getattr(args, kind, None) for kind in ("save", "svg", "png")):
        raise NoStory("which story?", hint=hint)


def _tell(name: str, verdict: Verdict, args: argparse.Namespace, about: str = "") -> int:
    """The story of a mistake."""
    if verdict.story is None:
        print(f"{name}: {verdict}")
        return _code([verdict.holds])
    print(f"{about}{draw(verdict.story).words}")
    _write(verdict.story, args)
    return 0


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table no wider than the terminal."""
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    text = table(heads, rows, left=len(heads))
    print("\n".join(_cut(line, wide) for line in text.splitlines()))


def _cut(line: str, wide: int | None) -> str:
    return line if wide is None or len(line) <= wide else line[: wide - 1] + "…"


def _code(verdicts: Collection[bool | None], wrong: bool = True) -> int:
    """The exit code for these verdicts. By default they are about mistakes: one that holds was not
    caught."""
    return ANOTHER if wrong in verdicts else UNKNOWN if None in verdicts else 0


# --- clocks -------------------------------------------------------------------------------


def _clocks(args: argparse.Namespace) -> int:
    if args.name is not None:
        weaker = weaker_rule(args.name)
        verdict = try_rule(weaker.rule, weaker.ensemble)
        return _tell(weaker.name, verdict, args, f"{weaker.name}: {weaker.about}\n")
    _refuse_files(args, "name a rule: zkkit sim clocks NAME --png story.png")
    real = try_rule(RealRule, ClockModel())
    rows = [
        (RealRule.__name__, _HOLDS[real.outcome], f"{real.states:,}", "The rule of real sessions.")
    ]
    verdicts = []
    with Progress(len(WEAKER), "explored") as progress:
        for each in WEAKER:
            verdict = try_rule(each.rule, each.ensemble)
            verdicts.append(verdict.holds)
            rows.append((each.name, _CAUGHT[verdict.outcome], f"{verdict.states:,}", each.about))
            progress.done(each.name)
    _print_table(("rule", "verdict", "states", "what it does"), rows)
    print("\nOne of them told: zkkit sim clocks NAME")
    return _code([real.holds], wrong=False) or _code(verdicts)


# --- what is covered ----------------------------------------------------------------------


def _coverage(args: argparse.Namespace) -> int:
    verdicts: set[bool | None] = set()
    for family in [args.family] if args.family else COVERED:
        casts = widened(COVERED[family]) if args.whole else COVERED[family]
        for cast in casts:
            print(f"{family}: {cast}, {cast.bound}", flush=True)
            for fault in FAULTS:
                verdict = cast.under(fault)
                verdicts.add(verdict.holds)
                word = _HOLDS[verdict.outcome]
                print(f"  {fault or 'no fault':14}{word}  {verdict.states:>11,} states", flush=True)
    return _code(verdicts, wrong=False)


# --- replaying ----------------------------------------------------------------------------


class NoStory(ZkkitError):
    """There is no story to do this with, or no place to write it to."""


def _replay(args: argparse.Namespace) -> int:
    story = Story.load(args.story)
    print(draw(story).words)
    _write(story, args)
    print()
    try:
        world, properties = _world(story, args.world)
    except NoWorld:
        print(paint("Unknown", "yellow", sys.stdout) + ": it cannot be replayed.", flush=True)
        raise
    try:
        wrong = replay(story, world, properties)
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
        return origin.world(), origin.properties()
    if "" not in sys.path:
        sys.path.insert(0, "")  # as Python itself does: the directory we are in
    package = named.partition(":")[0].partition(".")[0]
    trusted = () if package == "zkkit" else (package,)  # not all of zkkit: the file may name more
    if origin is not None and origin.build.function == named:
        return origin.world(trusted), origin.properties(trusted)
    match Maker(named).make(trusted):
        case World() as world if origin is not None:
            return world, origin.properties(trusted)
        case World() as world, [*properties] if all(isinstance(p, Property) for p in properties):
            return world, tuple(properties)
        case World():
            raise NoWorld(
                f"neither the story nor {named} says which properties to ask about",
                hint="let it give a World and its properties: return world, of_a_lock()",
            )
        case built:
            raise NoWorld(
                f"{named} gives {built!r}, which is no world",
                hint="let it give a World, or a World and a list of its properties",
            )


# --- files --------------------------------------------------------------------------------


def _write(story: Story, args: argparse.Namespace) -> None:
    """The files that were asked for."""
    drawing = draw(story)
    if "save" in args and args.save:
        _written(args.save, story.save)
    if args.svg:
        _written(args.svg, lambda path: path.write_text(drawing.svg(), encoding="utf-8"))
    if args.png:
        _written(args.png, lambda path: path.write_bytes(drawing.png()))


def _written(name: str, write: Any) -> None:
    try:
        write(Path(name))
    except OSError as error:
        raise NoStory(f"cannot write {name}: {error.strerror}", hint="give another file") from error
    print(f"Wrote {name}", file=sys.stderr)
