"""The peers, seen from the experiment: zkkit, kazoo and Java Curator, each in a process of its own,
so that none has a share in another's interpreter or garbage.

Session number i of every peer is with server number i, modulo their number: a client of the leader
is served faster than one of a follower, and that must not decide.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Protocol

from zkkit.bench.locks_child import SESSION_TIMEOUT
from zkkit.bench.locks_profile import samples_in
from zkkit.bench.locks_rows import CURATOR, KAZOO, LEASES, ZKKIT
from zkkit.bench.peers.curator import CuratorPeer, JavaActor, JavaLock
from zkkit.bench.peers.curator_jars import CuratorMissing
from zkkit.bench.peers.rounds import Plan, Round, contend_all
from zkkit.errors import ZkkitError

_TOGETHER = 8  # sessions opened at the same time
_GOODBYE = 10.0  # seconds; the child itself waits for its sessions for fewer
_TAIL = 5  # lines of a failed process's last words

Rounds = list[list[Round]]
"""What each contender did."""


class PeerSilent(ZkkitError):
    """A peer has ended, failed or hangs: its figures cannot be had."""


class Peer(Protocol):
    """A library whose locks are measured."""

    name: str
    version: str

    @property
    def pid(self) -> int: ...

    def open(self, sessions: int, patience: float) -> None:
        """Have at least so many sessions."""

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: Plan, patience: float
    ) -> Rounds:
        """Let these sessions contend for one path; PeerSilent if it takes longer than patience."""

    def close(self) -> None: ...


def members_of(hosts: str) -> list[str]:
    """A connect string for each server: "a:1,b:2/x" -> ["a:1/x", "b:2/x"]."""
    servers, slash, chroot = hosts.partition("/")
    return [server.strip() + slash + chroot for server in servers.split(",")]


class PythonPeer:
    """zkkit or kazoo, in a process that runs `locks_child`; it ends when we do."""

    def __init__(self, name: str, hosts: str) -> None:
        self.name = name
        self.version = "unknown"
        self._hosts = hosts
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  # ends with us
        members = json.dumps(members_of(hosts))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "zkkit.bench.locks_child", name, members],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is for us
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def open(self, sessions: int, patience: float) -> None:
        self.version = self._ask({"do": "open", "sessions": sessions}, patience)

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: Plan, patience: float
    ) -> Rounds:
        return _rounds(self._ask(_order(kind, path, who, plan), patience))

    def another(self) -> PythonPeer:
        """A second process of the same library."""
        return PythonPeer(self.name, self._hosts)

    def profile(
        self, kind: str, path: str, who: Sequence[int], plan: Plan, patience: float
    ) -> Counter[str]:
        """Contend, and tell how many samples of the CPU time fell into each part of the program.
        It may cost the process its life: see locks_profile."""
        with tempfile.NamedTemporaryFile("r") as file:
            order = {**_order(kind, path, who, plan), "profile": file.name}
            try:
                self._ask(order, patience)
            except PeerSilent:
                pass  # what was sampled until then counts
            return samples_in(file)

    def close(self) -> None:
        """End the sessions and the process. Closing twice is harmless."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
            process.wait(_GOODBYE)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            self._errors.close()

    def _ask(self, order: dict[str, Any], patience: float) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            with _ended_after(patience, self.pid):
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerSilent(f"the process of {self.name} ended or hung: {self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerSilent(f"{self.name} failed: {answer['error']}")
        return answer["result"]

    def _last_words(self) -> str:
        self._errors.seek(0)
        return "\n".join(self._errors.read().splitlines()[-_TAIL:]) or "(it said nothing)"


def _order(kind: str, path: str, who: Sequence[int], plan: Plan) -> dict[str, Any]:
    return {"do": "contend", "kind": kind, "path": path, "who": list(who), "plan": plan}


def _rounds(told: list[list[list[int]]]) -> Rounds:
    return [[Round(*one) for one in mine] for mine in told]


class JavaPeer:
    """Java Curator, in a JVM."""

    name = CURATOR

    def __init__(self, hosts: str, jvm_flags: Sequence[str]) -> None:
        self._members = members_of(hosts)
        self._peer = CuratorPeer(hosts, timeout=SESSION_TIMEOUT, jvm_flags=jvm_flags)
        self.version = self._peer.version
        self._actors: list[JavaActor] = []

    @property
    def pid(self) -> int:
        return self._peer.pid

    @property
    def session_ids(self) -> list[int]:
        return [actor.session_id for actor in self._actors]

    def open(self, sessions: int, patience: float) -> None:
        with _ended_after(patience, self.pid):
            while (first := len(self._actors)) < sessions:
                numbers = range(first, min(first + _TOGETHER, sessions))
                opening = [self._begin_open(number) for number in numbers]
                self._actors += [JavaActor(self._peer, n, s.result()) for n, s in opening]

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: Plan, patience: float
    ) -> Rounds:
        with _ended_after(patience, self.pid):
            locks = [_java_lock(self._actors[number], kind, path) for number in who]
            return contend_all(locks, plan)

    def close(self) -> None:
        self._peer.close()

    def _begin_open(self, number: int) -> tuple[str, Future[int]]:
        name = f"s{number}"
        return name, self._peer.ask(name, "session", self._members[number % len(self._members)])


def _java_lock(actor: JavaActor, kind: str, path: str) -> JavaLock:
    if kind == "mutex":
        return actor.mutex(path)
    if kind == "lock":
        return actor.semaphore_mutex(path)
    if kind == "semaphore":
        return actor.semaphore(path, LEASES)
    read, write = actor.read_write(path)
    return read if kind == "read" else write


@contextmanager
def _ended_after(patience: float, pid: int) -> Iterator[None]:
    """End a process that hangs: whoever waits for an ended process is told so."""
    watchdog = threading.Timer(patience, os.kill, [pid, signal.SIGKILL])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


@contextmanager
def peers(hosts: str, jvm_flags: Sequence[str]) -> Iterator[tuple[list[Peer], str]]:
    """All peers this machine has, and which it has not and how to get it; "" if it has all.

    Whatever ends the block ends their processes.
    """
    with ExitStack() as stack:
        found: list[Peer] = []
        excuse = ""
        for name in (ZKKIT, KAZOO):
            found.append(PythonPeer(name, hosts))
            stack.callback(found[-1].close)
        try:
            found.append(JavaPeer(hosts, jvm_flags))
            stack.callback(found[-1].close)
        except CuratorMissing as missing:
            excuse = f"Java Curator is left out: {missing}"
        yield found, excuse
