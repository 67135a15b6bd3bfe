"""The contract of test_contract.py in the simulator: whatever falls between the steps of actors.

Beside what each test says, every world is asked that no two hold at once, that grants are real,
that nobody waits for ever, and that nothing is left. Every lock under every fault is in
tests/sim/test_coverage.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.locks.kinds import (
    ALL,
    HERD,
    HERD_WRITE,
    LOCK,
    MULTI,
    REENTRANT,
    SEMAPHORE,
    Kind,
    holds_of,
    over,
)
from zkkit import ReadWriteLock, ReentrantLock
from zkkit.errors import NoNode, NotHeld, NotOwner, SessionLost, Unsupported
from zkkit.paths import join, protected, split
from zkkit.recipes.line import Line, Turn, first_in_line
from zkkit.recipes.locks import Hold
from zkkit.recipes.locks.readwrite import ReadLock, WriteLock
from zkkit.recipes.shared import create_protected, saw_it_go, withdraw
from zkkit.retry import NTimes
from zkkit.scripting import script
from zkkit.sim import Work, World, explore, use
from zkkit.sim.coverage.locks import downgrading
from zkkit.sim.faults import KINDS, NO_FAULTS, every, one
from zkkit.sim.gallery.locks import stand_in_line, turn_of
from zkkit.sim.lives import contenders
from zkkit.sim.properties import (
    EndsWell,
    Fifo,
    NobodyTakesAway,
    NoLostWakeup,
    NothingLeft,
    OneWokenPerRelease,
    ReadersAndWriters,
    RealGrants,
    mutual_exclusion,
    of_a_fair_lock,
)
from zkkit.sim.world import SimSession
from zkkit.steps import Check, Children, Delete, Get, Guid, Mode, Post, Posted, Script, Set, Wait

EXCLUSIVE = [kind for kind in ALL if kind.exclusive]
BELOW = {LOCK: ("locks", "leases"), SEMAPHORE: ("locks", "leases"), MULTI: ("a", "b")}
"""What is there beside /l from the beginning, so that creating it is not explored every time."""

Life = Callable[[Any], Script[Any]]
"""What an actor does with a lock."""


def acquire(lock: Any, *given: Any, **named: Any) -> Script[Any]:
    return lock.acquire.of(*given, **named)  # type: ignore[no-any-return]


def release(lock: Any) -> Script[None]:
    return lock.release.of()  # type: ignore[no-any-return]


class Stage:
    """A world for one kind of lock."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.world = World("/l", "/data", *(f"/l/{name}" for name in BELOW.get(kind, ())))

    def actor(self, life: Life, lock: Any) -> Stage:
        """One more actor, with this lock."""
        name = chr(ord("A") + len(self.world.actors))
        self.world.actor(name, lock.session, life, lock)
        return self

    def lock(self, session: SimSession | None = None) -> Any:
        """A lock object, in this session or a new one."""
        return self.kind.make(session or self.world.connect(), "/l")

    def rival(self) -> Any:
        """A lock that keeps it out, in a session of its own."""
        return self.kind.rival_of(self.world.connect(), "/l")

    def explored(self, *faults: str) -> None:
        """Everything that can happen is well."""
        for fault in ("", *faults):
            verdict = explore(
                self.world,
                faults=one(fault) if fault else NO_FAULTS,
                properties=self._properties(),
            )
            assert verdict.holds, str(verdict)

    def _properties(self) -> Sequence[Any]:
        kind = self.kind
        lines_only = kind not in (LOCK, SEMAPHORE, HERD, HERD_WRITE)  # two lines, or no line
        return [
            mutual_exclusion() if kind.exclusive else ReadersAndWriters(),
            RealGrants(),
            NoLostWakeup(),
            NothingLeft(while_holding=kind.wakes_one and lines_only),
            NobodyTakesAway(),
            EndsWell(),
            *([Fifo()] if kind.fair and kind.exclusive else []),
            *([OneWokenPerRelease()] if kind.wakes_one and lines_only else []),
        ]


# --- acquiring again ----------------------------------------------------------------------------


def acquires_again(kind: Kind) -> Life:
    def live(lock: Any) -> Script[None]:
        first = yield from acquire(lock)
        second = yield from acquire(lock, False)
        if kind.reentrant:
            assert second.token == first.token
            yield from release(lock)
            assert (yield from first.check.of()), "one release of two ended it"
        else:
            assert second is None
        yield from Work()
        yield from release(lock)
        assert not (yield from first.check.of())

    return live


