"""ZooKeeper's four-letter words: one question, one answer, on the client port."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def ask(port: int, word: str, *, host: str = LOOPBACK, timeout: float = 2.0) -> str:
    """Send `word` and return the whole answer; raises OSError if nobody answers."""
    with socket.create_connection((host, port), timeout=timeout) as connection:
        connection.sendall(word.encode("ascii"))
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


def _answer(port: int, word: str, timeout: float) -> str:
    """What `ask` returns; "" if nobody answers."""
    try:
        return ask(port, word, timeout=timeout)
    except OSError:
        return ""


def mode(port: int, *, timeout: float = 1.0) -> str | None:
    """The node's role ("leader", "follower", "standalone"), or None while it does not serve."""
    for line in _answer(port, "srvr", timeout).splitlines():
        if line.startswith("Mode: "):
            return line.removeprefix("Mode: ").strip()
    return None


def metrics(port: int, *, timeout: float = 2.0) -> dict[str, float] | None:
    """The numbers of `mntr`, or None while the node does not serve."""
    numbers = {}
    for line in _answer(port, "mntr", timeout).splitlines():
        name, _, value = line.partition("\t")
        try:
            numbers[name] = float(value)
        except ValueError:  # zk_version and zk_server_state are words
            continue
    return numbers or None


def sessions(port: int, *, timeout: float = 2.0) -> int | None:
    """How many sessions are connected to the node, or None while it does not serve."""
    lines = _answer(port, "cons", timeout).splitlines()
    # One connection a line, those that ask four-letter words among them; only clients have a sid.
    return sum("sid=0x" in line for line in lines) if lines else None
