"""Every lock explored under every fault, and the document that lists it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zkkit.sim.coverage import CASTS, FAULTS, WHOLE, table

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


def documented() -> dict[str, str]:
    """The rows of the tables in the document, by their first cell."""
    rows, inside = {}, False
    for line in DOCUMENT.read_text().splitlines():
        inside = line.startswith("| lock: actors |") or (inside and line.startswith("|"))
        if inside:
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


@pytest.mark.slow
@pytest.mark.parametrize("cast", WHOLE, ids=str)
def test_without_bounds(cast):
    """Every interleaving of what is bounded otherwise, here without a fault only: with every fault
    it takes half an hour (python -m zkkit.sim.coverage whole)."""
    verdict = cast.under("")
    assert verdict.holds, verdict
    assert documented()[str(cast)].split("|")[2].strip() == f"{verdict.states:,}"


def test_the_document_lists_them_all():
    """No row too many, none missing, and nothing in them is broken or unknown."""
    rows = documented()
    assert list(rows)[2:] == [str(cast) for cast in (*CASTS, *WHOLE)]
    assert {len(row.split("|")) for row in rows.values()} == {len(FAULTS) + 3}
    assert not any("broken" in row or "unknown" in row for row in rows.values())
