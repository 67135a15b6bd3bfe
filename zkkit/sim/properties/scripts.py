"""What holds of every script, whatever it is for: asked in every exploration."""

from __future__ import annotations

import re

from ...errors import ZkkitError
from ..places import line_of
from ..state import Fact
from .base import OfFacts, View

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # differs from run to run


class NoBug(OfFacts):
    """No script fails by an error of its own: one that no step and no user code has raised, a step
    that makes no sense, or a cancel that it swallows."""

    name = "scripts raise nothing of their own"
    wants = frozenset({"failed"})

    def wrong(self, fact: Fact, view: View) -> str | None:
        error = fact.what
        message = error.message if isinstance(error, ZkkitError) else str(error)
        said = f"{type(error).__name__}: {message}" if message else type(error).__name__
        where = line_of(fact.outcome)
        at = f", at {where}" if where and where not in said else ""
        return f"{view.name(fact.actor)}'s script fails: {_ADDRESS.sub('', said)}{at}"


ALWAYS_ASKED = (NoBug(),)
