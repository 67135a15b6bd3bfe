"""Sessions for the tests of sessions: small, on real servers, closed afterwards."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.testing import Proxy

Open = Callable[..., zkkit.Session]


def _eventually(predicate: Callable[[], Any], timeout: float = 5.0) -> Any:
    deadline = time.monotonic() + timeout
    while not (value := predicate()):
        assert time.monotonic() < deadline, f"not so within {timeout:g} s: {predicate}"
        time.sleep(0.02)
    return value


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Ask until the answer is true, and give it; fail when the time is over."""
    return _eventually


@pytest.fixture(scope="session")
def zk_hosts(zk_ensemble: LocalEnsemble) -> str:
    """One server of the three: what one session has written, another one reads there at once."""
    return zk_ensemble.hosts.split(",")[0]


@pytest.fixture
def open_session(zk_hosts: str) -> Iterator[Open]:
    """`zkkit.connect` with a small timeout; whatever it opened is closed after the test."""
    opened: list[zkkit.Session] = []

    def connect(hosts: str = zk_hosts, **options: Any) -> zkkit.Session:
        options.setdefault("timeout", 5.0)
        opened.append(zkkit.connect(hosts, **options))
        return opened[-1]

    yield connect
    for session in reversed(opened):
        session.close()


@pytest.fixture
def session(open_session: Open) -> zkkit.Session:
    """A session straight to the servers."""
    return open_session()


@pytest.fixture
def other(open_session: Open) -> zkkit.Session:
    """Another session straight to the servers: somebody else."""
    return open_session()


@pytest.fixture
def through(open_session: Open, zk_proxy: Proxy) -> zkkit.Session:
    """A session whose connection leads through the proxy."""
    return open_session(zk_proxy.hosts)


@pytest.fixture
def beside() -> Callable[..., Future[Any]]:
    """Call a function on a thread of its own; gives a future of its result."""

    def start(function: Callable[..., Any], *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(function(*args, **options))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, name="beside", daemon=True).start()
        return future

    return start


@pytest.fixture
def watchers(zk_ensemble: LocalEnsemble) -> Callable[[str], int]:
    """How many sessions have a data watch on a path, by what the servers say."""

    def on_one(node: int, path: str) -> int:
        count, inside = 0, False
        for line in zk_ensemble.four_letter(node, "wchp").splitlines():
            if line.startswith("/"):
                inside = line == path
            elif inside and line.strip():
                count += 1
        return count

    return lambda path: sum(on_one(node, path) for node in zk_ensemble.nodes)


@pytest.fixture
def no_thread_left() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """After the block no thread is there that was not there before it."""

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        before = set(threading.enumerate())
        yield
        _eventually(lambda: set(threading.enumerate()) <= before, 3.0)

    return block


class Ear:
    """An instrument that hears how a session changes."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def session_changed(self, event: Any) -> None:
        self.states.append(event.kind)


@pytest.fixture
def ear() -> Ear:
    """Hears the states a session goes through."""
    return Ear()
