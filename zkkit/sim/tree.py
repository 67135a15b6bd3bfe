"""The data of a model server: an immutable tree, and what each request does to it.

A `Tree` is a value: every write gives a new one, so a follower that lags is just an older tree, and
two worlds that have come to the same point by different ways compare equal.

It keeps what clients can see: data, versions, czxid, mzxid, pzxid, owners, the sequence counter of
each parent, containers and TTLs. Times are zero: a model has no clock. Refused writes take no
zxid here (a real server spends one): what clients may rely on is the order, and that is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from zlib import crc32

from ..errors import (
    BadArguments,
    BadVersion,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    ServerError,
)
from ..paths import levels, split
from ..steps import (
    Check,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    FireKind,
    Get,
    Mode,
    Multi,
    MultiOp,
    Node,
    Request,
    Set,
    Stat,
    Sync,
    Watch,
)

_SEQUENTIAL = frozenset(
    {Mode.PERSISTENT_SEQUENTIAL, Mode.EPHEMERAL_SEQUENTIAL, Mode.PERSISTENT_SEQUENTIAL_TTL}
)
_EPHEMERAL = frozenset({Mode.EPHEMERAL, Mode.EPHEMERAL_SEQUENTIAL})
_LONGEST_TTL_MS = 2**40 - 1  # servers keep it in 40 bits of the node's owner
WRITES = (Create, Delete, Set, Multi)
"""The requests that go through the leader."""


class Change(NamedTuple):
    """What a write did to one node: whom it concerns is the watches' business."""

    kind: FireKind
    path: str


class Entry(NamedTuple):
    """One node. `creates` counts the children ever created: the next sequence number."""

    data: bytes
    czxid: int
    mzxid: int
    pzxid: int
    version: int
    creates: int
    owner: int
    mode: Mode
    ttl_ms: int | None
    children: frozenset[str]

    def stat(self) -> Stat:
        # The server counts creations only, and shows creations plus deletions.
        cversion = signed(self.creates * 2 - len(self.children))
        return Stat(
            self.czxid, self.mzxid, 0, 0, self.version, cversion, 0,
            self.owner, len(self.data), len(self.children), self.pzxid,
        )  # fmt: skip


def signed(number: int) -> int:
    """The number as a signed one of 32 bits: it wraps."""
    return ((number + 0x8000_0000) & 0xFFFF_FFFF) - 0x8000_0000


_ROOT = Entry(b"", 0, 0, 0, 0, 0, 0, Mode.PERSISTENT, None, frozenset())


class StartNode(NamedTuple):
    """A node that is there from the beginning. `next_sequence`: where its counter stands; 0 stands
    for a counter that has counted the children that are there."""

    path: str
    data: bytes = b""
    mode: Mode = Mode.PERSISTENT
    next_sequence: int = 0


LISTINGS: dict[str, Callable[[Iterable[str]], list[str]]] = {
    "sorted": sorted,
    "reversed": lambda names: sorted(names, reverse=True),
    "shuffled": lambda names: sorted(names, key=lambda name: (crc32(name.encode()), name)),
}
"""The orders in which children can be listed. Servers promise none."""
ANY_ORDER = "any"
"""A listing in which the explorer tries two orders, one the other way round."""


class ServerRules(NamedTuple):
    """What servers may do in one way or another, the same in all trees of a world."""

    wraps: bool = True
    """Whether a counter goes on after its last number: see World."""
    listing: str = "sorted"
    """The order of children: one of `LISTINGS`, or `ANY_ORDER`."""
    shift: int = 0
    """What is added to every sequence number: see zkkit.sim.ranks."""


_USUAL = ServerRules()


