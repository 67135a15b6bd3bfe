"""Sessions of kazoo's own client, as its documentation opens them."""

from __future__ import annotations

import kazoo
from kazoo.client import KazooClient

from zkkit.session.options import BUSY_TIMEOUT

VERSION = kazoo.__version__


def connect(hosts: str) -> KazooClient:
    """Start one client."""
    client = KazooClient(hosts, timeout=BUSY_TIMEOUT)
    client.start(BUSY_TIMEOUT)
    return client


def close(client: KazooClient) -> None:
    """End the session of a client."""
    client.stop()
    client.close()
