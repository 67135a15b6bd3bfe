"""Servers for tests: on which backends, and what they say about watches."""

from __future__ import annotations

import os
import re

import pytest

from zkkit.ensemble import Ensemble, EnsembleError, engine
from zkkit.testing import eventually

#: Both backends; the second only where an engine answers.
BACKENDS = ["local", pytest.param("docker", marks=pytest.mark.docker)]


_TOTAL = re.compile(r"Total watches:(\d+)")


def need_engine() -> None:
    """Skip the test, with the reason, if no engine or image is there; in CI that is a failure."""
    try:
        client = engine.connect()
        engine.compose()
        engine.image(client)
    except EnsembleError as error:
        if os.environ.get("ZKKIT_NEED_DOCKER"):
            raise
        pytest.skip(error.message)


def traces(project: str) -> list[str]:
    """The containers, networks and volumes an engine has of a project."""
    client = engine.connect()
    wanted = {"label": f"com.docker.compose.project={project}"}
    containers = client.containers.list(all=True, ignore_removed=True, filters=wanted)
    others = client.networks.list(filters=wanted) + client.volumes.list(filters=wanted)
    return [each.name for each in containers + others]


def _once_it_serves(ensemble: Ensemble, node: int, word: str) -> str:
    """What a node says about its watches. One that has just come back from a pause, or is electing,
    serves nobody for a moment, and says that instead."""

    def answers() -> tuple[str] | None:
        said = ensemble.four_letter(node, word)
        return None if "not currently serving" in said else (said,)

    answered = eventually(answers, otherwise=lambda: f"node {node} serves nobody")
    assert answered is not None
    return answered[0]


def watches(ensemble: Ensemble) -> int:
    """How many watches all servers together hold."""
    return sum(
        int(_TOTAL.findall(_once_it_serves(ensemble, node, "wchs"))[0]) for node in ensemble.nodes
    )


def watchers(ensemble: Ensemble, path: str) -> int:
    """How many sessions have a data watch on a path, by what the servers say."""
    return sum(_watchers_at(ensemble, node, path) for node in ensemble.nodes)


def _watchers_at(ensemble: Ensemble, node: int, path: str) -> int:
    count, inside = 0, False
    for line in _once_it_serves(ensemble, node, "wchp").splitlines():
        if line.startswith("/"):
            inside = line == path
        elif inside and line.strip():
            count += 1
    return count
