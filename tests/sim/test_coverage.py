"""Every lock explored under every fault, and the document that lists it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zkkit.sim.coverage import CASTS, FAULTS, table

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


def documented() -> dict[str, str]:
    """The rows of the table in the document, by their first cell."""
    lines = DOCUMENT.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| lock: actors |"))
    rows = {}
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows[line.split("|")[1].strip()] = line
    return rows


def check(cast) -> None:
    """Its row in the document is what is found now, and nothing in it is broken or unknown.
    (Otherwise: python -m zkkit.sim.coverage, and put that there.)"""
    *_, row = table([cast])
    assert "broken" not in row and "unknown" not in row, row
    assert documented()[str(cast)] == row


@pytest.mark.parametrize("cast", [cast for cast in CASTS if cast.few], ids=str)
def test_two_actors(cast):
    """Two actors, every interleaving, at most one fault of each kind."""
    check(cast)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cast", [cast for cast in CASTS if not cast.few], ids=str)
def test_more(cast):
    """Three actors, and the locks that take more steps."""
    check(cast)


def test_the_document_lists_them_all():
    """No row too many, none missing."""
    assert list(documented())[2:] == [str(cast) for cast in CASTS]
    assert len(documented()["lock: actors"].split("|")) == len(FAULTS) + 3
