"""What a fork must not bring to life twice.

The child has copies of everything: of sockets that it shares with its parent, and on gevent of the
greenlets that read and write them as well. Whatever belongs to the parent is told so in the child,
before anything else happens there, and lets go.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Copied(Protocol):
    """Something that must know when it is only a copy."""

    def forked(self) -> None:
        """We are in the child. Must not wait: whoever has the lock may not be here."""


_here: WeakSet[Copied] = WeakSet()


def tell_in_child(each: Copied) -> None:
    """Call its `forked` in every process that is forked from this one."""
    _here.add(each)


def _after_fork() -> None:
    for each in _here:
        each.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
