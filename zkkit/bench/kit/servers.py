"""The servers an experiment works on: three of our own, on a backend, or those named by --hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from zkkit.bench.kit.witness import Reading, Witness
from zkkit.ensemble import FAST_START, DockerEnsemble, LocalEnsemble
from zkkit.ensemble.backends import Backend, choose
from zkkit.ensemble.place import Medium
from zkkit.hosts import parse_hosts
from zkkit.show.wording import lies

#: With the optimising compiler: a server measured for longer is warmed up by it.
BENCHMARK = tuple(flag for flag in FAST_START if not flag.startswith("-XX:TieredStopAtLevel"))


@dataclass(frozen=True)
class ServerFacts:
    """What a report says about servers."""

    backend: str
    size: int
    zookeeper: str
    medium: str
    java: str = ""
    jvm_flags: tuple[str, ...] = ()
    filesystem: str = ""
    notes: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """What only servers of our own tell: directories, ticks and the like."""

    def as_data(self) -> dict[str, Any]:
        known = {name: value for name, value in vars(self).items() if value and name != "more"}
        return {**known, **self.more}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ServerFacts:
        """Make the facts of what `as_data` gives, or an ensemble's `describe()`."""
        names = [each.name for each in fields(cls)]
        known: dict[str, Any] = {"more": {}}
        for name, value in data.items():
            place = known if name in names else known["more"]
            place[name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)


@dataclass(frozen=True)
class MeasuredServers:
    """The servers an experiment works on: where they are, and what is known about them."""

    hosts: str
    pids: Mapping[str, int] = field(default_factory=dict)
    known: ServerFacts | None = None
    """None if the servers were there already."""

    def describe(self, reading: Reading | None = None) -> ServerFacts:
        """What is known about them. Others' servers are described by this reading, or asked."""
        if self.known is not None:
            return self.known
        if reading is None:
            reading = Witness(self.hosts).read_if_told()
        versions = {said.get("zk_version", "unknown").split("-")[0] for said in reading.values()}
        return ServerFacts(
            backend=f"at {self.hosts}",
            size=len(parse_hosts(self.hosts).servers),
            zookeeper=" and ".join(sorted(versions)) or "unknown",
            medium="unknown (they were there already)",
        )


@contextmanager
def servers(
    hosts: str | None,
    *,
    backend: Backend = "local",
    medium: Medium = "memory",
    jvm_flags: Sequence[str] = FAST_START,
) -> Iterator[MeasuredServers]:
    """Give the servers at `hosts`, or three that live as long as the `with` block. Raises what
    `Ensemble.start` raises."""
    if hosts is not None:
        yield MeasuredServers(hosts)
        return
    choice = choose(backend)
    chosen = f" in {choice.backend} ({choice.why})" if backend == "auto" else ""
    print(
        f"Starting three ZooKeeper servers{chosen}, their data {lies(medium)} ...", file=sys.stderr
    )
    ensemble = (
        DockerEnsemble(medium=medium, jvm_flags=jvm_flags)
        if choice.backend == "docker"
        # Nothing is cut here, so nothing between the servers may cost time.
        else LocalEnsemble(medium=medium, jvm_flags=jvm_flags, relays=False)
    )
    with ensemble:
        pids = ensemble.pids if isinstance(ensemble, LocalEnsemble) else {}
        named = {f"node{node}": pid for node, pid in pids.items()}
        yield MeasuredServers(ensemble.hosts, named, ServerFacts.from_data(ensemble.describe()))
