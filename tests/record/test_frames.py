"""The frames say what the counts say, with the types that pandas needs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from zkkit.hooks import Event
from zkkit.record import MissingExtra, Row, counts, frames


def at(t_ns: int, hook: str, actor: str, kind: str = "", duration: int = 0) -> Row:
    return hook, Event(t_ns, 2**62, actor, "Lock", f"/l/{actor}", kind, duration=duration)


ROWS = [
    at(0, "acquired", "a"),
    at(5, "released", "a"),
    at(6, "woke", "b", "deleted", 4),
    at(6, "woke", "c", "deleted", 3),
    at(8, "acquired", "b"),
    at(8, "wakeup_ended", "b", "useful", 2),
    at(9, "wakeup_ended", "c", "again", 3),
    at(9, "woke", "d", "child", 1),
]


def test_wakeups() -> None:
    frame = frames.wakeups(ROWS)
    assert list(frame.columns) == [*counts.Wakeup._fields, "useful"]
    assert list(frame["outcome"]) == ["useful", "again", "unknown"]
    assert list(frame["useful"]) == [True, False, False]
    assert list(frame["ended_ns"].fillna(-1)) == [8, 9, -1]
    assert frame.groupby("useful")["waited_ns"].sum().to_dict() == {True: 4, False: 4}
    assert (str(frame["session"].dtype), str(frame["ended_ns"].dtype)) == ("int64", "Int64")


def test_spans() -> None:
    frame = frames.spans(ROWS)
    assert list(frame.columns) == list(counts.Span._fields)
    assert list(frame["ended"]) == ["released", ""]
    assert list(frame["end_ns"].isna()) == [False, True]
    assert (frame["end_ns"] - frame["start_ns"])[0] == 5


def test_handoffs() -> None:
    frame = frames.handoffs(ROWS)
    assert frame.to_dict("records") == [handoff._asdict() for handoff in counts.handoffs(ROWS)]
    assert list(frame["ns"]) == [3]


@pytest.mark.parametrize("name", ["events", "wakeups", "spans", "handoffs"])
def test_no_rows_give_an_empty_frame_of_the_same_shape(name: str) -> None:
    make = getattr(frames, name)
    assert len(make([])) == 0
    assert list(make([]).dtypes) == list(make(ROWS).dtypes)
    assert list(make([]).columns) == list(make(ROWS).columns)


def test_a_table_of_anything() -> None:
    @dataclass(frozen=True)
    class Figure:
        design: str
        fires: int
        handoff_ms: float

    frame = frames.table(Figure, [Figure("herd", 10, 1.5), Figure("sequential", 4, 0.5)])
    assert list(frame["fires"]) == [10, 4]
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "int64", "float64"]


def test_counts_need_no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert len(counts.useful_wakeups(ROWS)) == 1
    with pytest.raises(MissingExtra, match="zkkit"):
        frames.wakeups(ROWS)
