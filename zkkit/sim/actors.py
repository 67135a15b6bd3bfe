"""The actors of a world: running their scripts, one event at a time, by the kernel's rules.

As in a session, the code between two steps that take time is atomic, and what was sent is on its
way whatever becomes of whoever sent it.

A spawned script begins when the one that spawned it comes to wait, and lives on when that one has
ended. Nobody cancels it but `Stop`, which waits until it has cleaned up. When all others in its
session have ended the session may be closed at any time: whoever is left is told `SessionClosed`,
gets no further request through, and the session's ephemeral nodes go.

User code runs in the order in which it was asked for, one piece at a time in each session, while
others move; also if whoever asked has been cancelled. If nobody waits for it, when it runs makes no
difference. User code that is employed is a script here, and an actor of its own. Nobody interrupts
it: that its session is over it learns from its own requests only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from .. import steps
from ..errors import (
    Cancelled,
    InvalidPath,
    NotAStep,
    SessionClosed,
    SessionLost,
    ZkkitError,
)
from ..kernel import (
    CANCELLED,
    ENDED,
    HINT,
    PENDING,
    RUNS,
    TIMED_OUT,
    Host,
    advance,
    flight_result,
    held_key,
    interrupt,
    refuse,
)
from ..scripting import BackgroundActor
from . import state as at
from .errors import Endless, SwallowedCancel
from .outside import ReadOutside, WriteOutside, ask_store
from .roster import Roster
from .scripts import Moment, NotComparable, tellable, value_of
from .state import GONE, LEFT, Draft, Fact, Grant, State, disowned, forget_lag
from .steps import Say, Work
from .user_code import UserCode
from .watch_users import WatchUsers

CLOSED = "the session is closed"
USER_CODE = "user code"
_PATIENCE = 10_000  # steps that take no time, one after the other
_SWALLOWED = SwallowedCancel(
    "it was cancelled, and ended as if nothing had happened",
    hint="clean up, then let Cancelled pass: `raise` at the end of the except block",
)
_TELLING = frozenset({"said", "acquired", "reentrant", "released", "applied"})
_NOTHING: list[BaseException] = []  # an actor is seldom interrupted while it moves


class Stride(NamedTuple):
    """One step of a script, for whoever tells a story: with which result or error it went on from
    one moment to the next, and how many facts the event had by then."""

    actor: int
    facts: int
    before: Moment
    value: Any
    error: BaseException | None
    after: Moment


class Mover:
    """An actor that moves: its state is being changed."""

    __slots__ = (
        "a", "actor", "draft", "end", "frames", "interrupts", "last", "moment", "refusals", "steps",
    )  # fmt: skip
    interrupts: list[BaseException]
    end: Moment  # the one in which its innermost script ended last

    def __init__(self, draft: Draft, a: int) -> None:
        self.draft = draft
        self.a = a
        self.actor = draft.actor(a)
        self.frames: list[Any] = list(self.actor[at.FRAMES])
        self.refusals = 0
        self.steps = 0
        self.interrupts = _NOTHING
        self.moment: Any = None  # the step it has come to
        self.last: Any = None  # where it stood when it ended


class _TrailKeeper:
    """A host that keeps the steps of its scripts, for whoever tells a story."""

    def __init__(self, actors: Actors, trail: list[Stride]) -> None:
        self._actors = actors
        self._trail = trail
        self.instant, self.slow = actors.instant, actors.slow
        self.drop_frame, self.fly = actors.drop_frame, actors.fly
        self.where, self.refused = actors.where, actors.refused

    def go_on(self, mover: Mover, value: Any, error: BaseException | None) -> Any:
        before = mover.frames[-1][at.MOMENT]
        step = self._actors.go_on(mover, value, error)
        after = mover.end if step is ENDED else mover.moment
        facts = len(mover.draft.facts)
        self._trail.append(Stride(mover.a, facts, before, value, error, after))
        return step


class Actors:
    """Those who live in a world: a host of scripts (zkkit.kernel)."""

    def __init__(
        self, roster: Roster, watches: WatchUsers, user_code: UserCode, *, one_process: bool
    ) -> None:
        self._roster = roster
        self._home = roster.home
        self._watches = watches
        self._user_code = user_code
        self._one_process = one_process
        self._kept: list[Any] = []  # what the ids in the caches belong to
        self._values: dict[Hashable, Any] = {}
        self._remembered: dict[int, Any] = {}
        self._told: dict[int, BaseException] = {}
        self.stood_still: set[str] = set()
        """What always gave 0 to those who asked for it in scripts of their own."""
        self._host: Host[Mover] = self
        self.instant: dict[type, Callable[[Mover, Any], Any]] = {
            steps.Guid: self._guid,
            steps.Now: self._always_0,
            steps.Random: self._always_0,
            steps.Actor: self._who,
            steps.SessionId: lambda mover, step: mover.draft.sessions[self._home[mover.a]][at.ID],
            steps.Proved: lambda mover, step: None,  # no time passes in a world
            steps.StillHeld: self._still_held,
            steps.Remember: self._remember,
            steps.Recall: self._recall,
            steps.Post: self._post,
            steps.Posted: lambda mover, step: dict(mover.draft.board).get(step.topic),
            steps.Mark: self._mark,
            Say: self._say,
            steps.Spawn: self._spawn,
            steps.Notify: self._notify,
            steps.IfUntaken: lambda mover, step: None,  # its callers stay
            steps.Employ: self._employ,
            steps.Dismiss: self._dismiss,
            steps.Heard: self._heard,
            ReadOutside: lambda mover, step: ask_store(mover.draft, mover.a, step),
            WriteOutside: lambda mover, step: ask_store(mover.draft, mover.a, step),
        }
        self.slow: dict[type, Callable[[Mover, Any], Any]] = {
            steps.Wait: self._wait,
            steps.Within: self._within,
            Work: self._work,
            steps.Stop: self._stop,
            steps.Call: self._call,
        }
        self.events: dict[str, Callable[..., None]] = {
            "begin": self.resume,
            "come": self.resume,
            "work": self._on_work,
            "pause over": self._on_pause_over,
            "call": self._on_call,
            "cancel": self._on_cancel,
            "deadline": self._on_deadline,
        }

    # --- what happens to them -------------------------------------------------------------------

    def _on_work(self, draft: Draft, a: int) -> None:
        held = tuple([grant for grant in draft.grants if grant.actor == a])
        draft.facts.append(Fact("worked", a, held, draft.sessions[self._home[a]][at.RENEWED]))
        self.resume(draft, a)

    def _on_pause_over(self, draft: Draft, a: int) -> None:
        draft.facts.append(Fact("polled", a))
        self._on_deadline(draft, a, len(draft.actors[a][at.FRAMES]) - 1)

    def _on_cancel(self, draft: Draft, a: int) -> None:
        actor = draft.actor(a)
        actor[at.CANCELS] += 1
        # A second one comes only in a world that breaks the rule.
        if actor[at.CANCELS] > 1 or _interrupt(actor, 0, CANCELLED):
            self.resume(draft, a, None, Cancelled())

    def _on_deadline(self, draft: Draft, a: int, place: int) -> None:
        if _interrupt(draft.actor(a), place, TIMED_OUT):
            self.resume(draft, a, None, Cancelled())

    def _on_call(self, draft: Draft, s: int) -> None:
        session = draft.session(s)
        (owner, moment), *later = session[at.CALLS]
        session[at.CALLS] = tuple(later)
        value, error = self._user_code.call(moment)
        draft.facts.append(Fact("called", owner, moment.step, value if error is None else error))
        if owner >= 0:
            draft.actor(owner)[at.DOES] = ""
            self.resume(draft, owner, value, error)

    def wake(self, draft: Draft, a: int, fire: steps.Fire) -> None:
        """A watch of this actor has fired: it hears of it now, or when it waits."""
        actor = draft.actor(a)
        if not actor[at.FRAMES]:
            return
        if actor[at.DOES] in ("wait", "pause"):
            draft.facts.append(Fact("woke", a, fire))
            self.resume(draft, a, fire)
        else:
            actor[at.FIRES] = (*actor[at.FIRES], fire)

    def landed(self, draft: Draft, a: int, outcome: Any) -> bool:
        """One outcome of a flight; true if it was the last and the actor has gone on."""
        actor = draft.actor(a)
        moment = actor[at.FRAMES][-1][at.MOMENT]
        outcomes = (*actor[at.OUTCOMES], outcome)
        if len(outcomes) < len(moment.requests):
            actor[at.OUTCOMES] = outcomes
            return False
        actor[at.DOES] = ""
        self.resume(draft, a, *flight_result(moment.step, outcomes))
        return True

    def tell_all(self, draft: Draft, s: int, error: SessionLost) -> None:
        """Throw an error into all who live in a session."""
        for a in self._roster.crew_of(s, draft.actors):
            if not draft.actors[a][at.FRAMES] or _minds_its_own(draft.actors[a]):
                continue
            # Somebody who was told before may have stopped it just now: that comes next.
            later = [then for each, then in draft.ready if each == a and then is not None]
            if later:
                draft.ready = [each for each in draft.ready if each[0] != a]
            self.resume(draft, a, None, error, later)

    def stir(self, draft: Draft, s: int, key: Hashable) -> None:
        """Something has changed in a session itself: whoever heeds it looks again."""
        heeds = draft.sessions[s][at.HEEDS]
        those = sorted(a for heeded, a in heeds if heeded == key)
        if not those:
            return
        draft.session(s)[at.HEEDS] = frozenset(each for each in heeds if each[0] != key)
        for a in those:
            actor = draft.actor(a)
            if actor[at.DOES] in ("wait", "pause"):
                actor[at.DOES] = "stirred"
                draft.ready.append((a, None))
            else:
                actor[at.FIRES] = (*actor[at.FIRES], HINT)

    def drain(self, draft: Draft) -> None:
        """Let everybody move whose turn has come with this event."""
        while draft.ready:
            a, error = draft.ready.pop(0)
            does = draft.actors[a][at.DOES]
            if does in ("ready", "stirred"):
                self.resume(draft, a, HINT if does == "stirred" else None, error)
        while len(draft.actors) > self._roster.count and tuple(draft.actors[-1]) == GONE:
            draft.actors.pop()

    def settle(self, draft: Draft, s: int) -> None:
        """Where nobody is left in a session, forget what makes no difference any more."""
        if any(draft.actors[a][at.FRAMES] for a in self._roster.crew_of(s, draft.actors)):
            return
        session = draft.session(s)
        forget_lag(session)
        session[at.TABLE], session[at.HEEDS] = (), frozenset()
        if not session[at.QUEUE] or session[at.LIFE] == "expired":
            session[at.QUEUE] = ()
            session[at.ID], session[at.LIFE], session[at.RENEWED] = 0, "over", 0

    def follow(self, trail: list[Stride] | None) -> None:
        """Add every step of a script to this, while a story is told; None: no more."""
        self._host = self if trail is None else _TrailKeeper(self, trail)

    def tells_at_once(self, state: State, a: int) -> bool:
        """Whether an actor that begins in this state lets others know of it, or acts, before its
        first step that takes time."""
        host, self._host = self._host, self  # it only seems to begin: no story tells of that
        try:
            draft = Draft(state)
            self.resume(draft, a)
            self.drain(draft)
        finally:
            self._host = host
        return any(fact.kind in _TELLING for fact in draft.facts)

    # --- running their scripts --------------------------------------------------------------------

    def resume(
        self,
        draft: Draft,
        a: int,
        value: Any = None,
        error: BaseException | None = None,
        later: Sequence[BaseException] = (),
    ) -> None:
        """Let an actor go on with this result, or with this error thrown into its script; `later`:
        what is thrown at the next steps that take time."""
        mover = Mover(draft, a)
        if later:
            mover.interrupts = list(later)
        actor = mover.actor
        if actor[at.DOES] in ("fly", "call"):
            self._disown(draft, a)
        actor[at.DOES], actor[at.OUTCOMES] = "", ()
        ended = advance(self._host, mover, value, error)
        if ended is None:
            actor[at.FRAMES] = tuple(mover.frames)
        else:
            self._finish(mover, ended[1])

    def go_on(self, mover: Mover, value: Any, error: BaseException | None) -> Any:
        before, fate, seconds = mover.frames[-1]
        mover.steps += 1
        if mover.steps > _PATIENCE:
            raise Endless(
                f"after {_PATIENCE} steps that take no time the script still goes on: "
                f"{before.where}",
                hint="a loop must wait for something: a request, a watch or a pause",
            )
        moment: Moment = before.throw(error) if error is not None else before.send(value)
        if moment.ended:
            mover.end = moment
            return ENDED
        mover.frames[-1] = (moment, fate, seconds)
        mover.moment = moment
        return moment.step

    def drop_frame(self, mover: Mover) -> tuple[int, float, Any, BaseException | None]:
        mover.last, fate, seconds = mover.frames.pop()
        return fate, seconds, mover.end.value, mover.end.error

    def where(self, mover: Mover) -> str:
        return str(mover.moment.where)

    def refused(self, error: Exception) -> BaseException:
        """What is no step is an error of the script; for anything else there is no verdict, and
        whoever explores it is told."""
        if isinstance(error, NotAStep):
            return error
        raise error

    def fly(self, mover: Mover, step: Any) -> Any:
        session = self._open_session(mover)
        sent = [(mover.a, request, i) for i, request in enumerate(mover.moment.requests)]
        session[at.QUEUE] = (*session[at.QUEUE], *sent)
        mover.actor[at.DOES] = "fly"
        return PENDING

    def _open_session(self, mover: Mover) -> list[Any]:
        session = mover.draft.session(self._home[mover.a])
        if session[at.LIFE] == "closed":
            mover.last = mover.moment
            raise refuse(mover, SessionClosed(CLOSED))
        return session

    def _wait(self, mover: Mover, step: steps.Wait) -> Any:
        actor = mover.actor
        if actor[at.FIRES]:
            fire, *later = actor[at.FIRES]
            actor[at.FIRES] = tuple(later)
            return fire
        self._open_session(mover)
        # A bare Wait with a deadline is a pause: that it ends is no fault.
        moment, fate, _ = mover.frames[-1]
        pauses = len(mover.frames) > 1 and not moment.parent.depth and fate == RUNS
        actor[at.DOES] = "pause" if pauses else "wait"
        return PENDING

    def _within(self, mover: Mover, step: steps.Within[Any]) -> None:
        mover.frames.append((mover.moment.inner().start, RUNS, step.seconds))

    def _work(self, mover: Mover, step: Work) -> Any:
        mover.actor[at.DOES] = "work"
        return PENDING

    def _call(self, mover: Mover, step: steps.Call) -> Any:
        session = mover.draft.session(self._home[mover.a])
        session[at.CALLS] = (*session[at.CALLS], (mover.a, mover.moment))
        mover.actor[at.DOES] = "call"
        return PENDING

    def _notify(self, mover: Mover, step: steps.Notify) -> None:
        session = mover.draft.session(self._home[mover.a])
        if session[at.CALLS]:
            session[at.CALLS] = (*session[at.CALLS], (LEFT, mover.moment))
        else:
            value, error = self._user_code.call(mover.moment)
            outcome = value if error is None else error
            mover.draft.facts.append(Fact("called", mover.a, step, outcome))

    def _employ(self, mover: Mover, step: steps.Employ) -> None:
        number = self._begin_beside(mover, USER_CODE)
        actor = BackgroundActor(USER_CODE, number)
        self._write(mover.draft, self._home[mover.a], step.key, steps.Employment(actor))

    def _dismiss(self, mover: Mover, step: steps.Dismiss) -> None:
        job = self._recalled(mover, step.key)
        if job is not None and not job.ended and not job.dismissed:
            after = job._replace(dismissed=True)
            self._write(mover.draft, self._home[mover.a], step.key, after)

    def _spawn(self, mover: Mover, step: steps.Spawn) -> steps.Spawned:
        return steps.Spawned(self._begin_beside(mover, step.name))

    def _begin_beside(self, mover: Mover, name: str) -> int:
        """The script inside this step begins as an actor of its own."""
        draft = mover.draft
        number = self._roster.spawn(draft, mover.a, name)
        draft.actors += [GONE] * (number + 1 - len(draft.actors))
        frame = (mover.moment.inner().start, RUNS, 0.0)
        draft.actors[number] = [(frame,), "ready", *GONE[2:]]
        draft.ready.append((number, None))
        draft.facts.append(Fact("spawned", mover.a, number))
        return number

    def _stop(self, mover: Mover, step: steps.Stop) -> Any:
        draft, actor = mover.draft, mover.actor
        target = getattr(step.spawned, "number", None)
        if type(target) is not int:
            raise NotAStep(
                f"{step!r} stops nothing: {mover.moment.where}",
                hint="give it what Spawn has given",
            )
        actor[at.FRAMES] = tuple(mover.frames)
        if target >= len(draft.actors) or not draft.actors[target][at.FRAMES]:
            return None
        actor[at.DOES] = "stop"
        stopped = draft.actor(target)
        if not stopped[at.CANCELS]:
            stopped[at.CANCELS] = 1
            if _interrupt(stopped, 0, CANCELLED):
                self._disown(draft, target)
                stopped[at.DOES], stopped[at.OUTCOMES] = "ready", ()
                draft.ready = [each for each in draft.ready if each[0] != target]
                draft.ready.append((target, Cancelled()))
        mover.frames[:] = actor[at.FRAMES]  # it may have stopped itself
        return PENDING

    def _disown(self, draft: Draft, a: int) -> None:
        """It is interrupted: what it asked for is on its way all the same."""
        does = draft.actors[a][at.DOES]
        session = draft.session(self._home[a])
        if does == "fly":
            session[at.QUEUE] = tuple(
                (disowned(owner) if owner == a else owner, request, i)
                for owner, request, i in session[at.QUEUE]
            )
        elif does == "call":
            session[at.CALLS] = tuple(
                (LEFT if owner == a else owner, moment) for owner, moment in session[at.CALLS]
            )

    def _finish(self, mover: Mover, error: BaseException | None) -> None:
        draft, a, actor = mover.draft, mover.a, mover.actor
        if actor[at.CANCELS] and error is None:
            error = _SWALLOWED
            draft.facts.append(Fact("failed", a, error, mover.last.place.text))
        elif error is not None and not isinstance(error, ZkkitError | Cancelled):
            bug, error = not self._user_code.raised(error), self._tellable(error)
            if bug:
                draft.facts.append(Fact("failed", a, error, mover.end.place.text))
        elif isinstance(error, NotAStep | InvalidPath):
            draft.facts.append(Fact("failed", a, error, mover.end.place.text))
        job = actor[at.FRAMES][0][at.MOMENT].root.employed
        actor[:] = GONE
        draft.facts.append(Fact("ended", a, error))
        self._heed_no_more(draft, a, job)
        self._tell_stoppers(draft, a)
        self._watches.leave(draft, a)
        self.settle(draft, self._home[a])

    def _heed_no_more(self, draft: Draft, a: int, job: Hashable) -> None:
        """An actor has ended; `job`: what it was employed under, if it was."""
        s = self._home[a]
        heeds = draft.sessions[s][at.HEEDS]
        if any(heeder == a for _, heeder in heeds):
            draft.session(s)[at.HEEDS] = frozenset(each for each in heeds if each[1] != a)
        if job is not None:
            known = next((value for key, value in draft.sessions[s][at.TABLE] if key == job), None)
            if known is not None:
                self._write(draft, s, job, known._replace(ended=True))

    def _tellable(self, error: BaseException) -> BaseException:
        """An error that is no error of zkkit's; in place of one that cannot be shown, another one
        that bears its name."""
        known = self._told.get(id(error))
        if known is None:
            self._kept.append(error)
            known = self._told[id(error)] = tellable(error)
        return known

    def _tell_stoppers(self, draft: Draft, ended: int) -> None:
        for a in self._roster.crew_of(self._home[ended], draft.actors):
            actor = draft.actors[a]
            if (
                actor[at.DOES] == "stop"
                and actor[at.FRAMES][-1][at.MOMENT].step.spawned.number == ended
            ):
                draft.actor(a)[at.DOES] = "ready"
                draft.ready.append((a, None))

    # --- steps that take no time ----------------------------------------------------------------

    def _heard(self, mover: Mover, step: steps.Heard) -> tuple[steps.Fire, ...]:
        fires: tuple[steps.Fire, ...] = mover.actor[at.FIRES]
        mover.actor[at.FIRES] = ()
        return fires

    def _who(self, mover: Mover, step: steps.Actor) -> Hashable:
        root = mover.frames[0][at.MOMENT].root
        return BackgroundActor(root.name, mover.a) if root.name else self._roster.names[mover.a]

    def _guid(self, mover: Mover, step: steps.Guid) -> str:
        mover.actor[at.GUIDS] += 1
        return f"{mover.a + 1:08d}-0000-0000-0000-{mover.actor[at.GUIDS]:012d}"

    def _always_0(self, mover: Mover, step: steps.Now | steps.Random) -> float:
        if not mover.moment.private:  # zkkit's own recipes only choose how long they pause
            self.stood_still.add(type(step).__name__)
        return 0.0

    def _remember(self, mover: Mover, step: steps.Remember) -> None:
        value = None if step.value is None else self._one_of_a_kind(step)
        self._write(mover.draft, self._home[mover.a], step.key, value)

    def _write(self, draft: Draft, s: int, key: Hashable, value: Any) -> None:
        session = draft.session(s)
        table = tuple(pair for pair in session[at.TABLE] if pair[0] != key)
        if value is not None:
            table = (*table, (key, value))
        if len(table) > 1:
            table = tuple(sorted(table, key=lambda pair: str(pair[0])))
        session[at.TABLE] = table
        self.stir(draft, s, key)

    def _one_of_a_kind(self, step: steps.Remember) -> Any:
        """The first value remembered that was equal to this one, so that states compare equal."""
        known = self._remembered.get(id(step))
        if known is None:
            self._kept.append(step)
            known = step.value
            try:
                known = self._values.setdefault(value_of(known, {}), known)
            except NotComparable:
                pass
            self._remembered[id(step)] = known
        return known

    def _recall(self, mover: Mover, step: steps.Recall) -> Any:
        if step.watch:
            self._heed(mover, step.key)
        return self._recalled(mover, step.key)

    def _recalled(self, mover: Mover, wanted: Hashable) -> Any:
        table = mover.draft.sessions[self._home[mover.a]][at.TABLE]
        return next((value for key, value in table if key == wanted), None)

    def _heed(self, mover: Mover, key: Hashable) -> None:
        session = mover.draft.session(self._home[mover.a])
        session[at.HEEDS] = session[at.HEEDS] | {(key, mover.a)}

    def _post(self, mover: Mover, step: steps.Post) -> None:
        if self._one_process:
            board = {**dict(mover.draft.board), step.topic: step.text}
            mover.draft.board = tuple(sorted(board.items()))

    def _still_held(self, mover: Mover, step: steps.StillHeld) -> bool:
        draft = mover.draft
        if step.watch:
            self._heed(mover, held_key(step.path, step.zxid))
        same = step.session_id in (0, draft.sessions[self._home[mover.a]][at.ID])
        return same and bool(self._those_of(draft, mover.a, step.path, step.zxid))

    def _those_of(self, draft: Draft, a: int, path: str, zxid: int) -> list[Grant]:
        """The grants by this node that an actor and the others of its session have."""
        return [
            grant
            for grant in draft.grants
            if grant.path == path
            and grant.zxid == zxid
            and self._home[grant.actor] == self._home[a]
        ]

    def _mark(self, mover: Mover, step: steps.Mark) -> None:
        draft, a = mover.draft, mover.a
        if step.what in ("gave up", "found"):
            return
        if step.what not in ("acquired", "released", "led", "unled"):
            amount = int(step.kind) if step.kind.lstrip("-").isdecimal() else 0
            draft.facts.append(Fact("said", a, step.what, amount, step))
            return
        if step.what in ("released", "unled"):
            draft.facts.append(Fact("released", a, step.path, step.zxid))
            ended = self._those_of(draft, a, step.path, step.zxid)
            # By others of its session only where it has none itself: they may share a node.
            ended = [grant for grant in ended if grant.actor == a] or ended
            draft.grants = tuple(grant for grant in draft.grants if grant not in ended)
            return
        if step.kind == "reentrant":
            draft.facts.append(Fact("reentrant", a, step.path, step.zxid))
            return
        grant = Grant(a, step.path, step.zxid, draft.sessions[self._home[a]][at.ID])
        draft.facts.append(Fact("acquired", a, step.path, step.zxid))
        draft.grants = tuple(sorted((*draft.grants, grant)))

    def _say(self, mover: Mover, step: Say) -> None:
        mover.draft.facts.append(Fact("said", mover.a, step.what, step.amount or 0))


def _minds_its_own(actor: Any) -> bool:
    """Whether it is user code that has asked its session for nothing."""
    employed = actor[at.FRAMES][0][at.MOMENT].root.employed is not None
    return employed and actor[at.DOES] in ("work", "wait", "pause")


def _interrupt(actor: list[Any], place: int, fate: int) -> bool:
    """Let a frame and all above it unwind; whether `Cancelled` is to be thrown."""
    frames = actor[at.FRAMES]
    fates, throws = interrupt([frame[at.FATE] for frame in frames], place, fate)
    actor[at.FRAMES] = tuple(
        [
            (frame[at.MOMENT], fate, frame[at.SECONDS])
            for frame, fate in zip(frames, fates, strict=True)
        ]
    )
    return throws
