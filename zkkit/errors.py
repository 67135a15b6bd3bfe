"""Every error zkkit raises.

All derive from `ZkkitError`, carry the path they speak of and a hint that says
what to do, and compare by value: two errors of one kind about one path are equal.
(The simulator relies on that to recognise a state it has seen.)

What a script can be thrown:

    Cancelled       unwind and re-raise; thrown once. A BaseException.
    ConnectionLost  the outcome of the request is unknown; the session may live.
    TooLarge        the connection broke on a request that servers do not take.
    SessionLost     the session this script began in is over; thrown once.
    TimedOut        an inner deadline (`Within`) ran out.
    ServerError     the server said no: NoNode, NodeExists, BadVersion, ...

`DeadlineExceeded` is seen by callers only.
"""

from __future__ import annotations

from typing import Any, ClassVar


class ZkkitError(Exception):
    """Base of all errors. `path` is the znode it speaks of, `hint` the way out."""

    def __init__(self, message: str, *, path: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  What to do: {self.hint}" if self.hint else self.message

    def _value(self) -> tuple[Any, ...]:
        return (type(self), self.message, self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZkkitError) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())


class Cancelled(BaseException):
    """The caller has left; the script cleans up and lets this pass.

    A BaseException, so that `except Exception` in a script does not swallow it.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is Cancelled

    def __hash__(self) -> int:
        return hash(Cancelled)


# --- the connection and the session -------------------------------------------------


class ConnectionLost(ZkkitError):
    """The connection broke while a request was under way: it may or may not have been applied."""


class TooLarge(ZkkitError):
    """The connection broke on a request that is larger than servers take by default. They hang up
    on such a request, so it is not sent again. (Servers that were set to take more may have applied
    it, and the connection broke for another reason.)

    `found_out`: they were set to take less. They have hung up on requests of that size three times
    running, each time at once, and `limit` is the size of the largest that they ever answered."""

    def __init__(
        self, size: int, limit: int, path: str | None = None, found_out: bool = False
    ) -> None:
        where = f": {path}" if path else ""
        known = (
            f"the largest it ever answered had {limit:,}, so it seems to be set to take less"
            if found_out
            else f"servers take at most {limit:,} unless they are set to take more"
        )
        super().__init__(
            f"the server hung up on a request of {size:,} bytes; {known}{where}",
            path=path,
            hint="write less at a time, or set jute.maxbuffer on all servers",
        )
        self.size = size
        self.limit = limit
        self.found_out = found_out

    def __reduce__(self) -> tuple[Any, ...]:
        return (TooLarge, (self.size, self.limit, self.path, self.found_out))


class SessionLost(ZkkitError):
    """The session is over, by the server's clock or by ours: its ephemeral nodes are (or will be)
    gone and everything held in it is no longer held."""


class Unreachable(SessionLost):
    """No server gave us a session for a whole session timeout: there was none to lose."""


class SessionClosed(SessionLost):
    """The session was closed on this side."""


class ForkedSession(ZkkitError):
    """A session is used in a child process that was forked after it was opened."""


class ConnectFailed(ZkkitError):
    """No server gave us a session within the connect timeout."""


class DeadlineExceeded(ZkkitError, TimeoutError):
    """The caller's deadline passed. What was begun is being undone in the session."""


class TimedOut(ZkkitError):
    """An inner deadline (`Within`) ran out."""


# --- misuse -------------------------------------------------------------------------


class InvalidPath(ZkkitError, ValueError):
    """A path that ZooKeeper would refuse."""


class NotOwner(ZkkitError):
    """Somebody released what is not theirs."""


class WrongWith(ZkkitError, TypeError):
    """`with` where the session is an asyncio one, or `async with` where it is not."""


class NotHeld(ZkkitError):
    """The lock is no longer ours: nothing was written."""


class AlreadyStarted(ZkkitError):
    """A recipe was started a second time, or after it was closed."""


class NotStarted(ZkkitError):
    """A recipe was asked for something that it can do only between its start and its close."""


