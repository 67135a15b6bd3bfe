"""Scenes: what a story is made of. Plain data that says everything without the world.

A scene is one event: what happened, who did what with which outcome, and how things stand after it:
the nodes, who watches what, who holds what, who waits. Words and pictures are both made from
scenes, so that neither can tell what the other does not know. Paths in scenes are short:
`/l/<A>lock-0` is the node of the actor A with the sequence number 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from .places import hint


class Lane(NamedTuple):
    """An actor, and the session it lives in."""

    name: str
    session: str


class Znode(NamedTuple):
    """A node. `owner`: the session that an ephemeral node lives with; `old`: that session has been
    given up by its client. `data` is readable text, `version` counts how often it was set."""

    path: str
    owner: str = ""
    old: bool = False
    data: str = ""
    version: int = 0


class Watching(NamedTuple):
    """Somebody watches a node: an actor, or a session that nobody in it needs the watch for.
    `on_server` is false where only the actor believes in it. `children`: it is told of a change
    in the list of children, not of a change of the node."""

    who: str
    path: str
    children: bool = False
    on_server: bool = True

    def __str__(self) -> str:
        return f"the children of {self.path}" if self.children else self.path


class Belief(NamedTuple):
    """Somebody was told that it holds. `real`: the node it holds by is there."""

    who: str
    path: str
    real: bool = True


class Deed(NamedTuple):
    """What somebody did, or what came to it. `who` is "" where nobody waits for it any more.
    `where`: the line of the script, as `answer.py:12 in acquire`, or ""."""

    kind: str  # request, lost, wakes, fire, holds, releases, ends, or another fact's kind
    who: str
    text: str
    outcome: str = ""
    path: str = ""
    where: str = ""

    def __str__(self) -> str:
        if self.outcome:
            who = self.who or "(nobody waits for it)"
            return f"{who}: {self.text} -> {self.outcome}{hint(self.where)}"
        return f"{self.who} {self.text}{hint(self.where)}"


class FollowerView(NamedTuple):
    """What a follower that lags shows to its session."""

    session: str
    paths: tuple[str, ...]


class Scene(NamedTuple):
    """One event and how things stand after it. `fault` is its kind, or "". `whom`: the actors it
    happens to, and `where` in its script the first of them stood. `doing`: what each lane's actor
    does, lane by lane, and `stands`: at which line."""

    head: str
    fault: str
    whom: tuple[str, ...]
    deeds: tuple[Deed, ...]
    nodes: tuple[Znode, ...]
    watches: tuple[Watching, ...]
    holds: tuple[Belief, ...]
    views: tuple[FollowerView, ...]
    doing: tuple[str, ...]
    where: str = ""
    stands: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it happened, unless a deed says it."""
        return "" if self.where in [deed.where for deed in self.deeds] else self.where


def headed(scene: Scene) -> str:
    """What happened in a scene, in a line."""
    return scene.head + hint(scene.place)


def lines(lanes: Sequence[Lane], before: Scene | None, after: Scene) -> Iterator[str]:
    """A scene in words: what was done, then what is different from the scene before."""
    yield from map(str, after.deeds)
    old = before or Scene("", "", (), (), (), (), (), (), ())
    yield from _changed_nodes(old.nodes, after.nodes)
    yield from _changed_watches(old, after)
    for hold in after.holds:
        if not hold.real and hold not in old.holds:
            yield f"{hold.who} believes it holds by {hold.path}, which is not there"
    for view in after.views:
        if view not in old.views:
            yield f"{view.session}'s follower shows only: {', '.join(view.paths) or 'no node'}"
    did = old.doing or ("",) * len(lanes)
    for place, (lane, was, does) in enumerate(zip(lanes, did, after.doing, strict=True)):
        if does == "waits" and was != does:
            yield f"{lane.name} waits{hint(after.stands[place] if after.stands else '')}"


def _changed_nodes(old: Sequence[Znode], new: Sequence[Znode]) -> Iterator[str]:
    if old == new:
        return
    paths = {node.path for node in new}
    gone = [node.path for node in old if node.path not in paths]
    if gone:
        yield f"deleted: {', '.join(gone)}"
    listed = [node.path if node in old else _described(node) for node in new]
    yield f"there now: {', '.join(listed) or 'no node'}"


def _described(node: Znode) -> str:
    about = []
    if node.owner:
        about.append(f"of {node.owner}{', the old one' if node.old else ''}")
    if node.data:
        about.append(f"data {node.data}")
    if node.version:
        about.append(f"version {node.version}")
    return f"{node.path} ({'; '.join(about)})" if about else node.path


def _changed_watches(old: Scene, new: Scene) -> Iterator[str]:
    fired = {(deed.who, deed.path) for deed in new.deeds if deed.kind in ("wakes", "fire")}
    for watch in new.watches:
        if watch in old.watches:
            continue
        if watch.on_server:
            yield f"{watch.who} watches {watch}"
        else:
            yield f"{watch.who}'s watch of {watch} is gone, and {watch.who} does not know it"
    still = {(watch.who, watch.path) for watch in new.watches}
    for watch in old.watches:
        if (watch.who, watch.path) not in still | fired:
            yield f"{watch.who} no longer watches {watch}"


# --- as JSON ------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value made of named tuples as what JSON can hold: each as an object with its names."""
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def restored(kind: Any, value: Any) -> Any:
    """The value that `plain` made this of; TypeError or KeyError if it is none of this kind."""
    if kind is Any:
        return value
    if isinstance(kind, UnionType):
        return None if value is None else restored(get_args(kind)[0], value)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        return tuple(restored(get_args(kind)[0], each) for each in value)
    if get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is no object")
        return value
    if hasattr(kind, "_fields"):
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        hints = get_type_hints(kind)
        return kind(**{name: restored(hints[name], value[name]) for name in kind._fields})
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
