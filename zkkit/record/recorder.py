"""The recorder: an instrument that keeps everything it is told.

A measurement must not change what it measures, so the common case is one ``list.append`` and a
length check, with no lock. Every 256 events the thread that filled the list packs them: `marshal`
turns them into some 70 bytes each, in which a string that many of them share stands once. (It is
the quickest way there is, and its bytes never leave this process.) The packs are small on purpose.
Packing 256 events takes some 30 microseconds; packing thousands at once would be cheaper by nothing
and show up as a slow handoff.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from zkkit.hooks import HOOK_NAMES, Event, Hook, Instrument
from zkkit.record import export, frames
from zkkit.record.counts import Row

_CHUNK = 256

_Kept = tuple[Any, ...]
"""The number of a hook, and the fields of Event."""


class Recorder(Instrument):
    """Keeps every event of every hook, in the order of recording::

        recorder = Recorder()
        session.hooks.add(recorder)
        ...
        recorder.count("woke", recipe="ReentrantLock")
        recorder.to_parquet("events.parquet")

    One recorder may serve many sessions and threads: no event is lost and each thread's events
    keep their order. Reading is allowed at any time and sees the events recorded so far.
    """

    def __init__(self) -> None:
        self._kept = _Storage()
        # Closures instead of methods: nothing to look up on the way to the append.
        for code, name in enumerate(HOOK_NAMES):
            setattr(self, name, self._kept.keeper(code))

    def __len__(self) -> int:
        return self._kept.length()

    def __bool__(self) -> bool:
        return True  # an empty recorder is still a recorder

    def __iter__(self) -> Iterator[Row]:
        """The rows ``(hook, event)`` recorded when the iteration begins."""
        chunks, pending = self._kept.snapshot()
        for chunk in (*map(marshal.loads, chunks), pending):
            for code, *fields in chunk:
                yield HOOK_NAMES[code], Event(*fields)

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


class _Storage:
    """The events, apart from Recorder so that its closures form no reference cycle: a dropped
    recording is freed at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[_Kept] = []  # appended to without the lock
        self._chunks: list[bytes] = []  # each of _CHUNK events

    def keeper(self, code: int) -> Hook:
        """A function that keeps an event of this hook."""
        pending, pack, hook = self._pending, self._pack, (code,)
        append: Callable[[_Kept], None] = pending.append

        def keep(event: Event) -> None:
            append(hook + event)
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
                self._chunks.append(_packed(self._pending[:_CHUNK]))
                del self._pending[:_CHUNK]
        finally:
            self._lock.release()

    def length(self) -> int:
        with self._lock:
            return len(self._chunks) * _CHUNK + len(self._pending)

    def snapshot(self) -> tuple[list[bytes], list[_Kept]]:
        """The chunks, and the events not packed yet."""
        with self._lock:
            return list(self._chunks), list(self._pending)


def _packed(rows: list[_Kept]) -> bytes:
    try:
        return marshal.dumps(rows)
    except ValueError:  # a path of a class of its own, a StrEnum say: what it says is what counts
        return marshal.dumps([tuple(map(_plain, row)) for row in rows])


def _plain(field: Any) -> Any:
    return str.__str__(field) if isinstance(field, str) else field
