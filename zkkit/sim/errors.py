"""What the simulator says about scripts that break the rules: it names the script and the line."""

from __future__ import annotations

from ..errors import ZkkitError


class ScriptFault(ZkkitError):
    """A script broke a rule that exploring depends on."""


class Impure(ScriptFault):
    """Run again with the same results, the script did something else."""


class Endless(ScriptFault):
    """The script runs on and on without waiting for anything."""


class SwallowedCancel(ScriptFault):
    """The script was cancelled and ended as if nothing had happened."""


class NotALock(ZkkitError):
    """Something was to be used as a lock that has not the scripts of one."""


class NothingAsked(ZkkitError):
    """An exploration was not told what must hold."""


class StoryMismatch(ZkkitError):
    """A story does not fit the world it is replayed in."""


class NoWorld(ZkkitError):
    """The world of a story cannot be built again."""
