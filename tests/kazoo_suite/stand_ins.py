"""What kazoo's own tests are given instead of a kazoo client and kazoo's cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.certificates import certificate
from tests.support.processes import free_port
from zkkit.ensemble import LocalEnsemble, config
from zkkit.session.blocking import Session
from zkkit.session.connecting import transport_for
from zkkit.session.options import Options
from zkkit.session.platforms import threads

_TLS = ("ca", "certfile", "keyfile", "keyfile_password", "verify_certs", "check_hostname")
_ZKKITS_OWN = ("handler", "connection_retry", "max_retries")
"""What kazoo's client can be told and a session decides: the threads, and how often to try."""


class _UnwaitedSession(Session):
    """A session that does not wait until it is connected: kazoo's `start` does."""

    def _open(self) -> None:
        self._runner.open()


class SessionClients:
    """Stands in for the class KazooClient: each client it makes is the `kazoo` of a zkkit session.

    A session is open when one gets it, and over when its client is stopped. kazoo's tests make
    clients that are not started, and start them again after a stop: so every start of a client
    opens a zkkit session, on the transport that the client belongs to.
    """

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        """All that were opened."""

    def __call__(self, hosts: str = "127.0.0.1:2181", timeout: float = 10.0, **kazoos: Any) -> Any:
        """As KazooClient(...), as far as kazoo's tests need it."""
        tls = {name: kazoos.pop(name) for name in _TLS if name in kazoos}
        auth = kazoos.pop("auth_data", None)
        options = Options(
            hosts, timeout=timeout, auth=auth, tls=tls if kazoos.pop("use_ssl", False) else None
        )
        platform = threads()
        transport = transport_for(options, platform)
        client = transport.client
        client.read_only = kazoos.pop("read_only", None)
        client.randomize_hosts = kazoos.pop("randomize_hosts", True)
        if "client_id" in kazoos:
            client._session_id, client._session_passwd = kazoos.pop("client_id")
        unknown = kazoos.keys() - set(_ZKKITS_OWN)
        if unknown:
            raise TypeError(f"sessions have nothing for {unknown}")

        del client.restart  # what zkkit refuses, since a session that has ended does not come back
        start_async = client.start_async

        def open_session() -> Any:
            if not client.connected:
                client.start_async = start_async  # the transport's open starts its client
                try:
                    self.sessions.append(_UnwaitedSession(options, platform, transport))
                finally:
                    client.start_async = open_session
            return client._live

        client.start_async = open_session
        return client

    def close(self) -> None:
        """Close all sessions that were opened."""
        while self.sessions:
            self.sessions.pop().close()


class Server:
    """One of kazoo's servers."""

    def __init__(self, ensemble: LocalEnsemble, node: int) -> None:
        self._ensemble = ensemble
        self._node = node
        self.address = f"127.0.0.1:{ensemble.ports[node]}"
        if isinstance(ensemble, SpecialEnsemble):
            self.secure_address = f"127.0.0.1:{ensemble.secure_ports[node]}"

    @property
    def running(self) -> bool:
        return self._node in self._ensemble.pids

    def stop(self) -> None:
        self._ensemble.kill(self._node)

    def run(self) -> None:
        self._ensemble.restart(self._node)


class Cluster:
    """kazoo's cluster. Fixtures start and stop it, not the tests."""

    def __init__(self, ensemble: LocalEnsemble) -> None:
        self._ensemble = ensemble
        self._servers = [Server(ensemble, node) for node in ensemble.nodes]

    def __iter__(self) -> Iterator[Server]:
        return iter(self._servers)

    def __getitem__(self, index: int) -> Server:
        return self._servers[index]

    def get_ssl_client_configuration(self) -> dict[str, bytes]:
        """The certificates of a client, as PEM."""
        assert isinstance(self._ensemble, SpecialEnsemble)
        return self._ensemble.of_clients

    def terminate(self) -> None:
        """Nothing: kazoo ends its cluster after every class."""


class SpecialEnsemble(LocalEnsemble):
    """Servers with what some of kazoo's tests need: they speak TLS on a port of their own, can be
    read without a majority, and can be reconfigured by super:test."""

    def __init__(self, directory: Path) -> None:
        flags = (
            *config.FAST_START,
            "-Dreadonlymode.enabled=true",
            # the digest that kazoo's own cluster has, for the password that its tests give
            "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
        )
        # The members learn each other's addresses from one configuration: relays give each others.
        super().__init__(jvm_flags=flags, relays=False)
        server, client = (certificate(directory, name) for name in ("server", "client"))
        self._identity = directory / "server.pem"
        self._identity.write_text("".join(Path(part).read_text() for part in server))
        self._trusted = directory / "trusted.pem"
        self._trusted.write_text(Path(client[0]).read_text())
        self.of_clients = {
            "client_cert": Path(client[0]).read_bytes(),
            "client_key": Path(client[1]).read_bytes(),
            "ca_cert": Path(server[0]).read_bytes(),
        }
        self.secure_ports: dict[int, int] = {}

    def _spawn(self, node: int) -> None:
        settings = self._home(node) / "zoo.cfg"
        if "secureClientPort" not in settings.read_text():  # a new start, or a new try
            self.secure_ports[node] = free_port()
            with open(settings, "a") as file:
                file.write("\n".join(self._settings(node)) + "\n")
        super()._spawn(node)

    def _settings(self, node: int) -> list[str]:
        return [
            f"secureClientPort={self.secure_ports[node]}",
            "secureClientPortAddress=127.0.0.1",
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
            f"ssl.keyStore.location={self._identity}",
            f"ssl.trustStore.location={self._trusted}",
            "reconfigEnabled=true",
            # A server without a majority cannot give a session that all servers know.
            "localSessionsEnabled=true",
            "localSessionsUpgradingEnabled=true",
        ]
