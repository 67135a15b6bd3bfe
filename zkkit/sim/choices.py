"""What can happen next in a state: moves, which come by themselves, and misfortunes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import tree as trees
from .state import (
    ACTORS,
    BUDGET,
    CALLS,
    CANCELLED,
    DOES,
    DOOMED,
    FRAMES,
    GHOSTS,
    ID,
    INDEX,
    LAGS,
    LIFE,
    OUTCOMES,
    QUEUE,
    SESSIONS,
    TOLD,
    TREE,
    UNSEEN,
    USERS,
    Event,
    State,
)
from .tree import WRITES
from .world import World


class Choices:
    """Knows what can happen in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.count = len(world.actors)
        # Those who are spawned are added to these two when they first appear.
        self.names = [plan.name for plan in world.actors]
        self.session_names = [session.name for session in world.sessions]
        self.home = [plan.session for plan in world.actors]
        self.crew = [
            [a for a, home in enumerate(self.home) if home == s] for s in range(len(world.sessions))
        ]

    def crew_of(self, s: int, actors: Sequence[Any]) -> Sequence[int]:
        """Who lives in a session, with those who were spawned."""
        if len(actors) == self.count:
            return self.crew[s]
        spawned = range(self.count, len(actors))
        return [*self.crew[s], *[a for a in spawned if self.home[a] == s]]

    def moves(self, state: State) -> list[Event]:
        """What can happen by itself."""
        events: list[Event] = []
        for s, session in enumerate(state[SESSIONS]):
            life = session[LIFE]
            if session[QUEUE] and life in ("up", "crashed"):
                events.append(("apply", s))
            if session[UNSEEN] and life == "up":
                events.append(("catch up", s))
            if life == "expired":
                events.append(("learn", s))
            elif life == "crashed":
                events.append(("vanish", s))
            elif life == "paused":
                events.append(("go on", s))
            if session[CALLS] and life != "paused":
                events.append(("call", s))
            events += [("forget", s, ghost) for ghost in session[GHOSTS]]
        actors = state[ACTORS]
        for a, actor in enumerate(actors):
            does = actor[DOES]
            if does not in ("work", "begin", "pause") or self._stands_still(state, a):
                continue
            events.append(("pause over", a) if does == "pause" else (does, a))
        if len(actors) > self.count:
            events += [("close", s) for s in range(len(self.crew)) if self._may_close(state, s)]
        return events

    def _stands_still(self, state: State, a: int) -> bool:
        return bool(state[SESSIONS][self.home[a]][LIFE] == "paused")

    def _may_close(self, state: State, s: int) -> bool:
        """Whether only those are left in a session who were spawned."""
        actors = state[ACTORS]
        return (
            state[SESSIONS][s][LIFE] == "up"
            and not any(actors[a][FRAMES] for a in self.crew[s])
            and any(actors[a][FRAMES] for a in self.crew_of(s, actors))
        )

    def misfortunes(self, state: State) -> list[Event]:
        """Which faults can happen."""
        budget = state[BUDGET]
        if not budget[0]:
            return []
        events: list[Event] = []
        allowed = {kind for kind, place in INDEX.items() if budget[place]}
        for s, session in enumerate(state[SESSIONS]):
            if session[LIFE] != "up":
                continue
            actors = state[ACTORS]
            at_home = any(actors[a][FRAMES] for a in self.crew_of(s, actors))
            if session[QUEUE]:
                if "request lost" in allowed:
                    events.append(("request lost", s))
                owner = session[QUEUE][0][0]
                if "reply lost" in allowed and owner >= 0:
                    applied = len(state[ACTORS][owner][OUTCOMES])
                    lost = [("reply lost", s, first) for first in range(applied, -1, -1)]
                    events += lost
                    may_lag = "lag" in allowed and budget[0] > 1 and not session[LAGS]
                    if may_lag and isinstance(session[QUEUE][0][1], WRITES):
                        # It connects again, to a follower that has not seen its write.
                        events += [("lag", s, *each) for each in lost]
            elif "request lost" in allowed and session[USERS]:
                events.append(("request lost", s))
            if at_home:
                events += [(kind, s) for kind in ("crash", "expire") if kind in allowed]
                if "give up" in allowed:
                    events += [("give up", s, arrive) for arrive in {0, len(session[QUEUE])}]
                if "lag" in allowed and not session[LAGS]:
                    events += [("lag", s, *move) for move in self._commits(state, s)]
                if "pause" in allowed and any(self.home[g.actor] == s for g in state[TOLD]):
                    events.append(("pause", s))
                if "lapse" in allowed and any(g.session == session[ID] for g in state[TOLD]):
                    events.append(("lapse", s))
        for a, actor in enumerate(state[ACTORS]):
            if not actor[FRAMES] or self._stands_still(state, a):
                continue
            # Nobody waits for a spawned one: nobody but Stop cancels it.
            if "cancel" in allowed and actor[CANCELLED] < self.world.cancels and a < self.count:
                events.append(("cancel", a))
            if "deadline" in allowed and actor[DOES] != "pause":
                events += [
                    ("deadline", a, place)
                    for place, frame in enumerate(actor[FRAMES])
                    if place and not frame[DOOMED]
                ]
        if "reap" in allowed:
            events += [("reap", path) for path in trees.reapable(state[TREE])]
        return events

    def _commits(self, state: State, lagging: int) -> list[Event]:
        """The moves of others that change the tree: a lag begins with the first change missed."""
        found: list[Event] = []
        for s, session in enumerate(state[SESSIONS]):
            life, queue = session[LIFE], session[QUEUE]
            writes = bool(queue) and isinstance(queue[0][1], WRITES)
            if writes and s != lagging and life in ("up", "crashed"):
                found.append(("apply", s))
            owned = state[TREE].owned
            if life == "crashed" and owned(session[ID]):
                found.append(("vanish", s))
            found += [("forget", s, ghost) for ghost in session[GHOSTS] if owned(ghost)]
            if s != lagging and self._may_close(state, s) and owned(session[ID]):
                found.append(("close", s))
        return found
