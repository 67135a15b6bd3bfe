"""Bytes that are read and replaced as one step: Curator's DistributedAtomicValue, on the same node.

    <path>                            persistent: the bytes

Layout, steps, guarantees and costs are those of atomic.py. A node without data, and no node at all,
is `b""`.
"""

from __future__ import annotations

from ...scripting import S
from .atomic import Atomic
from .forms import RAW


class AtomicValue(Atomic[S, bytes]):
    """Bytes in a node, changed by one at a time (DistributedAtomicValue)."""

    _form = RAW
