"""What one run of the experiment gave."""

from __future__ import annotations

from dataclasses import dataclass, field

from zkkit.bench.kit.machine import SATURATED, Cpu


@dataclass(frozen=True)
class GateRun:
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
    """All requests of the contenders; removals of watches are not among them."""
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
