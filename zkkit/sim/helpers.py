"""Scripts in the background of a session, and user code: what `Spawn`, `Stop` and `Call` mean.

As in a session: a spawned script begins when the one that spawned it comes to wait, and lives on
when that one has ended. Nobody cancels it but `Stop`, which waits until it has cleaned up. When all
others in its session have ended the session may be closed at any time: whoever is left is told
`SessionClosed`, gets no further request through, and the session's ephemeral nodes go.

User code runs in the order in which it was asked for, one piece at a time in each session, while
others move; also if whoever asked has been cancelled. It must be deterministic: it is called once
for each point of a script at which it is asked for, and once more in the end, to see.

The k-th script that an actor spawns has a number that depends on nothing else, so that a story
means the same in every exploration, and states do not depend on who spawned first.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ..errors import Cancelled, NotAStep
from ..steps import Spawned
from .choices import Choices
from .errors import Impure
from .scripts import Moment, NotComparable, endless, value_of
from .state import (
    CALLS,
    CANCELLED,
    DOES,
    ENDED,
    FRAMES,
    MOMENT,
    OUTCOMES,
    QUEUE,
    SPAWNS,
    Draft,
    Fact,
)
from .watchdog import Pulse, Stuck
from .world import World


class Helpers(Choices):
    """The background of the sessions."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.pulse = Pulse()
        self._called: dict[Moment, tuple[Any, BaseException | None]] = {}

    @abstractmethod
    def _resume(self, draft: Draft, a: int, value: Any, error: BaseException | None = None) -> None:
        """Send an actor's script results until it has to wait, or has ended."""

    @abstractmethod
    def _settle(self, draft: Draft, s: int) -> None:
        """Where nobody is left in a session, forget what makes no difference any more."""

    @abstractmethod
    def _doom(self, draft: Draft, a: int, place: int) -> bool:
        """Let all frames from this one up unwind, unless the upper ones are at it already."""

    def _drain(self, draft: Draft) -> None:
        """Let everybody move whose turn has come with this event."""
        while draft.ready:
            a, error = draft.ready.pop(0)
            if draft.actors[a][DOES] == "ready":
                self._resume(draft, a, None, error)
        while len(draft.actors) > self.count and tuple(draft.actors[-1]) == ENDED:
            draft.actors.pop()

    def _disown(self, draft: Draft, a: int) -> None:
        """It is interrupted: what it asked for is on its way all the same."""
        does = draft.actors[a][DOES]
        session = draft.session(self.home[a])
        if does == "fly":
            session[QUEUE] = tuple(
                (-1 if owner == a else owner, request, i) for owner, request, i in session[QUEUE]
            )
        elif does == "call":
            session[CALLS] = tuple(
                (-1 if owner == a else owner, moment) for owner, moment in session[CALLS]
            )

    # --- spawning and stopping ------------------------------------------------------------------

    def _spawn(self, draft: Draft, a: int, moment: Moment) -> Spawned:
        parent = draft.actor(a)
        number = self.count + _pair(a, parent[SPAWNS])
        parent[SPAWNS] += 1
        name = moment.step.name
        missing = number + 1 - len(self.names)
        self.names += [""] * missing
        self.home += [-1] * missing
        self.names[number] = f"{self.names[a]}'s {name}" + f" {parent[SPAWNS]}" * (
            parent[SPAWNS] > 1
        )
        self.home[number] = self.home[a]
        draft.actors += [ENDED] * (number + 1 - len(draft.actors))
        frame = (moment.inner().start, False, False, 0.0)
        draft.actors[number] = [(frame,), "ready", *ENDED[2:]]
        draft.ready.append((number, None))
        draft.facts.append(Fact("spawned", a, number))
        return Spawned(number)

    def _stop(self, draft: Draft, moment: Moment) -> bool:
        """Cancel a background script; false if it has ended."""
        target = getattr(moment.step.spawned, "number", None)
        if type(target) is not int:
            raise NotAStep(
                f"{moment.step!r} stops nothing: {moment.where}",
                hint="give it what Spawn has given",
            )
        if target >= len(draft.actors) or not draft.actors[target][FRAMES]:
            return False
        actor = draft.actor(target)
        if not actor[CANCELLED]:
            actor[CANCELLED] = 1
            if self._doom(draft, target, 0):
                self._disown(draft, target)
                actor[DOES], actor[OUTCOMES] = "ready", ()
                draft.ready = [each for each in draft.ready if each[0] != target]
                draft.ready.append((target, Cancelled()))
        return True

    def _tell_stoppers(self, draft: Draft, ended: int) -> None:
        for a in self.crew_of(self.home[ended], draft.actors):
            actor = draft.actors[a]
            if actor[DOES] == "stop" and actor[FRAMES][-1][MOMENT].step.spawned.number == ended:
                draft.actor(a)[DOES] = "ready"
                draft.ready.append((a, None))

    # --- user code ------------------------------------------------------------------------------

    def _on_call(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        (owner, moment), *later = session[CALLS]
        session[CALLS] = tuple(later)
        known = self._called.get(moment)
        if known is None:
            known = self._called[moment] = self._run_user_code(moment)
        value, error = known
        draft.facts.append(Fact("called", owner, moment.step, value if error is None else error))
        if owner >= 0:
            draft.actor(owner)[DOES] = ""
            self._resume(draft, owner, value, error)

    def _run_user_code(self, moment: Moment) -> tuple[Any, BaseException | None]:
        step = moment.step
        pulse = self.pulse
        pulse.count += 1
        pulse.inside = True
        try:
            return step.function(*step.args), None
        except Stuck as stuck:
            raise endless(stuck) from None
        except (Exception, SystemExit) as error:
            return None, error.with_traceback(None)
        finally:
            pulse.inside = False

    def _is_users(self, error: BaseException) -> bool:
        """Whether user code raised it: no bug of the script."""
        return any(error is raised for _, raised in self._called.values())

    def _check_user_code(self) -> None:
        for moment, outcome in list(self._called.items()):
            again = self._run_user_code(moment)
            if not _alike(outcome, again):
                shown = [value if error is None else error for value, error in (outcome, again)]
                raise Impure(
                    f"user code is not a function of its arguments: {moment.step!r} at "
                    f"{moment.where} gave {shown[0]!r}, and then {shown[1]!r}",
                    hint="in the simulator let Call run something that gives the same every time",
                )


def _pair(parent: int, nth: int) -> int:
    """A number for each pair of numbers, and small ones for small ones (Cantor's)."""
    return (parent + nth) * (parent + nth + 1) // 2 + nth


def _alike(one: Any, other: Any) -> bool:
    try:
        return bool(value_of(one, {}) == value_of(other, {}))
    except NotComparable:
        return True  # cannot tell
