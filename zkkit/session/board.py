"""The board of the process: what scripts of one session let those of others know (`Post`).

It has one text for each topic, the last one that was posted. Of topics there may be millions, one
for each path of a lock: when it is full it is wiped. Whoever does not find what it looks for asks
the server instead.

There is one for all threads and sessions of a process. It needs no lock: a dict is changed by one
thread at a time, and what two threads do at once gives no more than a topic above the limit, or one
text in place of another. Nor must a forked child forget it: what was posted stays true.
"""

from __future__ import annotations


class Board:
    """Has room for so many topics."""

    def __init__(self, room: int = 4096) -> None:
        self._room = room
        self._texts: dict[str, str] = {}

    def post(self, topic: str, text: str) -> None:
        """Write this in place of what was there."""
        if len(self._texts) >= self._room and topic not in self._texts:
            self._texts.clear()
        self._texts[topic] = text

    def posted(self, topic: str) -> str | None:
        """What was posted last, or None: nothing was, or it is wiped off."""
        return self._texts.get(topic)


BOARD = Board()
"""The one of this process."""
