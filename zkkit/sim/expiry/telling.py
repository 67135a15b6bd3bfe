"""Tells a way through the model as a story, in scenes like those of a world.

The client's hold is told as a node that is there until its session expires; the client holds as
long as it says valid. Nobody does two things in one scene, so that a picture keeps their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..scenes import Belief, Deed, Lane, Scene, Znode
from ..story import Breach, Story
from .model import ACTIVE, ANSWER, EXPIRED, PING, Event, Model, State

CLIENT, FOLLOWER, LEADER, NEW_LEADER = "client", "follower", "leader", "new leader"
HOLD = "/hold"
_FAULTS = {
    "break": "the client's connection breaks",
    "elect": "the others elect a new leader, which gives the session a full timeout; "
    "the old one does not know it",
}
_TOLD = {"expire": "expires"}  # what comes by itself is no fault
_NAMES = {"sync": "Sync"}


class ModelStep(NamedTuple):
    """An event, and the states and the time around it."""

    event: Event
    before: State
    after: State
    now: int
    heard_at: int
    """When the ruling leader had last heard of the session."""

    @property
    def kind(self) -> str:
        return self.event[0]

    @property
    def quiet(self) -> bool:
        """Whether time passes, with the leader's pings, and nothing comes of it yet."""
        return self.kind in ("time", "ping") and self.before.lost == self.after.lost


def tell(model: Model, start: State, events: Sequence[Event], breach: Breach) -> Story:
    """The story of these events."""
    teller = _Teller(model)
    groups = _grouped(_steps(model, start, events), teller.who)
    scenes = [teller.scene("at the beginning", start)]
    told: list[Event] = []
    for group in groups:
        scene = teller.quietly(group) if group[0].quiet else teller.busily(group)
        if scene is not None:
            scenes.append(scene)
            told.append(tuple(_TOLD.get(each.kind, each.kind) for each in group))
    names = {deed.who for scene in scenes for deed in scene.deeds}
    lanes = [Lane(CLIENT, "its session")]
    lanes += [Lane(name, "") for name in (FOLLOWER, LEADER, NEW_LEADER) if name in names]
    drawn = tuple(scene._replace(doing=("works",) * len(lanes)) for scene in scenes)
    return Story(breach.text, breach.breaks, tuple(told), tuple(lanes), drawn, str(model.ensemble))


def _steps(model: Model, state: State, events: Sequence[Event]) -> list[ModelStep]:
    steps, now, heard_at = [], 0, 0
    for event in events:
        after = model.after(state, event)
        steps.append(ModelStep(event, state, after, now, heard_at))
        now += event[0] == "time"
        if after.heard == 0 and state.heard != 0:
            heard_at = now
        state = after
    return steps


def _grouped(steps: Sequence[ModelStep], who: Callable[[ModelStep], str]) -> list[list[ModelStep]]:
    """Those that make a scene each."""
    groups: list[list[ModelStep]] = []
    for step in steps:
        last = groups[-1] if groups else []
        alone = step.kind in _FAULTS or (last and last[-1].kind in _FAULTS)
        joins = last and not alone and last[-1].quiet == step.quiet
        if joins and not step.quiet:
            joins = last[-1].now == step.now and who(step) not in map(who, last)
        if joins:
            last.append(step)
        else:
            groups.append([step])
    return groups


