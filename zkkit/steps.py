"""The steps a script can yield, and what it is sent back.

A script is a generator: it yields steps and is sent their results. It never touches a socket,
a thread or a clock; whoever runs it does (`zkkit.session` on a real ensemble). Steps are values:
frozen, comparable, and iterable, so that inside a script

    names = yield from Children(path)

is exactly typed. A plain `yield` does the same at run time.

Requests          Create Delete Get Set Exists Children Multi Sync Watch
Flights           Together
Waiting           Wait Heard Within
Other actors      Spawn Stop Call Notify Employ Dismiss IfUntaken
The impure world  Guid Now Random SessionId Actor
The session       Remember Recall Mark Proved StillHeld
The process       Post Posted
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Iterable
from dataclasses import dataclass, fields
from enum import Enum, StrEnum
from functools import update_wrapper
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_args,
    overload,
)

from .errors import ZkkitError

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

Script: TypeAlias = Generator["Step[Any]", Any, R]
"""What a script is: yields steps, is sent results, returns an R."""


class Step(Generic[R_co]):
    """One thing a script asks for; `R_co` is the type of what it is sent back."""

    __slots__ = ()

    def __iter__(self) -> Generator[Step[Any], Any, R_co]:
        result: R_co = yield self
        return result


def _quickly_made(kind: type[T]) -> type[T]:
    """The same frozen dataclass with a constructor that takes two thirds of the time, for the steps
    that all recipes are made of: it sets the slots themselves, where the one that dataclasses write
    calls `object.__setattr__` with the name of each field."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    lines = [f" set_{name}(self, {name})" for name in names]
    if hasattr(kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    scope: dict[str, Any] = {f"set_{name}": getattr(kind, name).__set__ for name in names}
    exec("\n".join([f"def __init__(self, {', '.join(names)}):", *lines]), scope)
    made = scope["__init__"]
    made.__defaults__ = kind.__init__.__defaults__
    kind.__init__ = update_wrapper(made, kind.__init__)  # type: ignore[method-assign]
    return kind


# --- results --------------------------------------------------------------------------


class Stat(NamedTuple):
    """What the server knows about a node. `ephemeral_owner` is a session id, or 0."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    children: int
    pzxid: int


class Node(NamedTuple):
    """A created node: its full path (with the number, if sequential) and its stat."""

    path: str
    stat: Stat


class Data(NamedTuple):
    """What `Get` gives."""

    data: bytes
    stat: Stat


class FireKind(StrEnum):
    """What a watch notification says. NONE: the connection broke; all watches are gone."""

    CREATED = "created"
    DELETED = "deleted"
    CHANGED = "changed"
    CHILD = "child"
    NONE = "none"


class Fire(NamedTuple):
    """One watch notification. For a one-shot watch it never is news, only 'look again'."""

    kind: FireKind
    path: str


class Acl(NamedTuple):
    """One entry of an access control list."""

    perms: int
    scheme: str
    id: str


OPEN_ACL = (Acl(31, "world", "anyone"),)


class Mode(Enum):
    """How a node lives. The value is the server's flag."""

    PERSISTENT = 0
    EPHEMERAL = 1
    PERSISTENT_SEQUENTIAL = 2
    EPHEMERAL_SEQUENTIAL = 3
    CONTAINER = 4
    PERSISTENT_TTL = 5
    PERSISTENT_SEQUENTIAL_TTL = 6

    def __init__(self, flag: int) -> None:
        self.has_ttl = flag in (5, 6)
        self.label = self._name_.lower()
        """What records call it."""


# --- requests -------------------------------------------------------------------------


class Request(Step[R_co]):
    """A step that goes to the server. Only these can fly together."""

    __slots__ = ()
    path: str


_BYTES = (bytes, bytearray, memoryview)


def check_data(whose: str, data: object) -> None:
    """Raise TypeError unless this can be the data of a node."""
    if not isinstance(data, _BYTES):
        way_out = ": use text.encode()" if isinstance(data, str) else ""
        raise TypeError(f"the data of {whose} must be bytes, not {data!r:.40}{way_out}")


def check_acl(acl: object) -> None:
    """Raise ValueError unless these can be the ACL of a node."""
    if isinstance(acl, Acl) or not isinstance(acl, Collection) or not all(map(_is_entry, acl)):
        raise ValueError(
            "acl must be a list of Acl(perms, scheme, id), such as [Acl(31, 'world', 'anyone')], "
            f"not {acl!r:.80}"
        )


def _is_entry(entry: object) -> bool:
    kinds = (int, str, str)
    return isinstance(entry, Acl) and all(map(isinstance, entry, kinds))


def check_ops(ops: Iterable[object]) -> None:
    """Raise ValueError unless these can be applied together."""
    for op in ops:
        if not isinstance(op, _OPS):
            raise ValueError(
                f"a transaction takes Create, Delete, Set and Check, one by one, not {op!r:.80}"
            )


@_quickly_made
@dataclass(frozen=True, slots=True)
class Create(Request[Node]):
    """Create a node. `acl=None` means the session's; `ttl_ms` goes with the TTL modes only."""

    path: str
    data: bytes = b""
    mode: Mode = Mode.PERSISTENT
    acl: tuple[Acl, ...] | None = None
    ttl_ms: int | None = None

    def __post_init__(self) -> None:
        try:
            needs_ttl = self.mode.has_ttl
        except AttributeError:
            raise ValueError(
                f"Create({self.path}): mode must be one of Mode, such as Mode.EPHEMERAL, "
                f"not {self.mode!r}"
            ) from None
        if needs_ttl != (self.ttl_ms is not None):
            raise ValueError(f"Create({self.path}): a TTL mode and ttl_ms go together")
        check_data(self.path, self.data)


@_quickly_made
@dataclass(frozen=True, slots=True)
class Delete(Request[None]):
    """Delete a node, if its version fits (-1: any)."""

    path: str
    version: int = -1


@_quickly_made
@dataclass(frozen=True, slots=True)
class Get(Request[Data]):
    """Read a node. A watch is set only if the node is there."""

    path: str
    watch: bool = False


@_quickly_made
@dataclass(frozen=True, slots=True)
class Set(Request[Stat]):
    """Write a node, if its version fits (-1: any)."""

    path: str
    data: bytes
    version: int = -1

    def __post_init__(self) -> None:
        check_data(self.path, self.data)


@_quickly_made
@dataclass(frozen=True, slots=True)
class Exists(Request["Stat | None"]):
    """Look whether a node is there. A watch is set in either case: a node that never
    comes back leaves it behind, so waiting for a node to go wants `Get`."""

    path: str
    watch: bool = False


@_quickly_made
@dataclass(frozen=True, slots=True)
class Children(Request[tuple[str, ...]]):
    """The names of a node's children, in no order."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Sync(Request[None]):
    """Let the server we are connected to catch up with the leader."""

    path: str


@dataclass(frozen=True, slots=True)
class Check:
    """Inside `Multi`: the node is there and its version fits (-1: any)."""

    path: str
    version: int = -1


MultiOp: TypeAlias = Create | Delete | Set | Check
_OPS = (Create, Delete, Set, Check)


@dataclass(frozen=True, slots=True)
class Multi(Request[tuple["str | Stat | None", ...]]):
    """All or nothing. A Create gives its path, a Set its Stat, the others None."""

    ops: tuple[MultiOp, ...]

    def __post_init__(self) -> None:
        check_ops(self.ops)

    @property
    def path(self) -> str:  # type: ignore[override]
        """The first operation's path: what errors and records speak of."""
        return self.ops[0].path if self.ops else ""


@dataclass(frozen=True, slots=True)
class Watch(Request[None]):
    """A persistent watch: fires until the run that set it ends.

    After a reconnect the session sets it again and wakes the run with a NONE fire: events may
    have been missed, so read everything again.
    """

    path: str
    recursive: bool = False


@dataclass(frozen=True, slots=True, init=False)
class Together(Step[R_co]):
    """Several requests in one flight, in order; not atomic: others' writes may fall between.

    All are sent and all outcomes awaited. Then the first error is raised, or with
    `settle=True` errors stand as values among the results.
    """

    requests: tuple[Request[Any], ...]
    settle: bool

    @overload
    def __init__(
        self: Together[tuple[A, B]],
        a: Request[A],
        b: Request[B],
        /,
        *,
        settle: Literal[False] = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Together[tuple[A | ZkkitError, B | ZkkitError]],
        a: Request[A],
        b: Request[B],
        /,
        *,
        settle: Literal[True],
    ) -> None: ...
    @overload
    def __init__(
        self: Together[tuple[Any, ...]], /, *requests: Request[Any], settle: bool = ...
    ) -> None: ...
    def __init__(self, *requests: Request[Any], settle: bool = False) -> None:
        object.__setattr__(self, "requests", requests)
        object.__setattr__(self, "settle", settle)

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.requests))
        return f"Together({inside}{', settle=True' if self.settle else ''})"


