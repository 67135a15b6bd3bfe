"""The recorder keeps everything, in order, in little memory, and gives it back unchanged."""

from __future__ import annotations

import gc
import json
import sys
import threading
import tracemalloc
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zkkit.bench.recorder.cost import measure, table
from zkkit.hooks import HOOK_NAMES, Event, Hooks
from zkkit.record import BadRecording, MissingExtra, Recorder, Row, read_jsonl, read_parquet

INT64 = st.integers(-(2**63), 2**63 - 1)
EVENTS = st.builds(
    Event, INT64, INT64, st.text(), st.text(), st.text(), st.text(), INT64, st.text(), INT64
)
ROWS = st.lists(st.tuples(st.sampled_from(HOOK_NAMES), EVENTS), max_size=20)

Reader = Callable[[Path], list[Row]]
FORMATS = pytest.mark.parametrize(
    ("write", "read"),
    [(Recorder.to_jsonl, read_jsonl), (Recorder.to_parquet, read_parquet)],
    ids=["jsonl", "parquet"],
)


def recorded(rows: list[Row]) -> Recorder:
    hooks, recorder = Hooks(), Recorder()
    hooks.add(recorder)
    for hook, event in rows:
        hooks.emit(hook, event)
    return recorder


def some_rows(number: int) -> list[Row]:
    return [
        (HOOK_NAMES[i % 20], Event(i, -i, f"a{i % 7}", "Lock", f"/l/{i % 100}", "", i, "", 2 * i))
        for i in range(number)
    ]


def test_it_listens_to_every_hook() -> None:
    hooks = Hooks()
    hooks.add(Recorder())
    assert all(getattr(hooks, name) for name in HOOK_NAMES)


@pytest.mark.parametrize("number", [0, 1, 255, 256, 257, 1000])
def test_rows_come_back_in_order(number: int) -> None:
    rows = some_rows(number)
    recorder = recorded(rows)
    assert len(recorder) == number
    assert list(recorder) == rows


def test_extreme_values_survive_packing() -> None:
    row: Row = ("lost", Event(2**63 - 1, -(2**63), "ä", "", "/\U0001f512", "", -1, "\n", 0))
    assert list(recorded([row] * 300)) == [row] * 300


def test_an_empty_recorder_is_true() -> None:
    assert Recorder()


def test_a_reader_sees_what_was_recorded_when_it_began() -> None:
    recorder = recorded(some_rows(300))
    reading = iter(recorder)
    first = next(reading)
    recorder.step(Event(0, 0, "", ""))
    assert [first, *reading] == some_rows(300)
    assert len(recorder) == 301


def test_count() -> None:
    recorder = recorded(some_rows(1000))
    assert recorder.count() == 1000
    assert recorder.count("woke") == 50
    assert recorder.count(actor="a0", path="/l/0") == sum(
        i % 7 == 0 and i % 100 == 0 for i in range(1000)
    )
    assert recorder.count("node_created", t_ns=20) == 1
    assert recorder.count("node_deleted", t_ns=20) == 0
    with pytest.raises(TypeError, match="no hook 'wake'"):
        recorder.count("wake")
    with pytest.raises(TypeError, match="no field 'node'"):
        recorder.count("woke", node="/l")


@pytest.mark.concurrent
def test_many_threads_lose_nothing_and_keep_their_order() -> None:
    threads, each = 8, 20_000
    recorder = Recorder()
    start, done = threading.Barrier(threads + 1), threading.Event()
    lengths: list[int] = []

    def write(number: int) -> None:
        keep = (recorder.woke, recorder.step)
        start.wait()
        for i in range(each):
            keep[i & 1](Event(i, number, f"t{number}", "Lock", f"/l/{i % 100}", "", i, "", i))

    def read() -> None:
        start.wait()
        while not done.wait(0.01):
            lengths.append(len(recorder))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
    reader = threading.Thread(target=read)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # threads meet in the middle of things more often
    try:
        for thread in (*writers, reader):
            thread.start()
        for thread in writers:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        done.set()
    reader.join()

    assert lengths == sorted(lengths)
    assert len(recorder) == threads * each
    seen: dict[int, list[int]] = {number: [] for number in range(threads)}
    for hook, event in recorder:
        assert hook == ("woke", "step")[event.t_ns & 1]
        assert event.actor == f"t{event.session}"
        assert event.path == f"/l/{event.t_ns % 100}"
        seen[event.session].append(event.t_ns)
    assert all(order == list(range(each)) for order in seen.values())


def test_a_bad_event_costs_no_good_one() -> None:
    hooks, recorder = Hooks(), Recorder()
    hooks.add(recorder)
    rows = some_rows(300)
    for hook, event in rows[:200]:
        hooks.emit(hook, event)
    hooks.emit("step", Event(object(), 0, "", ""))  # type: ignore[arg-type]
    for hook, event in rows[200:]:
        hooks.emit(hook, event)
    assert not hooks.step, "found out and switched off when the chunk was packed"
    assert list(recorder)[:200] == rows[:200]


def test_a_path_of_a_class_of_its_own_is_kept_as_what_it_says() -> None:
    class Place(StrEnum):
        STOCK = "/shop/stock"

    hooks, recorder = Hooks(), Recorder()
    hooks.add(recorder)
    for number in range(300):
        hooks.emit("step", Event(number, 0, "", "", Place.STOCK))
    assert [(event.t_ns, event.path) for _, event in recorder] == [
        (number, "/shop/stock") for number in range(300)
    ]


