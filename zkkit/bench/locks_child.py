"""A process that contends for locks: zkkit's or kazoo's, each session in a thread of its own.

    python -m zkkit.bench.locks_child zkkit '["127.0.0.1:2181", "127.0.0.1:2182"]'

Orders come in on stdin, one JSON object a line, and each is answered by one on stdout:

    {"do": "open", "sessions": 3}                                  {"result": "0.1.0"}
    {"do": "contend", "kind": "mutex", "path": "/x", "who": [0, 1],
     "plan": [start_ns, rounds, until_ns, hold_ns]}                {"result": [[round, ...], ...]}
    the same with "profile": "/file"        the same; samples of where its time goes in the file

Session number i is with server number i, modulo their number: so all peers have theirs at the same
servers. It ends when stdin does, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import zkkit
from zkkit.bench.locks_profile import sampling
from zkkit.bench.locks_rows import KAZOO, LEASES, ZKKIT
from zkkit.bench.peers.rounds import Plan, Round, contend

SESSION_TIMEOUT = 30.0  # seconds; a busy machine must not cost a contender its session

_TOGETHER = 8  # sessions opened or closed at the same time
_GOODBYE = 5.0  # seconds to close all sessions

Pair = tuple[Callable[[], object], Callable[[], object]]


class Client(Protocol):
    """A session of either library."""

    def lock(self, kind: str, path: str) -> Pair: ...

    def close(self) -> None: ...


class ZkkitSession:
    """One session of zkkit's."""

    def __init__(self, hosts: str, timeout: float) -> None:
        self._session = zkkit.connect(hosts, timeout=timeout)

    def lock(self, kind: str, path: str) -> Pair:
        """How to acquire and how to release a lock of this kind."""
        session = self._session
        if kind == "semaphore":
            semaphore = zkkit.Semaphore(session, path, LEASES)
            return semaphore.acquire, semaphore.release
        if kind in ("read", "write"):
            half = getattr(zkkit.ReadWriteLock(session, path), kind)
            return half.acquire, half.release
        lock = {"mutex": zkkit.ReentrantLock, "lock": zkkit.Lock}[kind](session, path)
        return lock.acquire, lock.release

    def close(self) -> None:
        """End the session."""
        self._session.close()


def _library(name: str) -> tuple[Callable[[str, float], Client], str]:
    if name == KAZOO:
        from zkkit.bench import locks_kazoo  # only the process that measures kazoo has it

        return locks_kazoo.KazooSession, locks_kazoo.VERSION
    assert name == ZKKIT
    return ZkkitSession, zkkit.__version__


class Crew:
    """The sessions of this process."""

    def __init__(self, library: str, members: Sequence[str]) -> None:
        self._make, self._version = _library(library)
        self._members = members
        self._clients: list[Client] = []

    def obey(self, do: str, **given: Any) -> Any:
        """One order."""
        if do == "open":
            return self._open(given["sessions"])
        plan = Plan(*given["plan"])
        if not given.get("profile"):
            return self._contend(given["kind"], given["path"], given["who"], plan)
        with open(given["profile"], "a") as file, sampling(file):
            return self._contend(given["kind"], given["path"], given["who"], plan)

    def _open(self, number: int) -> str:
        """Have at least so many sessions."""
        wanted = range(len(self._clients), number)
        with ThreadPoolExecutor(max_workers=_TOGETHER) as threads:
            self._clients += threads.map(self._connect, wanted)
        return self._version

    def _connect(self, number: int) -> Client:
        return self._make(self._members[number % len(self._members)], SESSION_TIMEOUT)

    def _contend(self, kind: str, path: str, who: Sequence[int], plan: Plan) -> list[list[Round]]:
        locks = [self._clients[number].lock(kind, path) for number in who]
        with ThreadPoolExecutor(max_workers=len(locks)) as threads:
            return list(threads.map(lambda lock: contend(lock[0], lock[1], plan), locks))

    def close(self) -> None:
        """End all sessions."""
        with ThreadPoolExecutor(max_workers=_TOGETHER) as threads:
            list(threads.map(lambda client: client.close(), self._clients))


def _serve(crew: Crew, line: str) -> None:
    try:
        answer = {"result": crew.obey(**json.loads(line))}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


def _main(library: str, members: Sequence[str]) -> None:
    crew = Crew(library, members)
    # Orders are obeyed beside this thread, which would not see the end of stdin otherwise.
    for line in sys.stdin:
        threading.Thread(target=_serve, args=(crew, line), daemon=True).start()
    goodbye = threading.Thread(target=crew.close, daemon=True)
    goodbye.start()
    goodbye.join(_GOODBYE)
    os._exit(0)  # whatever else still runs


if __name__ == "__main__":
    _main(sys.argv[1], json.loads(sys.argv[2]))
