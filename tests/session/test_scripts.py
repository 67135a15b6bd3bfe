"""How a session runs scripts: steps, flights, deadlines, user code, other actors."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import zkkit
from zkkit.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidPath,
    NodeExists,
    NoNode,
    NotASession,
    NotAStep,
    TimedOut,
    ZkkitError,
)
from zkkit.steps import (
    Actor,
    Call,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Get,
    Guid,
    Mode,
    Multi,
    Node,
    Notify,
    Now,
    Random,
    Recall,
    Remember,
    Script,
    SessionId,
    Set,
    Spawn,
    Stop,
    Sync,
    Together,
    Wait,
    Within,
)
from zkkit.testing import Proxy, eventually

# --- steps of the impure world ----------------------------------------------------------


def test_instant_steps(session: zkkit.Session) -> None:
    """Guid, clock, dice, session id, actor and table are steps like any other."""

    def script() -> Script[dict[str, Any]]:
        yield from Remember("key", 7)
        found = {
            "guids": ((yield from Guid()), (yield from Guid())),
            "times": ((yield from Now()), (yield from Now())),
            "random": (yield from Random()),
            "session": (yield from SessionId()),
            "actor": (yield from Actor()),
            "noted": (yield from Recall("key")),
        }
        yield from Remember("key", None)
        found["forgotten"] = yield from Recall("key")
        return found

    found = session.run(script())
    guids = [uuid.UUID(guid) for guid in found["guids"]]
    assert [(str(each), each.version, each.variant) for each in guids] == [
        (guid, 4, uuid.RFC_4122) for guid in found["guids"]
    ]
    assert guids[0] != guids[1]
    assert found["times"][0] <= found["times"][1]
    assert 0 <= found["random"] < 1
    assert found["session"] == session.session_id
    assert found["actor"] is threading.current_thread()
    assert (found["noted"], found["forgotten"]) == (7, None)


def test_table_outlives_the_script(session: zkkit.Session, other: zkkit.Session) -> None:
    """What one script notes another one of the same session finds; no other session does."""
    session.run(Remember("a key", "a value"))
    assert session.run(Recall("a key")) == "a value"
    assert other.run(Recall("a key")) is None


def test_actor_is_the_calling_thread(session: zkkit.Session, beside: Any) -> None:
    """The actor is the thread object that called, wherever the script advances."""
    actor, caller = beside(lambda: (session.run(Actor()), threading.current_thread())).result(5)
    assert actor is caller


def test_a_single_step_can_be_run(session: zkkit.Session, zk_path: str) -> None:
    """`run` takes a step as well as a script."""
    assert session.run(Create(zk_path)).path == zk_path
    session.run(Sync("/"))
    assert session.run(Children(zk_path)) == ()


def test_scripts_compose(session: zkkit.Session, zk_path: str) -> None:
    """`yield from` another script gives its result, and its errors."""

    def inner(path: str) -> Script[bytes]:
        return (yield from Get(path)).data

    def outer() -> Script[tuple[bytes, str]]:
        yield from Create(zk_path, b"x")
        data = yield from inner(zk_path)
        try:
            yield from inner(f"{zk_path}/none")
        except NoNode as error:
            return data, str(error.path)
        return data, ""

    assert session.run(outer()) == (b"x", f"{zk_path}/none")


def test_an_error_of_the_script_reaches_the_caller(session: zkkit.Session) -> None:
    """What a script raises by itself comes out of `run` as it is."""

    def script() -> Script[None]:
        yield from Guid()
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        session.run(script())


# --- misuse -------------------------------------------------------------------------------------


def test_no_step_is_named_with_its_script_and_line(session: zkkit.Session) -> None:
    """Who yields something else is told which script did it, and where."""

    def careless() -> Script[None]:
        yield from Guid()
        yield "no step"  # type: ignore[misc]

    line = careless.__code__.co_firstlineno + 2
    with pytest.raises(NotAStep) as caught:
        session.run(careless())
    assert "careless" in str(caught.value)
    assert f"test_scripts.py:{line}" in str(caught.value)
    assert "'no step'" in str(caught.value)


def test_yielding_a_script_is_told_apart(session: zkkit.Session) -> None:
    """The common slip, `yield script()` for `yield from script()`, is answered with the remedy."""

    def inner() -> Script[None]:
        yield from Guid()

    def outer() -> Script[None]:
        yield inner()  # type: ignore[misc]

    with pytest.raises(NotAStep, match="yield from"):
        session.run(outer())


def test_a_script_that_has_run_is_not_run_again(session: zkkit.Session) -> None:
    """It would give None, as though all had been done: in a run of its own, in the background, and
    inside of another script."""

    def inner() -> Script[str]:
        return (yield from Guid())

    used = inner()
    assert session.run(used)
    for again in (
        lambda: session.run(used),
        lambda: session.spawn(used),
        lambda: session.run(Within(1.0, used)),
        lambda: session.run(Spawn(used, "again")),
    ):
        with pytest.raises(NotAStep, match=r"inner.* has begun already"):
            again()
    assert session.state == "connected" and session.exists("/")
    eventually(lambda: not session.standing())


def test_a_script_can_survive_its_slip(session: zkkit.Session) -> None:
    """The error is thrown where the yield stands, so the script may catch it."""

    def script() -> Script[str]:
        try:
            yield None  # type: ignore[misc]
        except NotAStep:
            return (yield from Guid())
        return ""

    assert len(session.run(script())) == 36


@pytest.mark.parametrize("body", [None, 42, "script", [], lambda: None, print])
def test_what_is_no_script(session: zkkit.Session, body: Any) -> None:
    """Neither `run` nor `spawn` takes what is no script, and both say what a script is."""
    with pytest.raises(NotAStep, match="generator"):
        session.run(body)
    with pytest.raises(NotAStep, match="generator"):
        session.spawn(body)


@pytest.mark.parametrize(
    "step",
    [
        Get("relative"),
        Create("/a//b"),
        Delete("/a/"),
        Multi((Set("/a", b""), Delete("../b"))),
        Together(Get("/zookeeper"), Children("")),
    ],
)
def test_invalid_path_is_thrown_into_the_script(session: zkkit.Session, step: Any) -> None:
    """The script learns of it where it yields, and can go on."""

    def script() -> Script[InvalidPath | None]:
        try:
            yield step
        except InvalidPath as error:
            yield from Sync("/")
            return error
        return None

    assert isinstance(session.run(script(), timeout=5.0), InvalidPath)


@pytest.mark.parametrize(
    "step",
    [
        Create("/never", acl=(1,)),  # type: ignore[arg-type]
        Set("/never", b"", "1"),  # type: ignore[arg-type]
        Together(Sync("/"), Create("/never", acl=(1,))),  # type: ignore[arg-type]
        Within(1.0, 42),  # type: ignore[arg-type]
        Stop(None),  # type: ignore[arg-type]
        Recall([]),  # type: ignore[arg-type]
        Remember([], 1),  # type: ignore[arg-type]
        Spawn(None),  # type: ignore[arg-type]
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_malformed_step_is_thrown_into_the_script(session: zkkit.Session, step: Any) -> None:
    """A step that cannot be taken is an error in the script, where it can clean up."""

    def script() -> Script[str]:
        try:
            yield step
        except Exception as error:
            yield from Sync("/")
            return type(error).__name__
        return "nothing"

    assert session.run(script(), timeout=2.0) != "nothing"
    assert session.run(Sync("/"), timeout=2.0) is None


def test_a_malformed_step_after_a_reply(session: zkkit.Session) -> None:
    """Also where a reply, not the caller, has advanced the script: the connection lives on."""

    def script() -> Script[None]:
        yield from Sync("/")
        yield from Create("/never", acl=(1,))  # type: ignore[arg-type]

    before = session.session_id
    with pytest.raises(ValueError, match="acl must be a list of Acl"):
        session.run(script(), timeout=2.0)
    assert session.exists("/") is not None
    assert session.session_id == before


def test_only_requests_fly(session: zkkit.Session) -> None:
    """A flight has room for requests only."""
    with pytest.raises(NotAStep, match="requests"):
        session.run(Together(Sync("/"), Guid()))  # type: ignore[arg-type]


# --- flights ----------------------------------------------------------------------------------


def test_together_in_order(session: zkkit.Session, zk_path: str) -> None:
    """Results stand in the order of the requests, which is the order they are applied in."""
    made, names, data, gone, left = session.run(
        Together(
            Create(zk_path, b"x"),
            Children(zk_path),
            Get(zk_path),
            Delete(zk_path),
            Exists(zk_path),
        )
    )
    assert isinstance(made, Node)
    assert names == ()
    assert isinstance(data, Data)
    assert data.data == b"x"
    assert gone is None
    assert left is None


def test_together_raises_the_first_error(session: zkkit.Session, zk_path: str) -> None:
    """All are sent, whatever happens to one; the first error in order is raised."""

    def script() -> Script[None]:
        yield from Together(
            Create(zk_path),
            Get(f"{zk_path}/none"),
            Create(zk_path),
            Create(f"{zk_path}/after"),
        )

    with pytest.raises(NoNode) as caught:
        session.run(script())
    assert caught.value.path == f"{zk_path}/none"
    assert session.children(zk_path) == ("after",)


def test_together_settled(session: zkkit.Session, zk_path: str) -> None:
    """With settle=True errors stand as values among the results."""
    outcomes = session.run(
        Together(Create(zk_path), Create(zk_path), Get(f"{zk_path}/none"), settle=True)
    )
    assert isinstance(outcomes[0], Node)
    assert outcomes[1:] == (NodeExists(zk_path), NoNode(f"{zk_path}/none"))


@pytest.mark.parametrize("settle", [False, True])
def test_empty_flight(session: zkkit.Session, settle: bool) -> None:
    """A flight of nothing gives nothing."""
    assert session.run(Together(settle=settle)) == ()


def test_failed_multi_in_a_flight(session: zkkit.Session, zk_path: str) -> None:
    """A refused multi is an error among the others."""
    failed, stat = session.run(Together(Multi((Delete(zk_path),)), Exists("/"), settle=True))
    assert isinstance(failed, ZkkitError)
    assert stat is not None


# --- deadlines --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["main", "beside"])
def test_deadline(session: zkkit.Session, beside: Any, where: str) -> None:
    """A passed deadline is kept, and said."""

    def late() -> float:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"0\.3 s"):
            session.run(Wait(), timeout=0.3)
        return time.monotonic() - began

    took = late() if where == "main" else beside(late).result(5.0)
    assert 0.29 < took < 0.3 + 1


def test_deadline_of_zero(session: zkkit.Session) -> None:
    """No time at all is a deadline like any other."""
    with pytest.raises(DeadlineExceeded):
        session.run(Wait(), timeout=0)


@pytest.mark.concurrent
@pytest.mark.parametrize("where", ["main", "beside"])
def test_what_is_known_is_told_with_no_time_at_all(
    session: zkkit.Session, beside: Any, where: str
) -> None:
    """A script that asks no server gives its result, from whichever thread it is called: so what a
    session knows can be polled. One that waits is not waited for."""

    def poll() -> None:
        for _ in range(50):
            assert session.run(Guid(), timeout=0)
            with pytest.raises(DeadlineExceeded):
                session.run(Wait(), timeout=0)

    poll() if where == "main" else beside(poll).result(20.0)


@pytest.mark.parametrize("timeout", [-1, -0.5, "1"])
def test_impossible_deadlines(session: zkkit.Session, beside: Any, timeout: Any) -> None:
    """A negative time or no number is refused, as `acquire` does it, and does not wait for ever."""
    with pytest.raises((ValueError, TypeError)) as caught:
        beside(session.run, Wait(), timeout=timeout).result(2.0)
    assert "timeout" in str(caught.value)


def test_deadline_cancels_and_the_script_cleans_up(session: zkkit.Session, zk_path: str) -> None:
    """The caller has left, and what the script does then still gets done."""

    def script() -> Script[None]:
        yield from Create(zk_path)
        try:
            yield from Wait()
        except Cancelled:
            yield from Delete(zk_path)
            raise

    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.2)
    eventually(lambda: session.exists(zk_path) is None)


def test_a_result_during_the_grace_is_given(session: zkkit.Session) -> None:
    """A script that swallows its cancel and ends at once has a result: the caller gets it."""

    def script() -> Script[str]:
        try:
            yield from Wait()
        except Cancelled:
            pass
        return "just in time"

    assert session.run(script(), timeout=0.3) == "just in time"


def test_no_deadline_in_time(session: zkkit.Session, zk_path: str) -> None:
    """Who is done in time gets the result."""
    assert session.run(Create(zk_path), timeout=5.0).path == zk_path


# --- Within -----------------------------------------------------------------------------------


def test_within_in_time(session: zkkit.Session, zk_path: str) -> None:
    """A body that is done in time gives its result, be it a script or a step; its timer is off."""

    def body() -> Script[str]:
        return (yield from Create(zk_path)).path

    def script() -> Script[tuple[str, Data]]:
        path = yield from Within(0.3, body())
        data = yield from Within(0.3, Get(zk_path))
        try:
            yield from Within(0.6, Wait())
        except TimedOut as late:
            assert "0.6" in str(late)
        return path, data

    assert session.run(script(), timeout=5.0) == (zk_path, session.get(zk_path))


def test_within_times_out(session: zkkit.Session) -> None:
    """TimedOut is an ordinary error of the script, which may go on."""

    def script() -> Script[str]:
        try:
            yield from Within(0.1, Wait())
        except TimedOut:
            return (yield from Guid())
        return ""

    assert len(session.run(script(), timeout=5.0)) == 36


def test_timed_out_reaches_the_caller(session: zkkit.Session) -> None:
    """A TimedOut nobody catches comes out of `run`; it is not the caller's own deadline."""
    with pytest.raises(TimedOut) as caught:
        session.run(Within(0.1, Wait()), timeout=5.0)
    assert not isinstance(caught.value, TimeoutError)


