"""Looks for what was left behind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Iterable

from zkkit import Session
from zkkit.chaos.diary import Diary
from zkkit.chaos.scene import DIRECTORIES, GATES, LEDGER, RECEIPTS, ROOT, TREE
from zkkit.ensemble import Ensemble
from zkkit.errors import NoNode
from zkkit.retry import Deadline
from zkkit.steps import Children, Script, Sync

_LOOK = 0.1  # seconds between two looks
_SESSION = re.compile(r"0x[0-9a-f]{2,}")  # an empty set of sessions is 0x0


def look(
    diary: Diary, where: str, what: str, patience: float, find: Callable[[], Iterable[object]]
) -> None:
    """Look until nothing is found. Whatever is found when time is up was left behind; that is
    written down, and that somebody has looked."""
    deadline = Deadline.after(patience, time.monotonic())
    while (found := list(find())) and not deadline.over(time.monotonic()):
        time.sleep(_LOOK)
    for name in found:
        diary.note("left", what=what, name=f"{name} ({where})")
    diary.note("looked", where=where)


def lock_nodes(session: Session) -> list[str]:
    """The nodes below our root that somebody's lock has made, and whose they are."""
    nodes = [node for node in session.run(_below(ROOT)) if node not in DIRECTORIES]
    stats = {node: session.exists(node) for node in nodes}
    return [f"{n} of session {stat.ephemeral_owner:#x}" for n, stat in stats.items() if stat]


def receipts(session: Session) -> list[str]:
    """The receipts of counting sessions that are still there."""
    return [node for path in RECEIPTS for node in session.run(_below(path))]


def sessions(ensemble: Ensemble, ours: Container[int]) -> list[str]:
    """The sessions that the leader knows beside our own."""
    known = _SESSION.findall(ensemble.four_letter(ensemble.leader(), "dump"))
    return sorted({number for number in known if int(number, 16) not in ours})


def _below(path: str) -> Script[list[str]]:
    """All nodes below a path that are somebody's, parents first."""
    yield from Sync(path)
    found: list[str] = []
    try:
        names = yield from Children(path)
    except NoNode:
        return found
    for name in names:
        node = f"{path}/{name}"
        found.append(node)
        if node not in (LEDGER, *RECEIPTS, TREE, GATES):
            found += yield from _below(node)
    return found
