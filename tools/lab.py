"""Open JupyterLab on working copies of the notebooks, with three servers that run as long as it.

    python tools/lab.py [options of `jupyter lab`]

It listens on loopback only, wants its token, and asks nobody for news or updates. The notebooks
find the servers by ZKKIT_HOSTS; if that is set already, those servers are used.

JupyterLab sees the directory lab/ and nothing else of this repository, and git does not see lab/.
So whatever a learner runs or writes, `git pull` meets nothing that was changed:

    lab/notebooks/    the notebooks, and what they read: the learner's own from now on
    lab/zkkit/ ...    the files that the notebooks link to, and those beside them: to be read

A copy that was not touched is renewed when the original has changed; one that was stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zkkit.ensemble import LocalEnsemble

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "notebooks"
ROOM = ROOT / "lab"
GIVEN = ".given.json"  # what we put into the room: by name, the digests of original and copy
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")  # a relative link in Markdown


# --- the room ---------------------------------------------------------------------------


def furnish(room: Path) -> list[str]:
    """Put the notebooks, and what they link to, into the room; gives what the learner must know."""
    (room / HOME.name).mkdir(parents=True, exist_ok=True)
    given = _given(room)
    told = []
    for original in _originals():
        copy = room / HOME.name / original.name
        fresh = _prepared(original)
        known, now = given.get(original.name, {}), _digest(original.read_bytes())
        if not copy.exists() or _digest(copy.read_bytes()) == known.get("copy"):
            copy.write_bytes(fresh)
            given[original.name] = {"original": now, "copy": _digest(fresh)}
        elif now != known.get("original"):
            told.append(
                f"{HOME.name}/{original.name} has changed since your copy of it was made, and so "
                f"has your copy. Yours stays: {copy}. To get the new one, rename yours."
            )
    for folder in sorted({linked.parent for linked in _linked()}):
        _lay_out(folder, room / folder.relative_to(ROOT))
    (room / GIVEN).write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    return told


def first() -> str:
    """The notebook to begin with, as JupyterLab names it."""
    return f"{HOME.name}/{min(HOME.glob('*.ipynb')).name}"


def _originals() -> list[Path]:
    return sorted([*HOME.glob("*.ipynb"), *HOME.glob("*.toml")])


def _given(room: Path) -> dict[str, dict[str, str]]:
    try:
        found: dict[str, dict[str, str]] = json.loads((room / GIVEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _prepared(original: Path) -> bytes:
    """The file as it is put into the room. A notebook is told which kernel it is going to have:
    JupyterLab would write that into it on opening, and call it changed."""
    data = original.read_bytes()
    if original.suffix != ".ipynb":
        return data
    notebook = json.loads(data)
    notebook["metadata"] |= _kernel()
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _kernel() -> dict[str, Any]:
    """What JupyterLab writes about the kernel into a notebook's metadata."""
    from ipykernel.ipkernel import IPythonKernel
    from jupyter_client.kernelspec import KernelSpecManager

    name = "python3"
    spec = KernelSpecManager().get_kernel_spec(name)
    return {
        "kernelspec": {
            "display_name": spec.display_name,
            "language": spec.language,
            "name": name,
        },
        "language_info": IPythonKernel.language_info,
    }


def _linked() -> Iterator[Path]:
    """The files of this repository that the notebooks link to."""
    for notebook in HOME.glob("*.ipynb"):
        for cell in json.loads(notebook.read_bytes())["cells"]:
            if cell["cell_type"] == "markdown":
                for target in LINK.findall("".join(cell["source"])):
                    yield (HOME / target).resolve(strict=True)


def _lay_out(folder: Path, place: Path) -> None:
    """Copies of a folder's files, to be read: who changes one changes nothing, so it is refused."""
    place.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if file.is_file():
            copy = place / file.name
            copy.unlink(missing_ok=True)
            shutil.copyfile(file, copy)
            copy.chmod(0o444)


# --- JupyterLab -------------------------------------------------------------------------


def command(options: Sequence[str], room: Path = ROOM) -> list[str]:
    """The command that starts JupyterLab."""
    words = [
        *(sys.executable, "-m", "jupyterlab"),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={room}",
        f"--LabApp.default_url=/lab/tree/{quote(first())}",
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
    for line in furnish(ROOM):
        print(line, flush=True)
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
