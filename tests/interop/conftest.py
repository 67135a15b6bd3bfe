"""Actors of each side: zkkit, Java Curator in one JVM for all tests, kazoo."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.sides import KazooActor, PythonActor
from tests.support.ensembles import watchers
from zkkit.bench.peers.curator import CuratorPeer, JavaActor
from zkkit.bench.peers.curator_jars import CuratorMissing, find_curator
from zkkit.ensemble import LocalEnsemble
from zkkit.testing import eventually

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def peer(request: pytest.FixtureRequest) -> Iterator[CuratorPeer]:
    """The JVM. Without Curator the test is skipped, with the reason; in CI that is a failure."""
    try:
        find_curator()
    except CuratorMissing as error:
        if os.environ.get("ZKKIT_NEED_CURATOR"):
            raise
        pytest.skip(str(error))
    with CuratorPeer(request.getfixturevalue("zk_hosts")) as peer:
        yield peer


@pytest.fixture
def java(peer: CuratorPeer) -> Iterator[Callable[[], JavaActor]]:
    """`java()` is a new actor of Java's."""
    yield from _actors(lambda name: peer.actor(f"java-{name}"))


@pytest.fixture
def python(zk_hosts: str) -> Iterator[Callable[[], PythonActor]]:
    """`python()` is a new actor of ours."""
    yield from _actors(lambda name: PythonActor(zk_hosts, f"python-{name}"))


@pytest.fixture
def kazoo(zk_hosts: str) -> Iterator[Callable[[], KazooActor]]:
    """`kazoo()` is a new actor of kazoo's."""
    yield from _actors(lambda name: KazooActor(zk_hosts, f"kazoo-{name}"))


def _actors(make: Callable[[int], Any]) -> Iterator[Callable[[], Any]]:
    made: list[Any] = []

    def actor() -> Any:
        made.append(make(next(_numbers)))
        return made[-1]

    yield actor
    for each in made:
        each.close()


@pytest.fixture(params=["python, then java", "java, then python"])
def order(
    request: pytest.FixtureRequest,
    python: Callable[[], PythonActor],
    java: Callable[[], JavaActor],
) -> Callable[[], Any]:
    """`order()` is a new actor: of one language, then of the other, and so on."""
    both = (python, java) if request.param.startswith("python") else (java, python)
    turns = itertools.cycle(both)
    return lambda: next(turns)()


@pytest.fixture
def awaited(zk_ensemble: LocalEnsemble) -> Callable[[str], bool]:
    """Whether somebody comes to watch a node's data: who does has looked, and waits for it."""

    return lambda path: eventually(lambda: watchers(zk_ensemble, path) > 0)
