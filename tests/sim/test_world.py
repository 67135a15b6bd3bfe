"""The world step by step: what the conformance suite cannot ask a real server for."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import InvalidPath, NodeExists, SessionLost, Unsupported
from zkkit.scripting import Recipe, script, timed_script
from zkkit.sim import NO_FAULTS, NotALock, World, contenders, explore
from zkkit.sim.properties import Always
from zkkit.steps import Children, Create, Delete, Exists, Fire, FireKind, Mode


def in_line(world, session):
    return world.take(session, Create("/l/n-", b"", Mode.EPHEMERAL_SEQUENTIAL)).path


def test_the_counter_wraps():
    """After 2147483647 comes -2147483648, as the documentation has it, and as busy servers do."""
    world = World("/l", next_sequence=2**31 - 1)
    session = world.connect()
    assert in_line(world, session) == "/l/n-2147483647"
    assert in_line(world, session) == "/l/n--2147483648"
    assert in_line(world, session) == "/l/n--2147483647"


def test_the_counter_does_not_wrap():
    """What quiet servers do: see test_sequence_end."""
    world = World("/l", next_sequence=2**31 - 1, wraps=False)
    session = world.connect()
    assert in_line(world, session) == "/l/n-2147483647"
    with pytest.raises(NodeExists):
        in_line(world, session)


def test_reaping_an_emptied_container():
    """A container that has had children and has none any more can be reaped, and watches fire."""
    world = World("/l")
    session = world.connect()
    with pytest.raises(ValueError, match="would not reap"):
        world.reap("/l")
    world.take(session, Create("/l/x"))
    with pytest.raises(ValueError, match="would not reap"):
        world.reap("/l")
    world.take(session, Delete("/l/x"))
    world.take(session, Exists("/l", watch=True))
    world.reap("/l")
    assert world.fires(session) == [Fire(FireKind.DELETED, "/l")]
    assert world.take(session, Exists("/l")) is None


def test_reaping_a_ttl_node():
    """A TTL node can be reaped as long as it has no children; a plain node never."""
    world = World()
    session = world.connect()
    world.take(session, Create("/t", mode=Mode.PERSISTENT_TTL, ttl_ms=1000))
    world.take(session, Create("/p"))
    world.reap("/t")
    with pytest.raises(ValueError, match="would not reap /p"):
        world.reap("/p")
    assert world.take(session, Children("/")) == ("p",)


def test_a_closed_session():
    """Its ephemeral nodes are gone, and it takes no more steps."""
    world = World("/l")
    session, other = world.connect(), world.connect()
    in_line(world, session)
    world.close(session)
    assert world.take(other, Children("/l")) == ()
    with pytest.raises(SessionLost):
        world.take(session, Children("/l"))


def test_methods_are_not_called_in_the_simulator():
    """Whoever calls a recipe's method is told how to do it here."""
    lock = ReentrantLock(World("/l").connect(), "/l")
    with pytest.raises(Unsupported, match="explore"):
        lock.acquire()


def test_bad_plans_are_refused():
    """A wrong path, a second actor of one name, something that is no script."""
    with pytest.raises(InvalidPath):
        World("l")
    world = World()
    session = world.connect()

    def script():
        yield Children("/")

    world.actor("A", session, script)
    with pytest.raises(ValueError, match="called A already"):
        world.actor("A", session, script)
    with pytest.raises(TypeError, match="must begin with a script"):
        world.actor("B", session, lambda: 42)
    used = script()
    with pytest.raises(TypeError, match=r"a new script each time, not always .*give the"):
        world.actor("B", session, lambda: used)
    with pytest.raises(ValueError, match="retry must be a policy"):
        world.connect(retry=3)


def test_an_actor_with_arguments():
    """A function and its arguments, bound when the actor is added and not when it begins."""
    world = World("/l")
    for name in "AB":
        world.actor(name, world.connect(), creates, f"/l/{name}", data=name.encode())
    made = Always(
        "made",
        lambda view: None if {"/l/A", "/l/B"} <= view.tree.nodes.keys() else "one is missing",
        at_end=True,
    )
    assert explore(world, [made], faults=NO_FAULTS).holds


def creates(path, data):
    yield from Create(path, data)


class Half(Recipe):
    """A lock that cannot be given back."""

    @timed_script
    def acquire(self, *, timeout=None):
        yield from Create(self.path)


class Impatient(Half):
    """A lock that knows no deadline."""

    @script
    def acquire(self):
        yield from Create(self.path)


class Plain:
    """No recipe at all."""

    def __init__(self, session, path):
        pass

    def acquire(self, *, timeout=None):
        """A method that is no script."""


@pytest.mark.parametrize(
    ("lock", "misses"),
    [(Half, "release"), (Impatient, "acquire with the parameter timeout"), (Plain, "acquire")],
)
def test_contenders_want_a_lock(lock, misses):
    """What is none is refused at the call, with a sentence that says what it misses."""
    with pytest.raises(NotALock, match=f"cannot be used as a lock: it has no script {misses}\n"):
        contenders(lock, 2)
