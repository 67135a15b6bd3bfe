"""The servers a load test works on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from zkkit.cli.servers import BENCHMARK, Servers, servers
from zkkit.ensemble.backends import BACKENDS

HANDED_OVER = "ZKKIT_LOAD_SERVERS"
"""An environment variable by which `python -m loadtests` tells the tests it starts what it knows
about the servers it started: their process ids, and what their data lies on."""


@contextmanager
def ensemble_for(choice: str) -> Iterator[Servers]:
    """The servers behind auto, docker, local (ours, for as long as the block lasts) or HOSTS."""
    if choice in BACKENDS:
        with servers(None, backend=choice, jvm_flags=BENCHMARK) as there:
            yield there
    else:
        known = json.loads(os.environ.get(HANDED_OVER, "{}"))
        yield Servers(**known) if known.get("hosts") == choice else Servers(choice)


def hand_over(there: Servers) -> dict[str, str]:
    """The environment for a test on servers that we started."""
    known = {"hosts": there.hosts, "pids": dict(there.pids), "known": dict(there.known)}
    return {HANDED_OVER: json.dumps(known)}


def handed_over() -> bool:
    """Whether this test is a run of a comparison."""
    return HANDED_OVER in os.environ
