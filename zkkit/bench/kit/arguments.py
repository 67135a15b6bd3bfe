"""Options of experiments. What stands behind one is read, or it is said what would be right."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence

from zkkit.ensemble.backends import BACKENDS
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts

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


def repeats(text: str) -> int:
    """A number from 1 on."""
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} repeats are none: give 1 or more")
    return number


def milliseconds(text: str) -> float:
    """Milliseconds, given back as seconds."""
    return seconds(0, 10_000, unit="milliseconds")(text) / 1e3


def seconds(least: float, most: float, *, unit: str = "seconds") -> Callable[[str], float]:
    """Reads a time within these bounds."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no time from {least:g} to {most:g} {unit}"
            )
        return value

    return read


def some_of(what: str, known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads names separated by commas, each once."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no {what} {name!r}: give some of {', '.join(known)}"
                )
        return names

    return read


def hosts(text: str) -> str:
    """A connect string, checked for its form."""
    try:
        parse_hosts(text)
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


# --- options ----------------------------------------------------------------------------


def add(
    parser: argparse._ActionsContainer,
    flag: str,
    kind: Callable[[str], object],
    default: str | None,
    about: str,
    *also: str,
    shown: str | None = None,
    metavar: str | None = None,
    choices: Sequence[str] | None = None,
) -> None:
    """An option, and other names it has. The default is written as a user would write it, and the
    help names it (as `shown`). What was asked for is kept in `args.texts`, for `again`."""
    texts: dict[str, str | None] = parser.get_default("texts") or {}
    parser.set_defaults(texts=texts)
    texts[flag] = None

    def read(text: str) -> object:
        value = kind(text)
        texts[flag] = text
        return value

    read.__name__ = getattr(kind, "__name__", "option")  # argparse names it in its errors
    value = shown or default
    parser.add_argument(
        *(flag, *also),
        type=read,
        default=default,
        help=f"{about} (default: {value})" if value else about,
        metavar=metavar,
        choices=choices,
    )


def again(prog: str, args: argparse.Namespace) -> str:
    """The command line that does the same again, whatever the defaults will be then."""
    options = [(flag, text) for flag, text in args.texts.items() if text is not None]
    return " ".join([prog, *(shlex.join(filter(None, pair)) for pair in options)])


def add_servers(parser: argparse.ArgumentParser) -> None:
    """Which servers to measure on."""
    add_hosts(parser)
    about = "where our own servers keep their data"
    add(parser, "--medium", str, None, about, shown="memory", choices=("memory", "disk"))
    about = "what our own servers run on"
    value = "local, so that their CPU can be told"
    add(parser, "--backend", str, None, about, shown=value, choices=BACKENDS)


def add_hosts(parser: argparse._ActionsContainer) -> None:
    """Which of others' servers to measure on."""
    add(parser, "--hosts", hosts, None, "servers that are there already")


def check_servers(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Stop where the options contradict each other."""
    for option in ("medium", "backend"):
        if getattr(args, "hosts", None) and getattr(args, option, None):
            parser.error(
                f"--{option} is for servers of our own; those at --hosts are there already"
            )


def add_results(parser: argparse.ArgumentParser, default: str) -> None:
    """Where to put the results."""
    add(parser, "--name", name, default, "of the results")
    about = "where to put them (default: results)"
    parser.add_argument("--results", default="results", metavar="DIR", help=about)
