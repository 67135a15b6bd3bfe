"""The peer itself: one clock, errors that say something, and no JVM that outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.processes import alive
from zkkit.bench.peers import curator_jars
from zkkit.bench.peers.curator import CuratorPeer, PeerFailed
from zkkit.bench.peers.curator_jars import (
    Curator,
    CuratorMissing,
    compiled,
    find_curator,
)
from zkkit.bench.peers.rounds import RoundsPlan, contend_all
from zkkit.ensemble.install import Java
from zkkit.errors import ZkkitError
from zkkit.testing import eventually

pytestmark = pytest.mark.interop


def test_java_reads_our_clock(java):
    """System.nanoTime() and time.monotonic_ns() are one clock: holds can be laid side by side."""
    actor = java()
    for _ in range(20):
        before = time.monotonic_ns()
        there = actor.clock_ns()
        assert before <= there <= time.monotonic_ns()


def test_contending_by_rounds_and_by_time(java, zk_path):
    """So many rounds, or until a time: four times each, in order, none asked for too late."""
    locks = [java().mutex(zk_path) for _ in range(2)]
    start = time.monotonic_ns()
    for rounds in contend_all(locks, RoundsPlan(start, rounds=3)):
        assert len(rounds) == 3
        assert [start] + [t for each in rounds for t in each] == sorted(
            [start] + [t for each in rounds for t in each]
        )
    until = time.monotonic_ns() + 200_000_000
    for rounds in contend_all(
        locks, RoundsPlan(time.monotonic_ns(), until_ns=until, hold_ns=1_000_000)
    ):
        assert rounds and all(each.asked_ns < until for each in rounds)
        assert all(each.released_ns - each.acquired_ns >= 1_000_000 for each in rounds)


def test_curators_exceptions_come_over(java, zk_path):
    """What Curator throws is raised here, in its words."""
    with pytest.raises(PeerFailed, match=f"do not own the lock: {zk_path}"):
        java().mutex(zk_path).release()
    with pytest.raises(PeerFailed, match="does not tell its participants"):
        java().semaphore_mutex(zk_path).participants()


def test_a_word_that_would_break_the_line_is_refused(java):
    with pytest.raises(ValueError, match="tab or line end"):
        java().mutex("/a\tb")


def test_servers_that_do_not_answer_are_said(peer):
    """Nobody waits for ever for a session."""
    with CuratorPeer("127.0.0.1:1", timeout=0.2) as own:
        with pytest.raises(PeerFailed, match="no server answers"):
            own.actor("one")


def test_a_waiting_actor_can_be_closed(java, zk_path):
    """Closing ends its session at once; what it was asked fails, what waits behind it too."""
    holder, waiter = java(), java()
    assert holder.mutex(zk_path).acquire()
    lock = waiter.mutex(zk_path)
    waiting, behind = lock.begin_acquire(), lock.begin_acquire()
    waiter.close()
    for each in (waiting, behind):
        with pytest.raises(PeerFailed):
            each.result(20)


def test_closing_ends_it(peer, zk_hosts):
    """After closing there is no process, and what is asked then fails at once."""
    with CuratorPeer(zk_hosts) as own:
        actor = own.actor("one")
        assert alive(own.pid)
    assert not alive(own.pid)
    own.close()
    with pytest.raises(PeerFailed, match="has ended"):
        actor.clock_ns()


def test_a_jvm_that_dies_fails_what_was_asked(peer, zk_hosts, zk_path):
    """Nobody waits for the answer of a JVM that is gone."""
    with CuratorPeer(zk_hosts) as own:
        one, two = own.actors(["one", "two"])
        assert one.mutex(zk_path).acquire()
        waiting = two.mutex(zk_path).begin_acquire()
        os.kill(own.pid, signal.SIGKILL)
        with pytest.raises(PeerFailed, match="has ended"):
            waiting.result(20)


PARENT = """
import os, sys
from zkkit.bench.peers.curator import CuratorPeer
peer = CuratorPeer(sys.argv[1])
peer.actor("one").mutex(sys.argv[2]).acquire()
if sys.argv[3] == "forked" and not os.fork():  # a child that has our end of the pipe
    import time
    time.sleep(60)
print(peer.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["alone", "forked"])
def test_it_ends_when_its_parent_is_killed(peer, python, zk_hosts, zk_path, how):
    """SIGKILL gives the parent no chance to say anything; still no JVM is left."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, zk_hosts, zk_path, how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        parent.wait()
        assert eventually(lambda: not alive(pid))
    finally:
        os.killpg(parent.pid, signal.SIGKILL) if how == "forked" else parent.kill()
        parent.communicate()


COMPILER = """#!/bin/sh
# A compiler that is quick: --release 11 -cp JARS -d INTO SOURCES
if grep -q nonsense "$7" "$8"; then echo "$7:1: error: nonsense" >&2; exit 1; fi
mkdir -p "$6" && date +%N > "$6/CuratorPeer.class"
"""


def test_compiled_once_for_each_source(tmp_path, monkeypatch):
    """Into the cache; again when a source has changed; a source that is wrong is said."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler = tmp_path / "javac"
    main, other = tmp_path / "CuratorPeer.java", tmp_path / "Locks.java"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    curator = Curator(Java(tmp_path / "java", "17"), compiler, "5.4.0", (tmp_path / "a.jar",))
    main.write_text("class CuratorPeer { }")
    other.write_text("class Locks { }")
    first = compiled(curator, tmp_path)
    made = (first / "CuratorPeer.class").read_text()
    assert compiled(curator, tmp_path) == first
    assert (first / "CuratorPeer.class").read_text() == made
    other.write_text("class Locks { } // changed")
    assert compiled(curator, tmp_path) != first
    other.write_text("class Locks { nonsense }")
    with pytest.raises(ZkkitError, match=r"does not compile against Curator 5(.|\n)*1: error"):
        compiled(curator, tmp_path)
    assert len(list((tmp_path / "zkkit").iterdir())) == 2, "nothing half made is left"


def test_without_the_jars_it_names_the_command(tmp_path):
    with pytest.raises(CuratorMissing, match=r"curator-recipes\.jar") as raised:
        find_curator(tmp_path)
    assert "apt-get install" in raised.value.hint
    assert "libcurator-recipes-java default-jdk-headless" in raised.value.hint


def test_without_a_compiler_it_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(curator_jars.shutil, "which", lambda name: None)
    bare = Java(tmp_path / "java", "17")
    with pytest.raises(CuratorMissing, match="no compiler"):
        curator_jars._compiler(bare)
