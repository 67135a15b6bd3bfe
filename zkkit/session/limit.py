"""How large a request may be: what the servers are set to take, as far as that can be found out.

They hang up on a request that is larger than their jute.maxbuffer, before they have read it. It is
0xfffff bytes unless it was set, and a request that is larger is blamed when its connection breaks.

Where it was set to less nobody says so. Then a request is blamed when the servers have hung up on
three connections in a row, and each time

- the connection worked: something was answered on it before the request was sent,
- they hung up at once, while the request was under way, and no larger one,
- it was larger than any that these servers have ever answered, and no smaller than the one that the
  row began with.

A connection that breaks in any other way ends the row. Requests of less than a kilobyte are never
blamed: no servers are set to take so little, and what recipes write is mostly smaller.
"""

from __future__ import annotations

from ..errors import ConnectionLost, TooLarge

SERVERS_TAKE = 0xFFFFF
"""The most bytes a request may have: the servers' jute.maxbuffer, unless it was set."""

_SMALL = 1024
_TIMES = 3
_AT_ONCE = 1.0  # seconds


class Limit:
    """What the servers of a session take."""

    def __init__(self) -> None:
        self._largest = 0
        self._first = self._last = 0  # the sizes that a row began with, and has come to
        self._times = 0

    def taken(self, size: int) -> None:
        """A request of this size was answered."""
        if size > self._largest:
            self._largest = size

    def suspects(self, size: int, seconds: float) -> bool:
        """Whether the servers may have hung up on a request of this size, so long after it went."""
        return size > max(self._largest, _SMALL) and seconds < _AT_ONCE

    def hung_up_on(self, size: int) -> None:
        """The connection broke, by this request perhaps. 0: by none, or nobody knows."""
        if not size >= self._first > self._largest:
            self._first, self._times = size, 0
        self._last = size
        self._times += 1

    def error(self, size: int, path: str) -> TooLarge | ConnectionLost:
        """What it means that the connection broke while a request of this size was under way."""
        if size > max(self._largest, SERVERS_TAKE):
            return TooLarge(size, SERVERS_TAKE, path)
        if self._times >= _TIMES and size >= self._last > self._largest:
            return TooLarge(size, self._largest, path, found_out=True)
        return ConnectionLost(
            "the connection broke while a request was under way; "
            f"it may or may not have been applied: {path}",
            path=path,
        )
