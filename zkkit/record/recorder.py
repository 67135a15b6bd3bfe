"""The recorder: an instrument that keeps everything it is told.

A measurement must not change what it measures, so the common case is one ``list.append`` and a
length check, with no lock. Every 256 events the thread that filled the list packs them into
columns: numbers as 64-bit integers, strings as 32-bit indexes into one table, some 60 bytes an
event. The packs are small on purpose. Packing 256 events takes about a fifth of a millisecond;
packing thousands at once would be cheaper by nothing and show up as a slow handoff.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, get_type_hints

from zkkit.hooks import HOOK_NAMES, Event, Hook, Instrument
from zkkit.record import export, frames
from zkkit.record.counts import Row

_CHUNK = 256

# struct packs a column twice as fast as array does, into an object half the size.
_NUMBERS = struct.Struct(f"{_CHUNK}q")
_INDEXES = struct.Struct(f"{_CHUNK}i")

_Chunk = tuple[bytes, ...]
"""The columns of _CHUNK events: hook numbers, then the fields of Event."""

_IS_TEXT = tuple(kind is str for kind in get_type_hints(Event).values())


class Recorder(Instrument):
    """Keeps every event of every hook, in the order of recording::

        recorder = Recorder()
        session.hooks.add(recorder)
        ...
        recorder.count("woke", recipe="ReentrantLock")
        recorder.to_parquet("events.parquet")

    One recorder may serve many sessions and threads: no event is lost and each thread's events
    keep their order. Reading is allowed at any time and sees the events recorded so far.
    Numbers must fit in 64 signed bits, as all of ZooKeeper's do.
    """

    def __init__(self) -> None:
        self._columns = _Columns()
        # Closures instead of methods: nothing to look up on the way to the append.
        for code, name in enumerate(HOOK_NAMES):
            setattr(self, name, self._columns.keeper(code))

    def __len__(self) -> int:
        return self._columns.length()

    def __bool__(self) -> bool:
        return True  # an empty recorder is still a recorder

    def __iter__(self) -> Iterator[Row]:
        """The rows ``(hook, event)`` recorded when the iteration begins."""
        chunks, pending, strings = self._columns.snapshot()
        text = strings.__getitem__
        for hooks, *columns in chunks:
            fields = (
                map(text, _INDEXES.unpack(column)) if is_text else _NUMBERS.unpack(column)
                for column, is_text in zip(columns, _IS_TEXT, strict=True)
            )
            yield from zip(map(HOOK_NAMES.__getitem__, hooks), map(Event, *fields), strict=True)
        for code, event in pending:
            yield HOOK_NAMES[code], event

    def count(self, hook: str | None = None, **fields: object) -> int:
        """How many events of that hook (or of all) have exactly these field values. Raises
        TypeError if there is no such hook or field."""
        if hook is not None and hook not in HOOK_NAMES:
            raise TypeError(f"no hook {hook!r}; the hooks are {', '.join(HOOK_NAMES)}")
        if unknown := fields.keys() - set(Event._fields):
            raise TypeError(f"no field {min(unknown)!r}; the fields are {', '.join(Event._fields)}")
        wanted = [(Event._fields.index(name), value) for name, value in fields.items()]
        return sum(
            (hook is None or name == hook) and all(event[i] == value for i, value in wanted)
            for name, event in self
        )

    def to_pandas(self) -> Any:
        """The recording as a pandas DataFrame: column ``hook``, then the fields of Event. See
        `zkkit.record.frames` for more than events.

        Raises MissingExtra if pandas is not installed.
        """
        return frames.events(self)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the recording as Parquet; :func:`zkkit.record.read_parquet` reads it back.

        Raises MissingExtra if pyarrow is not installed, OSError if the file cannot be written.
        """
        export.to_parquet(self, path)

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write the recording as JSON lines; :func:`zkkit.record.read_jsonl` reads it back. Raises
        OSError if the file cannot be written."""
        export.to_jsonl(self, path)


class _Table(dict[str, int]):
    """Numbers strings in the order they are first seen."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class _Columns:
    """The storage, apart from Recorder so that its closures form no reference cycle: a dropped
    recording is freed at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[tuple[int, Event]] = []  # appended to without the lock
        self._chunks: list[_Chunk] = []  # all of _CHUNK events
        self._table = _Table()

    def keeper(self, code: int) -> Hook:
        """A function that keeps an event of this hook."""
        pending, pack = self._pending, self._pack
        append: Callable[[tuple[int, Event]], None] = pending.append

        def keep(event: Event) -> None:
            append((code, event))
            if len(pending) >= _CHUNK:
                pack()

        return keep

    def _pack(self) -> None:
        # Whoever comes while another thread packs goes on; the next append tries again. One chunk
        # at a time, so that nobody pays for a backlog.
        if not self._lock.acquire(blocking=False):
            return
        try:
            # Others may append meanwhile, but only at the end: the front is ours.
            if len(self._pending) >= _CHUNK:
                self._chunks.append(self._packed(self._pending[:_CHUNK]))
                del self._pending[:_CHUNK]
        finally:
            self._lock.release()

    def _packed(self, rows: list[tuple[int, Event]]) -> _Chunk:
        codes, events = zip(*rows, strict=True)
        # itemgetter looks 256 strings up in one call, map(table.__getitem__, ...) in 256.
        columns = (
            _INDEXES.pack(*itemgetter(*column)(self._table)) if is_text else _NUMBERS.pack(*column)
            for column, is_text in zip(zip(*events, strict=True), _IS_TEXT, strict=True)
        )
        return (bytes(codes), *columns)

    def length(self) -> int:
        with self._lock:
            return len(self._chunks) * _CHUNK + len(self._pending)

    def snapshot(self) -> tuple[list[_Chunk], list[tuple[int, Event]], list[str]]:
        """The chunks, the events not packed yet, and the strings by number."""
        with self._lock:
            return list(self._chunks), list(self._pending), list(self._table)
