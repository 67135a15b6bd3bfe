"""What tests of code on ZooKeeper need: break the network, expire a session, start servers.

The pytest fixtures are in `zkkit.testing.fixtures`, which needs pytest; this package does not.
"""

from zkkit.testing.proxy import Proxy
from zkkit.testing.sessions import NotExpired, expire
from zkkit.testing.streams import Loss

__all__ = ["Loss", "NotExpired", "Proxy", "expire"]
