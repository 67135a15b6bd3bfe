"""What caches promise: to become what the servers have, and never to go back.

like        When nobody changed the tree any more, every cache of every process that lived on to
            the end became like the part of it that it follows: the same nodes, each with the same
            czxid, mzxid and data.
sum         The events that a cache told add up to what it held, and each follows from those
            before it: nothing is created twice, changed or deleted without being there.
forward     A cache never told of a node that was older (czxid, mzxid) than one that it had told
            of before, under the same path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from zkkit.check.chaos.history import CacheName, CacheTold, ChaosHistory, NodeFacts, Tree

CHANGES = CREATED, CHANGED, DELETED = "created", "changed", "deleted"
NEWS = (CHANGED, DELETED)
"""What only a cache that follows can tell: whatever it finds at first is created to it."""
CUT_OFF = ("suspended", "lost")
ALL, CHILDREN, NODE = "all", "children", "node"
"""What a cache of a path follows: the node and all below it, its children, or the node."""

N = TypeVar("N")


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise of a cache, in a sentence."""
    for name, told in history.told.items():
        held: Tree = {}
        yield from (f"{name} {wrong}" for wrong in _added_up(told, held))
        content = history.contents.get(name)
        if content is not None:
            yield from _differs(f"the sum of what {name} told", held, "what it held", content)
    if history.tree is not None:
        for cache, followed in history.plan.get("caches", {}).items():
            part = part_of(history.tree, *followed)
            for process in history.processes.values():
                if process.rested:
                    yield from _unlike(history, CacheName(process.name, cache), part)


def doubts(history: ChaosHistory) -> Iterator[str]:
    """What keeps a run from showing anything about caches."""
    caches: Mapping[str, Sequence[str]] = history.plan.get("caches", {})
    calm = history.phases.get("calm")
    if caches and history.tree is None:
        yield "nobody read the tree that caches follow"
    for cache in caches:
        changes = {
            history.processes[name.process].front
            for name, told in history.told.items()
            if name.cache == cache
            and any(each.kind in NEWS and (calm is None or each.at < calm) for each in told)
        }
        for front in history.plan["fronts"]:
            if front not in changes:
                yield f"no {cache} on {front} was told of a change in the storm"
    if caches and not any(each.kind in CUT_OFF for told in history.told.values() for each in told):
        yield "no cache was ever cut off"


def part_of(tree: Mapping[str, N], path: str, what: str) -> dict[str, N]:
    """The part of a tree that is followed by a cache of this path."""
    return {each: node for each, node in tree.items() if _follows(path, what, each)}


def _follows(path: str, what: str, node: str) -> bool:
    if what == CHILDREN:
        return node.rpartition("/")[0] == path
    return node == path or (what == ALL and node.startswith(f"{path}/"))


def _added_up(told: Sequence[CacheTold], held: Tree) -> Iterator[str]:
    """Add the events up in `held`; gives what is wrong with them."""
    last: dict[str, tuple[int, int]] = {}
    for each in told:
        if each.kind not in CHANGES:
            continue
        before = held.pop(each.path, None)
        if (before is None) != (each.kind == CREATED):
            there = "was not there" if before is None else "was there already"
            yield f"told that {each.path} was {each.kind}, which {there}"
        if each.node is None:
            continue
        age = (each.node.czxid, each.node.mzxid)
        if each.kind == CHANGED and before is not None and before.czxid != each.node.czxid:
            yield f"told that {each.path} was changed, which is another node now"
        if age <= last.get(each.path, (-1, -1)):
            yield f"went back: {each.path} was {_shown(*last[each.path])}, then {_shown(*age)}"
        last[each.path] = age
        held[each.path] = each.node


def _unlike(history: ChaosHistory, name: CacheName, tree: Tree) -> Iterator[str]:
    content = history.contents.get(name)
    if content is not None:
        yield from _differs(str(name), content, "the tree at the end", tree)
    elif not history.processes[name.process].killed:
        yield f"it is unknown what {name} held at the end"


def _differs(one: str, content: Tree, other: str, tree: Tree) -> Iterator[str]:
    """One sentence, whatever the number of nodes."""
    paths = sorted(p for p in content.keys() | tree.keys() if content.get(p) != tree.get(p))
    if paths:
        here, there = _of(content.get(paths[0])), _of(tree.get(paths[0]))
        yield (
            f"{one} is not like {other}, in {len(paths)} nodes such as {paths[0]}: {here} there, "
            f"{there} in the latter"
        )


def _of(node: NodeFacts | None) -> str:
    return "nothing" if node is None else f"{_shown(node.czxid, node.mzxid)} with {node.data!r}"


def _shown(czxid: int, mzxid: int) -> str:
    return f"{czxid:#x}/{mzxid:#x}"
