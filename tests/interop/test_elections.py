"""One leader at a time, in the order of arrival, whichever language the candidates speak."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.interop.sides import PATIENCE
from zkkit.bench.kit.machine import cpu_between, cpu_used
from zkkit.check.overlap import HoldInterval, overlaps
from zkkit.recipes.elections import latch as latch_module
from zkkit.testing import eventually, expire

pytestmark = pytest.mark.interop

KINDS = ("latch", "selector")


@pytest.fixture(params=KINDS)
def stand(request, zk_path):
    """Makes a candidate of this kind for an actor."""
    return lambda actor: getattr(actor, request.param)(zk_path)


def leads(candidate: Any, terms: int = 1) -> int:
    """When it was told that it leads, the so-many-th time; waits for that."""
    told = candidate.heard.wait(terms, PATIENCE, "leader")
    assert len(told) >= terms, "nobody told it that it leads"
    return int(told[terms - 1].at_ns)


def line_up(candidates: Sequence[Any], looker: Any, path: str) -> None:
    """Start them so that they stand in this order."""
    for place, candidate in enumerate(candidates, 1):
        candidate.start()
        assert eventually(lambda wanted=place: len(looker.names(path)) == wanted)


def terms_of(candidates: Sequence[Any]) -> list[HoldInterval]:
    """Each leads when the one before was closed: from the telling until we close it."""
    terms = []
    for number, candidate in enumerate(candidates):
        began = leads(candidate)
        ended = time.monotonic_ns()
        candidate.stop()
        terms.append(HoldInterval(f"candidate {number}", "", began, ended))
    return terms


@pytest.mark.concurrent
def test_one_leader_at_every_moment(order, python, stand, zk_path):
    """Four candidates, the languages in turn: each leads from the moment the one before it goes,
    not earlier, and in the order in which they came."""
    candidates = [stand(order()) for _ in range(4)]
    line_up(candidates, python(), zk_path)
    leads(candidates[0])
    assert [each.is_leader() for each in candidates] == [True, False, False, False]
    assert overlaps(terms_of(candidates)) == []


def test_candidates_of_another_name_are_caught(python, java, zk_path, monkeypatch):
    """The broken twin: its nodes are called `lath-`, so the two languages elect one leader each."""
    monkeypatch.setattr(latch_module, "KIND", "lath-")
    ours, theirs = python().latch(zk_path), java().latch(zk_path)
    theirs.start()
    leads(theirs)
    ours.start()
    (term,) = terms_of([ours])
    still = HoldInterval("java", "", leads(theirs), time.monotonic_ns())
    assert overlaps([term, still])


def test_both_see_the_same_candidates(order, python, java, stand, zk_path):
    """Ids and leader are the same on both sides, also for one who does not stand."""
    actors = [order() for _ in range(4)]
    candidates = [stand(actor) for actor in actors]
    lookers = [stand(python()), stand(java())]
    line_up(candidates, python(), zk_path)
    names = tuple(actor.name for actor in actors)
    for looker in lookers:
        eventually(lambda one=looker: one.participants() == names, otherwise=looker.participants)
        assert looker.leader() == names[0]


@pytest.mark.concurrent
def test_a_leader_whose_session_ends_is_followed(order, python, stand, zk_path):
    """The next one of the other language is told, and the one after it."""
    actors = [order() for _ in range(3)]
    candidates = [stand(actor) for actor in actors]
    line_up(candidates, python(), zk_path)
    for actor, candidate, following in zip(actors, candidates, candidates[1:], strict=False):
        leads(candidate)
        assert not following.heard.all("leader")
        actor.close()
        leads(following)


@pytest.mark.concurrent
def test_an_expired_leader_stands_again(order, python, zk_hosts, zk_path):
    """The other language's candidate follows it, and it leads once more when that one goes."""
    actor = order()
    expired, following = actor.latch(zk_path), order().latch(zk_path)
    line_up([expired, following], python(), zk_path)
    leads(expired)
    expire(zk_hosts, actor.session_id, actor.password())
    leads(following)
    eventually(lambda: len(following.participants()) == 2, otherwise=following.participants)
    assert following.is_leader() and not expired.is_leader()
    following.stop()
    assert eventually(expired.is_leader)


def test_waiting_until_one_leads(order, zk_path):
    """Not as long as the other language's leader is there; then at once."""
    leading, waiting = (order().latch(zk_path) for _ in range(2))
    leading.start()
    assert leading.wait(PATIENCE)
    waiting.start()
    assert not waiting.wait(0.3)
    leading.stop()
    assert waiting.wait(PATIENCE)


def test_nobody_there_is_nobody_leading(python, java, stand):
    """Where nobody stands, both sides say so."""
    assert [stand(side()).leader() for side in (python, java)] == ["", ""]


@pytest.mark.concurrent
def test_selectors_in_rotation(order, python, zk_path):
    """Two that stand again whenever they have led: they take turns, and never lead together."""
    candidates = [order().selector(zk_path, auto_requeue=True) for _ in range(2)]
    line_up(candidates, python(), zk_path)
    for turn in range(6):
        leading, waiting = candidates[turn % 2], candidates[(turn + 1) % 2]
        leads(leading, turn // 2 + 1)
        eventually(lambda one=waiting: len(one.participants()) == 2)
        leading.give_up()
    for candidate in candidates:
        assert len(candidate.heard.wait(3, PATIENCE, "not leader")) == 3
    terms = [
        HoldInterval(str(number), "", began.at_ns, ended.at_ns)
        for number, candidate in enumerate(candidates)
        for began, ended in zip(
            candidate.heard.all("leader"), candidate.heard.all("not leader"), strict=False
        )
    ]
    assert len(terms) == 6
    assert overlaps(terms) == []


def test_selectors_of_java_rest_when_their_clients_are_closed(java, python, peer, zk_path):
    """They would try to stand again for ever, without a pause, and take a core from all others."""
    actors = [java() for _ in range(2)]
    candidates = [actor.selector(zk_path, auto_requeue=True) for actor in actors]
    line_up(candidates, python(), zk_path)
    for turn in range(2):
        leads(candidates[turn])
        eventually(lambda: len(candidates[0].participants()) == 2)
        candidates[turn].give_up()
    for actor in actors:
        actor.close()

    def rests() -> bool:
        before = cpu_used({"java": peer.pid})
        time.sleep(0.5)
        return cpu_between(before, cpu_used({"java": peer.pid})).servers["java"] < 0.2

    assert eventually(rests)


def test_an_interrupted_selector_hands_on_and_stands_again(order, zk_path):
    """`interrupt` ends the one's leading, the other leads; `requeue` brings the first back."""
    one, other = (order().selector(zk_path) for _ in range(2))
    one.start()
    leads(one)
    other.start()
    eventually(lambda: len(other.participants()) == 2)
    one.interrupt()
    leads(other)
    assert eventually(one.requeue)
    other.give_up()
    leads(one, 2)
    one.give_up()
