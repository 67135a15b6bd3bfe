"""Typed values as plain data for JSON, and back.

Dataclasses and named tuples become objects with their fields. A class whose JSON looks different
has `as_data` and `from_data`; both are used here wherever a value of that class is met. Fields that
the JSON does not have keep their defaults, and names that the class does not have are ignored: a
result may say more in JSON than its type.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """A value as dicts, lists, texts and numbers."""
    if hasattr(value, "as_data"):
        return plain(value.as_data())
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        return plain_fields(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def typed(kind: Any, data: Any) -> Any:
    """A value of this type, from what `plain` gives for it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (only,) = (one for one in inner if one is not types.NoneType)  # X | None
        return None if data is None else typed(only, data)
    if origin is tuple:
        return tuple(typed(inner[0], item) for item in data)
    if origin is not None and issubclass(origin, Mapping):
        return {name: typed(inner[1], item) for name, item in data.items()}
    if hasattr(kind, "from_data"):
        return kind.from_data(data)
    if dataclasses.is_dataclass(origin or kind) or hasattr(kind, "_fields"):
        return with_fields(kind, data)
    return data


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass or a named tuple, each as plain data."""
    return {name: plain(getattr(value, name)) for name in _hints(type(value))}


def with_fields(kind: Any, data: Mapping[str, Any]) -> Any:
    """A dataclass or a named tuple with these fields."""
    return kind(**{n: typed(t, data[n]) for n, t in _hints(kind).items() if n in data})


def as_json(value: Any) -> str:
    """Readable, and without the NaN that JSON does not know."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _hints(kind: type) -> dict[str, Any]:
    """The fields of a dataclass or a named tuple, with their types. `kind` may say what the
    variables in them stand for: PeerTurn[LockRow]."""
    plain_kind = get_origin(kind) or kind
    variables = dict(zip(getattr(plain_kind, "__parameters__", ()), get_args(kind), strict=False))
    names = getattr(kind, "_fields", None) or [f.name for f in dataclasses.fields(plain_kind)]
    hints = get_type_hints(plain_kind)
    return {name: variables.get(hints[name], hints[name]) for name in names}
