"""The processes that take locks, seen from outside.

Each has a proxy of its own before the servers, so that its connections can be broken alone. A
guardian starts them: they end when this process does, in whatever way, the stopped ones too.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from zkkit.chaos.actors import STORM, PhaseFile
from zkkit.chaos.client import FRONTS, Order
from zkkit.chaos.diary import Diary
from zkkit.ensemble.guarded import Guarded
from zkkit.hosts import parse_hosts
from zkkit.testing import NotExpired, Proxy, expire

TIMEOUTS = (2.0, 4.0)
"""The session timeouts of the clients, in seconds, in turn."""
PER_FRONT = 2
"""How many processes there are on each front."""
_LOG = "crew.log"
_GRANTED = b'"e": "granted"'
_RESTED = b'"e": "rested"'


@dataclass(eq=False)
class CrewMember:
    """One member of the crew: a process, and after its death the next one."""

    number: int
    front: str
    proxy: Proxy
    hosts: int
    """How many servers it knows."""
    timeout: float
    busy: threading.Lock = field(default_factory=threading.Lock)
    """Held by the fault that strikes it: one fault at a time."""
    order: Order | None = None
    lives: int = 0

    def next_order(self, directory: Path, seed: int, processes: int) -> Order:
        """The order for its next process."""
        self.lives += 1
        servers = "1host" if self.hosts == 1 else f"{self.hosts}hosts"
        name = f"{self.front}-{servers}-{self.lives}"
        self.order = Order(
            name,
            self.front,
            self.proxy.hosts,
            self.timeout,
            str(directory),
            f"{seed} {name}",
            processes,
        )
        return self.order

    @property
    def name(self) -> str:
        """The name of its present process."""
        assert self.order is not None
        return self.order.name


class StormCrew(AbstractContextManager["StormCrew"]):
    """All the processes. On each front one process knows all servers, and another knows only one:
    on the first front the first server, and so on."""

    def __init__(self, hosts: str, fronts: Sequence[str], directory: Path, diary: Diary, seed: int):
        self.directory = directory
        self.phase = PhaseFile(directory)
        self.started: set[Started] = set()
        """All processes that were ever started."""
        self._hosts = hosts
        self._diary = diary
        self._seed = seed
        servers = parse_hosts(hosts).of_each()
        self.clients: list[CrewMember] = []
        with ExitStack() as stack:
            for place, front in enumerate(fronts):
                single = servers[FRONTS.index(front) % len(servers)]
                for known in (hosts, single):
                    proxy = stack.enter_context(Proxy(known))
                    number = len(self.clients) + 1
                    timeout = TIMEOUTS[(number + place) % len(TIMEOUTS)]
                    count = len(parse_hosts(known).servers)
                    self.clients.append(CrewMember(number, front, proxy, count, timeout))
            self._guarded = Guarded(directory, errors=directory / _LOG)
            stack.callback(self._guarded.stop, keep_logs=False)
            self._stack = stack.pop_all()

    @property
    def ports(self) -> list[int]:
        """The ports on which its proxies listen."""
        known = [parse_hosts(client.proxy.hosts) for client in self.clients]
        return [server.port for hosts in known for server in hosts.servers]

    @property
    def diaries(self) -> list[Path]:
        """What the processes have written so far."""
        return sorted(self.directory.glob("*.jsonl"))

    def start_all(self) -> None:
        """Start a process for each client."""
        self.phase.write(STORM)
        for client in self.clients:
            self.start(client)

    def start(self, client: CrewMember) -> None:
        """Start a client's next process."""
        order = client.next_order(self.directory, self._seed, len(self.clients))
        log = self.directory / _LOG
        pid = self._guarded.spawn(client.number, order.argv, cwd=Path.cwd(), log=log)
        self.started.add(Started.now(pid))

    def kill(self, client: CrewMember) -> None:
        """End a client's process at once (SIGKILL)."""
        self._guarded.end(client.number, signal.SIGKILL)
        self._diary.note("killed", process=client.name)

    def stop(self, client: CrewMember) -> None:
        """Let a client's process stand still (SIGSTOP)."""
        self._guarded.order("pause", client.number)

    def go_on(self, client: CrewMember) -> None:
        """Let a stopped process go on."""
        self._guarded.order("resume", client.number)

    def expire(self, client: CrewMember) -> bool:
        """Let the servers end a client's session. False if they cannot, or if it has none.

        The session is closed in its owner's name, which no owner's clock can foresee: so this is
        written down before it is done.
        """
        assert client.order is not None
        try:
            session, password = json.loads(client.order.secret.read_text())
        except FileNotFoundError:  # it has none yet
            return False
        self._diary.note("closing", session=f"{session:#x}", process=client.name)
        try:
            expire(self._hosts, session, bytes.fromhex(password))
        except NotExpired:  # it had just lost it, or there is no leader at the moment
            return False
        return True

    def ended(self) -> dict[str, int]:
        """The present processes that have ended, with their exit codes."""
        codes = self._guarded.ended()
        return {c.name: codes[c.number] for c in self.clients if c.number in codes}

    def last_words(self) -> str:
        """What the processes wrote to stderr."""
        return (self.directory / _LOG).read_text(errors="replace")

    def close(self) -> None:
        """End all processes and proxies; their directory goes too. Twice is harmless."""
        self._stack.close()

    def __exit__(self, *exc: object) -> None:
        self.close()


class CrewProgress:
    """How far the processes have come, by what they have written so far. Reads in each diary only
    what is new."""

    def __init__(self, crew: StormCrew) -> None:
        self._crew = crew
        self._read: Counter[Path] = Counter()
        self._grants: Counter[str] = Counter()
        self._rested: set[str] = set()

    def grants(self) -> int:
        """How many grants there were in all."""
        self._look()
        return self._grants.total()

    def all_granted(self) -> bool:
        """Whether every present process has been granted something."""
        self._look()
        return all(self._grants[client.name] for client in self._crew.clients)

    def all_rested(self) -> bool:
        """Whether every present process has come to rest."""
        self._look()
        return self._rested >= {client.name for client in self._crew.clients}

    def _look(self) -> None:
        for diary in self._crew.diaries:
            with open(diary, "rb") as file:
                file.seek(self._read[diary])
                # A line that is half written is read when it is whole.
                new = b"".join(line for line in file if line.endswith(b"\n"))
            self._read[diary] += len(new)
            self._grants[diary.stem] += new.count(_GRANTED)
            if _RESTED in new:
                self._rested.add(diary.stem)


class Started(NamedTuple):
    """A process that was started, to be told from a later one with the same number."""

    pid: int
    began: str
    """When, in ticks since the machine was started; "" where the system does not tell."""

    @classmethod
    def now(cls, pid: int) -> Started:
        """The process that has this number now."""
        try:
            # The name in brackets may hold spaces: the fields are counted from behind it.
            return cls(pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        except OSError:
            return cls(pid, "")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return Started.now(self.pid) == self

    def __str__(self) -> str:
        return str(self.pid)


def listening(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False
