"""A small process between an ensemble and its servers, so that no server outlives its user.

The guardian, not the user's process, starts the servers, so there is no moment at which a server
runs that the guardian does not know. It reads commands from a pipe whose other end only the user's
process holds. When that process ends, in whatever way, the pipe closes: the guardian kills the
servers (SIGKILL, which stopped ones obey too), removes their directory and ends. Containers are an
engine's processes, not its own: a command, given as "at_end", removes them.

It runs in its own session, so a Ctrl-C in the terminal reaches neither it nor the servers. It is
run as a script, isolated, and imports nothing of zkkit, to start fast:

    python -I -S guardian.py ROOT PARENT_PID

One JSON object a line comes in on stdin, one goes out on stdout for each, with the same "id" (an
interrupted reader leaves an answer behind in the pipe, and must be able to tell):

    {"do": "relay", "ports": {"1": [q, e], ...}}  opens relays (relay.py)  ->  {"ports": {...}}
    {"do": "spawn", "node": 1, "argv": [...], "cwd": "...", "log": "..."}  ->  {"pid": 17}
    {"do": "pause", "node": 1}                 waits until it stands still ->  {}
    {"do": "resume", "node": 1}                                            ->  {}
    {"do": "end", "node": 1, "signal": 9}      waits for its end           ->  {}
    {"do": "cut", "node": 1}                   nothing passes its relays   ->  {}
    {"do": "heal", "node": 1}                                              ->  {}
    {"do": "at_end", "argv": [...], "env": {...}}  run when all is over    ->  {}
    {"do": "status"}                   nodes that ended, with exit codes   ->  {"ended": {"1": -9}}
    {"do": "stop", "keep_logs": false}         ends the guardian too       ->  {}
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

GRACE = 5.0  # seconds a server gets to end by itself after a signal that asks it to
LOOK_FOR_PARENT = 1.0  # seconds
END_PATIENCE = 60.0  # seconds for the command that is run when all is over


class Guardian:
    """The servers of one ensemble, their directory, and the process they belong to."""

    def __init__(self, root: str, parent: int) -> None:
        self._root = root
        self._parent = parent
        self._servers: dict[int, subprocess.Popen[bytes]] = {}
        self._relay: Any = None
        self._at_end: tuple[list[str], dict[str, str]] | None = None
        self._asked_to_end = False

    def end_soon(self, *_: object) -> None:
        """The handler of polite signals: only a note, so that it cannot fall into a spawn."""
        self._asked_to_end = True

    def serve(self) -> None:
        """Obey until told to stop or until the parent is gone; then clean up."""
        stop = None
        try:
            for line in self._lines():
                request = json.loads(line)
                if request["do"] == "stop":
                    stop = request
                    break
                self._answer(request, self._obey(request))
        finally:
            self._clean_up(keep_logs=stop is not None and stop["keep_logs"])
        if stop is not None:
            self._answer(stop, {})

    def _lines(self) -> Iterator[bytes]:
        buffer = b""
        while True:
            readable, _, _ = select.select([0], [], [], LOOK_FOR_PARENT)
            # A forked child of the parent keeps the pipe open after the parent's death.
            if self._asked_to_end or os.getppid() != self._parent:
                return
            if not readable:
                continue
            part = os.read(0, 65536)
            if not part:
                return
            *lines, buffer = (buffer + part).split(b"\n")
            yield from lines

    def _answer(self, request: dict[str, Any], answer: dict[str, Any]) -> None:
        os.write(1, json.dumps({"id": request["id"], **answer}).encode() + b"\n")

    def _obey(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            match request["do"]:
                case "relay":
                    # Run isolated, no import would find what lies beside this file.
                    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
                    self._relay = importlib.import_module("relay").Relay()
                    ports = {int(node): both for node, both in request["ports"].items()}
                    return {"ports": self._relay.open(ports)}
                case "cut":
                    self._relay.cut(request["node"])
                case "heal":
                    self._relay.heal(request["node"])
                case "at_end":
                    self._at_end = (request["argv"], request["env"]) if request["argv"] else None
                case "spawn":
                    return {"pid": self._spawn(request)}
                case "pause":
                    self._pause(self._servers[request["node"]])
                case "resume":
                    self._servers[request["node"]].send_signal(signal.SIGCONT)
                case "end":
                    self._end(self._servers[request["node"]], request["signal"])
                case "status":
                    return {"ended": self._ended()}
        except OSError as error:
            return {"error": str(error)}
        return {}

    def _spawn(self, request: dict[str, Any]) -> int:
        with open(request["log"], "ab") as log:
            server = subprocess.Popen(
                request["argv"],
                cwd=request["cwd"],
                env=request.get("env"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._servers[request["node"]] = server
        return server.pid

    def _pause(self, server: subprocess.Popen[bytes]) -> None:
        server.send_signal(signal.SIGSTOP)
        # The signal is obeyed by one thread of the server after the other: until all have, it
        # still answers. The kernel tells the parent when the last one stands still.
        deadline = time.monotonic() + GRACE
        while server.returncode is None and time.monotonic() < deadline:
            pid, status = os.waitpid(server.pid, os.WUNTRACED | os.WNOHANG)
            if pid and os.WIFSTOPPED(status):
                return
            if pid:  # it has ended instead; Popen cannot learn that a second time
                server.returncode = os.waitstatus_to_exitcode(status)
            time.sleep(0.001)

    def _end(self, server: subprocess.Popen[bytes], number: int) -> None:
        server.send_signal(number)
        try:
            server.wait(GRACE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()

    def _ended(self) -> dict[int, int]:
        codes = {node: server.poll() for node, server in self._servers.items()}
        return {node: code for node, code in codes.items() if code is not None}

    def _clean_up(self, *, keep_logs: bool) -> None:
        for server in self._servers.values():
            server.kill()
        for server in self._servers.values():
            server.wait()
        if self._at_end is not None:
            argv, env = self._at_end
            # What it says goes to our stderr, which is a log.
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    argv,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=2,
                    timeout=END_PATIENCE,
                    check=False,
                )
        if not keep_logs:
            shutil.rmtree(self._root, ignore_errors=True)
            return
        for entry in os.scandir(self._root):
            if entry.name != "logs":
                shutil.rmtree(entry.path, ignore_errors=True)


def main() -> None:
    """Guard until the parent is gone; a polite signal to the guardian ends it in the same way."""
    guardian = Guardian(sys.argv[1], int(sys.argv[2]))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, guardian.end_soon)
    with contextlib.suppress(BrokenPipeError):  # the parent died while it was being answered
        guardian.serve()


if __name__ == "__main__":
    main()
