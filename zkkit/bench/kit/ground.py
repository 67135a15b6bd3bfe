"""What figures were measured on, in words: servers, data, machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import ServerFacts
from zkkit.show.wording import lies

SATURATED_NOTE = (
    "* the client used over 90 % of one core: its times tell more about the Python interpreter "
    "than about the design"
)


def facts(head: Head, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Servers, machine, client and time, by name; `more` stands before the time."""
    machine = head.machine
    load = f", load {machine.load_average[0]} at the end" if machine.load_average else ""
    return {
        **(_servers(head.ensemble) if head.ensemble else {}),
        "machine": f"{machine.cpu_count} x {machine.cpu_model}{load}",
        "system": machine.os,
        "client": client(head),
        **(more or {}),
        "measured": f"{head.started}, in {head.seconds:g} s",
    }


def client(head: Head) -> str:
    """The client's software."""
    machine = head.machine
    return f"{machine.python}, zkkit {machine.zkkit}, kazoo {machine.kazoo}"


def cpu_of_client(shares: Sequence[float], saturated: int) -> str:
    """How busy the client was in its runs, as shares of one core."""
    if not shares:
        return "not known"
    return (
        f"{min(shares):.0%} to {max(shares):.0%} of one core; "
        f"{saturated} of {len(shares)} runs saturated"
    )


def briefly(head: Head) -> str:
    """The machine and the servers, as the line below a picture has them."""
    machine, servers = head.machine, head.ensemble
    text = f"{machine.cpu_count} CPUs, {machine.python}"
    return f"{text}, {servers.size} x ZooKeeper {servers.zookeeper}" if servers else text


def data(head: Head) -> str:
    """Where the servers keep their data."""
    return f"data {lies(head.ensemble.medium)}" if head.ensemble else "no servers"


def _servers(facts: ServerFacts) -> dict[str, str]:
    text = f"{facts.size} x ZooKeeper {facts.zookeeper}"
    if facts.java:
        text += f", Java {facts.java} ({' '.join(facts.jvm_flags)})"
    lying = lies(facts.medium)
    if facts.filesystem:
        lying += f" ({facts.filesystem})"
    return {"servers": f"{text}, {facts.backend}", "data": "; ".join((lying, *facts.notes))}
