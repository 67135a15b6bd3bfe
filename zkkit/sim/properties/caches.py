"""What holds of caches, of groups and of reads: what is shown agrees with what there is.

Scripts say what a cache shows by `Say("sees", value)`, 0 for nothing there, and of what it tells by
`Say("event", value)`; what a group shows by `Say("members", count)`. A fresh read says
`Say("asks")` before and `Say("reads", value)` after. Values of one node are to be different ones.

A cache of many nodes says by `Mark("cached", path, mzxid, kind)` what it takes over: created,
changed or deleted (with the mzxid it had).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...paths import join, split
from .. import state as at
from ..state import Fact
from .base import OfFacts, Property, Value, View, read
from .goals import SomebodySays
from .locks import why_not_real
from .waiting import waiting


def number(data: bytes) -> int:
    """The number in a node's data; 0 for no data."""
    return int(data or b"0")


def everything(path: str) -> bool:
    """Whatever there is."""
    return True


def _living(view: View) -> list[int]:
    return [number for number, actor in enumerate(view.actors) if actor[at.FRAMES]]


def _stays(fact: Fact, view: View) -> bool:
    """Whether what somebody shows who has just ended is what it shows for good: it has ended well,
    and nothing has struck that it could have given way to."""
    return fact.what is None and not view.struck


class Shows(Property):
    """Whatever somebody shows is what there is, when nothing is under way: also if it has ended by
    then, and nothing made it end; also if it watches and its wait ends by its clock."""

    wants = frozenset({"said", "ended"})
    memo: Any = ()  # of each actor: what it shows, and whether it has ended
    word = ""

    def there(self, view: View) -> int:
        """What there is."""
        raise NotImplementedError

    def text(self, who: str, shown: int, there: int) -> str:
        """What is wrong, in words."""
        raise NotImplementedError

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        said = {actor: (shown, over) for actor, shown, over in memo}
        for fact in facts:
            if fact.kind == "ended":
                last = said.pop(fact.actor, None)
                if last is not None and _stays(fact, view):
                    said[fact.actor] = (last[0], True)
            elif fact.what == self.word:
                said[fact.actor] = (fact.outcome, False)
        return tuple(sorted((actor, *each) for actor, each in said.items())), None

    def calm(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, _living(view))

    def idle(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, waiting(view))

    def _wrong(self, memo: Any, view: View, those: Sequence[int]) -> str | None:
        there = self.there(view)
        for actor, shown, over in memo:
            if shown != there and (over or actor in those):
                return self.text(view.name(actor), shown, there)
        return None


class Converges(Shows):
    """When nothing is under way every cache shows what the node `path` has."""

    name = "caches converge"
    needs = SomebodySays("sees")
    word = "sees"

    def __init__(self, path: str, value: Value = number) -> None:
        self.path = path
        self._value = value

    def there(self, view: View) -> int:
        entry = view.tree.nodes.get(self.path)
        return 0 if entry is None else read(self._value, self.path, entry.data)

    def text(self, who: str, shown: int, there: int) -> str:
        return f"{who} shows {shown} for good, and {self.path} has {there}"


class MembersAreCounted(Shows):
    """When nothing is under way every group shows as many members as `path` has children."""

    name = "members are counted"
    needs = SomebodySays("members")
    word = "members"

    def __init__(self, path: str) -> None:
        self.path = path

    def there(self, view: View) -> int:
        entry = view.tree.nodes.get(self.path)
        return 0 if entry is None else len(entry.children)

    def text(self, who: str, shown: int, there: int) -> str:
        return (
            f"{who} shows {shown} member{'s' * (shown != 1)} for good, and {self.path} has {there}"
        )


class MembersAreReal(OfFacts):
    """Whoever says by `Mark("entered", ...)` that it is a member has an ephemeral node of its own
    session, below `path` if one is given: unless the server has just ended that, which the client
    cannot know, or its follower lags."""

    name = "members are real"
    wants = frozenset({"said"})

    def __init__(self, path: str = "") -> None:
        self.path = path

    def wrong(self, fact: Fact, view: View) -> str | None:
        if fact.what != "entered" or fact.mark is None:
            return None
        path, zxid = fact.mark.path, fact.mark.zxid
        why = why_not_real(view, fact.actor, path, zxid)
        entry = view.tree.nodes.get(path)
        if why is None and entry is not None and not entry.owner:
            why = "which would outlive its session"
        if why is None and self.path and split(path)[0] != self.path:
            why = f"which is not below {self.path}"
        return f"{view.name(fact.actor)} enters by {path}, {why}" if why else None


class MembersAreAlive(Property):
    """When all is quiet every member, a child of `path`, is of a session in which somebody still
    lives."""

    name = "members are alive"

    def __init__(self, path: str) -> None:
        self.path = path

    def quiet(self, memo: Any, view: View) -> str | None:
        group = view.tree.nodes.get(self.path)
        if group is None:
            return None
        homes = {view.home(a) for a, actor in enumerate(view.actors) if actor[at.FRAMES]}
        living = {view.sessions[home][at.ID] for home in homes}
        for name in sorted(group.children):
            member = join(self.path, name)
            owner = view.tree.nodes[member].owner
            if owner not in living:
                gone = "whose session has no more to do" if owner else "which is of no session"
                return f"{member} stays a member for good, {gone}"
        return None


