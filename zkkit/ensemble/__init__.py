"""Real servers to use, break and throw away."""

from zkkit.ensemble.base import Ensemble, NodeStatus
from zkkit.ensemble.config import FAST_START
from zkkit.ensemble.containers import DockerEnsemble
from zkkit.ensemble.errors import (
    ComposeMissing,
    EngineMissing,
    EnsembleError,
    ImageMissing,
    JavaMissing,
    NodeNeverReady,
    NoLeader,
    NotWhole,
    PortBusy,
    ZooKeeperMissing,
)
from zkkit.ensemble.local import LocalEnsemble

__all__ = [
    "FAST_START",
    "ComposeMissing",
    "DockerEnsemble",
    "EngineMissing",
    "Ensemble",
    "EnsembleError",
    "ImageMissing",
    "JavaMissing",
    "LocalEnsemble",
    "NoLeader",
    "NodeNeverReady",
    "NodeStatus",
    "NotWhole",
    "PortBusy",
    "ZooKeeperMissing",
]
