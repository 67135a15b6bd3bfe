"""What being elected gives you, and who takes part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import NoNode
from ...scripting import S
from ...steps import Check, Get, Node, Script
from ..arguments import check_callback
from ..line import Line
from ..shared import answer, read_all
from ..tenure import Tenure, cannot_guard

if TYPE_CHECKING:
    from .candidate import Candidate


_ENDED = -1
"""No session and no grant has this number: what was held by it is lost."""


class Leadership(Tenure[S]):
    """One term as a leader: what a hold is to a lock. Always truthy; ask `.valid` whether we still
    lead. A leader that leads again by the same node has a new leadership, with the same token."""

    _recipe: Candidate[S]

    def __init__(self, candidate: Candidate[S], node: Node) -> None:
        super().__init__(candidate, node)

    @property
    def valid(self) -> bool:
        """Whether we surely still lead: by the session's own clock, never asked of the server, and
        once false never true again."""
        return super().valid and self._later is None

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call back once if we no longer lead without having closed; at once if that is so. Raises
        ValueError if it cannot be called, or would have to be awaited."""
        check_callback("a callback", callback)
        if self._later is None:
            super().on_lost(callback)
        else:
            self.session.when_lost(_ENDED, self.path, _ENDED, callback)

    @property
    def _later(self) -> Leadership[Any] | None:
        """The later leadership by the same node, if there is one."""
        now = self._recipe.noted_leadership
        return now if now is not None and now is not self and self._is_before(now) else None

    def _is_before(self, other: Leadership[Any]) -> bool:
        return self.grant == other.grant

    def guard(self) -> Check:
        if not self._recipe.unique_names:
            raise cannot_guard(self, "LeaderLatch")
        return super().guard()

    def give_back(self) -> Script[Any]:
        """Nobody took it: the candidate has it all the same."""
        yield from ()


class LeaderTerm(Leadership[S]):
    """The leadership that a selector's function is given. `stop` is an event that is set when the
    function is to end: we may no longer lead, or were interrupted or closed."""

    def __init__(self, candidate: Candidate[S], node: Node, stop: Any) -> None:
        super().__init__(candidate, node)
        self.stop = stop

    def _is_before(self, other: Leadership[Any]) -> bool:
        return False  # a selector leads once by each node


class LeaderEvent(NamedTuple):
    """What listeners are told: that we lead now, or that we no longer do; and by which
    leadership."""

    is_leader: bool
    leadership: Leadership[Any]


class Participant(NamedTuple):
    """Somebody who stands for election."""

    id: str
    is_leader: bool


def participants_in(line: Line) -> Script[tuple[Participant, ...]]:
    """All who stand in line, the leader first: two flights."""
    paths = yield from line.participants()
    ids: list[str] = []
    for found in (yield from read_all(*map(Get, paths))):
        try:
            ids.append(id_in(answer(found).data))
        except NoNode:
            continue  # it left meanwhile
    return tuple(Participant(id, place == 0) for place, id in enumerate(ids))


def id_in(data: bytes) -> str:
    """The id that a candidate has written into its node."""
    return data.decode("utf-8", "replace")