def test_within_body_cleans_up(session: zkkit.Session, zk_path: str) -> None:
    """The error is thrown where the body stands; its clean-up is done before it comes out."""

    def body() -> Script[None]:
        yield from Create(zk_path)
        try:
            yield from Wait()
        finally:
            yield from Delete(zk_path)

    def script() -> Script[object]:
        try:
            yield from Within(0.1, body())
        except TimedOut:
            return (yield from Exists(zk_path))
        return "not late"

    assert session.run(script(), timeout=5.0) is None


def test_within_passes_errors_on(session: zkkit.Session, zk_path: str) -> None:
    """An error of the body is an error of the Within."""
    with pytest.raises(NoNode):
        session.run(Within(5.0, Get(zk_path)))


def test_nested_within_inner_first(session: zkkit.Session) -> None:
    """The inner time is over first: the outer body goes on."""

    def body() -> Script[str]:
        try:
            yield from Within(0.1, Wait())
        except TimedOut:
            return "inner"
        return "none"

    assert session.run(Within(2.0, body()), timeout=5.0) == "inner"


def test_nested_within_outer_first(session: zkkit.Session, zk_path: str) -> None:
    """The outer time is over first: the inner body is unwound, and the outer one raises."""
    seen: list[str] = []

    def inner() -> Script[None]:
        try:
            yield from Wait()
        finally:
            yield from Exists(zk_path)
            seen.append("inner cleaned up")

    def outer() -> Script[None]:
        try:
            yield from Within(30.0, inner())
        finally:
            yield from Exists(zk_path)
            seen.append("outer cleaned up")

    def script() -> Script[str]:
        try:
            yield from Within(0.2, outer())
        except TimedOut as late:
            return str(late)
        return "not late"

    assert "0.2" in session.run(script(), timeout=5.0)
    assert seen == ["inner cleaned up", "outer cleaned up"]


