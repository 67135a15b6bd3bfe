"""A relay passes bytes between two nodes, and nothing while one of them is cut off."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.processes import free_port
from zkkit.ensemble.relay import Relay

QUIET = 0.2  # seconds without a byte that stand for "nothing comes"
PATIENCE = 5.0


class Pair:
    """Nodes 1 and 2, with the listeners of node 2, seen by node 1 through a relay."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.quorum = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.election = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        ports = (self.quorum.getsockname()[1], self.election.getsockname()[1])
        self.relay = Relay()
        self.entrances = self.relay.open({1: (free_port(), free_port()), 2: ports})

    def call(self, which: int = 0) -> socket.socket:
        """Connect from node 1 to a port of node 2: 0 its quorum port, 1 its election port."""
        port = self.entrances[1][2][which]
        caller = self._stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        caller.settimeout(PATIENCE)
        return caller

    def answer(self, listener: socket.socket | None = None) -> socket.socket:
        """Accept what comes to node 2."""
        listener = listener or self.quorum
        listener.settimeout(PATIENCE)
        called, _ = listener.accept()
        self._stack.enter_context(called)
        called.settimeout(PATIENCE)
        return called


@pytest.fixture
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(stack)


def quiet(end: socket.socket) -> bool:
    """Whether nothing comes, not even an end."""
    end.settimeout(QUIET)
    try:
        end.recv(1)
    except TimeoutError:
        return True
    finally:
        end.settimeout(PATIENCE)
    return False


def receive(end: socket.socket, count: int) -> bytes:
    """Exactly so many bytes."""
    data = b""
    while len(data) < count:
        part = end.recv(count - len(data))
        assert part, f"ended after {len(data)} of {count} bytes"
        data += part
    return data


def test_passes_bytes_both_ways(pair: Pair) -> None:
    """What one side sends, the other receives; more than any buffer holds as well."""
    caller = pair.call()
    called = pair.answer()
    caller.sendall(b"there")
    assert receive(called, 5) == b"there"
    called.sendall(b"and back")
    assert receive(caller, 8) == b"and back"
    much = bytes(range(256)) * 4096
    for chunk in range(8):  # in turn, so that this thread never waits for itself
        caller.sendall(much[chunk::8][:60_000])
        assert receive(called, 60_000) == much[chunk::8][:60_000]


def test_slow_reader_stops_the_writer(pair: Pair) -> None:
    """The relay keeps no more than a buffer: who is not read from cannot write on for ever."""
    caller = pair.call()
    called = pair.answer()
    caller.settimeout(QUIET)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 256 * 2**20:
            sent += caller.send(bytes(65536))
    assert receive(called, sent) == bytes(sent)


def test_end_of_one_side_ends_the_other(pair: Pair) -> None:
    """A connection closed on one side is closed on the other."""
    caller = pair.call()
    called = pair.answer()
    caller.close()
    assert called.recv(1) == b""


@pytest.mark.parametrize("node", [1, 2], ids=["source", "target"])
def test_cut_is_silent_and_heal_ends_what_was_cut(node: int, pair: Pair) -> None:
    """Cut, both ends stay open and nothing passes; healed, both end, and a new call passes."""
    caller = pair.call()
    called = pair.answer()
    pair.relay.cut(node)
    caller.sendall(b"lost")
    called.sendall(b"lost")
    assert quiet(caller)
    assert quiet(called)
    pair.relay.heal(node)
    assert caller.recv(1) == b""
    assert called.recv(1) == b""
    again = pair.call()
    again.sendall(b"new")
    assert receive(pair.answer(), 3) == b"new"


def test_hanging_up_during_a_cut_is_not_heard(pair: Pair) -> None:
    """Who hangs up while cut off is not heard by the other side until it is healed."""
    caller = pair.call()
    called = pair.answer()
    pair.relay.cut(1)
    caller.close()
    assert quiet(called)
    pair.relay.heal(1)
    assert called.recv(1) == b""


def test_call_during_a_cut_does_not_arrive(pair: Pair) -> None:
    """A connection made during a cut never reaches the other node, and ends with healing."""
    pair.relay.cut(2)
    caller = pair.call()
    caller.sendall(b"hello?")
    pair.quorum.settimeout(QUIET)
    with pytest.raises(TimeoutError):
        pair.quorum.accept()
    assert quiet(caller)
    pair.relay.heal(2)
    assert caller.recv(1) == b""


def test_both_must_be_healed(pair: Pair) -> None:
    """Two nodes that were both cut off are connected when both are healed."""
    pair.relay.cut(1)
    pair.relay.cut(2)
    caller = pair.call()
    pair.relay.heal(1)
    assert quiet(caller)
    pair.relay.heal(2)
    assert caller.recv(1) == b""


def test_waits_for_a_quorum_port_that_opens_late(pair: Pair) -> None:
    """A caller is kept waiting while a leader has not opened its port yet, and then served."""
    port = pair.quorum.getsockname()[1]
    pair.quorum.close()
    caller = pair.call()
    caller.sendall(b"early")
    assert quiet(caller)
    with socket.create_server(("127.0.0.1", port)) as late:
        assert receive(pair.answer(late), 5) == b"early"


def test_election_port_nobody_listens_on_ends_at_once(pair: Pair) -> None:
    """A call to the election port of a node that is down is ended, as a refusal."""
    pair.election.close()
    assert pair.call(1).recv(1) == b""


@pytest.mark.parametrize("pieces", [1, 7], ids=["whole", "in pieces"])
def test_callers_address_becomes_the_relays(pieces: int, pair: Pair) -> None:
    """On an election port the address to call back is replaced by the relay of the way back."""
    address = b"127.0.0.1:3888"
    hello = struct.pack(">qqi", -65536, 1, len(address)) + address + b"vote"
    caller = pair.call(1)
    size = -(-len(hello) // pieces)
    for start in range(0, len(hello), size):
        caller.sendall(hello[start : start + size])
    called = pair.answer(pair.election)
    version, node, length = struct.unpack(">qqi", receive(called, 20))
    assert (version, node) == (-65536, 1)
    back = pair.entrances[2][1][1]
    assert receive(called, length) == f"127.0.0.1:{back}".encode()
    assert receive(called, 4) == b"vote"


def test_greeting_without_an_address_passes_as_it_is(pair: Pair) -> None:
    """An old server sends its number only; that is passed on unchanged."""
    old = struct.pack(">q", 3) + b"first vote, longer"
    pair.call(1).sendall(old)
    assert receive(pair.answer(pair.election), len(old)) == old