# --- waiting --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wait(Step[Fire]):
    """Wait until a watch of this run fires (or has fired and was not yet taken)."""


@dataclass(frozen=True, slots=True)
class Heard(Step[tuple[Fire, ...]]):
    """All that watches of this run have told and `Wait` has not given yet, perhaps nothing: for who
    has many watches, and looks at all that fired in one flight. It does not wait."""


@dataclass(frozen=True, slots=True, eq=False)
class Within(Step[R]):
    """Run `body`, a script or a step, for at most `seconds`. Then it is cancelled: `Cancelled` is
    thrown into it where it stands, it cleans up, and `TimedOut` is raised here."""

    seconds: float
    body: Script[R] | Step[R]

    def __post_init__(self) -> None:
        if not isinstance(self.seconds, int | float):
            raise ValueError(f"Within takes a number of seconds, not {self.seconds!r}")


# --- other actors ---------------------------------------------------------------------


class Spawned(NamedTuple):
    """The handle of a script that runs in the background of this session."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Spawn(Step[Spawned]):
    """Run `script` as a background actor that ends with the session."""

    script: Script[Any]
    name: str = "background"


@dataclass(frozen=True, slots=True)
class Stop(Step[None]):
    """Cancel a background actor and wait until it has cleaned up."""

    spawned: Spawned


@dataclass(frozen=True, slots=True, init=False)
class Call(Step[Any]):
    """Run user code outside the script, on the session's callback thread (greenlet, loop)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "args", args)


