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
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from zkkit.chaos.actors import STORM
from zkkit.chaos.client import FRONTS, Order, told_in
from zkkit.chaos.diary import Diary
from zkkit.ensemble.guarded import Guarded
from zkkit.testing import NotExpired, Proxy, expire

TIMEOUTS = (2.0, 4.0)
"""The session timeouts of the clients, in seconds, in turn."""
_LOG = "crew.log"


class Client:
    """One place in the crew: a process, and after its death another one."""

    def __init__(
        self, number: int, front: str, proxy: Proxy, *, hosts: int, timeout: float
    ) -> None:
        self.number = number
        self.front = front
        self.proxy = proxy
        self.hosts = hosts
        """How many servers it knows."""
        self.timeout = timeout
        self.busy = threading.Lock()
        """Whoever disturbs it has this: one disturbance at a time."""
        self.order: Order | None = None
        self._lives = 0

    def next_order(self, directory: Path, seed: int) -> Order:
        """What its next process is told."""
        self._lives += 1
        servers = "1host" if self.hosts == 1 else f"{self.hosts}hosts"
        name = f"{self.front}-{servers}-{self._lives}"
        self.order = Order(
            name, self.front, self.proxy.hosts, self.timeout, str(directory), f"{seed} {name}"
        )
        return self.order

    @property
    def name(self) -> str:
        """The name of its present process."""
        assert self.order is not None
        return self.order.name


class Crew:
    """All of them. On each front one process knows all servers, and one knows a single one: the
    first front's the first server, and so on."""

    def __init__(self, hosts: str, fronts: Sequence[str], directory: Path, diary: Diary, seed: int):
        self.directory = directory
        self.told = told_in(directory)
        self.pids: set[int] = set()
        """Of all processes that were ever started."""
        self._hosts = hosts
        self._diary = diary
        self._seed = seed
        self._running = False
        self._stack = ExitStack()
        servers = hosts.split(",")
        self.clients: list[Client] = []
        try:
            for place, front in enumerate(fronts):
                single = servers[FRONTS.index(front) % len(servers)]
                for known in (hosts, single):
                    proxy = self._stack.enter_context(Proxy(known))
                    number = len(self.clients) + 1
                    timeout = TIMEOUTS[(number + place) % len(TIMEOUTS)]
                    count = len(known.split(","))
                    self.clients.append(Client(number, front, proxy, hosts=count, timeout=timeout))
            self._guarded = Guarded(directory, errors=directory / _LOG)
        except BaseException:
            self._stack.close()
            raise
        self._running = True

    @property
    def ports(self) -> list[int]:
        """The ports on which its proxies listen."""
        parts = [host for client in self.clients for host in client.proxy.hosts.split(",")]
        return [int(part.rpartition(":")[2]) for part in parts]

    @property
    def diaries(self) -> list[Path]:
        """What the processes have written so far."""
        return sorted(self.directory.glob("*.jsonl"))

    def start_all(self) -> None:
        """Start a process for each client."""
        self.told.say(STORM)
        for client in self.clients:
            self.start(client)

    def start(self, client: Client) -> None:
        """Start a client's next process."""
        order = client.next_order(self.directory, self._seed)
        log = self.directory / _LOG
        pid = self._guarded.spawn(client.number, order.argv, cwd=Path.cwd(), log=log)
        self.pids.add(pid)

    def kill(self, client: Client) -> None:
        """End a client's process at once (SIGKILL)."""
        self._guarded.end(client.number, signal.SIGKILL)
        self._diary.note("killed", process=client.name)

    def stop(self, client: Client) -> None:
        """Let a client's process stand still (SIGSTOP)."""
        self._guarded.pause(client.number)

    def go_on(self, client: Client) -> None:
        """Let a stopped process go on."""
        self._guarded.resume(client.number)

    def expire(self, client: Client) -> bool:
        """Let the servers end a client's session; False if they cannot, or there is none.

        It is closed in its owner's name. No owner's clock can foresee that: so it is written down
        before it is done.
        """
        secret = self._secret(client)
        if secret is None:
            return False
        self._diary.note("closing", session=f"{secret[0]:#x}", process=client.name)
        try:
            expire(self._hosts, *secret)
        except NotExpired:  # it had just lost it, or there is no leader at the moment
            return False
        return True

    def _secret(self, client: Client) -> tuple[int, bytes] | None:
        """Id and password of a client's session; None if it has none yet."""
        assert client.order is not None
        try:
            number, password = json.loads(client.order.secret.read_text())
        except FileNotFoundError:
            return None
        return int(number), bytes.fromhex(password)

    def ended(self) -> dict[str, int]:
        """The present processes that have ended, with their exit codes."""
        codes = self._guarded.ended()
        return {c.name: codes[c.number] for c in self.clients if c.number in codes}

    def last_words(self) -> str:
        """What the processes have complained of."""
        return (self.directory / _LOG).read_text(errors="replace")

    def close(self) -> None:
        """End all processes and proxies; their directory goes too. Twice is harmless."""
        if self._running:
            self._running = False
            self._guarded.stop(keep_logs=False)
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def alive(pid: int) -> bool:
    """Whether there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, who has the number now
        return False
    return True


def listening(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return True
    except OSError:
        return False
