"""The machine: the rules by which a world moves, put together from parts.

    roster        who takes part, in which session
    choices       what can happen next in a state
    actors        scripts going on, by the kernel's rules, with what they wait for
    watch_users   who uses which watch
    servers       requests applied, changes seen, watches fired
    connections   connections that break, sessions that end

Each part that makes something happen has a table of its events. `after` finds an event's handler in
the table of them all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from . import state as at
from .actors import Actors, Stride
from .choices import Choices
from .connections import Connections
from .faults import Faults
from .roster import Roster, Setting
from .scripts import Root, dismiss, quietly
from .servers import SimServers
from .state import GONE, Draft, Event, State, forget_lag, session_id
from .user_code import UserCode
from .watch_users import WatchUsers
from .watchdog import Activity
from .watching import NO_WATCHES


class Machine:
    """The rules by which a world with actors moves."""

    def __init__(
        self,
        setting: Setting,
        faults: Faults,
        servers: Callable[[Actors, WatchUsers], SimServers] = SimServers,
    ) -> None:
        self.activity = Activity()
        self.roster = roster = Roster(setting)
        self.kinds = setting.kinds
        self._budget = faults.budget(setting.kinds)
        self._place = {kind: 1 + place for place, kind in enumerate(setting.kinds)}
        self.tree = setting.tree
        """The nodes that are there at the beginning."""
        self._user_code = UserCode(self.activity)
        self._roots = [Root(plan.begin, self.activity) for plan in setting.actors]
        watches = WatchUsers(roster, careless=setting.careless_watches)
        self._actors = Actors(roster, watches, self._user_code, one_process=setting.one_process)
        self._servers = servers(self._actors, watches)
        listing = setting.tree.rules.listing
        choices = Choices(roster, setting.cancels, self._place, faults.whom, listing)
        self.moves, self.misfortunes = self._servers.choices(choices)
        """What can happen in a state: by itself, and which faults."""
        self._on: dict[str, Callable[..., None]] = {
            "lag": self._on_lag,
            **self._actors.events,
            **self._servers.events,
            **Connections(roster, self._actors, self._servers).events,
        }
        unhandled = [kind for kind in setting.kinds if kind not in self._on]
        if unhandled:
            raise LookupError(f"nothing says what these faults do: {', '.join(unhandled)}")

    # --- what can happen, and what it leads to ------------------------------------------------

    def begin(self) -> Draft:
        """The first state: every actor has run up to its first step that takes time. But who tells
        something on its way there is yet to come: when it does so matters."""
        roster = self.roster
        fresh: Any = (
            "up",
            False,
            (),
            None,
            NO_WATCHES,
            frozenset(),
            (),
            (),
            (),
            0,
            (),
            frozenset(),
        )
        sessions: tuple[Any, ...] = tuple(
            (session_id(s, 0), *fresh) for s in range(len(roster.session_names))
        )
        actors = tuple((((root.start, 0, 0.0),), "", *GONE[2:]) for root in self._roots)
        tree = self._servers.known(self.tree)
        state = (tree, sessions, actors, self._budget, (), (), ())
        draft = Draft(state)
        for a in range(len(actors)):
            if len(roster.crew[roster.home[a]]) > 1:
                # In one session requests keep their order, so when somebody begins matters.
                draft.actor(a)[at.DOES] = "begin"
            elif self._actors.tells_at_once(state, a):
                draft.actor(a)[at.DOES] = "come"
            else:
                self._actors.resume(draft, a)
        self._actors.drain(draft)
        return draft

    def after(self, state: State, event: Event) -> Draft:
        """The state after an event, still open for what the properties remember."""
        draft = Draft(state)
        kind = event[0]
        if kind in self._place:
            self._spend(draft, kind)
        self._on[kind](draft, *event[1:])
        self._actors.drain(draft)
        return draft

    def _spend(self, draft: Draft, kind: str) -> None:
        left = list(draft.budget)
        left[self._place[kind]] -= 1
        # What can no longer be spent makes no difference between two states.
        total = left[0] - 1
        draft.budget = (total, *[min(total, each) for each in left[1:]])

    def _on_lag(self, draft: Draft, s: int, kind: str, *rest: Any) -> None:
        """A session's follower begins to lag, and what it misses first happens."""
        session = draft.session(s)
        session[at.LAGS], session[at.VIEW] = True, draft.tree
        if kind == "reply lost":
            self._spend(draft, kind)
            draft.behind = True
        self._on[kind](draft, *rest)
        session = draft.session(s)
        if not session[at.UNSEEN]:
            forget_lag(session)  # the server refused: nothing was missed

    def follow(self, trail: list[Stride] | None) -> None:
        """Add every step of a script to this, until told otherwise (None)."""
        self._actors.follow(trail)

    # --- scripts ------------------------------------------------------------------------------

    def check_purity(self) -> None:
        """Run every script once more as far as it came: some were never run twice."""
        for moment in list(self.activity.latest.values()):
            moment.root.generator_at(moment)
        self._user_code.check_purity()

    def close(self) -> None:
        """Give up all generators."""
        gone = [dismiss(generator) for generator in self.activity.generators]
        with nullcontext() if all(gone) else quietly():
            if not all(gone):
                for root in self._roots:
                    root.let_go()
                self.activity.latest.clear()
            self.activity.generators.clear()

    @property
    def stood_still(self) -> tuple[str, ...]:
        """The steps that always gave 0 to scripts other than zkkit's own."""
        return tuple(sorted(self._actors.stood_still))
