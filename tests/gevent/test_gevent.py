"""The lock suite on gevent, in a process that is patched from its first line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

LOCKS = Path(__file__).parent.parent / "locks"
PATCHED = (
    "from gevent import monkey; monkey.patch_all()\n"
    "import sys, pytest\n"
    "sys.exit(pytest.main(sys.argv[1:]))"
)


def run_suite(*more: str) -> subprocess.CompletedProcess[str]:
    """The lock suite in a patched process, on its own servers."""
    return subprocess.run(
        [sys.executable, "-c", PATCHED, str(LOCKS), "-q", "-p", "no:cacheprovider", *more],
        env={**os.environ, "ZKKIT_TEST_FRONTS": "gevent"},
        cwd=LOCKS.parent.parent,
        capture_output=True,
        text=True,
        timeout=450,
    )


@pytest.mark.timeout(480)
def test_the_lock_suite_passes_on_gevent(pytestconfig) -> None:
    """Every test of the lock suite that is not for another front passes on greenlets."""
    done = run_suite()
    print(done.stdout[-8000:], done.stderr[-4000:])
    assert done.returncode == 0
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) >= 200
