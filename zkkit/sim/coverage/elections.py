"""Elections: two or three candidates that each lead once, or let a function do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import SessionLost
from ...recipes.elections import LeaderLatch, LeaderSelector, LeaderTerm
from ...recipes.herd import HerdElection
from ...recipes.tenure import still_held
from ...steps import Recall, Script, Wait
from ..properties import ServesOnce, of_an_election
from ..steps import Say, Work
from ..world import SimSession
from .cast import LOST, Begin, Cast, Life

# --- lives ----------------------------------------------------------------------------------


def leading(make: Callable[[SimSession], Any]) -> Life:
    """Starts the latch that is made of its session, works when it leads, closes it."""

    def live(session: SimSession) -> Begin:
        latch = make(session)

        def begin(deadline: float | None) -> Script[None]:
            yield from latch.start.of()
            try:
                lead = yield from latch.wait.of(timeout=deadline)
                if lead is not None:
                    yield from Work()
                    yield from Say("believes" if (yield from still_held(lead)) else "doubts")
            except SessionLost:
                yield from Work()  # meanwhile the candidate stands again
            finally:
                yield from latch.close.of()

        return begin

    return live


def letting_serve(make: Callable[..., Any], *, again: bool = False) -> Life:
    """Starts a selector, and closes it when it leads or led, at any moment; its function works for
    as long as it likes. `again`: while it leads it asks to stand once more."""

    def live(session: SimSession) -> Begin:
        who = session.number

        def function(term: LeaderTerm[Any]) -> Script[None]:
            yield from Say("serves", who)
            yield from Say("believes" if (yield from still_held(term)) else "doubts")
            yield from Work()
            yield from Say("served", who)

        selector = make(session, "/l", function)

        def begin(deadline: float | None) -> Script[None]:
            yield from selector.start.of()
            try:
                while (yield from Recall((selector, "led"), watch=True)) is None:
                    yield from Wait()
                if again:
                    yield from selector.requeue.of()
                yield from Work()
            except SessionLost:
                yield from Work()  # meanwhile the selector stands again, if it has not led
            finally:
                yield from selector.close.of()

        return begin

    return live


# --- the casts --------------------------------------------------------------------------------

_ASKED = of_an_election(fails=LOST)
_SERVING = (ServesOnce(), *_ASKED)
_LATCH = leading(lambda s: LeaderLatch(s, "/l"))
_PATIENT = leading(lambda s: LeaderLatch(s, "/l", error_policy="lost"))
_HERD = leading(lambda s: HerdElection(s, "/l"))
_SELECTOR = letting_serve(LeaderSelector)
_AGAIN = letting_serve(LeaderSelector, again=True)

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "election": (
        Cast("LeaderLatch", (_LATCH,) * 2, _ASKED),
        Cast("LeaderLatch", (_LATCH,) * 2, _ASKED, shared=True),
        Cast("LeaderLatch", (_LATCH,) * 3, _ASKED, preemptions=2),
        Cast("LeaderLatch", (_LATCH,) * 3, _ASKED, one_process=True, preemptions=2),
        Cast("LeaderLatch, policy lost", (_PATIENT,) * 2, _ASKED),
        Cast("HerdElection", (_HERD,) * 2, _ASKED),
        Cast("HerdElection", (_HERD,) * 3, _ASKED),
        Cast("LeaderSelector", (_SELECTOR,) * 2, _SERVING),
        Cast("LeaderSelector", (_SELECTOR,) * 3, _SERVING, one_process=True, preemptions=1),
        Cast("LeaderSelector, one of them stands again", (_AGAIN, _SELECTOR), _SERVING),
    ),
}