class _Teller:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.elections = model.ensemble.elections

    def scene(self, head: str, state: State, *deeds: Deed, fault: str = "") -> Scene:
        """A scene, and how things stand after it."""
        alive = state.heard != EXPIRED
        valid = self.model.carried.holds(state.rule)
        return Scene(
            head, fault, tuple(deed.who for deed in deeds), deeds,
            (Znode(HOLD, "the client"),) if alive else (), (),
            (Belief(CLIENT, HOLD, alive),) if valid else (), (), (),
        )  # fmt: skip

    def busily(self, group: Sequence[ModelStep]) -> Scene:
        """What happened in one unit of time."""
        last = group[-1]
        head = f"at {last.now + (last.kind == 'time')}"
        if last.kind in _FAULTS:
            return self.scene(f"FAULT: {head} {_FAULTS[last.kind]}", last.after, fault=last.kind)
        deeds = [Deed("does", self.who(each), self.text(each)) for each in group]
        return self.scene(head, last.after, *deeds)

    def quietly(self, group: Sequence[ModelStep]) -> Scene | None:
        """What the leader sent meanwhile, if anything."""
        pings = [step.now for step in group if step.kind == "ping"]
        if not pings:
            return None
        first, state = pings[0], group[-1].after
        passed = group[-1].now + (group[-1].kind == "time") > first
        stuck = "; nothing arrives" if passed and PING in state.down else ""
        deeds = [Deed("does", self._leader(state), f"pings the follower{stuck}")]
        if passed and ACTIVE in state.up:
            deeds.append(Deed("does", FOLLOWER, "has answered a ping; that is still under way"))
        head = f"at {first}" if first == pings[-1] else f"from {first} to {pings[-1]}"
        return self.scene(head, state, *deeds)

    # --- who does what ------------------------------------------------------------------------

    def _ruling(self, state: State) -> str:
        return LEADER if state.elections == self.elections else NEW_LEADER

    def _leader(self, state: State) -> str:
        """The leader of the client's server, as it believes."""
        return LEADER if state.deposed else self._ruling(state)

    def who(self, step: ModelStep) -> str:
        """Whose deed an event is."""
        before = step.before
        if step.kind == "expire":
            return self._ruling(before)
        if step.kind in ("leader", "ping") or (step.kind == "arrive" and before.server == "leader"):
            return self._leader(before)
        return FOLLOWER if step.kind in ("arrive", "follower") else CLIENT

    def text(self, step: ModelStep) -> str:
        """What it does."""
        kind, before = step.kind, step.before
        request = _NAMES.get(before.request, before.request)
        if kind == "expire":
            return f"has heard nothing of the session since {step.heard_at}, and expires it"
        if kind == "send":
            return f"sends a {_NAMES.get(step.event[1], step.event[1])}"
        if kind == "connect":
            _, server, leader = step.event
            name = self._ruling(before) if leader == "ruling" else f"deposed {LEADER}"
            return f"connects to {'a follower of ' if server == 'follower' else ''}the {name}"
        if kind == "arrive" and before.server == "follower":
            if request == "ping":
                return "notes that the client is active, and answers the ping by itself"
            return f"notes that the client is active, and passes the {request} on"
        if kind == "follower":
            return self._follower_takes(before)
        if kind in ("arrive", "leader"):
            return self._leader_takes(step, request)
        if kind == "hear":
            return f"hears the answer to its {request}: valid until {self._until(step)}"
        return "says: lost, the session may be over"

    def _follower_takes(self, before: State) -> str:
        if before.down[0] == ANSWER:
            return "passes the answer on"
        if before.down[0] == PING:
            told = "the client was active" if before.noted else "nothing to tell"
            return f"answers the ping: {told}"
        return "closes the client's connection: the session has expired"

    def _leader_takes(self, step: ModelStep, request: str) -> str:
        before, after = step.before, step.after
        if step.kind == "leader" and before.up[0] == ACTIVE:
            return "hears that the client was active"
        if before.heard == EXPIRED and not before.deposed:
            return "refuses it: the session has expired"
        if before.deposed:
            if request == "write":
                return "finds no quorum for the write"
            return f"answers the {request}, though it is deposed"
        if request == "write":
            return "answers the write: a quorum has accepted it"
        heard = "hears of the session, and " if after.heard == 0 and before.heard else ""
        return f"{heard}answers the {request}"

    def _until(self, step: ModelStep) -> int:
        """The moment until which the client says valid, if nothing more is answered."""
        carried, rule, units = self.model.carried, step.after.rule, 0
        while carried.holds(rule):
            rule, units = carried.later(rule), units + 1
        return step.now + units
