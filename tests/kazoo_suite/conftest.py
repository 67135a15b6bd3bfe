"""Puts zkkit's sessions and servers below kazoo's own tests."""

from __future__ import annotations

import sys
import threading
from collections.abc import Container, Iterator
from pathlib import Path
from types import ModuleType

import kazoo.client
import pytest

from tests.kazoo_suite.stand_ins import Cluster, SessionClients, SpecialEnsemble
from tests.support.fixtures import nothing_new
from zkkit.ensemble import LocalEnsemble

# The module of kazoo's own cluster wants packages that only this cluster needs. Ours needs none.
common = sys.modules["kazoo.testing.common"] = ModuleType("kazoo.testing.common")
common.ZookeeperCluster = Cluster

import kazoo.testing.harness  # noqa: E402

HERE = Path(__file__).parent

SPECIAL = {"TestSSLClient", "TestReadOnlyMode", "TestReconfig"}
"""The classes whose tests need servers with special settings."""


@pytest.hookimpl(tryfirst=True)  # before -m is heeded
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the table of the test module names."""
    left_out = [item for item in items if _name(item) in _deselected(item)]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _name(item: pytest.Item) -> str:
    owner = item.getparent(pytest.Class)
    return f"{owner.name}.{item.name}" if owner else item.name


def _deselected(item: pytest.Item) -> Container[str]:
    module = item.getparent(pytest.Module)
    return getattr(module.obj, "DESELECTED", ()) if module and item.path.parent == HERE else ()


@pytest.fixture(scope="session")
def ordinary_cluster(zk_ensemble: LocalEnsemble) -> Cluster:
    """Our servers, as kazoo's tests know theirs."""
    return Cluster(zk_ensemble)


@pytest.fixture(scope="session")
def special_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Other servers, with TLS, a read-only mode and reconfiguring."""
    with SpecialEnsemble(tmp_path_factory.mktemp("tls")) as ensemble:
        yield Cluster(ensemble)


@pytest.fixture(autouse=True, scope="class")
def cluster(request: pytest.FixtureRequest) -> Iterator[None]:
    """The cluster of kazoo's harness is ours."""
    special = getattr(request.cls, "__name__", None) in SPECIAL
    servers = request.getfixturevalue("special_cluster" if special else "ordinary_cluster")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kazoo.testing.harness, "get_global_cluster", lambda: servers)
        yield


@pytest.fixture(autouse=True)
def clients(cluster: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionClients]:
    """Whatever client a test makes, it is the `kazoo` of a session; in the end nothing of it is
    left running."""
    before = set(threading.enumerate())
    made = SessionClients()
    for module in (kazoo.client, kazoo.testing.harness):
        monkeypatch.setattr(module, "KazooClient", made)
    yield made
    made.close()
    nothing_new(before, 10)
