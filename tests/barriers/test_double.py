"""What DoubleBarrier promises, on every front; and kazoo's own, where it can be asked."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.barriers.kinds import CURATORS, DOUBLE, KAZOO_DOUBLE, breaks, keeps, over
from tests.support.ensembles import watches
from tests.support.flights import flights, recorded
from tests.support.rooms import finish
from zkkit import DoubleBarrier
from zkkit.errors import (
    AlreadyInside,
    NoChildrenForEphemerals,
    NotInside,
    SessionClosed,
    SessionLost,
)
from zkkit.record.counts import fires
from zkkit.steps import Get
from zkkit.testing import eventually, expire_session, throughout

PATIENCE = 10.0


@pytest.fixture
def party(front, open_session, zk_path):
    """Members of one meeting, each with a session and an actor of its own."""

    def gather(count: int, members: int | None = None, kind: Any = DOUBLE, **options: Any) -> Any:
        sessions = [open_session(**options) for _ in range(count)]
        return [Member(front, kind.make(s, zk_path, members or count), s) for s in sessions]

    return gather


class Member:
    """A member with its own actor."""

    def __init__(self, front: Any, barrier: Any, session: Any) -> None:
        self.barrier = barrier
        self.session = session
        self._actor = front.actor()

    def enter(self, *timeout: float) -> Any:
        return self._actor.begin(lambda: self.barrier.enter(*timeout))

    def leave(self, *timeout: float) -> Any:
        return self._actor.begin(lambda: self.barrier.leave(*timeout))


def waiting(witness: Any, path: str, count: int) -> None:
    """So many members are there; none also where the server has removed the empty directory."""
    eventually(lambda: len(witness.get_children(path)) == count)


# --- in and out together --------------------------------------------------------------------------


@pytest.mark.concurrent
@over(DOUBLE, CURATORS, keeps(KAZOO_DOUBLE))
def test_in_and_out_together(front, kind, party, zk_path, witness, left_clean):
    """Nobody is in before the last has come, nobody is out before the last begins to leave."""
    *early, last = party(3, kind=kind)
    entering = []
    for count, member in enumerate(early, 1):
        entering.append(member.enter())
        waiting(witness, zk_path, count)
    assert not any(each.done() for each in entering)
    entering.append(last.enter())
    assert finish(entering) == [True] * 3
    leaving = [member.leave() for member in early]
    throughout(lambda: not any(each.done() for each in leaving), 0.2)
    leaving.append(last.leave())
    assert finish(leaving) == [True] * 3
    if kind is not KAZOO_DOUBLE:  # which leaves watches behind, now and then
        left_clean(zk_path)


@pytest.mark.concurrent
@over(DOUBLE, CURATORS, keeps(KAZOO_DOUBLE))
def test_more_than_the_number_may_come(front, kind, party, zk_path, left_clean):
    """They are all let through, and all leave together."""
    members = party(4, 3, kind)
    assert finish([each.enter() for each in members[:3]]) == [True] * 3
    assert members[3].enter().result(PATIENCE) is True
    leaving = [each.leave() for each in members[:3]]
    throughout(lambda: not any(each.done() for each in leaving), 0.1)
    leaving.append(members[3].leave())
    assert finish(leaving) == [True] * 4
    if kind is not KAZOO_DOUBLE:
        left_clean(zk_path)


@pytest.mark.concurrent
def test_all_at_once(front, party, zk_path, left_clean):
    """More than the number come at the same moment: each of them is let through."""
    members = party(5, 3)
    assert finish([each.enter() for each in members]) == [True] * 5
    assert finish([each.leave() for each in members]) == [True] * 5
    left_clean(zk_path)


@pytest.mark.concurrent
@pytest.mark.defect("C-12")
def test_round_after_round(front, party, zk_path, left_clean):
    """Nobody is ever a round ahead of another."""
    members, rounds = party(3), 8
    jobs = []
    told: list[tuple[str, int]] = []
    for number in range(rounds):
        for member in members:
            jobs.append(member._actor.begin(lambda n=number: told.append(("arrives", n))))
            jobs.append(member.enter())
            jobs.append(member._actor.begin(lambda n=number: told.append(("inside", n))))
            jobs.append(member.leave())
            jobs.append(member._actor.begin(lambda n=number: told.append(("out", n))))
    finish(jobs)
    place = {each: [i for i, what in enumerate(told) if what == each] for each in set(told)}
    for number in range(rounds):
        assert max(place["arrives", number]) < min(place["inside", number])
        assert max(place["inside", number]) < min(place["out", number])
    left_clean(zk_path)


@pytest.mark.concurrent
def test_members_of_one_session(front, open_session, zk_path, left_clean):
    """An object is a member, whatever session it is in."""
    session = open_session()
    members = [Member(front, DoubleBarrier(session, zk_path, 3), session) for _ in range(3)]
    for _ in range(3):
        assert finish([each.enter() for each in members]) == [True] * 3
        assert finish([each.leave() for each in members]) == [True] * 3
    left_clean(zk_path)


def test_alone(front, party, zk_path, left_clean):
    """A meeting of one."""
    (member,) = party(1)
    assert finish([member.enter(), member.leave(), member.enter(), member.leave()]) == [True] * 4
    left_clean(zk_path)


# --- what others left behind ----------------------------------------------------------------------


@pytest.mark.defect("C-12")
@over(DOUBLE, breaks(KAZOO_DOUBLE, "a `ready` that is left over lets a lone member through"))
def test_a_stale_ready_node_lets_nobody_through(front, kind, party, zk_path, witness):
    witness.ensure_path(f"{zk_path}/ready")
    first, second = party(2, kind=kind)
    entering = first.enter()
    eventually(lambda: len(witness.get_children(zk_path)) == 2)
    throughout(lambda: not entering.done(), 0.3)
    assert finish([second.enter(), entering]) == [True, True]
    assert finish([second.leave(), first.leave()]) == [True, True]


@pytest.mark.defect("C-12")
@pytest.mark.parametrize("left", [b"", b"hello", b"\xff\n", b"one\none\ntwo"])
def test_stale_data_let_nobody_through(front, party, zk_path, witness, left, waits):
    """Whatever stands in the node: names of those who are not there say nothing."""
    witness.create(zk_path, left)
    first, second = party(2)
    entering = first.enter()
    waiting(witness, zk_path, 1)
    throughout(lambda: not entering.done(), 0.1)
    assert finish([second.enter(), entering]) == [True, True]
    assert finish([second.leave(), first.leave()]) == [True, True]


@pytest.mark.defect("C-12")
def test_any_wakeup_means_look_again(front, party, zk_path, witness, when):
    """Somebody writes the node by hand, and everybody wakes: nobody passes."""
    first, second = party(2)
    entering = first.enter()
    waiting(witness, zk_path, 1)
    again = when(first.session, watch_set=1)
    witness.set(zk_path, b"")
    again.wait()
    assert not entering.done()
    assert finish([second.enter(), entering]) == [True, True]


@over(DOUBLE, CURATORS, breaks(KAZOO_DOUBLE, "counts every child of its path"))
def test_what_else_is_below_the_path_is_no_member(front, kind, party, zk_path, witness):
    """A node of somebody's, and the path of another meeting: a lone member of two waits, and
    nobody waits for those on the way out."""
    witness.ensure_path(f"{zk_path}/config")
    witness.ensure_path(f"{zk_path}/inner/ready")
    first, second = party(2, kind=kind)
    entering = first.enter()
    waiting(witness, zk_path, 3)
    throughout(lambda: not entering.done(), 0.3)
    assert finish([second.enter(), entering]) == [True, True]
    assert finish([second.leave(), first.leave()]) == [True, True]
    eventually(lambda: {*witness.get_children(zk_path)} == {"config", "inner"})


def test_a_meeting_at_the_root_of_a_namespace(front, open_session, zk_path, witness):
    """Other recipes of that namespace have their nodes beside its members."""
    witness.ensure_path(f"{zk_path}/lock")
    sessions = [open_session(namespace=zk_path.strip("/")) for _ in range(2)]
    first, second = (Member(front, DoubleBarrier(each, "/", 2), each) for each in sessions)
    entering = first.enter()
    waiting(witness, zk_path, 2)
    throughout(lambda: not entering.done(), 0.2)
    assert finish([second.enter(), entering]) == [True, True]
    assert finish([second.leave(), first.leave()]) == [True, True]


# --- not for ever ---------------------------------------------------------------------------------


@pytest.mark.defect("C-12")
@over(DOUBLE, CURATORS)
def test_a_deadline_on_the_way_in(front, kind, party, zk_path, clock, left_clean):
    """Gives False in time, and takes the node away: one who comes later is not let through by it.
    The same member may try again."""
    first, second = party(2, kind=kind)
    for member in (first, second):
        began = clock()
        assert member.enter(0.2).result(PATIENCE) is False
        assert 0.15 < clock() - began < 1.4
        left_clean(zk_path)
    assert finish([first.enter(), second.enter()]) == [True, True]


@pytest.mark.defect("C-12")
@over(DOUBLE, CURATORS)
def test_a_deadline_on_the_way_out(front, kind, party, zk_path, clock, witness, left_clean):
    """Gives False in time; the node is gone, and nobody waits for it. (Each of the two once: one of
    them is the lowest.)"""
    first, second = party(2, kind=kind)
    for hasty, slow in ((first, second), (second, first)):
        finish([hasty.enter(), slow.enter()])
        began = clock()
        assert hasty.leave(0.2).result(PATIENCE) is False
        assert clock() - began < 1.4
        eventually(lambda: len({*witness.get_children(zk_path)} - {"ready"}) == 1)
        assert slow.leave().result(PATIENCE) is True
        left_clean(zk_path)


def test_a_deadline_on_frozen_servers(front, party, zk_path, zk_proxy, clock, left_clean):
    (member,) = party(1, 2, hosts=zk_proxy.hosts)
    zk_proxy.freeze()
    began = clock()
    assert member.enter(0.3).result(PATIENCE) is False
    assert clock() - began < 1.5
    zk_proxy.thaw()
    left_clean(zk_path)


@pytest.mark.parametrize("on_the_way_out", [False, True], ids=["in", "out"])
def test_again_while_the_clean_up_cannot_proceed(
    front, party, zk_path, zk_proxy, witness, left_clean, on_the_way_out
):
    """Who gave up on frozen servers may enter again at once. That waits until the old node is gone,
    so nobody is counted twice; with a deadline it gives False. (Who comes back while another one is
    inside joins it.)"""
    (member,) = party(1, 2, hosts=zk_proxy.hosts)
    (other,) = party(1, 2)
    if on_the_way_out:
        finish([member.enter(), other.enter()])
    zk_proxy.freeze()
    assert (member.leave(0.3) if on_the_way_out else member.enter(0.3)).result(PATIENCE) is False
    assert member.enter(0.3).result(PATIENCE) is False
    again = member.enter()
    zk_proxy.thaw()
    if not on_the_way_out:
        waiting(witness, zk_path, 1)
        assert not again.done()
        finish([other.enter()])
    assert again.result(PATIENCE) is True
    finish([member.leave(), other.leave()])
    left_clean(zk_path)


class FreezesBeforeTheDelete:
    """Lets the servers answer no more when leave has read who is inside."""

    def __init__(self, proxy, reads):
        self._proxy, self._reads = proxy, reads

    def step(self, event):
        self._reads -= 1
        if not self._reads:
            self._proxy.freeze()


def test_again_while_the_delete_is_under_way(front, party, zk_path, zk_proxy, left_clean):
    """Who ran out of time just when its node was being deleted may enter again at once, too."""
    (member,) = party(1, 1, hosts=zk_proxy.hosts)
    finish([member.enter()])
    member.session.hooks.add(FreezesBeforeTheDelete(zk_proxy, reads=3))
    assert member.leave(0.3).result(PATIENCE) is False
    again = member.enter()
    zk_proxy.thaw()
    assert again.result(PATIENCE) is True
    finish([member.leave()])
    left_clean(zk_path)


@pytest.mark.front("threads")
def test_nobody_took_that_it_was_let_through(front, open_session, zk_path, left_clean):
    """A caller that leaves when its member has just been let through does not know of it: so the
    member goes out again, nobody waits for it, and it may enter again."""
    session, done = open_session(), threading.Event()
    barrier = DoubleBarrier(session, zk_path, 1)
    run = session._new_run(barrier.enter.of(), barrier)
    run.on_done.append(done.set)
    session._tell(session._runner.start, run)
    assert done.wait(PATIENCE) and run.result is True
    session._tell(session._runner.abandon, run)
    left_clean(zk_path)
    assert barrier.enter(timeout=PATIENCE) and barrier.leave(timeout=PATIENCE)


def test_a_cancel(front, open_session, zk_path, when, left_clean):
    """On the way in and on the way out: nothing is left, and the object can be used again."""
    session, other = open_session(), open_session()
    barrier, second = DoubleBarrier(session, zk_path, 2), DoubleBarrier(other, zk_path, 2)
    caught = front.interrupted(lambda: barrier.enter(), when(session, watch_set=1).wait)
    assert caught is not None
    left_clean(zk_path)
    one, two = Member(front, barrier, session), Member(front, second, other)
    finish([one.enter(), two.enter()])
    caught = front.interrupted(lambda: barrier.leave(), when(session, watch_set=1).wait)
    assert caught is not None
    assert two.leave().result(PATIENCE) is True
    left_clean(zk_path)
    finish([one.enter(), two.enter()])


def test_the_session_is_closed(front, party, zk_path, witness):
    first, _ = party(2)
    entering = first.enter()
    waiting(witness, zk_path, 1)
    front.close(first.session)
    with pytest.raises(SessionClosed):
        entering.result(PATIENCE)
    waiting(witness, zk_path, 0)


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.defect("K-8")
@pytest.mark.concurrent
def test_a_dropped_connection(front, party, zk_path, zk_proxy, open_session, witness, left_clean):
    """Who waits outlives it, on both ways, also if all comes to pass meanwhile. (kazoo's own waits
    for ever.)"""
    (cut,), (other,) = party(1, 2, hosts=zk_proxy.hosts), party(1, 2)
    entering = cut.enter()
    waiting(witness, zk_path, 1)
    zk_proxy.cut()
    assert other.enter().result(PATIENCE) is True
    zk_proxy.mend()
    assert entering.result(PATIENCE) is True
    leaving = cut.leave()
    throughout(lambda: not leaving.done(), 0.1)
    zk_proxy.cut()
    other_leaves = other.leave()
    zk_proxy.mend()
    assert finish([leaving, other_leaves]) == [True, True]
    left_clean(zk_path)


@pytest.mark.front("threads")  # the script is the same on each, and so is what it is told
@pytest.mark.concurrent
@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@pytest.mark.parametrize("op", ["create", "multi", "delete", "get", "children"])
def test_a_lost_reply(front, party, zk_path, zk_proxy, when, loss, op, left_clean):
    """Of each request: two rounds end as they should, with one node for each member."""
    (struck,), (other,) = party(1, 2, hosts=zk_proxy.hosts), party(1, 2)
    lost = getattr(zk_proxy, loss)(op)
    waits = when(other.session, watch_set=1)
    entering = other.enter()
    waits.wait()  # for whoever comes last, which sends the multi
    assert finish([struck.enter(), entering]) == [True, True]
    assert finish([struck.leave(), other.leave()]) == [True, True]
    assert lost.wait(0)
    assert finish([other.enter(), struck.enter()]) == [True, True]
    assert finish([struck.leave(), other.leave()]) == [True, True]
    left_clean(zk_path)


def test_a_session_lost_on_the_way_in(front, party, zk_hosts, zk_path, witness, when, left_clean):
    """It begins again in the next one, with a node of its own."""
    first, second = party(2)
    entering = first.enter()
    waiting(witness, zk_path, 1)
    (before,) = witness.get_children(zk_path)
    again = when(first.session, watch_set=1)
    expire_session(zk_hosts, first.session)
    again.wait()  # by the old node, if it is back for a moment before its session has ended
    eventually(lambda: before not in witness.get_children(zk_path))
    assert finish([second.enter(), entering]) == [True, True]
    assert finish([second.leave(), first.leave()]) == [True, True]
    left_clean(zk_path)


def test_a_session_lost_inside(front, party, zk_hosts, zk_path, left_clean):
    """The others do not wait for it; it is told when it leaves, and may enter again."""
    first, second = party(2)
    finish([first.enter(), second.enter()])
    leaving = second.leave()
    throughout(lambda: not leaving.done(), 0.1)
    old = first.session.session_id
    expire_session(zk_hosts, first.session)
    assert leaving.result(PATIENCE) is True
    eventually(lambda: first.session.session_id not in (0, old))  # else it leaves as it is lost
    with pytest.raises(NotInside, match="is gone"):
        first.leave().result(PATIENCE)
    assert finish([first.enter(), second.enter()]) == [True, True]
    assert finish([first.leave(), second.leave()]) == [True, True]
    left_clean(zk_path)


def test_a_session_lost_on_the_way_out(front, party, zk_hosts, zk_path, when, left_clean):
    first, second = party(2)
    finish([first.enter(), second.enter()])
    waits = when(first.session, watch_set=1)
    leaving = first.leave()
    waits.wait()
    expire_session(zk_hosts, first.session)
    with pytest.raises(SessionLost):
        leaving.result(PATIENCE)
    assert second.leave().result(PATIENCE) is True
    left_clean(zk_path)


@pytest.mark.concurrent
@over(DOUBLE, CURATORS)
def test_its_node_is_deleted_while_it_waits(front, kind, party, zk_path, witness, left_clean):
    """Nothing else may ever wake it: it hears of that, and comes again with another node."""
    *early, last = party(3, kind=kind)
    entering = [each.enter() for each in early]
    waiting(witness, zk_path, 2)
    witness.delete(f"{zk_path}/{witness.get_children(zk_path)[0]}")
    waiting(witness, zk_path, 2)
    assert finish([last.enter(), *entering]) == [True] * 3
    assert finish([each.leave() for each in (last, *early)]) == [True] * 3
    left_clean(zk_path)


def test_a_node_that_is_deleted_by_hand(front, party, zk_path, witness, left_clean):
    """Of one who waits: it begins again when it looks. Of one inside: it is told when it leaves."""
    first, second = party(2)
    entering = first.enter()
    waiting(witness, zk_path, 1)
    witness.delete(f"{zk_path}/{witness.get_children(zk_path)[0]}")
    alone = second.enter()
    witness.set(zk_path, b"")  # wakes those who wait
    assert finish([entering, alone]) == [True, True]
    for name in witness.get_children(zk_path):
        witness.delete(f"{zk_path}/{name}")
    for member in (first, second):
        with pytest.raises(NotInside, match="enter again"):
            member.leave().result(PATIENCE)


# --- errors ---------------------------------------------------------------------------------------


def test_an_ephemeral_parent(front, party, zk_path, witness):
    """The reason is raised. (kazoo's own swallows it and does nothing.)"""
    witness.create(zk_path, ephemeral=True)
    (member,) = party(1, 2)
    with pytest.raises(NoChildrenForEphemerals, match="not below an ephemeral node"):
        member.enter().result(PATIENCE)


@pytest.mark.front("threads")
def test_misuse(front, party, open_session, zk_path, waits):
    (member,) = party(1)
    with pytest.raises(NotInside, match="has not entered"):
        member.leave().result(PATIENCE)
    member.enter().result(PATIENCE)
    with pytest.raises(AlreadyInside, match="leave first"):
        member.enter().result(PATIENCE)
    session = open_session()
    two = DoubleBarrier(session, zk_path + "-2", 2)
    entering = waits(session, lambda: two.enter(1))
    with pytest.raises(AlreadyInside, match="an object of its own"):
        two.enter()
    with pytest.raises(NotInside):
        two.leave()
    assert entering.result(PATIENCE) is False
    with pytest.raises(ValueError, match="members must be a whole number"):
        DoubleBarrier(session, zk_path, 0)
    with pytest.raises(ValueError, match="there is no layout 'java'"):
        DoubleBarrier(session, zk_path, 1, layout="java")


# --- costs ----------------------------------------------------------------------------------------


def test_the_last_member_enters_in_two_flights(front, party, zk_path, witness):
    """One to come and look, one to let all through; who waits for it needs one to come, and one
    when it is woken."""
    witness.create(zk_path)
    *early, last = party(3)
    recorders = [recorded(each.session) for each in (*early, last)]
    entering = []
    for count, member in enumerate(early, 1):
        entering.append(member.enter())
        waiting(witness, zk_path, count)
    entering.append(last.enter())
    finish(entering)
    assert [flights(each) for each in recorders] == [2, 2, 2]


def test_what_leaving_costs(front, party, zk_path, witness):
    """All but the lowest look, delete, watch, and look again; the lowest, when it is the last,
    looks, deletes and looks again."""
    witness.create(zk_path)
    members = party(2)
    created = [recorded(each.session) for each in members]
    finish([each.enter() for each in members])
    paths = [next(e.path for hook, e in each if hook == "node_created") for each in created]
    lowest, other = (members[paths.index(path)] for path in sorted(paths))
    for member, recorder in zip(members, created, strict=True):
        member.session.hooks.remove(recorder)
    recorders = [recorded(each.session) for each in (other, lowest)]
    leaving = other.leave()
    eventually(lambda: flights(recorders[0]) == 3)
    assert finish([lowest.leave(), leaving]) == [True, True]
    assert [flights(each) for each in recorders] == [4, 3]


@pytest.mark.concurrent
def test_nobody_is_woken_in_vain(front, party, zk_path, witness):
    """On the way in everybody hears once that all have come. On the way out the lowest hears of
    each other at most, and each other of the lowest."""
    count = 6
    witness.create(zk_path)
    members = party(count)
    recorders = [recorded(each.session) for each in members]
    finish([each.enter() for each in members])
    assert all(len(fires(each)) <= 1 for each in recorders)
    for member, recorder in zip(members, recorders, strict=True):
        member.session.hooks.remove(recorder)
    recorders = [recorded(each.session) for each in members]
    finish([each.leave() for each in members])
    *others, lowest = sorted(len(fires(each)) for each in recorders)
    assert max(others) <= 1
    assert lowest <= count - 1


@pytest.mark.front("threads")
def test_what_is_in_the_nodes(front, party, zk_path, witness, zk_ensemble):
    """The layout: who opened the round, and who was let through."""
    members = party(2)
    finish([each.enter() for each in members])
    opened_by, *inside = witness.get(zk_path)[0].decode().split("\n")
    assert sorted(inside) == sorted(witness.get_children(zk_path))
    assert opened_by in inside
    assert members[0].session.run(Get(zk_path)).stat.version == 1
    finish([each.leave() for each in members])
    assert watches(zk_ensemble) == 0
