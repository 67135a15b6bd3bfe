"""Why whoever waits in the end waits in vain: what for, who could have woken it, and why nobody
will.

This explains a state in which nothing is under way. It is computed from that state and from the
facts of the story; no property needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ZkkitError
from ..kernel import WatchKey, WatchKind, watch_of
from ..paths import join
from ..steps import FireKind, Mode, Multi, Node
from . import state as at
from .places import hint
from .snapshot import short, stands
from .telling import Teller, Told, words_of
from .watching import TABLES


class Reason(NamedTuple):
    """Why something went wrong: in a few words, for the headline, and in sentences."""

    brief: str
    sentences: tuple[str, ...]
    blames: bool = True
    """Whether the few words say more than what was waited for."""


_MOST = 3  # who wait and are explained


def why_they_wait(teller: Teller, finding: str) -> Reason | None:
    """Why nobody wakes those who wait where the story ends; None if nobody waits. First comes the
    one that the finding names."""
    waiting = [a for a in range(len(teller.draft.actors)) if _sleeps(teller, a)]
    if not waiting:
        return None
    names = teller.roster.names
    waiting.sort(key=lambda a: not finding.startswith(f"{names[a]} "))
    reasons = [_Sleeper(teller, a).reason() for a in waiting[:_MOST]]
    said = [sentence for each in reasons for sentence in each.sentences]
    first = reasons[0]
    brief = first.brief if finding.startswith(f"{names[waiting[0]]} waits") else ""
    if not first.blames and "watching" in finding:
        brief = ""  # the finding says what it waits for
    return Reason(brief, (*said, *what_others_do(teller, waiting, " ".join(said))))


def _sleeps(teller: Teller, a: int) -> bool:
    """Whether an actor waits to be woken: for ever, or until its clock wakes it instead."""
    does = teller.draft.actors[a][at.DOES]
    users = teller.draft.sessions[teller.roster.home[a]][at.USERS] if does == "pause" else ()
    return does == "wait" or any(user[2] == a for user in users)


def what_others_do(teller: Teller, told_of: Sequence[int], said: str = "") -> list[str]:
    """What those do who are not told of, unless that has been said already."""
    doing: dict[str, list[str]] = {}
    actors = teller.draft.actors
    for a, actor in enumerate(actors):
        name = teller.roster.names[a]
        does = _STILL.get(actor[at.DOES], "works") if actor[at.FRAMES] else "ended"
        if name and a not in told_of and not (does == "ended" and f"{name}'s script has" in said):
            doing.setdefault(does, []).append(name)
    parts = [f"{_all_of(names)} {_VERBS[does][len(names) > 1]}" for does, names in doing.items()]
    if parts:
        return ["; ".join(parts)]
    return [] if len(actors) > 1 else ["there is nobody else"]


_STILL = {"pause": "pauses", "wait": "waits"}
_VERBS = {
    "ended": ("has ended", "have ended"),
    "works": ("is still at work", "are still at work"),
    "waits": ("waits as well", "wait as well"),
    "pauses": ("waits for its clock", "wait for their clocks"),
}


def _all_of(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


class _Sleeper:
    """Somebody who waits."""

    def __init__(self, teller: Teller, a: int) -> None:
        self._teller = teller
        self._roster = teller.roster
        self._draft = teller.draft
        self._a = a
        self._home = teller.roster.home[a]
        self._session = teller.draft.sessions[self._home]
        self._name = teller.roster.names[a]
        self._stands = hint(stands(teller.draft.actors)[a], 1)

    def reason(self) -> Reason:
        users = sorted(user for user in self._session[at.USERS] if user[2] == self._a)
        if not users:
            return self._without_a_watch()
        reasons = [self._of_watch(WatchKey(kind, path)) for kind, path, _ in users]
        said = [sentence for each in reasons for sentence in each.sentences]
        return Reason(reasons[0].brief, tuple(said), reasons[0].blames)

    # --- no watch -----------------------------------------------------------------------------

    def _without_a_watch(self) -> Reason:
        if any(a == self._a for _, a in self._session[at.HEEDS]):
            sentence = f"{self._name} waits for something in its own session{self._stands}"
            return Reason("", (f"{sentence}, which nobody there will do any more",))
        sentence = f"{self._name} waits without a watch{self._stands}: nothing can wake it"
        return Reason("it has no watch", (sentence, self._no_watch_since()))

    def _no_watch_since(self) -> str:
        for each in reversed(self._teller.told):
            fact = each.fact
            if each.actor != self._a:
                continue
            if fact.kind == "woke" and fact.what.kind is FireKind.NONE:
                return f"its watch went with the connection in step {each.number}"
            if fact.kind == "woke":
                path = self._short(fact.what.path)
                return f"its watch of {path} fired in step {each.number}, and it set no other"
            if fact.kind == "applied" and watch_of(fact.what):
                asked = words_of(self._roster, fact.what)
                if isinstance(fact.outcome, ZkkitError):
                    error = type(fact.outcome).__name__
                    return f"`{asked}` gave {error} in step {each.number}: that sets no watch"
                return f"the watch that it set in step {each.number} (`{asked}`) is used up"
        return "it never set one"

    # --- a watch ------------------------------------------------------------------------------

    def _of_watch(self, key: WatchKey) -> Reason:
        path = self._short(key.path)
        entry = self._draft.tree.nodes.get(key.path)
        begins = self._set_in(key)
        since = f" (watched since step {begins})" if begins else ""
        then = self._teller.scenes[begins].nodes
        what = _awaited(key.kind, path, path in [node.path for node in then])
        clock = ", or for its clock" if self._draft.actors[self._a][at.DOES] == "pause" else ""
        waits = f"{self._name} waits for {what}{since}{clock}{self._stands}"
        on_server = {(table, where) for table, where, _ in self._session[at.WATCHES]}
        if not any((table, key.path) in on_server for table in TABLES[key.kind]):
            return Reason(f"its watch of {path} is gone", (waits, self._taken_away(path)))
        if entry is None:
            brief, why = self._not_there(key.path, begins)
        elif entry.owner and key.kind is not WatchKind.CHILD:
            brief, why = self._owned(key.path, entry)
        else:
            why, made = self._stays(key, path, entry), creation(self._teller, key.path)
            left = self._left_by_the_ended(key.path) if key.kind is WatchKind.CHILD else []
            if left:
                return Reason(left[0], (waits, why, *left))
            if key.kind is WatchKind.CHILD or made is None:
                return Reason(f"for {what}", (waits, why), blames=False)
            brief = f"for {path}, {_kind(entry)} that {self._who(made.actor)} created"
        return Reason(brief, (waits, why))

    def _set_in(self, key: WatchKey) -> int:
        """The number of the scene in which it set this watch."""
        return next(
            (
                each.number
                for each in reversed(self._teller.told)
                if each.actor == self._a
                and each.fact.kind == "applied"
                and not isinstance(each.fact.outcome, ZkkitError)
                and watch_of(each.fact.what) == key
            ),
            0,
        )

    def _taken_away(self, path: str) -> str:
        for number, scene in enumerate(self._teller.scenes):
            for watch in scene.watches:
                if (watch.who, watch.path) == (self._name, path) and not watch.on_server:
                    ended = [each for each in self._ends() if each.number == number]
                    by = f", with that of {self._who(ended[0].actor)}, which ended" if ended else ""
                    return f"the server has this watch no more: it went in step {number}{by}"
        return "the server has this watch no more"

    def _not_there(self, path: str, begins: int) -> tuple[str, str]:
        short_path = self._short(path)
        scenes = self._teller.scenes
        there = [n for n, scene in enumerate(scenes) if short_path in [z.path for z in scene.nodes]]
        if not there:
            return f"for {short_path}, which is never created", (
                f"{short_path} was never there, and {self._left('create it')}"
            )
        gone = there[-1] + 1
        deleted = [
            each
            for each in self._teller.told
            if each.number == gone and each.fact.kind == "deleted" and each.fact.what == path
        ]
        by = f" by {self._who(deleted[0].actor)}{hint(deleted[0].where, 1)}" if deleted else ""
        when = ", before the watch was set" if begins >= gone else ""
        return f"for {short_path}, which is gone already", (
            f"{short_path} is gone already: it was deleted in step {gone}{by}{when}; "
            f"{self._left('create it again')}"
        )

    def _owned(self, path: str, entry: Any) -> tuple[str, str]:
        """An ephemeral node: it goes with its session, or whoever created it deletes it."""
        short_path, owner = self._short(path), entry.owner % 1000 - 1
        session, made = self._roster.session_names[owner], creation(self._teller, path)
        creators = self._roster.crew_of(owner, self._draft.actors) if made is None else [made.actor]
        if list(creators) == [self._a]:
            return f"for its own node {short_path}", (
                f"{short_path} is a node of {self._name}'s own session{self._made(path)}: it lives "
                f"as long as {self._name} waits"
            )
        said = f"{short_path} is a node of {session}, which lives{self._made(path)}"
        if any(self._is_alive(a) for a in creators):
            return f"for {short_path} of {session}", said
        ended = [each for each in self._ends() if each.actor in creators]
        how = "".join(f"{self._ended(each)}; " for each in ended)
        who = _all_of([self._who(each.actor) for each in ended]) if ended else session
        return f"for {short_path}, which {who} left behind", (
            f"{said}; {how}{self._left('delete it')}"
        )

    def _is_alive(self, a: int) -> bool:
        actors = self._draft.actors
        return a < len(actors) and bool(actors[a][at.FRAMES])

    def _stays(self, key: WatchKey, path: str, entry: Any) -> str:
        if key.kind is WatchKind.CHILD:
            return self._left(f"create or delete a child of {path}")
        made = self._made(key.path)
        return (
            f"{path} is {_kind(entry)}{made}: it stays as it is until somebody deletes or sets it"
        )

    def _left_by_the_ended(self, path: str) -> list[str]:
        """Which children go with sessions that live, though whoever created them has ended."""
        said = []
        for name in sorted(self._draft.tree.nodes[path].children):
            child = join(path, name)
            made = creation(self._teller, child)
            if made is None or made.actor < 0 or self._is_alive(made.actor):
                continue
            if self._draft.tree.nodes[child].owner:
                said.append(f"{self._who(made.actor)} has ended and left {self._short(child)}")
        return said

    # --- who is left --------------------------------------------------------------------------

    def _left(self, do: str) -> str:
        """Who is left to do something."""
        actors = enumerate(self._draft.actors)
        working = [
            a for a, each in actors if a != self._a and each[at.FRAMES] and each[at.DOES] != "wait"
        ]
        if working:
            return f"only {_all_of([self._who(a) for a in working])} could {do}"
        return f"nobody is left to {do}"

    def _made(self, path: str) -> str:
        """Who created a node, and when; "" if the story does not tell."""
        made = creation(self._teller, path)
        if made is None:
            return ""
        return f" ({self._who(made.actor)} created it in step {made.number}{hint(made.where, 1)})"

    def _ends(self) -> list[Told]:
        return [each for each in self._teller.told if each.fact.kind == "ended"]

    def _ended(self, end: Told) -> str:
        error = end.fact.what
        how = "" if error is None else f" with {type(error).__name__}"
        return f"{self._who(end.actor)}'s script has ended (in step {end.number}{how})"

    def _who(self, a: int) -> str:
        return self._roster.names[a] if a >= 0 else "somebody who has left"

    def _short(self, text: str) -> str:
        return short(self._roster.names, text)


def _kind(entry: Any) -> str:
    return "a container" if entry.mode is Mode.CONTAINER else "a persistent node"


def _awaited(kind: WatchKind, path: str, there: bool) -> str:
    """What a watch would tell of."""
    if kind is WatchKind.CHILD:
        return f"the children of {path} to change"
    if kind is WatchKind.RECURSIVE:
        return f"a change of {path} or below it"
    if kind is WatchKind.PERSISTENT:
        return f"a change of {path} or its children"
    return f"{path} to be deleted or set" if there else f"{path} to be created"


def creation(teller: Teller, path: str) -> Told | None:
    """The request that created a node, if the story tells of it."""
    each: Told
    for each in reversed(teller.told):
        request, outcome = each.fact.what, each.fact.outcome
        if isinstance(outcome, Node):
            made: tuple[Any, ...] = (outcome.path,)
        elif isinstance(request, Multi) and isinstance(outcome, tuple):
            made = outcome  # of each Create in it the path
        else:
            continue
        if path in made:
            return each
    return None
