"""Hooks: how anyone may watch scripts run without touching them.

The runner sees every step, watch and wakeup, and a recipe marks what only it can know (the `Mark`
step). Each such moment has a hook, and the runner calls the instruments that have a method of that
name, each with the same frozen :class:`Event`::

    class Printer:
        def acquired(self, event):
            print(event.actor, "waited", event.duration / 1e6, "ms")

    session.hooks.add(Printer())

A hook nobody listens to is an empty tuple, so the runner writes ``if hooks.step:`` and builds no
event at all. An instrument that raises is switched off with a log line: watching a recipe must
never break it.
"""

from __future__ import annotations

import difflib
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

__all__ = ["HOOK_NAMES", "Event", "Hook", "Hooks", "Instrument", "guarded"]

_log = logging.getLogger("zkkit.hooks")


class Event(NamedTuple):
    """What a hook is told. One shape for all hooks, so that a recording is one table.

    ``t_ns``      when, in nanoseconds of this process's monotonic clock
    ``session``   the ZooKeeper session id; 0 if there is none (yet)
    ``actor``     who ran the script
    ``recipe``    the recipe the script belongs to; "" for a bare step or script
    ``path``      the node it is about; "" for ``session_changed``
    ``kind``, ``zxid``, ``cause``, ``duration`` (in ns) depend on the hook; what a hook does not
    use is "" or 0:

    ================ ============================== ============ ================= ==============
    hook             kind                           zxid         cause             duration
    ================ ============================== ============ ================= ==============
    node_created     create mode, or ""             of the write
    node_deleted     create mode, or ""             of the write
    watch_set        data, child, persistent,
                     recursive
    watch_fired      created, deleted, changed,
                     child, none (connection lost)
    woke             kind of the fire                            path of the fire  time waited
    wakeup_ended     useful, again (it waits once                path of the fire  time since the
                     more), failed                                                 wakeup
    acquired         "", reentrant, persistent      of the mark                    time waited
    released                                        of the mark                    time held
    led              "", persistent                 of the mark                    time waited
    unled                                           of the mark                    time led
    entered, left    as the recipe says             of the mark                    time waited
    put, taken, done as the recipe says             of the mark                    time waited
    value            the value after                of the mark  the value before  time waited
    cached           created, changed, deleted      of the mark                    time waited
    lost             acquired, led                  of the mark  why               time held
    step             class name of the step         of the reply error class or "" request latency
    session_changed  connected, suspended, lost,
                     closed
    ================ ============================== ============ ================= ==============

    "Time waited" by a mark is the time since the run that marks began. The zxid of a mark is the
    czxid of the node that is held, led, entered or put, and the mzxid of a value or a cached node.
    """

    t_ns: int
    session: int
    actor: str
    recipe: str
    path: str = ""
    kind: str = ""
    zxid: int = 0
    cause: str = ""
    duration: int = 0


_new = tuple.__new__  # makes an Event in less than half the time that its own constructor takes

Hook = Callable[[Event], object]
"""What is called with an event; its result is ignored."""


class Instrument:
    """The hooks an instrument may have. All optional, all doing nothing here.

    Inheriting from this class only helps editors and type checkers: any object with some of these
    methods will do, and a method inherited from here unchanged counts as absent. Hooks are called
    on the thread that advances scripts, so they should be quick and must not wait.
    """

    def node_created(self, event: Event) -> None:
        """A create succeeded. If its reply was lost, this comes when its recipe finds the node."""

    def node_deleted(self, event: Event) -> None:
        """A delete succeeded."""

    def watch_set(self, event: Event) -> None:
        """A watch was left on the server."""

    def watch_fired(self, event: Event) -> None:
        """One watch notification arrived (a *fire*)."""

    def woke(self, event: Event) -> None:
        """An actor was resumed by a fire (a *wakeup*)."""

    def acquired(self, event: Event) -> None:
        """An actor got its hold."""

    def released(self, event: Event) -> None:
        """An actor gives its hold back."""

    def lost(self, event: Event) -> None:
        """A hold or a lead ended without being given back: its session is over, or nothing proves
        any more that it lives."""

    def step(self, event: Event) -> None:
        """A step was answered, well or with an error."""

    def session_changed(self, event: Event) -> None:
        """The session went into another state."""

    def wakeup_ended(self, event: Event) -> None:
        """It is known what a wakeup was good for. It was *useful* if the run it woke then ended
        with a result, or gained something (see `zkkit.steps.GAINS`). It was not if the run waits
        again, fails or is interrupted first. ``t_ns - duration`` is the ``t_ns`` of the wakeup."""

    def led(self, event: Event) -> None:
        """An actor became the leader."""

    def unled(self, event: Event) -> None:
        """A leader gives its lead back."""

    def entered(self, event: Event) -> None:
        """An actor went in: through a barrier, into a group."""

    def left(self, event: Event) -> None:
        """An actor that had entered went out."""

    def put(self, event: Event) -> None:
        """An actor put an item into a queue."""

    def taken(self, event: Event) -> None:
        """An actor took an item out of a queue."""

    def done(self, event: Event) -> None:
        """An actor is done with an item that it took."""

    def value(self, event: Event) -> None:
        """An actor read or wrote a value."""

    def cached(self, event: Event) -> None:
        """A cache took over a change from the servers."""


