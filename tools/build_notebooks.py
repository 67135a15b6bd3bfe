"""Build the notebooks: from the sources in notebooks/*.py to executed .ipynb files beside them.

    python tools/build_notebooks.py                  execute all, write the .ipynb files
    python tools/build_notebooks.py 01               only those whose name starts so
    python tools/build_notebooks.py --check          do the cells of each .ipynb equal its source?
    python tools/build_notebooks.py --small --out X  fewer contenders; write to X (what CI does)

The source is the truth; an .ipynb is a source with outputs. ZKKIT_HOSTS="host:port,..." makes the
notebooks use servers that run already; else each starts three of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jupytext  # type: ignore[import-untyped]
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "notebooks"
TIMEOUT = 300  # seconds for one cell

#: What must not be in an output: places on a disk, addresses of machines.
PLACES = re.compile(
    r"/(?:home|root|Users|tmp|var|work|opt|usr|mnt|dev/shm|private)/[\w.-]+"
    r"|\b(?!127\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
)


def sources(starts: Sequence[str] = ()) -> list[Path]:
    """The sources, in their order; with `starts` those whose names start with one of them."""
    found = sorted(HOME.glob("[0-9][0-9]-*.py"))
    return [path for path in found if not starts or path.name.startswith(tuple(starts))]


def cells(notebook: Any) -> list[tuple[str, str]]:
    """What is compared: the kind and the text of each cell."""
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def read(source: Path) -> Any:
    """A source as a notebook without outputs. Cell ids count up, so that builds can be compared."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number:02d}"
        cell.metadata = {}
    return notebook


def drift(source: Path) -> str:
    """How the committed notebook differs from its source; "" if it does not."""
    built = source.with_suffix(".ipynb")
    if not built.exists():
        return f"{built.name} is missing"
    committed = nbformat.read(built, as_version=4)  # type: ignore[no-untyped-call]
    want, have = cells(read(source)), cells(committed)
    if len(want) != len(have):
        return f"{built.name} has {len(have)} cells, its source {len(want)}"
    for number, (wanted, there) in enumerate(zip(want, have, strict=True), 1):
        if wanted != there:
            return f"cell {number} of {built.name} is not that of its source"
    return ""


def execute(source: Path, *, small: bool = False) -> Any:
    """The notebook with its outputs, made in a kernel of its own, by nobody at the keyboard."""
    notebook = read(source)
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "ZKKIT_GUESSES": str(Path(empty) / "guesses.json")}
        environment.pop("ZKKIT_SMALL", None)
        if small:
            environment["ZKKIT_SMALL"] = "1"
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
        )
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(HOME)}},
            extra_arguments=["--log-level=ERROR"],  # it is on loopback, and need not warn of it
        )
        client.execute(env=environment)
    return notebook


def faults(notebook: Any) -> Iterator[str]:
    """What an executed notebook must not have: unexecuted cells, errors, logs, places."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        if cell.execution_count is None:
            yield f"cell {number} was not executed"
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                yield f"cell {number} ends in an error or prints to stderr"
            for text in texts(output):
                if place := PLACES.search(text):
                    yield f"cell {number} shows a place: {place.group()}"
                if len(socket.gethostname()) > 3 and socket.gethostname() in text:
                    yield f"cell {number} shows the name of this machine"


def texts(output: Any) -> Iterator[str]:
    """All text of an output; pictures are no text, their alt texts are."""
    if "text" in output:
        yield output["text"]
    for kind, data in output.get("data", {}).items():
        if not kind.startswith("image/"):
            yield data if isinstance(data, str) else str(data)
    yield str(output.get("metadata", ""))


def build(source: Path, out: Path, *, small: bool) -> list[str]:
    """Execute one source and write the notebook; gives what is wrong with it."""
    started = time.monotonic()
    try:
        notebook = execute(source, small=small)
    except CellExecutionError as error:
        return [f"{source.name}: {error}"]
    found = [f"{source.name}: {fault}" for fault in faults(notebook)]
    if not found:
        out.mkdir(parents=True, exist_ok=True)
        target = out / source.with_suffix(".ipynb").name
        nbformat.write(notebook, target)  # type: ignore[no-untyped-call]
        print(f"{source.stem}: executed in {time.monotonic() - started:.0f} s")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: 0 all is well, 1 something is not."""
    parser = argparse.ArgumentParser(description="Build the notebooks, or check their cells.")
    parser.add_argument("starts", nargs="*", metavar="NAME", help="how a notebook's name starts")
    parser.add_argument("--check", action="store_true", help="compare the cells, execute nothing")
    parser.add_argument("--small", action="store_true", help="fewer contenders and buyers")
    parser.add_argument("--out", type=Path, default=HOME, help="where to write (default: beside)")
    args = parser.parse_args(arguments)
    if args.small and args.out == HOME:
        parser.error("--small is for trying out: say --out, the committed outputs are full ones")
    chosen = sources(args.starts)
    if not chosen:
        parser.error("no notebook has such a name")
    if args.check:
        wrong = [found for source in chosen if (found := drift(source))]
    else:
        wrong = [fault for source in chosen for fault in build(source, args.out, small=args.small)]
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong and args.check:
        print("To build them again: make notebooks", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