@over(*ALL)
def test_reentry(kind):
    """The owner of a reentrant lock gets it again at once, of another None; it is free after as
    many releases, and a rival gets it no sooner."""
    stage = Stage(kind)
    stage.actor(acquires_again(kind), stage.lock()).actor(use, stage.rival()).explored()


def nests(lock: Any) -> Script[None]:
    """What a `with lock:` inside another one does."""
    yield from acquire(lock)
    try:
        yield from Work()
        yield from use(lock)
    finally:
        yield from release(lock)


REENTRANTS = [kind for kind in ALL if kind.reentrant]


@over(*REENTRANTS)
def test_reentry_into_a_hold_that_was_lost_while_its_session_lives(kind):
    """Its proof lapses at any moment: the owner gets a new hold instead of waiting for itself, and
    nobody else gets in before."""
    stage = Stage(kind)
    stage.actor(nests, stage.lock()).actor(use, stage.rival()).explored("lapse")


@over(REENTRANT)
@pytest.mark.parametrize("fault", ["cancel", "crash", "expire", "request lost", "reply lost"])
def test_a_lapse_and_one_more_fault(kind, fault):
    stage = Stage(kind)
    stage.actor(nests, stage.lock()).actor(use, stage.rival())
    properties = [mutual_exclusion(), RealGrants(), NoLostWakeup(), NothingLeft()]
    faults = every(**{"lapse": 1, fault.replace(" ", "_"): 1})
    verdict = explore(stage.world, faults=faults, properties=properties)
    assert verdict.holds, str(verdict)


class Faithful(ReentrantLock[Any]):
    """A twin that keeps the node of a hold that it lost, and stands in line behind itself."""

    def forsake(self, actor: Any) -> Script[None]:
        yield from ()


def test_who_does_not_forsake_a_lost_hold_waits_for_itself():
    stage = Stage(Kind("twin", Faithful, reentrant=True))
    stage.actor(nests, stage.lock())
    verdict = explore(stage.world, faults=one("lapse"), properties=[NoLostWakeup()])
    assert verdict.holds is False
    assert verdict.story.faults == ("lapse",)


@over(*EXCLUSIVE)
def test_two_objects_are_two_contenders(kind):
    """One actor, one session, two lock objects: the second is kept out."""
    stage = Stage(kind)
    session = stage.world.connect()
    first, second = stage.lock(session), stage.lock(session)

    def live(lock: Any) -> Script[None]:
        yield from acquire(lock)
        assert (yield from acquire(second, False)) is None
        yield from release(lock)
        assert (yield from acquire(second, False)) is not None
        yield from release(second)

    stage.actor(live, first).explored()


# --- not for ever -------------------------------------------------------------------------------


def tries(lock: Any) -> Script[None]:
    if (yield from acquire(lock, False)) is not None:
        yield from release(lock)


@over(*ALL)
def test_not_blocking(kind):
    """Beside a rival: it gets the hold or None, and leaves nothing, whenever it is cancelled."""
    stage = Stage(kind)
    stage.actor(tries, stage.lock()).actor(use, stage.rival()).explored("cancel")


# --- releasing ----------------------------------------------------------------------------------


def releases_anothers(lock: Any) -> Script[None]:
    with pytest.raises(NotOwner):
        yield from release(lock)


@over(*ALL)
def test_release_by_another_actor(kind):
    """Another actor of the same session is refused at every moment, and nothing is taken away."""
    stage = Stage(kind)
    lock = stage.lock()
    stage.actor(use, lock).actor(releases_anothers, lock).actor(use, stage.rival()).explored()


def releases_twice(lock: Any) -> Script[None]:
    hold = yield from acquire(lock)
    yield from release(lock)
    yield from Work()  # meanwhile the other one gets it
    with pytest.raises(NotOwner):
        yield from release(lock)
    with pytest.raises(NotOwner):
        yield from hold.release.of()


@over(*ALL)
def test_release_twice(kind):
    """The second release is refused and frees nobody else's lock."""
    stage = Stage(kind)
    lock = stage.lock()
    stage.actor(releases_twice, lock).actor(use, lock).explored()


# --- the hold -----------------------------------------------------------------------------------


@over(*EXCLUSIVE)
def test_tokens_grow(kind):
    """From grant to grant, whoever gets it: what is written under a token is never older than what
    is there."""
    stage = Stage(kind)

    def writes(lock: Any) -> Script[None]:
        hold = yield from acquire(lock)
        newest = max(each.token for each in holds_of(hold))
        before = (yield from Get("/data")).data
        assert int(before or b"0") < newest
        yield from Set("/data", b"%d" % newest)
        yield from release(lock)

    stage.actor(writes, stage.lock()).actor(writes, stage.lock()).explored()


