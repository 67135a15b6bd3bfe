"""What notebooks need: servers, a small mode, and things that show themselves well.

    servers = notebook.servers()          those of ZKKIT_HOSTS, or three of our own
    notebook.scale(100, small=20)         100, or 20 if ZKKIT_SMALL is set

Everything shown has a form for every reader: a picture carries its alt text, a table is HTML and
aligned text. Sessions here run on threads: gevent loses its session in a kernel.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import os
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from zkkit.bench import machine
from zkkit.bench.compare import Plan, compare
from zkkit.bench.results import results
from zkkit.bench.witness import Witness, WitnessSilent, members
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import ZkkitError
from zkkit.show.table import table
from zkkit.show.wording import lies
from zkkit.steps import Script, Step, Together

__all__ = [
    "Annotated",
    "Folded",
    "Picture",
    "Servers",
    "Table",
    "measured",
    "played",
    "scale",
    "servers",
    "stated",
]

_WIDTH = 860  # pixels of a picture in a notebook
#: Code as JupyterLab shows it in cells; a long line is broken between words, not within one.
_CODE = (
    "margin: 0; padding: 0; font-family: monospace; font-size: 13px; line-height: 1.5; "
    "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; text-align: left"
)
_COLUMN = 7.8  # pixels that a character takes there
#: A note on code. The tint behind it is good on a light and on a dark page.
_NOTE = "font-family: sans-serif; font-style: italic; background-color: rgba(0, 114, 178, 0.14)"


def scale(full: int, *, small: int) -> int:
    """A number of contenders or buyers: `small` where ZKKIT_SMALL is set, as in CI."""
    return small if os.environ.get("ZKKIT_SMALL") else full


# --- servers ----------------------------------------------------------------------------


class Servers:
    """The servers a notebook works on."""

    def __init__(self, hosts: str, own: LocalEnsemble | None = None) -> None:
        self.hosts = hosts
        self._own = own

    def describe(self) -> dict[str, Any]:
        """What is known about them; of others' servers only what they tell themselves."""
        if self._own is not None:
            return self._own.describe()
        try:
            said = Witness(self.hosts).read().values()
        except WitnessSilent:
            said = {}.values()
        versions = {one.get("zk_version", "unknown").split("-")[0] for one in said}
        return {
            "backend": "running already",
            "size": len(members(self.hosts)),
            "zookeeper": " and ".join(sorted(versions)) or "unknown",
            "medium": os.environ.get("ZKKIT_MEDIUM", "unknown (they were there already)"),
        }

    def stop(self) -> None:
        """End our own servers; those of others are left alone."""
        if self._own is not None:
            self._own.stop()


def servers() -> Servers:
    """Those that ZKKIT_HOSTS names ("host:port,host:port"), or three of our own, in memory.

    Our own live until `stop()`, or as long as the kernel.
    """
    hosts = os.environ.get("ZKKIT_HOSTS")
    if hosts:
        return Servers(hosts)
    own = LocalEnsemble()
    own.start()
    return Servers(own.hosts, own)


def stated(there: Servers) -> Table:
    """The machine and the servers that the figures come from."""
    here, ensemble = machine.describe(), there.describe()
    facts = {
        "Python": f"{here['python']}, zkkit {here['zkkit']}, kazoo {here['kazoo']}",
        "cores": f"{here['cpu_count']} ({here['cpu_model']})",
        "servers": f"{ensemble['size']} x ZooKeeper {ensemble['zookeeper']}, {ensemble['backend']}",
        "data": lies(ensemble["medium"]),
        "mode": "small (ZKKIT_SMALL)" if os.environ.get("ZKKIT_SMALL") else "full",
    }
    return Table(("measured on", ""), list(facts.items()), left=2)


def measured(plan: Plan, there: Servers) -> dict[str, Any]:
    """Make the runs of a plan; gives what results.json would say."""
    started = datetime.now(UTC)
    outcome = compare(plan, there.hosts)
    return results(outcome, name="notebook", command="", started=started, ensemble=there.describe())


def played(script: Script[Any], answers: Mapping[str, object]) -> Table:
    """Run a script by answering its steps ourselves; shows what it asked for, and our answers.

    `answers` are what it is sent, each under the words to show.
    """
    rows: list[tuple[str, str]] = []
    step = next(script)
    for text, answer in answers.items():
        rows.append((_asked(step), text))
        try:
            step = script.send(answer)
        except StopIteration as ended:
            rows.append((f"(it ends, and gives {getattr(ended.value, 'path', ended.value)})", ""))
            break
    return Table(("the script asks", "we answer"), rows, left=2)


