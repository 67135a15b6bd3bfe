"""The servers a command works on: three of our own, on a backend, or those named by --hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from zkkit.bench.witness import Reading, members
from zkkit.ensemble import FAST_START, DockerEnsemble, LocalEnsemble
from zkkit.ensemble.backends import Backend, choose
from zkkit.ensemble.place import Medium
from zkkit.show.wording import lies

#: With the optimising compiler: a server measured for longer is warmed up by it.
BENCHMARK = tuple(flag for flag in FAST_START if not flag.startswith("-XX:TieredStopAtLevel"))


@dataclass(frozen=True)
class Servers:
    """Where they are, and what is known about them."""

    hosts: str
    pids: Mapping[str, int] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)

    def describe(self, reading: Reading) -> dict[str, Any]:
        """What a report says about them; of others' servers only what they told themselves."""
        if self.known:
            return dict(self.known)
        versions = {said.get("zk_version", "unknown").split("-")[0] for said in reading.values()}
        return {
            "backend": f"at {self.hosts}",
            "size": len(members(self.hosts)),
            "zookeeper": " and ".join(sorted(versions)) or "unknown",
            "medium": "unknown (they were there already)",
        }


@contextmanager
def servers(
    hosts: str | None,
    *,
    backend: Backend = "local",
    medium: Medium = "memory",
    jvm_flags: Sequence[str] = FAST_START,
) -> Iterator[Servers]:
    """Those at `hosts`, or three that live as long as the `with` block."""
    if hosts is not None:
        yield Servers(hosts)
        return
    choice = choose(backend)
    chosen = f" in {choice.backend} ({choice.why})" if backend == "auto" else ""
    print(
        f"Starting three ZooKeeper servers{chosen}, their data {lies(medium)} ...", file=sys.stderr
    )
    if choice.backend == "docker":
        with DockerEnsemble(medium=medium, jvm_flags=jvm_flags) as contained:
            yield Servers(contained.hosts, {}, contained.describe())
        return
    # Nothing is cut here, so nothing between the servers may cost time.
    with LocalEnsemble(medium=medium, jvm_flags=jvm_flags, relays=False) as ensemble:
        pids = {f"node{node}": pid for node, pid in ensemble.pids.items()}
        yield Servers(ensemble.hosts, pids, ensemble.describe())
