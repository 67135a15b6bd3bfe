"""Handoffs and overtakings where some of the actors read. Readers are let in together: none of
them hands over to another, and it does not matter which of them is in first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zkkit.record import Row, counts

_GRANTS = ("acquired", "released", "lost", "led", "unled")


def handoffs(rows: Iterable[Row], readers: Sequence[str]) -> list[int]:
    """How long each handoff took, as in `counts.handoffs`. The readers are those behind the last
    writer, who hands over to each of them."""
    grants = [row for row in rows if row[0] in _GRANTS]
    writing = [row for row in grants if row[1].actor not in readers]
    among_writers = counts.handoffs(writing)
    found = [handoff.ns for handoff in among_writers]
    for reader in readers:
        its_own = [row for row in grants if row[1].actor == reader]
        to_it = counts.handoffs([*writing, *its_own])[len(among_writers) :]
        found += [handoff.ns for handoff in to_it]
    return found


def overtakings(rows: Iterable[Row], order: Sequence[str], readers: Sequence[str]) -> int:
    """How often somebody was overtaken, as in `counts.overtakings`; but no reader overtakes
    another."""
    one = "readers"  # one name for all of them: who of them comes first cannot be told
    return counts.overtakings(
        [(h, e._replace(actor=one) if e.actor in readers else e) for h, e in rows],
        [one if actor in readers else actor for actor in order],
    )
