"""Tries all that can happen in the model under a rule. The story it tells is a shortest one."""

from __future__ import annotations

import time
from collections import deque

from ..explore import Verdict
from .model import Ensemble, Event, Model, State
from .rules import ClockRule
from .telling import tell

Came = dict[State, tuple[State, Event] | None]


def try_rule(
    rule: type[ClockRule], ensemble: Ensemble | None = None, *, states: int = 5_000_000
) -> Verdict:
    """Whether a client that goes by this rule ever says valid when it must not. None: more than so
    many `states`. There is no bound on time."""
    model = Model(rule, ensemble or Ensemble())
    began = time.perf_counter()
    came: Came = dict.fromkeys(model.starts())
    queue = deque(came)
    events = 0

    def verdict(holds: bool | None, wrong: str = "", last: State | None = None) -> Verdict:
        story = None if last is None else tell(model, *_way(came, last), wrong)
        spent = time.perf_counter() - began
        return Verdict(holds, len(came), events, spent, str(model.ensemble), story)

    while queue:
        if len(came) > states:
            return verdict(None)
        state = queue.popleft()
        for event in model.events(state):
            events += 1
            after = model.after(state, event)
            if after in came:
                continue
            came[after] = (state, event)
            wrong = model.wrong(after)
            if wrong:
                return verdict(False, wrong, after)
            queue.append(after)
    return verdict(True)


def _way(came: Came, state: State) -> tuple[State, list[Event]]:
    """Where the way to a state begins, and its events."""
    events: list[Event] = []
    while (step := came[state]) is not None:
        state, event = step
        events.append(event)
    return state, events[::-1]


def calm(rule: type[ClockRule], ensemble: Ensemble, units: int) -> list[bool]:
    """A run without a fault, in which everything arrives at once and the client, at a follower,
    sends its longest beat as soon as it may: what its rule says at the end of each unit."""
    model = Model(rule, ensemble)
    state = model.starts()[-1]
    said: list[bool] = []
    while len(said) < units:
        events = [each for each in model.events(state) if each[0] not in ("break", "elect")]
        if not events:
            break  # it has lost its hold
        sends = [each for each in events if each[0] == "send"]
        event = max(sends, key=len) if sends else events[0]
        if event[0] == "time":
            said.append(model.carried.holds(state.rule))
        state = model.after(state, event)
    return said