class Tree:
    """All nodes at one moment. Equal if everything a client could ever see is equal."""

    __slots__ = ("_hash", "nodes", "rules", "zxid")

    def __init__(
        self, nodes: dict[str, Entry] | None = None, zxid: int = 0, rules: ServerRules = _USUAL
    ) -> None:
        self.nodes = {"/": _ROOT} if nodes is None else nodes
        self.zxid = zxid
        self.rules = rules
        self._hash = 0

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash((self.zxid, frozenset(self.nodes.items())))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Tree) and self.zxid == other.zxid and self.nodes == other.nodes
        )

    def __repr__(self) -> str:
        return f"<Tree zxid={self.zxid} {sorted(self.nodes)}>"

    def owned(self, session: int) -> list[str]:
        """The ephemeral nodes of a session."""
        return sorted(path for path, entry in self.nodes.items() if entry.owner == session)

    def with_nodes(self, paths: Iterable[str], mode: Mode, next_sequence: int = 0) -> Tree:
        """This tree with these nodes, and all levels above them, made."""
        edit = _Edit(self)
        for path in paths:
            for level in levels(path):
                if level not in edit.nodes:
                    edit.create(Create(level, mode=mode), 0)
            entry = edit.nodes[path]
            edit.nodes[path] = entry._replace(creates=signed(next_sequence))
        return edit.tree()

    def with_start(self, start: Iterable[StartNode]) -> Tree:
        """This tree with these nodes made, one after the other. Levels above them that nobody made
        are plain persistent nodes."""
        start = tuple(start)
        tree = self
        for node in start:
            above, _ = split(node.path)
            missing = [level for level in levels(above) if level not in tree.nodes]
            for create in (*map(Create, missing), Create(node.path, node.data, _plain(node))):
                outcome, tree, _ = apply(tree, create, 0)
                if isinstance(outcome, ServerError):
                    raise ValueError(f"the world cannot begin with {node.path}: {outcome.message}")
        for path in {split(node.path)[0] for node in start} | {node.path for node in start}:
            entry = tree.nodes[path]
            tree.nodes[path] = entry._replace(creates=_counted(entry))
        for node in start:
            if node.next_sequence:
                counter = signed(node.next_sequence)
                tree.nodes[node.path] = tree.nodes[node.path]._replace(creates=counter)
        return tree


def _plain(node: StartNode) -> Mode:
    """How to make a node that has its name already."""
    if node.mode in _EPHEMERAL:
        raise ValueError(
            f"the world cannot begin with the ephemeral node {node.path}: no session has begun "
            f"yet; let an actor create it"
        )
    return Mode.PERSISTENT if node.mode in _SEQUENTIAL else node.mode


def _counted(entry: Entry) -> int:
    """A counter that has given all the numbers in its children's names."""
    tails = [name[-10:] for name in entry.children]
    given = [int(tail) for tail in tails if len(tail) == 10 and tail.isdecimal()]
    return max([entry.creates, *[number + 1 for number in given if number < 2**31]])


class Applied(NamedTuple):
    """What a request gave: its outcome (a result, or an error as a value), the tree after it, and
    what it changed."""

    outcome: Any
    tree: Tree
    changes: tuple[Change, ...]


