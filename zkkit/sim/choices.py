"""What can happen next in a state: moves, which come by themselves, and misfortunes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..kernel import RUNS
from ..steps import Children
from . import state as at
from . import tree as trees
from .roster import Roster
from .state import Event, State
from .tree import ANY_ORDER, WRITES, Tree


class Choices:
    """Knows what can happen in a world. `place`: where in the budget each kind of fault stands;
    `cancels`: how often an actor may be cancelled; `whom`: the actors that faults strike (all, if
    nobody is named), and with them the sessions they live in; `listing`: the order of children."""

    def __init__(
        self,
        roster: Roster,
        cancels: int,
        place: Mapping[str, int],
        whom: Collection[str] = (),
        listing: str = "",
    ) -> None:
        self._roster = roster
        self._home = roster.home
        self._cancels = cancels
        self.place = place
        self._any_order = listing == ANY_ORDER
        unknown = {*whom} - {*roster.names}
        if unknown:
            raise ValueError(
                f"faults cannot strike {', '.join(sorted(unknown))}: the actors are "
                f"{', '.join(roster.names)}"
            )
        struck = [a for a in range(roster.count) if not whom or roster.names[a] in whom]
        self._spared = frozenset(range(roster.count)).difference(struck)
        homes = {roster.home[a] for a in struck} if whom else range(len(roster.crew))
        self._struck_sessions = frozenset(homes)

    def moves(self, state: State) -> list[Event]:
        """What can happen by itself."""
        events: list[Event] = []
        for s, session in enumerate(state[at.SESSIONS]):
            life = session[at.LIFE]
            if session[at.QUEUE] and life in ("up", "crashed"):
                events.append(("apply", s))
                if self._any_order and self._may_turn(state, s):
                    events.append(("apply", s, "reversed"))
            if session[at.UNSEEN] and life == "up":
                events.append(("catch up", s))
            if life == "expired":
                events.append(("learn", s))
            elif life == "crashed":
                events.append(("vanish", s))
            elif life == "paused":
                events.append(("go on", s))
            if session[at.CALLS] and life != "paused":
                events.append(("call", s))
            for ghost in session[at.GHOSTS]:
                events.append(("forget", s, ghost))
        actors = state[at.ACTORS]
        for a, actor in enumerate(actors):
            does = actor[at.DOES]
            if does not in ("work", "begin", "come", "pause") or self._stands_still(state, a):
                continue
            events.append(("pause over", a) if does == "pause" else (does, a))
        if len(actors) > self._roster.count:
            events += [
                ("close", s) for s in range(len(self._roster.crew)) if self._may_close(state, s)
            ]
        return events

    def _may_turn(self, state: State, s: int) -> bool:
        """Whether the children that a session is about to list could come in another order."""
        session = state[at.SESSIONS][s]
        request = session[at.QUEUE][0][1]
        if type(request) is not Children:
            return False
        shown: Tree = state[at.TREE] if session[at.VIEW] is None else session[at.VIEW]
        listed = shown.nodes.get(request.path)
        return listed is not None and len(listed.children) > 1

    def _stands_still(self, state: State, a: int) -> bool:
        return bool(state[at.SESSIONS][self._home[a]][at.LIFE] == "paused")

    def _may_close(self, state: State, s: int) -> bool:
        """Whether only those are left in a session who were spawned."""
        actors = state[at.ACTORS]
        return (
            state[at.SESSIONS][s][at.LIFE] == "up"
            and not any(actors[a][at.FRAMES] for a in self._roster.crew[s])
            and any(actors[a][at.FRAMES] for a in self._roster.crew_of(s, actors))
        )

    def misfortunes(self, state: State) -> list[Event]:
        """Which faults can happen. Who has not come yet is struck by none, but its follower may lag
        already."""
        budget = state[at.BUDGET]
        if not budget[0]:
            return []
        events: list[Event] = []
        allowed = {kind for kind, place in self.place.items() if budget[place]}
        for s, session in enumerate(state[at.SESSIONS]):
            if session[at.LIFE] != "up" or s not in self._struck_sessions:
                continue
            actors = state[at.ACTORS]
            does = [actors[a][at.DOES] for a in self._roster.crew_of(s, actors)]
            at_home = does.count("ended") < len(does)
            if session[at.QUEUE]:
                if "request lost" in allowed:
                    events.append(("request lost", s))
                owner = session[at.QUEUE][0][0]
                if "reply lost" in allowed and owner >= 0:
                    applied = len(state[at.ACTORS][owner][at.OUTCOMES])
                    lost = [("reply lost", s, first) for first in range(applied, -1, -1)]
                    events += lost
                    may_lag = "lag" in allowed and budget[0] > 1 and not session[at.LAGS]
                    if may_lag and isinstance(session[at.QUEUE][0][1], WRITES):
                        # It connects again, to a follower that has not seen its write.
                        events += [("lag", s, *each) for each in lost]
            elif "request lost" in allowed and session[at.USERS]:
                events.append(("request lost", s))
            lags: list[Event] = []
            if at_home and "lag" in allowed and not session[at.LAGS]:
                lags = [("lag", s, *move) for move in self._commits(state, s)]
            if "come" in does:
                events += lags
            elif at_home:
                events += [(kind, s) for kind in ("crash", "expire") if kind in allowed]
                if "give up" in allowed:
                    events += [("give up", s, arrive) for arrive in {0, len(session[at.QUEUE])}]
                events += lags
                if "pause" in allowed and any(self._home[g.actor] == s for g in state[at.GRANTS]):
                    events.append(("pause", s))
                if "lapse" in allowed and any(
                    g.session == session[at.ID] for g in state[at.GRANTS]
                ):
                    events.append(("lapse", s))
        for a, actor in enumerate(state[at.ACTORS]):
            if not actor[at.FRAMES] or a in self._spared or self._stands_still(state, a):
                continue
            if actor[at.DOES] == "come":
                continue
            if self._home[a] not in self._struck_sessions:
                continue  # spawned by somebody who is spared
            # Nobody waits for a spawned one: nobody but Stop cancels it.
            if "cancel" in allowed and actor[at.CANCELS] < self._cancels and a < self._roster.count:
                events.append(("cancel", a))
            if "deadline" in allowed and actor[at.DOES] != "pause":
                events += [
                    ("deadline", a, place)
                    for place, frame in enumerate(actor[at.FRAMES])
                    if place and frame[at.FATE] == RUNS
                ]
        if "reap" in allowed:
            events += [("reap", path) for path in trees.reapable(state[at.TREE])]
        return events

    def _commits(self, state: State, lagging: int) -> list[Event]:
        """The moves of others that change the tree: a lag begins with the first change missed."""
        found: list[Event] = []
        for s, session in enumerate(state[at.SESSIONS]):
            life, queue = session[at.LIFE], session[at.QUEUE]
            writes = bool(queue) and isinstance(queue[0][1], WRITES)
            if writes and s != lagging and life in ("up", "crashed"):
                found.append(("apply", s))
            owned = state[at.TREE].owned
            if life == "crashed" and owned(session[at.ID]):
                found.append(("vanish", s))
            found += [("forget", s, ghost) for ghost in session[at.GHOSTS] if owned(ghost)]
            if s != lagging and self._may_close(state, s) and owned(session[at.ID]):
                found.append(("close", s))
        return found