class NobodyRemovesMembers(Property):
    """Nobody deletes a member, an ephemeral child of `path`, of a session other than its own."""

    name = "nobody removes other members"
    wants = frozenset({"applied", "deleted"})
    memo: tuple[tuple[str, int, int], ...] = ()  # the members: path, czxid, and whose session it is

    def __init__(self, path: str) -> None:
        self.path = path

    def at_first(self, view: View) -> Any:
        return self._members(view)

    def _members(self, view: View) -> tuple[tuple[str, int, int], ...]:
        nodes = view.tree.nodes
        paths = (
            [join(self.path, name) for name in nodes[self.path].children]
            if (self.path in nodes)
            else []
        )
        owned = [(path, nodes[path].czxid, nodes[path].owner) for path in paths]
        return tuple(sorted(each for each in owned if each[2]))

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        owners = {(path, czxid): owner for path, czxid, owner in memo}
        wrong = None
        for fact in facts:
            if fact.kind == "deleted" and fact.actor >= 0 and wrong is None:
                owner = owners.get((fact.what, fact.outcome), 0)
                whose = owner % 1000 - 1
                if owner and whose != view.home(fact.actor):
                    who, session = view.name(fact.actor), view.session_name(whose)
                    wrong = f"{who} deletes {fact.what}, a member of {session}"
        return self._members(view), wrong


class OfValues(Property):
    """A property of what a node has had so far, and of what is said of it."""

    wants = frozenset({"applied", "said"})

    def __init__(self, path: str, value: Value = number) -> None:
        self.path = path
        self._value = value

    def at_first(self, view: View) -> Any:
        return ((self._now(view),), ())

    def _now(self, view: View) -> int:
        entry = view.tree.nodes.get(self.path)
        return 0 if entry is None else read(self._value, self.path, entry.data)

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        values, marks = memo
        now = self._now(view)
        if values[-1] != now:
            values = (*values, now)
        places = {actor: (place, session) for actor, place, session in marks}
        wrong = None
        for fact in facts:
            if fact.kind == "said":
                session = view.sessions[view.home(fact.actor)][at.ID]
                wrong = wrong or self.said(fact, values, places, session, view)
        marks = tuple(sorted((actor, *place) for actor, place in places.items()))
        return (values, marks), wrong

    def said(
        self,
        fact: Fact,
        values: tuple[int, ...],
        places: dict[int, tuple[int, int]],
        session: int,
        view: View,
    ) -> str | None:
        """Something was said: what is wrong with that. `places`: how far each actor was among the
        values, and in which session."""
        raise NotImplementedError


def _places(value: int, values: Sequence[int]) -> list[int]:
    """Where it stands among the values; -1 for what was never there."""
    return [place for place, each in enumerate(values) if each == value] or [-1]


class NeverGoesBack(OfValues):
    """What a cache shows was there, and is never older than what it has shown before, in one
    session."""

    name = "caches never go back"
    needs = SomebodySays("sees")

    def said(
        self,
        fact: Fact,
        values: tuple[int, ...],
        places: dict[int, tuple[int, int]],
        session: int,
        view: View,
    ) -> str | None:
        if fact.what != "sees":
            return None
        before, then = places.get(fact.actor, (-1, session))
        least = before if then == session else -1
        who, shown = view.name(fact.actor), fact.outcome
        later = [place for place in _places(shown, values) if place >= least]
        if later and later[0] >= 0:
            places[fact.actor] = (later[0], session)
            return None
        if shown in values:
            return f"{who} goes back from {values[before]} to {shown}"
        # A node that goes with its session leaves no value, and no fact.
        return f"{who} shows {shown}, which {self.path} never had" if shown else None


class FreshReads(OfValues):
    """Whoever asks reads what was there when it asked, or something newer: `Say("asks")` before it
    begins, `Say("reads", value)` when it has it."""

    name = "reads are fresh"
    needs = SomebodySays("reads")

    def said(
        self,
        fact: Fact,
        values: tuple[int, ...],
        places: dict[int, tuple[int, int]],
        session: int,
        view: View,
    ) -> str | None:
        if fact.what == "asks":
            places[fact.actor] = (len(values) - 1, session)
        elif fact.what == "reads" and fact.actor in places:
            asked, _ = places.pop(fact.actor)
            if max(_places(fact.outcome, values)) < asked:
                who, there = view.name(fact.actor), values[asked]
                return f"{who} reads {fact.outcome}, and when it asked {self.path} had {there}"
        return None


