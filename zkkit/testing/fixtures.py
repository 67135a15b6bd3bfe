"""Pytest fixtures for tests against real servers.

In a conftest.py:

    pytest_plugins = ["zkkit.testing.fixtures"]
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.testing.proxy import Proxy


@pytest.fixture(scope="session")
def zk_ensemble() -> Iterator[LocalEnsemble]:
    """Three real servers, shared by all tests: a test that breaks one must mend it."""
    with LocalEnsemble() as ensemble:
        yield ensemble


@pytest.fixture(scope="session")
def zk_hosts(zk_ensemble: LocalEnsemble) -> str:
    """The connect string of the shared servers."""
    return zk_ensemble.hosts


@pytest.fixture
def zk_path() -> str:
    """A path that no other test uses. The node is not created."""
    return f"/t-{uuid.uuid4().hex}"


@pytest.fixture
def zk_proxy(zk_hosts: str) -> Iterator[Proxy]:
    """A proxy before the shared servers, for this test alone."""
    with Proxy(zk_hosts) as proxy:
        yield proxy


@pytest.fixture
def zk_connect(zk_hosts: str) -> Iterator[Callable[..., zkkit.Session]]:
    """`zk_connect()` opens a session on the shared servers, as `zkkit.connect` does, but with a
    timeout of 5 s; `zk_connect(zk_proxy.hosts)` goes through the proxy. All are closed after the
    test."""
    opened: list[zkkit.Session] = []

    def connect(hosts: str = zk_hosts, **options: Any) -> zkkit.Session:
        opened.append(zkkit.connect(hosts, **{"timeout": 5.0, **options}))
        return opened[-1]

    yield connect
    for session in reversed(opened):
        session.close()
