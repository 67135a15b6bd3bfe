"""Sessions of zkkit on asyncio, as a peer opens them."""

from __future__ import annotations

import zkkit
from zkkit.aio import AioSession
from zkkit.session.options import BUSY_TIMEOUT

VERSION = zkkit.__version__


async def connect(hosts: str) -> AioSession:
    """Open one session."""
    return await zkkit.aio.connect(hosts, timeout=BUSY_TIMEOUT)


async def close(session: AioSession) -> None:
    """End a session."""
    await session.close()
