"""What a twin is, what a right answer is, and the worlds they live in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from ...recipes.locks.owned import OwnedLock
from ...steps import Script
from ..faults import Faults
from ..lives import contenders, named, use
from ..properties import Property, of_a_fair_lock
from ..tree import StartNode
from ..world import World


class Twin(NamedTuple):
    """One mistake: a world that has it, the same world without it, what brings it to light, and
    the name of the property it breaks."""

    name: str
    mistake: str
    broken: Callable[[], World]
    right: Callable[[], World]
    faults: Faults
    breaks: str
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock
    family: str = ""
    teaches: str = ""
    """What to learn from it, in one line."""


class Right(NamedTuple):
    """A right answer: its world with so many actors, and what is asked of it."""

    name: str
    family: str
    style: str
    build: Callable[[int], World]
    properties: Callable[[], Sequence[Property]]


class Answer(Protocol):
    """A script of one's own, as an object that was given its path."""

    def life(self) -> Script[None]: ...


Worlds = tuple[Callable[[], World], Callable[[], World]]


def in_one_line(broken: Callable[..., Any]) -> str:
    """What a docstring says first."""
    return " ".join((broken.__doc__ or "").split("\n\n")[0].split())


def twin(
    broken: Callable[..., Any],
    worlds: Worlds,
    faults: Faults,
    breaks: str,
    properties: Callable[[], Sequence[Property]],
    family: str = "",
    teaches: str = "",
) -> Twin:
    """A twin that is called as its script or class is, and whose mistake that one's docstring
    says."""
    mistake = in_one_line(broken)
    return Twin(broken.__name__, mistake, *worlds, faults, breaks, properties, family, teaches)


def both(
    build: Callable[..., World], broken: Any, right: Any, *more: Any, **options: Any
) -> Worlds:
    """The same world with each of the two."""
    return partial(build, broken, *more, **options), partial(build, right, *more, **options)


# --- the worlds -----------------------------------------------------------------------------


def careless(lock_class: type[Any], count: int) -> World:
    """One session that breaks rule 8 of the runner."""
    world = contenders(lock_class, count, shared=True)
    world.careless_watches = True
    return world


def cancelled_twice(lock_class: type[Any], count: int) -> World:
    """Sessions that break rule 2 of the runner: they throw a second cancel."""
    world = contenders(lock_class, count)
    world.cancels = 2
    return world


def users_of(*locks: Callable[..., OwnedLock[Any]]) -> World:
    """Each actor with a lock of another kind on one path."""
    world = World("/l")
    for make, (name, session) in zip(locks, named(world, len(locks)), strict=True):
        world.actor(name, session, use, make(session, "/l"))
    return world


def actors(script: Callable[..., Script[None]], count: int, *options: Any) -> World:
    """Each actor runs this script in a session of its own."""
    world = World("/n", "/marks", "/marks/kept")
    for name, session in named(world, count):
        world.actor(name, session, script, "/n", *options)
    return world


def same(answer: Answer, count: int = 2, *others: Answer, nodes: Sequence[str] = ("/n",)) -> World:
    """So many actors with the same answer, and others after them, each in a session of its own."""
    return crew(*[answer] * count, *others, nodes=nodes)


def crew(*answers: Answer, nodes: Sequence[str] = ("/n",)) -> World:
    """Each actor with an answer of its own; these nodes are there for good."""
    world = World(*map(StartNode, nodes))
    for answer, (name, session) in zip(answers, named(world, len(answers)), strict=True):
        world.actor(name, session, answer.life)
    return world


def in_container(answer: Answer, count: int = 2, *others: Answer) -> World:
    """The same in a container, which the server removes when it is emptied."""
    world = World("/n")
    those = [answer] * count + [*others]
    for each, (name, session) in zip(those, named(world, len(those)), strict=True):
        world.actor(name, session, each.life)
    return world


# --- a family of answers --------------------------------------------------------------------


class Shelf(NamedTuple):
    """A family's answers: what is asked of them, a world for an answer, and the right answer that
    the mistakes of this shelf are made in. An answer is a tuple, so that one with a mistake can be
    given what the right one was given."""

    family: str
    properties: Callable[[], Sequence[Property]]
    build: Callable[[Any], World]
    right: Any

    def wrong(
        self,
        broken: type[Any],
        faults: Faults,
        breaks: str,
        teaches: str = "",
        *,
        name: str = "",
    ) -> Twin:
        """A mistake in the right answer."""
        worlds = both(self.build, broken(*self.right), self.right)
        made = twin(broken, worlds, faults, breaks, self.properties, self.family, teaches)
        return made._replace(name=name) if name else made

    def but(self, **changes: Any) -> Shelf:
        """The same with another right answer, another world or other questions."""
        return self._replace(**changes)
