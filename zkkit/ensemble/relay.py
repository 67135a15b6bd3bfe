"""Relays between the servers of one machine, so that a node can be cut off its peers.

Each node is told, for each of its peers, not the peer's own ports but those of a relay: one relay
for each ordered pair of nodes and each of the two ports a node has for its peers. While neither
node of a pair is cut off, bytes pass. When one is, its connections stay open and nothing passes, as
if a cable had been pulled: both sides must find out by themselves. Healing ends what was cut, so
that they connect anew.

On an election port the first message names the address at which the caller can be called back.
The answer to it must not go around the relays, so the relay puts its own address there.

The relays run in a thread of the guardian, not in the user's process, whose threads have other
things to do. As the guardian, this file imports nothing of zkkit.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
import threading
import time

LOOPBACK = "127.0.0.1"
_CHUNK = 65536
_BACKLOG = 64
_RETRY = 0.02  # seconds between two attempts to reach a node that does not listen yet
_PATIENCE = 3.0  # seconds for such attempts: a new leader opens its port when it has been elected

_HELLO = struct.Struct(">qqi")  # protocol version (negative), server id, length of the address
_LONGEST_ADDRESS = 2048


class Route:
    """From one node to one port of another: where the relay listens, and where it leads."""

    def __init__(self, source: int, target: int, port: int, *, election: bool) -> None:
        self.source = source
        self.target = target
        self.port = port
        self.election = election
        self.back: Route | None = None  # of an election port: the way in the other direction
        self.listener = socket.create_server((LOOPBACK, 0), backlog=_BACKLOG)
        self.listener.setblocking(False)

    @property
    def entrance(self) -> int:
        """The port on which the relay listens."""
        return int(self.listener.getsockname()[1])


class Link:
    """One connection through a relay: the caller's end (0) and ours to the target (1)."""

    def __init__(self, route: Route, caller: socket.socket, now: float) -> None:
        self.route = route
        self.ends: list[socket.socket | None] = [caller, None]
        self.waiting = [bytearray(), bytearray()]  # bytes to be sent to each end
        self.connecting = False
        self.retry_at: float | None = None
        self.give_up_at = now + (0.0 if route.election else _PATIENCE)
        self.dead = False  # it has been cut: what still comes is lost
        self.hello: bytearray | None = bytearray() if route.election else None

    def wants(self, end: int) -> int:
        """What to wait for at one of its ends: readable, writable, both or nothing."""
        if self.dead:
            return selectors.EVENT_READ
        if self.connecting:
            return selectors.EVENT_WRITE if end == 1 else 0
        if self.ends[1] is None:  # between two attempts
            return 0
        wanted = selectors.EVENT_WRITE if self.waiting[end] else 0
        # Nothing more is read from one side than the other side takes.
        return wanted if self.waiting[1 - end] else wanted | selectors.EVENT_READ


