"""How far the processes have come, by what they have written so far."""

from __future__ import annotations

from pathlib import Path

from zkkit.chaos.crew import Crew

_GRANTED = b'"e": "granted"'
_RESTED = b'"e": "rested"'


class Tally:
    """Reads in each diary only what is new."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._read: dict[Path, int] = {}
        self._grants: dict[str, int] = {}
        self._rested: set[str] = set()

    def grants(self) -> int:
        """How many grants there were in all."""
        self._look()
        return sum(self._grants.values())

    def all_granted(self) -> bool:
        """Whether every present process has been granted something."""
        self._look()
        return all(self._grants.get(client.name) for client in self._crew.clients)

    def all_rested(self) -> bool:
        """Whether every present process has come to rest."""
        self._look()
        return self._rested >= {client.name for client in self._crew.clients}

    def _look(self) -> None:
        for diary in self._crew.diaries:
            with open(diary, "rb") as file:
                file.seek(self._read.get(diary, 0))
                # A line that is half written is read when it is whole.
                new = b"".join(line for line in file if line.endswith(b"\n"))
            self._read[diary] = self._read.get(diary, 0) + len(new)
            self._grants[diary.stem] = self._grants.get(diary.stem, 0) + new.count(_GRANTED)
            if _RESTED in new:
                self._rested.add(diary.stem)
