"""zkkit on asyncio: the same recipes, awaited.

async with zkkit.aio.connect(hosts) as session:
    async with zkkit.ReentrantLock(session, "/lock") as hold:
        ...
"""

from .session.aio import AioSession, connect

__all__ = ["AioSession", "connect"]
