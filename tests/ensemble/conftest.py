"""Servers for the tests of ensembles, on each backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ensembles import BACKENDS, need_engine
from zkkit.ensemble import DockerEnsemble, Ensemble, LocalEnsemble


@pytest.fixture(scope="session", params=BACKENDS)
def breakable(request: pytest.FixtureRequest) -> Iterator[Ensemble]:
    """Three servers that a test may break, if it mends them."""
    if request.param == "docker":
        need_engine()
    kind = DockerEnsemble if request.param == "docker" else LocalEnsemble
    with kind() as ensemble:
        yield ensemble


@pytest.fixture
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state directory of this test's own."""
    monkeypatch.setenv("ZKKIT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"
