"""The fires of a run, counted by two witnesses: the clients' recorder and the servers.

If they disagree, or the servers are silent, the run is void.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from zkkit.bench.witness import Agreement, Reading, Witness, WitnessSilent, fires_of
from zkkit.record import Recorder, frames

T = TypeVar("T")


class Count:
    """The fires of one run by both witnesses, while the contenders queue and after that."""

    def __init__(self, witness: Witness, recorder: Recorder) -> None:
        self._witness = witness
        self._recorder = recorder
        self._readings: dict[str, Reading] = {}
        self.opened = 0
        """How many rows were recorded when the gate opened."""
        self.servers: int | None = None
        self.void = ""
        self._start = self._ask(witness.read)

    def open(self) -> None:
        """All are queued: what has fired until now must be counted by both before we go on."""
        agreement = self._settle(self._start, 0)
        self.opened = len(self._recorder)
        if agreement is not None:
            self._readings["before"] = agreement.after

    def close(self) -> None:
        """All are through."""
        agreement = self._settle(self._readings.get("before"), self.opened)
        if agreement is not None:
            self.servers = agreement.servers
            self._readings["after"] = agreement.after

    def counters(self) -> dict[str, dict[str, int]]:
        """The fires each server had counted, when the gate opened and at the end."""
        return {
            when: {where: fires_of(said) for where, said in reading.items()}
            for when, reading in self._readings.items()
        }

    def _settle(self, since: Reading | None, row: int) -> Agreement | None:
        if since is None:
            return None
        agreement = self._ask(
            lambda: self._witness.settle(
                since, lambda: len(frames.fires(islice(self._recorder, row, None)))
            )
        )
        if agreement is not None and agreement.clients != agreement.servers:
            self.void = self.void or (
                f"the clients counted {agreement.clients} fires and the servers "
                f"{agreement.servers}: does somebody else use these servers?"
            )
        return agreement

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except WitnessSilent as error:
            self.void = self.void or str(error)
            return None
