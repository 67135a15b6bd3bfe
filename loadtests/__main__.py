"""`make load`: the same as `zkkit bench load`, from a directory without zkkit's command.

    python -m loadtests
    python -m loadtests --users 100 --seconds 20 --hold-ms 2
    python -m loadtests -H 127.0.0.1:2181,127.0.0.1:2182

Exit codes: 0 no holds overlapped, 1 they did, 2 unknown, 130 interrupted.
"""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    sys.argv[1:1] = ["bench", "load"]
    runpy.run_module("zkkit", run_name="__main__", alter_sys=True)
