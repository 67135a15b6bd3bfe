"""What can happen next in a state: moves, which come by themselves, and misfortunes."""

from __future__ import annotations

from . import tree as trees
from .state import (
    ACTORS,
    BUDGET,
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
        self.names = [plan.name for plan in world.actors]
        self.session_names = [session.name for session in world.sessions]
        self.home = [plan.session for plan in world.actors]
        self.crew = [
            [a for a, home in enumerate(self.home) if home == s] for s in range(len(world.sessions))
        ]

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
            events += [("forget", s, ghost) for ghost in session[GHOSTS]]
        for a, actor in enumerate(state[ACTORS]):
            does = actor[DOES]
            if does in ("work", "begin"):
                events.append((does, a))
            elif does == "pause":
                events.append(("pause over", a))
        return events

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
            crew = [state[ACTORS][a] for a in self.crew[s]]
            at_home = any(actor[FRAMES] for actor in crew)
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
        for a, actor in enumerate(state[ACTORS]):
            if not actor[FRAMES]:
                continue
            if "cancel" in allowed and actor[CANCELLED] < self.world.cancels:
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
            if life == "crashed" and state[TREE].owned(session[ID]):
                found.append(("vanish", s))
        return found
