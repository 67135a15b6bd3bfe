"""How fast recipes are: zkkit, kazoo and Java Curator in turn, on the same servers.

    failover        the session of a leader is ended from outside, in the same way for every peer;
                    the time until the next candidate is told that it leads
    increments      one number, incremented as often as it goes by one session, then by several
    barrier rounds  all members enter and leave a double barrier; the time of a round is that from
                    the last one's coming until all are in, and the same for leaving
    cache load      the time from starting a cache until it tells that it has everything
    cache event     a node is set by a session of our own; the time until the cache tells the change

Each cell has a path of its own, and a witness: no leader is told before the one ahead was ended;
the number is as large as increments were told; nobody is through a barrier before the last one
came; a cache tells as many nodes as were created, and every change with its data.
"""

from __future__ import annotations

import statistics
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from zkkit.bench.kit.pool import wait_for_servers
from zkkit.bench.peers.cells import KAZOO, PeerTurn
from zkkit.bench.peers.events import ToldEvent
from zkkit.bench.peers.libraries import Peer, Rounds
from zkkit.bench.peers.measuring import PeerBench
from zkkit.bench.peers.rounds import NO_LIMIT, RoundsPlan
from zkkit.bench.recipes import plan as rows
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds
from zkkit.bench.recipes.plan import RecipeRow
from zkkit.ensemble.sessions import expire
from zkkit.steps import Children, Create, Get, Script, Sync, Together

_LEAD = 0.1  # seconds to start all threads
_DWELL = 0.01  # seconds inside a barrier: kazoo's loses a member that is slow to see the others
_PATIENCE = 30.0  # seconds for a peer to come to the end of what it does
_TELLS = 10.0  # seconds until it is told what must be told
_FANOUT = 100  # nodes below one
_ROUNDS = 20  # of barriers, for each second of a cell
_EVENTS = 50  # of a cache, for each second of a cell


class _Found(NamedTuple):
    """What a cell found: a value in the row's unit, of how many samples, and what is wrong."""

    value: float
    samples: int
    broken: str = ""
    void: str = ""


@dataclass
class RecipeBench(PeerBench[RecipeSpeeds, RecipeRow, RecipeCell]):
    """Peers, servers, and paths for recipes."""

    patience: ClassVar[float] = _PATIENCE
    trees: dict[int, str] = field(default_factory=dict)

    def cell(self, turn: PeerTurn[RecipeRow]) -> RecipeCell:
        peer = self.peer(turn)
        found, seconds, cpu = self.metered(peer, lambda: _MEASURES[turn.row.name](self, peer, turn))
        value, samples, broken, void = found
        return RecipeCell(turn, value, seconds, cpu, samples, broken=broken, void=void)

    # --- elections ----------------------------------------------------------------------

    def failover(self, peer: Peer, turn: PeerTurn[RecipeRow]) -> _Found:
        """All candidates stand; each leader's session is ended when the next one can follow."""
        path = self.fresh_node()
        who = range(turn.row.sessions)
        leaders: list[ToldEvent] = []
        ended: list[int] = []
        asked_ns: list[int] = []
        peer.stage("election", path, who, _PATIENCE)
        try:
            self._wait_for_children(path, len(who))
            for number in who:
                leaders = _leaders(peer, number + 1)
                if len(leaders) != number + 1 or number == who[-1]:
                    break
                ended.append(leaders[number].value[0])
                asked_ns.append(expire(self.hosts, *peer.identity(ended[-1], _PATIENCE)))
        finally:
            peer.unstage(_PATIENCE)
            peer.renew(ended, _PATIENCE)
        after = zip(leaders[1:], asked_ns, strict=False)
        times = [(leader.at_ns - asked) / 1e6 for leader, asked in after]
        together = len(leaders) > len(asked_ns) + 1 or any(each < 0 for each in times)
        early = "two led at the same time" if together else ""
        missing = "" if len(times) == len(who) - 1 else "nobody was told that it leads"
        return _Found(_median(times), len(times), early, missing)

    def _wait_for_children(self, path: str, number: int) -> None:
        deadline = time.monotonic() + _TELLS
        while len(self.pool.gate.run(_names(path))) < number and time.monotonic() < deadline:
            time.sleep(0.01)

    # --- counters and barriers ----------------------------------------------------------

    def increments(self, peer: Peer, turn: PeerTurn[RecipeRow]) -> _Found:
        """A peer increments as often as it can."""
        path = f"{self.fresh_node()}/number"
        plan = self._plan(self.plan.seconds)
        who = turn.who(self.members)
        rounds = peer.contend("increment", path, who, plan, self.plan.seconds + _PATIENCE).rounds
        claimed = sum(len(mine) for mine in rounds)
        kept = self.pool.gate.run(_data(path))
        number = int(kept) if peer.name == KAZOO else struct.unpack(">q", kept)[0]
        broken = f"{claimed} increments were told, and it is {number}" if claimed != number else ""
        in_time = sum(one.acquired_ns <= plan.until_ns for mine in rounds for one in mine)
        return _Found(in_time / self.plan.seconds, claimed, broken)

    def barrier(self, peer: Peer, turn: PeerTurn[RecipeRow]) -> _Found:
        """All enter, dwell a moment, and leave, round after round."""
        path = self.fresh_node()
        number = max(2, int(_ROUNDS * self.plan.seconds))
        self.pool.gate.run(_create([f"{path}/{n}" for n in range(number)]))
        plan = self._plan(None)._replace(rounds=number, hold_ns=int(_DWELL * 1e9))
        who = turn.who(self.members)
        rounds = peer.contend("barrier", path, who, plan, number + _PATIENCE).rounds
        return _rounds_found(rounds, number)

    # --- caches -------------------------------------------------------------------------

    def cache_load(self, peer: Peer, turn: PeerTurn[RecipeRow]) -> _Found:
        """A cache loads a tree that was created before it starts."""
        nodes = self.speeds.plan.nodes
        (began,) = peer.stage("cache", self._tree(nodes), turn.who(self.members), _PATIENCE)
        try:
            events = peer.told(1, _PATIENCE, "initialized")
        finally:
            peer.unstage(_PATIENCE)
        if not events:
            return _Found(0.0, 0, void=f"it was not told in {_PATIENCE:g} s that all is loaded")
        found = events[0].value[1]
        void = "" if found == nodes else f"{found} of {nodes} nodes were told"
        return _Found((events[0].at_ns - began) / 1e6, 1, void=void)

    def cache_event(self, peer: Peer, turn: PeerTurn[RecipeRow]) -> _Found:
        """The tree changes under a cache: one node after the other, each when the change before was
        told."""
        tree = self._tree(_FANOUT)
        peer.stage("cache", tree, turn.who(self.members), _PATIENCE)
        times = []
        void = ""
        try:
            peer.told(1, _TELLS, "initialized")
            for number in range(max(2, int(_EVENTS * self.plan.seconds))):
                asked_ns = time.monotonic_ns()
                data = str(asked_ns).encode()  # never the same again: else nothing has changed
                self.pool.gate.set(f"{tree}/{number % (_FANOUT - 1)}", data)
                events = peer.told(number + 1, _TELLS, "changed")[number:]
                if [bytes.fromhex(one.value[1][1]) for one in events] != [data]:
                    void = f"change {number + 1} was not told once, with its data"
                    break
                times.append((events[0].at_ns - asked_ns) / 1e6)
        finally:
            peer.unstage(_PATIENCE)
        return _Found(_median(times), len(times), void=void)

    def _tree(self, nodes: int) -> str:
        """The root of a tree of so many nodes, itself among them."""
        if nodes not in self.trees:
            root = self.trees[nodes] = self.fresh_node()
            near = [f"{root}/{n}" for n in range(_FANOUT)]
            far = [f"{parent}/{n}" for parent in near for n in range(_FANOUT)]
            self.pool.gate.run(_create([*near, *far][: nodes - 1]))
            wait_for_servers(self.hosts, root)
        return self.trees[nodes]

    # --- times --------------------------------------------------------------------------

    def _plan(self, seconds: float | None) -> RoundsPlan:
        """Rounds that begin soon, and go on for so many seconds, if these are given."""
        start = time.monotonic_ns() + int(_LEAD * 1e9)
        return RoundsPlan(
            start, until_ns=NO_LIMIT if seconds is None else start + int(seconds * 1e9)
        )


