"""A process with sessions of one library, zkkit or kazoo, each in a thread of its own, or all on
one event loop.

    python -m zkkit.bench.peers.child zkkit.bench.locks.zkkit_locks '["127.0.0.1:2181"]' [profiled]

The module is imported; it has VERSION, `connect(hosts)` and `close(client)`, and in RACES, by kind,
what makes of a client and a path something to acquire and release. Where `connect` is a coroutine
function, so are `close`, `acquire` and `release`, and all are awaited on one loop. If it has
anything to stage, it has in STAGES what makes of a client, a path and a function
`tell(event, value)` something to start and close, and `identity(client)`, the id and password of
its session.

Orders come in on stdin, one JSON object a line, and each is answered by one on stdout:

    {"do": "open", "sessions": 3}                                  {"result": "0.1.0"}
    {"do": "contend", "kind": "mutex", "path": "/x", "who": [0, 1],
     "plan": [start_ns, rounds, until_ns, hold_ns]}
                  {"result": {"rounds": [[round, ...], ...], "thread_cpu": {"connection": 0.2},
                              "layer_cpu": {"wire": 0.1, ...}, if it is profiled}}
    {"do": "stage", "kind": "election", "path": "/x", "who": [0, 1]}
                                                                     {"result": [began_ns, ...]}
    {"do": "told", "events": ["leader"], "number": 1, "patience": 5}
                                                {"result": [["leader", at_ns, [0, null]], ...]}
    {"do": "unstage"}                                                         {"result": null}
    {"do": "identity", "who": 0}                          {"result": [session_id, "password, hex"]}
    {"do": "renew", "who": [0]}                                               {"result": null}

What is staged goes on by itself and tells what happens: candidates, caches.

Session number i is with server number i, modulo their number: so all peers have theirs at the same
servers. It ends when stdin does, whatever it is doing.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from zkkit.bench.peers.events import ToldEvent, ToldLog
from zkkit.bench.peers.fronts import OnLoop, OnThreads
from zkkit.bench.peers.layers import LayerProfile
from zkkit.bench.peers.rounds import RoundsPlan

_GOODBYE = 5.0  # seconds to close all sessions


class ClientSessions:
    """The sessions of this process."""

    def __init__(
        self, library: str, members: Sequence[str], profile: LayerProfile | None = None
    ) -> None:
        # Only the library that is measured is in this process.
        self._library: Any = import_module(library)
        on_loop = inspect.iscoroutinefunction(self._library.connect)
        self._front = OnLoop() if on_loop else OnThreads()
        self._members = members
        self._profile = profile
        self._clients: list[Any] = []
        self._staged: list[Any] = []
        self._heard = ToldLog()

    def obey(self, do: str, **order: Any) -> Any:
        """Carry out one order; gives its result."""
        match do:
            case "open":
                return self._open(order["sessions"])
            case "contend":
                plan = RoundsPlan(*order["plan"])
                return self._contend(order["kind"], order["path"], order["who"], plan)
            case "stage":
                return self._stage(order["kind"], order["path"], order["who"])
            case "told":
                return self._heard.wait(order["number"], order["patience"], *order["events"])
            case "unstage":
                return self._unstage()
            case "identity":
                number, password = self._library.identity(self._clients[order["who"]])
                return number, password.hex()
            case "renew":
                return self._renew(order["who"])
        raise ValueError(f"no such order: {do}")

    def _open(self, number: int) -> str:
        """Have at least so many sessions; gives the library's version."""
        self._clients += self._front.for_each(self._connect, range(len(self._clients), number))
        return str(self._library.VERSION)

    def _connect(self, number: int) -> Any:
        return self._library.connect(self._members[number % len(self._members)])

    def _contend(
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan
    ) -> dict[str, Any]:
        make = self._library.RACES[kind]
        things = [make(self._clients[number], path) for number in who]
        before = self._profile.used() if self._profile else {}
        used = self._front.contend(things, plan)._asdict()
        after = self._profile.used() if self._profile else {}
        return used | {"layer_cpu": {layer: after[layer] - before[layer] for layer in after}}

    def _stage(self, kind: str, path: str, who: Sequence[int]) -> list[int]:
        """Start one for each of these sessions; gives the time when each began to."""
        self._heard = heard = ToldLog()
        began = []
        for number in who:

            def tell(event: str, value: Any = None, number: int = number) -> None:
                heard.add(ToldEvent(event, time.monotonic_ns(), [number, value]))

            staged = self._library.STAGES[kind](self._clients[number], path, tell)
            self._staged.append(staged)
            began.append(time.monotonic_ns())
            staged.start()
        return began

    def _unstage(self) -> None:
        staged, self._staged = self._staged, []
        for one in staged:
            one.close()

    def _renew(self, who: Sequence[int]) -> None:
        """Give them new sessions: theirs were ended."""
        self._front.for_each(self._library.close, [self._clients[number] for number in who])
        for number, client in zip(who, self._front.for_each(self._connect, who), strict=True):
            self._clients[number] = client

    def close(self) -> None:
        """End all sessions."""
        self._front.for_each(self._library.close, self._clients)


def _serve(sessions: ClientSessions, line: str) -> None:
    try:
        answer = {"result": sessions.obey(**json.loads(line))}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)


def _allow_many_files() -> None:
    """Allow this process as many open files as the system does: each session has some, and the
    usual limit is for few."""
    with suppress(ImportError, OSError, ValueError):  # no such limit here, or it stays as it is
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _main(library: str, members: Sequence[str], *profiled: str) -> None:
    _allow_many_files()
    profile = LayerProfile() if profiled else None
    if profile is not None:
        profile.begin()
    sessions = ClientSessions(library, members, profile)
    # Orders are obeyed beside this thread, which would not see the end of stdin otherwise.
    for line in sys.stdin:
        threading.Thread(target=_serve, args=(sessions, line), daemon=True).start()
    goodbye = threading.Thread(target=sessions.close, daemon=True)
    goodbye.start()
    goodbye.join(_GOODBYE)
    os._exit(0)  # whatever else still runs


if __name__ == "__main__":
    _main(sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:])
