"""What comes after the last sequence number, in the world and on a real server.

No client can bring a server there: it would take two thousand million creations. So a server is
stopped, the counter of a node in its snapshot is changed, and it is started again.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import NodeExists, ZkkitError
from zkkit.sim import World
from zkkit.steps import Create, Exists, Mode, Together

LAST = 2**31 - 1
IN_LINE = Mode.PERSISTENT_SEQUENTIAL


class Snapshot:
    """A snapshot file: header, sessions, ACLs, nodes, and checksums over all that is before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = bytearray(path.read_bytes())
        self._at = 16  # magic, version, dbid
        self._counters: dict[str, int] = {}
        for _ in range(self._take("i")):
            self._take("qi")  # a session and its timeout
        for _ in range(self._take("i")):
            self._take("q")
            for _ in range(self._take("i")):
                self._take("i")
                self._text(), self._text()
        while (node := self._text()) != "/":
            self._text()  # its data
            self._take("qqqqqi")  # acl, czxid, mzxid, ctime, mtime, version
            self._counters[node] = self._at
            self._take("iiqq")  # cversion, aversion, owner, pzxid
        self._end = self._at

    def _take(self, what: str) -> int:
        values = struct.unpack_from(f">{what}", self._bytes, self._at)
        self._at += struct.calcsize(f">{what}")
        return int(values[0])

    def _text(self) -> str:
        length = max(self._take("i"), 0)
        self._at += length
        return self._bytes[self._at - length : self._at].decode("latin-1")

    def set_counter(self, node: str, value: int) -> None:
        """Change a node's counter, and write the file with the checksums that fit."""
        struct.pack_into(">i", self._bytes, self._counters[node], value)
        # After the nodes, and after each thing that later versions have added: the digest (20
        # bytes) and the last zxid (8 bytes).
        at = self._end
        for length in (0, 20, 8):
            if at == len(self._bytes):
                break
            at += length
            struct.pack_into(">q", self._bytes, at, zlib.adler32(self._bytes[:at]))
            at += 8 + 5  # the checksum, and "/" to end it
        assert at == len(self._bytes), "a snapshot of a version that is not known here"
        self._path.write_bytes(self._bytes)


@pytest.fixture(scope="module")
def at_its_end():
    """A server that has a node whose counter stands at the last but one."""
    with LocalEnsemble(1) as server:
        with zkkit.connect(server.hosts) as session:
            session.create("/l")
        server.restart(1)  # it writes a snapshot when it starts
        server.kill(1)
        snapshots = Path(server.describe()["directory"]).rglob("snapshot.*")
        latest = max(snapshots, key=lambda path: int(path.suffix[1:], 16))
        Snapshot(latest).set_counter("/l", LAST - 1)
        server.restart(1)
        yield server


def after(take):
    """Some creations below /l: the names, and how often the parent says it was changed."""
    seen = []
    for prefix in ("/l/a-", "/l/a-", "/l/b-", "/l/a-", "/l/c-"):
        try:
            name = take(Create(prefix, mode=IN_LINE)).path
        except ZkkitError as error:
            name = error
        stat = take(Exists("/l"))
        seen.append((name, stat.cversion, stat.pzxid))
    order = sorted({zxid for _, _, zxid in seen})
    return [(name, changes, order.index(zxid)) for name, changes, zxid in seen]


@pytest.mark.slow
def test_a_real_server_gives_the_last_number_again(at_its_end):
    """The documentation has it wrap; a quiet server repeats it, and the world without `wraps`
    does exactly the same."""
    world = World("/l", next_sequence=LAST - 1, wraps=False)
    client = world.connect()
    with zkkit.connect(at_its_end.hosts) as session:
        real = after(session.run)
    assert real == after(lambda request: world.take(client, request))
    assert [name for name, _, _ in real] == [
        f"/l/a-{LAST - 1}",
        f"/l/a-{LAST}",
        f"/l/b-{LAST}",
        NodeExists("/l/a-"),
        f"/l/c-{LAST}",
    ]


@pytest.mark.slow
def test_a_busy_server_wraps(at_its_end):
    """While other creations are under way it counts on, as documented: that is `wraps`."""
    with zkkit.connect(at_its_end.hosts) as session:
        session.create("/l/n")  # wherever it stood: this brings it to its end, if nothing else
        for attempt in range(50):
            flight = [Create(f"/l/{attempt}-{n}-", mode=IN_LINE) for n in range(50)]
            names = [node.path for node in session.run(Together(*flight))]
            if any(name.endswith(f"--{LAST + 1}") for name in names):
                return
    raise AssertionError(f"it never went on: {names}")
