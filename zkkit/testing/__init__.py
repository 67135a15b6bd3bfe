"""What tests of code on ZooKeeper need: break the network, expire a session, wait for something.

The pytest fixtures are in `zkkit.testing.fixtures`, which needs pytest; this package does not.
For tests on asyncio there is `zkkit.testing.aio`.
"""

from zkkit.ensemble.sessions import NotExpired, expire, expire_session
from zkkit.testing.events import Countdown, when
from zkkit.testing.proxy import Proxy
from zkkit.testing.streams import Loss
from zkkit.testing.waiting import eventually, throughout

__all__ = [
    "Proxy", "Loss",
    "expire", "expire_session", "NotExpired",
    "eventually", "throughout", "when", "Countdown",
]  # fmt: skip
