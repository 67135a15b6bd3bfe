"""Handoffs and overtakings where some read: pure, so tested without servers."""

from __future__ import annotations

from zkkit.bench.gate.reading import handoffs, overtakings
from zkkit.hooks import Event
from zkkit.record import Row

READERS = ("r1", "r2")


def at(t_ns: int, hook: str, actor: str) -> Row:
    return hook, Event(t_ns, 7, actor, "lock", path=f"/lock/{actor}")


ROWS = [
    at(0, "acquired", "gate"),
    at(10, "released", "gate"),
    at(13, "acquired", "w"),
    at(20, "released", "w"),
    at(25, "acquired", "r2"),
    at(26, "acquired", "r1"),
    at(30, "released", "r1"),
    at(90, "released", "r2"),
]


def test_the_last_writer_hands_over_to_each_reader() -> None:
    """A reader's handoff begins with the writer's release, not with that of another reader."""
    assert handoffs(ROWS, READERS) == [3, 6, 5]


def test_readers_do_not_overtake_each_other() -> None:
    """Who is let in together may come in any order; a writer that comes first has overtaken."""
    assert overtakings(ROWS, ["w", "r1", "r2"], READERS) == 0
    assert overtakings(ROWS, ["r1", "r2", "w"], READERS) == 2


def test_without_readers_nothing_changes() -> None:
    """For an exclusive lock the figures are those of the recording."""
    assert handoffs(ROWS[:4], ()) == [3]
    assert overtakings(ROWS, ["w", "r1", "r2"], ()) == 1
