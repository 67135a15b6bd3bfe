"""May a client say that its session lives? A model of how sessions live and die in an ensemble.

The worlds of `zkkit.sim` have one ZooKeeper that is always of one mind. Here it is taken apart: a
leader, a follower with its touch table, a leader that was deposed and does not know it, and time in
whole units. A client goes by a rule; what is asked is that its word "valid" is never said of a
session that the ruling leader has expired.

    try_rule(RealRule)          the class that real sessions use: holds
    try_rule(Pings)             broken, with the story

`zkkit sim clocks` lists weaker rules and tells what each of them does wrong.
"""

from .model import ClockModel
from .rules import ClockRule, RealRule
from .search import calm, try_rule
from .weaker import WEAKER, WeakerRule, weaker_rule

__all__ = [
    "try_rule", "calm", "ClockModel", "ClockRule", "RealRule", "WEAKER", "WeakerRule",
    "weaker_rule",
]  # fmt: skip
