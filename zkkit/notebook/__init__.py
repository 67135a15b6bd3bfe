"""What notebooks need: servers, a small mode, and things that show themselves well.

    servers = notebook.servers()          those of ZKKIT_HOSTS, or three of our own
    notebook.scale(100, small=20)         100, or 20 if ZKKIT_SMALL is set

Everything shown has a form for every reader: a picture carries its alt text, a table is HTML and
aligned text. Sessions here run on threads: gevent loses its session in a kernel.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from zkkit.bench.experiment import head_of
from zkkit.bench.gate.experiment import EXPERIMENT
from zkkit.bench.gate.figures import GateResults
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.gate.run import compare
from zkkit.bench.kit.machine import this_machine
from zkkit.bench.kit.servers import MeasuredServers, ServerFacts
from zkkit.bench.kit.witness import Reading
from zkkit.ensemble import LocalEnsemble
from zkkit.notebook.display import Annotated, Folded, NoSuchLine, RichPicture, RichTable
from zkkit.show.wording import lies
from zkkit.steps import Script, Step, Together

__all__ = [
    "Annotated",
    "Folded",
    "NoSuchLine",
    "NotebookServers",
    "RichPicture",
    "RichTable",
    "measured",
    "played",
    "scale",
    "servers",
    "stated",
]


def scale(full: int, *, small: int) -> int:
    """A number of contenders or buyers: `small` where ZKKIT_SMALL is set, as in CI."""
    return small if os.environ.get("ZKKIT_SMALL") else full


# --- servers ----------------------------------------------------------------------------


@dataclass(frozen=True)
class NotebookServers(MeasuredServers):
    """The servers a notebook works on."""

    ours: LocalEnsemble | None = None

    def describe(self, reading: Reading | None = None) -> ServerFacts:
        """What is known about them; of others' servers only what they tell themselves."""
        facts = super().describe(reading)
        if self.known is not None:
            return facts
        medium = os.environ.get("ZKKIT_MEDIUM", facts.medium)
        return replace(facts, backend="running already", medium=medium)

    def stop(self) -> None:
        """End our own servers; those of others are left alone."""
        if self.ours is not None:
            self.ours.stop()


def servers() -> NotebookServers:
    """The servers that ZKKIT_HOSTS names ("host:port,host:port"), or three of our own, in memory.

    Our own live until `stop()`, or as long as the kernel.
    """
    hosts = os.environ.get("ZKKIT_HOSTS")
    if hosts:
        return NotebookServers(hosts)
    ours = LocalEnsemble()
    ours.start()
    return NotebookServers(ours.hosts, known=ServerFacts.from_data(ours.describe()), ours=ours)


def stated(servers: NotebookServers) -> RichTable:
    """The machine and the servers that the figures come from."""
    machine, ensemble = this_machine(), servers.describe()
    facts = {
        "Python": f"{machine.python}, zkkit {machine.zkkit}, kazoo {machine.kazoo}",
        "cores": f"{machine.cpu_count} ({machine.cpu_model})",
        "servers": f"{ensemble.size} x ZooKeeper {ensemble.zookeeper}, {ensemble.backend}",
        "data": lies(ensemble.medium),
        "mode": "small (ZKKIT_SMALL)" if os.environ.get("ZKKIT_SMALL") else "full",
    }
    return RichTable(("measured on", ""), list(facts.items()), left=2)


def measured(plan: GatePlan, servers: NotebookServers) -> GateResults:
    """Make the runs of a plan; gives what results.json would say."""
    started = datetime.now(UTC)
    outcome = compare(plan, servers.hosts)
    head = head_of("notebook", outcome.judgement, "", started, servers.describe())
    return EXPERIMENT.figures(outcome, head)


def played(script: Script[Any], answers: Mapping[str, object]) -> RichTable:
    """Run a script by answering its steps ourselves; shows what it asked for, and our answers.

    `answers` are what it is sent, each under the words to show.
    """
    rows: list[tuple[str, str]] = []
    step = next(script)
    for text, answer in answers.items():
        rows.append((_asked(step), text))
        try:
            step = script.send(answer)
        except StopIteration as ended:
            rows.append((f"(it ends, and gives {getattr(ended.value, 'path', ended.value)})", ""))
            break
    return RichTable(("the script asks", "we answer"), rows, left=2)


def _asked(step: Step[Any]) -> str:
    """The request in a few words; a flight of several, one after the other."""
    if isinstance(step, Together):
        return ", ".join(map(_asked, step.requests))
    watch = ", with a watch" if getattr(step, "watch", False) else ""
    return " ".join(filter(None, (type(step).__name__, getattr(step, "path", "")))) + watch