class _Edit:
    """A tree being written to: one transaction."""

    def __init__(self, tree: Tree) -> None:
        self.nodes = dict(tree.nodes)
        self.zxid = tree.zxid + 1
        self.rules = tree.rules
        self.changes: list[Change] = []

    def tree(self) -> Tree:
        return Tree(self.nodes, self.zxid, self.rules)

    def create(self, step: Create, session: int) -> Node:
        nodes, parent_path = self.nodes, split(step.path)[0]
        parent = nodes.get(parent_path)
        if step.ttl_ms is not None and not 0 < step.ttl_ms <= _LONGEST_TTL_MS:
            raise BadArguments(step.path)
        if step.path == "/":
            raise NodeExists(step.path)
        if parent is None:
            raise NoNode(step.path)
        path = step.path
        if step.mode in _SEQUENTIAL:
            path = f"{path}{parent.creates + self.rules.shift:010d}"
        if path in nodes:
            raise NodeExists(step.path)
        if parent.owner:
            raise NoChildrenForEphemerals(step.path)
        owner = session if step.mode in _EPHEMERAL else 0
        zxid = self.zxid
        entry = Entry(
            step.data, zxid, zxid, zxid, 0, 0, owner, step.mode, step.ttl_ms, frozenset()
        )  # fmt: skip
        nodes[path] = entry
        creates, pzxid = signed(parent.creates + 1), zxid
        if creates < parent.creates and not self.rules.wraps:
            creates, pzxid = parent.creates, parent.pzxid
        nodes[parent_path] = parent._replace(
            creates=creates, pzxid=pzxid, children=parent.children | {split(path)[1]}
        )
        self.changes += (Change(FireKind.CREATED, path), Change(FireKind.CHILD, parent_path))
        return Node(path, entry.stat())

    def delete(self, path: str, version: int) -> None:
        if path == "/":
            raise BadArguments(path)
        if self.check(path, version).children:
            raise NotEmpty(path)
        parent_path, name = split(path)
        parent = self.nodes[parent_path]
        del self.nodes[path]
        self.nodes[parent_path] = parent._replace(
            pzxid=self.zxid, children=parent.children - {name}
        )
        self.changes += (Change(FireKind.DELETED, path), Change(FireKind.CHILD, parent_path))

    def set(self, step: Set) -> Stat:
        entry = self.check(step.path, step.version)
        entry = entry._replace(data=step.data, mzxid=self.zxid, version=entry.version + 1)
        self.nodes[step.path] = entry
        self.changes.append(Change(FireKind.CHANGED, step.path))
        return entry.stat()

    def check(self, path: str, version: int) -> Entry:
        entry = self.nodes.get(path)
        if entry is None:
            raise NoNode(path)
        if version not in (-1, entry.version):
            raise BadVersion(path)
        return entry

    def write(self, op: MultiOp, session: int) -> Node | Stat | None:
        if isinstance(op, Create):
            return self.create(op, session)
        if isinstance(op, Set):
            return self.set(op)
        if isinstance(op, Delete):
            self.delete(op.path, op.version)
        else:
            assert isinstance(op, Check)
            self.check(op.path, op.version)
        return None


def apply(tree: Tree, request: Request[Any], session: int, listing: str = "") -> Applied:
    """What `request` of `session` does to `tree`. `listing`: in which order children are listed, if
    not as the tree's rules say."""
    if not isinstance(request, WRITES):
        return Applied(_read(tree, request, listing), tree, ())
    edit = _Edit(tree)
    try:
        if isinstance(request, Multi):
            outcome: Any = _multi(edit, request, session)
        else:
            outcome = edit.write(request, session)
    except (ServerError, MultiFailed) as refused:
        return Applied(refused.with_traceback(None), tree, ())
    return Applied(outcome, edit.tree(), tuple(edit.changes))


def _multi(edit: _Edit, request: Multi, session: int) -> tuple[str | Stat | None, ...]:
    results: list[str | Stat | None] = []
    for op in request.ops:
        try:
            done = edit.write(op, session)
            results.append(done.path if isinstance(done, Node) else done)
        except ServerError as refused:
            errors: list[ServerError | None] = [None] * len(request.ops)
            errors[len(results)] = refused.with_traceback(None)
            raise MultiFailed(tuple(errors)) from None
    return tuple(results)


def _read(tree: Tree, request: Request[Any], listing: str) -> Any:
    if isinstance(request, Sync | Watch):
        return None
    entry = tree.nodes.get(request.path)
    if isinstance(request, Exists):
        return None if entry is None else entry.stat()
    if entry is None:
        return NoNode(request.path)
    if isinstance(request, Get):
        return Data(entry.data, entry.stat())
    assert isinstance(request, Children)
    order = LISTINGS.get(listing or tree.rules.listing, sorted)
    return tuple(order(entry.children))


def without(tree: Tree, paths: Iterable[str]) -> tuple[Tree, tuple[Change, ...]]:
    """The server removes these nodes, in one transaction."""
    edit = _Edit(tree)
    for path in paths:
        edit.delete(path, -1)
    return edit.tree(), tuple(edit.changes)


def reapable(tree: Tree) -> list[str]:
    """The nodes that the server may remove by itself: emptied containers, childless TTL nodes."""
    return sorted(
        path
        for path, entry in tree.nodes.items()
        if not entry.children
        and ((entry.mode is Mode.CONTAINER and entry.creates) or entry.ttl_ms is not None)
    )
