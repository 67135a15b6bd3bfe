"""The process that owns a local ensemble which outlives the command that started it.

Servers of a LocalEnsemble end with the process that owns them, so an ensemble that is to stay needs
a process that stays. This one starts the servers, then obeys orders that come over a connection on
loopback and must know a key. It ends when told to stop; if it is killed, the guardian ends its
servers as it always does. Started by `Supervised.start`:

    python -m zkkit.ensemble.supervisor

It reads its settings from stdin, a line of JSON; writes where it listens to stdout, or the error;
and then waits for the word "stay". If stdin ends before that, whoever started it has gone: so it
goes as well.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from zkkit.ensemble.base import NodeStatus
from zkkit.ensemble.errors import EnsembleError
from zkkit.ensemble.fourletter import LOOPBACK
from zkkit.ensemble.local import LocalEnsemble
from zkkit.ensemble.place import Medium
from zkkit.errors import ZkkitError

_STAY = "stay\n"
_ENDING = 30.0  # seconds for the process to end after it was told to stop


class SupervisorGone(EnsembleError):
    """The process that owned the ensemble has ended, and its servers with it."""

    def __init__(self) -> None:
        super().__init__("the ensemble's supervisor has ended", hint="zkkit ensemble up")


@dataclass(frozen=True)
class Supervised:
    """The other side: gives orders to a supervisor."""

    pid: int
    port: int
    key: str

    @classmethod
    def start(
        cls, *, medium: Medium, client_ports: Sequence[int] | None, log: Path
    ) -> tuple[Supervised, str]:
        """Start a supervisor and its servers. Gives it, and the servers' connect string."""
        key = secrets.token_hex(16)
        settings = {"medium": medium, "client_ports": client_ports, "key": key}
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "zkkit.ensemble.supervisor"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # no terminal's Ctrl-C reaches it
            )
        # Leaving the block closes its stdin; if "stay" has not been said by then, it ends.
        assert process.stdin is not None and process.stdout is not None
        with process.stdin, process.stdout:
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
            if not said:
                raise EnsembleError(
                    f"the ensemble's supervisor ended at once: {log.read_text().strip()}",
                    hint=f"its log is {log}",
                )
            answer = _value(json.loads(said))
            process.stdin.write(_STAY)
        process.returncode = 0  # it is meant to outlive us: no warning that it does
        return cls(process.pid, answer["port"], key), str(answer["hosts"])

    def order(self, verb: str, node: int) -> None:
        """Have the ensemble do something to a node."""
        self._ask("order", verb, node)

    def leader(self) -> int:
        """The node that leads."""
        return int(self._ask("leader"))

    def status(self) -> list[NodeStatus]:
        """How each node is."""
        return [NodeStatus(**each) for each in self._ask("status")]

    def stop(self) -> None:
        """End the servers and the supervisor; return when both are gone."""
        with self._connect() as connection:
            _send(connection, {"do": "stop", "given": []})
            # It answers when all is gone, and its end closes the connection.
            if not connection.poll(_ENDING):
                raise EnsembleError(
                    f"the supervisor, process {self.pid}, does not end", hint=f"kill -9 {self.pid}"
                )

    def _ask(self, do: str, *given: object) -> Any:
        with self._connect() as connection:
            _send(connection, {"do": do, "given": given})
            try:
                return _value(json.loads(connection.recv_bytes()))
            except EOFError as error:
                raise SupervisorGone from error

    def _connect(self) -> Connection:
        try:
            return Client((LOOPBACK, self.port), authkey=bytes.fromhex(self.key))
        except (OSError, EOFError, AuthenticationError) as error:
            # Gone, and perhaps somebody else has the port by now.
            raise SupervisorGone from error


def _serve(ensemble: LocalEnsemble, listener: Listener) -> None:
    """Obey until told to stop."""
    while True:
        try:
            with listener.accept() as connection:
                request = json.loads(connection.recv_bytes())
                _send(connection, _obey(ensemble, request))
                if request["do"] == "stop":
                    return
        except (OSError, EOFError, AuthenticationError):
            continue  # not one of ours, or one that has left


def _obey(ensemble: LocalEnsemble, request: dict[str, Any]) -> dict[str, Any]:
    """An order is the name of a method, and what it is given."""
    try:
        value = getattr(ensemble, request["do"])(*request["given"])
    except ZkkitError as error:
        return _refusal(error)
    return {"value": [asdict(each) for each in value] if request["do"] == "status" else value}


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())


def _refusal(error: ZkkitError) -> dict[str, Any]:
    return {"error": error.message, "hint": error.hint}


def _value(answer: dict[str, Any]) -> Any:
    if "error" in answer:
        raise EnsembleError(answer["error"], hint=answer["hint"])
    return answer["value"]


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    """Start the ensemble, say where we listen, and serve."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # leaves the block, which stops
    settings = json.loads(sys.stdin.readline())
    ensemble = LocalEnsemble(medium=settings["medium"], client_ports=settings["client_ports"])
    try:
        ensemble.start()
    except ZkkitError as error:
        _say(_refusal(error))
        return
    with ExitStack() as stack:
        stack.callback(ensemble.stop)
        key = bytes.fromhex(settings["key"])
        listener = stack.enter_context(Listener((LOOPBACK, 0), authkey=key))
        _say({"value": {"port": listener.address[1], "hosts": ensemble.hosts}})
        if sys.stdin.readline() != _STAY:
            return
        # Nobody reads us any more, and a directory in use could not be unmounted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.chdir("/")
        _serve(ensemble, listener)


if __name__ == "__main__":
    main()
