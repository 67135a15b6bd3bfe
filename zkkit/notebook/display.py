"""Things that show themselves in a notebook: tables, pictures, folded text, annotated source."""

from __future__ import annotations

import base64
import importlib
import inspect
import os
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from zkkit.errors import ZkkitError
from zkkit.show.table import table

_WIDTH = 860  # pixels of a picture in a notebook
#: Code as JupyterLab shows it in cells; a long line is broken between words, not within one.
_CODE = (
    "margin: 0; padding: 0; font-family: monospace; font-size: 13px; line-height: 1.5; "
    "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; text-align: left"
)
_COLUMN = 7.8  # pixels that a character takes there
#: A note on code. The tint behind it is good on a light and on a dark page.
_NOTE = "font-family: sans-serif; font-style: italic; background-color: rgba(0, 114, 178, 0.14)"


@dataclass(frozen=True)
class RichTable:
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
class RichPicture:
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
        # Each note, with the lines from the one it is about to the next one with a note.
        pieces: list[tuple[str, list[str]]] = [("", [])]
        for line, note in self.rows:
            if note:
                pieces.append((note, []))
            pieces[-1][1].append(line)
        return "\n".join(_html(note, lines) for note, lines in pieces if lines)


def _html(note: str, lines: Sequence[str]) -> str:
    """Lines of code below their note. Above and not beside them: a narrow page has no room there,
    and one that drops all styles still has the note in its place."""
    code = f'<pre style="{_CODE}">{escape(chr(10).join(lines))}</pre>'
    if not note:
        return code
    indent = len(lines[0]) - len(lines[0].lstrip())
    place = f"{_CODE}; margin-left: {indent * _COLUMN:.0f}px"
    return f'<div style="{place}"><span style="{_NOTE}">{escape(note)}</span></div>\n{code}'
