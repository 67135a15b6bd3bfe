"""Tries all that can happen in the model under a rule. The story it tells is a shortest one."""

from __future__ import annotations

import time
from collections import deque

from ..explore import way_to
from ..story import Breach
from ..verdict import Verdict
from .model import ClockModel, Event, Model, State
from .rules import ClockRule
from .telling import tell

ASKED = ("valid means alive", "lost is final")


def try_rule(
    rule: type[ClockRule], ensemble: ClockModel | None = None, *, states: int = 5_000_000
) -> Verdict:
    """Whether a client that goes by this rule ever says valid when it must not. None: more than so
    many `states`. There is no bound on time."""
    model = Model(rule, ensemble or ClockModel())
    began = time.perf_counter()
    came: dict[State, tuple[State, Event] | None] = dict.fromkeys(model.starts())
    queue = deque(came)
    events = 0

    def verdict(
        holds: bool | None, wrong: tuple[str, str] = ("", ""), last: State | None = None
    ) -> Verdict:
        stories = () if last is None else (tell(model, *way_to(last, came), Breach(*wrong)),)
        spent = time.perf_counter() - began
        complete = "given up" if holds is None else "all explored" if holds else "bounded"
        bounds = str(model.ensemble)
        return Verdict(holds, len(came), events, spent, bounds, ASKED, stories, complete)

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


def calm(rule: type[ClockRule], ensemble: ClockModel, units: int) -> list[bool]:
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
