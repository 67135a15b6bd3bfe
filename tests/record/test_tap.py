"""A plain kazoo client under the same ruler."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

from zkkit.errors import ZkkitError
from zkkit.record import Recorder, tap


@pytest.fixture
def client(zk_hosts):
    client = KazooClient(zk_hosts)
    yield client
    client.stop()
    client.close()


def test_a_kazoo_lock_is_recorded(client, zk_hosts, zk_path):
    """Two contenders of kazoo's own lock: nodes, watches, fires and wakeups are seen."""
    recorder = Recorder()
    tap(client).add(recorder)
    client.start()
    other = KazooClient(zk_hosts)
    other.start()
    try:
        held = other.Lock(zk_path)
        held.acquire()
        waiting = threading.Event()
        tap(client).add(Signal(waiting))
        got = threading.Event()
        lock = client.Lock(zk_path)
        thread = threading.Thread(target=lambda: (lock.acquire(), got.set()), name="contender")
        thread.start()
        assert waiting.wait(10)
        held.release()
        assert got.wait(10)
        thread.join(10)
        lock.release()
    finally:
        other.stop()
        other.close()
    counts = Counter(hook for hook, _ in recorder)
    assert counts["node_created"] == 1
    assert counts["node_deleted"] == 1
    assert counts["watch_set"] == counts["watch_fired"] == counts["woke"] == 1
    created = next(event for hook, event in recorder if hook == "node_created")
    assert created.path.startswith(zk_path + "/") and "__lock__" in created.path
    assert created.actor == "contender"
    assert created.session == client.client_id[0]
    assert ("session_changed", "connected") in {(hook, event.kind) for hook, event in recorder}


class Signal:
    """Tells when a watch was set."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def watch_set(self, event: object) -> None:
        self._event.set()


def test_failed_creates_are_steps_but_no_nodes(client, zk_path):
    """The requests of a herd count, also those that fail."""
    recorder = Recorder()
    tap(client).add(recorder)
    client.start()
    client.create(zk_path)
    with pytest.raises(NodeExistsError):
        client.create(zk_path)
    assert recorder.count("step", kind="Create") == 2
    assert recorder.count("node_created") == 1


def test_tapping_twice(client):
    """One client has one set of hooks, however often it is tapped."""
    assert tap(client) is tap(client)


def test_tapping_something_else():
    """What is no kazoo client is refused, with the way out."""
    with pytest.raises(ZkkitError, match=r"session\.hooks"):
        tap(object())