_MEASURES: Mapping[str, Callable[[RecipeBench, Peer, PeerTurn[RecipeRow]], _Found]] = {
    rows.FAILOVER.name: RecipeBench.failover,
    rows.INCREMENTS.name: RecipeBench.increments,
    rows.INCREMENTS_TOGETHER.name: RecipeBench.increments,
    rows.BARRIER.name: RecipeBench.barrier,
    rows.CACHE_LOAD.name: RecipeBench.cache_load,
    rows.CACHE_EVENT.name: RecipeBench.cache_event,
}


def _leaders(peer: Peer, number: int) -> list[ToldEvent]:
    """Who was told that it leads, once it is so many or the patience is over. Each counts once: one
    whose session is being ended may find its connection again, and lead on for a moment."""
    seen = -1
    events = peer.told(number, _TELLS, "leader")
    while True:
        first = {one.value[0]: one for one in reversed(events)}
        leaders = sorted(first.values(), key=lambda one: one.at_ns)
        if len(leaders) >= number or len(events) == seen:
            return leaders
        seen = len(events)
        events = peer.told(seen + 1, _TELLS, "leader")


def _rounds_found(rounds: Rounds, number: int) -> _Found:
    """Rounds in a second of waiting for others; what members do between them does not count."""
    if {len(mine) for mine in rounds} != {number}:
        return _Found(0.0, 0, void="not all members came to the end of all rounds")
    spent_ns = 0
    early = ""
    for each in zip(*rounds, strict=True):
        came, left = max(one.asked_ns for one in each), max(one.released_ns for one in each)
        spent_ns += max(one.acquired_ns for one in each) - came
        spent_ns += max(one.done_ns for one in each) - left
        if min(one.acquired_ns for one in each) < came:
            early = "a member was in before the last one came"
    return _Found(number / (spent_ns / 1e9), number, early)


def _median(times: Sequence[float]) -> float:
    return statistics.median(times) if times else 0.0


def _create(paths: Sequence[str]) -> Script[None]:
    """Create these nodes, of which parents stand before their children."""
    for first in range(0, len(paths), _FANOUT):
        yield from Together(*(Create(path) for path in paths[first : first + _FANOUT]))


def _names(path: str) -> Script[tuple[str, ...]]:
    yield from Sync(path)
    return (yield from Children(path))


def _data(path: str) -> Script[bytes]:
    yield from Sync(path)
    return (yield from Get(path)).data
