"""Scripts as trees of histories.

A script is a function of its history of results. So a point in it is a `Moment`: what it yielded
after a certain history. Moments form a tree, one branch per result, and are made once: whoever
comes the same way again finds the moment, and no code runs. A generator cannot be copied, so each
one is used for the first branch that leaves its moment; for any other branch the script is run
again from its start, and must yield the same steps, or it is not pure.

Moments with different histories are merged if the suspended generators are alike: the same place
in the code, equal variables, an equal stack and an equal exception being handled. What cannot be
compared by value keeps its own history, which is always right, only slower.
"""

from __future__ import annotations

import copy
import gc
import sys
import types
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ..errors import InvalidPath, NotAStep, Unsupported, ZkkitError
from ..kernel import requests_of
from ..scripting import AnySession, Recipe, Returnable, as_script, name_of
from ..steps import Employ, Script, Spawn, Step, Within
from .errors import Endless, Impure
from .places import NOWHERE, CodeLine, is_of_a_recipe, nearest, raised_at
from .watchdog import Activity, Stuck


class Moment:
    """A point in a script: the step it waits for, or how it ended."""

    __slots__ = (
        "alike", "body", "depth", "ended", "error", "how", "live", "parent", "place", "private",
        "requests", "root", "sent", "step", "thrown", "value", "where",
    )  # fmt: skip

    def __init__(self, root: Root, parent: Moment | None, how: tuple[bool, Any]) -> None:
        self.root = root
        self.parent = parent
        self.how = how  # (thrown?, what): the last result of its history
        self.depth: int = parent.depth + 1 if parent else 0
        self.step: Any = None
        self.requests: tuple[Any, ...] = ()
        self.where = ""  # the innermost script, for messages
        self.place = NOWHERE  # the line to show to whoever wrote it
        self.private = False  # whether it stands in a recipe of zkkit's own
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.live: Script[Any] | None = None
        self.sent: dict[Any, Moment] = {}
        self.thrown: dict[Any, Moment] = {}
        self.body: Root | None = None
        self.alike: Hashable = None  # all that decides what comes next, as a value, if it has one

    def send(self, value: Any) -> Moment:
        """The moment after this one's step has given `value`."""
        key = value
        try:
            return self.sent[value]
        except KeyError:
            pass
        except TypeError:  # only user code gives what has no hash
            key = self._key_of(value)
            if key in self.sent:
                return self.sent[key]
        after = self.sent[key] = self.root.advance(self, (False, value))
        return after

    def _key_of(self, value: Any) -> Hashable:
        try:
            return value_of(value, {})
        except NotComparable:
            raise Unsupported(
                f"the simulator cannot compare {value!r}, which {self.step!r} gave at {self.where}",
                hint="let user code give plain values: numbers, texts, lists, dictionaries",
            ) from None

    def throw(self, error: BaseException) -> Moment:
        """The moment after this one's step has raised `error`."""
        after = self.thrown.get(error)
        if after is None:
            after = self.thrown[error] = self.root.advance(self, (True, error))
        return after

    def inner(self) -> Root:
        """The script inside this moment's `Within`, `Spawn` or `Employ`."""
        if self.body is None:
            step = self.step
            name = step.name if isinstance(step, Spawn) else ""
            self.body = Root(self._inner_script, self.root.activity, name, self.where, self.place)
            if isinstance(step, Employ):
                self.body.name, self.body.employed = "user code", step.key
        return self.body

    def _inner_script(self) -> Script[Any]:
        if isinstance(self.step, Employ):
            return as_script(self.step.function(self.step.key, *self.step.args))
        generator = self.root.generator_at(self)
        step = self.root.last_step
        self.live = generator
        return as_script(_inside(step))


def _inside(step: Spawn | Within[Any]) -> Any:
    """What is to be run inside a step."""
    return step.script if isinstance(step, Spawn) else step.body


class _Dismissed(BaseException):
    """Thrown into a script that is not needed any more. No GeneratorExit: where scripts stand
    inside each other Python does not throw that into the innermost one, but closes it."""


