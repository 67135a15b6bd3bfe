"""kazoo's client with another connection below: kazoo connects, zkkit talks.

kazoo is good at finding a server and being taken by it: hosts, retries, TLS, SASL, credentials,
session states. All of that stays its own. But once a connection stands, its loop (one thread for
each session, one request and one reply at a time) is not run: the socket goes to whoever wants it
(`Owner`), and kazoo's thread ends. When that connection is over a thread connects again. So a
session that is connected has no thread at all, unless it is read-only (`read_only.py`).

The client stays a kazoo client: what its own methods ask for is taken from its queue and sent on
the same connection, between the requests of scripts, and answered as kazoo would.

The private names of kazoo that this relies on:

    conn._connect             whether a server took us, credentials and all; where it is called from
    conn._invoke              the connect reply: session id and negotiated timeout
    conn._read_response       tells whoever asked the client for something, and keeps its watchers
    conn._read_watch_event    calls the client's watchers
    client._queue, ._pending  what its own methods ask for, and what of it is under way
    client._session_callback  every change of state, before kazoo acts on it
"""

from __future__ import annotations

import logging
import queue
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, Protocol

from kazoo.exceptions import AuthFailedError, ConnectionDropped, SessionExpiredError
from kazoo.handlers.threading import _STOP, SequentialThreadingHandler
from kazoo.protocol.connection import _CONNECTION_DROP, _SESSION_EXPIRED, ConnectionHandler
from kazoo.protocol.serialization import (
    Close,
    Connect,
    GetChildren,
    GetChildren2,
    ReplyHeader,
)
from kazoo.protocol.states import KeeperState
from kazoo.retry import ForceRetryError, RetryFailedError

from ..kernel import WatchKind
from .clock import now
from .forks import tell_in_child
from .link import AUTH_XID, BODY, Fired, Reply
from .platforms import Platform
from .read_only import Search, Server
from .standing import shut

_log = logging.getLogger("zkkit.kazoo")
_STANDING, _STOPPED = "standing", "stopped"
_BRIEF = 0.2  # seconds: a connection that stood for less is not made again at once ...
_AGAIN = 0.25  # seconds from one try to begin a thread to the next
_GOODBYE = 1.0  # seconds that a server has to say so
_PAUSE = 0.05  # ... but after so many: a server may take us and hang up for ever


class Owner(Protocol):
    """Whom the handler serves: the transport. Called on the thread that connects."""

    def batch(self) -> AbstractContextManager[Any]:
        """The session's monitor."""

    def session_offered(self, session_id: int, timeout: float, sent_at: float) -> bool:
        """A server gave us this session. False: it is closed again at once."""

    def connected(self, sock: socket.socket) -> None:
        """The session stands, and the socket is the owner's from now on."""

    def not_connected(self, server: str, why: object) -> None:
        """This server could not be reached, or did not want us."""

    def changed(self, state: str) -> None:
        """The state of kazoo's client has changed."""

    def later(self, seconds: float, function: Callable[[], object]) -> None:
        """Call it then."""

    def rung(self) -> None:
        """The client's own methods ask for something. Called on their threads."""


class OwnRequest(NamedTuple):
    """Something that a method of kazoo's client asks for."""

    request: Any
    result: Any

    @property
    def watch(self) -> WatchKind | None:
        """The watch that it sets, unless it fails; None for none."""
        if not getattr(self.request, "watcher", None):
            return None
        listing = isinstance(self.request, GetChildren | GetChildren2)
        return WatchKind.CHILD if listing else WatchKind.DATA

    @property
    def mishap(self) -> str:
        """The state that the client is to be put in: kazoo's test helpers ask for that instead of a
        request. Else ""."""
        if self.request is _SESSION_EXPIRED:
            return str(KeeperState.EXPIRED_SESSION)
        return str(KeeperState.CONNECTING) if self.request is _CONNECTION_DROP else ""

    def fail(self, error: Exception) -> None:
        """Raise this for whoever asked, unless they have been told."""
        if self.result is not None and not self.result.ready():
            self.result.set_exception(error)


class _Forked(BaseException):
    """The greenlet that connects is a copy in a child process."""


