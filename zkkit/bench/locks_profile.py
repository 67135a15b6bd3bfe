"""Where a Python process spends its CPU time: samples, and the part of the program each is in.

A timer of CPU time interrupts whichever thread is running, and the interpreter's own fault handler
writes down where that is. It needs neither the interpreter's lock nor its consent, so it strikes
also inside a system call; a sampler written in Python would be let in only where the others wait,
and would see nothing but waiting. Linux only: others interrupt any thread.

The price: the handler reads frames that are just being made or removed, and once in a thousand
samples or so that crashes the process. So it is one that nobody needs for anything else, and the
samples lie in a file that outlives it.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

POSSIBLE = sys.platform == "linux"

OTHER = "other"
PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kazoo: connection (socket)", ("/kazoo/protocol/connection.py",)),
    ("kazoo: select, its threads", ("/kazoo/handlers/",)),
    ("kazoo: serialisation", ("/kazoo/protocol/",)),
    ("kazoo: recipe", ("/kazoo/recipe/",)),
    ("kazoo: client", ("/kazoo/",)),
    ("zkkit: recipe", ("/zkkit/recipes/",)),
    ("zkkit: transport on kazoo", ("/zkkit/session/kazoo_",)),
    ("zkkit: serialisation", ("/zkkit/session/wire.py",)),
    ("the benchmark", ("/zkkit/bench/",)),
    ("zkkit: engine", ("/zkkit/",)),
    ("threads: locks, waiting, waking", ("/threading.py", "/queue.py", "/concurrent/futures/")),
)
"""A sample belongs to the first part that has the innermost frame; a frame of none (the standard
library) counts for its caller."""

_EVERY = 0.001  # seconds of CPU; the kernel rounds it up to its tick
_HEAD = "Stack (most recent call first):"


@contextmanager
def sampling(file: IO[str]) -> Iterator[None]:
    """Sample this process into a file as long as the `with` block lasts."""
    import resource  # not everywhere, and the command line must be

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.register(signal.SIGPROF, file, all_threads=False)
    signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
    try:
        yield
    finally:
        # The handler stays: a signal that is still on its way would end the process.
        signal.setitimer(signal.ITIMER_PROF, 0)


def samples_in(lines: Iterable[str]) -> Counter[str]:
    """How many samples fell into each part."""
    return Counter(map(part_of, stacks(lines)))


def stacks(lines: Iterable[str]) -> list[list[str]]:
    """The files of each stack the fault handler wrote, innermost first."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(_HEAD):
            found.append([])
        elif found and line.startswith('  File "'):
            found[-1].append(line.split('"')[1])
    return found


def part_of(files: Iterable[str]) -> str:
    """The part of the program a stack belongs to."""
    for file in files:
        for part, marks in PARTS:
            if any(mark in file for mark in marks):
                return part
    return OTHER
