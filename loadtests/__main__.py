"""`make load`: the designs of a lock under the same load, one after the other, in one report.

    python -m loadtests
    python -m loadtests --users 100 --seconds 20 --hold-ms 2
    python -m loadtests -H 127.0.0.1:2181,127.0.0.1:2182

Starts the servers once, then locust for each run (`loadtests/locks.py`, headless), in ABBA order:
a machine that grows warmer, or a JVM that grows faster, favours no design.

Exit codes: 0 no holds overlapped, 1 they did, 2 unknown, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from loadtests import options, results
from loadtests.servers import ensemble_for, hand_over
from zkkit.bench.designs import HERD, SEQUENTIAL
from zkkit.bench.results import ResultsDirectory
from zkkit.bench.verdict import Judgement, Verdict
from zkkit.cli import arguments
from zkkit.cli import options as options_of_results
from zkkit.cli.servers import Servers
from zkkit.errors import ZkkitError
from zkkit.show.wording import many

DESIGNS = (HERD.name, SEQUENTIAL.name)
_HERE = Path(__file__).resolve().parent
_SPAWN_RATE = 100  # users a second; locust warns above it
_INTERRUPTED = 130  # the exit code
_LATE = 120.0  # seconds beyond its own time after which a run is given up


class RunFailed(ZkkitError):
    """locust did not come to its end."""


def main(argv: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(argv)
    if find_spec("locust") is None:  # not imported: that would patch this process
        print("loadtests: locust is missing: pip install 'zkkit[load]'", file=sys.stderr)
        return Verdict.UNKNOWN.exit_code
    try:
        return _compare(given)
    except ZkkitError as error:
        print(f"loadtests: {error}", file=sys.stderr)
        return Verdict.UNKNOWN.exit_code
    except KeyboardInterrupt:  # before the first run, or after the last
        print("loadtests: interrupted; the verdict is unknown", file=sys.stderr)
        return _INTERRUPTED


def order(repeats: int) -> list[str]:
    """The designs as they take turns: A B B A A B ..."""
    turns = (DESIGNS if number % 2 == 0 else DESIGNS[::-1] for number in range(repeats))
    return [design for turn in turns for design in turn]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m loadtests",
        description="Two designs of a lock under the same load, one after the other.",
        epilog="exit codes: 0 no holds overlapped   1 they did   2 unknown   130 interrupted",
    )
    parser.add_argument(
        "-u", "--users", type=arguments.repeats, default=30, help="at once (default: 30)"
    )
    parser.add_argument(
        "--seconds", type=arguments.repeats, default=7, help="each run is held (default: 7)"
    )
    parser.add_argument(
        "--repeats", type=arguments.repeats, default=2, help="runs of each design (default: 2)"
    )
    parser.add_argument(
        "--hold-ms",
        type=arguments.milliseconds,
        default=0.005,
        metavar="MS",
        help="how long a user holds the lock (default: 5)",
    )
    parser.add_argument(
        *("-H", "--host", "--ensemble"),
        dest="ensemble",
        type=options.ensemble,
        default=options.KINDS[0],
        metavar="WHERE",
        help="auto, docker or local: our own servers; or host:port,host:port (default: auto)",
    )
    options_of_results.add_results(parser, "load")
    return parser


def _compare(given: argparse.Namespace) -> int:
    started, plan = datetime.now(UTC), order(given.repeats)
    with ExitStack() as stack:
        directory = stack.enter_context(ResultsDirectory(given.results, given.name))
        there = stack.enter_context(ensemble_for(given.ensemble))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zkkit-load-")))
        parts, stopped = _run_all(given, plan, there, scratch)
        judgement = _judge(parts, stopped, len(plan))
        document = _document(given, parts, judgement, started, there)
        for number, (design, home) in enumerate(_homes(parts), 1):
            _copy(home, directory, f"{number}-{design}")
        where = results.write(document, directory, _metrics(parts))
    print(results.last_words(document, judgement, where), flush=True)
    return _INTERRUPTED if stopped == "interrupted" else judgement.verdict.exit_code


Part = tuple[str, Path, Mapping[str, Any]]
"""A run: its design, its directory, its results.json."""


def _run_all(
    given: argparse.Namespace, plan: Sequence[str], there: Servers, scratch: Path
) -> tuple[list[Part], str]:
    """All runs, or those until one is stopped; gives them and why it was stopped."""
    parts: list[Part] = []
    for number, design in enumerate(plan, 1):
        print(
            f"{number}/{len(plan)} {design}: {many(given.users, 'user')} for {given.seconds} s",
            file=sys.stderr,
            flush=True,
        )
        home = scratch / str(number)
        interrupted = _locust(given, design, there, home)
        latest = results.latest(home / f"load-{design}")
        if latest is None:
            why = "interrupted" if interrupted else f"run {number} ({design}) gave no results"
            return parts, f"{why}{_tail(home, interrupted)}"
        parts.append((design, latest, json.loads((latest / "results.json").read_text())))
        if interrupted:
            return parts, "interrupted"
    return parts, ""


def _locust(given: argparse.Namespace, design: str, there: Servers, home: Path) -> bool:
    """One run in a process of its own; whether Ctrl-C ended it."""
    home.mkdir()
    command = [sys.executable, "-m", "locust", "-f", str(_HERE / "locks.py"), "--headless"]
    command += ["--design", design, "-H", there.hosts, "--results", str(home)]
    command += ["--hold-ms", f"{given.hold_ms * 1e3:g}", "--only-summary"]
    command += ["-u", str(given.users), "-r", str(_SPAWN_RATE), "-t", str(given.seconds)]
    path = os.pathsep.join(filter(None, (str(_HERE.parent), os.environ.get("PYTHONPATH"))))
    with open(home / "locust.log", "wb") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **hand_over(there), "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        interrupted = False
        try:
            while True:
                try:
                    process.wait(given.seconds + _LATE)
                    return interrupted
                except KeyboardInterrupt:
                    # From a terminal it has had it too; twice does no harm. It ends in good order.
                    interrupted = True
                    process.send_signal(signal.SIGINT)
        except subprocess.TimeoutExpired:
            raise RunFailed(
                f"the {design} run was not done {_LATE:g} s after its time",
                hint="see that the servers are up, or take fewer users",
            ) from None
        finally:
            process.kill()
            process.wait()


def _tail(home: Path, interrupted: bool) -> str:
    if interrupted:
        return ""
    lines = (home / "locust.log").read_text(errors="replace").splitlines()
    said = [line.partition("loadtests: ")[2] for line in lines if "/ERROR/loadtests: " in line]
    return f": {said[-1]}" if said else "; the end of its log: " + " | ".join(lines[-3:])


def _judge(parts: Sequence[Part], stopped: str, planned: int) -> Judgement:
    """The worst verdict of all runs; fewer runs than planned prove nothing."""
    for design, _, document in parts:
        if document["verdict"] is False:
            return Judgement(Verdict.BROKEN, f"{design}: {document['why']}")
    doubts = [
        f"{design}: {document['why']}" for design, _, document in parts if not _good(document)
    ]
    if stopped:
        doubts.insert(0, f"{len(parts)} of {planned} runs were made: {stopped}")
    if doubts:
        return Judgement(Verdict.UNKNOWN, f"Unknown: {doubts[0]}")
    holds = sum(run["acquisitions"] for _, _, document in parts for run in document["runs"])
    return Judgement(
        Verdict.HOLDS,
        f"Both locks were exclusive: of {holds:,} holds in {len(parts)} runs none overlapped.",
    )


def _good(document: Mapping[str, Any]) -> bool:
    return document["verdict"] is True and not document["failures"]


def _document(
    given: argparse.Namespace,
    parts: Sequence[Part],
    judgement: Judgement,
    started: datetime,
    there: Servers,
) -> dict[str, Any]:
    documents = [document for _, _, document in parts]
    failures: dict[str, int] = {}
    for document in documents:
        for what, count in document["failures"].items():
            failures[what] = failures.get(what, 0) + count
    return results.document(
        name=given.name,
        command=_command(given),
        started=started,
        judgement=judgement,
        runs=[run for document in documents for run in document["runs"]],
        plan={
            "designs": list(DESIGNS),
            "users": [given.users],
            "repeats": given.repeats,
            "order": "ABBA",
            "step_s": given.seconds,
            "hold_ms": given.hold_ms * 1e3,
        },
        ensemble=documents[0]["ensemble"] if documents else there.describe({}),
        failures=failures,
        silent=next((d["silent"] for d in documents if d["silent"]), ""),
    )


def _command(given: argparse.Namespace) -> str:
    words = ["python", "-m", "loadtests", "--users", str(given.users)]
    words += ["--seconds", str(given.seconds), "--repeats", str(given.repeats)]
    words += ["--hold-ms", f"{given.hold_ms * 1e3:g}", "-H", given.ensemble]
    return shlex.join(words)


def _homes(parts: Sequence[Part]) -> list[tuple[str, Path]]:
    return [(design, home) for design, home, _ in parts]


def _copy(home: Path, directory: ResultsDirectory, prefix: str) -> None:
    """What a run wrote, and what locust said."""
    for name in ("events.parquet", "events.jsonl", "results.json"):
        if (home / name).exists():
            directory.write(f"{prefix}-{name}", (home / name).read_bytes())
    log = home.resolve().parent.parent / "locust.log"
    directory.write(f"{prefix}-locust.log", log.read_bytes())


def _metrics(parts: Sequence[Part]) -> dict[str, Any]:
    found = [json.loads((home / "server-metrics.json").read_text()) for _, home, _ in parts]
    if not found:
        return {}
    return {
        **found[0],
        "after": found[-1]["after"],
        "fires": [window for metrics in found for window in metrics["fires"]],
    }


if __name__ == "__main__":
    sys.exit(main())
