"""Processes and ports of this machine, as Linux tells of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # it has ended, maybe while it was read
        return False
    return state != "Z"


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def answers(port: int) -> bool:
    """Whether anybody listens there."""
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def processes_with(name: str, value: str) -> list[int]:
    """The processes that were started with this in their environment, and run."""
    wanted = f"{name}={value}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def listeners() -> Iterator[tuple[str, int]]:
    """All listening TCP sockets of this machine, as (address in hex, port)."""
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local_end, _, state, *_ = line.split()
            if state == "0A":
                address, _, port = local_end.partition(":")
                yield address, int(port, 16)


def descendants(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found
