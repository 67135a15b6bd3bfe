"""Fixtures for the tests of recipes, whatever their family.

A test that takes `front` runs on every front; on gevent in a process of its own, which tests/gevent
starts. A family whose recipes keep nodes in directories of their own below a path says which, by
overriding the fixture `directories` in its conftest.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.support.ensembles import watches
from tests.support.fronts import FRONTS, FrontUnderTest, Job
from zkkit import testing
from zkkit.ensemble import LocalEnsemble
from zkkit.testing import eventually

HERE = os.environ.get("ZKKIT_TEST_FRONTS", "threads,asyncio,kazoo").split(",")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only for another front."""
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        only = item.get_closest_marker("front")
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        on = parameters.get("front")
        # kazoo's own recipes run only where a test says so.
        here = on != "kazoo" if only is None else on in only.args
        # What knows no front drives real threads, or nothing: once is enough.
        here = here and (on is not None or "gevent" not in HERE)
        (kept if here else dropped).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


@pytest.fixture(params=HERE)
def front(request: pytest.FixtureRequest) -> Iterator[FrontUnderTest]:
    """The front to test; afterwards nothing of it may be left running."""
    before = set(threading.enumerate())
    front = FRONTS[request.param]()
    yield front
    front.end()
    nothing_new(before, 10)


def nothing_new(before: set[threading.Thread], seconds: float) -> None:
    """No thread is left, in time, that was not there before."""
    eventually(lambda: not _new_threads(before), seconds, otherwise=lambda: _new_threads(before))


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t not in before and _is_alive(t)]


def _is_alive(thread: threading.Thread) -> bool:
    """From Python 3.13 on, gevent's stand-in for a greenlet that has ended (whoever logs gets one)
    says so by an error."""
    try:
        return thread.is_alive()
    except RuntimeError:
        return False


@pytest.fixture
def open_session(front: FrontUnderTest, zk_hosts: str) -> Iterator[Callable[..., Any]]:
    """`open_session()`, as often as you like; all are closed in the end."""
    opened: list[Any] = []

    def open_one(hosts: str = zk_hosts, **options: Any) -> Any:
        opened.append(front.connect(hosts, **{"timeout": 6.0, **options}))
        return opened[-1]

    yield open_one
    for session in opened:
        front.close(session)


class SyncedWitness(KazooClient):  # type: ignore[misc]  # kazoo brings no types
    """A plain kazoo client that sees what has been written by now: its server may lag."""

    def get(self, path: str, *rest: Any) -> Any:
        self.sync("/")
        return super().get(path, *rest)

    def exists(self, path: str, *rest: Any) -> Any:
        self.sync("/")
        return super().exists(path, *rest)

    def get_children(self, path: str, *rest: Any) -> Any:
        """None also where the node itself is gone: a server removes empty containers."""
        self.sync("/")
        try:
            return super().get_children(path, *rest)
        except NoNodeError:
            return []

    def get_acls(self, path: str) -> Any:
        self.sync("/")
        return super().get_acls(path)


@pytest.fixture
def witness(zk_hosts: str) -> Iterator[SyncedWitness]:
    """Looks at the nodes from outside."""
    if "gevent" in HERE:
        from kazoo.handlers.gevent import SequentialGeventHandler

        client = SyncedWitness(zk_hosts, handler=SequentialGeventHandler())
    else:
        client = SyncedWitness(zk_hosts)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def directories() -> frozenset[str]:
    """Names below a recipe's path that are no contenders but directories of them."""
    return frozenset()


@pytest.fixture
def contenders(witness: SyncedWitness, directories: frozenset[str]) -> Callable[[str], list[str]]:
    """The names of the contenders below a recipe's path, as it sees them (`leases/_c_...`)."""

    def look(path: str) -> list[str]:
        names = witness.retry(witness.get_children, path)
        found = [name for name in names if name not in directories]
        for inner in directories & set(names):
            found += [f"{inner}/{name}" for name in look(f"{path}/{inner}")]
        return found

    return look


@pytest.fixture
def left_clean(
    zk_ensemble: LocalEnsemble, contenders: Callable[[str], list[str]]
) -> Callable[..., None]:
    """Says that nothing is left of a recipe: no contender, no watch on any server."""

    def check(path: str, *, within: float = 15.0) -> None:
        eventually(lambda: not contenders(path), within, otherwise=lambda: contenders(path))
        eventually(lambda: watches(zk_ensemble) == 0, within, otherwise=all_watches)

    def all_watches() -> list[str]:
        return [zk_ensemble.four_letter(node, "wchp") for node in zk_ensemble.nodes]

    return check


@pytest.fixture
def when() -> Callable[..., testing.Countdown]:
    """`when(session, watch_set=2)` can be awaited: two watches were set from now on."""
    return testing.when


@pytest.fixture
def waits(front: FrontUnderTest) -> Callable[[Any, Job], Future[Any]]:
    """`waits(session, job)`: somebody begins a job that has to wait, for example
    `lambda: lock.acquire()`; gives its future. It has set its watch by then."""

    def begin(session: Any, job: Job) -> Future[Any]:
        waiting = testing.when(session, watch_set=1)
        future = front.actor().begin(job)
        waiting.wait()
        return future

    return begin


@pytest.fixture
def clock() -> Callable[[], float]:
    """For tests that measure how long something took."""
    return time.monotonic
