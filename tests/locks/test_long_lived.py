"""The base of recipes that go on in the background, by a small one: on servers and simulated.

It is no lock, but it needs what the locks' suite has: one test for every front.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from tests.support.fronts import played
from zkkit.errors import AlreadyStarted, Cancelled, SessionClosed, SessionLost, WrongWith
from zkkit.paths import protected
from zkkit.recipes.long_lived import LongLived
from zkkit.recipes.shared import create_protected, find_protected, wait_for_change, withdraw
from zkkit.record import Recorder
from zkkit.scripting import S
from zkkit.sim import Work, World, explore
from zkkit.sim.faults import NO_FAULTS, one
from zkkit.sim.properties import EndsWell, NoLostWakeup, NothingLeft
from zkkit.steps import Delete, Guid, Node, Script
from zkkit.testing import eventually, expire_session


class Presence(LongLived[S, str]):
    """Has a node below its path as long as it lives, and tells when it comes and goes."""

    def _live(self) -> Script[None]:
        name = protected((yield from Guid()), "here-")
        node: Node | None = None
        try:
            (node,) = yield from create_protected(self.path, name, data=b"")
            yield from self._tell("here")
            while True:
                yield from wait_for_change(node.path)
        except SessionLost:
            yield from self._tell("lost")
            raise
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise


@pytest.fixture
def told() -> list[Any]:
    """What a listener was told."""
    return []


@pytest.fixture
def start(front, open_session, zk_path):
    """A presence that has told that it is here."""

    def begin(told: list[Any], kind: type[Any] = Presence) -> Any:
        presence = kind(open_session(), zk_path)
        presence.add_listener(told.append)
        front.call(lambda: presence.start())
        eventually(lambda: told == ["here"])
        return presence

    return begin


def test_a_life(front, start, told, zk_path, contenders, left_clean):
    """From start to close there is a node, and afterwards nothing. Closing again is harmless."""
    presence = start(told)
    assert len(contenders(zk_path)) == 1
    front.call(lambda: presence.close())
    assert contenders(zk_path) == []
    front.call(lambda: presence.close())
    assert told == ["here"]
    left_clean(zk_path)


def test_a_block(front, open_session, zk_path, told, contenders):
    """In a `with` block it lives as long as the block."""
    presence = Presence(open_session(), zk_path)
    presence.add_listener(told.append)

    def inside(given: Any) -> Any:
        assert given is presence

    front.call(lambda: front.within(presence, inside))
    assert contenders(zk_path) == []
    with pytest.raises(AlreadyStarted, match="closed already"):
        front.call(lambda: presence.start())


def test_the_wrong_block(front, open_session, zk_path, told, contenders):
    """`with` on asyncio, `async with` elsewhere: refused before anything is begun."""
    presence = Presence(open_session(), zk_path)
    presence.add_listener(told.append)

    async def wrong() -> None:
        if front.name == "asyncio":
            with presence:
                raise AssertionError("inside")
        async with presence:
            raise AssertionError("inside")

    with pytest.raises(WrongWith) as caught:
        played(front, wrong)
    assert ("async with" in caught.value.hint) == (front.name == "asyncio")
    assert presence.session.standing() == [] and contenders(zk_path) == []
    front.call(lambda: presence.start())  # it was not started before
    eventually(lambda: told == ["here"])
    front.call(lambda: presence.close())


def test_started_once(front, start, told):
    """A second start is refused and changes nothing."""
    presence = start(told)
    with pytest.raises(AlreadyStarted, match="started already"):
        front.call(lambda: presence.start())
    front.call(lambda: presence.close())


def test_never_started(front, open_session, zk_path):
    """Closing what was never started is harmless."""
    presence = Presence(open_session(), zk_path)
    front.call(lambda: presence.close())


def test_a_listener_that_nobody_would_await(front, open_session, zk_path):
    """A coroutine function is refused, with the way out, instead of never being run."""

    async def listener(event: str) -> None: ...

    with pytest.raises(ValueError, match=r"plain function.*asyncio\.create_task"):
        Presence(open_session(), zk_path).add_listener(listener)


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError, SystemExit])
def test_a_listener_that_raises(front, start, told, caplog, error):
    """Whatever it is: it is logged, the others are told all the same, and the recipe lives on."""

    class WithABadListener(Presence[S]):
        def __init__(self, session: S, path: str) -> None:
            super().__init__(session, path)
            self.add_listener(self.fail)

        def fail(self, event: str) -> None:
            raise error("the listener fails")

    with caplog.at_level(logging.ERROR, "zkkit.recipes"):
        living = start(told, WithABadListener)
    assert "a listener of <WithABadListener" in caplog.text
    assert "the listener fails" in caplog.text
    eventually(lambda: "waits for a watch" in "".join(living.session.standing()))
    living.remove_listener(living.fail)
    living.remove_listener(living.fail)
    front.call(lambda: living.close())


@pytest.mark.front("threads")
def test_a_listener_may_close_it(open_session, zk_path, contenders):
    """It is called while the background script waits for it, and closes that very script."""
    presence = Presence(open_session(), zk_path)
    closed = threading.Event()

    def close(event: str) -> None:
        presence.close()
        closed.set()

    presence.add_listener(close)
    presence.start()
    assert closed.wait(10)
    assert contenders(zk_path) == []


def test_a_lost_session_is_followed_by_another(
    front, start, told, zk_hosts, zk_path, contenders, left_clean
):
    """The background script is begun again in the new session."""
    presence = start(told)
    (before,) = contenders(zk_path)
    expire_session(zk_hosts, presence.session)
    eventually(lambda: told == ["here", "lost", "here"])
    assert before not in contenders(zk_path)
    front.call(lambda: presence.close())
    left_clean(zk_path)


def test_it_ends_with_its_session(front, start, told, zk_path, contenders):
    """A closed session is the end of it; nothing is begun again, and closing it is harmless."""
    presence = start(told)
    front.close(presence.session)
    eventually(lambda: contenders(zk_path) == [])
    for _ in range(2):
        front.call(lambda: presence.close())


def test_its_session_is_closed_in_its_block(front, open_session, zk_path):
    """What ended it is no error of the block."""
    presence = Presence(open_session(), zk_path)

    async def block():
        async with presence as given:
            await given.session.close()

    if front.name == "asyncio":
        front.call(block)
    else:
        front.call(lambda: front.within(presence, lambda given: given.session.close()))
    with pytest.raises(SessionClosed):
        front.call(lambda: presence.start())


def test_it_is_recorded_by_its_name(front, start, told):
    """Whatever it does in the background is its own, in the records."""
    presence = start(told)
    recorder = Recorder()
    presence.session.hooks.add(recorder)
    front.call(lambda: presence.close())
    assert {event.recipe for _, event in recorder if event.recipe} == {"Presence"}


# --- in the simulator -----------------------------------------------------------------------------


def world(kind: type[Any]) -> World:
    """One who starts it, works, and closes it, twice."""
    world = World("/l")
    session = world.connect()
    presence = kind(session, "/l")

    def live() -> Script[None]:
        yield from presence.start.of()
        try:
            yield from Work()
        except SessionLost:
            pass  # the presence goes on
        finally:
            yield from presence.close.of()
            yield from presence.close.of()

    world.actor("A", session, live)
    return world


PROPERTIES = [NothingLeft(), NoLostWakeup(), EndsWell()]


@pytest.mark.parametrize("fault", ["", "reply lost", "request lost", "crash", "expire", "cancel"])
def test_explored(fault):
    """Whatever happens when: nothing is left, and closing ends."""
    faults = one(fault) if fault else NO_FAULTS
    verdict = explore(world(Presence), faults=faults, properties=PROPERTIES)
    assert verdict.holds, str(verdict)


def test_the_session_is_lost_while_it_cleans_up():
    """Closing ends all the same."""
    verdict = explore(world(CleansUpPlainly), faults=one("expire"), properties=PROPERTIES)
    assert verdict.holds, str(verdict)


class CleansUpPlainly(Presence):
    """A session that is lost while it cleans up ends the clean-up."""

    def _live(self) -> Script[None]:
        name = protected((yield from Guid()), "here-")
        try:
            (node,) = yield from create_protected(self.path, name, data=b"")
            while True:
                yield from wait_for_change(node.path)
        except Cancelled:
            found = yield from find_protected(self.path, name)
            if found is not None:
                yield from Delete(found[0].path)
            raise


class NeverEnds(CleansUpPlainly):
    """Begins again after a lost session, though it is being closed."""

    def _go_on(self) -> Script[None]:
        while True:
            try:
                yield from self._live()
                return
            except SessionLost:
                continue


class LeavesItsNode(Presence):
    """Does not clean up when it is closed."""

    def _live(self) -> Script[None]:
        name = protected((yield from Guid()), "here-")
        (node,) = yield from create_protected(self.path, name, data=b"")
        while True:
            yield from wait_for_change(node.path)


@pytest.mark.parametrize(("twin", "fault"), [(NeverEnds, "expire"), (LeavesItsNode, "")])
def test_a_broken_twin_is_caught(twin, fault):
    verdict = explore(world(twin), faults=one(fault) if fault else NO_FAULTS, properties=PROPERTIES)
    assert verdict.holds is False
