"""Thousands of random changes while servers are killed, connections cut, replies lost, a client is
cut off and comes back, and sessions expire: in the end every cache of every kind has what the
servers have, and so says the sum of its events."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from tests.caches.kinds import ALL, Kind, Told, content, tree
from zkkit import TreeCache
from zkkit.errors import SessionLost, ZkkitError
from zkkit.steps import Create, Delete, Set, Together
from zkkit.testing import Loss, eventually, expire_session

pytestmark = pytest.mark.front("threads")


class Gardener:
    """Changes a tree at random: plants, waters, fells."""

    def __init__(self, session: Any, root: str, seed: int) -> None:
        self._session = session
        self._chance = random.Random(seed)
        self._places = [root]
        for branch in range(3):
            self._places.append(f"{root}/{branch}")
            for leaf in range(4):
                self._places.append(f"{root}/{branch}/{leaf}")
                self._places += [f"{root}/{branch}/{leaf}/{twig}" for twig in range(2)]
        self._places += [f"{root}/0" + "/0" * depth for depth in range(3, 6)]
        self._count = 0
        self.changes = 0

    def work(self, size: int = 25) -> None:
        """So many requests in one flight. Some are refused, some lost: those do not count."""
        ops = [self._op() for _ in range(size)]
        try:
            outcomes = self._session.run(Together(*ops, settle=True))
        except SessionLost:
            return
        self.changes += sum(not isinstance(each, ZkkitError) for each in outcomes)

    def _op(self) -> Any:
        self._count += 1
        place, data = self._chance.choice(self._places), b"%d" % self._count
        kind = self._chance.random()
        if kind < 0.45:
            return Create(place, data)
        return Delete(place) if kind < 0.65 else Set(place, data)


class Part:
    """A selector: the tree without whatever is below a node "1", and without the nodes "3"."""

    def traverses(self, path: str) -> bool:
        return not path.endswith("/1")

    def accepts(self, path: str) -> bool:
        return not path.endswith("/3")


def selected(below: str) -> bool:
    """Whether that selector lets a cache have this node."""
    *above, last = below.split("/")
    return "1" not in above and not {*above, last} & {"3"}


DEEP = [
    Kind("to-depth-2", partial(TreeCache, max_depth=2), lambda below: below.count("/") <= 2),
    Kind("selected", partial(TreeCache, selector=Part()), selected),
]
"""Caches of a part of the tree."""


class Weather:
    """Breaks something at each of these steps, and mends it some steps later."""

    def __init__(self, ensemble: Any, proxy: Any, sessions: list[Any]) -> None:
        self._ensemble, self._proxy, self._sessions = ensemble, proxy, sessions
        self._killed: list[int] = []
        self._struck = 0
        self._losses: list[Loss] = []

    def at(self, step: int) -> None:
        if step % 40 == 12:
            self._proxy.drop()
        elif step % 40 == 16:
            for op in ("get", "children"):
                self._losses.append(self._proxy.lose_reply(op))
        elif step % 40 == 33:
            self._proxy.freeze(replies_only=step % 80 == 33)
        elif step % 40 == 36:
            self._proxy.thaw()
        elif step % 40 == 20:
            self._proxy.cut()
        elif step % 40 == 24:
            self._proxy.mend()
        elif step % 40 == 30:
            self._kill(self._ensemble.nodes[step // 40 % 3])
        elif step % 40 == 38:
            self.clear()
        elif step % 40 == 5 and step > 40:
            self._struck += 1
            session = self._sessions[self._struck % len(self._sessions)]
            expire_session(self._ensemble.hosts, session)

    def _kill(self, node: int) -> None:
        self._ensemble.kill(node)
        self._killed.append(node)

    @property
    def lost(self) -> int:
        """How many replies were lost."""
        return sum(loss.wait(0) for loss in self._losses)

    def clear(self) -> None:
        while self._killed:
            self._ensemble.restart(self._killed.pop())
        self._proxy.mend()
        self._proxy.thaw()


def soak(
    kinds: list[Kind], ensemble: Any, proxy: Any, open_session: Any, root: str, steps: int
) -> tuple[list[tuple[Kind, Told]], int, int]:
    """Caches in a session that suffers and in one that does not, what they were told; how many
    changes there were, and lost replies."""
    sessions = [open_session(proxy.hosts, timeout=6.0), open_session(timeout=6.0)]
    gardener = Gardener(open_session(timeout=20.0), root, seed=12)
    listening = []
    for kind in kinds:
        for session in sessions:
            for path in (root, f"{root}/0"):
                listening.append((kind, Told(kind.make(session, path))))
                listening[-1][1].cache.start()
    weather = Weather(ensemble, proxy, sessions)
    try:
        for step in range(steps):
            weather.at(step)
            gardener.work()
    finally:
        weather.clear()
    return listening, gardener.changes, weather.lost


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_in_the_end_all_agree(open_session, zk_ensemble, zk_proxy, zk_path, witness):
    """Every kind of cache, twice, of the tree and of a branch."""
    kinds = [*ALL, *DEEP]
    listening, changes, lost = soak(kinds, zk_ensemble, zk_proxy, open_session, zk_path, 360)
    assert changes > 2000
    assert lost > 5
    there = {p: tree(witness, p) for p in (zk_path, f"{zk_path}/0")}
    for kind, told in listening:
        part = kind.part(there[told.cache.path], told.cache.path)
        eventually(
            lambda: content(told.cache) == part,  # noqa: B023
            60,
            otherwise=lambda: (kind, told.cache.path, content(told.cache), part),  # noqa: B023
        )
        eventually(told.adds_up)
    told_in_all = sum(len(told.changes) for _, told in listening)
    print(
        f"{changes} changes, {lost} replies lost, {told_in_all} events of {len(listening)} caches"
    )
    for _, told in listening:
        told.cache.close()
