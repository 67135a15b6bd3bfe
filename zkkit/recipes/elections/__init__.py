"""Elections: at most one leads, knows when that is over, and can fence what it writes."""

from .latch import LeaderLatch
from .leadership import LeaderEvent, Leadership, LeaderTerm, Participant
from .selector import LeaderSelector

__all__ = [
    "LeaderEvent",
    "LeaderLatch",
    "LeaderSelector",
    "Leadership",
    "Participant",
    "LeaderTerm",
]