def dismiss(generator: Script[Any]) -> bool:
    """Let a generator go without a sound: closed while it cleans up, it would yield once more, and
    Python would complain. Whether it goes: some catch whatever is thrown."""
    for _ in range(20):
        try:
            generator.throw(_Dismissed)
        except BaseException:
            return True
    return False


@contextmanager
def quietly() -> Iterator[None]:
    """Let Python not complain of generators that do not go, while they are taken away."""
    complain = sys.unraisablehook

    def heard(complaint: sys.UnraisableHookArgs) -> None:
        if not isinstance(complaint.object, types.GeneratorType):
            complain(complaint)

    sys.unraisablehook = heard
    try:
        yield
    finally:
        sys.unraisablehook = complain


class Root:
    """One script: how to begin it, and all the moments known in it."""

    def __init__(
        self,
        begin: Callable[[], Script[Any]],
        activity: Activity,
        name: str = "",
        where: str = "",
        place: CodeLine = NOWHERE,
    ) -> None:
        self._begin = begin
        self._where = where  # what to say of a bare step, which is no script
        self._place = place  # where the script stands that this one is inside of
        self.activity = activity
        self.name = name  # what a spawned script calls its actor
        self.employed: Hashable = None  # what the table has it under, if it is user code
        self._alike: dict[Hashable, Moment] = {}
        self.start = Moment(self, None, (False, None))
        self.runs = 0
        self.last_step: Any = None

    def advance(self, before: Moment, how: tuple[bool, Any]) -> Moment:
        """Run the code after `before`, for a history that is new."""
        generator = before.live
        before.live = None
        if generator is None:
            generator = self.generator_at(before)
        after = Moment(self, before, how)
        self._resume(generator, how, after)
        if after.ended:
            return after
        # Of scripts inside others there may be thousands: one of each kind will do.
        self.activity.latest[getattr(generator, "gi_code", None) if self._where else self] = after
        after.live = generator
        seen: dict[int, int] = {}
        try:
            # The step as well: of a plain `yield` the generator keeps no trace.
            key = (generator_value(generator, seen), value_of(after.step, seen))
        except (NotComparable, ValueError):  # ValueError: an empty cell
            return after
        after.alike = key
        known = self._alike.setdefault(key, after)
        if known is not after:
            if known.live is None:
                known.live = generator
            else:
                dismiss(generator)
        return known

    def _resume(self, generator: Script[Any], how: tuple[bool, Any], after: Moment) -> None:
        self.runs += 1
        thrown, what = how
        activity = self.activity
        activity.count += 1
        activity.inside = True
        try:
            step = generator.throw(what) if thrown else generator.send(_fresh(what))
        except StopIteration as end:
            after.ended, after.value = True, end.value
            return
        except Stuck as stuck:
            raise endless(stuck) from None
        except BaseException as raised:
            if isinstance(raised, KeyboardInterrupt):
                raise
            after.ended, after.error = True, raised
            after.place = raised_at(raised, self._place)
            raised.with_traceback(None)  # it would keep a whole run of the script alive
            return
        finally:
            activity.inside = False
        if getattr(generator, "gi_code", None) is Step.__iter__.__code__:
            after.where, after.place = self._where, self._place
        else:
            stand(after, generator, self._place)
        try:
            after.requests = requests_of(step, lambda: after.place.text)
            if isinstance(step, Spawn | Within):
                as_script(_inside(step))
        except (NotAStep, InvalidPath) as nonsense:
            after.ended, after.error = True, nonsense.with_traceback(None)
            dismiss(generator)
            return
        after.step = step

    def let_go(self) -> None:
        """Keep no generator any more, here and in the scripts inside this one, which is over."""
        ahead, seen = [self.start], {self.start}
        while ahead:
            moment = ahead.pop()
            moment.live = moment.step = moment.root.last_step = None
            for error in moment.thrown:
                error.__traceback__ = error.__context__ = None  # with whoever has caught it
            after = {*moment.sent.values(), *moment.thrown.values()}
            if moment.body is not None:
                after.add(moment.body.start)
            ahead += after - seen
            seen |= after

    def generator_at(self, moment: Moment) -> Script[Any]:
        """A generator that stands at `moment`: the script run again through its history."""
        path: list[Moment] = []
        at: Moment | None = moment
        while at is not None and at.parent is not None:
            path.append(at)
            at = at.parent
        generator = self._begin()
        self.activity.generators.append(generator)
        self.last_step = None
        for each in reversed(path):
            thrown, what = each.how
            try:
                step = generator.throw(what) if thrown else generator.send(_fresh(what))
            except StopIteration:
                raise _impure(each, "it ended", generator) from None
            except Exception as raised:
                shown = tellable(raised)
                raise _impure(each, f"it raised {shown!r}", generator) from shown
            if step is not each.step and not _same_step(step, each.step):
                raise _impure(each, f"it yielded {step!r}", generator)
            self.last_step = step
        return generator


