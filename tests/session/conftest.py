"""Sessions for the tests of sessions: small, on real servers, closed afterwards."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import zkkit
from tests.support import ensembles
from tests.support.fixtures import nothing_new
from zkkit.ensemble import LocalEnsemble
from zkkit.testing import Proxy

Open = Callable[..., zkkit.Session]


@pytest.fixture(scope="session")
def zk_hosts(zk_ensemble: LocalEnsemble) -> str:
    """One server of the three: what one session has written, another one reads there at once."""
    return zk_ensemble.hosts.split(",")[0]


@pytest.fixture
def open_session(zk_connect: Open) -> Open:
    """`zkkit.connect` with a small timeout; whatever it opened is closed after the test."""
    return zk_connect


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
    return lambda path: ensembles.watchers(zk_ensemble, path)


@pytest.fixture
def no_thread_left() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """After the block no thread is there that was not there before it."""

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        before = set(threading.enumerate())
        yield
        nothing_new(before, 3.0)

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
