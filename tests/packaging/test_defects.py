"""Each known defect of kazoo and Curator (docs/peers.md) has a test that shows zkkit without it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

WITHOUT_A_MARK = {
    "K-14": "the asyncio front: the whole suite runs on it",
    "K-16": "containers, TTL, removeWatches: tests/session",
    "K-25": "types: tests/typing",
    "K-26": "closing a session: tests/session",
    "K-27": "the numbers of requests: tests/session",
}
"""Shown by tests that are about more than this one defect."""

TO_COME = {
    "K-11": "queues",
    "K-20": "the partitioner",
    "K-22": "persistent nodes",
    "C-11": "queues",
}
"""Of recipes that zkkit does not have yet."""


def ids_shown() -> set[str]:
    """The ids that some test bears."""
    bearing = re.compile(r"^@\S*defect\(.*$", re.MULTILINE)
    files = (ROOT / "tests").glob("*/test_*.py")
    marks = [mark for file in files for mark in bearing.findall(file.read_text("utf-8"))]
    return set(re.findall(r"[KC]-\d+", " ".join(marks)))


def test_every_defect_is_shown():
    """No id is missing, none is there in vain, and what is shown is no longer to come."""
    page = (ROOT / "docs" / "peers.md").read_text("utf-8")
    known = set(re.findall(r"^\| ([KC]-\d+) \|", page, re.MULTILINE))
    shown = ids_shown()
    assert shown.isdisjoint(WITHOUT_A_MARK) and shown.isdisjoint(TO_COME)
    assert shown | set(WITHOUT_A_MARK) | set(TO_COME) == known
