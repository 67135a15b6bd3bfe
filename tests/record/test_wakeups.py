"""A wakeup is useful if it got its run what it waited for: for a barrier as for a lock, on every
front, for every run, and the same when it is counted over a file."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import zkkit
from zkkit import aio
from zkkit.errors import NodeExists, NoNode, SessionLost, ZkkitError
from zkkit.hooks import Event, Hooks
from zkkit.record import Recorder, Row, read_jsonl, read_parquet, tap
from zkkit.record.counts import useful_wakeups, wakeups
from zkkit.scripting import Recipe, S, script
from zkkit.session.emit import Reporter
from zkkit.steps import Call, Create, Delete, Get, Mark, Script, Set, Spawn, Stop, Wait
from zkkit.testing import eventually, expire_session, when


class Gate(Recipe[S]):
    """The smallest barrier: while its node is there, everybody waits."""

    @script
    def close(self) -> Script[None]:
        yield from Create(self.path)

    @script
    def open(self) -> Script[None]:
        yield from Delete(self.path)

    @script
    def wait(self) -> Script[bool]:
        return (yield from passing(self.path))


def passing(path: str) -> Script[bool]:
    while True:
        try:
            yield from Get(path, watch=True)
            yield from Wait()
        except NoNode:
            return True


def by_the_old_definition(rows: Iterable[Row]) -> list[Event]:
    """The twin: a wakeup is useful if the same actor acquires before it is woken again."""
    latest: dict[tuple[int, str], Event] = {}
    useful = []
    for hook, event in rows:
        if hook == "woke":
            latest[event.session, event.actor] = event
        elif hook == "acquired" and (woke := latest.pop((event.session, event.actor), None)):
            useful.append(woke)
    return useful


def outcomes(rows: Iterable[Row]) -> Counter[str]:
    return Counter(wakeup.outcome for wakeup in wakeups(rows))


def begin(job: Callable[[], Any]) -> threading.Thread:
    def quietly() -> None:
        try:
            job()
        except ZkkitError:
            pass

    thread = threading.Thread(target=quietly)
    thread.start()
    return thread


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def session(zk_hosts: str, recorder: Recorder) -> Any:
    """A session under the recorder. When it is over, something has come of every wakeup."""
    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(recorder)
        yield session
    assert recorder.count("wakeup_ended") == recorder.count("woke")
    assert session._runner._report._awake == {}


def test_a_barrier_wakes_nobody_for_nothing(
    session: zkkit.Session, recorder: Recorder, zk_path: str, tmp_path: Path
) -> None:
    """Three wait and pass. The old definition, by which only a grant is worth waking for, fails."""
    gate = Gate(session, zk_path)
    gate.close()
    threads = [begin(gate.wait) for _ in range(3)]
    eventually(lambda: recorder.count("watch_set") == 3)
    gate.open()
    for thread in threads:
        thread.join(20)
    assert outcomes(recorder) == {"useful": 3}
    assert by_the_old_definition(recorder) == []
    recorder.to_jsonl(tmp_path / "rows")
    recorder.to_parquet(tmp_path / "table")
    for rows in (read_jsonl(tmp_path / "rows"), read_parquet(tmp_path / "table")):
        assert wakeups(rows) == wakeups(recorder)
    for wakeup in wakeups(recorder):
        assert wakeup.recipe == "Gate"
        assert wakeup.waited_ns > 0
        assert wakeup.ended_ns is not None and wakeup.ended_ns >= wakeup.t_ns


def test_who_waits_again_was_woken_for_nothing(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """The node changes and stays: everybody looks, and waits again."""
    gate = Gate(session, zk_path)
    gate.close()
    thread = begin(gate.wait)
    eventually(lambda: recorder.count("watch_set") == 1)
    for number in range(2):
        session.set(zk_path, b"still here")
        eventually(lambda number=number: recorder.count("wakeup_ended") == number + 1)
    gate.open()
    thread.join(20)
    assert [wakeup.outcome for wakeup in wakeups(recorder)] == ["again", "again", "useful"]


def test_an_error_is_not_what_it_waited_for(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """A run that is woken and fails, and then another one of the same thread that acquires at
    once: the old definition took that for the merit of the wakeup."""

    def failing() -> Script[None]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Wait()
        yield from Create(zk_path)

    def both() -> None:
        with pytest.raises(NodeExists):
            session.run(failing())
        zkkit.ReentrantLock(session, f"{zk_path}-lock").acquire()

    thread = begin(both)
    eventually(lambda: recorder.count("watch_set") == 1)
    session.set(zk_path, b"changed")
    thread.join(20)
    assert outcomes(recorder) == {"failed": 1}
    assert len(by_the_old_definition(recorder)) == 1


def test_a_cancel_is_not_what_it_waited_for(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """Woken, and busy with user code when it is stopped."""
    entered, go_on = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        go_on.wait(20)

    def busy() -> Script[None]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Wait()
        yield from Call(block)

    spawned = session.spawn(busy())
    eventually(lambda: recorder.count("watch_set") == 1)
    session.set(zk_path, b"changed")
    assert entered.wait(20)
    session.run(Stop(spawned))
    go_on.set()
    assert outcomes(recorder) == {"failed": 1}


def test_each_run_in_the_background_has_its_own(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """Runs of one name, woken by one fire: one gains, one only looks, and both live on."""

    def watching(gains: bool) -> Script[None]:
        while True:
            seen = yield from Get(zk_path, watch=True)
            if gains:
                yield from Mark("value", zk_path, seen.stat.mzxid, seen.data.decode())
            yield from Wait()

    session.create(zk_path)
    for gains in (True, False, True):
        session.spawn(watching(gains), name="watcher")
    eventually(lambda: recorder.count("watch_set") == 3)
    session.set(zk_path, b"1")
    eventually(lambda: recorder.count("wakeup_ended") == 3)
    assert {wakeup.actor for wakeup in wakeups(recorder)} == {"watcher"}
    assert outcomes(recorder) == {"useful": 2, "again": 1}


def test_a_gain_counts_even_if_the_run_fails_later(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """The first thing that comes of a wakeup decides."""

    def taking() -> Script[None]:
        node = yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Wait()
        yield from Mark("taken", zk_path, node.stat.czxid)
        yield from Create(zk_path)

    thread = begin(lambda: session.run(taking()))
    eventually(lambda: recorder.count("watch_set") == 1)
    session.set(zk_path, b"")
    thread.join(20)
    assert outcomes(recorder) == {"useful": 1}


def test_a_lost_session_ends_a_wakeup(zk_hosts: str, zk_path: str) -> None:
    """The run lives on in the next session; what woke it belongs to the one that is lost."""
    recorder = Recorder()
    entered, go_on = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        go_on.wait(20)

    def outliving() -> Script[str]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        yield from Wait()
        try:
            yield from Call(block)
        except SessionLost:
            pass
        return "lives"

    with zkkit.connect(zk_hosts, timeout=6.0) as session, zkkit.connect(zk_hosts) as other:
        session.hooks.add(recorder)
        first = session.session_id
        thread = begin(lambda: session.run(outliving()))
        eventually(lambda: recorder.count("watch_set") == 1)
        other.set(zk_path, b"wake up")
        assert entered.wait(20)
        expire_session(zk_hosts, session)
        eventually(lambda: recorder.count("wakeup_ended") == 1)
        go_on.set()
        thread.join(20)
    assert [(w.session, w.outcome) for w in wakeups(recorder)] == [(first, "failed")]


def test_where_nobody_listens_nothing_is_done() -> None:
    """No event is built: the run and the fire are not even looked at."""
    report, nothing = Reporter(Hooks()), cast(Any, object())
    report.woke(nothing, nothing)
    report.wakeup_ended(nothing, "again")
    assert report._awake == {}


def test_who_listens_to_the_outcomes_only_hears_them(zk_hosts: str, zk_path: str) -> None:
    heard: list[Event] = []
    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(SimpleNamespace(wakeup_ended=heard.append))
        gate = Gate(session, zk_path)
        gate.close()
        waits = when(session, watch_set=1)
        thread = begin(gate.wait)
        waits.wait()
        gate.open()
        thread.join(20)
    assert [(event.kind, event.path, event.cause) for event in heard] == [
        ("useful", zk_path, zk_path)
    ]


def test_a_lock_has_one_useful_wakeup_for_each_who_waited(
    session: zkkit.Session, recorder: Recorder, zk_path: str
) -> None:
    """Where grants are marked, both definitions agree."""
    lock = zkkit.HerdLock(session, zk_path)
    lock.acquire()

    def once() -> None:
        with lock:
            time.sleep(0.02)

    threads = [begin(once) for _ in range(3)]
    eventually(lambda: recorder.count("watch_set") == 3)
    lock.release()
    for thread in threads:
        thread.join(20)
    assert len(useful_wakeups(recorder)) == len(by_the_old_definition(recorder)) == 3


def test_on_asyncio(zk_hosts: str, zk_path: str) -> None:
    recorder = Recorder()

    async def main() -> list[Any]:
        async with aio.connect(zk_hosts, timeout=6.0) as session:
            session.hooks.add(recorder)
            gate = Gate(session, zk_path)
            await gate.close()
            tasks = [asyncio.create_task(gate.wait()) for _ in range(3)]
            while recorder.count("watch_set") < 3:
                await asyncio.sleep(0.01)
            tasks[0].cancel()
            await asyncio.wait(tasks[:1])  # or the fire might come first
            await gate.open()
            return await asyncio.gather(*tasks, return_exceptions=True)

    assert asyncio.run(main())[1:] == [True, True]
    assert outcomes(recorder) == {"useful": 2}


ON_GEVENT = """
from gevent import monkey; monkey.patch_all()
import json, sys, gevent, zkkit
from collections import Counter
from zkkit.errors import NoNode
from zkkit.record import Recorder
from zkkit.record.counts import wakeups
from zkkit.steps import Get, Wait

