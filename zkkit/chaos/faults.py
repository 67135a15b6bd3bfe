"""What can be broken. Every fault mends what it broke before it ends.

A fault gives what it struck, in a word or two, or None if it found nothing to strike.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple

from zkkit.chaos.crew import Client, Crew
from zkkit.ensemble import Ensemble, NoLeader

LOSABLE = ("create", "delete", "children", "multi", "get")
"""The requests whose replies get lost."""
_LOSS_PATIENCE = 3.0  # seconds for such a request to come by
_TICK = 0.5  # seconds; expiry is looked for once in a tick


class Trouble(NamedTuple):
    """What a fault has at hand."""

    ensemble: Ensemble
    crew: Crew
    chance: random.Random
    over: threading.Event
    """Set when the storm is over: then nothing new begins, and little lasts any longer."""
    abandoned: threading.Event
    """Set when nobody wants to know any more: then nothing at all does."""

    def wait(self, least: float, most: float) -> None:
        """Let some time pass."""
        self.over.wait(self.chance.uniform(least, most))

    def outlast(self, client: Client, least: float, most: float) -> None:
        """Let so many session timeouts pass, and the servers notice, also if the storm ends
        meanwhile: a fault that is to last longer than a session must do so."""
        self.abandoned.wait(client.timeout * self.chance.uniform(least, most) + _TICK)


# --- clients ------------------------------------------------------------------------------------


def kill_client(trouble: Trouble, client: Client) -> str | None:
    """kill -9; later another process takes its place."""
    trouble.crew.kill(client)
    name = client.name
    try:
        trouble.wait(0.0, 2.0)
    finally:
        trouble.crew.start(client)
    return name


def stop_client(trouble: Trouble, client: Client) -> str | None:
    """SIGSTOP for longer than the session lives: it wakes up without knowing."""
    trouble.crew.stop(client)
    try:
        trouble.outlast(client, 1.3, 2.0)
    finally:
        trouble.crew.go_on(client)
    return client.name


def pause_client(trouble: Trouble, client: Client) -> str | None:
    """SIGSTOP for less than the session timeout."""
    trouble.crew.stop(client)
    try:
        trouble.wait(client.timeout * 0.2, client.timeout * 0.8)
    finally:
        trouble.crew.go_on(client)
    return client.name


def drop(trouble: Trouble, client: Client) -> str | None:
    """Its connection breaks; the next one works."""
    client.proxy.drop()
    return client.name


def lose_reply(trouble: Trouble, client: Client) -> str | None:
    """A request is done, and its reply gets lost with the connection."""
    operation = trouble.chance.choice(LOSABLE)
    loss = client.proxy.lose_reply(operation)
    return f"{client.name}, {operation}" if loss.wait(_LOSS_PATIENCE) else None


def lose_request(trouble: Trouble, client: Client) -> str | None:
    """A request gets lost with the connection before a server sees it."""
    operation = trouble.chance.choice(LOSABLE)
    loss = client.proxy.lose_request(operation)
    return f"{client.name}, {operation}" if loss.wait(_LOSS_PATIENCE) else None


def cut_client(trouble: Trouble, client: Client) -> str | None:
    """No connection for longer than the session lives."""
    client.proxy.cut()
    try:
        trouble.outlast(client, 1.2, 1.6)
    finally:
        client.proxy.mend()
    return client.name


def freeze_client(trouble: Trouble, client: Client) -> str | None:
    """Nothing passes, and connections stay open; what was under way arrives late."""
    client.proxy.freeze(replies_only=trouble.chance.random() < 0.5)
    try:
        trouble.wait(client.timeout * 0.3, client.timeout * 1.5)
    finally:
        client.proxy.thaw()
    return client.name


def expire_session(trouble: Trouble, client: Client) -> str | None:
    """The servers end its session while it is busy."""
    return client.name if trouble.crew.expire(client) else None


OF_CLIENTS: dict[str, Callable[[Trouble, Client], str | None]] = {
    "kill client": kill_client,
    "stop client": stop_client,
    "pause client": pause_client,
    "drop connection": drop,
    "lose reply": lose_reply,
    "lose request": lose_request,
    "cut client": cut_client,
    "freeze client": freeze_client,
    "expire session": expire_session,
}


# --- servers ------------------------------------------------------------------------------------


def _kill(trouble: Trouble, node: int) -> None:
    trouble.ensemble.kill(node)
    try:
        trouble.wait(0.2, 3.0)
    finally:
        trouble.ensemble.restart(node)


def _pause(trouble: Trouble, node: int) -> None:
    trouble.ensemble.pause(node)
    try:
        trouble.wait(2.0, 7.0)
    finally:
        trouble.ensemble.resume(node)


def _cut(trouble: Trouble, node: int) -> None:
    trouble.ensemble.cut(node)
    try:
        trouble.wait(5.0, 9.0)  # the node finds out after ten ticks, five seconds
    finally:
        trouble.ensemble.heal(node)


def _on(role: str, strike: Callable[[Trouble, int], None]) -> Callable[[Trouble], str | None]:
    def fault(trouble: Trouble) -> str | None:
        try:
            leader = trouble.ensemble.leader()
        except NoLeader:
            return None
        others = [node for node in trouble.ensemble.nodes if node != leader]
        node = leader if role == "leader" else trouble.chance.choice(others)
        strike(trouble, node)
        return f"node {node}"

    return fault


OF_SERVERS: dict[str, Callable[[Trouble], str | None]] = {
    f"{verb} {role}": _on(role, strike)
    for verb, strike in (("kill", _kill), ("pause", _pause), ("cut", _cut))
    for role in ("leader", "follower")
}

KINDS = (*OF_CLIENTS, *OF_SERVERS)
"""All kinds of faults."""
