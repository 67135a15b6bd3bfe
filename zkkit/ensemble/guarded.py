"""The user's side of the guardian: asks it to start, signal and end servers."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from zkkit.ensemble import guardian
from zkkit.ensemble.errors import EnsembleError

_PATIENCE = 30.0  # seconds for an answer; the guardian itself waits for at most a few
_PATIENCE_AT_END = guardian.END_PATIENCE + 10


class Guarded:
    """Server processes below one directory, `root`, that end when this process ends."""

    def __init__(self, root: Path, *, errors: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._asked = 0
        self._unread = b""
        command_read, self._commands = os.pipe()  # not inheritable: only we hold the write end
        self._answers, answer_write = os.pipe()
        try:
            with open(errors, "ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", guardian.__file__, str(root), str(os.getpid())],
                    stdin=command_read,
                    stdout=answer_write,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                )
        except BaseException:
            os.close(self._commands)
            os.close(self._answers)
            raise
        finally:
            os.close(command_read)
            os.close(answer_write)

    def relay(self, ports: Mapping[int, Sequence[int]]) -> dict[int, dict[int, list[int]]]:
        """Open relays between nodes with these (quorum, election) ports.

        Returns, by node and peer, the ports through which the node reaches the peer.
        """
        opened = self._ask(do="relay", ports={node: list(both) for node, both in ports.items()})
        return {
            int(node): {int(peer): both for peer, both in peers.items()}
            for node, peers in opened["ports"].items()
        }

    def at_end(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Have a command run at the end, however that comes; an empty one takes it back."""
        self._ask(do="at_end", argv=list(argv), env=dict(env))

    def spawn(
        self,
        node: int,
        argv: Sequence[str],
        *,
        cwd: Path,
        log: Path,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Start a server and return its process id."""
        environ = None if env is None else dict(env)
        where, into = str(cwd), str(log)
        asked = self._ask(do="spawn", node=node, argv=list(argv), cwd=where, log=into, env=environ)
        return int(asked["pid"])

    def order(self, verb: Literal["pause", "resume", "cut", "heal"], node: int) -> None:
        """Pause a server (SIGSTOP; when this returns it stands still) or let it go on; cut a node
        off, so that nothing passes between it and the others, or let everything pass again."""
        self._ask(do=verb, node=node)

    def end(self, node: int, number: signal.Signals) -> None:
        """Send a signal that ends a server, and wait for its end."""
        self._ask(do="end", node=node, signal=int(number))

    def ended(self) -> dict[int, int]:
        """The nodes whose server has ended, with the exit codes."""
        return {int(node): code for node, code in self._ask(do="status")["ended"].items()}

    def stop(self, *, keep_logs: bool) -> bool:
        """Kill all servers, remove the directory (but for the logs, if wanted) and the guardian.

        False if the guardian was gone already: then the command for the end has not been run.
        """
        obeyed = False
        # A guardian that is already gone cannot be asked; what it left is ended below.
        with contextlib.suppress(EnsembleError):
            self._ask(do="stop", keep_logs=keep_logs, patience=_PATIENCE_AT_END)
            obeyed = True
        os.close(self._commands)
        os.close(self._answers)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if not keep_logs:
            shutil.rmtree(self.root, ignore_errors=True)
        return obeyed

    def _ask(self, *, patience: float = _PATIENCE, **request: Any) -> dict[str, Any]:
        with self._lock:
            self._asked += 1
            request["id"] = self._asked
            try:
                os.write(self._commands, json.dumps(request).encode() + b"\n")
                # Answers to questions whose asker was interrupted are passed over.
                while (answer := json.loads(self._read_line(patience)))["id"] != self._asked:
                    pass
            except OSError as error:
                raise EnsembleError(f"the ensemble's guardian process is gone ({error})") from error
        if "error" in answer:
            raise EnsembleError(f"the server's process could not be handled: {answer['error']}")
        return dict(answer)

    def _read_line(self, patience: float) -> bytes:
        while b"\n" not in self._unread:
            if not select.select([self._answers], [], [], patience)[0]:
                raise TimeoutError(f"no answer within {patience:g} s")
            part = os.read(self._answers, 4096)
            if not part:
                raise BrokenPipeError("it has ended")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\n")
        return line
