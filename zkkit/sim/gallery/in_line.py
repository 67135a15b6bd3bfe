"""Answers in short scripts: a place in line, and a node with one name.

Most families can be answered in one of these two ways: a lock, an election, a lock for readers and
writers, a semaphore. Each answer is taken apart into pieces, so that a mistake changes one of them.

    InLine      create a node with a number; whoever has nobody ahead has it, and all others wait
                for the one just ahead
    OneName     whoever creates the node with the one name has it, and all others wait for its going
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ...errors import NoNode
from ...paths import join, protected, split
from ...recipes.line import Place, ahead_of
from ...recipes.shared import (
    create_if_free,
    create_protected,
    delete_ours,
    delete_surely,
    list_children,
    pause,
    wait_for_change,
    withdraw,
)
from ...steps import Guid, Mark, Mode, Node, Script, Word
from ..steps import Work

Names = tuple[str, ...]
PATH = "/n"
"""Where all answers live."""


class At(NamedTuple):
    """Whoever lives at this path. A tuple: the explorer compares it by its value."""

    path: str


class Holding(At):
    """It says that it has it, works, and says that it gives it back."""

    began: ClassVar[Word] = "acquired"
    over: ClassVar[Word] = "released"

    def hold(self, node: Node) -> Script[None]:
        """The time in which it is ours."""
        yield from Mark(self.began, node.path, node.stat.czxid)
        try:
            yield from self.work()
        finally:
            yield from Mark(self.over, node.path, node.stat.czxid)

    def work(self) -> Script[None]:
        """What it is wanted for."""
        yield from Work()


class InLine(Holding):
    """A place in line: waits for the one just ahead."""

    kind: ClassVar[str] = "lock-"
    kinds: ClassVar[tuple[str, ...]] = ("lock-",)
    mode: ClassVar[Mode] = Mode.EPHEMERAL_SEQUENTIAL

    def life(self) -> Script[None]:
        """All of it, from coming to leaving."""
        name = protected((yield from Guid()), self.kind)
        node: Node | None = None
        try:
            node = yield from self.enter(name)
            yield from self.wait_for_turn(node)
            yield from self.hold(node)
        except BaseException as ended:
            yield from self.clean_up(name, node, ended)
            raise
        yield from self.leave(node)

    def enter(self, name: str) -> Script[Node]:
        """Create our node."""
        (node,) = yield from create_protected(self.path, name, data=b"", mode=self.mode)
        made: Node = node
        return made

    def wait_for_turn(self, node: Node) -> Script[None]:
        """Look, and wait, until it is our turn."""
        while (behind := self.behind(node, (yield from self.look()))) is not None:
            yield from self.outwait(join(self.path, behind))

    def look(self) -> Script[Names]:
        """Who is there."""
        return list_children(self.path)

    def behind(self, node: Node, names: Names) -> str | None:
        """Whom to wait for; None if it is our turn."""
        ahead = ahead_of(split(node.path)[1], names, self.kinds)
        if ahead is None:
            raise NoNode(node.path)
        return self.rule(ahead)

    def rule(self, ahead: Sequence[Place]) -> str | None:
        """Whom of those ahead to wait for."""
        return ahead[-1].name if ahead else None

    def outwait(self, path: str) -> Script[None]:
        """Wait until this node may have gone."""
        return wait_for_change(path)

    def clean_up(self, name: str, node: Node | None, ended: BaseException) -> Script[None]:
        """Leave before our turn, or in the middle of it."""
        return withdraw(self.path, name, node, after=ended)

    def leave(self, node: Node) -> Script[None]:
        """Let the next one in."""
        return delete_surely(node.path)


class PollsInLine(InLine):
    """A place in line: sets no watch, and looks again from time to time."""

    def outwait(self, path: str) -> Script[None]:
        return pause(1.0)


class OneName(Holding):
    """One node of one name: whoever creates it has it."""

    name: ClassVar[str] = "holder"

    @property
    def node(self) -> str:
        """Its path."""
        return join(self.path, self.name)

    def life(self) -> Script[None]:
        """All of it, from coming to leaving."""
        mine = (yield from Guid()).encode()
        try:
            while (node := (yield from self.take(mine))) is None:
                yield from self.outwait()
            yield from self.hold(node)
        except BaseException as ended:
            yield from self.clean_up(mine, ended)
            raise
        yield from self.leave(mine)

    def take(self, mine: bytes) -> Script[Node | None]:
        """Create the node; None if somebody else has it."""
        return create_if_free(self.node, mine)

    def outwait(self) -> Script[None]:
        """Wait until the node may have gone."""
        return wait_for_change(self.node)

    def clean_up(self, mine: bytes, ended: BaseException) -> Script[None]:
        """Leave before our turn, or in the middle of it."""
        return self.leave(mine)

    def leave(self, mine: bytes) -> Script[None]:
        """Delete the node, if it is ours."""
        return delete_ours(self.node, lambda found: found.data == mine)
