"""Recordings in and out of files and pandas.

All three forms have the same columns, ``hook`` and the fields of Event, and carry the name and
version of that schema. A reader refuses a version it does not know rather than guess.

JSON lines: first ``{"schema": "zkkit.events", "version": 1, "fields": [...]}``, then one object
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
from zkkit.record.frames import Row

SCHEMA = "zkkit.events"
VERSION = 1
COLUMNS = ("hook", *Event._fields)

_NUMBERS = frozenset(name for name, kind in get_type_hints(Event).items() if kind is int)

_Path = str | os.PathLike[str]


class BadRecording(ZkkitError):
    """A file that is no recording, is damaged, or was written by another version."""


class MissingExtra(ZkkitError, ImportError):
    """An optional package is needed for this and cannot be imported."""


def to_pandas(rows: Iterable[Row]) -> Any:
    """The rows as a pandas DataFrame; its ``attrs`` carry the schema and version."""
    pandas = _need("pandas")
    frame = pandas.DataFrame(
        {
            name: pandas.Series(values, dtype="int64" if name in _NUMBERS else "object")
            for name, values in _columns(rows).items()
        }
    )
    frame.attrs = {"schema": SCHEMA, "version": VERSION}
    return frame


def to_parquet(rows: Iterable[Row], path: _Path) -> None:
    """Write the rows as a Parquet file."""
    arrow, parquet = _need("pyarrow"), _need("pyarrow.parquet")
    schema = arrow.schema(
        [(name, arrow.int64() if name in _NUMBERS else arrow.string()) for name in COLUMNS],
        metadata={"zkkit.schema": SCHEMA, "zkkit.version": str(VERSION)},
    )
    parquet.write_table(arrow.table(_columns(rows), schema=schema), os.fspath(path))


def read_parquet(path: _Path) -> list[Row]:
    """The rows of a file written by :func:`to_parquet`."""
    arrow, parquet = _need("pyarrow"), _need("pyarrow.parquet")
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
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    return list(zip(columns[0], map(Event, *columns[1:]), strict=True))


def to_jsonl(rows: Iterable[Row], path: _Path) -> None:
    """Write the rows as JSON lines."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        header = {"schema": SCHEMA, "version": VERSION, "fields": COLUMNS}
        file.write(json.dumps(header) + "\n")
        for hook, event in rows:
            file.write(json.dumps({"hook": hook, **event._asdict()}) + "\n")


def read_jsonl(path: _Path) -> list[Row]:
    """The rows of a file written by :func:`to_jsonl`."""
    with open(path, encoding="utf-8") as file:
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


def _check_version(path: _Path, schema: object, version: object) -> None:
    if schema != SCHEMA:
        raise BadRecording(
            f"{os.fspath(path)} is no zkkit recording: its schema is {schema!r}, not {SCHEMA!r}"
        )
    if version != VERSION:
        raise BadRecording(
            f"{os.fspath(path)} has version {version!r} of {SCHEMA}; "
            f"this zkkit reads version {VERSION}",
            hint="read it with the zkkit that wrote it",
        )


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    appends = [column.append for column in columns.values()]
    for hook, event in rows:
        for append, value in zip(appends, (hook, *event), strict=True):
            append(value)
    return columns


def _need(module: str) -> Any:
    """An optional package, imported only when it is used."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"cannot import {module}: {error}", hint="pip install 'zkkit[lab]'"
        ) from error
