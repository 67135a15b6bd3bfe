"""What can be broken. Every fault mends what it broke before it ends.

A fault returns what it struck, in a word or two, or None if it found nothing to strike.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple

from zkkit.chaos.crew import CrewMember, StormCrew
from zkkit.ensemble import Ensemble, NoLeader
from zkkit.testing import Loss

LOSABLE = ("create", "delete", "children", "multi", "get")
"""The requests whose replies get lost."""
_LOSS_PATIENCE = 3.0  # seconds for such a request to come by
_TICK = 0.5  # seconds; expiry is looked for once in a tick


class Trouble(NamedTuple):
    """What a fault can use."""

    ensemble: Ensemble
    crew: StormCrew
    chance: random.Random
    over: threading.Event
    """Set when the storm is over: then no fault begins, and most of those under way end early."""
    abandoned: threading.Event
    """Set when the run is given up: then every fault ends at once."""

    def wait(self, least: float, most: float, mend: Callable[[], object] = lambda: None) -> None:
        """Let some time pass, and mend what was broken, however the wait ends."""
        try:
            self.over.wait(self.chance.uniform(least, most))
        finally:
            mend()

    def outlast(
        self, client: CrewMember, least: float, most: float, mend: Callable[[], object]
    ) -> None:
        """Let so many session timeouts pass, and the servers notice, also if the storm ends
        meanwhile: a fault that is to last longer than a session must do so. Then mend."""
        try:
            self.abandoned.wait(client.timeout * self.chance.uniform(least, most) + _TICK)
        finally:
            mend()


# --- clients ------------------------------------------------------------------------------------


def kill_client(trouble: Trouble, client: CrewMember) -> str | None:
    """kill -9; later another process takes its place."""
    trouble.crew.kill(client)
    name = client.name
    trouble.wait(0.0, 2.0, lambda: trouble.crew.start(client))
    return name


def stop_client(trouble: Trouble, client: CrewMember) -> str | None:
    """SIGSTOP for longer than the session lives: it wakes up without knowing."""
    trouble.crew.stop(client)
    trouble.outlast(client, 1.3, 2.0, lambda: trouble.crew.go_on(client))
    return client.name


def pause_client(trouble: Trouble, client: CrewMember) -> str | None:
    """SIGSTOP for less than the session timeout."""
    trouble.crew.stop(client)
    timeout = client.timeout
    trouble.wait(timeout * 0.2, timeout * 0.8, lambda: trouble.crew.go_on(client))
    return client.name


def drop(trouble: Trouble, client: CrewMember) -> str | None:
    """Its connection breaks; the next one works."""
    client.proxy.drop()
    return client.name


def lose_reply(trouble: Trouble, client: CrewMember) -> str | None:
    """A request is done, and its reply gets lost with the connection."""
    return _lose(trouble, client, client.proxy.lose_reply)


def lose_request(trouble: Trouble, client: CrewMember) -> str | None:
    """A request gets lost with the connection before a server sees it."""
    return _lose(trouble, client, client.proxy.lose_request)


def _lose(trouble: Trouble, client: CrewMember, lose: Callable[[str], Loss]) -> str | None:
    operation = trouble.chance.choice(LOSABLE)
    return f"{client.name}, {operation}" if lose(operation).wait(_LOSS_PATIENCE) else None


def cut_client(trouble: Trouble, client: CrewMember) -> str | None:
    """Cut a client's connection for longer than its session lives."""
    client.proxy.cut()
    trouble.outlast(client, 1.2, 1.6, client.proxy.mend)
    return client.name


def freeze_client(trouble: Trouble, client: CrewMember) -> str | None:
    """Nothing passes, and connections stay open; what was under way arrives late."""
    client.proxy.freeze(replies_only=trouble.chance.random() < 0.5)
    trouble.wait(client.timeout * 0.3, client.timeout * 1.5, client.proxy.thaw)
    return client.name


def expire_session(trouble: Trouble, client: CrewMember) -> str | None:
    """The servers end its session while it is busy."""
    return client.name if trouble.crew.expire(client) else None


OF_CLIENTS: dict[str, Callable[[Trouble, CrewMember], str | None]] = {
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


def _server_fault(
    role: str, strike: str, mend: str, seconds: tuple[float, float]
) -> Callable[[Trouble], str | None]:
    """What is done to a node and undone are orders to the ensemble; so long lies between them."""

    def fault(trouble: Trouble) -> str | None:
        try:
            leader = trouble.ensemble.leader()
        except NoLeader:
            return None
        others = [node for node in trouble.ensemble.nodes if node != leader]
        node = leader if role == "leader" else trouble.chance.choice(others)
        trouble.ensemble.order(strike, node)
        trouble.wait(*seconds, lambda: trouble.ensemble.order(mend, node))
        return f"node {node}"

    return fault


OF_SERVERS: dict[str, Callable[[Trouble], str | None]] = {
    f"{strike} {role}": _server_fault(role, strike, mend, seconds)
    for strike, mend, seconds in (
        ("kill", "restart", (0.2, 3.0)),
        ("pause", "resume", (2.0, 7.0)),
        ("cut", "heal", (5.0, 9.0)),  # the node finds out after ten ticks, five seconds
    )
    for role in ("leader", "follower")
}

KINDS = (*OF_CLIENTS, *OF_SERVERS)
"""All kinds of faults."""
