"""What an event leads to: the servers, the watches, the connections and the sessions.

A request is applied and its reply delivered in one event. That loses nothing: what others do
between the two is seen by nobody before the next request of this actor is applied, and a cancel
between them leads where a cancel before them leads, since the request still arrives, in order.
A follower that lags is what makes watches and reads late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ConnectionLost, SessionClosed, SessionLost, ZkkitError
from ..steps import Delete, Fire, FireKind, Sync, Watch
from . import tree as trees
from .actors import CLOSED, Actors
from .faults import KINDS, Faults
from .state import (
    CALLS,
    DOES,
    ENDED,
    FIRES,
    FRAMES,
    GHOSTS,
    ID,
    INDEX,
    LAGS,
    LIFE,
    MOMENT,
    MOVES,
    OUTCOMES,
    QUEUE,
    RENEWED,
    TABLE,
    UNSEEN,
    USERS,
    VIEW,
    WATCHES,
    Draft,
    Event,
    Fact,
    State,
)
from .tree import WRITES, Applied, Change, Tree
from .watching import (
    NO_WATCHES,
    Table,
    Watches,
    WatchMode,
    after_request,
    fire,
    is_below,
    told_instead,
)
from .world import World, session_id


class Machine(Actors):
    """The rules by which a world with actors moves."""

    def __init__(self, world: World, faults: Faults) -> None:
        super().__init__(world)
        self.faults = faults
        self._on: dict[str, Callable[..., None]] = {
            kind: getattr(self, name)
            for kind in (*MOVES, *KINDS)
            if hasattr(self, name := "_on_" + kind.replace(" ", "_"))
        }
        self._watched: dict[tuple[Watches, int, bool], tuple[Watches, Watches]] = {}
        self._applied: dict[tuple[Tree, int, int], Applied] = {}
        self._trees: dict[Tree, Tree] = {}

    # --- the beginning --------------------------------------------------------------------

    def begin(self) -> Draft:
        """The first state: every actor has run up to its first step that takes time."""
        count = len(self.world.sessions)
        sessions: tuple[Any, ...] = tuple(
            (session_id(s, 0), "up", False, (), None, NO_WATCHES, frozenset(), (), (), (), 0, ())
            for s in range(count)
        )
        actors = tuple((((root.start, False, False, 0.0),), "", *ENDED[2:]) for root in self.roots)
        tree = self._trees.setdefault(self.world.tree, self.world.tree)
        draft = Draft((tree, sessions, actors, self.faults.budget(), (), ()))
        for a in range(len(actors)):
            if len(self.crew[self.home[a]]) > 1:
                # In one session requests keep their order, so when somebody begins matters.
                draft.actor(a)[DOES] = "begin"
            else:
                self._resume(draft, a, None)
        self._drain(draft)
        return draft

    # --- what happens then ------------------------------------------------------------------

    def after(self, state: State, event: Event) -> Draft:
        """The state after an event, still open for what the properties remember."""
        draft = Draft(state)
        kind = event[0]
        place = INDEX.get(kind)
        if place is not None:
            self._spend(draft, place)
        self._on[kind](draft, *event[1:])
        self._drain(draft)
        return draft

    def _spend(self, draft: Draft, place: int) -> None:
        left = list(draft.budget)
        left[place] -= 1
        # What can no longer be spent makes no difference between two states.
        total = left[0] - 1
        draft.budget = (total, *[min(total, each) for each in left[1:]])

    def _on_apply(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        queue = session[QUEUE]
        owner, request, _ = queue[0]
        session[QUEUE] = queue[1:]
        outcome = self._serve(draft, s, owner, request)
        if owner >= 0:
            self._landed(draft, owner, outcome)
        elif not session[QUEUE] and session[LIFE] == "up":
            self._settle(draft, s)

    def _serve(self, draft: Draft, s: int, owner: int, request: Any) -> Any:
        """Let the server do what a request asks for."""
        session = draft.session(s)
        writes = isinstance(request, WRITES)
        if draft.behind:
            draft.behind = False
            tree: Tree = draft.tree
        elif writes or isinstance(request, Sync):
            # Both go through the leader: when the answer comes, the follower has seen all before.
            while session[UNSEEN]:
                self._see_next(draft, s)
            session[LAGS], session[VIEW] = False, None
            tree = draft.tree
        else:
            tree = draft.tree if session[VIEW] is None else session[VIEW]
        key = (tree, session[ID], id(request))
        applied = self._applied.get(key)
        if applied is None:
            self._kept.append(request)
            outcome, after, changes = trees.apply(tree, request, session[ID])
            applied = Applied(outcome, self._trees.setdefault(after, after), changes)
            self._applied[key] = applied
        outcome, after, changes = applied
        draft.facts.append(Fact("applied", owner, request, outcome))
        if type(request) is Delete and changes:
            draft.facts.append(Fact("deleted", owner, request.path, tree.nodes[request.path].czxid))
        if changes:
            self._commit(draft, after, changes)
        found = outcome is not None and not isinstance(outcome, ZkkitError)
        if getattr(request, "watch", False) or type(request) is Watch:
            self._watch(draft, s, owner, request, found)
        return outcome

    def _commit(self, draft: Draft, tree: Tree, changes: tuple[Change, ...]) -> None:
        """The leader has a new tree: followers show it and fire, unless they lag."""
        draft.tree = tree
        for s in range(len(draft.sessions)):
            session = draft.sessions[s]
            if session[LAGS]:
                session = draft.session(s)
                session[UNSEEN] = (*session[UNSEEN], (tree, changes))
            elif session[WATCHES]:
                self._fire(draft, s, changes)

    def _see_next(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        tree, changes = session[UNSEEN][0]
        session[UNSEEN] = session[UNSEEN][1:]
        session[VIEW] = tree
        if not session[UNSEEN]:
            session[LAGS], session[VIEW] = False, None
        self._fire(draft, s, changes)

    def _on_catch_up(self, draft: Draft, s: int) -> None:
        self._see_next(draft, s)

    def _on_lag(self, draft: Draft, s: int, kind: str, *rest: Any) -> None:
        session = draft.session(s)
        session[LAGS], session[VIEW] = True, draft.tree
        if kind == "reply lost":
            self._spend(draft, INDEX[kind])
            draft.behind = True
        self._on[kind](draft, *rest)
        session = draft.session(s)
        if not session[UNSEEN]:
            session[LAGS], session[VIEW] = False, None  # the server refused: nothing was missed

    # --- watches ----------------------------------------------------------------------------

    def _watch(self, draft: Draft, s: int, owner: int, request: Any, found: bool) -> None:
        session = draft.session(s)
        key = (session[WATCHES], id(request), found)
        known = self._watched.get(key)
        if known is None:
            self._kept.append(request)
            known = (
                after_request(session[WATCHES], request, found),
                after_request(NO_WATCHES, request, found),
            )
            self._watched[key] = known
        session[WATCHES], new = known
        if owner < 0:
            # Whoever asked for it has left. The session has it removed if nobody else uses it.
            self._drop_unused(draft, s)
            return
        session[USERS] = session[USERS] | {(*watch, owner) for watch in new}
        self._keep_lasting(session, request.path)

    def _keep_lasting(self, session: list[Any], path: str) -> None:
        """The server keeps one mode per path, so where a session has a persistent watch it asks
        for no other: that one stays, and wakes the others as well."""
        modes = [user[2] for user in session[USERS] if user[1] == path]
        lasting = max(modes, default=WatchMode.ONE_SHOT)
        if lasting is not WatchMode.ONE_SHOT:
            again = Watch(path, lasting is WatchMode.RECURSIVE)
            session[WATCHES] = after_request(session[WATCHES], again, True)

    def _drop_unused(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        used: set[Any] = set()
        for table, path, _, _ in session[USERS]:
            used |= {(table, path), path}
        # One that lasts stays for whoever relies on it, in both tables.
        session[WATCHES] = frozenset(
            w for w in session[WATCHES] if (w[1] if w[2] else (w[0], w[1])) in used
        )

    def _fire(self, draft: Draft, s: int, changes: tuple[Change, ...]) -> None:
        session = draft.session(s)
        session[WATCHES], told = fire(session[WATCHES], changes)
        for each in told:
            self._tell_users(draft, session, each)
            instead = told_instead(session[WATCHES], each)
            if instead is not None:
                self._tell_users(draft, session, instead)

    def _tell_users(self, draft: Draft, session: list[Any], each: Fire) -> None:
        woken = []
        for user in sorted(session[USERS]):
            table, path, mode, actor = user
            if not _hears(table, path, mode, each):
                continue
            if mode is WatchMode.ONE_SHOT:
                session[USERS] = session[USERS] - {user}
            if actor not in woken:
                woken.append(actor)
        for actor in woken:
            self._wake(draft, actor, each)

    def _wake(self, draft: Draft, a: int, each: Fire) -> None:
        actor = draft.actor(a)
        if not actor[FRAMES]:
            return
        if actor[DOES] in ("wait", "pause"):
            draft.facts.append(Fact("woke", a, each))
            self._resume(draft, a, each)
        else:
            actor[FIRES] = (*actor[FIRES], each)

    def _leave(self, draft: Draft, a: int) -> None:
        """A run has ended: watches that only it used are removed."""
        s = self.home[a]
        session = draft.sessions[s]
        if not any(user[3] == a for user in session[USERS]):
            return
        session = draft.session(s)
        own = {(user[0], user[1]) for user in session[USERS] if user[3] == a}
        session[USERS] = frozenset(user for user in session[USERS] if user[3] != a)
        if self.world.careless_watches:
            session[WATCHES] = frozenset(w for w in session[WATCHES] if (w[0], w[1]) not in own)
        else:
            self._drop_unused(draft, s)

    # --- the connection and the session -------------------------------------------------------

    def _on_request_lost(self, draft: Draft, s: int) -> None:
        self._break(draft, s)

    def _on_reply_lost(self, draft: Draft, s: int, first: int) -> None:
        """The request is applied; its reply, and that of its flight from `first` on, is lost."""
        session = draft.session(s)
        owner, request, _ = session[QUEUE][0]
        session[QUEUE] = session[QUEUE][1:]
        self._serve(draft, s, owner, request)
        actor = draft.actor(owner)
        actor[OUTCOMES] = actor[OUTCOMES][:first]
        self._break(draft, s)

    def _break(self, draft: Draft, s: int) -> None:
        """The connection breaks and is made again: watches are gone, replies do not come."""
        session = draft.session(s)
        session[QUEUE] = ()
        crew = self.crew_of(s, draft.actors)
        in_flight = [a for a in crew if draft.actors[a][DOES] == "fly"]
        users = sorted(session[USERS])
        session[USERS] = frozenset(u for u in users if u[2] is not WatchMode.ONE_SHOT)
        session[WATCHES] = frozenset(w for w in session[WATCHES] if w[2] is not WatchMode.ONE_SHOT)
        for _, path, _, a in users:
            self._wake(draft, a, Fire(FireKind.NONE, path))
        for a in in_flight:
            actor = draft.actor(a)
            requests = actor[FRAMES][-1][MOMENT].requests
            for request in requests[len(actor[OUTCOMES]) :]:
                if actor[DOES] != "fly":
                    break  # somebody who woke has stopped it
                draft.facts.append(Fact("lost", a, request))
                if self._landed(draft, a, ConnectionLost(_BROKEN, path=request.path)):
                    break

    def _on_crash(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        session[LIFE] = "crashed"
        session[USERS], session[WATCHES] = frozenset(), NO_WATCHES
        session[LAGS], session[UNSEEN], session[VIEW] = False, (), None
        session[QUEUE] = tuple((-1, request, i) for _, request, i in session[QUEUE])
        session[TABLE] = ()
        self._forget_grants(draft, s)
        session[CALLS] = ()
        for a in self.crew_of(s, draft.actors):
            draft.actor(a)[:] = ENDED

    def _on_vanish(self, draft: Draft, s: int) -> None:
        """The server expires the session of a crashed client."""
        session = draft.session(s)
        self._end(draft, session[ID])
        session[QUEUE], session[LIFE] = (), "up"
        self._settle(draft, s)

    def _on_expire(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        session[LIFE] = "expired"
        session[WATCHES] = NO_WATCHES
        session[LAGS], session[UNSEEN], session[VIEW] = False, (), None
        self._end(draft, session[ID])

    def _on_pause(self, draft: Draft, s: int) -> None:
        self._on_expire(draft, s)
        draft.session(s)[LIFE] = "paused"

    def _on_go_on(self, draft: Draft, s: int) -> None:
        draft.session(s)[LIFE] = "expired"

    def _on_close(self, draft: Draft, s: int) -> None:
        """Whoever used the session has ended and closes it: the rest is told, its nodes go."""
        session = draft.session(s)
        number = session[ID]
        session[LIFE] = "closed"
        session[QUEUE], session[USERS], session[WATCHES] = (), frozenset(), NO_WATCHES
        session[LAGS], session[UNSEEN], session[VIEW] = False, (), None
        self._forget_grants(draft, s)
        self._tell_all(draft, s, SessionClosed(CLOSED))
        self._end(draft, number)

    def _on_learn(self, draft: Draft, s: int) -> None:
        draft.session(s)[LIFE] = "up"
        self._renew(draft, s)

    def _on_give_up(self, draft: Draft, s: int, arrive: int) -> None:
        session = draft.session(s)
        for owner, request, _ in session[QUEUE][:arrive]:
            self._serve(draft, s, owner, request)
        session[GHOSTS] = (*session[GHOSTS], session[ID])
        session[WATCHES] = NO_WATCHES
        self._renew(draft, s)

    def _on_lapse(self, draft: Draft, s: int) -> None:
        number = draft.session(s)[ID]
        mortal = set(draft.tree.owned(number))
        draft.told = tuple(g for g in draft.told if g.session != number or g.path not in mortal)

    def _on_forget(self, draft: Draft, s: int, ghost: int) -> None:
        session = draft.session(s)
        session[GHOSTS] = tuple(each for each in session[GHOSTS] if each != ghost)
        self._end(draft, ghost)

    def _renew(self, draft: Draft, s: int) -> None:
        """The client knows that its session is over: a new one, and everybody is told."""
        session = draft.session(s)
        session[RENEWED] += 1
        session[ID] = session_id(s, session[RENEWED])
        session[QUEUE], session[USERS] = (), frozenset()
        self._forget_grants(draft, s)
        self._tell_all(draft, s, SessionLost("the session is over"))

    def _tell_all(self, draft: Draft, s: int, error: SessionLost) -> None:
        for a in self.crew_of(s, draft.actors):
            if draft.actors[a][FRAMES]:
                self._resume(draft, a, None, error)

    def _end(self, draft: Draft, number: int) -> None:
        if draft.tree.owned(number):
            tree, changes = trees.end_session(draft.tree, number)
            self._commit(draft, self._trees.setdefault(tree, tree), changes)

    def _on_reap(self, draft: Draft, path: str) -> None:
        tree, changes = trees.reap(draft.tree, path)
        self._commit(draft, self._trees.setdefault(tree, tree), changes)

    def _forget_grants(self, draft: Draft, s: int) -> None:
        draft.told = tuple(g for g in draft.told if self.home[g.actor] != s)


_BROKEN = "the connection broke while a request was under way"


def _hears(table: Table, path: str, mode: WatchMode, each: Fire) -> bool:
    if mode is WatchMode.RECURSIVE:
        return each.kind is not FireKind.CHILD and is_below(each.path, path)
    if path != each.path:
        return False
    if each.kind is FireKind.DELETED:
        return True
    return (table is Table.CHILD) == (each.kind is FireKind.CHILD)