@over(*ALL)
def test_guarded_writes(kind):
    """A transaction is applied while the node is ours, and refused after the release; a fixed name
    guards nothing, and says so."""
    stage = Stage(kind)

    def writes(lock: Any) -> Script[None]:
        hold = yield from acquire(lock)
        if not kind.guards:
            with pytest.raises(Unsupported):
                yield from hold.transaction.of(Set("/data", b"1"))
            yield from release(lock)
            return
        yield from hold.transaction.of(Set("/data", b"1"))
        yield from release(lock)
        with pytest.raises(NotHeld):
            yield from hold.transaction.of(Set("/data", b"2"))

    stage.actor(writes, stage.lock()).actor(use, stage.rival()).explored()


# --- broken twins ---------------------------------------------------------------------------------


class EndsAtTheFirstRelease(ReentrantLock):
    """Does not count how often it was acquired."""

    def _count_down(self, owned: Any) -> Any:
        return super()._count_down(owned._replace(times=1))


class AnybodyReleases(ReentrantLock):
    """Looks for a hold, not for whose it is."""

    def _release(self) -> Any:
        for owned in (yield from self._ownerships()):
            yield from self._count_down(owned)
            return
        raise NotOwner("nobody holds it", path=self.path)

    release = script(_release)


class StaysWhenItIsTaken(ReentrantLock):
    """Gives None and leaves its contender."""

    def _contend(self, blocking: bool) -> Any:
        name = yield from Guid()
        node, queue = yield from stand_in_line(self.path, name)
        while not (turn := turn_of(queue, split(node.path)[1])).mine:
            if not blocking:
                return None
            yield from Get(join(self.path, turn.behind), watch=True)
            yield from Wait()
            queue = yield from Children(self.path)
        return Hold(self, node)


class OneTokenForAll(ReentrantLock):
    """Its tokens tell nothing apart."""

    def _contend(self, blocking: bool) -> Any:
        hold = yield from super()._contend(blocking)
        hold._token = 7
        return hold


class GuardsNothing(ReentrantLock):
    """Its transactions check a node that is always there."""

    def _contend(self, blocking: bool) -> Any:
        hold = yield from super()._contend(blocking)
        hold.guard = lambda: Check("/data")
        return hold


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (EndsAtTheFirstRelease, test_reentry),
        (AnybodyReleases, test_release_by_another_actor),
        (AnybodyReleases, test_release_twice),
        (StaysWhenItIsTaken, test_not_blocking),
        (OneTokenForAll, test_tokens_grow),
        (GuardsNothing, test_guarded_writes),
    ],
    ids=lambda each: each.__name__,
)
def test_a_broken_twin_is_caught(twin, test):
    """The test fails on a lock with that mistake; on the lock without it, it passes."""
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(Kind(twin.__name__, twin, reentrant=True))
    test(Kind("ReentrantLock", ReentrantLock, reentrant=True))


# --- known without looking ----------------------------------------------------------------------


class _TakesAnybodyForTheFirst(Line):
    """Does not ask whether others were ahead of the one that has gone."""

    def look_again(self, node: Any, turn: Turn, gone: bool) -> Script[Any]:
        return super().look_again(node, turn._replace(is_next=True), gone)


