"""Tables of figures: the same as aligned text, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from zkkit.show import page
from zkkit.show.table import table


class FigureTable(NamedTuple):
    """Column names and rows, with a heading, and notes on what the columns mean."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]


def as_text(tables: Iterable[FigureTable]) -> str:
    """All tables as aligned text."""
    return "\n\n".join(
        "\n".join((one.heading, "", table(one.head, one.rows), "", *one.notes)) for one in tables
    )


def as_markdown(tables: Iterable[FigureTable], facts: Mapping[str, str]) -> str:
    """All tables in Markdown, to be pasted, and what they were measured on."""
    parts = []
    for heading, head, rows, notes in tables:
        lines = [_line(head), _line(["---", *["---:"] * (len(head) - 1)]), *map(_line, rows)]
        parts.append("\n".join((f"**{heading}:** {' '.join(notes)}", "", *lines)))
    parts.append("\n".join(f"- {name}: {value}" for name, value in facts.items()))
    return "\n\n".join(parts) + "\n"


def as_html(tables: Iterable[FigureTable]) -> list[str]:
    """All tables as parts of a page."""
    parts: list[str] = []
    for heading, head, rows, notes in tables:
        parts += [f"<h2>{heading}</h2>", page.table(head, rows), page.small(notes)]
    return parts


def _line(cells: Sequence[str]) -> str:
    plain = (cell.replace("*", r"\*") for cell in cells)
    return f"| {' | '.join(plain)} |"
