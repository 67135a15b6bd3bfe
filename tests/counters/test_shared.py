"""Shared values: behaviours of Curator's TestSharedCount, and faults, on every front."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from zkkit import SharedCount, SharedValue, Versioned
from zkkit.errors import AlreadyStarted, CorruptData, NotStarted, VersionUsedUp
from zkkit.recipes.counters import receipts
from zkkit.recipes.counters.shared_value import Shared
from zkkit.record import Recorder
from zkkit.steps import Data, Remember
from zkkit.testing import eventually, expire_session


@pytest.fixture
def follow(front, open_session, zk_path):
    """`follow()`: a count that is followed in a session of its own, and what its listener is told;
    all are closed in the end."""
    followed: list[Any] = []

    def begin(session: Any = None, **options: Any) -> tuple[SharedCount[Any], list[Any]]:
        count: SharedCount[Any] = SharedCount(session or open_session(), zk_path, **options)
        told: list[Any] = []
        count.add_listener(told.append)
        front.call(lambda: count.start())
        followed.append(count)
        return count, told

    yield begin
    for count in followed:
        front.call(lambda count=count: count.close())


def values(told: list[Any]) -> list[int]:
    return [versioned.value for versioned in told]


def test_simple(front, follow):
    """testSimple: the seed, then what was set; a listener is told of changes only."""
    count, told = follow(seed=4)
    assert count.value == 4
    front.call(lambda: count.set(7))
    assert count.value == 7
    assert front.call(lambda: count.get()) == 7
    assert eventually(lambda: values(told) == [7])
    assert told[0] == count.versioned


@pytest.mark.concurrent
def test_many_clients(front, follow, open_session, zk_path):
    """testMultiClients: every listener sees the same values in the same order."""
    followed = [follow() for _ in range(4)]
    setter = SharedCount(open_session(), zk_path)
    actor = front.actor()
    for value in range(1, 13):
        actor.call(lambda value=value: setter.set(value))
        assert eventually(lambda value=value: all(value in values(t) for _, t in followed))
    assert all(values(told) == list(range(1, 13)) for _, told in followed)
    assert all(count.value == 12 for count, _ in followed)


def test_by_version(front, follow):
    """testSimpleVersioned: what was written since is not replaced, whatever of it is stale."""
    count, _ = follow(seed=1)
    actor = front.actor()
    first = count.versioned
    assert actor.call(lambda: count.try_set(first, 2))
    assert count.value == 2
    assert not actor.call(lambda: count.try_set(first, 3))
    now = count.versioned
    assert not actor.call(lambda: count.try_set(now._replace(zxid=first.zxid), 3))
    assert not actor.call(lambda: count.try_set(now._replace(version=first.version), 3))
    assert actor.call(lambda: count.try_set(now, 3))
    assert count.value == 3


def test_two_by_version(front, follow):
    """testMultiClientVersioned: of two who read the same the first writes."""
    (one, _), (two, _) = follow(), follow()
    actor = front.actor()
    first = two.versioned
    assert actor.call(lambda: one.try_set(one.versioned, 10))
    assert not actor.call(lambda: two.try_set(first, 20))
    assert eventually(lambda: two.value == 10)
    assert actor.call(lambda: two.try_set(two.versioned, 20))
    assert eventually(lambda: one.value == 20)


@pytest.mark.front("threads")
def test_a_version_of_minus_one(front, follow, monkeypatch):
    """ZOOKEEPER-4743: it would mean any version, so it is refused."""
    count, _ = follow()
    plain = receipts._replacing

    def later(path: str, found: Data, data: bytes) -> Any:
        return plain(path, Data(found.data, found.stat._replace(version=-1)), data)

    monkeypatch.setattr(receipts, "_replacing", later)
    with pytest.raises(VersionUsedUp, match="any version"):
        count.try_set(count.versioned, 5)
    assert count.get() == 0


def test_the_first_seed_wins(front, follow):
    """testMultiClientDifferentSeed."""
    (one, _), (two, _) = follow(seed=10), follow(seed=20)
    assert (one.value, two.value) == (10, 10)


def test_before_the_start(front, open_session, zk_path):
    """get, set and try_set need no start; what is followed does."""
    count = SharedCount(open_session(), zk_path, seed=3)
    actor = front.actor()
    with pytest.raises(NotStarted, match="start it"):
        count.value
    assert actor.call(lambda: count.get()) == 3
    read = actor.call(lambda: count.get_versioned())
    assert read == Versioned(3, 0, read.zxid)
    assert actor.call(lambda: count.try_set(read, 4))
    with pytest.raises(NotStarted):
        count.versioned
    actor.call(lambda: count.start())
    assert count.value == 4
    with pytest.raises(AlreadyStarted):
        actor.call(lambda: count.start())
    actor.call(lambda: count.close())


def test_bytes(front, open_session, zk_path, witness):
    """A SharedValue is bytes as they are."""
    value = SharedValue(open_session(), zk_path, seed=b"first")

    def inside(given: Any) -> None:
        assert given.value == b"first"

    front.call(lambda: front.within(value, inside))
    front.call(lambda: value.set(b"\0"))
    assert witness.get(zk_path)[0] == b"\0"


def test_corrupted(front, follow, witness, zk_path):
    """A node that holds no count: whoever asks is told, until it is written anew; listeners are not
    told of it, and the count is followed on."""
    count, told = follow()
    witness.set(zk_path, b"nonsense")
    eventually(lambda: corrupt(count))
    with pytest.raises(CorruptData, match=zk_path):
        front.call(lambda: count.get())
    witness.set(zk_path, struct.pack(">i", 8))
    assert eventually(lambda: values(told) == [8])
    assert count.value == 8


def corrupt(count: Any) -> bool:
    try:
        count.value
    except CorruptData:
        return True
    return False


def test_deleted(front, follow, witness, zk_path):
    """A node that somebody deletes is made again, with the seed of whoever sees it first."""
    count, told = follow(seed=2)
    front.call(lambda: count.set(5))
    assert eventually(lambda: values(told) == [5])
    witness.delete(zk_path)
    assert eventually(lambda: values(told) == [5, 2])
    assert count.value == 2
    front.call(lambda: count.set(5))
    assert eventually(lambda: values(told) == [5, 2, 5])


@pytest.mark.concurrent
def test_changed_while_disconnected(front, follow, open_session, zk_proxy, zk_path):
    """testDisconnectReconnectWithMultipleClients (CURATOR-311): read again after a reconnect, so
    that what changed meanwhile is told; testDisconnectReconnectEventDoesNotFireValueWatcher: and
    nothing is told where nothing changed; testDisconnectEventOnWatcherDoesNotRetry: nor is anything
    asked for again and again while there is no connection."""
    session = open_session(zk_proxy.hosts)
    count, told = follow(session)
    other = SharedCount(open_session(), zk_path)
    again = Recorder()
    session.hooks.add(again)
    zk_proxy.drop()
    eventually(lambda: again.count("watch_set") == 1)
    assert told == []
    zk_proxy.cut()
    front.call(lambda: other.set(1))
    front.call(lambda: other.set(2))
    assert count.value == 0
    zk_proxy.mend()
    assert eventually(lambda: count.value == 2)
    assert eventually(lambda: values(told) == [2])
    assert again.count("step", kind="Get") <= 4


def test_a_new_session(front, follow, open_session, zk_hosts, zk_path):
    """The session expires: the count is followed on in the next one, and nothing is told twice."""
    session = open_session()
    count, told = follow(session)
    other = SharedCount(open_session(), zk_path)
    front.call(lambda: other.set(1))
    assert eventually(lambda: values(told) == [1])
    expire_session(zk_hosts, session)
    front.call(lambda: other.set(2))
    assert eventually(lambda: values(told) == [1, 2])
    assert count.value == 2


def shows_what_it_reads(self: Any, found: Any) -> Any:
    """A twin: takes over whatever a server shows."""
    yield from Remember((self, "seen"), found)


def test_never_goes_back(front, follow, monkeypatch):
    """A server that lags, met in a new session, shows what was before: that is not taken over. (It
    is by a twin.)"""
    count, _ = follow()
    old = count.session.noted((count, "seen"))
    front.call(lambda: count.set(1))
    front.call(lambda: count.session.run(count._follow(old)))
    assert count.value == 1
    monkeypatch.setattr(Shared, "_follow", shows_what_it_reads)
    front.call(lambda: count.session.run(count._follow(old)))
    assert count.value == 0


def test_closed(front, open_session, zk_path, left_clean):
    """After the close nothing is told, no watch is left, and the last value is still shown."""
    session = open_session()
    count = SharedCount(session, zk_path)
    told: list[Any] = []
    count.add_listener(told.append)
    front.call(lambda: count.start())
    front.call(lambda: count.close())
    front.call(lambda: SharedCount(session, zk_path).set(3))
    assert (told, count.value) == ([], 0)
    left_clean(zk_path)


@pytest.mark.defect("K-17")
def test_a_listener_may_set(front, follow):
    """A listener that writes is told of that as well, and blocks nobody but itself; one that raises
    stops no other."""
    count, told = follow()
    actor = front.actor()

    def fail(versioned: Any) -> None:
        raise RuntimeError("a bad listener")

    def answer(versioned: Any) -> None:
        if versioned.value == 1:
            if front.name == "asyncio":
                actor.begin(lambda: count.set(2))  # it has to be awaited
            else:
                count.set(2)

    count.add_listener(fail)
    count.add_listener(answer)
    front.call(lambda: count.set(1))
    assert eventually(lambda: values(told) == [1, 2])
