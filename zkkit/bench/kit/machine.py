"""What the figures were measured on: the machine, the versions, and who was busy."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import zkkit

SATURATED = 0.9
"""From this share of one core on, a client process is at its limit: one interpreter runs Python
code on one core only, so its times say more about it than about a design."""


class MachineFacts(NamedTuple):
    """A machine and its software."""

    os: str
    cpu_model: str
    cpu_count: int
    load_average: tuple[float, ...] | None
    python: str
    zkkit: str
    kazoo: str


class Cpu(NamedTuple):
    """CPU seconds used so far."""

    client: float
    servers: dict[str, float]


class Footprint(NamedTuple):
    """What a process has, apart from the CPU."""

    threads: int
    files: int
    """Open ones: sockets, pipes and the like."""
    memory: int
    """Bytes that are in memory."""


def cpu_used(pids: Mapping[str, int]) -> Cpu:
    """The CPU seconds of this process and of each named server. A server that cannot be asked is
    left out."""
    used = {name: _cpu_of(pid) for name, pid in pids.items()}
    return Cpu(time.process_time(), {name: s for name, s in used.items() if s is not None})


def cpu_between(before: Cpu, after: Cpu) -> Cpu:
    """What was used between two readings."""
    servers = {
        name: round(used - before.servers[name], 3)
        for name, used in after.servers.items()
        if name in before.servers
    }
    return Cpu(after.client - before.client, servers)


def footprint(pid: int) -> Footprint | None:
    """What another process takes now; None where the system does not tell (Linux does)."""
    home = Path(f"/proc/{pid}")
    try:
        lines = (home / "status").read_text().splitlines()
        files = len(list((home / "fd").iterdir()))
    except OSError:
        return None
    said = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    return Footprint(int(said["Threads"][0]), files, int(said["VmRSS"][0]) * 1024)


def this_machine() -> MachineFacts:
    """This machine and its software, now."""
    return MachineFacts(
        os=platform.platform(),
        cpu_model=_cpu_model(),
        cpu_count=os.cpu_count() or 1,
        load_average=_load_average(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        zkkit=zkkit.__version__,
        kazoo=_version("kazoo"),
    )


def _cpu_of(pid: int) -> float | None:
    try:
        # The name in brackets may hold spaces: the fields are counted from behind it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware"):
            return value.strip()
    return platform.processor() or platform.machine() or "unknown"


def _load_average() -> tuple[float, ...] | None:
    try:
        return tuple(round(load, 2) for load in os.getloadavg())
    except OSError:
        return None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
