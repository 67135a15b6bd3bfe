"""All come in together, and nobody leaves before all are ready to go: Curator's
DistributedDoubleBarrier, made fit for round after round.

    <path>            a container; its data name who opened this round, and all who were let through
      <guid>          ephemeral: a member that waits, or is inside
      <guid>

1. enter: create our node, read it and the data of the path, each with a watch, and list the
   children: one flight.
2. The data name us: we are through. Somebody whom they name is still inside: add our name. Nobody
   is, and enough have come: write all their names. Each of the two writes is a multi that checks
   that those members are there and that nobody wrote meanwhile. Otherwise wait until the watch
   fires, and look again: somebody has written, or our node was deleted, and then we begin again.
3. leave: look who of our round is inside. The lowest name stays until all others have gone, and
   waits for the highest; each other one deletes its node and waits for the lowest. (As Curator has
   it: one fire wakes each of them, where watching the directory would wake all for each.)
4. Whoever looks when none of the round is left is out.

Guarantees: nobody is let through unless, at one zxid, so many members were there; nobody is out
before all of its round have begun to leave, or have gone; what an earlier round left behind lets
nobody through; so it can be used round after round. More members than the number may come: who
comes while somebody is inside joins that round, who comes later waits for the next. A lost reply, a
cancel, a deadline or a crash leaves no node behind. Not guaranteed: that one who gives up at the
very moment in which it is let through was not counted. It gets False, and the others do not wait
for it. A member is known by its name, a guid: other children of the path count for nothing, but
one that somebody else has named so is taken for a member.

Timeout: enter and leave give False, and our node is removed; while the servers do not answer, that
goes on in the background, and the next enter waits for it. Connection loss: outlived; everybody
looks again after the reconnect. Expiry while entering: begun again with a new node, as the retry
policy allows. Expiry while inside: the others take us for gone, and leave raises NotInside. Expiry
while leaving: SessionLost; we are out.

An object is one member. For several members make several objects, in one session or in many.

`layout="curator"`, to meet members of Java:

    <path>
      ready           persistent: all have come
      <guid>          ephemeral: a member

There members count, and then create `ready` or trust it. That works for one clean round, in which
nobody fails. Not guaranteed beside Java: a `ready` that is left over lets everybody through; it may
be deleted while others enter, so that rounds mix; a member that gives up while it is counted lets
the others through early; Java's members count every child of the path, `ready` too, leave when one
other node is left, and stay behind as nodes after a timeout.

Cost: enter 2 flights for the last member and for those who wait (3 where the parents are missing),
leave 4 for all but the lowest.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import (
    AlreadyInside,
    NoNode,
    NotInside,
    SessionLost,
)
from ...paths import join, split
from ...scripting import Recipe, S, timed_script
from ...steps import Get, Guid, IfUntaken, Mark, Mode, Node, Recall, Remember, Script, Wait
from ..arguments import check_choice, check_count
from ..shared import (
    applied,
    begin_again,
    create_protected,
    delete_surely,
    read_all,
    wait_for_change,
    withdraw,
)
from .layouts import LAYOUTS


class Membership(NamedTuple):
    """What the session's table has of a member: its node and its round, once it is inside; or that
    it has given up, and its node is being removed."""

    node: Node | None = None
    opened_by: str = ""
    going: bool = False


class DoubleBarrier(Recipe[S]):
    """One member of a meeting of at least `members` (DistributedDoubleBarrier).

    Raises ValueError if `members` is no number from 1, or there is no such layout.
    """

    def __init__(self, session: S, path: str, members: int, *, layout: str = "zkkit") -> None:
        super().__init__(session, path)
        check_count("members", members)
        check_choice("layout", layout, tuple(LAYOUTS))
        self.members = members
        self._layout = LAYOUTS[layout](self.path, members)

    @timed_script(otherwise=False)
    def enter(self, timeout: float | None = None) -> Script[bool]:
        """Wait until enough members have come: True; or False when the time is up, and then our
        node is gone.

        Raises AlreadyInside if this member has entered and not left, or is about to enter or to
        leave in another call; SessionLost if the session was lost more often than the retry policy
        allows, SessionClosed if it was closed, and whatever the servers refuse (NoAuth, ...).
        """
        # Who gave up while the servers did not answer is not counted twice: its node goes first.
        while (known := (yield from Recall(self))) is not None and known.going:
            yield from Recall(self, watch=True)
            yield from Wait()
        if known is not None:
            raise AlreadyInside(
                f"{self!r} has entered already, or is about to",
                path=self.path,
                hint="leave first; each further member needs an object of its own",
            )
        inside: Membership | None = None
        try:
            inside = yield from begin_again(self._enter, self.session.retry, SessionLost, NoNode)
            yield from IfUntaken(self._turn_back, inside)
            return True
        finally:
            yield from Remember(self, inside)

    def _turn_back(self, inside: Membership) -> Script[None]:
        """Who called for us left when we came in, and does not know: go out again, alone."""
        assert inside.node is not None
        if (yield from Recall(self)) == inside:
            try:
                yield from self._go(inside.node)
            finally:
                yield from Remember(self, None)

    def _go(self, node: Node) -> Script[None]:
        """Remove our node. Whoever wants to enter meanwhile waits: a call that ran out of time
        leaves this behind."""
        yield from Remember(self, Membership(going=True))
        yield from delete_surely(node.path)

    def _enter(self) -> Script[Membership]:
        yield from Remember(self, Membership())
        name = yield from Guid()
        # Our node first: where it has gone, it is not listed either, and else the watch will tell.
        reads = (Get(join(self.path, name), watch=True), *self._layout.reads)
        node: Node | None = None
        try:
            node, _, *seen = yield from create_protected(
                self.path, name, *reads, data=b"", mode=Mode.EPHEMERAL, settle=True
            )
            while True:
                way = self._layout.way(node, tuple(seen))
                if way is None:
                    yield from Wait()
                elif way.request is None or (yield from applied(way.request)):
                    break
                _, *seen = yield from read_all(*reads)
        except BaseException as ended:
            yield from Remember(self, Membership(going=True))
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from Mark("entered", node.path, node.stat.czxid)
        return Membership(node, way.opened_by)

    @timed_script(otherwise=False)
    def leave(self, timeout: float | None = None) -> Script[bool]:
        """Wait until all others of our round leave, too: True; or False when the time is up. In
        either case our node is gone.

        Raises NotInside if this member has not entered, or its node is gone since; SessionLost if
        the session is lost meanwhile, SessionClosed if it is closed.
        """
        member: Membership | None = yield from Recall(self)
        if member is None or member.node is None:
            raise NotInside(f"{self!r} has not entered", path=self.path, hint="enter first")
        yield from Remember(self, Membership())
        try:
            yield from self._leave(member.node, member.opened_by)
            yield from Mark("left", member.node.path, member.node.stat.czxid)
            return True
        finally:
            yield from Remember(self, None)

    def _leave(self, node: Node, opened_by: str) -> Script[None]:
        me, gone = split(node.path)[1], False
        try:
            while (inside := (yield from self._layout.inside(opened_by))) or not gone:
                if not gone:
                    if me not in inside:
                        raise self._lost(node)
                    if inside[0] == me != inside[-1]:
                        yield from wait_for_change(join(self.path, inside[-1]))
                        continue
                    if inside == [me]:
                        yield from Remember(self, Membership(going=True))
                        yield from self._layout.last_out()
                    yield from self._go(node)
                    yield from Remember(self, Membership())
                    gone = True
                    inside.remove(me)
                if inside:
                    yield from wait_for_change(join(self.path, inside[0]))
        except BaseException:
            yield from self._go(node)
            raise

    def _lost(self, node: Node) -> NotInside:
        return NotInside(
            f"{node.path} is gone: its session was lost, or somebody deleted it",
            path=node.path,
            hint="the others did not wait for this member; enter again for the next round",
        )
