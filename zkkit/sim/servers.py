"""The servers of a world: requests are applied, changes reach the followers, watches fire.

A request is applied and its reply delivered in one event. That loses nothing: what others do
between the two is seen by nobody before the next request of this actor is applied, and a cancel
between them leads where a cancel before them leads, since the request still arrives, in order.
A follower that lags is what makes watches and reads late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ZkkitError
from ..steps import Delete, Multi, Sync, Watch
from . import state as at
from . import tree as trees
from .actors import Actors
from .choices import Choices
from .state import LEFT, Draft, Event, Fact, State, forget_lag, sender
from .tree import WRITES, Applied, Change, Tree
from .watch_users import WatchUsers

_BY_LEADER = (*WRITES, Sync)
Finder = Callable[[State], list[Event]]


class SimServers:
    """An ensemble: a leader with the tree, and a follower for each session."""

    def __init__(self, actors: Actors, watches: WatchUsers) -> None:
        self._actors = actors
        self._watches = watches
        self._kept: list[Any] = []  # what the ids in the cache belong to
        self._applied: dict[tuple[Tree, int, int, str], Applied] = {}
        self._trees: dict[Tree, Tree] = {}
        self.events: dict[str, Callable[..., None]] = {
            "apply": self._on_apply,
            "catch up": self.catch_up,
            "reap": self._remove,
        }

    def choices(self, choices: Choices) -> tuple[Finder, Finder]:
        """Moves and misfortunes with these servers: here those of every world."""
        return choices.moves, choices.misfortunes

    def known(self, tree: Tree) -> Tree:
        """The tree that was seen first of those equal to this one: it is faster to compare."""
        return self._trees.setdefault(tree, tree)

    def _on_apply(self, draft: Draft, s: int, listing: str = "") -> None:
        session = draft.session(s)
        queue = session[at.QUEUE]
        owner, request, _ = queue[0]
        session[at.QUEUE] = queue[1:]
        outcome = self.serve(draft, s, owner, request, listing)
        if owner >= 0:
            self._actors.landed(draft, owner, outcome)
        elif not session[at.QUEUE] and session[at.LIFE] == "up":
            self._actors.settle(draft, s)

    def serve(self, draft: Draft, s: int, owner: int, request: Any, listing: str = "") -> Any:
        """Do what a request asks for; gives its outcome. `listing`: the order of children, if it
        is not the usual one."""
        session = draft.session(s)
        if draft.behind:
            draft.behind = False
            tree: Tree = draft.tree
        elif isinstance(request, _BY_LEADER):
            # These go through the leader: when the answer comes, the follower has seen all before.
            while session[at.UNSEEN]:
                self.catch_up(draft, s)
            forget_lag(session)
            tree = draft.tree
        else:
            tree = draft.tree if session[at.VIEW] is None else session[at.VIEW]
        key = (tree, session[at.ID], id(request), listing)
        applied = self._applied.get(key)
        if applied is None:
            self._kept.append(request)
            outcome, after, changes = trees.apply(tree, request, session[at.ID], listing)
            applied = self._applied[key] = Applied(outcome, self.known(after), changes)
        outcome, after, changes = applied
        draft.facts.append(Fact("applied", max(owner, LEFT), request, outcome))
        if changes and type(request) in (Delete, Multi):
            draft.facts += _deleted(tree, sender(owner), request)
        if changes:
            self.commit(draft, after, changes)
        watches = getattr(request, "watch", False) or type(request) is Watch
        if watches and not isinstance(outcome, ZkkitError):
            self._watches.add(draft, s, owner, request)
        return outcome

    def commit(self, draft: Draft, tree: Tree, changes: tuple[Change, ...]) -> None:
        """The leader has a new tree: followers show it and fire, unless they lag."""
        draft.tree = tree
        for s in range(len(draft.sessions)):
            session = draft.sessions[s]
            if session[at.LAGS]:
                session = draft.session(s)
                session[at.UNSEEN] = (*session[at.UNSEEN], (tree, changes))
            elif session[at.WATCHES]:
                self._fire(draft, s, changes)

    def catch_up(self, draft: Draft, s: int) -> None:
        """A follower that lags sees the next change."""
        session = draft.session(s)
        tree, changes = session[at.UNSEEN][0]
        session[at.UNSEEN] = session[at.UNSEEN][1:]
        session[at.VIEW] = tree
        if not session[at.UNSEEN]:
            forget_lag(session)
        self._fire(draft, s, changes)

    def _fire(self, draft: Draft, s: int, changes: tuple[Change, ...]) -> None:
        for actor, fire in self._watches.fire(draft, s, changes):
            self._actors.wake(draft, actor, fire)

    def end_session(self, draft: Draft, number: int) -> None:
        """Remove the nodes that live with this session."""
        owned = draft.tree.owned(number)
        if owned:
            self._remove(draft, *owned)

    def _remove(self, draft: Draft, *paths: str) -> None:
        tree, changes = trees.without(draft.tree, paths)
        self.commit(draft, self.known(tree), changes)


def _deleted(tree: Tree, actor: int, request: Delete | Multi) -> list[Fact]:
    """A fact for each node that was there in this tree and that a request has deleted."""
    ops = request.ops if isinstance(request, Multi) else (request,)
    gone = [op.path for op in ops if isinstance(op, Delete) and op.path in tree.nodes]
    return [Fact("deleted", actor, path, tree.nodes[path].czxid) for path in gone]
