"""Standing in line: what all locks made of sequential nodes share.

    <directory>                                 a container: the server removes it when empty
                                                (in kazoo's layout a plain node, which stays)
      <owner's mark><kind><number>              one node for each contender

A contender creates its node and lists the children in one flight, then waits for its turn. However
that ends other than in a grant (a cancel, a deadline, an error), the node is withdrawn, also where
its create was never answered.

Two layouts say how a node is named: Curator's, `_c_<guid>-lock-0000000041`, and kazoo's,
`<guid without dashes>__lock__0000000041`. One directory must keep to one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import ConnectionLost, CounterUsedUp, NoNode, SessionLost, ZkkitError
from ...paths import join, protected, split
from ...steps import Children, Get, Guid, Mode, Node, Proved, Script, Wait
from ..arguments import check_choice
from ..shared import create_protected, list_children, withdraw
from .rules import Place, Rule, ahead_of, in_order, place_of

Names = tuple[str, ...]
LAST_NUMBER = 2**31 - 1


class Layout(NamedTuple):
    """How nodes are named: the owner's mark before, and the kinds of contenders; and what the
    directory is."""

    mark: Callable[[str, str], str]
    exclusive: str
    read: str
    write: str
    parents: Mode = Mode.CONTAINER


CURATOR = Layout(protected, exclusive="lock-", read="__READ__", write="__WRIT__")
KAZOO = Layout(
    lambda guid, kind: guid.replace("-", "") + kind,
    exclusive="__lock__",
    read="__rlock__",
    write="__lock__",
    parents=Mode.PERSISTENT,  # kazoo makes sure of them once, and fails if they are ever reaped
)
LAYOUTS = {"curator": CURATOR, "kazoo": KAZOO}


def layout_named(name: str) -> Layout:
    """The layout of that name."""
    check_choice("layout", name, tuple(LAYOUTS))
    return LAYOUTS[name]


class Line(NamedTuple):
    """A directory of contenders: which kinds stand in it, and how their nodes are named."""

    directory: str
    kinds: Sequence[str]
    layout: Layout = CURATOR

    def enter(
        self,
        kind: str,
        wait_turn: Callable[[Node, Names], Script[bool]],
        *,
        data: bytes,
        mode: Mode = Mode.EPHEMERAL_SEQUENTIAL,
        watch: bool = False,
    ) -> Script[Node | None]:
        """Create a node of this kind and give it as soon as `wait_turn` says so; None, and the
        node is gone again, if that says no. With `watch` the first listing watches the children."""
        guid = yield from Guid()
        name = self.layout.mark(guid, kind)
        lasting = mode is Mode.PERSISTENT_SEQUENTIAL
        node: Node | None = None
        try:
            listing = Children(self.directory, watch)
            node, names = yield from create_protected(
                self.directory, name, listing, data=data, mode=mode, parents=self.layout.parents
            )
            if isinstance(names, ZkkitError):
                raise names
            self.check_number(node)
            if (yield from wait_turn(node, names)):
                if not lasting:
                    yield from Proved()
                return node
        except BaseException as error:
            if lasting or not isinstance(error, SessionLost):  # or it goes with its session
                yield from withdraw(self.directory, name, node, lasting=lasting)
            raise
        yield from withdraw(self.directory, name, node, lasting=lasting)
        return None

    def check_number(self, node: Node) -> None:
        """Refuse a number that somebody else may get as well.

        A server whose counter has come to its end gives the last number again and again (seen on
        3.8.0), and now and then a negative one. Two contenders of one number would both be first.
        """
        place = place_of(split(node.path)[1], self.kinds)
        if place is not None and not 0 <= place.number < LAST_NUMBER:
            raise CounterUsedUp(
                f"the servers have used up the numbers for children of {self.directory}",
                path=self.directory,
                hint="let everybody leave: an empty container is removed and begins anew at 0; "
                "or take another path",
            )

    def by_predecessor(self, rule: Rule, blocking: bool) -> Callable[[Node, Names], Script[bool]]:
        """Wait for our turn by watching only the one node that the rule names."""

        def wait_turn(node: Node, names: Names) -> Script[bool]:
            while True:
                turn = rule(self.ahead_of(node, names))
                if turn.mine or not blocking:
                    return turn.mine
                try:
                    # Get, not exists: a node that has vanished leaves no watch behind.
                    yield from Get(join(self.directory, turn.behind), watch=True)
                    yield from Wait()
                except (NoNode, ConnectionLost):
                    pass  # it left before we looked, or we cannot know: look again
                names = yield from list_children(self.directory)

        return wait_turn

    def by_parent(self, rule: Rule, blocking: bool) -> Callable[[Node, Names], Script[bool]]:
        """Wait for our turn by watching all children: every change wakes everybody."""

        def wait_turn(node: Node, names: Names) -> Script[bool]:
            while not (mine := rule(self.ahead_of(node, names)).mine) and blocking:
                yield from Wait()
                names = yield from list_children(self.directory, watch=True)
            return mine

        return wait_turn

    def ahead_of(self, node: Node, names: Names) -> list[Place]:
        """Those ahead of our node; NoNode if it is no longer there: begin again."""
        ahead = ahead_of(split(node.path)[1], names, self.kinds)
        if ahead is None:
            raise NoNode(node.path)
        return ahead

    def participants(self, *kinds: str) -> Script[tuple[str, ...]]:
        """The paths of all contenders (of these kinds), the first in line first."""
        try:
            names = yield from list_children(self.directory)
        except NoNode:
            return ()
        wanted = kinds or self.kinds
        places = in_order(names, self.kinds)
        return tuple(join(self.directory, p.name) for p in places if p.kind in wanted)
