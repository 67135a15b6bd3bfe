"""What counters and shared values cost: flights and requests, counted on both sides of the wire."""

from __future__ import annotations

import pytest

from tests.support.flights import flights, recorded, spent
from zkkit import AtomicLong, CachedAtomicLong, SharedCount
from zkkit.testing import eventually


def test_an_increment(front, zk_proxy, zk_path):
    """Two flights from the second on, a read and a write; the first makes the receipt."""
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        actor = front.actor()
        recorder = recorded(session)
        actor.call(lambda: counter.increment())
        assert flights(recorder) == 5
        for number in range(3):
            before = zk_proxy.requests
            actor.call(lambda: counter.increment())
            assert spent(zk_proxy, before) == {"get": 1, "multi": 1}
            assert flights(recorder) == 5 + 2 * (number + 1)


def test_the_first_of_a_session(front, zk_proxy, zk_path, witness):
    """Where the counter and its receipts are known to others, a session's first increment costs
    two more: it makes its own receipt."""
    with front.session(zk_proxy.hosts) as other, front.session(zk_proxy.hosts) as session:
        front.call(lambda: AtomicLong(other, zk_path).increment())
        recorder = recorded(session)
        front.call(lambda: AtomicLong(session, zk_path).increment())
        assert flights(recorder) == 4
        front.call(lambda: AtomicLong(session, zk_path).increment())  # another object, same receipt
        assert flights(recorder) == 6
        assert len(witness.get_children(f"{zk_path}-receipts")) == 2


def test_a_lost_reply(front, zk_proxy, zk_path):
    """To find out costs one flight more: a Sync and a look at the receipt."""
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        actor = front.actor()
        actor.call(lambda: counter.increment())
        before = zk_proxy.requests
        loss = zk_proxy.lose_reply("multi")
        actor.call(lambda: counter.increment())
        assert loss.wait(5)
        now = spent(zk_proxy, before)
        assert (now["get"], now["multi"]) == (2, 1)


def test_numbers_by_the_block(front, zk_proxy, zk_path):
    """Two flights for a block of ten, and none for the other nine."""
    with front.session(zk_proxy.hosts) as session:
        numbers = CachedAtomicLong(AtomicLong(session, zk_path), 10)
        actor = front.actor()
        given = [actor.call(lambda: numbers.next()).before for _ in range(10)]
        recorder = recorded(session)
        given += [actor.call(lambda: numbers.next()).before for _ in range(10)]
        assert flights(recorder) == 2
        assert given == list(range(20))


@pytest.mark.front("threads")
def test_shared(front, zk_proxy, zk_path):
    """get 1, set 1, try_set 2; who follows has one fire and one flight for each change."""
    with front.session(zk_proxy.hosts) as session, front.session(zk_proxy.hosts) as other:
        count = SharedCount(session, zk_path)
        count.set(1)
        recorder = recorded(session)
        count.get()
        assert flights(recorder) == 1
        count.set(2)
        assert flights(recorder) == 2
        read = count.get_versioned()
        assert count.try_set(read, 3)
        assert flights(recorder) == 5
        followed = SharedCount(other, zk_path)
        followed.start()
        watching = recorded(other)
        assert eventually(lambda: watching.count("watch_set") == 1)
        before = zk_proxy.requests
        count.set(4)
        assert eventually(lambda: followed.value == 4)
        assert watching.count("watch_fired") == 1
        assert spent(zk_proxy, before) == {"multi": 1, "get": 1}
        followed.close()
