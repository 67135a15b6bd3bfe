"""Java Curator as a peer: its own locks, in a JVM beside us, driven from Python.

    with CuratorPeer(hosts) as peer:
        mutex = peer.actor("java").mutex("/locks/printer")
        mutex.acquire()

An actor is a session and a thread of Java's, so that what belongs to a thread there (reentry, who
may release) does so here. It obeys in order: while it waits for a lock, ask another one. The
program in the JVM is CuratorPeer.java beside this file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Self

from zkkit.ensemble.config import FAST_START
from zkkit.errors import ZkkitError

from .curator_jars import MAIN_CLASS, compiled, find_curator
from .rounds import Plan, Round

_FOR_EVER = -1
_GOODBYE = 10.0  # seconds; the JVM itself waits for its sessions for fewer
_TAIL = 2_000  # characters of what the JVM said, in an error

_PROPERTIES = (
    "-XX:+DisplayVMOutputToStderr",  # stdout is for answers
    "-XX:-UsePerfData",  # its file in the temp directory would survive a SIGKILL
    "-Xss256k",  # a session has half a dozen threads
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


class PeerFailed(ZkkitError):
    """Curator raised an exception, or the JVM has ended."""


class CuratorPeer:
    """A JVM with Curator in it. `jvm_flags` are those of a fast start; a benchmark gives others.

    It ends when it is closed and when this process ends, in whatever way: its stdin is closed then.
    """

    def __init__(
        self, hosts: str, *, timeout: float = 10.0, jvm_flags: Sequence[str] = FAST_START
    ) -> None:
        curator = find_curator()
        self.version = curator.version
        """Curator's."""
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._ended = False
        self._revoked: dict[tuple[str, str], threading.Event] = {}
        class_path = f"{compiled(curator)}:{curator.class_path}"
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  (see close)
        self._process = subprocess.Popen(
            [curator.java.path, *jvm_flags, *_PROPERTIES, "-cp", class_path, MAIN_CLASS, hosts,
             str(int(timeout * 1000)), str(os.getpid())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is for us
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="curator peer", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._process.pid

    def actor(self, name: str) -> JavaActor:
        """An actor of a new name; its session is open when this returns."""
        return self.actors([name])[0]

    def actors(self, names: Iterable[str]) -> list[JavaActor]:
        """Several of them, connected at the same time."""
        opening = [(name, self.ask(name, "session")) for name in names]
        return [JavaActor(self, name, session.result()) for name, session in opening]

    def close(self) -> None:
        """End all sessions and the JVM. Closing twice is harmless."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- what actors say to the JVM -----------------------------------------------------

    def ask(self, actor: str, verb: str, *given: object) -> Future[Any]:
        """Send a command; its result comes as a future."""
        words = [actor, verb, *map(str, given)]
        if any(sign in word for word in words for sign in "\t\r\n"):
            raise ValueError(f"a word for the Curator peer has a tab or line end in it: {words}")
        answer: Future[Any] = Future()
        assert self._process.stdin is not None
        with self._lock:
            number = next(self._ids)
            self._asked[number] = answer
            try:
                if self._ended:
                    raise BrokenPipeError
                self._process.stdin.write("\t".join((str(number), *words)) + "\n")
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError):
                self._asked.pop(number, None)
                answer.set_exception(PeerFailed("the JVM of the Curator peer has ended"))
        return answer

    def revocation(self, actor: str, lock: str) -> threading.Event:
        """What is set when somebody asks for this lock."""
        return self._revoked.setdefault((actor, lock), threading.Event())

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if "event" in answer:
                self.revocation(answer["actor"], answer["name"]).set()
                continue
            with self._lock:
                future = self._asked.pop(answer["id"])
            if "error" in answer:
                future.set_exception(PeerFailed(f"Curator: {answer['error']}"))
            else:
                future.set_result(answer["result"])
        with self._lock:
            self._ended = True
            left, self._asked = self._asked, {}
        for future in left.values():
            future.set_exception(
                PeerFailed(f"the JVM of the Curator peer has ended\n{self._said()}")
            )

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()[-_TAIL:]


class JavaActor(NamedTuple):
    """A session and a thread of the JVM. The data of its nodes is its name."""

    peer: CuratorPeer
    name: str
    session_id: int

    def mutex(self, path: str) -> JavaLock:
        """An InterProcessMutex."""
        return self._open("mutex", path)

    def read_write(self, path: str) -> tuple[JavaLock, JavaLock]:
        """The read lock and the write lock of an InterProcessReadWriteLock."""
        both = self._open("read write", path)
        return both._replace(name=f"{both.name}.read"), both._replace(name=f"{both.name}.write")

    def semaphore(self, path: str, limit: int | str) -> JavaLock:
        """An InterProcessSemaphoreV2; its limit is a number, or the path of a SharedCount."""
        kind = "semaphore" if isinstance(limit, int) else "counted semaphore"
        return self._open(kind, path, limit)

    def semaphore_mutex(self, path: str) -> JavaLock:
        """An InterProcessSemaphoreMutex."""
        return self._open("semaphore mutex", path)

    def multi(self, *paths: str) -> JavaLock:
        """An InterProcessMultiLock."""
        return self._open("multi", *paths)

    def revoke(self, path: str) -> None:
        """Revoker.attemptRevoke: ask whoever has this lock node to give way."""
        self._do("revoke", path)

    def count(self, path: str) -> int:
        """The value of the SharedCount at this path, as this actor has seen it last."""
        return int(self._do("count", path))

    def set_count(self, path: str, value: int) -> None:
        """Set the SharedCount at this path."""
        self._do("set count", path, value)

    def data(self, path: str) -> str:
        """What a node holds."""
        return str(self._do("data", path))

    def clock_ns(self) -> int:
        """System.nanoTime()."""
        return int(self._do("clock"))

    def close(self) -> None:
        """End its session."""
        self._do("close")

    def _open(self, kind: str, *given: object) -> JavaLock:
        name = f"{kind} {' '.join(map(str, given))} {next(_numbers)}"
        self._do("open", name, kind, *given)
        return JavaLock(self, name)

    def _do(self, verb: str, *given: object) -> Any:
        return self.peer.ask(self.name, verb, *given).result()


_numbers = itertools.count(1)


class JavaLock(NamedTuple):
    """A lock or semaphore object of Curator's, in the thread of its actor."""

    actor: JavaActor
    name: str

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for it, at most so many seconds."""
        return bool(self.begin_acquire(timeout).result())

    def begin_acquire(self, timeout: float | None = None) -> Future[bool]:
        """Ask for it; the future tells whether it was had."""
        wait = _FOR_EVER if timeout is None else int(timeout * 1000)
        return self._ask("acquire", wait)

    def release(self) -> None:
        """Give it up, once for each acquire."""
        self._ask("release").result()

    def participants(self) -> tuple[str, ...]:
        """What getParticipantNodes() gives. A mutex gives paths, the first in line first; a
        semaphore the names of its leases, in no order."""
        return tuple(self._ask("participants").result())

    def make_revocable(self) -> threading.Event:
        """Say before acquiring that the holder can be asked to give way; set when it is."""
        self._ask("revocable").result()
        return self.actor.peer.revocation(self.actor.name, self.name)

    def begin_contend(self, plan: Plan) -> Callable[[], list[Round]]:
        """Contend as planned (see `rounds.CanContend`)."""
        contending = self._ask("contend", *plan)

        def rounds() -> list[Round]:
            times = contending.result()
            return [Round(*times[at : at + 4]) for at in range(0, len(times), 4)]

        return rounds

    def _ask(self, verb: str, *given: object) -> Future[Any]:
        return self.actor.peer.ask(self.actor.name, verb, self.name, *given)