@dataclass(frozen=True, slots=True, init=False)
class Notify(Step[None]):
    """Have user code run as `Call` does, in the same order, without waiting for it: its result is
    dropped, and what it raises is logged."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "args", args)


@dataclass(frozen=True, slots=True, init=False)
class IfUntaken(Step[None]):
    """If this run comes to a result and nobody takes it, because its caller has just left, run the
    script `undo(*args)` in the background. (A `Returnable` that nobody took is given back anyway.)
    """

    undo: Callable[..., Script[Any]]
    args: tuple[Any, ...]

    def __init__(self, undo: Callable[..., Script[Any]], *args: Any) -> None:
        object.__setattr__(self, "undo", undo)
        object.__setattr__(self, "args", args)


class Employment(NamedTuple):
    """What the session's table has of user code that is an actor of its own: who it is (None: it
    has not begun), whether it was asked to stop, and whether it has ended."""

    actor: Hashable = None
    dismissed: bool = False
    ended: bool = False


@dataclass(frozen=True, slots=True, init=False)
class Employ(Step[None]):
    """Let user code run as an actor of its own: in a thread or greenlet, or on asyncio as a task.
    It may take as long as it likes; nobody waits for it. It is called as `function(stop, *args)`,
    where `stop` is an event (`is_set`, `wait`) that is set when it is dismissed; if that is so
    before it has begun it is not called.

    The table has an `Employment` under `key` from now on, so that `Recall(key, watch=True)` tells
    when it has ended. Forget it then: `Remember(key, None)`. What it raises is logged. It outlives
    the script that asked for it, and its session.
    """

    key: Hashable
    function: Callable[..., Any]
    args: tuple[Any, ...]

    def __init__(self, key: Hashable, function: Callable[..., Any], *args: Any) -> None:
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "args", args)


@dataclass(frozen=True, slots=True)
class Dismiss(Step[None]):
    """Ask the user code that is employed under `key` to stop: its event is set, and on asyncio its
    task is cancelled, once. Nothing happens if it has ended, or was asked before."""

    key: Hashable


# --- the impure world, as steps -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guid(Step[str]):
    """A fresh guid in its canonical form of 36 characters."""


@dataclass(frozen=True, slots=True)
class Now(Step[float]):
    """Seconds on a clock that never goes back; its zero means nothing."""


@dataclass(frozen=True, slots=True)
class Random(Step[float]):
    """A random number in [0, 1)."""


@dataclass(frozen=True, slots=True)
class SessionId(Step[int]):
    """The id of the session as it is now; 0 while there is none."""


@dataclass(frozen=True, slots=True)
class Actor(Step[Hashable]):
    """Whoever called: the Thread, greenlet or Task object itself."""


@dataclass(frozen=True, slots=True)
class Proved(Step[None]):
    """Wait until it is proved that the servers keep our session. To be asked before a grant counts:
    what a server that lags, or a leader that was deposed, shows us may be old."""


@_quickly_made
@dataclass(frozen=True, slots=True)
class StillHeld(Step[bool]):
    """Whether a node marked as acquired in that session (0: it outlives sessions) surely is still
    held, by the session's own clocks. With `watch` this run is woken when that may have ended
    without its doing."""

    session_id: int
    path: str
    zxid: int
    watch: bool = False


# --- what outlives a script -----------------------------------------------------------


@_quickly_made
@dataclass(frozen=True, slots=True)
class Remember(Step[None]):
    """Write `value` under `key` into the session's table; None forgets the key."""

    key: Hashable
    value: Any


