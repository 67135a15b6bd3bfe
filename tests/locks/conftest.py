"""The lock suite runs on every front: gevent in a process of its own (test_gevent.py starts it)."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from zkkit.ensemble import LocalEnsemble

sys.path.insert(0, str(Path(__file__).parent))
from fronts import FRONTS, Front, eventually
from kinds import DIRECTORIES

HERE = os.environ.get("ZKKIT_TEST_FRONTS", "threads,asyncio,kazoo").split(",")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "defect(id): shows zkkit without this known defect of kazoo (K-) or Curator (C-)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only for another front."""
    kept, dropped = [], []
    for item in items:
        only = item.get_closest_marker("front")
        on = getattr(item, "callspec", None) and item.callspec.params.get("front")
        # kazoo's own recipes run only where a test says so.
        here = on != "kazoo" if only is None else on in only.args
        # What knows no front drives real threads, or nothing: once is enough.
        here = here and (on is not None or "gevent" not in HERE)
        (kept if here else dropped).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


@pytest.fixture(params=HERE)
def front(request: pytest.FixtureRequest) -> Iterator[Front]:
    """The front to test; afterwards nothing of it may be left running."""
    before = set(threading.enumerate())
    front = FRONTS[request.param]()
    yield front
    front.end()
    assert eventually(lambda: not _new_threads(before), 10), _new_threads(before)


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
def open_session(front: Front, zk_hosts: str) -> Iterator[Callable[..., Any]]:
    """`open_session()`, as often as you like; all are closed in the end."""
    opened: list[Any] = []

    def open_one(hosts: str = zk_hosts, **options: Any) -> Any:
        opened.append(front.connect(hosts, **{"timeout": 6.0, **options}))
        return opened[-1]

    yield open_one
    for session in opened:
        front.close(session)


class Witness(KazooClient):
    """A plain kazoo client that sees what has been written by now: its server may lag."""

    def get(self, path: str, *rest: Any) -> Any:
        self.sync("/")
        return super().get(path, *rest)

    def exists(self, path: str, *rest: Any) -> Any:
        self.sync("/")
        return super().exists(path, *rest)

    def get_children(self, path: str, *rest: Any) -> Any:
        self.sync("/")
        return super().get_children(path, *rest)

    def get_acls(self, path: str) -> Any:
        self.sync("/")
        return super().get_acls(path)


@pytest.fixture
def witness(zk_hosts: str) -> Iterator[Witness]:
    """Looks at the nodes from outside."""
    if "gevent" in HERE:
        from kazoo.handlers.gevent import SequentialGeventHandler

        client = Witness(zk_hosts, handler=SequentialGeventHandler())
    else:
        client = Witness(zk_hosts)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def contenders(witness: KazooClient) -> Callable[[str], list[str]]:
    """The names of the contenders below a lock's path, as it sees them (`leases/_c_...`)."""

    def look(path: str) -> list[str]:
        try:
            names = witness.retry(witness.get_children, path)
        except NoNodeError:
            return []
        found = [name for name in names if name not in DIRECTORIES]
        for inner in DIRECTORIES & set(names):
            found += [f"{inner}/{name}" for name in look(f"{path}/{inner}")]
        return found

    return look


@pytest.fixture
def left_clean(
    zk_ensemble: LocalEnsemble, contenders: Callable[[str], list[str]]
) -> Callable[..., None]:
    """Says that nothing is left of a lock: no contender, no watch on any server."""

    def check(path: str, *, within: float = 15.0) -> None:
        assert eventually(lambda: not contenders(path), within), contenders(path)
        assert eventually(lambda: watches(zk_ensemble) == 0, within), [
            zk_ensemble.four_letter(node, "wchp") for node in zk_ensemble.nodes
        ]

    return check


def watches(ensemble: LocalEnsemble) -> int:
    """How many watches all servers together hold."""
    total = 0
    for node in ensemble.nodes:
        answer = ensemble.four_letter(node, "wchs")
        found = re.search(r"Total watches:(\d+)", answer)
        assert found, answer
        total += int(found[1])
    return total


class Moment:
    """An instrument that tells when so many events of a kind have happened."""

    def __init__(self, **counts: int) -> None:
        self._left = dict(counts)
        self._done = threading.Event()
        for name in counts:
            setattr(self, name, self._counter(name))

    def _counter(self, name: str) -> Callable[[Any], None]:
        def count(event: Any) -> None:
            self._left[name] -= 1
            if all(left <= 0 for left in self._left.values()):
                self._done.set()

        return count

    def wait(self, seconds: float = 20.0) -> bool:
        assert self._done.wait(seconds), self._left
        return True


@pytest.fixture
def when() -> Callable[..., Moment]:
    """`when(session, watch_set=2)` can be awaited: two watches were set from now on."""

    def watch(*sessions: Any, **counts: int) -> Moment:
        moment = Moment(**counts)
        for session in sessions:
            session.hooks.add(moment)
        return moment

    return watch


@pytest.fixture
def waits(front: Any, when: Any) -> Callable[..., Any]:
    """`waits(session, lock)`: somebody waits for a lock of this session; gives the job, which is in
    line by then."""

    def begin(session: Any, lock: Any) -> Any:
        queued = when(session, watch_set=1)
        job = front.actor().begin(lambda: lock.acquire())
        queued.wait()
        return job

    return begin


@pytest.fixture
def clock() -> Callable[[], float]:
    return time.monotonic
