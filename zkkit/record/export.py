"""Recordings in and out of files.

Both kinds of files have the same columns, ``hook`` and the fields of Event, and carry the name and
version of that schema. A reader refuses a version it does not know rather than guess. Version 2
says what came of each wakeup; in version 1 that was never written down.

JSON lines: first ``{"schema": "zkkit.events", "version": 2, "fields": [...]}``, then one object
per event. Parquet: the same two values in the file's metadata, as ``zkkit.schema`` and
``zkkit.version``.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable
from typing import Any, get_type_hints

from zkkit.errors import ZkkitError
from zkkit.hooks import HOOK_NAMES, Event
from zkkit.record.counts import Row

SCHEMA = "zkkit.events"
VERSION = 2
COLUMNS = ("hook", *Event._fields)

_NUMBERS = frozenset(name for name, kind in get_type_hints(Event).items() if kind is int)

_Path = str | os.PathLike[str]


class BadRecording(ZkkitError):
    """A file that is no recording, is damaged, or was written by another version."""


class MissingExtra(ZkkitError, ImportError):
    """An optional package is needed for this and cannot be imported."""


def to_parquet(rows: Iterable[Row], path: _Path) -> None:
    """Write the rows as a Parquet file.

    Raises MissingExtra if pyarrow is not installed, OSError if the file cannot be written.
    """
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    schema = arrow.schema(
        [(name, arrow.int64() if name in _NUMBERS else arrow.string()) for name in COLUMNS],
        metadata={"zkkit.schema": SCHEMA, "zkkit.version": str(VERSION)},
    )
    table = arrow.Table.from_pylist([_fields(row) for row in rows], schema=schema)
    parquet.write_table(table, os.fspath(path))


def read_parquet(path: _Path) -> list[Row]:
    """The rows of a file written by :func:`to_parquet`.

    Raises:
        BadRecording: it is no Parquet file, no recording, or of another version.
        MissingExtra: pyarrow is not installed.
        OSError: it cannot be read, or is damaged inside.
    """
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    try:
        table = parquet.read_table(os.fspath(path))
    except arrow.ArrowInvalid as error:
        raise BadRecording(f"{os.fspath(path)} is no Parquet file: {error}") from error
    metadata = table.schema.metadata or {}
    version = metadata.get(b"zkkit.version", b"").decode()
    _check_version(
        path,
        metadata.get(b"zkkit.schema", b"").decode(),
        int(version) if version.isdecimal() else version,
    )
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise BadRecording(f"{os.fspath(path)} has no column {missing[0]}: record again")
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    return list(zip(columns[0], map(Event, *columns[1:]), strict=True))


def to_jsonl(rows: Iterable[Row], path: _Path) -> None:
    """Write the rows as JSON lines. Raises OSError if the file cannot be written."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        header = {"schema": SCHEMA, "version": VERSION, "fields": COLUMNS}
        file.write(json.dumps(header) + "\n")
        for row in rows:
            file.write(json.dumps(_fields(row)) + "\n")


def read_jsonl(path: _Path) -> list[Row]:
    """The rows of a file written by :func:`to_jsonl`.

    Raises BadRecording if it is no recording, has a line that is no event, or is of another
    version; OSError if it cannot be read.
    """
    with open(path, "rb") as file:  # bytes: a line that is no text is no event either
        try:
            header = json.loads(file.readline())
        except ValueError:
            header = None
        if not isinstance(header, dict):
            header = {}
        _check_version(path, header.get("schema"), header.get("version"))
        rows = []
        for number, line in enumerate(file, start=2):
            try:
                fields = json.loads(line)
                hook = HOOK_NAMES[HOOK_NAMES.index(fields.pop("hook"))]
                rows.append((hook, Event(**fields)))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise BadRecording(
                    f"{os.fspath(path)}, line {number} is no event: {error}",
                    hint="the file may be cut off or edited; record again",
                ) from error
    return rows


def _fields(row: Row) -> dict[str, Any]:
    hook, event = row
    return {"hook": hook, **event._asdict()}


def _check_version(path: _Path, schema: object, version: object) -> None:
    if schema != SCHEMA:
        raise BadRecording(
            f"{os.fspath(path)} is no zkkit recording: its schema is {schema!r}, not {SCHEMA!r}"
        )
    if version != VERSION:
        raise BadRecording(
            f"{os.fspath(path)} has version {version!r} of {SCHEMA}; "
            f"this zkkit reads version {VERSION}",
            hint="record again, or read it with the zkkit that wrote it",
        )


def need(module: str, missing: type[ZkkitError] = MissingExtra, so: str = "") -> Any:
    """Import an optional package, only when it is used; if it is not there, raise `missing` with a
    message that says `so` first."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(
            f"{so}cannot import {module}: {error}", hint="pip install 'zkkit[lab]'"
        ) from error