def _fresh(value: Any) -> Any:
    """What a script may change must not be what another history is given."""
    return copy.deepcopy(value) if type(value) in (list, dict, set, bytearray) else value


def endless(stuck: Stuck) -> Endless:
    """The error for code that did not come back: it names the line at which it was ended."""
    at = stuck.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    assert at is not None
    code = at.tb_frame.f_code
    return Endless(
        f"a script, or user code it calls, computes on and on: "
        f"{code.co_qualname} ({code.co_filename}:{at.tb_lineno})",
        hint="a loop must wait for something: a request, a watch or a pause",
    )


def _impure(moment: Moment, instead: str, generator: Script[Any]) -> Impure:
    return Impure(
        f"the script is not a function of its results: after the same history it once yielded "
        f"{moment.step!r} at {moment.where}, and then {instead} in {name_of(generator)}",
        hint="between two yields use no clock, chance, or shared object: there are steps for them",
    )


def tellable(error: BaseException) -> BaseException:
    """This error, or if it cannot be shown, another one that bears its name."""
    try:
        f"{error!s}{error!r}"
    except Exception as wrong:
        kind = type(error).__name__
        told = f"it cannot be shown: {type(wrong).__name__} in its __str__ or __repr__"
        named: type[Exception] = type(kind, (Exception,), {})
        return named(told)
    return error


def _same_step(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, Within):
        return bool(one.seconds == other.seconds)
    if isinstance(one, Spawn):
        return one.name == str(other.name)
    return bool(one == other) or alike(one, other)


def alike(one: Any, other: Any) -> bool:
    """Whether two things have equal values, as far as can be told."""
    try:
        return bool(value_of(one, {}) == value_of(other, {}))
    except NotComparable:
        return True  # there is something in them that compares by identity only


def stand(moment: Moment, generator: Any, outside: CodeLine) -> None:
    """Let a moment know where its suspended script stands."""
    scripts = [generator]
    while True:
        inner = getattr(scripts[-1], "gi_yieldfrom", None)
        code = getattr(inner, "gi_code", None)
        if code is None or code is Step.__iter__.__code__:
            break
        scripts.append(inner)
    moment.where = name_of(scripts[-1])
    if hasattr(generator, "gi_code"):
        moment.place = nearest(scripts, outside)
        moment.private = is_of_a_recipe(scripts[-1].gi_code)


# --- comparing suspended generators -----------------------------------------------------


class NotComparable(Exception):
    """Something in a generator has no value that could be compared."""


_PLAIN = frozenset({str, bytes, int, type(None)})
_VALUES = frozenset({bool, float, complex, range})
_BY_IDENTITY = (
    type,
    types.CodeType,
    types.ModuleType,
    types.BuiltinFunctionType,
    property,
    AnySession,
    Recipe,
)
_ITERATORS: frozenset[type] = frozenset(
    {
        type(iter(())), type(iter([])), type(iter(range(1))), type(iter("")), enumerate,
        reversed, type(reversed([])),
    }
)  # fmt: skip


