"""An ensemble does the same whether its servers are processes or containers."""

from __future__ import annotations

import json
import socket
import time

import pytest
from kazoo.client import KazooClient

import zkkit
from tests.support.processes import listeners
from zkkit import ReentrantLock
from zkkit.ensemble import Ensemble, EnsembleError, NoLeader, base
from zkkit.testing import eventually

SESSION_TIMEOUT = 4.0


def follower(ensemble: Ensemble) -> int:
    """A node that does not lead."""
    leader = ensemble.leader()
    return next(node for node in ensemble.nodes if node != leader)


def modes(ensemble: Ensemble) -> list[str | None]:
    """What each node says it is."""
    return [each.role for each in ensemble.status()]


def said(ensemble: Ensemble, node: int) -> str:
    """What a node says about itself; nothing while it is starting."""
    try:
        return ensemble.four_letter(node, "srvr")
    except EnsembleError:
        return ""


def whole(ensemble: Ensemble) -> bool:
    """Whether one leads and the others follow."""
    return sorted(map(str, modes(ensemble))) == ["follower", "follower", "leader"]


# --- asking -------------------------------------------------------------------------------


def test_serves_clients(breakable: Ensemble, zk_path: str) -> None:
    """A client that knows all hosts writes through one node and reads through each of them."""
    hosts = [f"127.0.0.1:{port}" for port in breakable.ports.values()]
    assert breakable.hosts == ",".join(hosts)
    for number, host in enumerate((breakable.hosts, *hosts)):
        client = KazooClient(host)
        client.start()
        try:
            if number == 0:
                client.create(zk_path, b"hello")
            client.sync("/")
            assert client.get(zk_path)[0] == b"hello"
        finally:
            client.stop()
            client.close()


def test_metrics_of_every_node(breakable: Ensemble) -> None:
    """Each node gives its numbers, those of the two-witness rule among them."""
    metrics = breakable.metrics()
    assert sorted(metrics) == [1, 2, 3] == list(breakable.nodes)
    for numbers in metrics.values():
        assert numbers["zk_znode_count"] >= 4
        assert "zk_sum_node_deleted_watch_count" in numbers


def test_one_leads_and_the_others_follow(breakable: Ensemble) -> None:
    """leader() is the node that says so itself."""
    leader = breakable.leader()
    for node in breakable.nodes:
        expected = "leader" if node == leader else "follower"
        assert f"Mode: {expected}" in breakable.four_letter(node, "srvr")


def test_lab_settings(breakable: Ensemble) -> None:
    """The servers run with the settings a lab needs and answer every four-letter word."""
    assert {
        "maxClientCnxns=0",
        "tickTime=500",
        "minSessionTimeout=1000",
        "maxSessionTimeout=60000",
        "initLimit=20",
        "syncLimit=10",
    } <= set(breakable.four_letter(1, "conf").splitlines())
    assert "Total watches:" in breakable.four_letter(1, "wchs")
    properties = set(breakable.four_letter(1, "envi").splitlines())
    assert any(line.startswith("java.version=") for line in properties)


def test_clients_ports_are_on_loopback_only(breakable: Ensemble) -> None:
    """The clients' ports are bound to 127.0.0.1 and to no other address."""
    ours = set(breakable.ports.values())
    found = [(address, port) for address, port in listeners() if port in ours]
    assert {port for _, port in found} == ours
    assert {address for address, _ in found} == {"0100007F"}


def test_description_is_plain_data(breakable: Ensemble) -> None:
    """describe() goes into a report as JSON and names backend, version, medium and filesystem."""
    about = json.loads(json.dumps(breakable.describe()))
    assert about["backend"] == breakable.backend
    assert about["size"] == 3
    assert about["zookeeper"][0].isdigit()
    assert about["medium"] == "memory"
    assert about["filesystem"] == "tmpfs" or about["notes"]


def test_status_counts_sessions(breakable: Ensemble) -> None:
    """The status has a row per node, and a session counts on the node it is connected to only."""
    node = follower(breakable)
    before = {each.node: each.sessions for each in breakable.status()}
    client = KazooClient(f"127.0.0.1:{breakable.ports[node]}")
    client.start()
    try:
        rows = breakable.status()
    finally:
        client.stop()
        client.close()
    assert [each.port for each in rows] == list(breakable.ports.values())
    assert {each.state for each in rows} == {"running"}
    assert whole(breakable)
    gained = {each.node: (each.sessions or 0) - (before[each.node] or 0) for each in rows}
    assert gained == {each: int(each == node) for each in breakable.nodes}


