"""A recording as pandas frames: what every picture of a recording is drawn from.

    events      one row for each event, as recorded
    wakeups     one row for each wakeup: who, why, and whether it was useful
    spans       one row for each hold, lead and stay: who, from when to when, how it ended
    handoffs    one row for each time a hold or lead went from one actor to another

All take rows: a Recorder, or what ``read_jsonl`` and ``read_parquet`` give. The last three are the
lists of `zkkit.record.counts` (which need no pandas), with the same names for the columns. Times
are nanoseconds of the recording's clock; a time outside the recording is ``<NA>``.

All raise MissingExtra if pandas is not installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_type_hints

from zkkit.hooks import Event
from zkkit.record import counts
from zkkit.record.counts import Handoff, Row, Span, Wakeup
from zkkit.record.export import SCHEMA, VERSION, need

_DTYPES: dict[Any, str] = {int: "int64", int | None: "Int64", float: "float64", bool: "bool"}


def events(rows: Iterable[Row]) -> Any:
    """The rows as a frame: column ``hook``, then the fields of Event. Its ``attrs`` carry the
    schema and version."""
    rows = list(rows)
    frame = table(Event, [event for _, event in rows])
    frame.insert(0, "hook", need("pandas").Series([hook for hook, _ in rows], dtype="object"))
    frame.attrs = {"schema": SCHEMA, "version": VERSION}
    return frame


def wakeups(rows: Iterable[Row]) -> Any:
    """The wakeups, each with its outcome; column ``useful`` says whether that is "useful"."""
    frame = table(Wakeup, counts.wakeups(rows))
    frame["useful"] = frame["outcome"] == "useful"
    return frame


def spans(rows: Iterable[Row]) -> Any:
    """The holds, leads and stays."""
    return table(Span, counts.spans(rows))


def handoffs(rows: Iterable[Row]) -> Any:
    """The handoffs."""
    return table(Handoff, counts.handoffs(rows))


def table(kind: type, records: Sequence[Any]) -> Any:
    """Records of one NamedTuple or dataclass as a frame, typed as the class says."""
    pandas = need("pandas")
    return pandas.DataFrame(
        {
            name: pandas.Series(
                [getattr(record, name) for record in records], dtype=_DTYPES.get(hint, "object")
            )
            for name, hint in get_type_hints(kind).items()
        }
    )
