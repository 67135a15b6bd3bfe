"""What DataWatch and ChildrenWatch promise, on every front; and kazoo's own, where they can be
asked. The behaviours that kazoo's tests of its watchers pin are here under names of their own."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from tests.support.ensembles import watches
from tests.watchers.kinds import OURS, kazoo_breaks, kazoo_keeps, over
from zkkit import ChildrenWatch, DataWatch
from zkkit.errors import AlreadyStarted, WrongWith
from zkkit.steps import FireKind
from zkkit.testing import eventually, expire_session, throughout

PATIENCE = 5.0


def told_at_last(told: list[Any], *expected: Any) -> None:
    eventually(lambda: told == [*expected], PATIENCE, otherwise=lambda: told)


@pytest.fixture
def told() -> list[Any]:
    return []


# --- data -----------------------------------------------------------------------------------------


@over(OURS, kazoo_keeps)
def test_data(front, kind, open_session, zk_path, witness, told):
    """Called with what is there, and after each change."""
    session = open_session()
    witness.create(zk_path, b"1")
    front.call(
        lambda: kind.data(session, zk_path, lambda data, stat: told.append((data, stat.version)))
    )
    told_at_last(told, (b"1", 0))
    witness.set(zk_path, b"2")
    told_at_last(told, (b"1", 0), (b"2", 1))


@over(OURS, kazoo_keeps)
def test_no_node(front, kind, open_session, zk_path, witness, told):
    """Called with None where there is no node; it comes, goes and comes again."""
    session = open_session()

    def changed(data: bytes | None, stat: Any) -> None:
        assert (data is None) is (stat is None)
        told.append(data)

    front.call(lambda: kind.data(session, zk_path, changed))
    expected: list[bytes | None] = [None]
    for data in (b"1", None, b"2", None, b"", None):
        told_at_last(told, *expected)
        witness.delete(zk_path) if data is None else witness.create(zk_path, data)
        expected.append(data)
    told_at_last(told, *expected)


@over(OURS, kazoo_keeps)
def test_the_event(front, kind, open_session, zk_path, witness, told):
    """A function that takes one more argument is given the event; at first there is none."""
    session = open_session()
    front.call(
        lambda: kind.data(session, zk_path, lambda data, stat, event: told.append((data, event)))
    )
    told_at_last(told, (None, None))
    witness.create(zk_path, b"1")
    eventually(lambda: len(told) == 2)
    data, event = told[1]
    assert data == b"1"
    if kind is OURS:
        assert (event.kind, event.path) == (FireKind.CREATED, zk_path)


@pytest.mark.defect("K-9")
@over(OURS, kazoo_breaks("K-9 (#413): the exists watch of a function that gave False stays"))
def test_the_function_stops_it(
    front, kind, open_session, zk_path, witness, told, zk_ensemble, left_clean
):
    """By giving False: it is not called again, and no watch is left. None is not False."""
    session = open_session()
    answers = iter([None, False])

    def changed(data: bytes | None, stat: Any) -> Any:
        told.append(data)
        return next(answers)

    front.call(lambda: kind.data(session, zk_path, changed))
    told_at_last(told, None)
    witness.create(zk_path, b"1")
    told_at_last(told, None, b"1")
    eventually(lambda: watches(zk_ensemble) == 0, PATIENCE)
    witness.set(zk_path, b"2")
    throughout(lambda: told == [None, b"1"], 0.2)


@pytest.mark.defect("K-7")
@pytest.mark.concurrent
@over(OURS)  # kazoo's may tell the same twice
def test_data_after_a_drop(front, kind, open_session, zk_proxy, zk_path, witness, told):
    """It reads again when it is connected again. What has not changed is not told."""
    witness.create(zk_path, b"1")
    session = open_session(zk_proxy.hosts)
    front.call(lambda: kind.data(session, zk_path, lambda data, stat: told.append(data)))
    told_at_last(told, b"1")
    zk_proxy.cut()
    witness.set(zk_path, b"2")
    zk_proxy.mend()
    told_at_last(told, b"1", b"2")
    zk_proxy.drop()
    witness.set(zk_path, b"3")
    told_at_last(told, b"1", b"2", b"3")


@over(OURS)  # kazoo's may tell the same twice
def test_data_in_a_new_session(front, kind, open_session, zk_hosts, zk_path, witness, told):
    """A lost session does not stop it, and is no news."""
    witness.create(zk_path, b"1")
    session = open_session()
    front.call(lambda: kind.data(session, zk_path, lambda data, stat: told.append(data)))
    told_at_last(told, b"1")
    expire(zk_hosts, session)
    witness.set(zk_path, b"2")
    told_at_last(told, b"1", b"2")


def expire(hosts: str, session: Any) -> None:
    if hasattr(session, "client_id"):  # kazoo's own client
        from zkkit.testing import expire as expire_id

        before = session.client_id
        expire_id(hosts, *before)
        eventually(lambda: session.client_id not in (None, before) and session.connected)
    else:
        expire_session(hosts, session)


@over(OURS, kazoo_breaks("a function that raises TypeError is called a second time", TypeError))
def test_a_function_that_raises(front, kind, open_session, zk_path, witness, told, caplog):
    """It is called once for a change, logged, and called again for the next one, whatever it
    raises. Whether it takes the event is asked of its signature, not tried."""
    session = open_session()

    def changed(data: bytes | None, stat: Any) -> None:
        told.append(data)
        raise (TypeError if data is None else asyncio.CancelledError)("the function fails")

    with caplog.at_level(logging.ERROR):
        front.call(lambda: kind.data(session, zk_path, changed))
        told_at_last(told, None)
        witness.create(zk_path, b"1")
        told_at_last(told, None, b"1")
        throughout(lambda: told == [None, b"1"], 0.1)
        witness.set(zk_path, b"2")
        told_at_last(told, None, b"1", b"2")
    assert "the function fails" in caplog.text


# --- children -------------------------------------------------------------------------------------


def names(told: list[Any]) -> Any:
    return lambda children: told.append(sorted(children))


@over(OURS, kazoo_keeps)
def test_children(front, kind, open_session, zk_path, witness, told):
    """Called with the names, and again when one comes or goes; not for their data."""
    session = open_session()
    witness.create(zk_path)
    front.call(lambda: kind.children(session, zk_path, names(told)))
    told_at_last(told, [])
    witness.create(f"{zk_path}/b")
    told_at_last(told, [], ["b"])
    witness.set(f"{zk_path}/b", b"1")
    witness.set(zk_path, b"1")
    witness.create(f"{zk_path}/a")
    told_at_last(told, [], ["b"], ["a", "b"])
    witness.delete(f"{zk_path}/b")
    told_at_last(told, [], ["b"], ["a", "b"], ["a"])


@over(OURS)
def test_the_event_of_children(front, kind, open_session, zk_path, witness, told):
    session = open_session()
    witness.create(zk_path)
    front.call(
        lambda: kind.children(
            session, zk_path, lambda children, event: told.append((children, event))
        )
    )
    told_at_last(told, ((), None))
    witness.create(f"{zk_path}/a")
    eventually(lambda: len(told) == 2)
    assert told[1] == (("a",), (FireKind.CHILD, zk_path))


@over(OURS, kazoo_breaks("#149, #153: it stops for good when its node is deleted"))
def test_children_of_a_node_that_goes(front, kind, open_session, zk_path, witness, told):
    """It outlives its node, and goes on when the node comes back."""
    session = open_session()
    witness.create(f"{zk_path}/a", makepath=True)
    front.call(lambda: kind.children(session, zk_path, names(told)))
    told_at_last(told, ["a"])
    for name in "bc":
        told.clear()
        witness.delete(zk_path, recursive=True)
        eventually(lambda: told[-1:] == [[]], PATIENCE, otherwise=lambda: told)
        witness.create(f"{zk_path}/{name}", makepath=True)
        eventually(lambda: told[-1:] == [[name]], PATIENCE, otherwise=lambda: told)  # noqa: B023


@over(OURS, kazoo_breaks("it does not begin where there is no node"))
def test_children_of_a_node_that_comes(front, kind, open_session, zk_path, witness, told):
    """Where there is no node it waits for it."""
    session = open_session()
    front.call(lambda: kind.children(session, zk_path, names(told)))
    told_at_last(told, [])
    witness.create(f"{zk_path}/a", makepath=True)
    eventually(lambda: told[-1:] == [["a"]], PATIENCE, otherwise=lambda: told)


@pytest.mark.defect("K-7")
@pytest.mark.concurrent
@over(OURS)  # kazoo's may tell the same twice
def test_children_after_a_drop(front, kind, open_session, zk_proxy, zk_path, witness, told):
    witness.create(zk_path)
    session = open_session(zk_proxy.hosts)
    front.call(lambda: kind.children(session, zk_path, names(told)))
    told_at_last(told, [])
    zk_proxy.cut()
    witness.create(f"{zk_path}/a")
    zk_proxy.mend()
    told_at_last(told, [], ["a"])
    zk_proxy.drop()
    witness.create(f"{zk_path}/b")
    told_at_last(told, [], ["a"], ["a", "b"])


@over(OURS)  # kazoo's may tell the same twice
def test_children_in_a_new_session(front, kind, open_session, zk_hosts, zk_path, witness, told):
    witness.create(zk_path)
    session = open_session()
    front.call(lambda: kind.children(session, zk_path, names(told)))
    told_at_last(told, [])
    expire(zk_hosts, session)
    witness.create(f"{zk_path}/a")
    told_at_last(told, [], ["a"])


@over(OURS)
def test_the_function_stops_a_watch_on_children(
    front, kind, open_session, zk_path, witness, told, zk_ensemble
):
    session = open_session()

    def changed(children: Any) -> bool:
        told.append(children)
        return not children

    witness.create(zk_path)
    front.call(lambda: kind.children(session, zk_path, changed))
    told_at_last(told, ())
    witness.create(f"{zk_path}/a")
    told_at_last(told, (), ("a",))
    eventually(lambda: watches(zk_ensemble) == 0)
    witness.create(f"{zk_path}/b")
    throughout(lambda: len(told) == 2, 0.2)


# --- both -----------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("recipe", [DataWatch, ChildrenWatch])


@pytest.mark.defect("K-9")
@BOTH
def test_stopped_from_outside(
    front, recipe, open_session, zk_path, witness, told, zk_ensemble, left_clean
):
    """No call any more, no watch on the server, no script in the session; twice is harmless.
    (kazoo's cannot be stopped: #525.)"""
    session = open_session()
    watch = front.call(lambda: recipe(session, zk_path)(lambda *given: told.append(given)))
    eventually(lambda: len(told) == 1)
    assert watches(zk_ensemble) == 1
    front.call(lambda: watch.stop())
    front.call(lambda: watch.stop())
    eventually(lambda: watches(zk_ensemble) == 0)
    assert session.standing() == []
    witness.create(f"{zk_path}/a", makepath=True)
    throughout(lambda: len(told) == 1, 0.1)


@BOTH
@pytest.mark.front("threads")
def test_stopped_in_its_own_function(front, recipe, open_session, zk_path, zk_ensemble):
    session = open_session()
    stopped = threading.Event()
    watch = recipe(session, zk_path)

    def changed(*given: Any) -> None:
        watch.stop()
        stopped.set()

    watch(changed)
    assert stopped.wait(5)
    eventually(lambda: watches(zk_ensemble) == 0)


@BOTH
def test_a_listener(front, recipe, open_session, zk_path, witness, told):
    """In a `with` block, with listeners, as every recipe that goes on in the background."""
    session = open_session()
    watch = recipe(session, zk_path)
    watch.add_listener(told.append)
    front.call(lambda: watch.start())
    eventually(lambda: told == [watch._nothing])
    witness.create(f"{zk_path}/a", makepath=True)
    eventually(lambda: len(told) > 1)
    front.call(lambda: watch.close())
    with pytest.raises(AlreadyStarted):
        front.call(lambda: watch.start())


@pytest.mark.front("threads", "gevent")
def test_a_loop(front, open_session, zk_path, witness, zk_ensemble):
    """`for` gives what is there, and then each change; what is told once is not told again. When
    the loop is left no watch is."""
    session = open_session()
    writes = iter([lambda: witness.create(zk_path, b"1"), lambda: witness.set(zk_path, b"2")])

    def loop() -> list[Any]:
        seen = []
        for data, stat in DataWatch(session, zk_path):
            assert (data is None) is (stat is None)
            seen.append(data)
            if data == b"2":
                break
            next(writes)()
        return seen

    assert front.call(loop) == [None, b"1", b"2"]
    eventually(lambda: watches(zk_ensemble) == 0)
    with pytest.raises(WrongWith, match="write `for`"):
        DataWatch(session, zk_path).__aiter__()


@pytest.mark.front("asyncio")
def test_a_loop_that_is_awaited(front, open_session, zk_path, witness, when, zk_ensemble):
    """The same by `async for`; a cancelled task leaves no watch."""
    session = open_session()
    seen: list[Any] = []

    async def loop() -> None:
        async for children in ChildrenWatch(session, zk_path):
            seen.append(children)

    async def begun() -> asyncio.Task[None]:
        return asyncio.create_task(loop())

    task = front.call(begun)
    eventually(lambda: seen == [()])
    witness.create(f"{zk_path}/a", makepath=True)
    eventually(lambda: seen[-1:] == [("a",)])
    front.loop.call_soon_threadsafe(task.cancel)
    eventually(lambda: task.cancelled() and watches(zk_ensemble) == 0)
    with pytest.raises(WrongWith, match="async for"):
        iter(ChildrenWatch(session, zk_path))


@BOTH
def test_one_function_for_each_watch(front, recipe, open_session, zk_path):
    """A second one is refused; what counts is that it can be called, not that it is true."""

    class Falsy:
        calls = 0

        def __bool__(self) -> bool:
            return False

        def __call__(self, *given: Any) -> None:
            self.calls += 1

    session, falsy = open_session(), Falsy()
    watch = front.call(lambda: recipe(session, zk_path)(falsy))
    eventually(lambda: falsy.calls == 1)
    with pytest.raises(AlreadyStarted, match="has a function already"):
        watch(falsy)


@BOTH
def test_the_session_is_closed(front, recipe, open_session, zk_path, zk_ensemble, told, caplog):
    """That is the end of it: no watch, no call, nothing in the log."""
    session = open_session()
    watch = recipe(session, zk_path)
    with caplog.at_level(logging.ERROR, "zkkit"):
        front.call(lambda: watch(lambda *given: told.append(given)))
        eventually(lambda: len(told) == 1)
        front.close(session)
        eventually(lambda: watches(zk_ensemble) == 0)
        front.call(lambda: watch.stop())
    assert len(told) == 1
    assert caplog.text == ""


@pytest.mark.slow
@pytest.mark.front("threads")
@pytest.mark.defect("K-7")
def test_a_killed_server(front, open_session, zk_ensemble, zk_path, witness, told):
    """The leader is killed, and another server takes over: all changes are heard of."""
    session = open_session(timeout=20.0)
    watch = DataWatch(session, zk_path)(lambda data, stat: told.append(data))
    told_at_last(told, None)
    leader = zk_ensemble.leader()
    zk_ensemble.kill(leader)
    witness.retry(witness.create, zk_path, b"1")
    eventually(lambda: told == [None, b"1"], 20)
    zk_ensemble.restart(leader)
    watch.stop()


@pytest.mark.front("threads")
def test_a_function_of_the_wrong_kind(front, open_session, zk_path):
    session = open_session()
    with pytest.raises(ValueError, match="must take 2 arguments, or 3 with the event"):
        DataWatch(session, zk_path)(lambda data: None)
    with pytest.raises(ValueError, match="must take 1 arguments"):
        ChildrenWatch(session, zk_path)(lambda: None)
    with pytest.raises(ValueError, match="must be something that can be called"):
        DataWatch(session, zk_path)(None)
    assert session.standing() == []


def test_a_flight_for_each_look(front, open_session, zk_path, zk_proxy, witness, told):
    """One flight at the start, and one for each fire."""
    from zkkit.record import Recorder

    session, recorder = open_session(zk_proxy.hosts), Recorder()
    session.hooks.add(recorder)
    front.call(lambda: DataWatch(session, zk_path)(lambda *given: told.append(given)))
    for count, write in enumerate(
        (None, lambda: witness.create(zk_path), lambda: witness.set(zk_path, b"1")), 1
    ):
        if write is not None:
            write()
        eventually(lambda: len(told) == count)  # noqa: B023
        flights = {e.t_ns - e.duration for hook, e in recorder if hook == "step"}
        assert len(flights) == count