def test_unknown_node_is_refused(breakable: Ensemble) -> None:
    """A node that does not exist is named, with those that do."""
    orders = (breakable.kill, breakable.pause, breakable.resume, breakable.restart)
    for order in (*orders, breakable.cut, breakable.heal):
        with pytest.raises(ValueError, match="no node 4: nodes are 1 to 3"):
            order(4)


def test_is_started_once(breakable: Ensemble) -> None:
    """A running ensemble cannot be started again."""
    with pytest.raises(EnsembleError, match="already running"):
        breakable.start()


# --- breaking and mending -----------------------------------------------------------------


def test_killed_leader_is_replaced_and_comes_back(breakable: Ensemble) -> None:
    """After SIGKILL of the leader another one leads; restarted, the old one serves again."""
    old = breakable.leader()
    breakable.kill(old)
    assert breakable.status()[old - 1].state == "killed"
    new = breakable.leader()
    assert new != old
    assert sorted(breakable.metrics()) == sorted(set(breakable.nodes) - {old})
    with pytest.raises(EnsembleError, match=f"node {old} has been killed"):
        breakable.pause(old)
    with pytest.raises(EnsembleError, match=f"node {old} does not answer"):
        breakable.four_letter(old, "ruok")
    breakable.restart(old)
    assert sorted(breakable.metrics()) == [1, 2, 3]


def test_paused_node_is_silent_and_resumed_serves(breakable: Ensemble) -> None:
    """A paused follower answers nothing until it is resumed."""
    node = follower(breakable)
    breakable.pause(node)
    assert breakable.status()[node - 1].state == "paused"
    with socket.create_connection(("127.0.0.1", breakable.ports[node]), timeout=0.3) as asking:
        asking.sendall(b"ruok")
        with pytest.raises(TimeoutError):
            asking.recv(4)
    assert node not in breakable.metrics()
    breakable.resume(node)
    assert breakable.four_letter(node, "ruok") == "imok"


@pytest.mark.parametrize(
    "paused", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["running", "paused"]
)
def test_data_survives_a_restart(paused: bool, breakable: Ensemble, zk_path: str) -> None:
    """What was written before a node is ended and started is there afterwards."""
    client = KazooClient(breakable.hosts)
    client.start()
    client.create(zk_path, b"kept")
    client.stop()
    client.close()
    node = follower(breakable)
    if paused:
        breakable.pause(node)
    breakable.restart(node)
    client = KazooClient(f"127.0.0.1:{breakable.ports[node]}")
    client.start()
    client.sync("/")
    assert client.get(zk_path)[0] == b"kept"
    client.stop()
    client.close()


@pytest.mark.slow  # as after the restart of one, above
def test_data_in_memory_survives_the_death_of_all(breakable: Ensemble, zk_path: str) -> None:
    """Killed all at once and started again, the servers still know what was written."""
    client = KazooClient(breakable.hosts)
    client.start()
    client.create(zk_path, b"kept")
    client.stop()
    client.close()
    for node in breakable.nodes:
        breakable.kill(node)
    for node in breakable.nodes:
        breakable.restart(node)
    client = KazooClient(breakable.hosts)
    client.start()
    assert client.get(zk_path)[0] == b"kept"
    client.stop()
    client.close()


def test_without_a_majority_there_is_no_leader(breakable: Ensemble) -> None:
    """With two of three nodes killed leader() says so at once, and restarting them mends it."""
    first, second = 1, 2
    breakable.kill(first)
    breakable.kill(second)
    began = time.monotonic()
    with pytest.raises(NoLeader, match="1 of 3 nodes are up") as caught:
        breakable.leader()
    assert time.monotonic() - began < base.DEADLINE / 2
    assert caught.value.hint == "restart(1), restart(2)"
    breakable.restart(first)
    breakable.restart(second)
    assert breakable.leader() in breakable.nodes
    assert sorted(breakable.metrics()) == [1, 2, 3]


# --- cutting and healing ------------------------------------------------------------------


