"""How the nodes of locks are named: Curator's way, and kazoo's.

    curator     _c_<guid>-lock-0000000041            below a container, which goes when it is empty
    kazoo       <guid>__lock__0000000041             below a plain node, which stays

One directory must keep to one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...paths import protected
from ...steps import Mode
from ..arguments import check_choice


class Layout(NamedTuple):
    """How nodes are named: the owner's mark before, and the kinds of contenders; and what the
    directory is."""

    mark: Callable[[str, str], str]
    exclusive: str
    read: str
    write: str
    parents: Mode = Mode.CONTAINER


CURATOR = Layout(protected, exclusive="lock-", read="__READ__", write="__WRIT__")
KAZOO = Layout(
    lambda guid, kind: guid.replace("-", "") + kind,
    exclusive="__lock__",
    read="__rlock__",
    write="__lock__",
    parents=Mode.PERSISTENT,  # kazoo makes sure of them once, and fails if they are ever reaped
)
LAYOUTS = {"curator": CURATOR, "kazoo": KAZOO}


def layout_named(name: str) -> Layout:
    """The layout of that name."""
    check_choice("layout", name, tuple(LAYOUTS))
    return LAYOUTS[name]
