"""The gallery by name: so that a story of a twin can say where it comes from."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..errors import ZkkitError
from .explore import Verdict
from .gallery import OTHERS, TWINS
from .gallery.twin import Twin
from .origin import Maker, Origin
from .properties import Property
from .world import World

ALL = (*TWINS, *OTHERS)


class NoTwin(ZkkitError):
    """The gallery has no twin of this name."""


def twin(name: str) -> Twin:
    """The twin of this name."""
    names = {each.name.lower(): each for each in ALL}
    if name.lower() not in names:
        near = [each for each in names if name.lower() in each]
        near = near or difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"do you mean {names[near[0]].name}? " if near else ""
        raise NoTwin(
            f"the gallery has no {name!r}", hint=f"{hint}`zkkit sim gallery` lists them all"
        )
    return names[name.lower()]


def broken(name: str) -> World:
    """The world with a twin's mistake."""
    return twin(name).broken()


def asked(name: str) -> Sequence[Property]:
    """The properties that are asked about."""
    return twin(name).properties()


def find(name: str) -> Verdict:
    """Explore a twin; its story knows its origin."""
    exhibit = twin(name)
    about = f"{exhibit.name}: {exhibit.mistake}"
    origin = Origin(Maker.of(broken, exhibit.name), Maker.of(asked, exhibit.name), about)
    return origin.explore(faults=exhibit.faults)