def test_outer_deadline_is_not_taken_for_the_inner_one(session: zkkit.Session) -> None:
    """A body that bears its own short deadlines cannot outlive the one around it."""
    from zkkit.recipes.shared import pause

    def patient() -> Script[None]:
        while True:
            yield from pause(30.0)  # takes a TimedOut for the end of its pause

    with pytest.raises(TimedOut):
        session.run(Within(0.2, patient()), timeout=2.0)


def test_outer_deadline_holds_among_many_inner_ones(session: zkkit.Session) -> None:
    """The same with deadlines that do pass: the outer one ends it."""

    def busy() -> Script[None]:
        while True:
            try:
                yield from Within(0.05, Wait())
            except TimedOut:
                continue

    began = time.monotonic()
    with pytest.raises(TimedOut):
        session.run(Within(0.4, busy()), timeout=3.0)
    assert time.monotonic() - began < 1.5


def test_cancel_goes_through_within(session: zkkit.Session, zk_path: str) -> None:
    """Cancelled is thrown into the innermost body and unwinds all."""
    seen: list[str] = []

    def body() -> Script[None]:
        try:
            yield from Wait()
        except Cancelled:
            seen.append("body")
            raise

    def script() -> Script[None]:
        try:
            yield from Within(30.0, body())
        except Cancelled:
            seen.append("script")
            raise

    with pytest.raises(DeadlineExceeded):
        session.run(script(), timeout=0.2)
    eventually(lambda: seen == ["body", "script"])


