"""The connections and sessions of a world: how they break, end, and are made anew."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ConnectionLost, SessionClosed, SessionLost
from ..kernel import held_key
from ..steps import Fire, FireKind
from . import state as at
from .actors import CLOSED, Actors
from .roster import Roster
from .servers import SimServers
from .state import GONE, Draft, Fact, disowned, forget_lag, session_id
from .watching import NO_WATCHES

_BROKEN = "the connection broke while a request was under way"


class Connections:
    """What happens to a client's connection, to its session and to its process."""

    def __init__(self, roster: Roster, actors: Actors, servers: SimServers) -> None:
        self._roster = roster
        self._actors = actors
        self._servers = servers
        self.events: dict[str, Callable[..., None]] = {
            "request lost": self._break,
            "reply lost": self._on_reply_lost,
            "crash": self._on_crash,
            "vanish": self._on_vanish,
            "expire": self._on_expire,
            "pause": self._on_pause,
            "go on": self._on_go_on,
            "close": self._on_close,
            "learn": self._on_learn,
            "give up": self._on_give_up,
            "lapse": self._on_lapse,
            "forget": self._on_forget,
        }

    def _on_reply_lost(self, draft: Draft, s: int, first: int) -> None:
        """The request is applied; its reply, and that of its flight from `first` on, is lost."""
        session = draft.session(s)
        owner, request, _ = session[at.QUEUE][0]
        session[at.QUEUE] = session[at.QUEUE][1:]
        self._servers.serve(draft, s, owner, request)
        actor = draft.actor(owner)
        actor[at.OUTCOMES] = actor[at.OUTCOMES][:first]
        self._break(draft, s)

    def _break(self, draft: Draft, s: int) -> None:
        """The connection breaks and is made again: watches are gone, replies do not come."""
        session = draft.session(s)
        session[at.QUEUE] = ()
        crew = self._roster.crew_of(s, draft.actors)
        in_flight = [a for a in crew if draft.actors[a][at.DOES] == "fly"]
        users = sorted(session[at.USERS])
        session[at.USERS] = frozenset(u for u in users if u[0].persistent)
        session[at.WATCHES] = frozenset(w for w in session[at.WATCHES] if w[2].persistent)
        for _, path, a in users:
            self._actors.wake(draft, a, Fire(FireKind.NONE, path))
        for a in in_flight:
            actor = draft.actor(a)
            requests = actor[at.FRAMES][-1][at.MOMENT].requests
            for request in requests[len(actor[at.OUTCOMES]) :]:
                if actor[at.DOES] != "fly":
                    break  # somebody who woke has stopped it
                draft.facts.append(Fact("lost", a, request))
                if self._actors.landed(draft, a, ConnectionLost(_BROKEN, path=request.path)):
                    break

    def _on_crash(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        session[at.LIFE] = "crashed"
        session[at.USERS], session[at.WATCHES] = frozenset(), NO_WATCHES
        forget_lag(session)
        session[at.QUEUE] = tuple(
            (disowned(owner), request, i) for owner, request, i in session[at.QUEUE]
        )
        session[at.TABLE] = ()
        self._forget_grants(draft, s)
        session[at.CALLS], session[at.HEEDS] = (), frozenset()
        for a in self._roster.crew_of(s, draft.actors):
            draft.actor(a)[:] = GONE

    def _on_vanish(self, draft: Draft, s: int) -> None:
        """The server expires the session of a crashed client."""
        session = draft.session(s)
        self._servers.end_session(draft, session[at.ID])
        session[at.QUEUE], session[at.LIFE] = (), "up"
        self._actors.settle(draft, s)

    def _on_expire(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        session[at.LIFE] = "expired"
        session[at.WATCHES] = NO_WATCHES
        forget_lag(session)
        self._servers.end_session(draft, session[at.ID])

    def _on_pause(self, draft: Draft, s: int) -> None:
        self._on_expire(draft, s)
        draft.session(s)[at.LIFE] = "paused"

    def _on_go_on(self, draft: Draft, s: int) -> None:
        draft.session(s)[at.LIFE] = "expired"

    def _on_close(self, draft: Draft, s: int) -> None:
        """Whoever used the session has ended and closes it: the rest is told, its nodes go."""
        session = draft.session(s)
        number = session[at.ID]
        session[at.LIFE] = "closed"
        session[at.QUEUE], session[at.USERS], session[at.WATCHES] = (), frozenset(), NO_WATCHES
        forget_lag(session)
        self._forget_grants(draft, s)
        self._actors.tell_all(draft, s, SessionClosed(CLOSED))
        self._servers.end_session(draft, number)

    def _on_learn(self, draft: Draft, s: int) -> None:
        draft.session(s)[at.LIFE] = "up"
        self._renew(draft, s)

    def _on_give_up(self, draft: Draft, s: int, arrive: int) -> None:
        session = draft.session(s)
        # What was sent still arrives, but who has given up hears of nothing that it brings about.
        session[at.WATCHES] = NO_WATCHES
        for owner, request, _ in session[at.QUEUE][:arrive]:
            self._servers.serve(draft, s, owner, request)
        session[at.GHOSTS] = (*session[at.GHOSTS], session[at.ID])
        session[at.WATCHES] = NO_WATCHES
        self._renew(draft, s)

    def _on_lapse(self, draft: Draft, s: int) -> None:
        number = draft.session(s)[at.ID]
        mortal = set(draft.tree.owned(number))
        lapsed = [g for g in draft.grants if g.session == number and g.path in mortal]
        draft.facts += [Fact("lapsed", grant.actor, grant.path) for grant in lapsed]
        draft.grants = tuple(g for g in draft.grants if g not in lapsed)
        for grant in lapsed:
            self._actors.stir(draft, s, held_key(grant.path, grant.zxid))

    def _on_forget(self, draft: Draft, s: int, ghost: int) -> None:
        session = draft.session(s)
        session[at.GHOSTS] = tuple(each for each in session[at.GHOSTS] if each != ghost)
        self._servers.end_session(draft, ghost)

    def _renew(self, draft: Draft, s: int) -> None:
        """The client knows that its session is over: a new one, and everybody is told."""
        session = draft.session(s)
        session[at.RENEWED] += 1
        session[at.ID] = session_id(s, session[at.RENEWED])
        session[at.QUEUE], session[at.USERS] = (), frozenset()
        self._forget_grants(draft, s)
        crew = self._roster.crew_of(s, draft.actors)
        draft.facts += [Fact("expired", a) for a in crew if draft.actors[a][at.FRAMES]]
        self._actors.tell_all(draft, s, SessionLost("the session is over"))

    def _forget_grants(self, draft: Draft, s: int) -> None:
        draft.grants = tuple(g for g in draft.grants if self._roster.home[g.actor] != s)