class Handler(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """Connects as kazoo does, and gives the connection away when it stands."""

    def __init__(self, client: Any, owner: Owner, current: Callable[[], object]) -> None:
        """`current` gives the thread or greenlet that calls it."""
        before = client._connection
        super().__init__(client, before.retry_sleeper, before.logger, before.sasl_options)
        client._connection = self
        client.handler.create_socket_pair = lambda: (_Bell(owner), _Bell(owner))
        self._select, client.handler.select = client.handler.select, self._select_here
        self._is_copy = False
        tell_in_child(self)
        self._owner = owner
        self._current_routine = current
        self._current: tuple[str, int] | None = None
        self._avoided: tuple[str, int] | None = None
        self._wanted: list[Server] = []
        self._search: Search | None = None
        self._change, client._session_callback = client._session_callback, self._on_change

    def forked(self) -> None:
        self._is_copy = True
        # New ones: somebody may have had the locks of the old ones in the very moment. The client
        # has been stopped, for all that its methods know: they wait for nothing here.
        self.connection_stopped = self.handler.event_object()
        self.client._stopped = self.handler.event_object()
        for event in (self.connection_stopped, self.client._stopped):
            event.set()
        for bell in (self._read_sock, self._write_sock):
            if bell is not None:
                bell.close()

    # --- what the owner asks for ------------------------------------------------------------------

    def own_requests(self) -> Iterator[OwnRequest]:
        """What the client's methods have asked for since."""
        waiting = self.client._queue
        while waiting:
            with suppress(IndexError):  # kazoo has just failed all of them
                yield OwnRequest(*waiting.popleft())

    def tell(self, asked: OwnRequest, reply: Reply) -> str:
        """One of them is answered. Gives the state that this puts the client in, or ""."""
        if reply.xid == AUTH_XID:
            if reply.error:
                asked.result.set_exception(AuthFailedError())
                return str(KeeperState.AUTH_FAILED)
            asked.result.set(True)
            return ""
        self.client._pending.appendleft((*asked, reply.xid))
        header = ReplyHeader(reply.xid, reply.zxid, reply.error)
        try:
            self._read_response(header, reply.frame, BODY)
        except Exception as error:  # kazoo does not know this code, or cannot keep this watcher
            kind = type(asked.request).__name__
            self.logger.exception("kazoo could not deal with the reply to its %s", kind)
            asked.fail(error)
        return str(KeeperState.CLOSED) if isinstance(asked.request, Close) else ""

    def tell_fire(self, fire: Fired) -> None:
        """Let the client's own watchers know."""
        try:
            self._read_watch_event(fire.frame, BODY)
        except Exception:
            self.logger.exception("kazoo could not deal with the fire of %s", fire.path)

    def go_on(self, state: str, why: str, stood: float, unanswered: list[OwnRequest]) -> None:
        """The connection is over, after `stood` seconds, and the client in this state (or ""):
        connect again, on a thread of its own."""
        self._end_search()
        self.client._pending.extend((*asked, 0) for asked in unanswered)
        self._begin_to_go_on(state, why, stood)

    def _begin_to_go_on(self, *how: Any) -> None:
        try:
            self._connection_routine = self.handler.spawn(self._go_on, *how)
        except RuntimeError as error:  # a thousand sessions may have lost their server at once
            self.logger.warning("connecting again must wait: %s", error)
            self._owner.later(_AGAIN, lambda: self._try_again_to_go_on(*how))

    def _try_again_to_go_on(self, *how: Any) -> None:
        if self.client._stopped.is_set():
            self._go_on(*how)  # only to say that it is over
        else:
            self._begin_to_go_on(*how)

    def avoid_current(self) -> None:
        """Try the server we are with last, the next time servers are tried."""
        self._avoided = self._current

    def hang_up(self) -> None:
        """Break the connection, or the one that is being made."""
        sock = self._socket
        if sock is not None and not self._is_copy:
            shut(sock)

    def shut_down(self, patience: float) -> None:
        """Close the session on the server and end kazoo's threads.

        A frozen server does not answer: after `patience` seconds the connection is broken, and
        the session will expire. (kazoo's own `stop` would wait ten seconds and more.) Whoever calls
        this in a listener or callback of kazoo's is on one of its threads: that one is not waited
        for, and ends when the callback has.
        """
        self.client._stopped.set()
        search = self._end_search()
        self.client._queue.append((Close(), None))
        self._owner.rung()
        connecting = self._connection_routine
        is_here = connecting is self._current_routine()  # then it says goodbye itself, if it must
        if not is_here and not self.connection_stopped.wait(patience):
            self.hang_up()
            self.connection_stopped.wait(1.0)
        self.client.handler.stop()
        if self.connection_stopped.is_set():
            if connecting is not None and not is_here:
                connecting.join(1.0)
            self.close()
        if search is not None:
            search.join(1.0)

    # --- connecting -------------------------------------------------------------------------------

    def start(self) -> None:
        self.connection_stopped.clear()
        super().start()

    def zk_loop(self) -> None:
        """Where kazoo's thread begins; it ends when a connection stands."""
        outcome = _STOPPED
        retry = self.retry_sleeper.copy()
        try:
            while not self.client._stopped.is_set():
                outcome = retry(self._connect_loop, retry)
                if outcome in (_STANDING, _STOPPED):
                    break
        except RetryFailedError:
            self.logger.warning("connecting was given up, as the retry policy says")
        except _Forked:
            outcome = _STANDING  # or whatever it is in the parent: nobody here is told
        except Exception as error:
            self.logger.exception("connecting failed in a way that nobody foresaw")
            self._owner.not_connected("connecting", repr(error))
        finally:
            if outcome != _STANDING and not self._is_copy:
                # In this order: whoever waits for the end finds the client closed.
                self.client._session_callback(KeeperState.CLOSED)
                self.connection_stopped.set()

    def _go_on(self, state: str, why: str, stood: float) -> None:
        if self._is_copy:
            return
        if state == KeeperState.CLOSED:
            self.client._stopped.set()
        else:
            self.logger.warning("the connection is over: %s", why)
        if not self.client._stopped.is_set() and self.client._state != KeeperState.CONNECTING:
            self.client._session_callback(state or KeeperState.CONNECTING)
        if state == KeeperState.AUTH_FAILED:
            self.client._stopped.set()  # no server will take what this one did not
        if stood < _BRIEF and not self.client._stopped.is_set():
            self.handler.sleep_func(_PAUSE)
        self.zk_loop()

    def _connect_loop(self, retry: Any) -> str:
        for server in self._servers():
            if self.client._stopped.is_set():
                return _STOPPED
            outcome = self._connect_attempt(*server, retry)
            if outcome:
                return outcome
        raise ForceRetryError("no server took us")

    def _servers(self) -> list[tuple[str, str, int]]:
        addresses = self._addresses()
        found = {host for host, _, _ in addresses}
        for host, port in self.client.hosts:
            if host not in found:
                self._owner.not_connected(f"{host}:{port}", "this name has no address")
        wanted, self._wanted = self._wanted, []
        # A stable sort: kazoo's order, but for the one.
        return wanted + sorted(addresses, key=lambda server: server[1:] == self._avoided)

    def _addresses(self) -> list[tuple[str, str, int]]:
        """Which servers are tried or asked, in what order. A host without an address is left out,
        also one whose name cannot even be looked up: kazoo's own way would end with that one."""
        found: list[tuple[str, str, int]] = []
        for host, port in self.client.hosts:
            try:
                resolved = socket.getaddrinfo(host.strip(), port, 0, 0, socket.IPPROTO_TCP)
            except (OSError, ValueError) as error:
                self.logger.warning("Cannot resolve %s: %s", host, error)
                continue
            found += [(host.strip(), *address[4][:2]) for address in resolved]
        if self.client.randomize_hosts:
            random.shuffle(found)
        return found

    def _connect_attempt(self, host: str, address: str, port: int, retry: Any) -> str:
        """Try one server. Gives how it ended, or "" to try the next."""
        client = self.client
        self._socket = None
        if client._state != KeeperState.CONNECTING:
            client._session_callback(KeeperState.CONNECTING)
        self._current = (address, port)
        self._check_not_forked()
        try:
            self._connect(host, address, port)
            retry.reset()
            sock: Any = self._socket
            if client._stopped.is_set():  # closed meanwhile, perhaps by a listener just now
                self._say_goodbye(sock)
                return _STOPPED
            if client.client_state == KeeperState.CONNECTED_RO:
                # Before it is given away: from then on it may be over at any time.
                self._search = self._begin_search()
            self._owner.connected(sock)
            return _STANDING
        except (Exception, self.handler.timeout_exception) as error:  # gevent's is no Exception
            self._owner.not_connected(f"{host}:{port}", error)
            self._end_search()
            if self._socket is not None:
                self._socket.close()
            return self._refused(error, retry)

    def _say_goodbye(self, sock: socket.socket) -> None:
        with suppress(Exception, self.handler.timeout_exception):
            super()._invoke(_GOODBYE, Close(), 1)
        sock.close()

    def _select_here(self, *args: Any) -> Any:
        """Select for kazoo, when it reads or writes the connection that it makes."""
        ready = self._select(*args)
        self._check_not_forked()
        return ready

    def _check_not_forked(self) -> None:
        if self._is_copy:
            raise _Forked

    def _refused(self, error: BaseException, retry: Any) -> str:
        client = self.client
        if isinstance(error, ConnectionDropped | self.handler.timeout_exception):
            self.logger.warning("not connected: %s", error)
            if client._state != KeeperState.CONNECTING:
                client._session_callback(KeeperState.CONNECTING)
            return ""
        if isinstance(error, AuthFailedError):
            retry.reset()
            self.logger.warning("the server does not accept our credentials: %s", error)
            client._session_callback(KeeperState.AUTH_FAILED)
            return _STOPPED
        if isinstance(error, SessionExpiredError):
            retry.reset()
            self.logger.warning("the session has expired")
            client._session_callback(KeeperState.EXPIRED_SESSION)
            return ""
        self.logger.error("connecting failed in a way that nobody foresaw", exc_info=error)
        return _STOPPED

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        sent_at = now()
        result = super()._invoke(timeout, request, xid)
        if isinstance(request, Connect):
            reply = result[0]
            expired = reply.time_out <= 0
            if not expired and not self._owner.session_offered(
                reply.session_id, reply.time_out / 1000.0, sent_at
            ):
                super()._invoke(timeout, Close(), 1)
                raise SessionExpiredError("closed: it was lost by our own clock")
        return result

    def _on_change(self, state: str) -> None:
        self._change(state)
        self._owner.changed(state)

    # --- while we are with a read-only server -----------------------------------------------------
    # kazoo's own `_server_pinger` asks only the first of its hosts, without TLS, for any time.

    def _call_on(self, server: Server, patience: float) -> socket.socket:
        """A connection for a question, made as kazoo makes its own."""
        host, address, port = server
        client = self.client
        sock: socket.socket = self.handler.create_connection(
            address=(address, port),
            hostname=host,
            timeout=patience,
            use_ssl=client.use_ssl,
            keyfile=client.keyfile,
            certfile=client.certfile,
            ca=client.ca,
            keyfile_password=client.keyfile_password,
            verify_certs=client.verify_certs,
            check_hostname=client.check_hostname,
        )
        return sock

    def _begin_search(self) -> Search:
        try:
            return Search(self.handler, self._addresses, self._call_on, self._found)
        except RuntimeError as error:  # no thread can be begun now
            raise ConnectionDropped(str(error)) from error

    def _found(self, search: Search, server: Server) -> None:
        """This server takes writes: leave ours for it, if we are still with it."""
        with self._owner.batch():
            if self._search is search:
                self.logger.warning("leaving a read-only server: %s:%s takes writes", *server[1:])
                # Twice: it may know nothing of our session. When it has said so it gives another.
                self._wanted = [server, server]
                self.avoid_current()
                self.hang_up()

    def _end_search(self) -> Search | None:
        """End the search, if there is one. Gives it, for whoever wants to wait for its end."""
        search, self._search = self._search, None
        if search is not None:
            search.end()
        return search


class _Bell:
    """What kazoo takes for an end of its wake-up socketpair: a byte says that its queue has
    something. No byte is ever written, so nobody waits for room."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._closed = False

    def send(self, data: bytes) -> int:
        if self._closed:
            raise OSError("the connection is closed")  # so kazoo tells whoever asked
        self._owner.rung()
        return len(data)

    def close(self) -> None:
        self._closed = True


class LazyThreads(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's two threads for callbacks, begun when there is something to call: scripts have no
    use for them."""

    def __init__(self) -> None:
        super().__init__()
        self._workers: list[Any] = []
        self._renew()

    def _renew(self) -> None:
        self.callback_queue = _LazyQueue(self)
        self.completion_queue = _LazyQueue(self)

    def start(self) -> None:
        with self._state_change:
            self._running = True
        for work in (self.completion_queue, self.callback_queue):
            if not work.empty():
                self.work_on(work)

    def work_on(self, work: _LazyQueue) -> None:
        with self._state_change:
            if self._running and not work.begun:
                try:
                    self._workers.append(self._create_thread_worker(work))
                except RuntimeError as error:  # it is tried again when there is more to call
                    _log.warning("a callback must wait: %s", error)
                else:
                    work.begun = True

    def stop(self) -> None:
        with self._state_change:
            queues = (self.completion_queue, self.callback_queue)
            running, self._running = self._running, False
            if not running:
                return
            workers, self._workers = self._workers, []
            for work in queues:
                if work.begun:
                    work.put_last()
            self._renew()
        for worker in workers:
            if worker is not threading.current_thread():  # who closes the session in a callback
                worker.join()


class _LazyQueue(queue.Queue):  # type: ignore[type-arg]
    """Begins its thread with its first item."""

    def __init__(self, handler: LazyThreads) -> None:
        super().__init__()
        self.begun = False
        self._handler = handler

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        super().put(item, block, timeout)
        if not self.begun:
            self._handler.work_on(self)

    def put_last(self) -> None:
        """End its thread after what is in it now."""
        super().put(_STOP)


def _greenlets() -> Any:
    """kazoo's greenlet for callbacks, which may close the session."""
    import gevent
    from kazoo.handlers.gevent import SequentialGeventHandler

    class Greenlets(SequentialGeventHandler):  # type: ignore[misc]
        def stop(self) -> None:
            here = gevent.getcurrent()
            if here in self._workers:  # it ends when the callback has: it would wait for itself
                self._workers.remove(here)
            super().stop()

    return Greenlets()


def kazoo_threads(platform: Platform) -> Any:
    """What kazoo's client needs to run on these threads or greenlets."""
    if platform.name == "gevent":
        return _greenlets()
    return LazyThreads()
