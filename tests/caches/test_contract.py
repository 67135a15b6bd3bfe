"""What every cache holds to, on every front."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from tests.caches.kinds import (
    ALL,
    CACHE,
    CHILDREN,
    NODE,
    ONE_OF_EACH,
    SINGLE,
    TREE,
    Told,
    content,
    kazoo_breaks,
    kazoo_keeps,
    over,
)
from zkkit.errors import AlreadyStarted
from zkkit.testing import eventually, expire_session


def changes(witness: Any, path: str) -> None:
    """Nodes come, change and go; one of them goes and comes again."""
    witness.create(f"{path}/a", b"1", makepath=True)
    witness.create(f"{path}/a/b", b"1")
    witness.set(path, b"1")
    witness.create(f"{path}/c", b"1")
    witness.set(f"{path}/a", b"2")
    witness.delete(f"{path}/a/b")
    witness.delete(f"{path}/c")
    witness.create(f"{path}/c", b"1")


@pytest.mark.concurrent
@over(*ALL, kazoo_keeps)
def test_it_follows(kind, open_session, started, witness, zk_path, agrees):
    """Whatever happens, in the end it has what is there; what was there at first as well."""
    witness.create(f"{zk_path}/old/one", b"0", makepath=True)
    cache = started(kind.make(open_session(), zk_path))
    agrees(kind, cache)
    changes(witness, zk_path)
    agrees(kind, cache)


@pytest.mark.concurrent
@over(*ALL)
def test_events_add_up(kind, open_session, started, witness, zk_path, agrees):
    """Each follows from those before it, and finds the content as it says."""
    witness.create(f"{zk_path}/old/one", b"0", makepath=True)
    told = Told(kind.make(open_session(), zk_path))
    cache = started(told.cache)
    changes(witness, zk_path)
    agrees(kind, cache)
    witness.delete(zk_path, recursive=True)
    eventually(lambda: len(cache) == 0)
    witness.ensure_path(f"{zk_path}/new")
    agrees(kind, cache)
    eventually(told.adds_up)
    assert len(told.threads) == 1


@over(*ALL, kazoo_breaks("kazoo's TreeCache makes sure of its root"))
def test_it_creates_nothing(kind, open_session, started, witness, zk_path, agrees):
    """Neither its node nor the parents of that; when it comes it is seen."""
    path = f"{zk_path}/not/there"
    cache = started(kind.make(open_session(), path))
    if hasattr(cache, "initialized"):
        eventually(lambda: cache.initialized)
    assert witness.exists(zk_path) is None
    assert not list(cache)
    witness.create(f"{path}/x", b"1", makepath=True)
    agrees(kind, cache)


@over(*ALL)
def test_its_states(kind, front, open_session, witness, zk_path):
    """Latent, started, closed: it is started once, and empty when it is closed."""
    witness.ensure_path(f"{zk_path}/x")
    cache = kind.make(open_session(), zk_path)
    assert cache.state == "latent" and not cache.initialized and cache
    front.call(lambda: cache.start())
    assert cache.state == "started"
    with pytest.raises(AlreadyStarted):
        front.call(lambda: cache.start())
    eventually(lambda: len(cache) > 0)
    front.call(lambda: cache.close())
    assert cache.state == "closed" and len(cache) == 0 and not list(cache)
    with pytest.raises(AlreadyStarted, match="closed already"):
        front.call(lambda: cache.start())


@over(*ALL)
def test_kept_on_close(kind, front, open_session, witness, zk_path, left_clean):
    """If that is wanted the content stays; watches do not."""
    witness.ensure_path(f"{zk_path}/x")
    cache = kind.make(open_session(), zk_path, clear_on_close=False)
    front.call(lambda: cache.start())
    eventually(lambda: cache.initialized)
    kept = content(cache)
    front.call(lambda: cache.close())
    assert kept and content(cache) == kept
    witness.delete(zk_path, recursive=True)
    left_clean(zk_path)
    assert content(cache) == kept


@over(*ALL)
def test_a_listener_that_raises(kind, open_session, started, witness, zk_path, caplog, agrees):
    """It is logged; the others are told all the same, and the cache goes on."""
    cache = kind.make(open_session(), zk_path)

    def fails(event: Any) -> None:
        raise RuntimeError("the listener fails")

    cache.add_listener(fails)
    told = Told(cache)
    with caplog.at_level(logging.ERROR, "zkkit.recipes"):
        started(cache)
        witness.create(f"{zk_path}/x", b"1", makepath=True)
        agrees(kind, cache)
        witness.set(zk_path, b"2")
        witness.set(f"{zk_path}/x", b"2")
        eventually(lambda: "changed" in dict(told.changes))
    assert "the listener fails" in caplog.text
    eventually(told.adds_up)


@pytest.mark.concurrent
@pytest.mark.defect("C-10")
@over(*ALL)
def test_made_anew_behind_its_back(
    kind, front, open_session, started, witness, zk_proxy, zk_path, agrees
):
    """Deleted and created again while it was cut off, with the same version and the same data: told
    as deleted and created."""
    below = "/x" if kind is not NODE and kind is not SINGLE else ""
    path = f"{zk_path}{below}"
    witness.create(path, b"1", makepath=True)
    told = Told(kind.make(open_session(zk_proxy.hosts, timeout=10.0), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized and told.changes and told.adds_up())
    del told.events[:]
    zk_proxy.cut()
    witness.delete(path)
    witness.create(path, b"1")
    zk_proxy.mend()
    agrees(kind, cache)
    expected = [("deleted", below), ("created", below)]
    eventually(lambda: [each for each in told.changes if each[1] == below] == expected)
    eventually(told.adds_up)


@pytest.mark.concurrent
@over(*ALL)
def test_a_lost_session(kind, open_session, started, witness, zk_hosts, zk_path, agrees):
    """Its ephemeral nodes are gone, and told as deleted; it goes on in the next session."""
    witness.ensure_path(zk_path)
    told = Told(kind.make(session := open_session(timeout=4.0), zk_path))
    cache = started(told.cache)
    kazoo = session.kazoo
    kazoo.create(f"{zk_path}/mine", b"", ephemeral=True)
    agrees(kind, cache)
    expire_session(zk_hosts, session)
    eventually(lambda: witness.exists(f"{zk_path}/mine") is None)
    witness.set(zk_path, b"2")
    witness.create(f"{zk_path}/next", b"1")
    agrees(kind, cache)
    eventually(told.adds_up)
    if kind.covers("/mine"):
        assert ("deleted", "/mine") in told.changes
    if kind in (TREE, CHILDREN):
        # It may have come back for a moment before it was told.
        eventually(lambda: "reconnected" in after_lost(told))
        eventually(lambda: ("initialized" in after_lost(told)) == (kind is TREE))
    else:
        assert [name for name, _ in told.short].count("initialized") == 1


def after_lost(told: Told) -> list[str]:
    """What was told since the session was lost."""
    kinds = [name for name, _ in told.short]
    return kinds[kinds.index("lost") :] if "lost" in kinds else []


@over(*ONE_OF_EACH)
def test_it_ends_with_its_session(kind, front, open_session, witness, zk_path, left_clean):
    """The content stays as it was; nothing else is left."""
    witness.ensure_path(f"{zk_path}/x")
    session = open_session()
    cache = kind.make(session, zk_path)
    front.call(lambda: cache.start())
    eventually(lambda: cache.initialized)
    assert cache.state == "started"
    front.close(session)
    witness.delete(zk_path, recursive=True)
    left_clean(zk_path)
    assert cache.state == "closed" and len(cache) == 2
    front.call(lambda: cache.close())
    assert cache.state == "closed" and len(cache) == 2


@pytest.mark.front("threads")
@over(*ALL)
def test_a_listener_may_close_it(kind, open_session, witness, zk_path, left_clean):
    """It is called while the background script waits for it, and closes that very script."""
    witness.create(f"{zk_path}/x", b"", makepath=True)
    cache = kind.make(open_session(), zk_path)
    seen: list[Any] = []

    def close(event: Any) -> None:
        cache.close()
        seen.append((len(cache), cache.state))

    cache.add_listener(close)
    cache.start()
    eventually(lambda: seen)
    assert seen[0] == (0, "closed")
    witness.delete(zk_path, recursive=True)
    left_clean(zk_path)


@pytest.mark.front("threads")
@over(*ONE_OF_EACH)
def test_read_by_many(kind, open_session, started, witness, zk_path):
    """Any thread may read while it changes."""
    witness.ensure_path(zk_path)
    cache = started(kind.make(open_session(), zk_path))
    over_now, failed = threading.Event(), []

    def read() -> None:
        try:
            while not over_now.wait(0.001):  # it leaves the others some of the interpreter
                for node in cache:
                    cache.get(node.path), cache.children(), len(cache), node.path in cache
        except Exception as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        witness.create(f"{zk_path}/{number}", b"")
        witness.set(zk_path, b"%d" % number)
        if number >= 10:
            witness.delete(f"{zk_path}/{number - 10}")
    over_now.set()
    for reader in readers:
        reader.join(10)
    assert not failed


def test_beside_each_other(front, open_session, started, witness, zk_path, agrees):
    """All kinds on one path in one session: they share watches, and each has all it should."""
    session = open_session()
    caches = [(kind, started(kind.make(session, zk_path))) for kind in ALL]
    changes(witness, zk_path)
    for kind, cache in caches:
        agrees(kind, cache)
    (first, cache), *rest = caches
    assert first is CACHE
    front.call(lambda: cache.close())
    witness.create(f"{zk_path}/late", b"1")
    witness.set(zk_path, b"late")
    for kind, cache in rest:
        agrees(kind, cache)
