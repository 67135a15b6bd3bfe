"""Curator's objects in the JVM, as they are seen from Python: locks, candidates, counters, caches.

Each is in the thread of its actor, and obeys in order: one that waits answers nothing else. What
it tells unasked is in `heard`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from .events import ToldEvent, ToldLog
from .rounds import Round, RoundsPlan

_FOR_EVER = -1
_LONG = 3600.0  # seconds; what waits without a limit here ends with its actor


class JavaActors(Protocol):
    """The JVM, as its things need it."""

    def ask(self, actor: str, verb: str, *args: object) -> Future[Any]: ...

    def listen(self, actor: str, thing: str, listener: Callable[[ToldEvent], object]) -> None: ...


@dataclass(frozen=True)
class JavaThing:
    """An object of Curator's that an actor has opened."""

    peer: JavaActors
    actor: str
    name: str
    heard: ToldLog

    def begin(self, verb: str, *args: object) -> Future[Any]:
        """Ask the thing for something; gives what will have the answer."""
        return self.peer.ask(self.actor, verb, self.name, *args)

    def do(self, verb: str, *args: object) -> Any:
        """Ask the thing for something, and wait for the answer."""
        return self.begin(verb, *args).result()


class JavaStaged(JavaThing):
    """What goes on by itself once it is started, and tells what happens."""

    def start(self) -> int:
        """Start it; gives the time when it began."""
        return int(self.do("start"))

    def stop(self) -> None:
        """Close it."""
        self.do("stop")

    def tell(self, listener: Callable[[ToldEvent], object]) -> None:
        """Tell this one from now on, and `heard` no longer."""
        self.peer.listen(self.actor, self.name, listener)


