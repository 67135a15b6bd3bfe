"""Finds something by the name that a user gives."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol, TypeVar

from ..errors import ZkkitError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


class NoSuchName(ZkkitError):
    """Nothing has this name."""


def by_name(things: Iterable[N], name: str, missing: str, command: str) -> N:
    """The one of this name, whatever its case. NoSuchName says what is `missing`, which one may be
    meant, and the `command` that lists them all."""
    names = {each.name.lower(): each for each in things}
    if name.lower() not in names:
        near = [each for each in names if name.lower() in each]
        near = near or difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"do you mean {names[near[0]].name}? " if near else ""
        raise NoSuchName(f"{missing} {name!r}", hint=f"{hint}`{command}` lists them all")
    return names[name.lower()]
