"""What watches promise that call a function: it saw last what is there, nothing older than before,
and nothing twice in a row.

like        When nobody changed the tree any more, every process that lived on to the end saw the
            node (czxid, mzxid and data), and the names in the directory, as they were.
forward     No node was older (czxid, mzxid) than one that was seen before.
news        Whatever was seen was not what had been seen just before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from zkkit.check.chaos.history import ChaosHistory, NodeFacts, Tree, WatchName

DATA, CHILDREN = "data watch", "children watch"


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise of a watch, in a sentence."""
    paths: Mapping[str, str] = history.plan.get("watches", {})
    for name, seen in history.seen.items():
        for before, after in pairwise(seen):
            if before.what == after.what:
                yield f"{name} saw the same twice: {_shown(after.what)}"
        nodes = [each.what for each in seen if isinstance(each.what, NodeFacts)]
        for older, newer in pairwise(nodes):
            if newer[:2] < older[:2]:
                yield f"{name} went back: it saw {_shown(older)}, then {_shown(newer)}"
    for process in history.processes.values():
        for watch, path in paths.items() if process.rested and history.tree is not None else ():
            yield from _unlike(history, WatchName(process.name, watch), path, history.tree or {})


def doubts(history: ChaosHistory) -> Iterator[str]:
    """What keeps a run from showing anything about watches."""
    calm = history.phases.get("calm", 2**63)
    for watch in history.plan.get("watches", ()):
        fronts = {
            history.processes[name.process].front
            for name, seen in history.seen.items()
            if name.watch == watch and sum(each.at < calm for each in seen) > 1
        }
        for front in history.plan["fronts"]:
            if front not in fronts:
                yield f"no {watch} on {front} saw a change in the storm"


def _unlike(history: ChaosHistory, name: WatchName, path: str, tree: Tree) -> Iterator[str]:
    if history.processes[name.process].killed:
        return
    below = f"{path}/"
    names = tuple(sorted(each.removeprefix(below) for each in tree if each.startswith(below)))
    there = tree.get(path) if name.watch == DATA else names
    last = history.seen[name][-1].what if history.seen.get(name) else "nothing"
    if last != there:
        yield f"{name} saw {_shown(last)} at last, and at {path} there is {_shown(there)}"


def _shown(what: object) -> str:
    if isinstance(what, NodeFacts):
        return f"{what.czxid:#x}/{what.mzxid:#x} with {what.data!r}"
    if isinstance(what, tuple):
        return f"{len(what)} names"
    return "no node" if what is None else str(what)
