"""The designs to avoid, built with care so that they can be measured."""

from .lock import HerdLock

__all__ = ["HerdLock"]
