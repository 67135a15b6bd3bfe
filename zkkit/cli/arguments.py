"""What may stand behind an option: read it, or say what is wrong and what would be right."""

from __future__ import annotations

import argparse
import re

from zkkit.bench.designs import Design, UnknownDesign, named
from zkkit.bench.witness import members
from zkkit.errors import ZkkitError

MOST_CONTENDERS = 250
"""All contenders are sessions of one process, each with a few threads and open files."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def contenders(text: str) -> tuple[int, ...]:
    """ "2,4,8" as numbers, each once, in rising order."""
    numbers = {_whole(part) for part in text.split(",")}
    for number in numbers:
        if not 1 <= number <= MOST_CONTENDERS:
            raise argparse.ArgumentTypeError(
                f"{number} contenders are not possible: give 1 to {MOST_CONTENDERS}, such as 2,4,8"
            )
    return tuple(sorted(numbers))


def designs(text: str) -> tuple[Design, ...]:
    """ "herd,sequential" as designs, each once, in the given order."""
    try:
        return tuple(named(name) for name in dict.fromkeys(map(str.strip, text.split(","))))
    except UnknownDesign as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from error


def repeats(text: str) -> int:
    """A number from 1 on."""
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} repeats are none: give 1 or more")
    return number


def milliseconds(text: str) -> float:
    """Milliseconds, given back as seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no time from 0 to 10000 milliseconds")
    return value / 1e3


def hosts(text: str) -> str:
    """A connect string, checked for its form."""
    try:
        members(text)
    except ZkkitError as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from error
    return text


def name(text: str) -> str:
    """A name that can be a directory's."""
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot name a directory: use letters, digits, '.', '_' and '-'"
        )
    return text


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text.strip()!r} is no whole number") from None
