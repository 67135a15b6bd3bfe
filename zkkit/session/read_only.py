"""While a client is connected to a read-only server: the search for one that takes writes.

A server without a majority may go on answering reads (-Dreadonlymode.enabled=true). When it has
found its peers again it hangs up, and its clients connect anew. But while it is cut off the others
may have a majority without it: then nobody tells its clients. So a client of such a server asks all
servers now and then, by the four-letter word `isro`, and leaves for the first that says "rw".

Asking can block (a dead host does not even refuse), so the search has a thread or greenlet of its
own, for as long as the connection is read-only.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from typing import Any, TypeAlias

Server: TypeAlias = tuple[str, str, int]
"""Host, address and port."""

_SHORTEST, _LONGEST = 0.5, 10.0  # seconds from one look to the next; each pause is twice the last
_PATIENCE = 1.0  # seconds for a server to let us in, and again for it to answer


class Search:
    """Asks all servers, time and again, until one takes writes or the search is ended.

    `threads` is a handler of kazoo's. `servers` and `connect` may block, `connect` no longer than
    it is told. `found` is called at most once.
    """

    def __init__(
        self,
        threads: Any,
        servers: Callable[[], list[Server]],
        connect: Callable[[Server, float], socket.socket],
        found: Callable[[Search, Server], object],
    ) -> None:
        self._servers = servers
        self._connect = connect
        self._found = found
        self._over = threads.event_object()
        self._routine = threads.spawn(self._look)

    def end(self) -> None:
        """Ask nobody any more; a question that is under way has a second or two."""
        self._over.set()

    def join(self, seconds: float) -> None:
        """Wait until nothing is left of it, at most so long."""
        self._routine.join(seconds)

    def _look(self) -> None:
        pause = _SHORTEST
        # By chance earlier or later: many clients may have lost the majority at the same time.
        while not self._over.wait(pause * random.uniform(0.5, 1.5)):
            for server in self._servers():
                if self._over.is_set():
                    return
                if self._takes_writes(server):
                    self._found(self, server)
                    return
            pause = min(2 * pause, _LONGEST)

    def _takes_writes(self, server: Server) -> bool:
        try:
            with self._connect(server, _PATIENCE) as connection:
                connection.sendall(b"isro")
                return connection.recv(16) == b"rw"
        except OSError:
            return False
