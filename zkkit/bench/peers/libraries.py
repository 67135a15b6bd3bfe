"""The peers, seen from the experiment: zkkit, kazoo and Java Curator, each in a process of its own,
so that none has a share in another's interpreter or garbage.

Session number i of every peer is with server number i, modulo their number: a client of the leader
is served faster than one of a follower, and that must not decide.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from zkkit.bench.kit.processes import Child, ChildSilent, ended_after
from zkkit.bench.peers.cells import CURATOR
from zkkit.bench.peers.curator import CuratorPeer, JavaActor
from zkkit.bench.peers.curator_jars import CuratorMissing
from zkkit.bench.peers.events import ToldEvent, ToldLog
from zkkit.bench.peers.java_things import JavaLock, JavaStaged
from zkkit.bench.peers.rounds import Round, RoundsPlan, contend_all
from zkkit.hosts import parse_hosts
from zkkit.session.options import BUSY_TIMEOUT

_TOGETHER = 8  # sessions opened at the same time
_ANSWERS = 30.0  # seconds more than it was asked to wait for which a child may be silent

Rounds = list[list[Round]]
"""What each contender did."""


class Contended(NamedTuple):
    """What the contenders of one cell did, and the CPU seconds of each kind of thread, if known,
    and of each layer of zkkit in a process that is profiled."""

    rounds: Rounds
    thread_cpu: Mapping[str, float]
    layer_cpu: Mapping[str, float] = MappingProxyType({})


class PythonPeer:
    """zkkit or kazoo, in a process that runs zkkit.bench.peers.child; it ends when we do. `module`
    is what the child is to import. One that is profiled is slower: not for measuring speed."""

    def __init__(self, name: str, hosts: str, module: str, *, profiled: bool = False) -> None:
        self.name = name
        self.version = "unknown"
        members = json.dumps(parse_hosts(hosts).of_each())
        command = [sys.executable, "-m", "zkkit.bench.peers.child", module, members]
        command += ["profiled"] if profiled else []
        self._child = Child(f"the process of {name}", command)

    @property
    def pid(self) -> int:
        return self._child.pid

    def open(self, sessions: int, patience: float) -> None:
        """Have at least so many sessions."""
        self.version = self._ask({"do": "open", "sessions": sessions}, patience)

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan, patience: float
    ) -> Contended:
        """Let these sessions contend for one path; ChildSilent if it takes longer than patience."""
        order = {"do": "contend", "kind": kind, "path": path, "who": list(who), "plan": plan}
        answer = self._ask(order, patience)
        rounds = [[Round(*one) for one in mine] for mine in answer["rounds"]]
        return Contended(rounds, answer["thread_cpu"], answer["layer_cpu"])

    def stage(self, kind: str, path: str, who: Sequence[int], patience: float) -> list[int]:
        """Start something that goes on by itself for each of these sessions; gives the time when
        each began to."""
        order = {"do": "stage", "kind": kind, "path": path, "who": list(who)}
        return list(self._ask(order, patience))

    def told(self, number: int, patience: float, *events: str) -> list[ToldEvent]:
        """What was told since it was staged, once it is so many or the patience is over. The value
        is a pair: the number of the session, and what was said."""
        order = {"do": "told", "events": events, "number": number, "patience": patience}
        return [ToldEvent(*one) for one in self._ask(order, patience + _ANSWERS)]

    def unstage(self, patience: float) -> None:
        """Close what was staged."""
        self._ask({"do": "unstage"}, patience)

    def identity(self, who: int, patience: float) -> tuple[int, bytes]:
        """The id and the password of a session: who has them can end it."""
        number, password = self._ask({"do": "identity", "who": who}, patience)
        return number, bytes.fromhex(password)

    def renew(self, who: Sequence[int], patience: float) -> None:
        """Give these new sessions: theirs were ended."""
        self._ask({"do": "renew", "who": list(who)}, patience)

    def close(self) -> None:
        """End the sessions and the process. Closing twice is harmless."""
        self._child.close()

    def _ask(self, order: Mapping[str, Any], patience: float) -> Any:
        self._child.say(json.dumps(order))
        answer = json.loads(self._child.hear(patience))
        if "error" in answer:
            raise ChildSilent(f"{self.name} failed: {answer['error']}")
        return answer["result"]


Races = Mapping[str, Callable[[JavaActor, str], JavaLock]]
"""What makes something to contend for, of an actor and a path; by kind."""
Stages = Mapping[str, Callable[[JavaActor, str], JavaStaged]]
"""What makes something that goes on by itself, of an actor and a path; by kind."""


class JavaPeer:
    """Java Curator, in a JVM; it can be asked the same."""

    name = CURATOR

    def __init__(
        self, hosts: str, jvm_flags: Sequence[str], races: Races, stages: Stages | None = None
    ) -> None:
        self._races, self._stages = races, stages or {}
        self._staged: list[JavaStaged] = []
        self._heard = ToldLog()
        self._renewed = 0
        self._members = parse_hosts(hosts).of_each()
        self._peer = CuratorPeer(hosts, timeout=BUSY_TIMEOUT, jvm_flags=jvm_flags)
        self.version = self._peer.version
        self.actors: list[JavaActor] = []

    @property
    def pid(self) -> int:
        return self._peer.pid

    def open(self, sessions: int, patience: float) -> None:
        with ended_after(patience, self.pid):
            while (first := len(self.actors)) < sessions:
                self.actors += self._connect(range(first, min(first + _TOGETHER, sessions)))

    def _connect(self, numbers: Sequence[int]) -> list[JavaActor]:
        hosts = [self._members[number % len(self._members)] for number in numbers]
        return self._peer.actors([f"s{number}-{self._renewed}" for number in numbers], hosts)

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan, patience: float
    ) -> Contended:
        with ended_after(patience, self.pid):
            locks = [self._races[kind](self.actors[number], path) for number in who]
            return Contended(contend_all(locks, plan), {})

    def stage(self, kind: str, path: str, who: Sequence[int], patience: float) -> list[int]:
        self._heard = ToldLog()
        with ended_after(patience, self.pid):
            for number in who:
                staged = self._stages[kind](self.actors[number], path)
                staged.tell(self._hear(self._heard, number))
                self._staged.append(staged)
            return [staged.start() for staged in self._staged]

    @staticmethod
    def _hear(heard: ToldLog, number: int) -> Callable[[ToldEvent], object]:
        return lambda told: heard.add(told._replace(value=[number, told.value]))

    def told(self, number: int, patience: float, *events: str) -> list[ToldEvent]:
        return self._heard.wait(number, patience, *events)

    def unstage(self, patience: float) -> None:
        staged, self._staged = self._staged, []
        with ended_after(patience, self.pid):
            for one in staged:
                one.stop()

    def identity(self, who: int, patience: float) -> tuple[int, bytes]:
        with ended_after(patience, self.pid):
            return self.actors[who].session_id, self.actors[who].password()

    def renew(self, who: Sequence[int], patience: float) -> None:
        self._renewed += 1
        with ended_after(patience, self.pid):
            for number in who:
                self.actors[number].close()
            for number, actor in zip(who, self._connect(who), strict=True):
                self.actors[number] = actor

    def close(self) -> None:
        self._peer.close()


Peer = PythonPeer | JavaPeer
"""A library whose locks are measured."""


@contextmanager
def python_peers(hosts: str, modules: Mapping[str, str]) -> Iterator[list[PythonPeer]]:
    """The libraries in Python, by name. Whatever ends the block ends their processes."""
    with ExitStack() as stack:
        found = []
        for name, module in modules.items():
            found.append(PythonPeer(name, hosts, module))
            stack.callback(found[-1].close)
        yield found


@contextmanager
def peers(
    hosts: str,
    jvm_flags: Sequence[str],
    *,
    modules: Mapping[str, str],
    races: Races | None = None,
    stages: Stages | None = None,
) -> Iterator[tuple[list[Peer], str]]:
    """All peers this machine has, and which it has not and how to get it; "" if it has all.
    `modules` are the libraries in Python, by name; `races` and `stages` what there is in Java.
    Without races Java is left alone.

    Whatever ends the block ends their processes.
    """
    with python_peers(hosts, modules) as in_python, ExitStack() as stack:
        found: list[Peer] = [*in_python]
        excuse = ""
        if races is not None:
            try:
                found.append(JavaPeer(hosts, jvm_flags, races, stages))
                stack.callback(found[-1].close)
            except CuratorMissing as missing:
                excuse = f"Java Curator is left out: {missing}"
        yield found, excuse
