"""kazoo's own tests of client, connection and watchers, as installed, on `session.kazoo`.

Whoever goes past zkkit to the kazoo client below shares zkkit's connection, and must find it as
kazoo promises it.
"""

from __future__ import annotations

import unittest

import kazoo.client
import kazoo.tests.test_client
import kazoo.tests.test_connection
import kazoo.tests.test_watchers
import pytest
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.connection import _CONNECTION_DROP

from tests.kazoo_suite.stand_ins import SessionClients
from zkkit import testing

MODULES = (kazoo.tests.test_client, kazoo.tests.test_connection, kazoo.tests.test_watchers)

pytestmark = [
    pytest.mark.slow,  # many of them sleep
    pytest.mark.filterwarnings("ignore:No chroot path exists"),  # the harness makes it
]

SUITE = {
    name: each
    for module in MODULES
    for name, each in vars(module).items()
    if isinstance(each, type)
    and issubclass(each, unittest.TestCase)
    and each.__module__ == module.__name__
}
globals().update(SUITE)

_WAITS_BY_SELECT = (
    "puts a select of its own below kazoo's loop, to find nothing on the private socket: a session "
    "does not wait for its connection by that"
)
_WAKES_BY_SOCKETS = (
    "pokes kazoo's private wake-up sockets: a session has none, or others, which never block"
)

DESELECTED = {
    "TestClientConstructor.test_another_invalid_hostname": (
        "a session refuses a connect string without a server with an error of zkkit"
    ),
    "TestClientConstructor.test_invalid_handler": "a session makes the client's handler itself",
    "TestClientConstructor.test_retry_options_dict": (
        "a session decides itself how often the client tries"
    ),
    "TestSessionCallbacks.test_session_callback_states": (
        "feeds states into a client that nobody has started; that of a session always is"
    ),
    "TestConnectionHandler.test_connection_deserialize_fail": _WAITS_BY_SELECT,
    "TestConnectionHandler.test_connection_read_timeout": _WAITS_BY_SELECT,
    "TestConnectionHandler.test_connection_write_timeout": _WAITS_BY_SELECT,
    "TestConnectionHandler.test_connection_sock": _WAKES_BY_SOCKETS,
    "TestConnectionHandler.test_dirty_sock": _WAKES_BY_SOCKETS,
    "TestConnectionDrop.test_connection_dropped": (
        "leaves to chance whether the reply comes before the drop, and fails one time in ten with "
        "a plain kazoo client too; below is the same without chance"
    ),
    "TestUnorderedXids.test_xids_mismatch": (
        "changes the private queue of unanswered requests, and wants the connection to end for "
        "good at a reply to nothing: a session leaves that server and connects again"
    ),
}
"""The tests that are left out, and why."""


@pytest.mark.parametrize("name", [*DESELECTED])
def test_tables_name_tests_that_are_there(name: str) -> None:
    """A test that kazoo does not have any more must not stay in a table."""
    owner, test = name.split(".")
    assert callable(getattr(SUITE[owner], test))


def test_clients_are_those_of_sessions(clients: SessionClients, zk_hosts: str) -> None:
    """What kazoo's tests use is below a session that is in use, and a stop is the end of both."""
    client = kazoo.client.KazooClient(zk_hosts)
    for number in (1, 2):  # started again it is below another session
        client.start()
        assert len(clients.sessions) == number
        session = clients.sessions[-1]
        assert session.kazoo is client
        testing.eventually(lambda session=session: session.state == "connected")
        assert session.session_id == client.client_id[0]
        assert session.get("/").stat.czxid == client.get("/")[1].czxid
        client.stop()
        assert session.state == "closed"


def test_connection_dropped_with_a_request_under_way(
    clients: SessionClients, zk_proxy: testing.Proxy, zk_path: str
) -> None:
    """The request fails, and the client has another connection by itself."""
    client = kazoo.client.KazooClient(zk_proxy.hosts)
    client.start()
    client.create(zk_path)
    zk_proxy.freeze(replies_only=True)
    result = client.set_async(zk_path, b"a" * 1000 * 1024)
    client._call(_CONNECTION_DROP, None)
    with pytest.raises(ConnectionLoss):
        result.get(timeout=10.0)
    zk_proxy.thaw()
    testing.eventually(lambda: client.connected, 10.0)
    assert client.retry(client.exists, zk_path)
