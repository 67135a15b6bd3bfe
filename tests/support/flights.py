"""What a recipe costs: flights, by a recorder, and requests, by a proxy."""

from __future__ import annotations

from collections import Counter
from typing import Any

from zkkit.record import Recorder
from zkkit.testing import Proxy


def flights(recorder: Recorder, actor: str | None = None) -> int:
    """Requests that took off at the same moment, from the same actor, are one flight."""
    return len(
        {
            (e.actor, e.t_ns - e.duration)
            for hook, e in recorder
            if hook == "step" and actor in (None, e.actor)
        }
    )


def recorded(session: Any) -> Recorder:
    """A recorder of this session, from now on."""
    recorder = Recorder()
    session.hooks.add(recorder)
    return recorder


def spent(proxy: Proxy, before: Counter[str]) -> dict[str, int]:
    """Requests since `before`, as the proxy saw them; pings apart."""
    now = proxy.requests
    now.subtract(before)
    return {op: count for op, count in now.items() if count and op not in ("ping", "connect")}