@_quickly_made
@dataclass(frozen=True, slots=True)
class Recall(Step[Any]):
    """What the session's table has under `key`, or None. With `watch` this run is woken when
    somebody remembers something there: once, as by a watch on a node, but nothing goes to a
    server."""

    key: Hashable
    watch: bool = False


@_quickly_made
@dataclass(frozen=True, slots=True)
class Post(Step[None]):
    """Write `text` under `topic` on the board of the process, which all its sessions share, in
    place of what was there. The board is small and forgets: what is not there must cost no more
    than a question to the server. Sessions of other ensembles and namespaces write there as well:
    so post only what can be taken for nobody else's, such as a name with a guid in it, and what
    stays true."""

    topic: str
    text: str


@_quickly_made
@dataclass(frozen=True, slots=True)
class Posted(Step["str | None"]):
    """What was last posted under `topic` by anybody in this process, or None: nothing was, or it
    is forgotten."""

    topic: str


class Tally(Protocol):
    """Somebody who counts what is marked."""

    def count(self, what: str, kind: str, duration_ns: int) -> None: ...


Word: TypeAlias = Literal[
    "acquired", "released", "led", "unled", "entered", "left", "put", "taken", "done", "value",
    "cached", "gave up", "found",
]  # fmt: skip
"""What a recipe can mark."""

GAINS = frozenset({"acquired", "led", "entered", "taken", "value", "cached"})
"""The words by which a run says that it got what it waited for."""

ENDED_BY = {"acquired": "released", "led": "unled", "entered": "left"}
"""The words that begin a span of time, each with the word that ends it."""


@_quickly_made
@dataclass(frozen=True, slots=True)
class Mark(Step[None]):
    """Tell the hooks, and the tally if there is one, what the runner cannot know: it knows steps,
    and the recipe knows what they mean.

        acquired, released   a hold began, or is about to be given back. `kind` "reentrant": one
                             more acquire of what is held; "persistent": the node outlives the
                             session it was acquired in
        led, unled           the same for a lead. The session watches over holds and leads: if it
                             is lost, so are they, and the hook `lost` says so. `kind` of unled
                             "lost": it was not given back, it is in doubt or taken away
        entered, left        the actor went in (through a barrier, into a group), or came out
        put, taken, done     an item was put into a queue, taken out, worked off
        value                a value was read or written: `kind` is the value after, `before` the
                             value before, both as text
        cached               a cache took over a change: `kind` is created, changed or deleted
        gave up              an attempt ended without a grant; for the tally only
        found                this run created the node, and learns it only now, since the reply was
                             lost

    `path` is the node it is about. `zxid` is the node's czxid; of a value or a cached node it is
    the mzxid.
    """

    what: Word
    path: str
    zxid: int
    kind: str = ""
    tally: Tally | None = None
    before: str = ""

    def __post_init__(self) -> None:
        if self.what not in _WORDS:
            raise ValueError(f"Mark({self.what!r}): the words are {', '.join(get_args(Word))}")


_WORDS = frozenset(get_args(Word))
