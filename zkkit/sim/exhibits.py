"""The gallery by name: so that a story of a twin can say where it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from .explore import explore_origin
from .gallery import ALL
from .gallery.twin import Twin
from .names import by_name
from .origin import Maker, Origin
from .properties import Property
from .verdict import Verdict
from .world import World

__all__ = ["ALL", "asked", "broken", "find", "twin"]


def twin(name: str) -> Twin:
    """The twin of this name."""
    return by_name(ALL, name, "the gallery has no", "zkkit sim gallery")


def broken(name: str) -> World:
    """The world with a twin's mistake."""
    return twin(name).broken()


def asked(name: str) -> Sequence[Property]:
    """The properties that are asked about."""
    return twin(name).properties()


def find(name: str) -> Verdict:
    """Explore a twin; its story knows its origin."""
    exhibit = twin(name)
    about = f"{exhibit.name}: {exhibit.mistake} {exhibit.teaches}"
    origin = Origin(Maker.of(broken, exhibit.name), Maker.of(asked, exhibit.name), about)
    return explore_origin(origin, faults=exhibit.faults)
