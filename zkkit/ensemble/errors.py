"""What can go wrong when servers are started, broken and stopped."""

from __future__ import annotations

from zkkit.errors import ZkkitError


class EnsembleError(ZkkitError):
    """An ensemble could not do what was asked of it."""


class JavaMissing(EnsembleError):
    """No Java that runs was found."""


class ZooKeeperMissing(EnsembleError):
    """No ZooKeeper install was found."""


class PortBusy(EnsembleError):
    """A port that was asked for is taken by another program."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} on 127.0.0.1 is already in use",
            hint="stop the program that listens there, give other client_ports, "
            "or leave client_ports out to have free ones chosen",
        )
        self.port = port


class NodeNeverReady(EnsembleError):
    """A server ended, or did not serve before the deadline."""

    def __init__(self, node: int, message: str, *, log: str, tail: str) -> None:
        super().__init__(
            f"node {node} {message}\n--- end of {log} ---\n{tail.rstrip()}\n---",
            hint=f"the whole log is in {log}",
        )
        self.node = node
        self.log = log


class NoLeader(EnsembleError):
    """No leader was elected before the deadline."""


class EngineMissing(EnsembleError):
    """No container engine answers, or it may not be used."""


class ComposeMissing(EnsembleError):
    """Neither `docker compose` nor `docker-compose` is there."""


class ImageMissing(EnsembleError):
    """The image to run is not there and cannot be pulled."""


class NotWhole(EnsembleError):
    """Containers that should be there are gone."""
