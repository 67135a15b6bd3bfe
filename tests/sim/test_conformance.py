"""The world against real servers: the same steps, quiet after each, must give the same results and
the same fires.

Times are not compared, session ids and zxids only by their order (a server spends a zxid on a
refused write and on every session; the model does not).
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zkkit.errors import NodeExists, NoNode, NoWatcher, ZkkitError
from zkkit.session.kazoo_transport import KazooTransport
from zkkit.session.loop import seat_for
from zkkit.session.options import Options
from zkkit.session.platforms import threads
from zkkit.session.transport import Outgoing
from zkkit.session.wire import Wire
from zkkit.sim import World
from zkkit.sim.state import session_id
from zkkit.steps import (
    OPEN_ACL,
    Check,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Fire,
    Get,
    Mode,
    Multi,
    Node,
    Set,
    Stat,
    Sync,
    Watch,
)

PATIENCE = 10.0


class Removal(NamedTuple):
    """removeWatches, which is no step: only sessions send it."""

    path: str
    kind: int


class RawSession:
    """A session without any bookkeeping: what the server says is what one gets."""

    def __init__(self, hosts: str) -> None:
        self.id = 0
        self.told: list[Fire] = []
        self.root = ""
        self._replies: queue.Queue[tuple[Any, ZkkitError | None]] = queue.Queue()
        self._up: queue.Queue[bool] = queue.Queue()
        self._monitor = threading.RLock()
        self._transport = KazooTransport(Options(hosts), threads())
        self._seat = seat_for(threads())
        self._transport.open(self, self._seat)
        self._up.get(timeout=PATIENCE)

    # what the transport tells

    def batch(self) -> Any:
        return self._monitor

    def session_opened(self, session_id: int, timeout: float, sent_at: float) -> bool:
        self.id = session_id
        return True

    def answered(self, sent_at: float) -> None: ...

    def connection_up(self) -> None:
        self._transport.resume()
        self._up.put(True)

    def connection_down(self) -> None: ...

    def session_over(self) -> None: ...

    def ended(self, why: str) -> None: ...

    def fired(self, kind: Any, full_path: str) -> None:
        self.told.append(Fire(kind, full_path[len(self.root) :] or "/"))

    def is_awaited(self, call: Outgoing) -> bool:
        return True

    def replied(self, call: Outgoing, value: Any, error: ZkkitError | None) -> None:
        self._replies.put((value, error))

    # what the test asks for

    def take(self, step: Any) -> Any:
        return self._ask(Wire(self.root, OPEN_ACL).encode(step), step.path)

    def remove_watch(self, path: str, kind: int) -> None:
        self._ask(Wire(self.root, OPEN_ACL).encode_remove_watch(path, kind), path)

    def _ask(self, encoded: Any, path: str) -> Any:
        with self._monitor:
            self._transport.send(Outgoing(encoded, path))
            self._transport.flush()
        value, error = self._replies.get(timeout=PATIENCE)
        if error is not None:
            raise error
        return value

    def settle(self) -> None:
        """One round trip: what was fired before has arrived after it."""
        self.take(Exists("/"))

    def fires(self) -> list[Fire]:
        told, self.told = self.told, []
        return told

    def close(self) -> None:
        self._transport.shut_down(PATIENCE)
        self._seat.stop()


class Twins:
    """Two sessions on a real server and two in a world, which do the same."""

    def __init__(self, hosts: str) -> None:
        self.hosts = hosts
        self.janitor = RawSession(hosts)
        self.real = [RawSession(hosts), RawSession(hosts)]
        self.begin()

    def begin(self) -> None:
        """A fresh root for both."""
        self.root = f"/c-{uuid.uuid4().hex}"
        self.janitor.take(Create(self.root))
        for session in self.real:
            session.root = self.root
            session.fires()
        self.world = World()
        self.model = [self.world.connect(), self.world.connect()]
        self.zxids: dict[int, int] = {}

    def end(self) -> None:
        """Take away all nodes and watches."""
        for session in self.real:
            for path in ("/", *PATHS):
                try:
                    session.remove_watch(path, 3)
                except NoWatcher:
                    pass
        self._remove(self.root)

    def _remove(self, path: str) -> None:
        for name in self.janitor.take(Children(path)):
            self._remove(f"{path}/{name}")
        self.janitor.take(Delete(path))

    def step(self, who: int, what: Any) -> None:
        """The same in both; raises if anything differs."""
        if what == "close":
            self.close(who)
        else:
            self.compare(what, self._real(who, what), self._model(who, what))
        for session in self.real:
            session.settle()
        for number, (real, model) in enumerate(zip(self.real, self.model, strict=True)):
            heard, expected = real.fires(), self.world.fires(model)
            if what == "close":
                heard, expected = sorted(heard), sorted(expected)
            assert heard == expected, f"fires of session {number} after {who}: {what}"

    def close(self, who: int) -> None:
        """End a session and open another one in its place."""
        self.real[who].close()
        self.real[who] = RawSession(self.hosts)
        self.real[who].root = self.root
        self.world.close(self.model[who])
        self.model[who] = self.world.connect()

    def _real(self, who: int, what: Any) -> Any:
        session = self.real[who]
        try:
            if isinstance(what, Removal):
                return session.remove_watch(*what)
            return session.take(what)
        except ZkkitError as error:
            return error

    def _model(self, who: int, what: Any) -> Any:
        try:
            if isinstance(what, Removal):
                return self.world.remove_watch(self.model[who], *what)
            return self.world.take(self.model[who], what)
        except ZkkitError as error:
            return error

    def compare(self, step: Any, real: Any, model: Any) -> None:
        if isinstance(step, Children) and isinstance(real, tuple):
            real = tuple(sorted(real))
        assert self.plain(real, True) == self.plain(model, False), step
        self.remember(stats_of(real), stats_of(model), step)

    def plain(self, result: Any, real: bool) -> Any:
        """A result without what cannot be the same."""
        if isinstance(result, ZkkitError):
            return result
        if isinstance(result, Stat):
            mine = [s.id for s in self.real] if real else [ids(s) for s in self.model]
            owner = result.ephemeral_owner
            shown = mine.index(owner) if owner in mine else owner
            return result._replace(
                czxid=0, mzxid=0, pzxid=0, ctime=0, mtime=0, ephemeral_owner=shown
            )  # fmt: skip
        if isinstance(result, Node | Data):
            return type(result)(result[0], self.plain(result[1], real))
        if isinstance(result, tuple):
            return tuple(self.plain(each, real) for each in result)
        return result

    def remember(self, real: list[Stat], model: list[Stat], step: Any) -> None:
        """The order of all zxids seen must be the same in both."""
        for one, other in zip(real, model, strict=True):
            for field in ("czxid", "mzxid", "pzxid"):
                a, b = getattr(one, field), getattr(other, field)
                assert self.zxids.setdefault(b, a) == a, (step, field)
        in_order = [a for _, a in sorted(self.zxids.items())]
        assert in_order == sorted(set(in_order)), f"the order of zxids differs after {step}"


def ids(session: Any) -> int:
    return session_id(session.number, 0)


def stats_of(result: Any) -> list[Stat]:
    if isinstance(result, Stat):
        return [result]
    if isinstance(result, tuple):
        return [stat for each in result for stat in stats_of(each)]
    return []


@pytest.fixture(scope="module")
def twins(zk_ensemble: Any) -> Iterator[Twins]:
    """Two real sessions on one server, and a world."""
    twins = Twins(zk_ensemble.hosts.split(",")[0])
    yield twins
    for session in (*twins.real, twins.janitor):
        session.close()


PATHS = ("/a", "/b", "/a/x", "/a/y", "/a/x/z", "/a/s-0000000000", "/a/s-0000000001")
paths = st.sampled_from(PATHS)
versions = st.sampled_from((-1, -1, 0, 1))
data = st.sampled_from((b"", b"1", b"22"))
creates = st.one_of(
    st.builds(
        Create,
        st.sampled_from(("/a", "/b", "/a/x", "/a/y", "/a/x/z")),
        data,
        st.sampled_from((Mode.PERSISTENT, Mode.PERSISTENT, Mode.EPHEMERAL, Mode.CONTAINER)),
    ),
    st.builds(
        Create,
        st.sampled_from(("/a/s-", "/s-")),
        data,
        st.sampled_from((Mode.PERSISTENT_SEQUENTIAL, Mode.EPHEMERAL_SEQUENTIAL)),
    ),
    st.builds(
        Create,
        st.sampled_from(("/b", "/a/y")),
        data,
        st.just(Mode.PERSISTENT_TTL),
        ttl_ms=st.sampled_from((600_000, 600_000, 2**40 - 1, 2**40, 0, -1)),
    ),
)
writes = st.one_of(
    creates,
    creates,
    st.builds(Delete, paths, versions),
    st.builds(Delete, paths, versions),
    st.builds(Set, paths, data, versions),
)
multis = st.builds(
    Multi,
    st.lists(st.one_of(writes, st.builds(Check, paths, versions)), min_size=1, max_size=4).map(
        tuple
    ),
)
reads = st.one_of(
    st.builds(Get, paths, st.booleans()),
    st.builds(Exists, paths, st.booleans()),
    st.builds(Children, st.sampled_from(("/", *PATHS)), st.booleans()),
    st.builds(Watch, st.sampled_from(("/", *PATHS)), st.booleans()),
    st.builds(Sync, paths),
    st.builds(Removal, paths, st.sampled_from((1, 2, 3))),
)
steps = st.one_of(writes, writes, reads, reads, multis)
closes = st.integers(0, 39).map(lambda chance: "close" if chance == 39 else Sync("/a"))
sequences = st.lists(
    st.tuples(st.sampled_from((0, 1)), st.one_of(steps, steps, steps, closes)),
    min_size=4,
    max_size=16,
)


def run(twins: Twins, sequence: list[tuple[int, Any]]) -> None:
    twins.begin()
    try:
        for who, what in sequence:
            twins.step(who, what)
    finally:
        twins.end()


def random_sequences(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


@random_sequences(40)
@given(sequence=sequences)
def test_random_sequences(twins: Twins, sequence: list[tuple[int, Any]]) -> None:
    """Forty random sequences of steps give the same results and the same fires."""
    run(twins, sequence)


@pytest.mark.slow
@pytest.mark.timeout(900)
@random_sequences(2000)
@given(sequence=sequences)
def test_two_thousand_random_sequences(twins: Twins, sequence: list[tuple[int, Any]]) -> None:
    """Two thousand random sequences of steps give the same results and the same fires."""
    run(twins, sequence)


EPHEMERAL, IN_LINE = Mode.EPHEMERAL, Mode.EPHEMERAL_SEQUENTIAL
HAND_MADE = {
    "a lock handed over": [
        (0, Create("/a", mode=Mode.CONTAINER)),
        (0, Create("/a/s-", b"", IN_LINE)),
        (1, Create("/a/s-", b"", IN_LINE)),
        (1, Get("/a/s-0000000000", True)),
        (0, Delete("/a/s-0000000000")),
        (1, Get("/a/s-0000000000", True)),
        (1, Children("/a")),
    ],
    "a time to live has bounds": [
        (0, Create("/b/no-parent", mode=Mode.PERSISTENT_TTL, ttl_ms=0)),
        *[
            (0, Create(f"/a{ttl}", mode=Mode.PERSISTENT_TTL, ttl_ms=ttl))
            for ttl in (-(2**63), -1, 0, 600_000, 2**40 - 1, 2**40, 2**63 - 1)
        ],
        (0, Multi((Create("/c", mode=Mode.PERSISTENT_SEQUENTIAL_TTL, ttl_ms=0),))),
    ],
    "numbers count creations, not children": [
        (0, Create("/a")),
        (0, Create("/a/s-", b"", IN_LINE)),
        (0, Delete("/a/s-0000000000")),
        (0, Create("/a/x")),
        (0, Create("/a/s-", b"", IN_LINE)),
        (0, Exists("/a")),
    ],
    "the end of a session takes its nodes": [
        (0, Create("/a")),
        (0, Create("/a/x", b"", EPHEMERAL)),
        (0, Create("/a/y", b"", EPHEMERAL)),
        (1, Get("/a/x", True)),
        (1, Children("/a", True)),
        (1, Exists("/a/y", True)),
        (0, "close"),
        (1, Exists("/a")),
    ],
    "exists leaves a watch on nothing, get does not": [
        (0, Exists("/a", True)),
        (1, Create("/a")),
        (0, Get("/b", True)),
        (1, Create("/b")),
    ],
    "one delete, one fire for both kinds": [
        (0, Create("/a")),
        (0, Get("/a", True)),
        (0, Children("/a", True)),
        (1, Delete("/a")),
    ],
    "a recursive watch hears everything below, and never 'child'": [
        (0, Create("/a")),
        (0, Watch("/a", True)),
        (1, Create("/a/x")),
        (1, Create("/a/x/z")),
        (1, Set("/a/x/z", b"1")),
        (1, Delete("/a/x/z")),
        (1, Delete("/a/x")),
        (1, Delete("/a")),
    ],
    "a persistent watch hears of its own node and of its children's coming and going": [
        (0, Watch("/a")),
        (1, Create("/a")),
        (1, Create("/a/x")),
        (1, Set("/a/x", b"1")),
        (1, Set("/a", b"1")),
        (1, Delete("/a/x")),
        (1, Delete("/a")),
    ],
    "a one-shot watch beside a persistent one takes its place": [
        (0, Create("/a")),
        (0, Watch("/a")),
        (0, Get("/a", True)),
        (1, Set("/a", b"1")),
        (1, Set("/a", b"2")),
        (1, Create("/a/x")),
    ],
    "all or nothing": [
        (0, Create("/a")),
        (1, Children("/a", True)),
        (0, Multi((Create("/a/x"), Set("/a/x", b"1"), Delete("/a/y")))),
        (0, Multi((Create("/a/x"), Set("/a/x", b"1"), Check("/a/x", 1)))),
        (0, Get("/a/x")),
    ],
    "no children below an ephemeral node": [
        (0, Create("/a", b"", EPHEMERAL)),
        (1, Create("/a/x")),
        (1, Create("/a", b"")),
        (1, Delete("/a", 3)),
    ],
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_hand_made_sequences(twins: Twins, name: str) -> None:
    """What clients rely on most, one by one: the same in the world and on a server."""
    run(twins, HAND_MADE[name])


def test_the_suite_can_fail(twins: Twins) -> None:
    """A world that is wrong in one watch is caught by the very first sequence about it."""
    twins.begin()
    twins.world.take(twins.model[1], Exists("/a", True))  # only in the world
    with pytest.raises(AssertionError, match="fires of session 1"):
        twins.step(0, Create("/a"))
    twins.end()


def test_errors_say_the_path() -> None:
    """The world's errors compare equal to those of a real session: kind, text and path."""
    world = World()
    session = world.connect()
    world.take(session, Create("/a"))
    with pytest.raises(NodeExists) as exists:
        world.take(session, Create("/a"))
    with pytest.raises(NoNode) as gone:
        world.take(session, Get("/b"))
    assert exists.value == NodeExists("/a") and gone.value == NoNode("/b")
