"""Open JupyterLab on the notebooks, with three servers that run for as long as it does.

    python tools/lab.py [options of `jupyter lab`]

It listens on loopback only, wants its token, and asks nobody for news or updates. The notebooks
find the servers by ZKKIT_HOSTS; if that is set already, those servers are used.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from zkkit.ensemble import LocalEnsemble

HOME = Path(__file__).resolve().parent.parent / "notebooks"


def command(options: Sequence[str]) -> list[str]:
    """The command that starts JupyterLab."""
    words = [
        *(sys.executable, "-m", "jupyterlab"),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={HOME}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")
    return [*words, *options]


def environment(hosts: str, medium: str | None) -> dict[str, str]:
    """What the server and its kernels know of us."""
    known = {**os.environ, "ZKKIT_HOSTS": hosts}
    if medium is not None:
        known["ZKKIT_MEDIUM"] = medium
    # Its labconfig/page_config.json switches the announcements off, question and all.
    paths = [str(HOME / ".jupyter"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    known["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    return known


def main(options: Sequence[str]) -> int:
    """Run it until it is stopped."""
    hosts = os.environ.get("ZKKIT_HOSTS")
    if hosts:
        return _lab(options, environment(hosts, None))
    print("Starting three ZooKeeper servers, their data in memory ...", flush=True)
    with LocalEnsemble() as ensemble:
        return _lab(options, environment(ensemble.hosts, ensemble.medium))


def _lab(options: Sequence[str], known: dict[str, str]) -> int:
    lab = subprocess.Popen(command(options), env=known)
    signal.signal(signal.SIGTERM, lambda number, frame: lab.terminate())
    while True:
        try:
            return lab.wait()
        except KeyboardInterrupt:
            continue  # JupyterLab asks by itself whether that was meant


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
