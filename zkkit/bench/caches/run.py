"""One cache, one tree, one change after the other; fires are counted by two witnesses.

The tree has ten children to a node. Its writer is another session of this process, so one clock
says how long it takes from a write to the listener. The next change comes when the cache has sent
as many requests as its law says, or when patience is over: so no two changes are read as one.

Both designs have two watches of a session on each node, of data and of children (a persistent one
is kept as both). Of a deletion a server tells the session once, and counts both: so the second
witness has one fire more for each node that was deleted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from typing import Any

from zkkit import Session
from zkkit.bench.caches.designs import CHANGES, CacheDesign
from zkkit.bench.kit.pool import SessionPool, recording
from zkkit.bench.kit.witness import FireCount, Witness
from zkkit.errors import ZkkitError
from zkkit.hooks import Event, Instrument
from zkkit.recipes.caches.content import CacheEvent
from zkkit.record import Recorder, Row, counts
from zkkit.steps import Create, Delete, Request, Script, Sync, Together

FAN_OUT = 10
_FLIGHT = 500  # nodes made or deleted together
_PATIENCE = 30.0  # seconds for a cache to be loaded, and to be told of a change
_SETTLE = 1.0  # seconds for it to send what its law says


class CacheFailed(ZkkitError):
    """A cache did not come to its end: nothing can be said about the law."""


@dataclass(frozen=True)
class CachePlan:
    """Which designs to compare, and how often."""

    designs: tuple[CacheDesign, ...]
    nodes: tuple[int, ...]
    changes: int
    """How many changes of each kind are made."""
    repeats: int

    def runs(self) -> Iterator[tuple[CacheDesign, int, int]]:
        """All runs in their order, forwards and then backwards."""
        once = list(product(self.nodes, self.designs))
        for repeat in range(self.repeats):
            for nodes, design in once if repeat % 2 == 0 else reversed(once):
                yield design, nodes, repeat

    def __len__(self) -> int:
        return len(self.designs) * len(self.nodes) * self.repeats


@dataclass(frozen=True)
class ChangeCount:
    """What all changes of one kind cost together, and when the listener was told."""

    events: int
    fires: int
    requests: int
    watches: int
    told_ms: float
    """The median time from the writer's request to the listener."""


@dataclass(frozen=True)
class CacheRun:
    """What one run measured. `void` says why it counts for nothing; "" if it counts."""

    design: str
    nodes: int
    parents: int
    """How many of the nodes have children."""
    repeat: int
    watches: int
    """How many watches were set to load the tree; the next two are about loading, too."""
    requests: int
    load_ms: float
    changes: dict[str, ChangeCount]
    server_fires: int | None
    """The fires that the servers counted: one more for each deletion."""
    void: str = ""
    counters: dict[str, dict[str, int]] = field(default_factory=dict)


