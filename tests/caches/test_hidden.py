"""What may not be read is not there, the root as well; and it is there when it may be read."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.security import OPEN_ACL_UNSAFE, make_acl

from tests.caches.kinds import ALL, CHILDREN, NODE, Told, content, over
from zkkit import ChildrenWatch, DataWatch, PersistentWatcher, SharedCount
from zkkit.testing import eventually

SECRET = [
    make_acl("world", "anyone", admin=True, write=True, create=True, delete=True)  # and not read
]


@over(*ALL)
def test_at_the_start(kind, open_session, started, witness, zk_path, agrees):
    """The cache is started and empty. Once the ACL allows it and something happens it follows."""
    witness.create(zk_path, b"1", makepath=True)
    witness.create(f"{zk_path}/x", b"1")
    witness.set_acls(zk_path, SECRET)
    told = Told(kind.make(open_session(), zk_path))
    cache = started(told.cache)
    eventually(lambda: cache.initialized)
    assert not content(cache) and cache.state == "started"
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    witness.set(zk_path, b"2")
    agrees(kind, cache)
    witness.create(f"{zk_path}/y", b"1")
    witness.set(f"{zk_path}/x", b"2")
    agrees(kind, cache)
    eventually(told.adds_up)


@over(NODE, CHILDREN)
def test_before_it_starts(kind, open_session, started, witness, zk_path, agrees):
    """What is read in `start` and by `rebuild` is hidden in the same way."""
    witness.create(zk_path, b"1", makepath=True)
    witness.set_acls(zk_path, SECRET)
    built = {"build_initial": True} if kind is NODE else {"start_mode": "build_initial"}
    cache = started(kind.make(open_session(), zk_path, **built))
    assert not content(cache)
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    witness.set(zk_path, b"2")
    agrees(kind, cache)


@pytest.mark.concurrent
@over(*ALL)
def test_for_a_while(kind, open_session, started, witness, zk_proxy, zk_path, agrees):
    """The root may not be read when everything is read again: it goes, and comes again."""
    witness.create(zk_path, b"1", makepath=True)
    witness.create(f"{zk_path}/x", b"1")
    told = Told(kind.make(open_session(zk_proxy.hosts, timeout=20.0), zk_path))
    cache = started(told.cache)
    agrees(kind, cache)
    zk_proxy.cut()
    witness.set_acls(zk_path, SECRET)
    zk_proxy.mend()
    eventually(lambda: zk_path not in cache and (kind is not CHILDREN or not content(cache)))
    eventually(told.adds_up)
    told.newest.clear()  # what comes again is as it was
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    witness.set(zk_path, b"2")
    agrees(kind, cache)
    witness.create(f"{zk_path}/y", b"1")
    agrees(kind, cache)
    eventually(told.adds_up)


@pytest.mark.parametrize("recipe", [DataWatch, ChildrenWatch])
def test_a_watch(front, recipe, open_session, witness, zk_path):
    """It tells that there is nothing, and goes on."""
    witness.create(zk_path, b"1", makepath=True)
    witness.set_acls(zk_path, SECRET)
    session, told = open_session(), []
    watch = recipe(session, zk_path)
    front.call(lambda: watch(lambda *given: told.append(given[0])))
    nothing: Any = None if recipe is DataWatch else ()
    eventually(lambda: told == [nothing])
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    if recipe is ChildrenWatch:
        witness.create(f"{zk_path}/x")
    witness.set(zk_path, b"2")
    eventually(lambda: told[1:] == [b"2" if recipe is DataWatch else ("x",)])
    front.call(lambda: watch.stop())


def test_a_value(front, open_session, started, witness, zk_proxy, zk_path):
    """A value that may not be read for a while is followed again."""
    witness.create(zk_path, b"\0\0\0\1", makepath=True)
    session = open_session(zk_proxy.hosts, timeout=20.0)
    count = started(SharedCount(session, zk_path))
    zk_proxy.cut()
    witness.set_acls(zk_path, SECRET)
    zk_proxy.mend()
    eventually(lambda: session.state == "connected")
    front.call(lambda: session.exists(zk_path))
    assert count.value == 1
    witness.set_acls(zk_path, OPEN_ACL_UNSAFE)
    witness.set(zk_path, b"\0\0\0\2")
    eventually(lambda: count.value == 2)


class WithoutPersistent(PersistentWatcher):
    """On servers that have no persistent watches."""

    def _live(self) -> Any:
        return self._live_by_one_shots()


@pytest.mark.parametrize("hidden", ["", "/x"])
def test_by_one_shot_watches(hidden, open_session, started, witness, zk_path):
    """A watcher goes on, whatever it may not read."""
    witness.create(zk_path, b"", makepath=True)
    witness.create(f"{zk_path}/x", b"")
    witness.set_acls(f"{zk_path}{hidden}", SECRET)
    watcher = WithoutPersistent(open_session(), zk_path, recursive=True)
    told: list[Any] = []
    watcher.add_listener(told.append)
    watcher.add_reset_listener(lambda: told.append("reset"))
    started(watcher)
    eventually(lambda: told == ["reset"])
    witness.set_acls(f"{zk_path}{hidden}", OPEN_ACL_UNSAFE)
    witness.set(zk_path, b"2")
    eventually(lambda: zk_path in [each.path for each in told[1:]])
