"""Why a story ended as it did: the culprit, in a few words for the headline, and in sentences.

It is found out from the last state and from the facts of the story. Where there is nothing to add
to what the property said, there is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AnySet

from ..errors import NodeExists
from ..steps import Create, Multi
from . import state as at
from .in_vain import Reason, creation, what_others_do, why_they_wait
from .places import hint, script_at
from .properties.base import written
from .snapshot import short
from .state import Event
from .telling import Teller, Told, words_of

_AT_LEISURE = ("work", "pause over")  # nothing else is under way
NOTHING_TO_ADD = Reason("", ())


def explained(teller: Teller, moves: Sequence[Event], finding: str) -> Reason:
    """Why it ended so. `moves`: what could still happen by itself; `finding`: what is wrong."""
    failed = _failed(teller, finding)
    if failed is not None:
        return failed
    touched = _touched(teller, finding)
    if all(move[0] in _AT_LEISURE for move in moves):
        waiting = why_they_wait(teller, finding)
        if touched is not None:
            more = () if waiting is None else waiting.sentences
            return Reason(touched.brief, (*touched.sentences, *more))
        if waiting is not None:
            return waiting
        if not any(actor[at.FRAMES] for actor in teller.draft.actors):
            return _left_behind(teller, finding)
    return touched or _last_requests(teller, finding) or _granted_beside_others(teller)


def _failed(teller: Teller, finding: str) -> Reason | None:
    """Somebody has ended with an error: at which line."""
    for each in teller.told:
        fails = f"{teller.roster.names[each.actor]} fails with " if each.actor >= 0 else ""
        if each.fact.kind == "ended" and each.where and fails and finding.startswith(fails):
            return Reason(f"in {script_at(each.where)}", ())
    return None


def _touched(teller: Teller, finding: str) -> Reason | None:
    """Somebody has said that it has done what was never applied, or has removed an item that is
    lost, or written a counter that is wrong: who, and at which line."""
    counter = _COUNTER.match(finding)
    if counter is not None:
        claim = _unfounded(teller, ("adds", "added"), lambda told: _wrote(teller, told, counter[1]))
        if claim is not None and finding.endswith(" was added"):
            return claim
        writes = [each for each in teller.told if _wrote(teller, each, counter[1])]
        return _by(teller, writes[-1], f"wrote {counter[1]} last") if writes else None
    lost = {int(number) for number in _ITEM.findall(finding)} if _LOST in finding else set()
    claim = _unfounded(teller, ("puts", "put"), _creates, lost) if lost else None
    if claim is not None:
        return claim
    for each in teller.told if lost else ():
        item = _item(teller, each) if each.fact.kind == "deleted" else None
        if item in lost:
            return _by(teller, each, f"removed item {item}")
    return None


_COUNTER = re.compile(r"(/\S*) shows -?\d+, where ")
_ITEM = re.compile(r"\bitem (-?\d+)")
_LOST = " lost: put, never "


def _by(teller: Teller, told: Told, did: str) -> Reason:
    who = teller.roster.names[told.actor] if told.actor >= 0 else "somebody who has left"
    said = f"{who} {did}, in step {told.number}{hint(told.where, 1)}"
    return Reason(said, (said,))


def _unfounded(
    teller: Teller,
    words: tuple[str, str],
    does: Callable[[Told], bool],
    items: AnySet[int] = frozenset(),
) -> Reason | None:
    """Somebody has said that it has done something (one of these items) of which nothing was
    applied since it said that it begins."""
    begins, done = words
    failed: dict[int, Told] = {}
    founded: set[int] = set()
    for each in teller.told:
        fact, a = each.fact, each.actor
        if fact.kind == "said" and fact.what == begins:
            failed.pop(a, None)
            founded.discard(a)
        elif fact.kind == "lost":
            failed[a] = each
        elif fact.kind == "applied" and does(each):
            founded.add(a)
        elif fact.kind == "said" and fact.what == done and a in failed and a not in founded:
            if items and fact.outcome not in items:
                continue
            lost, who = failed[a], teller.roster.names[a]
            claim = f"{who} said {done!r} in step {each.number}{hint(each.where, 1)}"
            request = words_of(teller.roster, lost.fact.what)
            where = f"step {lost.number}{hint(lost.where, 1)}"
            why = f"{claim}, and nothing of it was applied: `{request}` was lost in {where}"
            return Reason(f"{claim}, though its request was lost", (why,))
    return None


def _creates(told: Told) -> bool:
    """Whether this is a request that has created a node with data."""
    fact = told.fact
    if isinstance(fact.outcome, BaseException):
        return False
    ops = fact.what.ops if isinstance(fact.what, Multi) else (fact.what,)
    return any(isinstance(op, Create) and op.data for op in ops)


def _wrote(teller: Teller, told: Told, path: str) -> bool:
    """Whether this is a request that has written this node."""
    if told.fact.kind != "applied":
        return False
    return path in [short(teller.roster.names, each) for each in written(told.fact)]


def _item(teller: Teller, deleted: Told) -> int | None:
    """The number of an item that was deleted: what whoever created it said before. (What was
    created along with it, without data, is none.)"""
    path = deleted.fact.what
    made = creation(teller, path)
    if made is None:
        return None
    request, outcome = made.fact.what, made.fact.outcome
    op = request.ops[outcome.index(path)] if isinstance(request, Multi) else request
    if not op.data:
        return None
    before = teller.told[: teller.told.index(made)]
    said = [e.fact for e in before if e.actor == made.actor and e.fact.what == "puts"]
    return int(said[-1].outcome) if said else None


def _last_requests(teller: Teller, finding: str) -> Reason | None:
    """What those who go round for ever asked for last, and what the others do."""
    names, actors = teller.roster.names, teller.draft.actors
    round_ = [a for a in range(len(actors)) if f"{names[a]} goes round for ever" in finding]
    said, brief = [], ""
    for a in round_:
        deeds = [deed for scene in teller.scenes for deed in scene.deeds]
        asked = [each for each in deeds if each.kind == "request" and each.who == names[a]]
        if asked:
            last = asked[-1]
            place = hint(last.where, 1)
            said.append(f"{names[a]} asked last: {last.text} -> {last.outcome}{place}")
        in_the_way = _in_the_way(teller, a)
        if in_the_way is not None:
            brief = brief or in_the_way.brief
            said += in_the_way.sentences
    return Reason(brief, (*said, *what_others_do(teller, round_))) if round_ else None


def _in_the_way(teller: Teller, a: int) -> Reason | None:
    """The node that somebody who goes round for ever finds in its way: who has left it there. (If
    that one deleted it some time, this were no round without an end.)"""
    asked = [each.fact for each in teller.told if each.actor == a and each.fact.kind == "applied"]
    last = asked[-1] if asked else None
    if last is None or not isinstance(last.outcome, NodeExists):
        return None
    made = creation(teller, last.what.path) if isinstance(last.what, Create) else None
    if made is None or made.actor in (a, -1):
        return None
    who, path = teller.roster.names[made.actor], short(teller.roster.names, last.what.path)
    brief = f"{who} never deletes {path}"
    return Reason(brief, (f"{brief}, which it created in step {made.number}{hint(made.where, 1)}",))


def _left_behind(teller: Teller, finding: str) -> Reason:
    """All have ended: whose nodes are left, and who touched them last."""
    brief: list[str] = []
    said: list[str] = []
    nodes = teller.draft.tree.nodes
    for path in sorted(path for path, entry in nodes.items() if entry.owner):
        made = creation(teller, path)
        if made is None:
            continue
        name, who = short(teller.roster.names, path), teller.roster.names[made.actor]
        if name in finding:
            brief.append(f"{who} created it in step {made.number}{hint(made.where, 1)}")
        said.append(f"{who} created {name} in step {made.number}{hint(made.where, 1)}")
        later = [
            each
            for each in teller.told
            if each.fact.kind == "applied"
            and each.number > made.number
            and getattr(each.fact.what, "path", "") == path
        ]
        if later:
            last = later[-1]
            by = teller.roster.names[last.actor] if last.actor >= 0 else "somebody who has left"
            said.append(f"{by} touched it last, in step {last.number}{hint(last.where, 1)}")
        else:
            said.append(f"nobody has touched {name} since")
        ends = [e for e in teller.told if e.fact.kind == "ended" and e.actor == made.actor]
        if ends:
            error = ends[-1].fact.what
            how = "" if error is None else f" with {type(error).__name__}"
            said.append(
                f"{who}'s script ended in step {ends[-1].number}{how}{hint(ends[-1].where, 1)}"
            )
    return Reason(brief[0] if len(brief) == 1 else "", tuple(said))


def _granted_beside_others(teller: Teller) -> Reason:
    """The last event granted something: to whom, and who held then."""
    last = len(teller.scenes) - 1
    grants = [each for each in teller.told if each.fact.kind == "acquired"]
    new = [each for each in grants if each.number == last]
    if not new:
        return NOTHING_TO_ADD
    names, said = teller.roster.names, []
    late = new[-1]
    for held in teller.draft.grants:
        since = [e for e in grants if (e.fact.what, e.fact.outcome) == (held.path, held.zxid)]
        if since and since[-1] is not late:
            before = since[-1]
            said.append(
                f"{names[late.actor]} is granted {short(names, late.fact.what)} in step {last}"
                f"{hint(late.where, 1)} though {names[before.actor]} holds "
                f"{short(names, before.fact.what)} since step {before.number}"
                f"{hint(before.where, 1)}"
            )
    return Reason("", tuple(said))
