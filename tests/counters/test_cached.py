"""Numbers by the block: behaviours of TestCachedAtomicCounter, and many actors at once."""

from __future__ import annotations

import pytest

from zkkit import AtomicInt, AtomicLong, CachedAtomicInt, CachedAtomicLong
from zkkit.retry import NEVER
from zkkit.steps import Data


def test_basic(front, open_session, zk_path, witness):
    """testBasic: one after the other; the counter moves by whole blocks."""
    session = open_session()
    counter = AtomicInt(session, zk_path)
    numbers = CachedAtomicInt(counter, 100)
    actor = front.actor()
    for expected in range(102):
        result = actor.call(lambda: numbers.next())
        assert result.succeeded
        assert (result.before, result.after) == (expected, expected + 1)
        asked = result.statistics.optimistic_tries
        assert asked == (1 if expected % 100 == 0 else 0)
    assert actor.call(lambda: counter.get()) == 200


@pytest.mark.front("threads")
def test_with_error(front, open_session, zk_path):
    """testWithError: where the counter could not be moved, neither is anything given; then it goes
    on as if nothing had been."""
    counter = AtomicLong(open_session(), zk_path, retry=NEVER)
    counter.force_set(7)
    numbers = CachedAtomicLong(counter, 10)
    look = counter._look

    def too_late():
        found = yield from look()
        return Data(found.data, found.stat._replace(version=found.stat.version + 5))

    counter._look = too_late
    assert not numbers.next().succeeded
    counter._look = look
    assert [numbers.next().before for _ in range(3)] == [7, 8, 9]
    assert counter.get() == 17


@pytest.mark.concurrent
def test_many_at_once(front, open_session, zk_path):
    """Curator's may not be shared by threads: these may. Ten actors on two objects in two sessions:
    no number twice, and in one session none is left out."""
    objects = [CachedAtomicLong(AtomicLong(open_session(), zk_path), 7) for _ in range(2)]
    jobs = []
    for number, actor in enumerate(front.actors(10)):
        numbers = objects[number % 2]
        jobs += [actor.begin(lambda numbers=numbers: numbers.next()) for _ in range(20)]
    given = [job.result(30).before for job in jobs]
    assert len(set(given)) == 200
    left = [
        n for numbers in objects for block in numbers.session.noted(numbers) or () for n in block
    ]
    assert sorted(given + left) == list(range(len(given) + len(left)))


@pytest.mark.front("threads")
def test_what_makes_no_sense(front, open_session, zk_path):
    with pytest.raises(ValueError, match="block must be a whole number of at least one"):
        CachedAtomicLong(AtomicLong(open_session(), zk_path), 0)