class JavaLock(JavaThing):
    """A lock or semaphore; or what can be contended for like one."""

    def part(self, which: str) -> Self:
        """One of the two that were opened together."""
        return type(self)(self.peer, self.actor, f"{self.name}.{which}", ToldLog())

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for it, at most so many seconds."""
        return bool(self.begin_acquire(timeout).result())

    def begin_acquire(self, timeout: float | None = None) -> Future[bool]:
        """Ask for it; the future tells whether it was had."""
        return self.begin("acquire", _FOR_EVER if timeout is None else _ms(timeout))

    def release(self) -> None:
        """Give it up, once for each acquire."""
        self.do("release")

    def participants(self) -> tuple[str, ...]:
        """What getParticipantNodes() gives. A mutex gives paths, the first in line first; a
        semaphore the names of its leases, in no order."""
        return tuple(self.do("participants"))

    def make_revocable(self) -> threading.Event:
        """Say before acquiring that the holder can be asked to give way; set when it is."""
        asked = threading.Event()
        self.peer.listen(self.actor, self.name, lambda told: asked.set())
        self.do("revocable")
        return asked

    def begin_contend(self, plan: RoundsPlan) -> Callable[[], list[Round]]:
        """Contend as planned (see `rounds.CanContend`)."""
        contending = self.begin("contend", *plan)

        def rounds() -> list[Round]:
            times = contending.result()
            return [Round(*times[at : at + 4]) for at in range(0, len(times), 4)]

        return rounds


class JavaCandidate(JavaStaged):
    """A LeaderLatch or a LeaderSelector. It tells "leader" and "not leader"."""

    def wait(self, timeout: float = _LONG) -> bool:
        """Wait until it leads, by LeaderLatch.await."""
        return bool(self.do("wait", _ms(timeout)))

    def is_leader(self) -> bool:
        """hasLeadership()."""
        return bool(self.do("is leader"))

    def leader(self) -> str:
        """The id of whoever leads; "" if nobody does."""
        return str(self.do("leader"))

    def participants(self) -> tuple[str, ...]:
        """The ids of all candidates."""
        return tuple(self.do("participants"))

    def give_up(self) -> None:
        """Let takeLeadership of a selector return."""
        self.do("give up")

    def requeue(self) -> bool:
        """Let a selector stand again."""
        return bool(self.do("requeue"))

    def interrupt(self) -> None:
        """Call interruptLeadership() of a selector."""
        self.do("interrupt")


class JavaBarrier(JavaThing):
    """A DistributedBarrier."""

    def set(self) -> None:
        """Close the barrier."""
        self.do("set barrier")

    def remove(self) -> None:
        """Open it."""
        self.do("remove barrier")

    def begin_wait(self, timeout: float = _LONG) -> Future[bool]:
        """Wait until it is open; False after so many seconds."""
        return self.begin("wait", _ms(timeout))


class JavaDoubleBarrier(JavaThing):
    """A DistributedDoubleBarrier."""

    def begin_enter(self, timeout: float = _LONG) -> Future[bool]:
        """Wait until all are in."""
        return self.begin("enter", _ms(timeout))

    def begin_leave(self, timeout: float = _LONG) -> Future[bool]:
        """Wait until all are out."""
        return self.begin("leave", _ms(timeout))


class JavaShared(JavaThing):
    """A SharedCount or a SharedValue. It tells "value" when it hears of a new one."""

    def value(self) -> Any:
        """What it has heard last."""
        return self.do("value")

    def set(self, value: object) -> None:
        """Set it, whatever it is."""
        self.do("set value", value)

    def try_set(self, value: object) -> bool:
        """Set it if it is what was heard last."""
        return bool(self.do("try set value", value))

    def told(self) -> list[Any]:
        """The values that listeners were told."""
        return [told.value for told in self.heard.all("value")]


class JavaSharedBytes(JavaShared):
    """A SharedValue; on the way to the JVM its bytes are hexadecimal digits."""

    def value(self) -> bytes:
        return bytes.fromhex(super().value())

    def set(self, value: object) -> None:
        super().set(_hex(value))

    def try_set(self, value: object) -> bool:
        return super().try_set(_hex(value))

    def told(self) -> list[bytes]:
        return [bytes.fromhex(value) for value in super().told()]


class AtomicAnswer(NamedTuple):
    """What an AtomicValue says."""

    succeeded: bool
    before: int
    after: int


class JavaAtomic(JavaLock):
    """A DistributedAtomicLong or -Integer; to contend for it is to increment it."""

    def get(self) -> AtomicAnswer:
        """Its value, before and after nothing was done."""
        return AtomicAnswer(*self.do("get"))

    def add(self, number: int) -> AtomicAnswer:
        """Add a number."""
        return AtomicAnswer(*self.do("add", number))

    def subtract(self, number: int) -> AtomicAnswer:
        """Subtract a number."""
        return AtomicAnswer(*self.do("subtract", number))

    def try_set(self, number: int) -> AtomicAnswer:
        """Set it, unless others do meanwhile."""
        return AtomicAnswer(*self.do("try set", number))

    def compare_and_set(self, expected: int, number: int) -> AtomicAnswer:
        """Set it if it is as expected."""
        return AtomicAnswer(*self.do("compare and set", expected, number))

    def force_set(self, number: int) -> None:
        """Set it, whatever others do."""
        self.do("force set", number)

    def initialize(self, number: int) -> bool:
        """Create it; False if it is there."""
        return bool(self.do("initialize", number))


class JavaCache(JavaStaged):
    """A CuratorCache or a PathChildrenCache. It tells "created", "changed" and "deleted" with path
    and data, and "initialized"."""

    def content(self) -> dict[str, bytes]:
        """Every node's data, by path."""
        return {path: bytes.fromhex(data) for path, data in self.do("content")}

    def told(self) -> list[tuple[str, str, bytes]]:
        """What became of which node, and its data."""
        return [
            (told.event, told.value[0], bytes.fromhex(told.value[1]))
            for told in self.heard.all("created", "changed", "deleted")
        ]


def _hex(value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
