"""Numbers that several processes share."""

from .shared_count import SharedCount

__all__ = ["SharedCount"]
