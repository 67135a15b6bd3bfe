"""The flags of the load test, which are the fields of locust's web page too.

The servers are named by locust's own -H (on the page: Host); --ensemble is another name for it.

What comes from the command line is checked by argparse; what comes from the page is checked by
nobody but us. So everything is checked once more when a test starts (`LoadOptions.of`).
"""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import Any

from zkkit.bench.designs import EXCLUSIVE, named
from zkkit.bench.kit import arguments
from zkkit.ensemble.backends import BACKENDS
from zkkit.errors import ZkkitError
from zkkit.paths import validate

MOST_USERS = 1000
"""All users live in one process; beyond this its interpreter is what one measures."""

_STEP_SECONDS = 10.0  # for each of several steps, if --run-time says nothing


class WrongOption(ZkkitError, ValueError):
    """An option that cannot be meant."""


def add_to(parser: Any) -> None:
    """Add our options to locust's parser; none of its own is changed but the web page's host."""
    # All interfaces would be locust's default: a load generator that anybody may start.
    parser.set_defaults(web_host="127.0.0.1")
    parser.add_argument(
        "--design",
        choices=list(EXCLUSIVE),
        default="sequential",
        help="how the lock is built (default: sequential)",
    )
    parser.add_argument(
        "--ensemble",
        type=ensemble,
        metavar="{auto,docker,local,HOSTS}",
        include_in_web_ui=False,  # there it is the field Host
        help="the same as -H: our own servers, for the time of the test (default: auto), or those "
        "at host:port,host:port",
    )
    parser.add_argument(
        "--hold-ms",
        type=_milliseconds,
        default=5.0,
        metavar="MS",
        help="how long a user holds the lock, in milliseconds (default: 5)",
    )
    parser.add_argument(
        "--steps",
        type=_steps,
        default="",
        metavar="USERS",
        help="numbers of users such as 10,50,200; each is held for the run time, counted from "
        "when all are connected (default: one step of --users)",
    )
    parser.add_argument(
        "--path",
        default="",
        metavar="ZNODE",
        include_in_web_ui=False,
        help="the lock's node (default: a fresh one below /zkkit-load, removed at the end)",
    )
    parser.add_argument(
        "--results",
        default="results",
        metavar="DIR",
        include_in_web_ui=False,
        help="where the results are put (default: results)",
    )


def check(parser: Any) -> None:
    """Stop where the command line cannot be meant; before locust acts on it, so before it forks.

    After a fork it is too late: locust's parent does not end a child that is still starting, and a
    worker whose master is gone looks for it for minutes.
    """
    parsed, _ = parser.parse_known_args()
    if parsed.processes or parsed.master or parsed.worker:
        # Their holds would lie in several processes, and nobody would compare them.
        parser.error("one process only: give neither --processes nor --master nor --worker")
    if parsed.host and parsed.ensemble:
        parser.error("-H and --ensemble both name the servers: give one of them")
    try:
        LoadOptions.of(parsed)
    except WrongOption as error:
        parser.error(str(error))


def servers_of(parsed: Any) -> str:
    """Which servers the options name."""
    return str(parsed.host or parsed.ensemble or BACKENDS[0]).strip()


@dataclass(frozen=True)
class LoadOptions:
    """What a test was asked for, checked."""

    design: str
    ensemble: str
    hold_ms: float
    path: str
    results: str
    steps: tuple[int, ...]
    seconds: float | None
    spawn_rate: float

    @classmethod
    def of(cls, parsed: Any) -> LoadOptions:
        """Read locust's parsed options; raises WrongOption with a sentence."""
        try:
            design = named(parsed.design, EXCLUSIVE).name
            hold_ms = _milliseconds(str(parsed.hold_ms))
            numbers = _numbers(_steps(str(parsed.steps)))
            where = ensemble(servers_of(parsed))
            if parsed.path:
                validate(parsed.path)
        except (ZkkitError, argparse.ArgumentTypeError) as error:
            raise WrongOption(str(error)) from error
        steps = numbers or (parsed.num_users or 1,)
        if not 1 <= max(steps) <= MOST_USERS:
            raise WrongOption(f"{max(steps)} users are not possible: give 1 to {MOST_USERS}")
        seconds: float | None = parsed.run_time or (_STEP_SECONDS if len(steps) > 1 else None)
        rate = float(parsed.spawn_rate or 1)
        return cls(design, where, hold_ms, parsed.path, parsed.results, steps, seconds, rate)

    @property
    def command(self) -> str:
        """The command line that asks for the same."""
        words = ["locust", "-f", "loadtests/locks.py", "--headless", "--design", self.design]
        words += ["-H", self.ensemble, "--hold-ms", f"{self.hold_ms:g}"]
        words += ["--steps", ",".join(map(str, self.steps)), "-r", f"{self.spawn_rate:g}"]
        if self.seconds is not None:
            words += ["-t", f"{self.seconds:g}"]
        return shlex.join(words)


def _milliseconds(text: str) -> float:
    return arguments.milliseconds(text) * 1e3


def _steps(text: str) -> str:
    """Kept as text, for the web page gives it back as text."""
    _numbers(text)
    return text


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(part.isdecimal() and 1 <= int(part) <= MOST_USERS for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} are no steps: give numbers of users from 1 to {MOST_USERS}, such as 10,50"
        )
    return tuple(map(int, parts))


def ensemble(text: str) -> str:
    """auto, docker, local, or a connect string with ports: a word without is a slip of the pen."""
    if text in BACKENDS:
        return text
    if all(":" in server for server in text.partition("/")[0].split(",")):
        return arguments.hosts(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither {', '.join(BACKENDS)} nor a list of servers such as zk1:2181,zk2:2181"
    )
