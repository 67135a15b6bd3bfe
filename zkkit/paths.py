"""Paths, protected names and sequence numbers: pure functions on strings.

A protected name starts with `_c_<guid>-`: after a lost reply its owner finds the node again
by that prefix. A sequential name ends in a number that the server appends: a signed 32-bit
counter of the parent that wraps, so numbers are compared as serial numbers (RFC 1982), never
as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .errors import InvalidPath

PROTECTED_PREFIX = "_c_"
_GUID_LENGTH = 36
_is_guid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_LONGEST_NUMBER = len("-2147483648")

_PART = r"(?!\.\.?(?:/|\Z))[ -.0-~\xa0-\ud7ff\uf900-\uffef]++"
"""Not a relative part, nor control characters, nor what Java sees as surrogates, private or
special."""
_is_valid = re.compile(rf"/|(?:/{_PART})++").fullmatch


def validate(path: str) -> str:
    """Return `path` if ZooKeeper would take it; else raise `InvalidPath` that says why."""
    if isinstance(path, str) and _is_valid(path):  # as cheap as can be: each request is asked
        return path
    raise InvalidPath(
        f"{path!r} is not a valid path: {_problem(path)}",
        path=path if isinstance(path, str) else None,
        hint="use an absolute path such as /app/lock",
    )


def _problem(path: str) -> str:
    """Why a path that is not valid is not."""
    if not isinstance(path, str):
        kind = type(path).__name__
        return f"it is {'an' if kind[0] in 'aeio' else 'a'} {kind}, not a string"
    if not path:
        return "it is empty"
    if not path.startswith("/"):
        return "it does not start with /"
    if path.endswith("/"):
        return "it ends with /"
    parts = path[1:].split("/")
    for part in parts:
        if not part:
            return "it has an empty part (//)"
        if part in (".", ".."):
            return f"relative parts ({part}) are not allowed"
    bad = next(char for part in parts for char in part if not _is_valid(f"/{char}-"))
    return f"it contains the character {bad!r}"


def join(parent: str, name: str) -> str:
    """The path of child `name` of `parent`."""
    return f"/{name}" if parent == "/" else f"{parent}/{name}"


def split(path: str) -> tuple[str, str]:
    """Parent and name of `path`."""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def levels(path: str) -> Iterator[str]:
    """All prefixes of `path` from the top down, itself included: /a, /a/b, /a/b/c."""
    end = 0
    while path != "/" and end != -1:
        end = path.find("/", end + 1)
        yield path if end == -1 else path[:end]


def protected(guid: str, name: str) -> str:
    """The protected form of `name`: `_c_<guid>-<name>`."""
    return f"{PROTECTED_PREFIX}{guid}-{name}"


def is_guid(name: str) -> bool:
    """Whether this is a guid and nothing else, as `Guid` gives it and as Java writes its own."""
    return _is_guid(name) is not None


def guid_of(name: str) -> str | None:
    """The guid of a protected name, or None for any other name."""
    start = len(PROTECTED_PREFIX)
    end = start + _GUID_LENGTH
    if name.startswith(PROTECTED_PREFIX) and name[end : end + 1] == "-":
        return name[start:end]
    return None


def sequence_of(name: str, prefix: str) -> int | None:
    """The sequence number after the last `prefix` in `name`, or None where there is none that a
    server could have written.

    After the counter has wrapped the server writes negative numbers (`lock--000000001`).
    """
    at = name.rfind(prefix)
    if at < 0:
        return None
    digits = name[at + len(prefix) :]
    if not digits.isdecimal() and not digits.removeprefix("-").isdecimal():
        return None
    if len(digits) > _LONGEST_NUMBER:
        return None
    number = int(digits)
    return number if -(2**31) <= number < 2**31 else None


def serial_distance(a: int, b: int) -> int:
    """How far `a` comes after `b`, as signed 32-bit serial numbers: negative means before."""
    return ((a - b + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000