@pytest.mark.slow  # the sync limit, five seconds
@pytest.mark.parametrize("whom", ["leader", "follower"])
def test_cut_node_is_alone_and_the_others_go_on(whom: str, breakable: Ensemble) -> None:
    """Cut off, a node soon serves nobody; the others have a leader within seconds."""
    old = breakable.leader()
    node = old if whom == "leader" else follower(breakable)
    started = time.monotonic()
    breakable.cut(node)
    try:
        assert breakable.status()[node - 1].cut
        new = breakable.leader()
        assert new != node
        # The sync limit is ten ticks, five seconds; an election comes on top.
        assert time.monotonic() - started < 15
        assert new == old or whom == "leader"
        assert eventually(lambda: breakable.status()[node - 1].role is None)
        client = KazooClient(f"127.0.0.1:{breakable.ports[new]}")
        client.start()
        client.ensure_path("/written-meanwhile")  # two of three are a majority
        client.stop()
        client.close()
    finally:
        breakable.heal(node)
    assert not any(each.cut for each in breakable.status())
    assert whole(breakable)


def test_cut_is_silent(breakable: Ensemble) -> None:
    """Right after a cut nobody knows: a follower still says so and answers its client."""
    node = follower(breakable)
    client = KazooClient(f"127.0.0.1:{breakable.ports[node]}")
    client.start()
    try:
        breakable.cut(node)
        assert client.connected
        assert client.exists("/") is not None  # a read needs no majority
    finally:
        breakable.heal(node)  # first: to close a session does need one
        client.stop()
        client.close()


def test_cut_node_stays_cut_when_it_is_restarted(breakable: Ensemble) -> None:
    """A restart does not put a node back among its peers; healing does."""
    node = follower(breakable)
    breakable.cut(node)
    try:
        breakable.restart(node)
        assert breakable.status()[node - 1].cut
        assert eventually(lambda: "not currently serving" in said(breakable, node))
    finally:
        breakable.heal(node)
    assert whole(breakable)


@pytest.mark.slow  # the sync limit, five seconds, and an election
def test_two_cut_nodes_do_not_find_each_other(breakable: Ensemble) -> None:
    """With two of three nodes cut off, each is alone and nobody leads; healed, all is whole."""
    first, second = 1, 3
    breakable.cut(first)
    breakable.cut(second)
    try:
        assert eventually(lambda: modes(breakable) == [None, None, None])
        with pytest.raises(NoLeader) as caught:
            breakable.leader()
        assert caught.value.hint == "heal(1), heal(3)"
    finally:
        breakable.heal(first)
        breakable.heal(second)
    assert eventually(lambda: whole(breakable))


def test_cutting_and_healing_twice_is_harmless(breakable: Ensemble) -> None:
    """A node that is cut off can be cut again, one that is not can be healed."""
    node = follower(breakable)
    breakable.heal(node)
    breakable.cut(node)
    breakable.cut(node)
    breakable.heal(node)
    assert eventually(lambda: whole(breakable))


@pytest.mark.slow  # the sync limit, five seconds, an election, and the end of a session
def test_hold_on_a_cut_leader_is_invalidated(breakable: Ensemble, zk_path: str) -> None:
    """Cut off with the leader, a session gives up its hold by its own clock; others get the lock.

    After healing both can use the lock again.
    """
    old = breakable.leader()
    with zkkit.connect(f"127.0.0.1:{breakable.ports[old]}", timeout=SESSION_TIMEOUT) as left_behind:
        others = ",".join(f"127.0.0.1:{p}" for n, p in breakable.ports.items() if n != old)
        with zkkit.connect(others, timeout=30.0) as outside:
            hold = ReentrantLock(left_behind, zk_path).acquire(timeout=5)
            assert hold is not None and hold.valid
            breakable.cut(old)
            try:
                assert hold.valid  # nobody knows yet
                taken = ReentrantLock(outside, zk_path).acquire(timeout=40)
                assert taken is not None and taken.valid
                assert taken.token > hold.token
                assert eventually(lambda: not hold.valid)
                taken.release()
            finally:
                breakable.heal(old)
            assert whole(breakable)
            assert not hold.valid  # once false, false for good
            with zkkit.connect(breakable.hosts) as after:
                again = ReentrantLock(after, zk_path).acquire(timeout=10)
                assert again is not None and again.token > taken.token
                again.release()
