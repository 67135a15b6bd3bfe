"""Looks for what was left behind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Iterable

from zkkit import Session
from zkkit.chaos.diary import Diary
from zkkit.chaos.scene import DIRECTORIES, LEDGER, ROOT
from zkkit.ensemble import Ensemble
from zkkit.errors import NoNode
from zkkit.retry import Deadline
from zkkit.steps import Children, Script, Sync

_LOOK = 0.1  # seconds between two looks
_SESSION = re.compile(r"0x[0-9a-f]{2,}")  # an empty set of sessions is 0x0


class Remains:
    """Writes down what it finds, and that it has looked."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    def look(
        self, where: str, what: str, patience: float, find: Callable[[], Iterable[str]]
    ) -> None:
        """Look until nothing is found. Whatever is found when time is up was left behind."""
        deadline = Deadline.after(patience, time.monotonic())
        while (found := list(find())) and not deadline.over(time.monotonic()):
            time.sleep(_LOOK)
        for name in found:
            self._diary.note("left", what=what, name=f"{name} ({where})")
        self._diary.note("looked", where=where)


def lock_nodes(session: Session) -> list[str]:
    """The nodes below our root that somebody's lock has made, and whose they are."""
    nodes = [node for node in session.run(_below(ROOT)) if node not in DIRECTORIES]
    stats = {node: session.exists(node) for node in nodes}
    return [f"{n} of session {stat.ephemeral_owner:#x}" for n, stat in stats.items() if stat]


def remove_all(session: Session) -> None:
    """Delete our root and all below it."""
    for node in reversed([ROOT, *session.run(_below(ROOT))]):
        try:
            session.delete(node)
        except NoNode:  # an empty container, which the server has removed
            continue


def sessions(ensemble: Ensemble, own: Container[int]) -> list[str]:
    """The sessions that the leader knows beside our own."""
    known = _SESSION.findall(ensemble.four_letter(ensemble.leader(), "dump"))
    return sorted({number for number in known if int(number, 16) not in own})


def _below(path: str) -> Script[list[str]]:
    """All nodes below a path, parents first."""
    yield from Sync(path)
    found: list[str] = []
    try:
        names = yield from Children(path)
    except NoNode:
        return found
    for name in names:
        node = f"{path}/{name}"
        found.append(node)
        if node != LEDGER:
            found += yield from _below(node)
    return found