class KnowsTooMuch(ReentrantLock[Any]):
    """Takes the going of its predecessor for a grant, also of one that only waited."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self._line = _TakesAnybodyForTheFirst(*self._line)


@pytest.mark.parametrize("fault", ["cancel", "expire", "deadline"])
def test_who_takes_anybody_for_the_first_is_caught(fault):
    """The second of three leaves, in whatever way, and the third stands beside the first."""
    faults, asked = one(fault), [mutual_exclusion()]
    deadline = 1.0 if fault == "deadline" else None
    verdict = explore(contenders(KnowsTooMuch, 3, timeout=deadline), asked, faults=faults)
    assert verdict.holds is False
    right = explore(contenders(ReentrantLock, 3, timeout=deadline), asked, faults=faults)
    assert right.holds, str(right)


# --- the same, by what the first one has posted --------------------------------------------------

FAIR = of_a_fair_lock(fails=(SessionLost,))


def broken(verdict: Any) -> list[str]:
    """What does not hold, where everything was explored."""
    assert verdict.holds is not None, str(verdict)
    return [story.breaks for story in verdict.stories]


@pytest.mark.parametrize("fault", ["", *(kind for kind in KINDS if kind != "reap")])
def test_two_of_one_session_and_another_in_one_process(fault):
    """What one of them posts the others find: in its own session, and in the other one."""
    world = World("/l", one_process=True)
    together, apart = world.connect("the session of A and B"), world.connect("C's session")
    for name, session in (("A", together), ("B", together), ("C", apart)):
        deadline = 1.0 if fault == "deadline" else None
        world.actor(name, session, use, ReentrantLock(session, "/l"), timeout=deadline)
    verdict = explore(world, FAIR, faults=one(fault) if fault else NO_FAULTS)
    assert verdict.holds, str(verdict)


class PostsBeforeItsTurn(ReentrantLock[Any]):
    """Says that it is the first as soon as it stands in line."""

    def _contend(self, blocking: bool) -> Any:
        name = protected((yield from Guid()), "lock-")
        node = None
        try:
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=b""
            )
            yield from self._line.announce(node)
            while not (turn := first_in_line(self._line.ahead_of(node, names))).mine:
                gone = yield from saw_it_go(join(self.path, turn.behind))
                names = yield from self._line.look_again(node, turn, gone)
            return Hold(self, node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise


class _TrustsAnyPost(Line):
    """Asks whether somebody was the first, not whether it was the one just ahead."""

    def _was_first(self, turn: Turn) -> Script[bool]:
        return (yield from Posted(self.directory)) is not None


class TrustsAnyPost(ReentrantLock[Any]):
    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self._line = _TrustsAnyPost(*self._line)


@pytest.mark.parametrize("twin", [PostsBeforeItsTurn, TrustsAnyPost])
@pytest.mark.parametrize("fault", ["cancel", "expire"])
def test_what_is_posted_must_be_true_and_of_the_one_just_ahead(twin, fault):
    """Again the second of three leaves, and the third stands beside the first: but not if nothing
    that is posted is found."""
    faults, asked = one(fault), [mutual_exclusion()]
    wrong = explore(contenders(twin, 3, one_process=True), asked, faults=faults)
    assert broken(wrong) == [mutual_exclusion().name]
    assert explore(contenders(twin, 3), asked, faults=faults).holds
    right = explore(contenders(ReentrantLock, 3, one_process=True), asked, faults=faults)
    assert right.holds, str(right)


def behind_the_first(ahead: Sequence[Any]) -> Turn:
    """Whoever is not the first watches the first: a herd."""
    return Turn(False, ahead[0].name) if ahead else Turn(True)


class TrustsFromAfar(ReentrantLock[Any]):
    """Is let in by the going of the first, though others may stand between them."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, rule=behind_the_first)
        self._line = self._line._replace(append_only=True)


def test_who_is_not_directly_behind_does_not_inherit():
    """Two watch the first, and both are in when it has gone. So a rule of one's own looks again."""

    def verdict(make: Any) -> Any:
        world = contenders(make, 3, one_process=True)
        return explore(world, [mutual_exclusion()], faults=NO_FAULTS)

    assert broken(verdict(TrustsFromAfar)) == [mutual_exclusion().name]
    right = verdict(lambda session, path: ReentrantLock(session, path, rule=behind_the_first))
    assert right.holds, str(right)


class KnowsInALineOfReaders(ReadWriteLock[Any]):
    """A writer that is let in by the going of the writer ahead, as if that left nothing behind."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.write._line = self.write._line._replace(append_only=True)


@pytest.mark.parametrize("make", [KnowsInALineOfReaders, ReadWriteLock], ids=["twin", "right"])
def test_a_writer_that_knows_without_looking_is_let_in_by_a_downgrade(make):
    """One writes and goes on as a reader, another one waits to write: the twin writes meanwhile."""
    world = World("/l")
    session, other = world.connect(), world.connect()
    world.actor("A", session, downgrading(session), None)
    world.actor("B", other, use, make(other, "/l").write)
    verdict = explore(world, [ReadersAndWriters(), NoLostWakeup()], faults=NO_FAULTS)
    assert verdict.holds == (make is ReadWriteLock), str(verdict)


class _AsksTheBoardOnly(Line):
    """Takes nothing from its own listing."""

    def _was_first(self, turn: Turn) -> Script[bool]:
        return (yield from Posted(self.directory)) == turn.behind


class _PostingWriter(WriteLock[Any]):
    def _contend(self, blocking: bool) -> Any:
        hold = yield from super()._contend(blocking)
        yield from Post(self.path, split(hold.path)[1])
        return hold


class PostsInALineOfReaders(ReadWriteLock[Any]):
    """A writer posts that it is the first, as if nothing could stand there in its place."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.write.__class__ = _PostingWriter
        self.write._line = _AsksTheBoardOnly(*self.write._line)._replace(append_only=True)


def downgrades(both: ReadWriteLock[Any]) -> Script[None]:
    yield from acquire(both.write)
    yield from acquire(both.read)
    yield from release(both.write)
    yield from Work()
    yield from release(both.read)


