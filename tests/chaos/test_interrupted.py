"""Ctrl-C in `zkkit chaos`: an unknown verdict, with all that was written down, and nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import alive, descendants
from zkkit.testing import eventually


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["Starting", "1/"], ids=["while it starts", "in the storm"])
def test_ctrl_c_ends_all(tmp_path: Path, moment: str) -> None:
    """Interrupted when a line begins so: the exit code says unknown, no process and no directory of
    the servers and the clients is left, the report says why."""
    results, temporary = tmp_path / "results", tmp_path / "tmp"
    temporary.mkdir()
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "zkkit", "chaos", "--seconds", "60", "--fronts", "threads"),
            *("--results", str(results)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        assert process.stderr is not None and process.stdout is not None
        for line in process.stderr:
            if line.startswith(moment):
                break
        started = eventually(lambda: descendants(process.pid))
        process.send_signal(signal.SIGINT)
        said, rest = process.communicate(timeout=60)
        assert process.returncode == 2, rest
    assert "Traceback" not in rest
    assert "it was interrupted" in said
    eventually(lambda: not any(map(alive, started)), 10)
    assert list(temporary.iterdir()) == []
    document = json.loads((results / "chaos" / "latest" / "results.json").read_text())
    assert document["verdict"] == "unknown"
    assert document["broken"] == []
    assert "it was interrupted" in document["doubts"]
    if moment == "1/":
        assert document["figures"]["grants"] > 0
        assert not Path(document["ensemble"]["directory"]).exists()