class Relay:
    """All relays of an ensemble, run by one thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._cut: set[int] = set()
        self._links: set[Link] = set()
        self._bell, self._ear = socket.socketpair()
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, None)
        threading.Thread(target=self._run, name="relay", daemon=True).start()

    def open(self, nodes: dict[int, tuple[int, int]]) -> dict[int, dict[int, tuple[int, int]]]:
        """Relays between all nodes, given by their (quorum, election) ports.

        Returns the ports that each node is to be told, by node and peer.
        """
        pairs = [(source, target) for source in nodes for target in nodes if source != target]
        with self._lock:
            quorum = {pair: Route(*pair, nodes[pair[1]][0], election=False) for pair in pairs}
            election = {pair: Route(*pair, nodes[pair[1]][1], election=True) for pair in pairs}
            for (source, target), route in election.items():
                route.back = election[target, source]
            for route in (*quorum.values(), *election.values()):
                self._selector.register(route.listener, selectors.EVENT_READ, route)
        self._ring()
        return {
            source: {
                target: (quorum[source, target].entrance, election[source, target].entrance)
                for target in nodes
                if target != source
            }
            for source in nodes
        }

    def cut(self, node: int) -> None:
        """From now on nothing passes between this node and any other."""
        with self._lock:
            self._cut.add(node)
            for link in [link for link in self._links if self._blocked(link.route)]:
                self._bury(link)
        self._ring()

    def heal(self, node: int) -> None:
        """Let pass again; connections that were cut end."""
        with self._lock:
            self._cut.discard(node)
            for link in [each for each in self._links if each.dead]:
                if not self._blocked(link.route):
                    self._close(link)
        self._ring()

    # --- inside -------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            happened = self._selector.select(self._until_retry())
            with self._lock:
                for key, events in happened:
                    match key.data:
                        case Route() as route:
                            self._accept(route)
                        case (Link() as link, int(end)) if link.ends[end] is key.fileobj:
                            self._serve(link, end, events)
                        case None:
                            self._ear.recv(_CHUNK)
                now = time.monotonic()
                for link in [link for link in self._links if link.retry_at is not None]:
                    if link.retry_at is not None and link.retry_at <= now:
                        self._connect(link)

    def _ring(self) -> None:
        """Wake the thread, so that it sees what was changed."""
        self._bell.send(b"!")

    def _until_retry(self) -> float | None:
        with self._lock:
            waiting = [link.retry_at for link in self._links if link.retry_at is not None]
        return max(0.0, min(waiting) - time.monotonic()) if waiting else None

    def _blocked(self, route: Route) -> bool:
        return route.source in self._cut or route.target in self._cut

    def _accept(self, route: Route) -> None:
        try:
            caller, _ = route.listener.accept()
        except OSError:  # it has left already
            return
        caller.setblocking(False)
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(route, caller, time.monotonic())
        self._links.add(link)
        if self._blocked(route):
            self._bury(link)
        else:
            self._connect(link)

    def _connect(self, link: Link) -> None:
        link.retry_at = None
        target = socket.socket()
        target.setblocking(False)
        target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.ends[1] = target
        link.connecting = True
        if target.connect_ex((LOOPBACK, link.route.port)) not in (0, errno.EINPROGRESS):
            self._unreachable(link)
        else:
            self._watch(link)

    def _unreachable(self, link: Link) -> None:
        """The node does not listen. It may soon; its caller, who is connected, waits meanwhile."""
        self._drop_end(link, 1)
        link.connecting = False
        now = time.monotonic()
        if now >= link.give_up_at:
            self._close(link)
        else:
            link.retry_at = now + _RETRY
            self._watch(link)

    def _serve(self, link: Link, end: int, events: int) -> None:
        try:
            if link.connecting:
                self._connected(link)
            elif events & selectors.EVENT_WRITE:
                self._flush(link, end)
            elif events & selectors.EVENT_READ:
                self._read(link, end)
        except BlockingIOError:
            pass
        except OSError:
            self._ended(link, end)
        if link in self._links:
            self._watch(link)

    def _connected(self, link: Link) -> None:
        target = link.ends[1]
        assert target is not None
        if target.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._unreachable(link)
        else:
            link.connecting = False

    def _read(self, link: Link, end: int) -> None:
        source = link.ends[end]
        assert source is not None
        data = source.recv(_CHUNK)
        if not data:
            self._ended(link, end)
        elif not link.dead:
            link.waiting[1 - end] += self._addressed(link, data) if end == 0 else data
            if link.waiting[1 - end]:
                self._flush(link, 1 - end)

    def _flush(self, link: Link, end: int) -> None:
        sink = link.ends[end]
        assert sink is not None
        try:
            sent = sink.send(link.waiting[end])
        except BlockingIOError:
            return
        except OSError:
            self._ended(link, end)
            return
        del link.waiting[end][:sent]

    def _ended(self, link: Link, end: int) -> None:
        """One side has hung up: so do we on the other, who must not know if it was cut."""
        self._drop_end(link, end)
        if not link.dead or link.ends == [None, None]:
            self._close(link)

    def _addressed(self, link: Link, data: bytes) -> bytes:
        """What to send on for `data`: the caller's address in the first message becomes ours."""
        if link.hello is None:
            return data
        link.hello += data
        hello = bytes(link.hello)
        back = link.route.back
        if len(hello) < _HELLO.size:
            return b""
        version, server, length = _HELLO.unpack_from(hello)
        if version < 0 and 0 < length < _LONGEST_ADDRESS and back is not None:
            if len(hello) < _HELLO.size + length:
                return b""
            address = f"{LOOPBACK}:{back.entrance}".encode()
            rest = hello[_HELLO.size + length :]
            hello = _HELLO.pack(version, server, len(address)) + address + rest
        link.hello = None
        return hello

    def _bury(self, link: Link) -> None:
        """Keep its ends open, and let nothing through any more."""
        link.dead, link.connecting, link.retry_at = True, False, None
        link.waiting = [bytearray(), bytearray()]
        self._watch(link)

    def _watch(self, link: Link) -> None:
        """Wait for what the link wants at each end."""
        for end, its in enumerate(link.ends):
            if its is None:
                continue
            wanted = link.wants(end)
            known = its in self._selector.get_map()
            if wanted and known:
                self._selector.modify(its, wanted, (link, end))
            elif wanted:
                self._selector.register(its, wanted, (link, end))
            elif known:
                self._selector.unregister(its)

    def _close(self, link: Link) -> None:
        for end in (0, 1):
            self._drop_end(link, end)
        link.retry_at = None
        self._links.discard(link)

    def _drop_end(self, link: Link, end: int) -> None:
        its, link.ends[end] = link.ends[end], None
        if its is not None:
            if its in self._selector.get_map():
                self._selector.unregister(its)
            its.close()
