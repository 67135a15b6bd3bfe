"""The end of a load test: its verdict, its results directory, and what is said on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from loadtests import page, picture, words
from loadtests.figures import summary
from loadtests.servers import handed_over
from loadtests.trial import Trial
from loadtests.turns import user_name
from zkkit.bench import machine
from zkkit.bench.results import SCHEMA, VERSION, ResultsDirectory, as_json
from zkkit.bench.verdict import Judgement, Verdict
from zkkit.errors import ZkkitError
from zkkit.hooks import Event
from zkkit.record import Row
from zkkit.show.canvas import NoPicture
from zkkit.show.table import paint, pairs

_COLOURS = {Verdict.HOLDS: "green", Verdict.BROKEN: "red", Verdict.UNKNOWN: "yellow"}


class Outcome(NamedTuple):
    """What to say at the end, and with which exit code."""

    text: str
    code: int


def finish(trial: Trial, *, interrupted: bool) -> Outcome:
    """Judge the trial, write its results, and give the last words."""
    judgement = trial.judge(interrupted=interrupted)
    document = of_trial(trial, judgement)
    try:
        with ResultsDirectory(trial.wanted.results, document["name"]) as directory:
            directory.write_events(list(rows(trial)))
            # A run of a comparison is read by it, not by people: no picture of its own.
            where = write(document, directory, server_metrics(trial), report=not handed_over())
    except (ZkkitError, OSError) as error:
        where = {"not written": str(error)}
    return Outcome(last_words(document, judgement, where), judgement.verdict.exit_code)


def of_trial(trial: Trial, judgement: Judgement) -> dict[str, Any]:
    """What results.json says about one test."""
    wanted = trial.wanted
    return document(
        name=f"load-{wanted.design}",
        command=wanted.command,
        started=trial.started,
        judgement=judgement,
        runs=trial.figures(),
        plan={
            "designs": [wanted.design],
            "users": list(wanted.steps),
            "repeats": 1,
            "order": "one after the other",
            "step_s": wanted.seconds,
            "hold_ms": wanted.hold_ms,
        },
        ensemble=trial.servers.describe(trial.before),
        failures=trial.failures,
        silent=trial.silent,
    )


def document(
    *,
    name: str,
    command: str,
    started: datetime,
    judgement: Judgement,
    runs: Sequence[Mapping[str, Any]],
    plan: Mapping[str, Any],
    ensemble: Mapping[str, Any],
    failures: Mapping[str, int],
    silent: str,
) -> dict[str, Any]:
    """What results.json says, as plain data."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "name": name,
        "experiment": "load",
        "verdict": judgement.verdict.value,
        "why": judgement.why,
        "command": command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "plan": dict(plan),
        "figures": summary(runs),
        "runs": list(runs),
        "failures": dict(failures),
        "silent": silent,
        "machine": machine.describe(),
        "locust": metadata.version("locust"),
        "ensemble": dict(ensemble),
    }


def write(
    document: Mapping[str, Any],
    directory: ResultsDirectory,
    metrics: Mapping[str, Any],
    *,
    report: bool = True,
) -> dict[str, str]:
    """Write all files and publish the directory; gives where things are."""
    directory.write("server-metrics.json", as_json(dict(metrics)))
    directory.write("results.json", as_json(dict(document)))
    if not report:
        return {"all": str(directory.publish())}
    pictures, excuse = _draw(document)
    for name, data in pictures.items():
        directory.write(name, data)
    directory.write("report.html", page.html(document, pictures))
    home = directory.publish()
    where = {"report": str(home / "report.html"), "all": str(home)}
    if excuse:
        where["no picture"] = excuse
    return where


def last_words(document: Mapping[str, Any], judgement: Judgement, where: Mapping[str, str]) -> str:
    """The table, the finding, the verdict, and where everything is."""
    out = sys.stdout
    return "\n".join(
        (
            "",
            words.text(document),
            "",
            "Measured on",
            pairs(words.facts(document)),
            "",
            paint(f"{words.title(document)}.", "bold", out),
            paint(judgement.why, _COLOURS[judgement.verdict], out),
            "",
            pairs(where),
        )
    )


def rows(trial: Trial) -> Iterator[Row]:
    """The history of the grants, as a recording."""
    design, path = trial.wanted.design, trial.path
    events: list[tuple[int, str, Event]] = []
    for number, turn in enumerate(trial.turns):
        who, node = user_name(turn.user), f"{path}/{number}"
        for hook, ns, took in (
            ("acquired", turn.acquired_ns, turn.acquired_ns - turn.asked_ns),
            ("released", turn.released_ns, turn.released_ns - turn.acquired_ns),
        ):
            events.append((ns, hook, Event(ns, turn.user, who, design, node, duration=took)))
    for _, hook, event in sorted(events, key=lambda item: item[0]):
        yield hook, event


def server_metrics(trial: Trial) -> dict[str, Any]:
    """What server-metrics.json says: all of `mntr` around the test, the fires around each step."""
    return {
        "schema": "zkkit.server-metrics",
        "version": VERSION,
        "before": trial.before,
        "after": trial.after,
        "fires": [
            {"design": window.design, "users": window.users, **window.counters}
            for window in trial.windows
        ],
    }


def _draw(document: Mapping[str, Any]) -> tuple[dict[str, bytes], str]:
    """The pictures by name; without matplotlib none, and a sentence that says so."""
    if not document["figures"]:
        return {}, ""
    try:
        return {"load.png": picture.png(document)}, ""
    except NoPicture as error:
        return {}, str(error)


def latest(home: Path) -> Path | None:
    """The directory `latest` points at; None if nothing was published there."""
    if (home / "latest").exists():
        return (home / "latest").resolve()
    text = home / "latest.txt"  # where links fail
    return home / text.read_text().strip() if text.exists() else None
