"""A TCP proxy between clients and their servers that fails in the ways networks do.

It listens on one loopback port per server and knows enough of the protocol to tell requests and
replies apart, so it can lose exactly the reply to the next `create`. One thread moves all bytes.
It holds the lock while it does, and so does whoever changes the rules: a rule is in force when the
method that sets it returns.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from zkkit.hosts import parse_hosts
from zkkit.testing import wire
from zkkit.testing.streams import Connection, Drop, Loss, Stream

_LOOPBACK = "127.0.0.1"
_READ = 65536


class Proxy(contextlib.AbstractContextManager["Proxy"]):
    """One loopback port per server of `target_hosts`; give clients `hosts` to connect to.

        with Proxy(ensemble.hosts) as proxy:
            session = zkkit.connect(proxy.hosts)
            loss = proxy.lose_reply("create")
            ...
            assert loss.wait(5)

    A fresh proxy lets everything through. A closed one takes no more rules: setting one raises
    RuntimeError.

    Raises ZkkitError if `target_hosts` names no usable server, OSError if one of them has no
    address.
    """

    def __init__(self, target_hosts: str) -> None:
        servers, chroot = parse_hosts(target_hosts)
        self._lock = threading.Lock()
        self._connections: list[Connection] = []
        self._losses: list[Loss] = []
        self._requests: Counter[str] = Counter()
        self._delay = 0.0
        self._cut = False
        self._frozen = False
        self._muted = False
        self._closing = False
        self._bell, self._ring = socket.socketpair()  # wakes the thread when a rule changes
        self._selector = selectors.DefaultSelector()
        self._targets = {_listener(): _resolve(*server) for server in servers}
        ports = [listener.getsockname()[1] for listener in self._targets]
        self.hosts = ",".join(f"{_LOOPBACK}:{port}" for port in ports) + chroot
        self._thread = threading.Thread(target=self._run, name="zkkit-proxy", daemon=True)
        self._thread.start()

    # --- rules --------------------------------------------------------------------------

    def cut(self) -> None:
        """Drop all connections, and close new ones at once, until `mend()`."""
        with self._rules():
            self._cut = True
            self._drop_all()

    def mend(self) -> None:
        """Let connections through again after `cut()`."""
        with self._rules():
            self._cut = False

    def drop(self) -> None:
        """Drop all connections once; new ones are let through."""
        with self._rules():
            self._drop_all()

    def delay(self, seconds: float) -> None:
        """From now on hold everything back for `seconds` in each direction; 0 ends it."""
        with self._rules():
            self._delay = seconds

    def freeze(self, *, replies_only: bool = False) -> None:
        """Move no byte in either direction until `thaw()`; connections open and stay open.

        With `replies_only` requests still arrive: the servers hear the client, pings and all, and
        keep its session, while the client hears nothing.
        """
        with self._rules():
            self._frozen = not replies_only
            self._muted = replies_only

    def thaw(self) -> None:
        """Go on after `freeze()`: what was held back is delivered."""
        with self._rules():
            self._frozen = self._muted = False

    def lose_reply(self, op: str | int = "create", count: int = 1) -> Loss:
        """Lose the reply to each of the next `count` requests of a kind.

        The request reaches its server, the server answers, the answer is swallowed and the
        connection dropped: the work is done and the client cannot know it.

        Raises ValueError if there is no such kind; the message lists them all.
        """
        return self._lose(Loss(op, count, of_reply=True))

    def lose_request(self, op: str | int = "create", count: int = 1) -> Loss:
        """Swallow each of the next `count` requests of a kind and drop the connection.

        To the client this looks just as a lost reply does, but the server has done nothing. What
        was sent just before goes on to the server; if the client is quicker in moving to another
        one, the leader may still refuse it (session moved).

        Raises as `lose_reply`.
        """
        return self._lose(Loss(op, count, of_reply=False))

    @property
    def requests(self) -> Counter[str]:
        """How many requests of each kind have come from clients so far, lost ones too (a copy)."""
        with self._lock:
            return self._requests.copy()

    def close(self) -> None:
        """Drop everything, and leave neither a thread nor a port. Closing twice is harmless."""
        if self._thread.is_alive():
            with self._rules():
                self._closing = True
            self._thread.join()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _lose(self, loss: Loss) -> Loss:
        with self._rules():
            self._losses.append(loss)
        return loss

    @contextlib.contextmanager
    def _rules(self) -> Iterator[None]:
        with self._lock:
            if self._closing:
                raise RuntimeError("this proxy is closed")
            yield
            self._ring.send(b"!")

    # --- the thread ---------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing:
            with self._lock:
                now = time.monotonic()
                self._watch(self._interests(now))
                pause = self._pause(now)
            ready: set[object] = {key.fileobj for key, _ in self._selector.select(pause)}
            with self._lock:
                self._turn(ready)
        with self._lock:  # whoever closes may still be ringing
            self._drop_all()
            self._selector.close()
            for end in (self._bell, self._ring, *self._targets):
                end.close()

    def _turn(self, ready: set[object]) -> None:
        if self._bell in ready:
            self._bell.recv(_READ)
        if self._frozen:  # since the selection was made
            return
        for listener in [each for each in self._targets if each in ready]:
            self._accept(listener)
        for connection in list(self._connections):
            try:
                ended = self._serve(connection, ready)
            except (OSError, struct.error):  # one side is gone, or talks nonsense
                ended = True
            if ended:
                self._drop(connection)

    def _interests(self, now: float) -> dict[socket.socket, int]:
        """Which sockets to wait for, and for what. While frozen the kernel holds what arrives."""
        wanted: dict[socket.socket, int] = {self._bell: selectors.EVENT_READ}
        if self._frozen:
            return wanted
        wanted.update(dict.fromkeys(self._targets, selectors.EVENT_READ))
        for connection in self._connections:
            if not connection.established:
                wanted[connection.server] = selectors.EVENT_WRITE
                continue
            for stream in self._flowing(connection):
                if stream.hungry:
                    wanted[stream.source] = wanted.get(stream.source, 0) | selectors.EVENT_READ
                if stream.due is not None and stream.due <= now:  # its sink was full
                    wanted[stream.sink] = wanted.get(stream.sink, 0) | selectors.EVENT_WRITE
        return wanted

    def _watch(self, wanted: dict[socket.socket, int]) -> None:
        """Make the selector watch just these. Closed sockets go first: their numbers are reused."""
        keys = list(self._selector.get_map().values())
        watched = {key.fileobj: key.events for key in keys}
        for gone in watched.keys() - wanted.keys():
            self._selector.unregister(gone)
        for end, events in wanted.items():
            if end not in watched:
                self._selector.register(end, events)
            elif watched[end] != events:
                self._selector.modify(end, events)

    def _pause(self, now: float) -> float | None:
        """How long until something held back is due; None for no end."""
        if self._frozen:
            return None
        streams = [s for each in self._connections for s in self._flowing(each)]
        ahead = [s.due - now for s in streams if s.due is not None and s.due > now]
        return min(ahead, default=None)

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:  # it has left again
            return
        if self._cut:
            client.close()
            return
        family, address = self._targets[listener]
        server = socket.socket(family, socket.SOCK_STREAM)
        for end in (client, server):
            end.setblocking(False)
            # Without it, small frames wait for acknowledgements: 40 ms for a flight.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(client, server)
        if server.connect_ex(address) in (0, errno.EINPROGRESS):
            self._connections.append(connection)
        else:
            connection.close()

    def _serve(self, connection: Connection, ready: set[object]) -> bool:
        """Move what can be moved; True if the connection ends."""
        if not connection.established:
            if connection.server not in ready:
                return False
            if connection.server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return True
            connection.established = True
        now = time.monotonic()
        flowing = self._flowing(connection)
        for stream in flowing:
            if stream.source in ready and stream.hungry:
                self._read(connection, stream, now + self._delay)
        return any(stream.move(now) for stream in flowing)

    def _flowing(self, connection: Connection) -> tuple[Stream, ...]:
        return (connection.up,) if self._muted else (connection.up, connection.down)

    def _read(self, connection: Connection, stream: Stream, due: float) -> None:
        try:
            data = stream.source.recv(_READ)
        except BlockingIOError:  # it was ready to be written to only
            return
        if not data:
            stream.put(due, Drop())
        judge = self._judge_request if stream is connection.up else self._judge_reply
        for chunk, body in stream.take(data):
            loss = judge(connection, body)
            stream.put(due, chunk if loss is None else Drop(loss))
            if loss is not None:  # what came after it is lost with the connection, and not counted
                break

    def _judge_request(self, connection: Connection, body: bytes | None) -> Loss | None:
        """Count a request. Returns the loss that it belongs to, if it is to be swallowed here."""
        if body is None:
            if not connection.up.raw:
                self._requests["connect"] += 1
            return None
        xid, number = wire.request_header(body)
        self._requests[wire.operation_name(number)] += 1
        loss = next((each for each in self._losses if each.claim(number)), None)
        if loss is not None and loss.of_reply:
            connection.doomed[xid] = loss
            return None
        return loss

    def _judge_reply(self, connection: Connection, body: bytes | None) -> Loss | None:
        """The loss that a reply belongs to, if it is to be swallowed."""
        return None if body is None else connection.doomed.pop(wire.reply_xid(body), None)

    def _drop(self, connection: Connection) -> None:
        self._connections.remove(connection)
        connection.close()

    def _drop_all(self) -> None:
        for connection in list(self._connections):
            self._drop(connection)


def _listener() -> socket.socket:
    listener = socket.create_server((_LOOPBACK, 0), backlog=1024)
    listener.setblocking(False)
    return listener


def _resolve(host: str, port: int) -> tuple[int, tuple[Any, ...]]:
    """The first address of a server. Asked once: a look-up would block the thread."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, address