def generator_value(generator: Any, seen: dict[int, int]) -> Hashable:
    """All that decides what a suspended generator does next, as a value.

    `gc.get_referents` gives a generator's variables, what lies on its stack (such as the iterator
    of a for loop) and the exception it is handling: all three matter, and only the first is to be
    seen from Python otherwise.
    """
    parts: list[Hashable] = []
    while generator is not None:
        if type(generator) is not types.GeneratorType:
            raise NotComparable(generator)
        frame = generator.gi_frame
        if frame is None:
            parts.append((generator.gi_code, "ended"))
            break
        inner = generator.gi_yieldfrom
        # Names as well: a variable that is not set leaves no trace among the referents.
        variables = frame.f_locals
        parts.append((generator.gi_code, frame.f_lasti, tuple(variables)))
        code = generator.gi_code
        for each in gc.get_referents(generator):
            if each is code or each is inner or each is variables:
                continue
            if type(each) is not types.FrameType:
                parts.append(value_of(each, seen))
        generator = inner
    return tuple(parts)


def value_of(thing: Any, seen: dict[int, int]) -> Hashable:
    """A hashable value that is equal for equal things, or NotComparable."""
    kind = type(thing)
    if kind in _PLAIN:
        return thing  # type: ignore[no-any-return]
    if kind in _VALUES:
        return (kind, thing)
    if isinstance(thing, tuple):
        return (kind, *[value_of(each, seen) for each in thing])
    if isinstance(thing, Enum):
        return thing
    if isinstance(thing, BaseException):
        return _error_value(thing, seen)
    if isinstance(thing, Step) and is_dataclass(thing):
        return (kind, *[value_of(getattr(thing, f.name), seen) for f in fields(thing)])
    if isinstance(thing, Returnable):
        return (kind, *[(n, value_of(v, seen)) for n, v in vars(thing).items()])
    if isinstance(thing, _BY_IDENTITY):
        return thing
    if kind is types.FunctionType:
        cells = thing.__closure__ or ()
        defaults = value_of((thing.__defaults__, thing.__kwdefaults__), seen)
        return (thing.__code__, defaults, *[value_of(each.cell_contents, seen) for each in cells])
    if kind is types.MethodType:
        return (thing.__func__, value_of(thing.__self__, seen))
    if kind is types.CellType:
        return (kind, value_of(thing.cell_contents, seen))
    return _mutable_value(thing, kind, seen)


def _mutable_value(thing: Any, kind: type, seen: dict[int, int]) -> Hashable:
    """The same for what can change: whether two names mean one object then matters as well."""
    if id(thing) in seen:
        return ("seen", seen[id(thing)])
    seen[id(thing)] = len(seen)
    if kind is list:
        return (kind, *[value_of(each, seen) for each in thing])
    if kind is dict:
        return (kind, *[(value_of(k, seen), value_of(v, seen)) for k, v in thing.items()])
    if kind in (set, frozenset):
        return (kind, frozenset(value_of(each, seen) for each in thing))
    if kind is types.GeneratorType:
        return generator_value(thing, seen)
    if kind in _ITERATORS:
        return (kind, value_of(thing.__reduce__()[1:], seen))
    if getattr(vars(kind).get("__dataclass_params__"), "frozen", False):
        return (kind, *[value_of(getattr(thing, f.name), seen) for f in fields(thing)])
    if _has_only_attributes(kind):
        return (kind, *[(name, value_of(each, seen)) for name, each in vars(thing).items()])
    raise NotComparable(thing)


class _Plain:
    """What an object of a class that is written in Python looks like."""


def _has_only_attributes(kind: type) -> bool:
    """Whether all that an object of this class is stands in its `vars`: no slots, and nothing
    inside that Python cannot see."""
    return (kind.__basicsize__, kind.__dictoffset__) == (
        _Plain.__basicsize__,
        _Plain.__dictoffset__,
    )


def _error_value(error: BaseException, seen: dict[int, int]) -> Hashable:
    if isinstance(error, ZkkitError):
        return (type(error), error.message, error.path)
    return (type(error), value_of(error.args, seen))


if sys.implementation.name != "cpython":  # pragma: no cover

    def generator_value(generator: Any, seen: dict[int, int]) -> Hashable:
        """Stacks cannot be seen here: every history stands for itself."""
        raise NotComparable(generator)
