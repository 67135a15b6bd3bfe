"""Relays between the servers of one machine, so that a node can be cut off its peers.

A node's settings name, for each peer, not the peer's own ports but those of a relay: one relay for
each ordered pair of nodes and each of the two ports a node has for its peers. While neither
node of a pair is cut off, bytes pass. When one is, its connections stay open and nothing passes, as
if a cable had been pulled: both sides must find out by themselves. Healing ends what was cut, so
that they connect anew.

On an election port the first message names the address at which the caller can be called back.
The answer to it must not go around the relays, so the relay puts its own address there.

The relays run in a thread of the guardian, not in the user's process, whose threads have other
things to do. As the guardian, this file imports nothing of zkkit.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from itertools import permutations, product
from typing import Any, NamedTuple

LOOPBACK = "127.0.0.1"
_CHUNK = 65536
_BACKLOG = 64
_RETRY = 0.02  # seconds between two attempts to reach a node that does not listen yet
_PATIENCE = 3.0  # seconds for such attempts: a new leader opens its port when it has been elected

_HELLO = struct.Struct(">qqi")  # protocol version (negative), server id, length of the address
_LONGEST_ADDRESS = 2048


class Route(NamedTuple):
    """The way from one node to one of the two ports of another."""

    source: int
    target: int
    election: bool


class Hop:
    """One connection through a relay."""

    def __init__(self, route: Route, caller: StreamWriter, *, dead: bool) -> None:
        self.route = route
        self.ends = [caller]
        self.dead = dead  # it has been cut: what still comes is lost

    def close(self) -> None:
        """Hang up on both sides. What was on its way when it was cut never arrives."""
        for end in self.ends:
            if self.dead:
                end.transport.abort()
            else:
                end.close()


class Relay:
    """All relays of an ensemble, run by one thread."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[int, int]] = {}
        self._entrances: dict[Route, int] = {}
        self._cut: set[int] = set()
        self._links: set[Hop] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="relay", daemon=True).start()

    def open(self, nodes: dict[int, tuple[int, int]]) -> dict[int, dict[int, tuple[int, int]]]:
        """Relays between all nodes, given by their (quorum, election) ports.

        Returns the ports to put into the settings of each node, by node and peer.
        """
        self._nodes = nodes
        self._do(self._listen())
        found: dict[int, dict[int, tuple[int, int]]] = {node: {} for node in nodes}
        for source, target in permutations(nodes, 2):
            quorum, election = (Route(source, target, which) for which in (False, True))
            found[source][target] = (self._entrances[quorum], self._entrances[election])
        return found

    def cut(self, node: int) -> None:
        """From now on nothing passes between this node and any other."""
        self._do(self._set_cut(self._cut | {node}))

    def heal(self, node: int) -> None:
        """Let pass again; connections that were cut end."""
        self._do(self._set_cut(self._cut - {node}))

    # --- inside: in the thread ----------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> None:
        for pair, election in product(permutations(self._nodes, 2), (False, True)):
            route = Route(*pair, election)
            serve = partial(self._serve, route)
            server = await asyncio.start_server(serve, LOOPBACK, 0, backlog=_BACKLOG)
            self._entrances[route] = server.sockets[0].getsockname()[1]

    async def _set_cut(self, nodes: set[int]) -> None:
        self._cut = nodes
        for link in self._links:
            if self._blocked(link.route):
                link.dead = True
            elif link.dead:
                link.close()

    def _blocked(self, route: Route) -> bool:
        return route.source in self._cut or route.target in self._cut

    async def _serve(self, route: Route, caller: StreamReader, back: StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        link = Hop(route, back, dead=self._blocked(route))
        self._links.add(link)
        try:
            await self._pass(link, caller, back)
        except OSError:
            pass  # nobody listens there
        finally:
            link.close()
            self._links.discard(link)

    async def _pass(self, link: Hop, caller: StreamReader, back: StreamWriter) -> None:
        reached = await self._reach(link)
        if reached is None:
            await self._pump(link, caller, back)
            return
        called, there = reached
        link.ends.append(there)
        up = asyncio.create_task(self._pump(link, caller, there, greets=link.route.election))
        down = asyncio.create_task(self._pump(link, called, back))
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        # One side has hung up: so do we on the other, who must not know if it was cut.
        if link.dead:
            await asyncio.wait((up, down))

    async def _reach(self, link: Hop) -> tuple[StreamReader, StreamWriter] | None:
        """Connect to the target; None if the link is cut meanwhile. If nobody listens there,
        somebody may soon; the caller, who is connected, waits meanwhile."""
        _, target, election = link.route
        give_up = self._loop.time() + (0.0 if election else _PATIENCE)
        while not link.dead:
            try:
                return await asyncio.open_connection(LOOPBACK, self._nodes[target][election])
            except OSError:
                if self._loop.time() >= give_up:
                    raise
            await asyncio.sleep(_RETRY)
        return None

    async def _pump(
        self, link: Hop, source: StreamReader, sink: StreamWriter, *, greets: bool = False
    ) -> None:
        """Pass on what comes, until it ends; nothing more is read than the other side takes."""
        with suppress(OSError, EOFError):
            data = await (self._greeting(link.route, source) if greets else source.read(_CHUNK))
            while data:
                if not link.dead:
                    sink.write(data)
                    await sink.drain()
                data = await source.read(_CHUNK)

    async def _greeting(self, route: Route, source: StreamReader) -> bytes:
        """The first message; the caller's address in it becomes ours."""
        hello = await source.readexactly(_HELLO.size)
        version, server, length = _HELLO.unpack(hello)
        if version >= 0 or not 0 < length < _LONGEST_ADDRESS:
            return hello
        await source.readexactly(length)
        entrance = self._entrances[Route(route.target, route.source, election=True)]
        address = f"{LOOPBACK}:{entrance}".encode()
        return _HELLO.pack(version, server, len(address)) + address