def test_an_event_takes_little_memory() -> None:
    number = 100_000
    recorder = Recorder()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for i in range(number):
            path = f"/locks/orders/lock-{i % 100:010d}"  # a new string each time
            event = Event(10**15 + i, 2**60, "w", "Lock", path, "Get", 2**32 + i, "", 10**6 + i)
            recorder.step(event)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(recorder) == number
    assert (after - before) / number <= 150


def test_a_dropped_recording_is_freed_at_once() -> None:
    gc.disable()  # so no collector helps
    tracemalloc.start()
    try:
        recorded(some_rows(5000))  # fills the interpreter's own free lists
        before, _ = tracemalloc.get_traced_memory()
        recorded(some_rows(5000))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < 50_000


@FORMATS
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=ROWS)
def test_round_trip(
    tmp_path: Path, write: Callable[[Recorder, Path], None], read: Reader, rows: list[Row]
) -> None:
    file = tmp_path / "events"
    write(recorded(rows), file)
    assert read(file) == rows


@FORMATS
def test_round_trip_of_many(
    tmp_path: Path, write: Callable[[Recorder, Path], None], read: Reader
) -> None:
    rows = some_rows(3000)
    write(recorded(rows), tmp_path / "events")
    assert read(tmp_path / "events") == rows


@pytest.mark.parametrize("number", [0, 300])
def test_pandas(number: int) -> None:
    rows = some_rows(number)
    frame = recorded(rows).to_pandas()
    assert list(frame.columns) == ["hook", *Event._fields]
    assert [str(frame[name].dtype) for name in ("t_ns", "session", "zxid", "duration")] == [
        "int64"
    ] * 4
    assert frame.attrs == {"schema": "zkkit.events", "version": 2}
    assert list(frame.itertuples(index=False, name=None)) == [(hook, *e) for hook, e in rows]


@pytest.mark.parametrize("module", ["pandas", "pyarrow"])
def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"{module}(.|\n)*pip install 'zkkit\[lab\]'"):
        if module == "pandas":
            Recorder().to_pandas()
        else:
            Recorder().to_parquet(tmp_path / "events.parquet")


def test_jsonl_begins_with_a_header(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    recorded(some_rows(2)).to_jsonl(file)
    header, first, _ = map(json.loads, file.read_text().splitlines())
    assert (header["schema"], header["version"]) == ("zkkit.events", 2)
    assert list(first) == header["fields"] == ["hook", *Event._fields]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "zkkit.events", "version": 1}', "has version 1 .* reads version 2"),
        ('{"schema": "zkkit.events", "version": 3}', "has version 3 .* reads version 2"),
        ('{"schema": "zkkit.events"}', "has version None"),
        ('{"schema": "other", "version": 2}', "no zkkit recording: its schema is 'other'"),
        ("[]", "no zkkit recording"),
        ("", "no zkkit recording"),
        ("PAR1", "no zkkit recording"),
        ('{"schema": "zkkit.events", "version": 2}\n{"hook": "wo', "line 2 is no event"),
        ('{"schema": "zkkit.events", "version": 2}\n{"hook": "wake"}', "line 2 is no event"),
        ('{"schema": "zkkit.events", "version": 2}\n{"hook": "woke"}', "line 2 is no event"),
        ('{"schema": "zkkit.events", "version": 2}\n[]', "line 2 is no event"),
    ],
)
def test_jsonl_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(text)
    with pytest.raises(BadRecording, match=message):
        read_jsonl(file)


def test_jsonl_that_is_no_text(tmp_path: Path) -> None:
    """Wherever the damage is: far behind the first line, too."""
    file = tmp_path / "events.jsonl"
    recorded(some_rows(1000)).to_jsonl(file)
    file.write_bytes(file.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(BadRecording, match="line 1002 is no event"):
        read_jsonl(file)


def test_parquet_that_cannot_be_read(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    file = tmp_path / "events.parquet"
    recorded(some_rows(1)).to_parquet(file)
    written = parquet.read_table(file)
    assert written.schema.metadata[b"zkkit.version"] == b"2"
    for metadata, message in (
        ({"zkkit.schema": "zkkit.events", "zkkit.version": "1"}, "has version 1"),
        ({"zkkit.schema": "zkkit.events"}, "has version ''"),
        (None, "no zkkit recording"),
    ):
        parquet.write_table(pyarrow.table(written).replace_schema_metadata(metadata), file)
        with pytest.raises(BadRecording, match=message):
            read_parquet(file)
    parquet.write_table(written.drop_columns(["zxid"]), file)
    with pytest.raises(BadRecording, match="has no column zxid"):
        read_parquet(file)
    file.write_text("nonsense")
    with pytest.raises(BadRecording, match="no Parquet file"):
        read_parquet(file)


def test_the_cost_is_measured() -> None:
    cost = measure(events=5_000)
    assert 0 < cost.bytes_per_event < 150
    assert 0 < cost.ns_per_event < 100_000, "any machine at all"
    assert f"{cost.ns_per_event:,.0f} ns" in table(cost)