def parents_of(nodes: int) -> int:
    """How many of so many nodes have children."""
    return -(-(nodes - 1) // FAN_OUT)


class _Steps(Instrument):
    """Tells when a session has sent so many requests."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seen = 0

    def step(self, event: Event) -> None:
        with self._changed:
            self._seen += 1
            self._changed.notify_all()

    def reached(self, number: int) -> None:
        """Wait until there were so many; too few is for the judge to say."""
        with self._changed:
            self._changed.wait_for(lambda: self._seen >= number, _SETTLE)

    @property
    def seen(self) -> int:
        return self._seen


class _Told:
    """A listener that remembers when it was told what."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._at: dict[tuple[str, str], float] = {}

    def __call__(self, event: CacheEvent) -> None:
        with self._changed:
            self._at[event.kind.value, event.path] = time.perf_counter()
            self._changed.notify_all()

    def wait(self, kind: str, path: str) -> float:
        """When it was told that; CacheFailed if it never is."""
        with self._changed:
            if not self._changed.wait_for(lambda: (kind, path) in self._at, _PATIENCE):
                raise CacheFailed(
                    f"the cache did not tell within {_PATIENCE:g} s that {path} was {kind}",
                    hint="the servers may be overloaded or gone; try fewer nodes",
                )
            return self._at.pop((kind, path))


def measure(
    plan: CachePlan,
    hosts: str,
    *,
    on_run: Callable[[CacheRun], object] = lambda run: None,
) -> tuple[list[CacheRun], list[Row], str]:
    """Make all planned runs. Gives them, all that was recorded, and why it stopped, if it did."""
    witness = Witness(hosts)
    made: list[CacheRun] = []
    rows: list[Row] = []
    with SessionPool(hosts, 1) as pool:
        try:
            for number, (design, nodes, repeat) in enumerate(plan.runs()):
                name = f"{number:03d}-{design.name}"
                with pool.directory(name) as path, _tree(pool.gate, path, nodes) as paths:
                    run, recorded = _run(pool, witness, design, paths, plan.changes, repeat)
                made.append(run)
                rows += recorded
                on_run(run)
        except ZkkitError as error:
            return made, rows, f"stopped after {len(made)} of {len(plan)} runs: {error}"
    return made, rows, ""


@contextmanager
def _tree(session: Session, root: str, nodes: int) -> Iterator[list[str]]:
    """Create so many nodes, the root among them; delete them when the `with` block ends."""
    paths = [root]
    for number in range(1, nodes):
        paths.append(f"{paths[(number - 1) // FAN_OUT]}/{number}")
    session.run(_all([Create(path, b"0") for path in paths[1:]]))
    yield paths
    session.run(_all([Delete(path) for path in reversed(paths[1:])]))


def _all(requests: Sequence[Request[Any]]) -> Script[None]:
    for begin in range(0, len(requests), _FLIGHT):
        yield from Together(*requests[begin : begin + _FLIGHT])


def _run(
    pool: SessionPool,
    witness: Witness,
    design: CacheDesign,
    paths: list[str],
    changes: int,
    repeat: int,
) -> tuple[CacheRun, list[Row]]:
    session, recorder, listener, steps = pool.contenders[0], Recorder(), _Told(), _Steps()
    session.run(Sync(paths[0]))  # its server has the tree
    session.hooks.add(steps)
    cache = design.make(session, paths[0])
    cache.add_listener(listener)
    parents = parents_of(len(paths))
    try:
        with recording(recorder, (session,)):
            count = FireCount(witness, recorder, twice=("deleted",))
            count.open()
            began = time.perf_counter()
            cache.start()
            load = listener.wait("initialized", paths[0]) - began
            steps.reached(design.requests(len(paths), parents))
            loaded = list(recorder)
            done = {
                kind: _changed(pool.gate, design, kind, paths, changes, recorder, listener, steps)
                for kind in CHANGES
            }
            count.close()
    finally:
        session.hooks.remove(steps)
        cache.close()
    run = CacheRun(
        design=design.name,
        nodes=len(paths),
        parents=parents,
        repeat=repeat,
        watches=_number(loaded, "watch_set"),
        requests=_number(loaded, "step"),
        load_ms=load * 1e3,
        changes=done,
        server_fires=count.servers,
        void=count.void,
        counters=count.counters(),
    )
    return run, list(recorder)


def _changed(
    writer: Session,
    design: CacheDesign,
    kind: str,
    paths: list[str],
    changes: int,
    recorder: Recorder,
    listener: _Told,
    steps: _Steps,
) -> ChangeCount:
    """One change of a kind after the other: of nodes from the last one on, or of new ones."""
    first = len(recorder)
    took = []
    for number in range(changes):
        path = f"{paths[0]}/new-{number}"
        if kind == "changed":
            path = paths[-1 - number % (len(paths) - 1)]
        seen, began = steps.seen, time.perf_counter()
        if kind == "changed":
            writer.set(path, b"1")
        elif kind == "created":
            writer.create(path)
        else:
            writer.delete(path)
        took.append(listener.wait(kind, path) - began)
        steps.reached(seen + design.per_event[kind].requests)
    rows = list(recorder)[first:]
    return ChangeCount(
        changes,
        len(counts.fires(rows)),
        _number(rows, "step"),
        _number(rows, "watch_set"),
        median(took) * 1e3,
    )


def _number(rows: Iterable[Row], hook: str) -> int:
    return sum(name == hook for name, _ in rows)