# --- user code ----------------------------------------------------------------------------------


def test_call_runs_on_the_callback_thread(session: zkkit.Session) -> None:
    """User code runs neither on the caller's nor on the connection's thread, always on one."""

    def script() -> Script[list[threading.Thread]]:
        first = yield from Call(threading.current_thread)
        yield from Sync("/")
        return [first, (yield from Call(threading.current_thread))]

    first, second = session.run(script())
    assert first is second
    assert first is not threading.current_thread()
    assert first.name == "zkkit-callbacks"


def test_call_gives_arguments_and_result(session: zkkit.Session) -> None:
    """Arguments go in, the result comes back."""
    assert session.run(Call(divmod, 17, 5)) == (3, 2)


def test_call_error_comes_into_the_script(session: zkkit.Session) -> None:
    """What user code raises, the script may catch."""

    def script() -> Script[str]:
        try:
            yield from Call(int, "x")
        except ValueError as error:
            yield from Sync("/")
            return str(error)
        return ""

    assert "'x'" in session.run(script(), timeout=5.0)


@pytest.mark.parametrize("strange", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_call_that_raises_a_base_exception(
    session: zkkit.Session, strange: type[BaseException]
) -> None:
    """Even that comes into the script, and the callbacks of others go on."""

    def exit() -> None:
        raise strange

    with pytest.raises(strange):
        session.run(Call(exit), timeout=2.0)
    assert session.run(Call(len, "abc"), timeout=2.0) == 3


@pytest.mark.parametrize("strange", [SystemExit, asyncio.CancelledError])
def test_notify_that_raises_a_base_exception(
    session: zkkit.Session, caplog: pytest.LogCaptureFixture, strange: type[BaseException]
) -> None:
    """It is logged as what it is, the user's, and nobody is told."""

    def exit() -> None:
        raise strange

    session.run(Notify(exit))
    assert session.run(Call(len, "abc"), timeout=2.0) == 3
    assert "user code of" in caplog.text


def test_call_may_use_the_session(session: zkkit.Session, zk_path: str) -> None:
    """A callback may make blocking calls: it is on a thread of its own."""
    session.create(zk_path, b"x")
    assert session.run(Call(session.get, zk_path), timeout=5.0).data == b"x"


def test_late_call_is_dropped(session: zkkit.Session) -> None:
    """A call that comes back after its deadline resumes nobody."""
    release = threading.Event()

    def script() -> Script[str]:
        try:
            yield from Within(0.1, Call(release.wait, 5.0))
        except TimedOut:
            release.set()
            return (yield from Call(str, "next"))
        return "in time"

    assert session.run(script(), timeout=5.0) == "next"


# --- in the background --------------------------------------------------------------------------


def test_background_success(session: zkkit.Session, zk_path: str) -> None:
    """The callback gets step and result, on the callback thread."""
    outcomes: queue.Queue[Any] = queue.Queue()
    step = Create(zk_path, b"x")
    session.background(step, lambda outcome: outcomes.put((outcome, threading.current_thread())))
    outcome, thread = outcomes.get(timeout=5.0)
    assert outcome.step is step
    assert outcome.result.path == zk_path
    assert outcome.error is None
    assert thread is not threading.current_thread()


@pytest.mark.parametrize(
    ("step", "error"), [(Get("/none-such"), NoNode), (Get("relative"), InvalidPath)]
)
def test_background_error(session: zkkit.Session, step: Any, error: type[ZkkitError]) -> None:
    """An error is a value in the outcome."""
    outcomes: queue.Queue[Any] = queue.Queue()
    session.background(step, outcomes.put)
    outcome = outcomes.get(timeout=5.0)
    assert outcome.result is None
    assert isinstance(outcome.error, error)


def test_background_callbacks_come_in_order(session: zkkit.Session, zk_path: str) -> None:
    """Replies come in the order of the requests, and so do the callbacks."""
    outcomes: queue.Queue[Any] = queue.Queue()
    session.create(zk_path)
    for number in range(50):
        session.background(Set(zk_path, str(number).encode()), outcomes.put)
    versions = [outcomes.get(timeout=5.0).result.version for _ in range(50)]
    assert versions == list(range(1, 51))


def test_a_broken_callback_breaks_nothing(
    session: zkkit.Session, caplog: pytest.LogCaptureFixture
) -> None:
    """What a callback raises is logged; the next one is called."""
    outcomes: queue.Queue[Any] = queue.Queue()

    def broken(outcome: object) -> None:
        raise LookupError("broken callback")

    session.background(Sync("/"), broken)
    session.background(Sync("/"), outcomes.put)
    assert outcomes.get(timeout=5.0).error is None
    assert "broken callback" in caplog.text


@pytest.mark.parametrize("strange", [asyncio.CancelledError, GeneratorExit, SystemExit])
def test_a_callback_that_raises_no_exception_does_not_silence_on_lost(
    open_session: Any, zk_path: str, strange: type[BaseException]
) -> None:
    """Whatever a callback raises ends that callback only: the next one is still told."""
    told: list[str] = []

    def broken() -> None:
        told.append("first")
        raise strange

    session = open_session()
    hold = zkkit.ReentrantLock(session, zk_path).acquire()
    hold.on_lost(broken)
    hold.on_lost(lambda: told.append("second"))
    session.close()
    assert told == ["first", "second"]


@pytest.mark.parametrize("hook", ["step", "session_changed"])
def test_a_hook_that_raises_no_exception_does_not_close_the_session(
    through: zkkit.Session, zk_proxy: Proxy, hook: str
) -> None:
    """It is switched off, also if it struck on the thread that keeps the connection."""
    struck = threading.Event()

    def broken(event: object) -> None:
        struck.set()
        raise asyncio.CancelledError

    through.hooks.add(SimpleNamespace(**{hook: broken}))
    through.exists("/")
    zk_proxy.drop()
    assert struck.wait(5.0)
    eventually(lambda: through.state == "connected")
    struck.clear()
    assert through.exists("/") is not None
    assert not struck.is_set()


def test_spawn_and_stop(session: zkkit.Session, zk_path: str) -> None:
    """A spawned script runs until it is stopped, and Stop waits for its clean-up."""

    def script() -> Script[None]:
        yield from Create(zk_path)
        try:
            while True:
                yield from Wait()
        finally:
            yield from Delete(zk_path)

    spawned = session.spawn(script(), name="a test")
    eventually(lambda: session.exists(zk_path))
    session.run(Stop(spawned), timeout=5.0)
    assert session.exists(zk_path) is None
    assert session.run(Stop(spawned), timeout=5.0) is None


def test_spawn_from_a_script(session: zkkit.Session, zk_path: str) -> None:
    """A script may start and stop another."""

    def child() -> Script[None]:
        yield from Create(zk_path)
        try:
            yield from Wait()
        finally:
            yield from Set(zk_path, b"stopped")

    def parent() -> Script[bytes]:
        spawned = yield from Spawn(child(), name="child")
        while (yield from Exists(zk_path)) is None:
            pass
        yield from Stop(spawned)
        return (yield from Get(zk_path)).data

    assert session.run(parent(), timeout=5.0) == b"stopped"


def test_failed_spawn_is_logged(session: zkkit.Session, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for a background script, so its error goes to the log, with its name."""

    def script() -> Script[None]:
        yield from Sync("/")
        raise LookupError("nobody hears me")

    session.spawn(script(), name="the failing one")
    eventually(lambda: "nobody hears me" in caplog.text)
    assert "the failing one" in caplog.text


def test_many_scripts_need_no_thread(session: zkkit.Session, zk_path: str) -> None:
    """Fifty background scripts are fifty generators, not fifty threads."""
    session.create(zk_path)

    def script() -> Script[None]:
        yield from Get(zk_path, watch=True)
        yield from Wait()

    session.run(Sync("/"))
    before = threading.active_count()
    spawned = [session.spawn(script()) for _ in range(50)]
    assert threading.active_count() == before
    for each in spawned:
        session.run(Stop(each), timeout=5.0)


@pytest.mark.concurrent
def test_code_between_yields_is_atomic(session: zkkit.Session, beside: Any) -> None:
    """One script at a time: a read and a write of the table cannot be torn apart."""

    def count(times: int) -> Script[None]:
        for _ in range(times):
            number = (yield from Recall("count")) or 0
            yield from Remember("count", number + 1)
            yield from Exists("/")

    futures = [beside(session.run, count(30)) for _ in range(8)]
    for future in futures:
        future.result(20.0)
    assert session.run(Recall("count")) == 240


@pytest.mark.concurrent
def test_many_threads_share_a_session(session: zkkit.Session, zk_path: str, beside: Any) -> None:
    """Each caller gets the reply to its own request."""
    session.create(zk_path)

    def work(number: int) -> list[str]:
        paths = [f"{zk_path}/{number}-{each}" for each in range(20)]
        return [session.create(path, mode=Mode.EPHEMERAL).path for path in paths]

    futures: list[tuple[int, Callable[..., Any]]] = [
        (number, beside(work, number).result) for number in range(8)
    ]
    for number, result in futures:
        assert result(20.0) == [f"{zk_path}/{number}-{each}" for each in range(20)]


def test_background_scripts_of_one_name_are_two_actors(
    session: zkkit.Session, zk_path: str
) -> None:
    """Whoever holds a lock is told apart by more than a name."""
    lock = zkkit.ReentrantLock(session, zk_path)
    holds: list[Any] = []

    def acquire() -> Script[None]:
        holds.append((yield from lock.acquire.of()))

    spawned = [session.spawn(acquire()) for _ in range(2)]
    eventually(lambda: (stat := session.exists(zk_path)) and stat.children == 2)
    assert len(holds) == 1
    for each in spawned:
        session.run(Stop(each))


def test_an_exception_before_a_script_has_begun(
    session: zkkit.Session, beside: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that is struck before its script was started gets what struck it; a start that
    comes later starts nothing."""
    runs: list[Any] = []

    def struck(run: Any) -> None:
        runs.append(run)
        raise KeyboardInterrupt

    began: list[str] = []

    def script() -> Script[None]:
        began.append("yes")
        yield from Sync("/")

    with monkeypatch.context() as patch:
        patch.setattr(session._runner, "start", struck)
        assert isinstance(beside(session.run, script()).exception(5.0), KeyboardInterrupt)
    session._runner.start(runs[0])
    assert session.exists("/") is not None
    assert not began


@pytest.mark.parametrize("given", ["127.0.0.1:2181", None, object()])
def test_something_else_where_a_session_belongs(given: Any) -> None:
    """A recipe says so when it is made, and how to open one."""
    for recipe in (zkkit.ReentrantLock, zkkit.Lock, zkkit.ReadWriteLock, zkkit.HerdLock):
        with pytest.raises(NotASession, match=r"is no session\n.*with zkkit\.connect"):
            recipe(given, "/x")
