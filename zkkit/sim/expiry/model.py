"""How a session lives and dies in an ensemble: the model that rules are tried in.

    client  ->  follower  ->  leader        a new leader, elected by the others
            <-            <-                (the old one does not know it)

- Only the ruling leader's word counts: it expires the session when it has heard nothing of it for
  the timeout. (A real one rounds up to a tick, which only gives the session longer.)
- A follower notes in its touch table that the client was active, and answers pings by itself.
  Syncs and writes go on to the leader, which does *not* take them for a sign of life. The leader
  pings the follower half a tick after the last time; the answer carries the touch table and
  empties it.
- Messages between two servers arrive in the order they were sent, after any time. So a link that is
  cut is a link on which nothing happens to arrive.
- The leader answers a Sync at once. A write needs a quorum: a leader that was deposed answers Syncs
  and takes up sessions, but its writes are never answered.
- A new leader gives the session a full timeout. Whoever is connected to the old one stays there
  until the connection breaks.
- A client at the leader itself is heard at once; so is a connect, through whatever server.
- The client has one request under way at a time: the requests of a beat one after the other, then
  a pause, as long as its rule wants it or longer (the client may stand still).
  When its connection breaks it connects anew to any server. When its rule says that the session may
  be over, it sends nothing more; what is under way may still be answered.

Time is counted in whole units; what happens within one unit happens in any order. A state knows no
time of day, only how long ago things were: so without a bound on time there are finitely many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .carried import OVER, Carried
from .rules import ClockRule

Event = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClockModel:
    """Times in units, and how much may go wrong."""

    timeout: int = 5
    half_tick: int = 1
    late: int = 0
    """How late a leader's ping may be."""
    gap: int = 2
    """How long the client waits after the answer to a beat before the next one."""
    grace: int = 0
    """How much later than the timeout a leader expires a session at the earliest."""
    near: bool = False
    """Whether messages between the client and its server take no time."""
    elections: int = 1
    breaks: int = 1
    """How often the client's connection breaks."""

    def __str__(self) -> str:
        late = f", pings late by up to {self.late}" if self.late else ""
        grace = f", expired {self.grace} later" if self.grace else ""
        near = ", the client beside its server" if self.near else ""
        return (
            f"in units of time: timeout {self.timeout}{grace}, half a tick {self.half_tick}{late}, "
            f"gap {self.gap}; elections up to {self.elections}, broken connections up to "
            f"{self.breaks}{near}"
        )


EXPIRED = -1

# messages between follower and leader
PING, REQUEST = "ping", "request"
ACTIVE = "active"  # the answer to a ping, with the session in it (without it, it says nothing)
ANSWER, CLOSE = "answer", "close"


class State(NamedTuple):
    """How things stand. Ages are in units."""

    heard: int
    """How long ago the ruling leader heard of the session, or EXPIRED."""
    server: str
    """The server to which the client is connected, or connects: leader, follower, or "" (none)."""
    deposed: bool
    """Whether the leader of that server has been deposed."""
    pinged: int
    """How long ago the leader sent the last ping to the follower."""
    noted: bool
    """Whether the follower's touch table has the session."""
    up: tuple[str, ...]
    """What is under way from the follower to its leader, the oldest first."""
    down: tuple[str, ...]
    """What is under way from the leader to the follower."""
    request: str
    """What the client waits for: connect, ping, sync, write, or "" (nothing)."""
    place: str
    """Where that is: "out" to the server, "at" the servers, "back" to the client."""
    sent: int
    """How long ago it was sent."""
    rested: int
    """How long ago the last beat was answered."""
    left: tuple[str, ...]
    """What the client has yet to send of its beat."""
    rule: int
    """What the client's rule remembers."""
    lost: bool
    """Whether the rule has said that the session may be over."""
    elections: int
    breaks: int


