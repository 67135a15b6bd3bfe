"""The servers a load test works on."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager, nullcontext

from zkkit.bench.kit.data import as_json, typed
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers, servers
from zkkit.ensemble.backends import BACKENDS

HANDED_OVER = "ZKKIT_LOAD_SERVERS"
"""An environment variable by which `python -m loadtests` tells the tests it starts what it knows
about the servers it started: their process ids, and what their data lies on."""


def ensemble_for(choice: str) -> AbstractContextManager[MeasuredServers]:
    """The servers behind auto, docker, local (ours, for as long as the block lasts) or HOSTS."""
    if choice in BACKENDS:
        return servers(None, backend=choice, jvm_flags=BENCHMARK)
    if handed_over():
        known: MeasuredServers = typed(MeasuredServers, json.loads(os.environ[HANDED_OVER]))
        if known.hosts == choice:
            return nullcontext(known)
    return servers(choice)


def hand_over(measured: MeasuredServers) -> dict[str, str]:
    """The environment for a test on servers that we started."""
    return {HANDED_OVER: as_json(measured)}


def handed_over() -> bool:
    """Whether this test is a run of a comparison."""
    return HANDED_OVER in os.environ
