"""The counters that tests run over: zkkit's, and kazoo's own."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from zkkit import AtomicLong


def long(value: int) -> bytes:
    """A number as Curator's long counters have it."""
    return struct.pack(">q", value)


class KazooCounter:
    """kazoo's Counter, as far as it can be called like one of ours."""

    def __init__(self, client: Any, path: str) -> None:
        self._counter = client.Counter(path)

    def increment(self) -> None:
        self._counter + 1

    def get(self) -> int:
        return int(self._counter.value)


WRITES = {AtomicLong: "multi", KazooCounter: "set"}
"""By which request each writes."""

kazoo_keeps = pytest.param(KazooCounter, id="kazoo.Counter", marks=pytest.mark.front("kazoo"))
"""kazoo's own Counter passes this test, too."""

kazoo_counts_twice = pytest.param(
    KazooCounter,
    id="kazoo.Counter",
    marks=[
        pytest.mark.front("kazoo"),
        pytest.mark.slow,
        pytest.mark.xfail(
            strict=True, reason="K-23 (no issue): a Counter counts twice", raises=AssertionError
        ),
    ],
)