HOOK_NAMES = tuple(name for name in vars(Instrument) if not name.startswith("_"))
"""Every hook there is. The order is part of the recording format: add new ones at the end."""


class Hooks:
    """The instruments of one session. Each hook name is an attribute: a tuple of callables.

    Safe from many threads: the tuples are replaced, never changed, so whoever is in the middle of
    calling one is not disturbed by ``add`` and ``remove``.
    """

    __slots__ = ("_lock", "_members", *HOOK_NAMES)

    if TYPE_CHECKING:  # the slots have them

        def __getattr__(self, name: str) -> tuple[Hook, ...]: ...

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: tuple[tuple[object, dict[str, Hook]], ...] = ()
        self._replace(())

    def add(self, instrument: object) -> None:
        """Have the instrument called from now on. Adding it twice does nothing more.

        Raises TypeError if it has no hook method at all, which is most often a misspelt name.
        """
        calls = _hooks_of(instrument)
        with self._lock:
            if all(member is not instrument for member, _ in self._members):
                self._replace((*self._members, (instrument, calls)))

    def remove(self, instrument: object) -> None:
        """Stop calling the instrument. If it is not there (switched off, say), do nothing."""
        with self._lock:
            self._replace(tuple(m for m in self._members if m[0] is not instrument))

    def emit(self, name: str, event: Event) -> None:
        """Call every instrument's hook of that name."""
        self.tell(getattr(self, name), *event)

    def tell(self, calls: tuple[Hook, ...], *fields: Any) -> None:
        """Call these, with an event of these fields. Nothing that they raise gets out: it would end
        the thread that keeps the session alive. Only a Ctrl-C does that strikes the main thread in
        the middle of one."""
        event = _new(Event, fields)
        for call in calls:
            try:
                call(event)
            except BaseException as error:
                if is_ctrl_c(error):
                    raise
                self._switch_off(call)

    def _switch_off(self, call: Hook) -> None:
        with self._lock:
            found = ((m, name) for m in self._members for name in m[1] if m[1][name] is call)
            owner, name = next(found, (None, ""))
            if owner is None:  # another thread met the same error and was first
                return
            self._replace(tuple(m for m in self._members if m is not owner))
        # Not the instrument's repr: it is broken, and its repr may be too.
        _log.exception("%s raised in %s: switched off", type(owner[0]).__qualname__, name)

    def _replace(self, members: tuple[tuple[object, dict[str, Hook]], ...]) -> None:
        self._members = members
        for name in HOOK_NAMES:
            setattr(self, name, tuple(calls[name] for _, calls in members if name in calls))


def is_ctrl_c(error: BaseException) -> bool:
    """Whether this is a Ctrl-C that struck the main thread. All else that user code raises ends
    nothing of ours, be it an asyncio.CancelledError, a gevent.Timeout or a SystemExit."""
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
    )


@contextmanager
def guarded(log: logging.Logger, failure: str, *about: object) -> Iterator[None]:
    """Around a call of user code: whatever it raises is logged as this `failure`, and ends no more
    than the call."""
    try:
        yield
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        log.exception(failure, *about)


def _hooks_of(instrument: object) -> dict[str, Hook]:
    if isinstance(instrument, type):
        raise TypeError(f"{instrument.__qualname__} is a class: add an instance of it")
    found: dict[str, Hook] = {}
    for name in HOOK_NAMES:
        call = getattr(instrument, name, None)
        # A no-op from Instrument would make the runner build events for nobody.
        if callable(call) and getattr(call, "__func__", None) is not getattr(Instrument, name):
            if inspect.iscoroutinefunction(call):
                raise TypeError(
                    f"{name} of {type(instrument).__qualname__} is `async def`, and nobody would "
                    "await it: hooks are plain functions"
                )
            found[name] = call
    if not found:
        raise TypeError(
            f"{type(instrument).__qualname__} has no hook method{_misspelt(instrument)}; "
            f"the hooks are {', '.join(HOOK_NAMES)}"
        )
    return found


def _misspelt(instrument: object) -> str:
    for name in dir(instrument):
        if name not in HOOK_NAMES and not name.startswith("_"):
            for meant in difflib.get_close_matches(name, HOOK_NAMES, n=1, cutoff=0.75):
                return f" (does {name!r} mean {meant!r}?)"
    return ""
