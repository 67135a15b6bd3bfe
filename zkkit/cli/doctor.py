"""`zkkit doctor`: what this machine has, what it lacks, and the command that cures it."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zkkit.bench.peers.curator_jars import find_curator
from zkkit.ensemble import engine, install
from zkkit.ensemble.errors import EnsembleError
from zkkit.ensemble.ports import Reservation
from zkkit.errors import ZkkitError
from zkkit.show.table import paint

_DESCRIPTION = """\
One line for each thing zkkit needs or can use. What is missing comes with the command that cures
it. The main job is `zkkit compare` on servers of this machine: processes or containers.
"""
_EPILOG = """\
exit codes:
  0 the main job can be done   1 it cannot
"""

_OLDEST_JAVA = 11
_PORTS = 9  # clients', quorum and election ports of three nodes
_MEMORY_MB = 1_000  # three small servers and their clients

Verdict = Literal["ok", "missing", "poor"]
_COLOURS: dict[Verdict, str] = {"ok": "green", "missing": "red", "poor": "yellow"}


class Finding(NamedTuple):
    """One line: what was looked at, what was found, and what to run if that is not enough."""

    need: str
    verdict: Verdict
    text: str
    cure: str = ""


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "doctor",
        help="what this machine lacks, and the command that cures it",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.set_defaults(command=_command)


def _command(args: argparse.Namespace) -> int:
    findings = {}
    for finding in examine():
        findings[finding.need] = finding
        print(_line(finding), flush=True)
    able, why = judge(findings)
    print()
    print(paint(why, "green" if able else "red", sys.stdout))
    return 0 if able else 1


def examine() -> Iterator[Finding]:
    """Look at everything, one after the other."""
    # An older one than 3.11 could not even read this file.
    yield Finding("Python", "ok", ".".join(map(str, sys.version_info[:3])))
    yield _package("kazoo", "missing", "not installed", "pip install kazoo")
    yield _package("docker", "poor", "not installed: no containers", "pip install 'zkkit[docker]'")
    yield _package("matplotlib", "poor", "not installed: no pictures", "pip install 'zkkit[lab]'")
    yield _package("pandas", "poor", "not installed: no data frames", "pip install 'zkkit[lab]'")
    yield _package("pyarrow", "poor", "not installed: no Parquet files", "pip install 'zkkit[lab]'")
    yield _package("jupyterlab", "poor", "not installed: no notebooks", "pip install 'zkkit[lab]'")
    yield _package("locust", "poor", "not installed: no load tests", "pip install 'zkkit[load]'")
    yield _asked("Java", _java)
    yield _asked("ZooKeeper", _zookeeper)
    yield _curator()
    yield _asked("engine", _engine)
    yield _asked("compose", lambda: " ".join(engine.compose()))
    yield _asked("image", _image)
    yield _asked("ports", _ports)
    yield _memory()
    yield _cores()


def judge(findings: dict[str, Finding]) -> tuple[bool, str]:
    """Whether the main job can be done, and on what."""
    lacking = [need for need in ("kazoo", "ports") if findings[need].verdict == "missing"]
    if lacking:
        return False, f"zkkit compare cannot run: {', '.join(lacking)} first."
    ways = {
        "processes": ("Java", "ZooKeeper"),
        "containers": ("engine", "compose", "image"),
    }
    open_ways = [
        way for way, needs in ways.items() if all(findings[n].verdict != "missing" for n in needs)
    ]
    if not open_ways:
        return False, (
            "zkkit compare cannot start servers: get Java and ZooKeeper, or an engine, compose and "
            "an image. On servers that are there already: zkkit compare --hosts …"
        )
    return True, f"zkkit compare can run; servers as {' or '.join(open_ways)}."


def _line(finding: Finding) -> str:
    mark = paint(f"{finding.verdict:<7}", _COLOURS[finding.verdict], sys.stdout)
    line = f"{mark}  {finding.need:<10}  {finding.text}"
    return f"{line}\n{'':21}cure: {finding.cure}" if finding.cure else line


def _asked(need: str, look: Callable[[], str]) -> Finding:
    """What `look` finds; an error of an ensemble is a finding too, and its hint is the cure."""
    try:
        return Finding(need, "ok", look())
    except EnsembleError as error:
        return Finding(need, "missing", error.message, error.hint)


def _package(name: str, without: Verdict, text: str, cure: str) -> Finding:
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, without, text, cure)


def _java() -> str:
    java = install.find_java()
    text = f"{java.version} ({java.path})"
    first, _, rest = java.version.partition(".")
    number = rest.partition(".")[0] if first == "1" else first  # Java 8 calls itself 1.8
    if number.isdigit() and int(number) < _OLDEST_JAVA:
        cure = "apt-get install default-jre-headless, or set JAVA_HOME to a newer one"
        raise EnsembleError(f"{text} is older than {_OLDEST_JAVA}", hint=cure)
    return text


def _zookeeper() -> str:
    found = install.find_zookeeper()
    return f"{found.version} ({found.home})"


def _curator() -> Finding:
    try:
        found = find_curator()
    except ZkkitError as error:
        return Finding("Curator", "poor", f"{error.message}: not beside Java's", error.hint)
    return Finding("Curator", "ok", f"{found.version} ({found.jars[0].parent})")


def _engine() -> str:
    about = engine.connect().version()
    return f"{about.get('Version', 'unknown')} at {engine.endpoint()}"


def _image() -> str:
    try:
        client = engine.connect()
    except EnsembleError:
        raise EnsembleError("there is no engine to ask for it", hint="see engine") from None
    return engine.image(client)


def _ports() -> str:
    with Reservation() as reservation:
        reservation.choose(_PORTS)
    return "free ones on 127.0.0.1"


def _memory() -> Finding:
    available = _available_mb()
    if available is None:
        return Finding("memory", "ok", "unknown")
    text = f"{available:,} MB available"
    if available < _MEMORY_MB:
        return Finding("memory", "poor", text, f"end some programs: {_MEMORY_MB:,} MB are wanted")
    shared = Path("/dev/shm")
    if shared.is_dir():
        text += f"; {shutil.disk_usage(shared).free // 2**20:,} MB free in {shared}"
    return Finding("memory", "ok", text)


def _available_mb() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:  # not Linux
        return None
    return next((int(s.split()[1]) // 1024 for s in lines if s.startswith("MemAvailable")), None)


def _cores() -> Finding:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if (count or 1) < 2:
        text = f"{count}: servers and clients share it, so times are not worth much; counts are"
        return Finding("cores", "poor", text, "measure on a machine with two or more")
    return Finding("cores", "ok", str(count))
