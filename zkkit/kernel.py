"""The rules by which scripts run, for both engines: sessions on real servers, and the simulator.

Theory of operation
-------------------
A *run* is one script being run. A *host* runs it: the engine of a session keeps generators, the
simulator keeps points in a tree of histories; what happens to a run is the same for both, and is
written here once, without a thread, a clock or a socket.

*Steps.* `advance` sends a run its results until it has to wait or has ended. An *instant* step is
answered on the spot, and a run is never interrupted at one. Any other step is begun: it gives its
result, or PENDING if that will come later. A host has a table of each; a step that is in neither,
and is no request, is an error that says so.

*Frames.* A run has a frame for its script and one more for the body of each `Within` it stands in,
the innermost last. A frame runs, or unwinds because it was cancelled, or unwinds because its own
deadline has passed: its *fate*. To interrupt a frame is to let it and all frames above it unwind,
by `Cancelled` thrown once at the top. If frames above unwind already, nothing is thrown, or their
clean-up would be hit a second time: they go on with it, and those below when they are through.
Out of a frame whose deadline has passed comes `TimedOut`, an ordinary error. Out of a cancelled one
nothing comes but an error, whatever it made of its cancel: those below unwind as well.

*Flights.* All outcomes of requests sent together are awaited; then the first error is raised, or
with `settle` errors are given as values.

*A closed session* refuses to send and to wait. A script that goes on regardless is told so three
times and then cut off.

*Watches.* A watch belongs to the run that set it, but the server holds one per session, path and
kind, and keeps one mode per session and path: a one-shot watch set beside a persistent one turns it
into a one-shot watch, and of the two persistent kinds the later one wins. So where the server has a
persistent watch nobody asks for a one-shot watch: the persistent one wakes those as well. Where
both persistent kinds are wanted only the recursive one is asked for, and its events of children
stand for the child events that the other kind, or a one-shot watch, would have had.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from .errors import Cancelled, NotAStep, TimedOut, Unsupported, ZkkitError
from .paths import validate
from .steps import Children, Exists, Fire, FireKind, Get, Multi, Request, Step, Together, Watch

# --- steps ----------------------------------------------------------------------------------

PENDING: Any = object()
"""What beginning a step gives when its result will come later."""
ENDED: Any = object()
"""What resuming a script gives, instead of a step, when it has ended."""


class Running(Protocol):
    """A run, as far as the rules look at it."""

    refusals: int

    @property
    def frames(self) -> Sequence[Any]: ...

    @property
    def interrupts(self) -> list[BaseException]:
        """What is to be thrown into it at the next step that is not instant."""


P = ParamSpec("P")
R = TypeVar("R", bound=Running)
R_in = TypeVar("R_in", bound=Running, contravariant=True)


class Host(Protocol[R_in]):
    """Whoever runs scripts by these rules."""

    @property
    def instant(self) -> Mapping[type, Callable[[R_in, Any], Any]]:
        """For each kind of step that takes no time, what it gives."""

    @property
    def slow(self) -> Mapping[type, Callable[[R_in, Any], Any]]:
        """For each other kind but requests, how it is begun: gives its result, or PENDING."""

    def go_on(self, run: R_in, value: Any, error: BaseException | None) -> Any:
        """Let the innermost script go on. Gives its next step, or ENDED."""

    def drop_frame(self, run: R_in) -> tuple[int, float, Any, BaseException | None]:
        """Take the innermost frame away, whose script has ended. Gives its fate, the seconds of its
        deadline, and the result and the error of the script."""

    def fly(self, run: R_in, step: Any) -> Any:
        """Send the requests of a step; PENDING."""

    def where(self, run: R_in) -> str:
        """Where the run stands, for messages."""

    def refused(self, error: Exception) -> BaseException:
        """A step makes no sense: what to throw into the script. Or raise it."""


class Refused(BaseException):
    """Raised where a step is begun: its error is to be thrown into the script, or ends the run."""

    def __init__(self, error: BaseException, *, ends: bool) -> None:
        self.error = error
        self.ends = ends


def advance(
    host: Host[R], run: R, value: Any, error: BaseException | None
) -> tuple[Any, BaseException | None] | None:
    """Send a run its results until it has to wait: None; or has ended: its result and its error.
    A run that is cut off may have frames left."""
    instant_of, slow_of, go_on = host.instant.get, host.slow.get, host.go_on
    while True:
        step = go_on(run, value, error)
        if step is ENDED:
            fate, seconds, value, error = host.drop_frame(run)
            value, error = after_frame(fate, seconds, bool(run.frames), value, error)
            if run.frames:
                continue
            return value, error
        error = None
        instant = instant_of(type(step))
        try:
            if instant is not None:
                value = instant(run, step)
                continue
            if run.interrupts:
                value, error = None, run.interrupts.pop(0)
                continue
            slow = slow_of(type(step))
            if slow is not None:
                value = slow(run, step)
            elif isinstance(step, Request) or _flies(host, run, step):
                value = host.fly(run, step)
            else:
                value = ()  # nothing together
            if value is PENDING:
                return None
        except Refused as refused:
            if refused.ends:
                return None, refused.error
            value, error = None, refused.error
        except Exception as wrong:
            value, error = None, host.refused(wrong)


def _flies(host: Host[R], run: R, step: Any) -> bool:
    """Whether a step that is neither handled nor a request sends something."""
    if isinstance(step, Together):
        return bool(step.requests)
    if isinstance(step, Step):
        raise Unsupported(f"there is no handler here for the step {step!r}: {host.where(run)}")
    raise _no_step(step, host.where(run))


def _no_step(step: Any, where: str) -> NotAStep:
    return NotAStep(
        f"a script yielded {step!r}, which is no step: {where}",
        hint="yield a step from zkkit.steps, or use `yield from` for another script",
    )


def requests_of(
    step: Any, where: Callable[P, str], *args: P.args, **kwargs: P.kwargs
) -> tuple[Request[Any], ...]:
    """What goes to the server for this step. NotAStep, or InvalidPath, if it makes no sense: the
    message says where, which is asked only then."""
    if isinstance(step, Request):
        requests: tuple[Any, ...] = (step,)
    elif isinstance(step, Together):
        requests = step.requests
    elif isinstance(step, Step):
        return ()
    else:
        raise _no_step(step, where(*args, **kwargs))
    for request in requests:
        if isinstance(request, Multi):
            for op in request.ops:
                validate(op.path)
        elif isinstance(request, Request):
            validate(request.path)
        else:
            at = where(*args, **kwargs)
            raise NotAStep(f"only requests can fly together, not {request!r}: {at}")
    return requests


def flight_result(step: Any, outcomes: Sequence[Any]) -> tuple[Any, ZkkitError | None]:
    """What the script is sent, or what is thrown into it, when all outcomes are there."""
    if type(step) is Together:
        if step.settle:
            return tuple(outcomes), None
        first = next((each for each in outcomes if isinstance(each, ZkkitError)), None)
        return (None, first) if first is not None else (tuple(outcomes), None)
    (outcome,) = outcomes
    return (None, outcome) if isinstance(outcome, ZkkitError) else (outcome, None)


_REFUSALS = 3


def refuse(run: Running, error: BaseException) -> Refused:
    """The session is closed: what to raise in a step that would send or wait."""
    run.refusals += 1
    return Refused(error, ends=run.refusals > _REFUSALS)


# --- frames ---------------------------------------------------------------------------------

RUNS, CANCELLED, TIMED_OUT = range(3)
"""The fates of a frame. Plain numbers: the simulator compares millions of them."""


def interrupt(fates: Sequence[int], place: int, fate: int) -> tuple[list[int], bool]:
    """The fates of a run's frames after the frame at `place` is given this fate and all above it
    unwind with it; and whether `Cancelled` is to be thrown at the top."""
    after = list(fates)
    for at in range(place, len(after)):
        if after[at] != RUNS:
            after[at] = CANCELLED
            return after, False
        after[at] = fate if at == place else CANCELLED
    return after, True


def after_frame(
    fate: int, seconds: float, below: bool, value: Any, error: BaseException | None
) -> tuple[Any, BaseException | None]:
    """A frame has ended with this result or error: what that means to the one below it."""
    if fate == TIMED_OUT and isinstance(error, Cancelled):
        return None, TimedOut(f"not done within {seconds:g} s")
    if fate == CANCELLED and below:
        return None, error or Cancelled()
    return value, error


# --- what a run heeds in its own session ----------------------------------------------------

HINT = Fire(FireKind.CHANGED, "")
"""What wakes a run that waits for something in its own session."""


def held_key(path: str, zxid: int) -> Hashable:
    """What a run heeds that wants to know when this hold is lost."""
    return ("held", path, zxid)


# --- watches --------------------------------------------------------------------------------


class WatchKind(IntEnum):
    """The value is what removeWatches calls it."""

    CHILD = 1
    DATA = 2
    PERSISTENT = 3
    RECURSIVE = 4

    def __init__(self, number: int) -> None:
        self.persistent = number >= 3
        """Whether it stays when it has fired."""
        self.label = self._name_.lower()
        """What records call it."""

    @property
    def removal(self) -> int:
        """The server knows both persistent kinds as 'any'."""
        return min(self.value, 3)


CHILD, DATA, PERSISTENT, RECURSIVE = WatchKind


class WatchKey(NamedTuple):
    """A watch, as a session asks for it."""

    kind: WatchKind
    path: str


_LOOKS = (Get, Exists)


def watch_of(step: Step[Any]) -> WatchKey | None:
    """The watch that a request sets, unless it fails."""
    if isinstance(step, _LOOKS):
        return WatchKey(DATA, step.path) if step.watch else None
    if isinstance(step, Children):
        return WatchKey(CHILD, step.path) if step.watch else None
    if isinstance(step, Watch):
        return WatchKey(RECURSIVE if step.recursive else PERSISTENT, step.path)
    return None


def watch_to_ask(key: WatchKey, standing: WatchKind | None) -> WatchKey | None:
    """The watch to ask the server for, where it has this persistent one on the path (None: none):
    another one, or none, since the server would mix them up."""
    if not key.kind.persistent:
        return key if standing is None else None
    if standing is RECURSIVE:
        return WatchKey(standing, key.path)
    return key


_ONE_SHOT = {
    FireKind.CREATED: (DATA,),
    FireKind.CHANGED: (DATA,),
    FireKind.DELETED: (DATA, CHILD),
    FireKind.CHILD: (CHILD,),
    FireKind.NONE: (DATA, CHILD),
}
_BY_CHILDREN = (FireKind.CREATED, FireKind.DELETED)


@lru_cache(4096)
def hearers(kind: FireKind, path: str) -> tuple[WatchKey, ...]:
    """The watches whose users hear of this event, in the order in which they are told."""
    keys = [WatchKey(each, path) for each in _ONE_SHOT[kind]]
    keys.append(WatchKey(PERSISTENT, path))
    if kind is not FireKind.CHILD:  # a recursive watch hears of the children themselves
        keys.append(WatchKey(RECURSIVE, path))
        while path != "/":
            path = path.rpartition("/")[0] or "/"
            keys.append(WatchKey(RECURSIVE, path))
    return tuple(keys)


def used_up(fire: Fire) -> list[WatchKey]:
    """The one-shot watches that whoever is told of this has no longer."""
    return [WatchKey(kind, fire.path) for kind in _ONE_SHOT[fire.kind]]


def child_event(kind: FireKind, path: str) -> Fire | None:
    """The event of the parent's children that this event stands for, where a recursive watch on the
    parent makes the server say nothing of it."""
    if kind not in _BY_CHILDREN or path == "/":
        return None
    return Fire(FireKind.CHILD, path.rpartition("/")[0] or "/")
