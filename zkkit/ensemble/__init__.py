"""Real servers to use, break and throw away."""

from zkkit.ensemble.config import FAST_START
from zkkit.ensemble.errors import (
    EnsembleError,
    JavaMissing,
    NodeNeverReady,
    NoLeader,
    PortBusy,
    ZooKeeperMissing,
)
from zkkit.ensemble.local import LocalEnsemble

__all__ = [
    "FAST_START",
    "EnsembleError",
    "JavaMissing",
    "LocalEnsemble",
    "NoLeader",
    "NodeNeverReady",
    "PortBusy",
    "ZooKeeperMissing",
]