class Model:
    """The states of an ensemble with one client that goes by a rule, and what leads to what."""

    def __init__(self, rule: type[ClockRule], ensemble: ClockModel) -> None:
        self.ensemble = ensemble
        self.beats = rule.beats
        self.pause = min(ensemble.gap, rule.pause or ensemble.gap)
        self.carried = Carried(rule, ensemble.timeout, ensemble.gap)
        self._effects: dict[str, Callable[..., State]] = {
            "time": self._on_time,
            "expire": self._on_expire,
            "elect": self._on_elect,
            "break": self._on_break,
            "connect": self._on_connect,
            "send": self._on_send,
            "arrive": self._on_arrive,
            "leader": self._on_leader,
            "ping": self._on_ping,
            "follower": self._on_follower,
            "hear": self._on_hear,
        }

    # --- what can happen ----------------------------------------------------------------------

    def starts(self) -> list[State]:
        """A session has just been made: by a leader, or by a follower for its leader."""
        new = State(
            heard=0, server="leader", deposed=False, pinged=0, noted=False, up=(), down=(),
            request="", place="", sent=0, rested=self.pause, left=(),
            rule=self.carried.born(), lost=False,
            elections=self.ensemble.elections, breaks=self.ensemble.breaks,
        )  # fmt: skip
        phases = range(self.ensemble.half_tick + self.ensemble.late + 1)
        return [new, *[new._replace(server="follower", pinged=phase) for phase in phases]]

    def events(self, state: State) -> list[Event]:
        """What can happen next."""
        if state.lost and not state.request:
            return []  # it has given up, and nothing can revive it
        found: list[Event] = []
        if state.place in ("out", "back"):
            found.append(("arrive",) if state.place == "out" else ("hear",))
            if self.ensemble.near:
                return found
        if state.down:
            found.append(("follower",))
        if state.up:
            found.append(("leader",))
        if self._pings(state) and state.pinged >= self.ensemble.half_tick:
            found.append(("ping",))
        if not state.lost:
            found += self._of_client(state)
            if state.heard >= self.ensemble.timeout + self.ensemble.grace:
                found.append(("expire",))
            if state.elections:
                found.append(("elect",))
        if not self._pings(state) or state.pinged < self.ensemble.half_tick + self.ensemble.late:
            found.append(("time",))
        return found

    def _pings(self, state: State) -> bool:
        """Whether pings matter: those of a deposed leader, or for a dead session, do not."""
        return state.server == "follower" and not state.deposed and state.heard != EXPIRED

    def _of_client(self, state: State) -> list[Event]:
        found: list[Event] = []
        if state.server:
            if not state.request and state.left:
                found.append(("send", *state.left))
            elif not state.request and state.rested >= self.pause:
                found += [("send", *beat) for beat in self.beats]
            if state.breaks:
                found.append(("break",))
        else:
            for server in ("leader", "follower"):
                found.append(("connect", server, "ruling"))
                if state.elections < self.ensemble.elections:
                    found.append(("connect", server, "deposed"))
        return found

    def wrong(self, state: State) -> tuple[str, str] | None:
        """What is wrong in a state, if anything: which property it breaks, and in words."""
        if not self.carried.holds(state.rule):
            return None
        if state.heard == EXPIRED:
            return "valid means alive", "the client says valid, but its session has expired"
        if state.lost:
            return "lost is final", "the client says valid after it has said lost"
        return None

    # --- what it leads to ---------------------------------------------------------------------

    def after(self, state: State, event: Event) -> State:
        """The state after an event."""
        after = self._effects[event[0]](state, *event[1:])
        if not after.lost and not self.carried.holds(after.rule):
            after = after._replace(lost=True)
        return after

    def _on_time(self, state: State) -> State:
        ensemble = self.ensemble
        heard, oldest = state.heard, ensemble.timeout + ensemble.grace
        return state._replace(
            heard=heard if heard == EXPIRED else min(heard + 1, oldest),
            pinged=state.pinged + 1 if self._pings(state) else 0,
            sent=min(state.sent + 1, ensemble.timeout) if state.request else 0,
            rested=min(state.rested + 1, self.pause),
            rule=self.carried.later(state.rule),
        )

    def _on_expire(self, state: State) -> State:
        state = state._replace(heard=EXPIRED)
        if state.deposed or not state.server:
            return state  # nobody tells the client: the deposed leader knows nothing of it
        if state.server == "leader":
            return self._over(state)
        return state._replace(down=(*state.down, CLOSE))

    def _on_elect(self, state: State) -> State:
        """The others elect a leader. It has the session if it has not expired."""
        return state._replace(
            heard=EXPIRED if state.heard == EXPIRED else 0,
            deposed=True,
            pinged=0,
            noted=False,
            up=tuple(each for each in state.up if each == REQUEST),
            down=tuple(each for each in state.down if each == ANSWER),
            elections=state.elections - 1,
        )

    def _on_break(self, state: State) -> State:
        """What was under way is gone with the connection; what the follower had noted, too, as
        though it had stopped: the worst that can become of it."""
        return state._replace(
            server="", deposed=False, pinged=0, noted=False, up=(), down=(), request="", place="",
            sent=0, rested=0, left=(), rule=self.carried.disconnected(state.rule),
            breaks=state.breaks - 1,
        )  # fmt: skip

    def _on_connect(self, state: State, server: str, leader: str) -> State:
        deposed = leader == "deposed"
        return state._replace(
            server=server, deposed=deposed, request="connect", place="out", sent=0
        )

    def _on_send(self, state: State, request: str, *left: str) -> State:
        return state._replace(request=request, place="out", sent=0, left=left)

    def _on_arrive(self, state: State) -> State:
        """The client's request reaches its server."""
        if state.server == "leader":
            return self._leader_takes(state, back=True)
        state = state._replace(noted=not state.deposed)
        if state.request == "ping":
            return state._replace(place="back")
        return state._replace(place="at", up=(*state.up, REQUEST))

    def _on_leader(self, state: State) -> State:
        """The leader takes the follower's next message."""
        message, *rest = state.up
        state = state._replace(up=tuple(rest))
        if message == REQUEST:
            return self._leader_takes(state, back=False)
        if message == ACTIVE and state.heard != EXPIRED:
            return state._replace(heard=0)
        return state

    def _leader_takes(self, state: State, *, back: bool) -> State:
        """The leader takes the client's request; the answer goes `back` to a client of its own, or
        down to the follower."""
        if not state.deposed:
            if state.heard == EXPIRED:
                return self._over(state) if back else state._replace(down=(*state.down, CLOSE))
            if back or state.request == "connect":
                state = state._replace(heard=0)
        elif state.request == "write":
            return state._replace(place="at")  # for ever: no quorum accepts it
        if back:
            return state._replace(place="back")
        return state._replace(down=(*state.down, ANSWER))

    def _on_ping(self, state: State) -> State:
        """Two of many pings in a row are enough: one to take what the follower has noted before,
        one for the client's next request; there is no other request before its answer."""
        more = state.down[-2:] != (PING, PING)
        return state._replace(pinged=0, down=(*state.down, PING) if more else state.down)

    def _on_follower(self, state: State) -> State:
        """The follower takes its leader's next message."""
        message, *rest = state.down
        state = state._replace(down=tuple(rest))
        if message == PING:
            if not state.noted:
                return state  # its answer tells the leader nothing
            return state._replace(noted=False, up=(*state.up, ACTIVE))
        return self._over(state) if message == CLOSE else state._replace(place="back")

    def _on_hear(self, state: State) -> State:
        """The client hears the answer it waits for."""
        if state.request == "connect":
            rule, rested = self.carried.reconnected(state.rule, state.sent), self.pause
        else:
            rule, rested = self.carried.answered(state.rule, state.request, state.sent), 0
        return state._replace(request="", place="", sent=0, rested=rested, rule=rule)

    def _over(self, state: State) -> State:
        """The client is told that its session has expired: it believes nothing any more."""
        return state._replace(
            server="", up=(), down=(), request="", place="", sent=0, rule=OVER, lost=True,
        )  # fmt: skip
