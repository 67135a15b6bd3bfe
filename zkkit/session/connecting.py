"""Which connection a session gets: the one place that decides it."""

from __future__ import annotations

from .kazoo_transport import KazooTransport
from .options import Options
from .platforms import Platform
from .transport import Transport


def transport_for(options: Options, platform: Platform) -> Transport:
    """The connection for a new session. Nothing is connected yet."""
    return KazooTransport(options, platform)