hosts, path = sys.argv[1:]

def passing():
    while True:
        try:
            yield from Get(path, watch=True)
            yield from Wait()
        except NoNode:
            return True

with zkkit.connect(hosts, timeout=6.0, handler="gevent") as session:
    recorder = Recorder()
    session.hooks.add(recorder)
    session.create(path)
    waiting = [gevent.spawn(lambda: session.run(passing())) for _ in range(3)]
    while recorder.count("watch_set") < 3:
        gevent.sleep(0.01)
    session.set(path, b"look")
    while recorder.count("wakeup_ended") < 3:
        gevent.sleep(0.01)
    session.delete(path)
    gevent.joinall(waiting)
print(json.dumps(Counter(wakeup.outcome for wakeup in wakeups(recorder))))
"""


def test_on_gevent(zk_hosts: str, zk_path: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ON_GEVENT, zk_hosts, zk_path],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert json.loads(ran.stdout) == {"again": 3, "useful": 3}


def test_of_a_foreign_client_it_is_unknown(zk_hosts: str, zk_path: str) -> None:
    """A tap sees the fire and the watcher it calls, and not what the watcher waited for."""
    from kazoo.client import KazooClient

    recorder = Recorder()
    client = KazooClient(zk_hosts)
    tap(client).add(recorder)
    client.start()
    try:
        client.create(zk_path)
        client.get(zk_path, watch=lambda event: None)
        client.delete(zk_path)
        eventually(lambda: recorder.count("woke") == 1)
    finally:
        client.stop()
        client.close()
    assert outcomes(recorder) == {"unknown": 1}


class TestTheRecipeColumn:
    """Rows say which recipe they belong to."""

    def test_of_what_a_recipe_spawns(
        self, session: zkkit.Session, recorder: Recorder, zk_path: str
    ) -> None:
        class Spawner(Recipe[S]):
            @script
            def start(self) -> Script[None]:
                yield from Spawn(self._work(), f"work at {self.path}")

            def _work(self) -> Script[None]:
                yield from Create(self.path)
                yield from Set(self.path, b"done")

        Spawner(session, zk_path).start()
        eventually(lambda: recorder.count("step", kind="Set") == 1)
        assert {(e.actor, e.recipe) for hook, e in recorder if hook == "step"} == {
            (f"work at {zk_path}", "Spawner")
        }

    def test_of_a_bare_script_it_is_empty(
        self, session: zkkit.Session, recorder: Recorder, zk_path: str
    ) -> None:
        """Also of what it spawns: a name of an actor is no recipe."""

        def bare() -> Script[None]:
            yield from Spawn(iter(Create(zk_path)), f"creates {zk_path}")

        session.run(bare())
        session.spawn(iter(Create(f"{zk_path}-2")), name="another")
        eventually(lambda: recorder.count("node_created") == 2)
        assert {e.recipe for hook, e in recorder if hook == "step"} == {""}
        assert {e.actor for hook, e in recorder if hook == "step"} == {
            f"creates {zk_path}", "another",
        }  # fmt: skip
