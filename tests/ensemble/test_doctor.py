"""`zkkit doctor` says what a machine lacks, and whether the main job can be done on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zkkit.cli import doctor, main

NEEDS = ["Python", "kazoo", "docker", "matplotlib", "pandas", "pyarrow", "jupyterlab", "locust"]
NEEDS += ["Java", "ZooKeeper", "Curator"]
NEEDS += ["engine", "compose", "image", "ports", "memory", "cores"]


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


def test_one_line_per_need(capsys: pytest.CaptureFixture[str]) -> None:
    """Every need has a line; a missing one has its cure; without an engine processes will do."""
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [line[9:21].strip() for line in lines if line[:7].strip() in ("ok", "missing", "poor")]
    assert found == NEEDS
    at = next(number for number, line in enumerate(lines) if "none.sock" in line)
    assert lines[at].startswith("missing  engine")
    assert "cure: start it (systemctl start docker" in lines[at + 1]
    assert lines[-1] == "zkkit compare can run; servers as processes."


def test_without_servers_of_any_kind_it_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With neither Java nor an engine the main job cannot be done: exit code 1, and the cures."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "apt-get install default-jre-headless" in said
    assert "cannot start servers" in said


def test_old_java_will_not_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Java that is too old for ZooKeeper is as good as none."""
    stub = tmp_path / "bin" / "java"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    stub.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    findings = {finding.need: finding for finding in doctor.examine()}
    assert findings["Java"].verdict == "missing"
    assert "older than 11" in findings["Java"].text
    assert doctor.judge(findings)[0] is False


def test_memory_is_not_called_a_part_of_something_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is free in /dev/shm may be more than what is available: neither is part of the other."""
    monkeypatch.setattr(doctor, "_available_mb", lambda: doctor._MEMORY_MB)
    text = next(finding for finding in doctor.examine() if finding.need == "memory").text
    assert text.startswith(f"{doctor._MEMORY_MB:,} MB available")
    assert "of it" not in text


def test_every_extra_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What notebooks, load tests and Parquet files need is told apart, with what brings it."""

    def none(name: str) -> str:
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", none)
    cures = {finding.need: finding.cure for finding in doctor.examine()}
    assert "zkkit[lab]" in cures["jupyterlab"] and "zkkit[lab]" in cures["pyarrow"]
    assert "zkkit[load]" in cures["locust"]
