"""The actors of a world: running their scripts, one event at a time.

As in a session, the code between two steps that take time is atomic; `Cancelled` is thrown once, a
deadline unwinds the frames above it, and what was sent is on its way whatever becomes of whoever
sent it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

from ..errors import Cancelled, SessionClosed, TimedOut, Unsupported, ZkkitError
from ..scripting import BackgroundActor
from ..steps import (
    Actor,
    Call,
    Guid,
    Look,
    Mark,
    Note,
    Now,
    Proved,
    Random,
    SessionId,
    Spawn,
    StillHeld,
    Stop,
    Together,
    Wait,
    Within,
)
from .errors import Endless, SwallowedCancel
from .helpers import Helpers
from .outside import ReadOutside, WriteOutside, ask_store
from .scripts import Moment, NotComparable, Root, dismiss, value_of
from .state import (
    CALLS,
    CANCELLED,
    DOES,
    ENDED,
    FIRES,
    FRAMES,
    GUIDS,
    ID,
    LAGS,
    LIFE,
    MOMENT,
    OUTCOMES,
    QUEUE,
    RENEWED,
    TABLE,
    UNSEEN,
    VIEW,
    Draft,
    Fact,
    Grant,
)
from .world import Say, Work, World

_PATIENCE = 10_000  # steps that take no time, one after the other
_REFUSALS = 3  # how often a script is told that its session is closed, as in a session


class Actors(Helpers):
    """Those who live in a world, and their scripts."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.roots = [Root(plan.begin, self.pulse) for plan in world.actors]
        self._kept: list[Any] = []  # what the ids in the caches belong to
        self._values: dict[Hashable, Any] = {}
        self._noted: dict[int, Any] = {}
        self._instant: dict[type, Callable[[Draft, int, Any], Any]] = {
            Guid: self._guid,
            Now: lambda draft, actor, step: 0.0,
            Random: lambda draft, actor, step: 0.0,
            Actor: self._who,
            SessionId: lambda draft, actor, step: draft.sessions[self.home[actor]][ID],
            Proved: lambda draft, actor, step: None,  # no time passes in a world
            StillHeld: self._still_held,
            Note: self._note,
            Look: self._look,
            Mark: self._mark,
            Say: self._say,
            ReadOutside: ask_store,
            WriteOutside: ask_store,
        }

    @abstractmethod
    def _leave(self, draft: Draft, a: int) -> None:
        """A run has ended: watches that only it used are removed."""

    def check_purity(self) -> None:
        """Run every script once more as far as it came: some were never run twice."""
        for moment in list(self.pulse.latest.values()):
            moment.root.generator_at(moment)
        self._check_user_code()

    def close(self) -> None:
        """Give up all generators."""
        for generator in self.pulse.generators:
            dismiss(generator)
        self.pulse.generators.clear()

    # --- actors -------------------------------------------------------------------------------

    def _on_begin(self, draft: Draft, a: int) -> None:
        self._resume(draft, a, None)

    def _on_work(self, draft: Draft, a: int) -> None:
        self._resume(draft, a, None)

    def _on_pause_over(self, draft: Draft, a: int) -> None:
        self._on_deadline(draft, a, len(draft.actors[a][FRAMES]) - 1)

    def _on_cancel(self, draft: Draft, a: int) -> None:
        actor = draft.actor(a)
        actor[CANCELLED] += 1
        # A second one comes only in a world that breaks the rule.
        if actor[CANCELLED] > 1 or self._doom(draft, a, 0):
            self._resume(draft, a, None, Cancelled())

    def _on_deadline(self, draft: Draft, a: int, place: int) -> None:
        actor = draft.actor(a)
        frames = list(actor[FRAMES])
        moment, doomed, _, seconds = frames[place]
        frames[place] = (moment, doomed, True, seconds)
        actor[FRAMES] = tuple(frames)
        if self._doom(draft, a, place):
            self._resume(draft, a, None, Cancelled())

    def _doom(self, draft: Draft, a: int, place: int) -> bool:
        actor = draft.actor(a)
        frames = list(actor[FRAMES])
        for index in range(place, len(frames)):
            moment, doomed, expired, seconds = frames[index]
            if doomed:
                frames[index] = (moment, True, False, seconds)
                actor[FRAMES] = tuple(frames)
                return False
            frames[index] = (moment, True, expired, seconds)
        actor[FRAMES] = tuple(frames)
        return True

    def _landed(self, draft: Draft, a: int, outcome: Any) -> bool:
        """One outcome of a flight; true if it was the last and the actor has gone on."""
        actor = draft.actor(a)
        moment = actor[FRAMES][-1][MOMENT]
        outcomes = (*actor[OUTCOMES], outcome)
        if len(outcomes) < len(moment.requests):
            actor[OUTCOMES] = outcomes
            return False
        step = moment.step
        actor[DOES] = ""
        if type(step) is not Together:
            failed = isinstance(outcome, ZkkitError)
            self._resume(draft, a, None if failed else outcome, outcome if failed else None)
        elif step.settle:
            self._resume(draft, a, outcomes)
        else:
            first = next((o for o in outcomes if isinstance(o, ZkkitError)), None)
            self._resume(draft, a, None if first else outcomes, first)
        return True

    def _resume(self, draft: Draft, a: int, value: Any, error: BaseException | None = None) -> None:
        actor = draft.actor(a)
        s = self.home[a]
        if actor[DOES] in ("fly", "call"):
            self._disown(draft, a)
        actor[DOES], actor[OUTCOMES] = "", ()
        frames = list(actor[FRAMES])
        refusals = 0
        for _ in range(_PATIENCE):
            before, doomed, expired, seconds = frames[-1]
            moment: Moment = before.throw(error) if error is not None else before.send(value)
            if moment.ended:
                frames.pop()
                value, error = moment.value, moment.error
                if expired and isinstance(error, Cancelled):
                    value, error = None, TimedOut(f"not done within {seconds:g} s")
                elif doomed and not expired and frames:
                    value, error = None, error or Cancelled()
                if not frames:
                    return self._finish(draft, a, before, error)
                continue
            frames[-1] = (moment, doomed, expired, seconds)
            step = moment.step
            instant = self._instant.get(type(step))
            if instant is not None:
                value, error = instant(draft, a, step), None
                continue
            value, error = None, None
            waits = type(step) is Wait and not actor[FIRES]
            if (moment.requests or waits) and draft.sessions[s][LIFE] == "closed":
                refusals += 1
                error = SessionClosed(CLOSED)
                if refusals > _REFUSALS:
                    return self._finish(draft, a, moment, error)
            elif moment.requests:
                actor[DOES] = "fly"
                session = draft.session(s)
                sent = [(a, request, i) for i, request in enumerate(moment.requests)]
                session[QUEUE] = (*session[QUEUE], *sent)
            elif type(step) is Within:
                frames.append((moment.inner().start, False, False, step.seconds))
            elif type(step) is Wait:
                if not waits:
                    value, actor[FIRES] = actor[FIRES][0], actor[FIRES][1:]
                    continue
                # A bare Wait with a deadline is a pause: that it ends is no fault.
                pausing = len(frames) > 1 and not moment.parent.depth and not doomed  # type: ignore[union-attr]
                actor[DOES] = "pause" if pausing else "wait"
            elif type(step) is Work:
                actor[DOES] = "work"
            elif type(step) is Together:
                value = ()
            elif type(step) is Spawn:
                value = self._spawn(draft, a, moment)
            elif type(step) is Stop:
                actor[FRAMES], actor[DOES] = tuple(frames), "stop"
                if self._stop(draft, moment):
                    return
                actor[DOES] = ""
            elif type(step) is Call:
                actor[DOES] = "call"
                draft.session(s)[CALLS] = (*draft.session(s)[CALLS], (a, moment))
            else:
                raise Unsupported(f"the simulator cannot take the step {step!r} at {moment.where}")
            if actor[DOES]:
                actor[FRAMES] = tuple(frames)
                return
        raise Endless(
            f"after {_PATIENCE} steps that take no time the script still goes on: {moment.where}",
            hint="a loop must wait for something: a request, a watch or a pause",
        )

    def _finish(self, draft: Draft, a: int, last: Moment, error: BaseException | None) -> None:
        actor = draft.actor(a)
        if actor[CANCELLED] and error is None:
            raise SwallowedCancel(
                f"the actor {self.names[a]} was cancelled, and its script ended as if nothing had "
                f"happened, after {last.where}",
                hint="clean up, then let Cancelled pass: `raise` at the end of the except block",
            )
        if isinstance(error, ZkkitError | Cancelled) or error is None or self._is_users(error):
            actor[:] = ENDED
        else:
            raise error
        draft.facts.append(Fact("ended", a, error))
        self._tell_stoppers(draft, a)
        self._leave(draft, a)
        self._settle(draft, self.home[a])

    def _settle(self, draft: Draft, s: int) -> None:
        if any(draft.actors[a][FRAMES] for a in self.crew_of(s, draft.actors)):
            return
        session = draft.session(s)
        session[LAGS], session[UNSEEN], session[VIEW] = False, (), None
        session[TABLE] = ()
        if not session[QUEUE] or session[LIFE] == "expired":
            session[QUEUE] = ()
            session[ID], session[LIFE], session[RENEWED] = 0, "over", 0

    # --- steps that take no time ----------------------------------------------------------------

    def _who(self, draft: Draft, a: int, step: Actor) -> Hashable:
        root = draft.actors[a][FRAMES][0][MOMENT].root
        return BackgroundActor(root.name, a) if root.name else self.names[a]

    def _guid(self, draft: Draft, a: int, step: Guid) -> str:
        actor = draft.actor(a)
        actor[GUIDS] += 1
        return f"{a + 1:08d}-0000-0000-0000-{actor[GUIDS]:012d}"

    def _note(self, draft: Draft, a: int, step: Note) -> None:
        session = draft.session(self.home[a])
        table = tuple(pair for pair in session[TABLE] if pair[0] != step.key)
        if step.value is not None:
            table = (*table, (step.key, self._one_of_a_kind(step)))
        if len(table) > 1:
            table = tuple(sorted(table, key=lambda pair: str(pair[0])))
        session[TABLE] = table

    def _one_of_a_kind(self, step: Note) -> Any:
        """The first value noted that was equal to this one, so that states compare equal."""
        known = self._noted.get(id(step))
        if known is None:
            self._kept.append(step)
            known = step.value
            try:
                known = self._values.setdefault(value_of(known, {}), known)
            except NotComparable:
                pass
            self._noted[id(step)] = known
        return known

    def _look(self, draft: Draft, a: int, step: Look) -> Any:
        table = draft.sessions[self.home[a]][TABLE]
        return next((value for key, value in table if key == step.key), None)

    def _still_held(self, draft: Draft, a: int, step: StillHeld) -> bool:
        return step.session_id in (0, draft.sessions[self.home[a]][ID]) and any(
            (grant.path, grant.zxid) == (step.path, step.zxid) for grant in draft.told
        )

    def _mark(self, draft: Draft, a: int, step: Mark) -> None:
        if step.what in ("gave up", "found"):
            return
        if step.what == "released":
            draft.facts.append(Fact("released", a, step.path, step.zxid))
            draft.told = tuple(g for g in draft.told if (g.path, g.zxid) != (step.path, step.zxid))
            return
        if step.kind == "reentrant":
            draft.facts.append(Fact("reentrant", a, step.path, step.zxid))
            return
        grant = Grant(a, step.path, step.zxid, draft.sessions[self.home[a]][ID])
        draft.facts.append(Fact("acquired", a, step.path, step.zxid))
        draft.told = tuple(sorted((*draft.told, grant)))

    def _say(self, draft: Draft, a: int, step: Say) -> None:
        draft.facts.append(Fact("said", a, step.what, step.amount))


CLOSED = "the session is closed"
