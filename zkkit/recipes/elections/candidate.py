"""What all elections share: a candidate in the background, and what it tells.

Whether we lead is kept in the session's table, where whoever waits is woken by it. A candidate is
one script, one state after the other: it never has two nodes. After a lost session it stands again
in the next one, after its node was removed as well.

What else goes wrong (NoAuth, CounterUsedUp, a mistake of ours) ends it: it is logged, and whoever
waits for it gets it.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar

from ...errors import ConnectionLost, NoNode, SessionLost
from ...scripting import S, script
from ...steps import (
    FireKind,
    Get,
    Mark,
    Notify,
    Recall,
    Remember,
    Script,
    Spawn,
    Spawned,
    Wait,
)
from ..arguments import check_text
from ..long_lived import LongLived
from ..shared import until_answered
from ..tenure import still_held
from .leadership import LeaderEvent, Leadership, Participant


class Candidate(LongLived[S, LeaderEvent]):
    """Base of the elections: each says how it stands. Raises ValueError if its id is no text."""

    unique_names: ClassVar[bool] = True
    """Whether no two terms of two candidates ever share a node's name."""

    def __init__(self, session: S, path: str, id: str) -> None:
        super().__init__(session, path)
        check_text("the id of a candidate", id)
        self.id = id
        self._led = (self, "led")
        self._failed = (self, "failed")

    @abstractmethod
    def _stand(self) -> Script[None]:
        """Stand for election once, and lead if elected. Leaves nothing behind, however it ends."""

    @abstractmethod
    def _participants(self) -> Script[tuple[Participant, ...]]:
        """All candidates that can be known of, the leader first."""

    @script
    def participants(self) -> Script[tuple[Participant, ...]]:
        """All candidates that can be known of, the leader first. Nobody: an empty tuple.

        Raises SessionLost if the session is lost before the answer comes, and what the servers
        refuse (NoAuth).
        """
        return self._participants()

    @script
    def leader(self) -> Script[Participant | None]:
        """Who leads, as the servers see it; None if nobody does. Raises as `participants`."""
        found = yield from self._participants()
        return found[0] if found else None

    @property
    def noted_leadership(self) -> Leadership[S] | None:
        """The leadership that we have, valid or not."""
        lead: Leadership[S] | None = self.session.noted(self._led)
        return lead

    @property
    def leadership(self) -> Leadership[S] | None:
        """The leadership that we surely have now, or None."""
        lead = self.noted_leadership
        return lead if lead is not None and lead.valid else None

    @property
    def is_leader(self) -> bool:
        """Whether we surely lead: by the session's own clock, without asking a server."""
        return self.leadership is not None

    def _live(self) -> Script[None]:
        while True:
            try:
                yield from self._stand()
            except NoNode:
                continue  # somebody removed our node: stand again
            except SessionLost:
                raise
            except Exception as failed:
                yield from Remember(self._failed, failed)
                raise

    def _take_office(self, lead: Leadership[S], *, when_suspended: bool) -> Script[Spawned]:
        """Lead from now on. Somebody else watches over our node meanwhile, so that whoever leads
        has no request under way, and hears at once of what its own clock says."""
        yield from Mark("led", lead.path, lead.czxid)
        yield from Remember(self._led, lead)
        yield from Notify(self._call_listeners, LeaderEvent(True, lead))
        return (yield from Spawn(self._watch_over(lead, when_suspended), "sentry"))

    def _still_in_office(self, lead: Leadership[S]) -> Script[bool]:
        """Whether we still lead, by our own clock and as far as our node is concerned. Wakes this
        script when that changes."""
        led = yield from Recall(self._led, watch=True)
        return led is not None and (yield from still_held(lead, watch=True))

    def _watch_over(self, lead: Leadership[S], when_suspended: bool) -> Script[None]:
        """Lead no more when our node has gone, or when the connection breaks, unless we also lead
        `when_suspended`."""
        look = Get(lead.path, watch=True)
        try:
            while True:
                found = yield from until_answered(look) if when_suspended else look
                if found.stat.czxid != lead.czxid:
                    break  # a fixed name, and somebody else's node
                fire = yield from Wait()
                if fire.kind is FireKind.NONE and not when_suspended:
                    break
        except (NoNode, ConnectionLost):
            pass
        yield from self._leave_office(lead, lost=True)

    def _leave_office(self, lead: Leadership[S], *, lost: bool, told: bool = True) -> Script[None]:
        """Lead no more, by our own doing or not; nothing happens the second time."""
        led = yield from Recall(self._led)
        if led is None or led.grant != lead.grant:
            return
        yield from Remember(self._led, None)
        yield from Mark("unled", lead.path, lead.czxid, "lost" if lost else "")
        if told:
            yield from Notify(self._call_listeners, LeaderEvent(False, lead))

    def _check_running(self) -> Script[None]:
        """Raise unless we are between start and close, and nothing went wrong. Wakes this script
        when that changes."""
        yield from Recall(self, watch=True)
        yield from self._check_started()
        failed: Any = yield from Recall(self._failed, watch=True)
        if failed is not None:
            raise copy(failed)
