"""Java Curator as a peer: its own recipes, in a JVM beside us, driven from Python.

    with CuratorPeer(hosts) as peer:
        mutex = peer.actor("java").mutex("/locks/printer")
        mutex.acquire()

An actor is a session and a thread of Java's, so that what belongs to a thread there (reentry, who
may release) does so here. It obeys in order: while it waits for a lock, ask another one. The
program in the JVM is CuratorPeer.java beside this file, and what one can do with each of Curator's
objects is in java_things.py.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

from zkkit.bench.kit.processes import Child, ChildSilent
from zkkit.ensemble.config import FAST_START
from zkkit.errors import ZkkitError
from zkkit.session.options import SESSION_TIMEOUT

from .curator_jars import MAIN_CLASS, compiled, find_curator
from .events import ToldEvent, ToldLog
from .java_things import (
    JavaAtomic,
    JavaBarrier,
    JavaCache,
    JavaCandidate,
    JavaDoubleBarrier,
    JavaLock,
    JavaShared,
    JavaSharedBytes,
    JavaThing,
)

_PROPERTIES = (
    "-XX:+DisplayVMOutputToStderr",  # stdout is for answers
    "-XX:-UsePerfData",  # its file in the temp directory would survive a SIGKILL
    "-Xss256k",  # a session has half a dozen threads
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


ThingT = TypeVar("ThingT", bound=JavaThing)


class PeerFailed(ZkkitError):
    """Curator raised an exception, or the JVM has ended."""


class CuratorPeer(AbstractContextManager["CuratorPeer"]):
    """A JVM with Curator in it. `jvm_flags` are those of a fast start; a benchmark gives others.

    It ends when it is closed and when this process ends, in whatever way: its stdin is closed then.
    """

    def __init__(
        self, hosts: str, *, timeout: float = SESSION_TIMEOUT, jvm_flags: Sequence[str] = FAST_START
    ) -> None:
        curator = find_curator()
        self._hosts = hosts
        self.version = curator.version
        """The version of Curator."""
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._ended = False
        self._listeners: dict[tuple[str, str], Callable[[ToldEvent], object]] = {}
        class_path = f"{compiled(curator)}:{curator.class_path}"
        program = ["-cp", class_path, MAIN_CLASS, hosts, str(int(timeout * 1000)), str(os.getpid())]
        self._child = Child(
            "the JVM of the Curator peer",
            [str(curator.java.path), *jvm_flags, *_PROPERTIES, *program],
        )
        self._reader = threading.Thread(target=self._read, name="curator peer", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._child.pid

    def actor(self, name: str) -> JavaActor:
        """An actor of a new name; its session is open when this returns."""
        return self.actors([name])[0]

    def actors(self, names: Sequence[str], hosts: Sequence[str] = ()) -> list[JavaActor]:
        """Several of them, connected at the same time; each to `hosts` of its own, if given."""
        places = hosts or [self._hosts] * len(names)
        asked = [self.ask(name, "session", at) for name, at in zip(names, places, strict=True)]
        return [JavaActor(self, n, s.result()) for n, s in zip(names, asked, strict=True)]

    def close(self) -> None:
        """End all sessions and the JVM. Closing twice is harmless."""
        self._child.say_goodbye()
        self._reader.join()
        self._child.close()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- what actors say to the JVM -----------------------------------------------------

    def ask(self, actor: str, verb: str, *args: object) -> Future[Any]:
        """Send a command; its result comes as a future."""
        words = [actor, verb, *map(str, args)]
        if any(sign in word for word in words for sign in "\t\r\n"):
            raise ValueError(f"a word for the Curator peer has a tab or line end in it: {words}")
        answer: Future[Any] = Future()
        with self._lock:
            number = next(self._ids)
            self._asked[number] = answer
            try:
                self._child.say("\t".join((str(number), *words)))
            except ChildSilent:
                self._ended = True
            if self._ended:
                self._asked.pop(number, None)
                answer.set_exception(PeerFailed("the JVM of the Curator peer has ended"))
        return answer

    def listen(self, actor: str, thing: str, listener: Callable[[ToldEvent], object]) -> None:
        """Call this when the thing tells something unasked."""
        self._listeners[actor, thing] = listener

    def _read(self) -> None:
        for line in self._child.lines():
            answer = json.loads(line)
            if "event" in answer:
                listener = self._listeners.get((answer["actor"], answer["name"]))
                if listener:
                    listener(ToldEvent(answer["event"], answer["at"], answer["value"]))
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
                PeerFailed(f"the JVM of the Curator peer has ended\n{self._child.last_words()}")
            )


class JavaActor(NamedTuple):
    """A session and a thread of the JVM. The data of its nodes is its name."""

    peer: CuratorPeer
    name: str
    session_id: int

    # --- locks --------------------------------------------------------------------------

    def mutex(self, path: str) -> JavaLock:
        """An InterProcessMutex."""
        return self._open(JavaLock, "mutex", path)

    def read_write(self, path: str) -> tuple[JavaLock, JavaLock]:
        """The read lock and the write lock of an InterProcessReadWriteLock."""
        both = self._open(JavaLock, "read write", path)
        return both.part("read"), both.part("write")

    def semaphore(self, path: str, limit: int | str) -> JavaLock:
        """An InterProcessSemaphoreV2; its limit is a number, or the path of a SharedCount."""
        if isinstance(limit, int):
            return self._open(JavaLock, "semaphore", path, limit)
        return self._open(JavaLock, "counted semaphore", path, self._count(limit).name)

    def semaphore_mutex(self, path: str) -> JavaLock:
        """An InterProcessSemaphoreMutex."""
        return self._open(JavaLock, "semaphore mutex", path)

    def multi(self, *paths: str) -> JavaLock:
        """An InterProcessMultiLock."""
        return self._open(JavaLock, "multi", *paths)

    def revoke(self, path: str) -> None:
        """Revoker.attemptRevoke: ask whoever has this lock node to give way."""
        self._do("revoke", path)

    # --- elections and barriers ---------------------------------------------------------

    def latch(self, path: str, id: str = "") -> JavaCandidate:
        """A LeaderLatch."""
        return self._open(JavaCandidate, "latch", path, id or self.name)

    def selector(self, path: str, id: str = "", *, auto_requeue: bool = False) -> JavaCandidate:
        """A LeaderSelector that leads until it is told to give up."""
        again = str(auto_requeue).lower()
        return self._open(JavaCandidate, "selector", path, id or self.name, again)

    def barrier(self, path: str) -> JavaBarrier:
        """A DistributedBarrier."""
        return self._open(JavaBarrier, "barrier", path)

    def double_barrier(self, path: str, members: int) -> JavaDoubleBarrier:
        """A DistributedDoubleBarrier."""
        return self._open(JavaDoubleBarrier, "double barrier", path, members)

    def barrier_rounds(self, path: str, members: int) -> JavaLock:
        """To acquire is to enter a DistributedDoubleBarrier, to release is to leave it; each round
        has one of its own: `path`/0, `path`/1, ..."""
        return self._open(JavaLock, "barrier rounds", path, members)

    # --- counters and values ------------------------------------------------------------

    def shared_count(self, path: str, seed: int = 0) -> JavaShared:
        """A SharedCount, started."""
        return self._open(JavaShared, "shared count", path, seed)

    def shared_value(self, path: str, seed: bytes = b"") -> JavaSharedBytes:
        """A SharedValue, started."""
        return self._open(JavaSharedBytes, "shared value", path, seed.hex())

    def atomic_long(self, path: str) -> JavaAtomic:
        """A DistributedAtomicLong that tries again at once."""
        return self._open(JavaAtomic, "atomic long", path)

    def atomic_int(self, path: str) -> JavaAtomic:
        """A DistributedAtomicInteger that tries again at once."""
        return self._open(JavaAtomic, "atomic integer", path)

    def count(self, path: str) -> int:
        """The value of the SharedCount at this path, as this actor has seen it last."""
        return int(self._count(path).value())

    def set_count(self, path: str, value: int) -> None:
        """Set the SharedCount at this path."""
        self._count(path).set(value)

    def _count(self, path: str) -> JavaShared:
        """The actor's one SharedCount of this path."""
        return self._named(JavaShared, f"count {path}", "shared count", path, 0)

    # --- caches and nodes ---------------------------------------------------------------

    def cache(self, path: str, *, counting: bool = False) -> JavaCache:
        """A CuratorCache. If it counts, it does not tell the nodes that are created, but how many
        there are when it is initialized."""
        return self._open(JavaCache, "counting cache" if counting else "cache", path)

    def children_cache(self, path: str) -> JavaCache:
        """A PathChildrenCache with data; starting it posts an event when it is initialized."""
        return self._open(JavaCache, "children cache", path)

    def create(self, path: str, data: bytes = b"") -> None:
        """A persistent node, and its parents."""
        self._do("create", path, data.hex())

    def set(self, path: str, data: bytes) -> None:
        """Set a node's data."""
        self._do("set", path, data.hex())

    def delete(self, path: str) -> None:
        """Delete a node."""
        self._do("delete", path)

    def data(self, path: str) -> str:
        """What a node holds."""
        return str(self._do("data", path))

    # --- itself -------------------------------------------------------------------------

    def password(self) -> bytes:
        """Its session's: who has it can end the session."""
        return bytes.fromhex(self._do("password"))

    def clock_ns(self) -> int:
        """System.nanoTime()."""
        return int(self._do("clock"))

    def close(self) -> None:
        """End its session."""
        self._do("close")

    def _open(self, of: type[ThingT], kind: str, *args: object) -> ThingT:
        name = f"{kind} {' '.join(map(str, args))} {next(_numbers)}"
        return self._named(of, name, kind, *args)

    def _named(self, of: type[ThingT], name: str, kind: str, *args: object) -> ThingT:
        """What this name means to the actor; opened now if there is nothing of this name."""
        heard = ToldLog()
        self.peer.listen(self.name, name, heard.add)
        self._do("open", name, kind, *args)
        return of(self.peer, self.name, name, heard)

    def _do(self, verb: str, *args: object) -> Any:
        return self.peer.ask(self.name, verb, *args).result()


_numbers = itertools.count(1)