def _asked(step: Step[Any]) -> str:
    """The request in a few words; a flight of several, one after the other."""
    if isinstance(step, Together):
        return ", ".join(map(_asked, step.requests))
    watch = ", with a watch" if getattr(step, "watch", False) else ""
    return " ".join(filter(None, (type(step).__name__, getattr(step, "path", "")))) + watch


# --- things that show themselves --------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Rows under headers; the first `left` columns to the left, numbers to the right."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def __repr__(self) -> str:
        return table(self.headers, self.rows, left=self.left)

    def _repr_html_(self) -> str:
        head = "".join(self._cell("th", n, text) for n, text in enumerate(self.headers))
        body = "\n".join(
            f"<tr>{''.join(self._cell('td', n, text) for n, text in enumerate(row))}</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"

    def _cell(self, tag: str, number: int, text: str) -> str:
        side = "left" if number < self.left else "right"
        # A heading may take several lines, a number may not.
        keep = "; white-space: nowrap" if side == "right" and tag == "td" else ""
        style = f"text-align: {side}; padding: 0.3em{keep}"
        return f'<{tag} style="{style}">{escape(text)}</{tag}>'


@dataclass(frozen=True)
class Picture:
    """A PNG, what it says in a line, and folded below it all it says, in words."""

    png: bytes
    alt: str
    words: str = ""

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.alt, self.words)))

    def _ipython_display_(self) -> None:
        display = importlib.import_module("IPython.display").display
        data, metadata = self._repr_mimebundle_()
        data["image/png"] = base64.b64encode(self.png).decode("ascii")
        display(data, metadata=metadata, raw=True)
        if self.words:
            display(Folded(self.words))

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {"image/png": self.png, "text/plain": self.alt}
        return data, {"image/png": {"width": _WIDTH, "alt": self.alt}}


@dataclass(frozen=True)
class Folded:
    """A text of several lines, folded under a heading."""

    text: str
    heading: str = "The same in words"

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return (
            f"<details><summary>{escape(self.heading)}</summary>\n"
            f"<pre>{escape(self.text)}</pre></details>"
        )


class NoSuchLine(ZkkitError, ValueError):
    """A note is about a line that the source does not have (any more)."""


class Annotated:
    """The real source of a function, with a note above some of its lines.

    The notes are in a TOML file, in a section with the function's name, each under a piece of the
    line it is about. A note whose line is not there raises: a commentary cannot outlive the code
    it comments on.
    """

    def __init__(self, function: Callable[..., Any], notes: str | os.PathLike[str]) -> None:
        lines = textwrap.dedent(inspect.getsource(function)).rstrip().splitlines()
        sections = tomllib.loads(Path(notes).read_text(encoding="utf-8"))
        left: dict[str, str] = dict(sections[function.__qualname__])
        self.rows: list[tuple[str, str]] = []
        for line in lines:
            piece = next(iter(left), None)
            noted = piece is not None and piece in line
            self.rows.append((line, left.pop(piece) if piece is not None and noted else ""))
        if left:
            raise NoSuchLine(
                f"{function.__qualname__} has no line with {next(iter(left))!r}, in this order",
                hint="read its source again and mend the notes",
            )

    def __repr__(self) -> str:
        return "\n".join(f"{line}    # {note}" if note else line for line, note in self.rows)

    def _repr_html_(self) -> str:
        return "\n".join(_html(note, lines) for note, lines in self._pieces())

    def _pieces(self) -> Iterator[tuple[str, list[str]]]:
        """Each note, with the lines from the one it is about to the next one with a note."""
        note, lines = "", list[str]()
        for line, its_note in self.rows:
            if its_note and lines:
                yield note, lines
                lines = []
            note = its_note or (note if lines else "")
            lines.append(line)
        yield note, lines


def _html(note: str, lines: Sequence[str]) -> str:
    """Lines of code below their note. Above and not beside them: a narrow page has no room there,
    and one that drops all styles still has the note in its place."""
    code = f'<pre style="{_CODE}">{escape(chr(10).join(lines))}</pre>'
    if not note:
        return code
    indent = len(lines[0]) - len(lines[0].lstrip())
    place = f"{_CODE}; margin-left: {indent * _COLUMN:.0f}px"
    return f'<div style="{place}"><span style="{_NOTE}">{escape(note)}</span></div>\n{code}'
