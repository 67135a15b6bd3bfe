"""How fast locks are: zkkit, kazoo and Java Curator in turn, on the same servers.

A cell lets one peer's sessions acquire and release one path, each as often as it can, for some
seconds. It has settled when every session has acquired once: then the line is full. Its rate is the
grants from then on until its time is over. Everything the peer's process and each server used, from
the first acquire to the last release, counts as CPU.

Each cell has a path of its own, and two witnesses. The servers count the nodes that were created
below it: one for each acquisition, and none is left. And all holds are laid on one clock: none
overlaps another.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from zkkit.bench import locks_profile
from zkkit.bench.locks_cells import Cell, Profile, Speeds
from zkkit.bench.locks_peers import Peer, PythonPeer, Rounds, members_of
from zkkit.bench.locks_rows import Kind, Planned, Row, SpeedPlan
from zkkit.bench.machine import cpu_used
from zkkit.bench.peers.rounds import Plan
from zkkit.bench.pool import Pool
from zkkit.check.overlap import Held, overlaps
from zkkit.errors import ZkkitError
from zkkit.steps import Exists, Script, Sync

_LEAD = (0.05, 0.002)  # seconds to start all threads: for all, and for each session
_SETTLING = 0.01  # seconds for each session, in the first cell of a row
_LONGER = 1.5  # than what the slowest peer took to settle in the warm-up; all cells get that
_LEAST = 0.5  # of a cell's time must be left when it has settled
_PATIENCE = 60.0  # seconds for a peer to come to the end of a cell whose time is over
_WARM_UP = 2  # how much longer than a cell each peer runs each row before anything counts
_PROFILE = 4  # how much longer than a cell a profile takes: samples are rare
_ENOUGH = 50  # samples; else a profile is made again,
_TRIES = 2  # so often in all


def measure(
    plan: SpeedPlan,
    hosts: str,
    peers: Sequence[Peer],
    *,
    pids: Mapping[str, int],
    on_cell: Callable[[Cell], object] = lambda cell: None,
) -> Speeds:
    """Measure all cells. One that fails stops it: then the verdict is unknown at best."""
    speeds = Speeds(plan)
    by_name = {peer.name: peer for peer in peers}
    with Pool(hosts, 0) as pool:
        bench = _Bench(pool, by_name, pids, members=len(members_of(hosts)))
        try:
            for rows in (plan.uncontended, plan.contended):
                bench.open(rows)
                bench.warm_up(rows, plan)
                for planned in plan.cells(rows):
                    speeds.cells.append(bench.cell(planned, plan.seconds))
                    on_cell(speeds.cells[-1])
            speeds.profiles = bench.profiles(plan)
        except ZkkitError as error:
            speeds.stopped = f"the measuring was stopped: {error}"
    speeds.versions = {peer.name: peer.version for peer in peers}
    return speeds


class _Bench:
    """Peers, servers, and paths to contend for."""

    def __init__(
        self, pool: Pool, peers: Mapping[str, Peer], pids: Mapping[str, int], *, members: int
    ) -> None:
        self._pool = pool
        self._peers = peers
        self._pids = pids
        self._members = members
        self._paths = 0
        self._settling: dict[str, float] = {}

    def open(self, rows: Sequence[Row]) -> None:
        """Have the sessions that these rows want; at least one at each server."""
        most = max((row.sessions for row in rows), default=0)
        for peer in self._peers.values():
            peer.open(max(most, self._members), _PATIENCE)

    def warm_up(self, rows: Sequence[Row], plan: SpeedPlan) -> None:
        """Run all peers at all rows; so it is known also how long a row takes to settle."""
        for row in rows:
            cells = [
                self.cell(Planned(row, peer, 0), plan.seconds * _WARM_UP) for peer in plan.peers
            ]
            self._settling[row.name] = _LONGER * max(cell.settled for cell in cells)

    def cell(self, planned: Planned, seconds: float) -> Cell:
        """Measure one cell."""
        row, peer = planned.row, self._peers[planned.peer]
        path, holds_in = self._place(row.kind, peer.name)
        pids = {**self._pids, peer.name: peer.pid}
        before = cpu_used(pids).servers
        plan = self._plan(row, seconds)
        rounds = peer.contend(row.kind.name, path, self._who(planned), plan, _patience(plan))
        ended_ns = time.monotonic_ns()
        after = cpu_used(pids).servers
        cpu = {name: used - before[name] for name, used in after.items() if name in before}
        client_cpu = cpu.pop(peer.name, None)
        settled_ns = max(mine[0].acquired_ns if mine else ended_ns for mine in rounds)
        rate, unsettled = _rate(rounds, settled_ns, plan.until_ns, least=seconds * _LEAST)
        all_rounds = [each for mine in rounds for each in mine]
        acquisitions = len(all_rounds)
        created, left = self._pool.gate.run(_count(holds_in))
        return Cell(
            planned,
            acquisitions,
            rate,
            (settled_ns - plan.start_ns) / 1e9,
            (ended_ns - plan.start_ns) / 1e9,
            client_cpu,
            cpu,
            longest=max((r.acquired_ns - r.asked_ns for r in all_rounds), default=0) / 1e9,
            longest_release=max((r.done_ns - r.released_ns for r in all_rounds), default=0) / 1e9,
            overlap=_overlap(rounds, path),
            void=unsettled or _disagreement(acquisitions, created, left),
        )

    def profiles(self, plan: SpeedPlan) -> list[Profile]:
        """Where the time goes, uncontended and with a middling number of sessions."""
        middle = plan.contended[len(plan.contended) // 2 :][:1]
        return [
            Profile(row, peer.name, self._samples(row, peer, plan.seconds * _PROFILE))
            for row in (plan.uncontended[0], *middle)
            for peer in self._peers.values()
            if isinstance(peer, PythonPeer) and locks_profile.POSSIBLE
        ]

    def _samples(self, row: Row, peer: PythonPeer, seconds: float) -> Counter[str]:
        """In a process of its own, which may crash: see locks_profile."""
        found: Counter[str] = Counter()
        for _ in range(_TRIES):
            with closing(peer.another()) as other:
                other.open(row.sessions, _PATIENCE)
                work = self._plan(row, seconds)
                path, _ = self._place(row.kind, peer.name)
                found += other.profile(
                    row.kind.name, path, range(row.sessions), work, _patience(work)
                )
            if found.total() >= _ENOUGH:
                break
        return found

    def _place(self, kind: Kind, peer: str) -> tuple[str, str]:
        """A fresh node for a lock, and the one below which each acquisition creates one."""
        self._paths += 1
        nodes = kind.nodes(f"{self._pool.root}/{self._paths}", peer)
        for node in nodes:
            self._pool.gate.create(node)
        return nodes[0], nodes[-1]

    def _plan(self, row: Row, seconds: float) -> Plan:
        """When to begin and when to end: soon, and so many seconds after it has settled."""
        settling = self._settling.get(row.name, _SETTLING * row.sessions)
        start = time.monotonic_ns() + int((_LEAD[0] + _LEAD[1] * row.sessions) * 1e9)
        return Plan(start, until_ns=start + int((seconds + settling) * 1e9))

    def _who(self, planned: Planned) -> Sequence[int]:
        """Alone it is at one server after the other: clients of the leader are served faster."""
        if planned.row.sessions == 1:
            return [planned.repeat % self._members]
        return range(planned.row.sessions)


def _patience(plan: Plan) -> float:
    return (plan.until_ns - time.monotonic_ns()) / 1e9 + _PATIENCE


def _rate(rounds: Rounds, settled_ns: int, until_ns: int, *, least: float) -> tuple[float, str]:
    """Grants in a second once it had settled, or why there is nothing to say."""
    seconds = (until_ns - settled_ns) / 1e9
    grants = sum(settled_ns < one.acquired_ns < until_ns for mine in rounds for one in mine)
    if seconds < least or not grants:
        return 0.0, "not all sessions acquired early enough: give it more --seconds"
    return grants / seconds, ""


def _count(path: str) -> Script[tuple[int, int]]:
    """How many children were ever created below this node, and how many are left."""
    yield from Sync(path)
    stat = yield from Exists(path)
    assert stat is not None
    # The server counts creates and deletes in one number.
    return (stat.cversion + stat.children) // 2, stat.children


def _overlap(rounds: Rounds, path: str) -> str:
    holds = [
        Held(f"session {number}", path, one.acquired_ns, one.released_ns)
        for number, mine in enumerate(rounds)
        for one in mine
    ]
    found = overlaps(holds)
    return str(found[0]) if found else ""


def _disagreement(acquisitions: int, created: int, left: int) -> str:
    if created != acquisitions:
        return f"the clients acquired {acquisitions} times, the servers created {created} nodes"
    return f"{left} nodes are left behind" if left else ""
