"""An integer that everybody can read, set and follow: Curator's SharedCount, on the same node.

    <path>            persistent; four bytes, big-endian, signed

Steps, guarantees and costs are those of shared_value.py. A node that holds anything but four bytes
is reported, never guessed at. kazoo's Counter(support_curator=True) and an AtomicInt may share it.
"""

from __future__ import annotations

from ...scripting import S
from .forms import INT
from .shared_value import Shared


class SharedCount(Shared[S, int]):
    """An integer of 32 bits in a node (SharedCount). Raises ValueError if the seed is none."""

    _form = INT

    def __init__(self, session: S, path: str, *, seed: int = 0) -> None:
        super().__init__(session, path, seed=seed)