@pytest.mark.parametrize("make", [PostsInALineOfReaders, ReadWriteLock], ids=["twin", "right"])
def test_a_writer_that_posts_and_downgrades_lets_the_next_one_in(make):
    """What it posted was true, and is no longer: it stands there as a reader."""
    world = World("/l", one_process=True)
    a, b = world.connect(), world.connect()
    world.actor("A", a, downgrades, make(a, "/l"))
    world.actor("B", b, use, make(b, "/l").write)
    verdict = explore(world, [ReadersAndWriters(), NoLostWakeup()], faults=NO_FAULTS)
    assert broken(verdict) == ([] if make is ReadWriteLock else [ReadersAndWriters.name])


def deletes_the_last(path: str) -> Script[None]:
    """Somebody removes the last node in the line, by hand: who waits there is not asked."""
    names = yield from Children(path)
    for name in sorted(names, key=lambda name: name[-10:])[1:][-1:]:
        try:
            yield from Delete(join(path, name))
        except NoNode:
            pass


def tells(lock: Any) -> Script[None]:
    """Acquires, and writes only if it has what it was told it has."""
    hold = yield from acquire(lock)
    there = yield from hold.check.of()
    try:
        yield from hold.transaction.of(Set("/data", b""))
        assert there, "it wrote without its node"
    except NotHeld:
        pass
    yield from release(lock)


@pytest.mark.parametrize("persistent", [False, True], ids=["ephemeral", "persistent"])
def test_a_waiting_node_deleted_by_hand(persistent):
    """At most one holds by a node that is there, whatever is deleted. Whose node went while it was
    next in line is told that it holds, and its transactions write nothing. With persistent nodes it
    looks, and stands in line again."""

    def explored(*asked: Any) -> Any:
        world = World("/l", "/data")
        for name in "AB":
            session = world.connect(retry=NTimes(1))
            lock = ReentrantLock(session, "/l", persistent=persistent)
            world.actor(name, session, tells, lock)
        world.actor("C", world.connect(), deletes_the_last, "/l")
        return explore(world, asked, faults=NO_FAULTS)

    verdict = explored(mutual_exclusion(), NoLostWakeup(), NothingLeft(), EndsWell())
    assert verdict.holds, str(verdict)
    assert explored(RealGrants()).holds == persistent


# --- a write node deleted by hand -------------------------------------------------------------


class _ReadsInItsPlace(ReadLock):
    """Takes the writer's place without a look whether the writer still stands there."""

    def _downgrade(self, writing: Any) -> Any:
        name = protected((yield from Guid()), self._kind + writing.path[-10:])
        mode = Mode.EPHEMERAL
        (node,) = yield from create_protected(self.path, name, data=b"", mode=mode)
        return Hold(self, node, writing.token)


class DowngradesWhatIsGone(ReadWriteLock):
    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.read.__class__ = _ReadsInItsPlace


def deletes_the_first(path: str) -> Script[None]:
    """Somebody removes the first node in the line, by hand."""
    names = yield from Children(path)
    for name in sorted(names, key=lambda name: name[-10:])[:1]:
        try:
            yield from Delete(join(path, name))
        except NoNode:
            pass


@pytest.mark.parametrize(
    ("make", "broken"),
    [(DowngradesWhatIsGone, True), (ReadWriteLock, False)],
    ids=["twin", "right"],
)
def test_a_downgrade_of_what_was_deleted_by_hand(make, broken):
    """One writes and goes on as a reader; another wants to write; a third removes the first node at
    any moment. Nobody reads while another one writes, and the token of a read is only older than
    its node where it came by a downgrade."""
    world = World("/l")
    session = world.connect()
    lock = make(session, "/l")

    def downgrades() -> Script[None]:
        writing = yield from acquire(lock.write)
        reading = yield from acquire(lock.read)
        took_its_place = reading.path[-10:] == writing.path[-10:]
        assert broken or reading.token == (writing.token if took_its_place else reading.czxid)
        yield from Work()
        yield from release(lock.write)
        yield from release(lock.read)

    world.actor("A", session, downgrades)
    other, third = world.connect(), world.connect()
    rival = make(other, "/l").write
    world.actor("B", other, use, rival)
    world.actor("C", third, deletes_the_first, "/l")
    properties = [ReadersAndWriters(), NoLostWakeup(), EndsWell(NoNode)]
    verdict = explore(world, faults=NO_FAULTS, properties=properties)
    assert verdict.holds != broken, str(verdict)
    if broken:
        assert "writes in /l while A" in str(verdict)
