"""TLS, through a small proxy that ends it before the real servers."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import zkkit
from tests.support.certificates import certificate
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """The server's certificate, a client's, and one of somebody else."""
    directory = tmp_path_factory.mktemp("tls")
    return {name: certificate(directory, name) for name in ("server", "client", "stranger")}


class TlsProxy:
    """Takes TLS on a loopback port and passes on what is inside."""

    def __init__(self, hosts: str, context: ssl.SSLContext) -> None:
        self._target = parse_hosts(hosts)[0][0]
        self._context = context
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(5.0)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._loop.set_exception_handler(lambda loop, context: None)  # refused handshakes
        server = await asyncio.start_server(self._pass, "127.0.0.1", 0, ssl=self._context)
        self.hosts = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._end.wait()
        server.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(*self._target)
        await asyncio.gather(
            _pump(reader, server_writer), _pump(server_reader, writer), return_exceptions=True
        )

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(5.0)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@pytest.fixture
def tls_hosts(zk_hosts: str, certificates: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Where the servers are to be had by TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["server"])
    proxy = TlsProxy(zk_hosts, context)
    yield proxy.hosts
    proxy.close()


@pytest.fixture
def mutual_hosts(zk_hosts: str, certificates: dict[str, tuple[str, str]]) -> Iterator[str]:
    """The same, for clients only that have a certificate themselves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["server"])
    context.load_verify_locations(certificates["client"][0])
    context.verify_mode = ssl.CERT_REQUIRED
    proxy = TlsProxy(zk_hosts, context)
    yield proxy.hosts
    proxy.close()


def test_tls(
    tls_hosts: str, certificates: dict[str, tuple[str, str]], open_session: Any, zk_path: str,
    other: zkkit.Session,
) -> None:  # fmt: skip
    """A session over TLS is a session like any other, for much data as well."""
    session = open_session(tls_hosts, tls={"ca": certificates["server"][0]})
    session.create(zk_path, b"secret")
    assert other.get(zk_path).data == b"secret"
    for size in (10, 20_000, 500_000):
        session.set(zk_path, b"x" * size)
        assert session.get(zk_path).data == b"x" * size
    with zkkit.ReentrantLock(session, f"{zk_path}/lock") as hold:
        assert hold.check()


def test_client_certificate(
    mutual_hosts: str, certificates: dict[str, tuple[str, str]], open_session: Any
) -> None:
    """Who is asked for a certificate shows the one it was given."""
    cert, key = certificates["client"]
    tls = {"ca": certificates["server"][0], "certfile": cert, "keyfile": key}
    assert open_session(mutual_hosts, tls=tls).exists("/") is not None


def test_wrong_ca(
    tls_hosts: str, certificates: dict[str, tuple[str, str]], no_thread_left: Any
) -> None:
    """A server whose certificate we cannot check is refused, and the error says so."""
    with no_thread_left():
        began = time.monotonic()
        with pytest.raises(ZkkitError, match=r"(?i)certificate") as caught:
            zkkit.connect(tls_hosts, tls={"ca": certificates["stranger"][0]}, connect_timeout=1.5)
        assert time.monotonic() - began < 3.0
    assert tls_hosts in str(caught.value)


def test_checking_can_be_switched_off(
    tls_hosts: str, certificates: dict[str, tuple[str, str]], open_session: Any
) -> None:
    """With verify_certs=False anybody's certificate will do."""
    tls = {"ca": certificates["stranger"][0], "verify_certs": False, "check_hostname": False}
    assert open_session(tls_hosts, tls=tls).exists("/") is not None


def test_certificate_file_that_is_not_there(tls_hosts: str, no_thread_left: Any) -> None:
    """A missing file is named at once, not after the time to connect."""
    with no_thread_left():
        began = time.monotonic()
        with pytest.raises((ZkkitError, OSError), match=r"/no/such/ca\.pem"):
            zkkit.connect(tls_hosts, tls={"ca": "/no/such/ca.pem"}, connect_timeout=3.0)
        assert time.monotonic() - began < 2.0


def test_tls_to_servers_without_it(zk_hosts: str, no_thread_left: Any) -> None:
    """A server that speaks no TLS gives no session, within the time to connect."""
    with no_thread_left():
        with pytest.raises(ZkkitError):
            zkkit.connect(zk_hosts, tls={"verify_certs": False}, connect_timeout=1.0)
