"""What one run of the experiment gave."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zkkit.bench.machine import SATURATED, Cpu


@dataclass(frozen=True)
class Run:
    """What one run measured. `void` says why it counts for nothing; "" if it counts."""

    design: str
    contenders: int
    repeat: int
    fires: int
    creates: int
    wakeups: int
    useful_wakeups: int
    queueing_fires: int
    """Fires before the gate opened."""
    requests: int
    """All requests of the contenders; the removals of watches are not told and not counted."""
    overtakings: int
    handoffs_ms: tuple[float, ...]
    server_fires: int | None
    seconds: float
    cpu: Cpu
    void: str = ""
    counters: dict[str, dict[str, int]] = field(default_factory=dict)
    """The fires each server had counted, before and after."""

    @property
    def useful_share(self) -> float | None:
        """The share of wakeups that got their actor what it waited for."""
        return self.useful_wakeups / self.wakeups if self.wakeups else None

    @property
    def requests_each(self) -> float:
        """Requests for one acquisition, with its release."""
        return self.requests / self.contenders

    @property
    def client_share(self) -> float:
        """How much of one core the client process used."""
        return self.cpu.client / self.seconds if self.seconds else 0.0

    @property
    def saturated(self) -> bool:
        """Whether the client was at its limit, so that its times are its own."""
        return self.client_share > SATURATED

    def as_data(self) -> dict[str, Any]:
        """For results.json."""
        return {
            "design": self.design,
            "contenders": self.contenders,
            "repeat": self.repeat,
            "void": self.void,
            "fires": self.fires,
            "server_fires": self.server_fires,
            "creates": self.creates,
            "wakeups": self.wakeups,
            "useful_wakeups": self.useful_wakeups,
            "useful_share": self.useful_share,
            "queueing_fires": self.queueing_fires,
            "requests_each": self.requests_each,
            "overtakings": self.overtakings,
            "handoff_ms": {
                "median": percentile(self.handoffs_ms, 50),
                "p90": percentile(self.handoffs_ms, 90),
                "all": self.handoffs_ms,
            },
            "total_ms": round(self.seconds * 1e3, 3),
            "client_cpu_s": round(self.cpu.client, 4),
            "client_cpu_share": round(self.client_share, 3),
            "server_cpu_s": self.cpu.servers,
            "saturated": self.saturated,
        }


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The value that `percent` of the values do not exceed, between two values in proportion;
    None of no values."""
    if not values:
        return None
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
