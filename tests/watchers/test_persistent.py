"""PersistentWatcher: what it tells, and that it misses nothing that it does not announce."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.support.ensembles import watches
from zkkit import PersistentWatcher
from zkkit.recipes.shared import until_answered
from zkkit.session import opcodes
from zkkit.steps import Fire, FireKind, Script, Wait, Watch
from zkkit.testing import eventually, expire_session, throughout

CREATED, CHANGED, DELETED, CHILD = (
    FireKind.CREATED,
    FireKind.CHANGED,
    FireKind.DELETED,
    FireKind.CHILD,
)


class Told:
    """What a watcher has told."""

    def __init__(self) -> None:
        self.fires: list[Fire] = []
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def watch(front, open_session, zk_hosts, zk_path, told):
    """A watcher whose watch is set."""

    def begin(hosts: str = zk_hosts, path: str = zk_path, **options: Any) -> Any:
        watcher = PersistentWatcher(open_session(hosts), path, **options)
        watcher.add_listener(told.fires.append)
        watcher.add_reset_listener(told.reset)
        front.call(lambda: watcher.start())
        eventually(lambda: told.resets == 1)
        return watcher

    return begin


@pytest.fixture(params=["persistent", "one-shot"])
def servers(request, monkeypatch) -> bool:
    """Servers that have persistent watches, and such that do not know the request: those of
    ZooKeeper before 3.6. Real ones, too: asked by a number that nobody knows."""
    if request.param == "one-shot":
        monkeypatch.setattr(opcodes, "ADD_WATCH", 196)
    return bool(request.param == "persistent")


@pytest.mark.defect("K-15")
def test_a_node(front, servers, watch, told, zk_path, witness, left_clean, caplog):
    """It comes, changes, has children and goes: each is told, in order. Not what is below them."""
    with caplog.at_level(logging.WARNING, "zkkit.recipes"):
        watcher = watch()
    assert watcher.persistent is servers
    assert ("no persistent watches" in caplog.text) is not servers
    expected = []
    for write, kind in (
        (lambda: witness.create(zk_path, b"1"), CREATED),
        (lambda: witness.set(zk_path, b"2"), CHANGED),
        (lambda: witness.create(f"{zk_path}/a"), CHILD),
        (lambda: witness.set(f"{zk_path}/a", b"3"), None),
        (lambda: witness.delete(f"{zk_path}/a"), CHILD),
        (lambda: witness.delete(zk_path), DELETED),
        (lambda: witness.create(zk_path), CREATED),
    ):
        write()
        if kind is not None:
            expected.append(Fire(kind, zk_path))
        eventually(lambda: told.fires == expected, otherwise=lambda: told.fires)
    front.call(lambda: watcher.close())
    witness.delete(zk_path)
    left_clean(zk_path)
    assert told.fires == expected


@pytest.mark.defect("K-15")
def test_a_tree(front, servers, watch, told, zk_path, witness, left_clean):
    """Recursive: each node at any depth."""
    watcher = watch(recursive=True)
    a, b = f"{zk_path}/a", f"{zk_path}/a/b"
    expected = []
    for write, *fire in (
        (lambda: witness.create(zk_path), CREATED, zk_path),
        (lambda: witness.create(a), CREATED, a),
        (lambda: witness.create(b), CREATED, b),
        (lambda: witness.set(b, b"1"), CHANGED, b),
        (lambda: witness.set(a, b"1"), CHANGED, a),
        (lambda: witness.delete(b), DELETED, b),
        (lambda: witness.create(b), CREATED, b),
        (lambda: witness.delete(b), DELETED, b),
        (lambda: witness.delete(a), DELETED, a),
    ):
        write()
        expected.append(Fire(*fire))
        eventually(lambda: told.fires == expected, otherwise=lambda: told.fires)
    front.call(lambda: watcher.close())
    left_clean(zk_path)
    assert told.resets == 1


@pytest.mark.defect("K-7")
@pytest.mark.concurrent
@pytest.mark.parametrize("recursive", [False, True])
def test_a_dropped_connection(
    front, servers, watch, told, zk_proxy, zk_path, witness, left_clean, recursive
):
    """What happens while it is away is announced by one reset, and then it hears again."""
    witness.create(zk_path)
    witness.create(f"{zk_path}/a")
    watcher = watch(zk_proxy.hosts, recursive=recursive)
    zk_proxy.cut()
    eventually(lambda: watcher.session.state != "connected")
    witness.set(zk_path, b"missed")
    zk_proxy.mend()
    eventually(lambda: told.resets == 2)
    assert told.fires == []
    witness.set(zk_path, b"heard")
    eventually(lambda: told.fires == [Fire(CHANGED, zk_path)], otherwise=lambda: told.fires)
    assert told.resets == 2
    front.call(lambda: watcher.close())
    witness.delete(zk_path, recursive=True)
    left_clean(zk_path)


class ForgetsToReset(PersistentWatcher):
    """A twin that does not tell that fires may be missing."""

    def _live(self) -> Script[None]:
        yield from until_answered(Watch(self.path))
        yield from self._reset()
        while True:
            fire = yield from Wait()
            if fire.kind is not FireKind.NONE:
                yield from self._tell(fire)


@pytest.mark.front("threads")
@pytest.mark.parametrize("kind", [PersistentWatcher, ForgetsToReset])
def test_who_reads_at_every_reset_and_fire_misses_nothing(
    front, kind, open_session, zk_proxy, zk_path, witness
):
    """What a small cache shows after a cut is what is there; the twin's is not. (In the simulator a
    broken connection is mended at once, and nothing can happen meanwhile.)"""
    witness.create(zk_path, b"1")
    shown: list[bytes] = []
    watcher = kind(open_session(zk_proxy.hosts), zk_path)
    watcher.add_reset_listener(lambda: shown.append(witness.get(zk_path)[0]))
    watcher.add_listener(lambda fire: shown.append(witness.get(zk_path)[0]))
    watcher.start()
    eventually(lambda: shown == [b"1"])
    zk_proxy.cut()
    witness.set(zk_path, b"2")
    zk_proxy.mend()
    if kind is PersistentWatcher:
        eventually(lambda: shown == [b"1", b"2"])
    else:
        eventually(lambda: watcher.session.state == "connected")
        throughout(lambda: shown == [b"1"], 0.3)


@pytest.mark.defect("K-7")
@pytest.mark.parametrize("recursive", [False, True])
def test_a_lost_session(
    front, watch, told, zk_hosts, zk_path, zk_ensemble, witness, left_clean, recursive
):
    """In the next session it is set again, and that is a reset."""
    watcher = watch(recursive=recursive)
    old = watcher.session.session_id
    expire_session(zk_hosts, watcher.session)
    eventually(lambda: watcher.session.session_id not in (0, old))
    eventually(lambda: watches(zk_ensemble) == 1)
    eventually(lambda: told.resets >= 2)  # a reconnect before the end is one as well
    witness.create(zk_path)
    eventually(lambda: told.fires == [Fire(CREATED, zk_path)])
    front.call(lambda: watcher.close())
    witness.delete(zk_path)
    left_clean(zk_path)


def test_in_a_namespace(front, open_session, told, zk_path, witness):
    """Paths are told as the session knows them."""
    session = open_session(namespace=zk_path)
    watcher = PersistentWatcher(session, "/a", recursive=True)
    watcher.add_listener(told.fires.append)
    watcher.add_reset_listener(told.reset)
    front.call(lambda: watcher.start())
    eventually(lambda: told.resets == 1)
    witness.create(f"{zk_path}/a")
    witness.create(f"{zk_path}/a/b")
    eventually(lambda: told.fires == [Fire(CREATED, "/a"), Fire(CREATED, "/a/b")])


def test_the_session_is_closed(front, watch, told, zk_path, zk_ensemble, witness):
    """Then it is closed, too; closing it is harmless."""
    watcher = watch()
    front.close(watcher.session)
    eventually(lambda: watches(zk_ensemble) == 0)
    witness.create(zk_path)
    front.call(lambda: watcher.close())
    assert told.fires == []


@pytest.mark.front("threads")
@pytest.mark.defect("K-9")
def test_nothing_leaks(front, watch, told, open_session, zk_path, zk_ensemble, witness):
    """Two hundred of them come and go in one session: no watch and no script stays."""
    session = open_session()
    witness.create(zk_path)
    for _ in range(200):
        watcher = PersistentWatcher(session, zk_path)
        watcher.start()
        watcher.close()
    assert session.standing() == []
    eventually(lambda: watches(zk_ensemble) == 0)


@pytest.mark.front("threads")
def test_listeners(front, watch, told, zk_path, witness, caplog):
    """One that raises is logged and stops no other; one that was removed is not called."""
    watcher = watch()
    again = Told()

    def fails(*args: Any) -> None:
        raise RuntimeError("this listener fails")

    watcher.remove_listener(told.fires.append)
    watcher.add_listener(fails)
    watcher.add_listener(again.fires.append)
    watcher.remove_reset_listener(told.reset)
    watcher.remove_reset_listener(told.reset)
    witness.create(zk_path)
    eventually(lambda: again.fires == [Fire(CREATED, zk_path)])
    assert told.fires == []
    assert "this listener fails" in caplog.text


@pytest.mark.front("threads")
def test_wrong_arguments(front, open_session, zk_path):
    session = open_session()
    with pytest.raises(ValueError, match="recursive must be"):
        PersistentWatcher(session, zk_path, recursive="yes")
    with pytest.raises(ValueError, match="a reset listener must be"):
        PersistentWatcher(session, zk_path).add_reset_listener(None)