class EventsSumUp(Property):
    """The last event that a cache told of agrees with what it shows when nothing is under way, and
    no event is told twice in a row. With `always` each change of what it shows is told."""

    name = "events sum up"
    needs = SomebodySays("sees")
    wants = frozenset({"said", "ended"})
    # of each actor: the last event, what it shows, whether that has changed, whether it has ended
    memo: Any = ()

    def __init__(self, *, always: bool = False) -> None:
        self._always = always

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        told = {actor: tuple(rest) for actor, *rest in memo}
        wrong = None
        for fact in facts:
            event, shown, changed, _ = told.get(fact.actor, (None, None, False, False))
            if fact.kind == "ended":
                if told.pop(fact.actor, None) and _stays(fact, view):
                    told[fact.actor] = (event, shown, changed, True)
            elif fact.what == "sees":
                changed = changed or (shown is not None and shown != fact.outcome)
                told[fact.actor] = (event, fact.outcome, changed, False)
            elif fact.what == "event":
                if event == fact.outcome:
                    wrong = wrong or f"{view.name(fact.actor)} tells of {event} twice"
                told[fact.actor] = (fact.outcome, shown, changed, False)
        return tuple((actor, *told[actor]) for actor in sorted(told)), wrong

    def calm(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, _living(view))

    def idle(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, waiting(view))

    def _wrong(self, memo: Any, view: View, those: Sequence[int]) -> str | None:
        for actor, event, shown, changed, over in memo:
            if shown is None or not (over or actor in those):
                continue
            who = view.name(actor)
            if event is None and changed and self._always:
                return f"{who} shows {shown} and has told of no change"
            if event is not None and event != shown:
                return f"{who} shows {shown}, and the last event it told was {event}"
        return None


class CachesAddUp(Property):
    """What a cache has told so far adds up: a node is created before it changes or is deleted, and
    only if it is not there; none comes back as it was, or older. When nothing is under way it adds
    up to what is below `path`, as far as `covers` says. A cache is whoever A has spawned, and what
    A itself takes over counts as well; or A is one, if it has spawned nobody."""

    name = "caches add up"
    needs = SomebodySays("cached")
    wants = frozenset({"said", "ended"})
    # by owner: what its cache has, the newest it has ever told, by path, and whether it has ended
    memo: Any = ()

    def __init__(self, path: str, covers: Callable[[str], bool] = everything) -> None:
        self.path = path
        self._covers = covers

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        told = {owner: (dict(has), dict(newest), over) for owner, has, newest, over in memo}
        wrong = None
        for fact in facts:
            owner, _, cache = view.name(fact.actor).partition("'s ")
            if fact.kind == "ended" and cache:
                told.pop(owner, None)
            elif fact.kind == "ended" and owner in told:
                over = _stays(fact, view) and not _lives_on(owner, view)
                told[owner] = (*told[owner][:2], over)
            elif fact.what == "cached":
                has, newest, _ = told.setdefault(owner, ({}, {}, False))
                found = self._takes_over(fact.mark, has, newest)
                if found:
                    wrong = wrong or f"{view.name(fact.actor)} {found}"
        after = [
            (owner, tuple(sorted(has.items())), tuple(sorted(newest.items())), over)
            for owner, (has, newest, over) in sorted(told.items())
        ]
        return tuple(after), wrong

    def _takes_over(self, mark: Any, has: dict[str, int], newest: dict[str, int]) -> str | None:
        """What is wrong with what a cache tells, which it has from now on."""
        kind, path, zxid = mark.kind, mark.path, mark.zxid
        before = has.pop(path, None)
        if kind == "deleted":
            return None if before == zxid else f"tells that {path} is deleted, which it has not"
        has[path] = zxid
        last, newest[path] = newest.get(path, 0), zxid
        if (kind == "created") != (before is None):
            there = "is not there" if before is None else "is there"
            return f"tells that {path} is {kind}, which by what it told {there}"
        return None if zxid > last else f"goes back: {path} is {kind} as it was before"

    def calm(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, _living(view))

    def idle(self, memo: Any, view: View) -> str | None:
        return self._wrong(memo, view, waiting(view))

    def _wrong(self, memo: Any, view: View, those: Sequence[int]) -> str | None:
        has = {owner: dict(content) for owner, content, _, _ in memo}
        ended = {owner for owner, _, _, over in memo if over}
        nodes = view.tree.nodes.items()
        there = {path: entry.mzxid for path, entry in nodes if self._is_covered(path)}
        for actor, state in enumerate(view.actors):
            owner, _, cache = view.name(actor).partition("'s ")
            if owner not in ended and not (actor in those and (cache or owner in has)):
                continue
            shown = has.get(owner, {})
            for path in sorted(shown.keys() | there.keys()):
                if shown.get(path) != there.get(path):
                    how = "has not seen what has become of" if path in shown else "lacks"
                    return f"{owner}'s cache {how} {path}, and {_does(state)}"
        return None

    def _is_covered(self, path: str) -> bool:
        inside = path == self.path or path.startswith(f"{self.path}/")
        return inside and self._covers(path)


def _lives_on(owner: str, view: View) -> bool:
    """Whether somebody lives whom this one has spawned."""
    spawned = range(len(view.everybody), len(view.actors))
    return any(
        view.actors[a][at.FRAMES] and view.name(a).startswith(f"{owner}'s ") for a in spawned
    )


def _does(actor: Any) -> str:
    return "waits" if actor[at.FRAMES] else "has ended"