class AlreadyInside(ZkkitError):
    """A member of a barrier entered a second time, and has not left."""


class NotInside(ZkkitError):
    """A member left a barrier that it had not entered, or in which its place was lost."""


class UpgradeRefused(ZkkitError):
    """A reader asked for the write lock: it would wait for itself for ever."""


class NoRoot(ZkkitError):
    """The root that all paths of a session are below (its chroot) does not exist."""


class CounterUsedUp(ZkkitError):
    """There are no new numbers left: the server has none for the sequential children of a node, or
    a counter would be higher (or lower) than its node can say."""


class VersionUsedUp(ZkkitError):
    """The version of a node has come to -1, which servers take for any version."""


class OutcomeUnknown(ZkkitError):
    """The session was lost before the reply to a write came, and nobody can find out any more
    whether it was applied."""


class CorruptData(ZkkitError):
    """A node holds what its recipe cannot have written."""


class NotAStep(ZkkitError, TypeError):
    """A script yielded something that is no step."""


class NotASession(ZkkitError, TypeError):
    """Something else was given where an open session belongs."""


class Unsupported(ZkkitError):
    """This recipe, by its design, cannot do what was asked."""


# --- what the server answers ----------------------------------------------------------


class ServerError(ZkkitError):
    """The server refused a request. `code` is ZooKeeper's own."""

    code: ClassVar[int] = 0
    says: ClassVar[str] = "the server refused the request"

    def __init__(self, path: str | None = None, *, message: str = "", hint: str = "") -> None:
        where = f": {path}" if path else ""
        super().__init__(message or f"{self.says}{where}", path=path, hint=hint)


class NoNode(ServerError):
    code, says = -101, "no such node"


class NoAuth(ServerError):
    code, says = -102, "not authorised by the node's ACL"


class BadVersion(ServerError):
    code, says = -103, "the node's version is not the expected one"


class NoChildrenForEphemerals(ServerError):
    code, says = -108, "an ephemeral node cannot have children"


class NodeExists(ServerError):
    code, says = -110, "the node exists already"


class NotEmpty(ServerError):
    code, says = -111, "the node has children"


class InvalidAcl(ServerError):
    code, says = -114, "the ACL is not valid"


class AuthFailed(ServerError):
    code, says = -115, "authentication failed"


class NotReadOnly(ServerError):
    code, says = -119, "a write was sent to a read-only server"


class NoWatcher(ServerError):
    code, says = -121, "there is no such watch"


class Unimplemented(ServerError):
    code, says = -6, "this server does not know the request"


class BadArguments(ServerError):
    code, says = -8, "the server calls the arguments bad"


class UnknownServerError(ServerError):
    """A refusal zkkit has no class for; the code is in the text."""

    def __init__(self, number: int, path: str | None = None) -> None:
        where = f": {path}" if path else ""
        super().__init__(path, message=f"the server refused the request with code {number}{where}")
        self.number = number


class MultiFailed(ZkkitError):
    """A multi was refused as a whole. `errors` has, per operation, its error or None."""

    def __init__(self, errors: tuple[ServerError | None, ...]) -> None:
        index, first = next((i, e) for i, e in enumerate(errors) if e is not None)
        super().__init__(
            f"the multi failed at operation {index} ({first.message}); none was applied",
            path=first.path,
        )
        self.errors = errors
        self.index = index
        self.error = first

    def __reduce__(self) -> tuple[Any, ...]:
        return (MultiFailed, (self.errors,))


_BY_CODE: dict[int, type[ServerError]] = {
    kind.code: kind for kind in ServerError.__subclasses__() if kind.code
}

CONNECTION_LOSS_CODES = frozenset({-4, -7})
"""The codes of 'the connection broke' and 'the operation timed out'."""

SESSION_OVER_CODES = frozenset({-112, -118})
"""The codes of 'session expired' and 'session moved'."""


def server_error(code: int, path: str | None = None) -> ServerError:
    """The error for one of ZooKeeper's codes."""
    kind = _BY_CODE.get(code)
    return kind(path) if kind else UnknownServerError(code, path)
