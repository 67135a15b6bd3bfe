"""The seam between a session and its connection.

The runner knows nothing of sockets. It hands requests to a `Transport`, and the transport tells it,
as its `Listener`, what came back. Everything about one client library or one way to do I/O is
behind this seam; `connecting.py` decides which transport a session gets.

The life of a session, as the transport tells it:

    open(listener, seat)                  begin to connect; all that follows comes by itself
      session_opened(id, timeout, ...)    a server gave us a session, new or known ...
      connection_up()                     ... and takes requests: the runner calls `resume`
        replied, fired, answered          as they come in, in the order of the wire
      connection_down()                   the runner calls `suspend`; only then does what was under
        replied(..., ConnectionLost)      way fail, so whatever scripts send next is kept
      session_opened, connection_up       connected again: with the same id the session goes on,
                                          and what was kept is sent
      session_over()                      or the server says that it has expired: the runner calls
                                          `forget_unsent`, and the next session_opened has a new id
      ended(why)                          the transport has given up, or was shut down

**A request belongs to one session.** One that was not sent when the connection broke is kept and
sent on the next connection of the same session. One that was sent and not answered fails with
ConnectionLost: it may have been applied. None of either kind ever reaches another session.

**Requests go out by `flush`**, together: the runner calls it when the scripts have moved, and what
one piece of news made them send goes out in one write.

**Requests keep their order**, that of the calls of `send`, across connections too: one that was not
sent when the connection broke goes out before any that was made later. The runner relies on it: a
clean-up looks for what an earlier request may have created.

**What nobody waits for is not sent.** Whoever leaves a request that was not sent takes it back. So
requests do not pile up where a server answers nothing for long, and no write is applied long after
its caller was told that it has failed. It was surely not applied: a clean-up that is made then, and
looks for what it may have created, finds nothing.

**A perishable request belongs to one connection.** Watches are gone from the server when the
connection breaks: a request to remove one would hit another run's later. One that was not sent by
then is dropped, and nobody is told.

**Threads.** The runner has one lock, the monitor, and takes it itself in each method of the
listener. The transport calls those on the thread (greenlet) that reads the connection, one at a
time, and holds no lock of its own that `send` needs. What it has to tell at one time it tells
inside `batch`: one hold of the monitor, and the scripts move when all is told. `open` and
`shut_down` are called without the monitor, and `shut_down` waits. The other methods are called
with it, from any thread, and must not wait for the thread that reads: that one may be waiting for
the monitor.

**Errors.** Neither side raises. What goes wrong with a request is told by `replied`, what goes
wrong with the connection by `connection_down`, `refusals` and `ended`. No error of a client
library crosses the seam.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..errors import ZkkitError
from ..kernel import WatchKind
from ..steps import FireKind
from .loop import AnySeat
from .wire import Encoded

_HEADER = 8


class Outgoing:
    """One request on its way."""

    __slots__ = ("body", "decode", "index", "owner", "path", "perishable", "sent_at", "type")

    def __init__(
        self,
        encoded: Encoded,
        path: str,
        owner: Any = None,
        index: int = 0,
        *,
        perishable: bool = False,
    ) -> None:
        self.type, self.body, self.decode = encoded
        self.path = path
        self.owner = owner
        """Whoever waits for it, and which of theirs it is: the runner's, not the transport's."""
        self.index = index
        self.perishable = perishable
        """Whether it is meant for the present connection only."""
        self.sent_at = 0.0
        """When the transport sent it, on the session's clock; 0 while it has not."""

    def __repr__(self) -> str:
        return f"Outgoing(type={self.type}, {self.path})"

    @property
    def size(self) -> int:
        """Bytes on the wire, as servers measure a request: its header too, its length not."""
        return _HEADER + len(self.body)


class Listener(Protocol):
    """Whom the transport tells: the runner."""

    def batch(self) -> AbstractContextManager[Any]:
        """The monitor, for several things that are told one after the other."""

    def session_opened(self, session_id: int, timeout: float, sent_at: float) -> bool:
        """A server gave us this session; we asked for it at `sent_at`. False: close it at once."""

    def answered(self, sent_at: float) -> None:
        """A request or ping that was sent then has an answer. Needs no monitor."""

    def connection_up(self) -> None:
        """The session is connected: what is sent now goes out."""

    def connection_down(self) -> None:
        """The connection broke, and nothing that was under way has failed yet."""

    def session_over(self) -> None:
        """The server says that the session has expired."""

    def ended(self, why: str) -> None:
        """There will be no connection any more, for this reason."""

    def fired(self, kind: FireKind, full_path: str) -> None:
        """A watch notification. The path is the server's: the chroot is before it."""

    def client_asks(self, kind: WatchKind, full_path: str) -> bool:
        """Somebody asks the client library's own object for something, and for this watch with it.
        False: the request must ask for none, since another watch stands for it."""

    def client_answered(self, kind: WatchKind, full_path: str, was_set: bool) -> None:
        """That request has its outcome."""

    def is_awaited(self, call: Outgoing) -> bool:
        """Whether somebody still waits for its outcome."""

    def replied(self, call: Outgoing, value: Any, error: ZkkitError | None) -> None:
        """A request has its outcome: what its `decode` gave, or an error.

        An exists of a node that is not there gives None. An error is the server's refusal,
        ConnectionLost, or TooLarge if the servers hang up on requests of that size.
        """


class Transport(Protocol):
    """A connection to an ensemble that mends itself, for one session after the other."""

    chroot: str
    """What the connect string puts before every path; "" for nothing."""

    servers: int
    """How many servers there are to try."""

    refusals: dict[str, str]
    """Which servers did not take us, and why."""

    denied: bool
    """Whether our credentials were not accepted."""

    client: Any
    """The client library's own object, for those who want to go past zkkit."""

    @property
    def last_zxid(self) -> int:
        """The zxid of the reply that is just being told."""

    def open(self, listener: Listener, seat: AnySeat) -> None:
        """Begin to connect. The seat tells of sockets, and calls timers."""

    def send(self, call: Outgoing) -> None:
        """Send with the next flush, or, unless it is perishable, when the session is connected
        again."""

    def flush(self) -> None:
        """Let what was sent go out."""

    def suspend(self) -> None:
        """From now on keep what is sent."""

    def resume(self) -> None:
        """Send what was kept, in order, and from now on everything at once."""

    def take_back(self, owner: Any) -> list[Outgoing]:
        """Never send what was not sent of this owner's: those requests. Nobody is told."""

    def forget_unsent(self) -> None:
        """The session is over: what it never sent must not reach the next one."""

    def tell_client(self, kind: FireKind, path: str) -> None:
        """The server says nothing of this event, since another watch stands for one that was set
        by the client library's own object: let whoever set it know. The path is the server's."""

    def hang_up(self) -> None:
        """Break the connection, if there is one, and connect again."""

    def try_another(self) -> None:
        """Break the connection, and connect to another server if there is one."""

    def shut_down(self, patience: float) -> None:
        """Close the session on the server, if it answers within `patience` seconds, and free
        everything. Shutting down twice is harmless."""
