"""The laws: what each design costs, by arithmetic.

One session holds the lock at the gate, N contenders queue behind it, and each acquires once. We
count creates and requests from the contenders' start, fires and wakeups from the opening of the
gate; what fires before that, while they queue, we count apart. The laws hold on any machine.

**Exclusive locks**, each contender with a session of its own:

    sequential       a release fires the one watch of the contender next in line: N fires
    herd             a release fires the watch of everybody still waiting: N + (N-1) + ... + 1 at
                     most, and each of them sends one more create
    children-watch   the same fires; but the nodes are numbered, so N creates do. And each newcomer
                     fires the watches of those who are there: 1 + 2 + ... + (N-1) while they queue

"At most", because a contender that is slow to look again may miss a whole hold, and then has no
watch that could fire at its end.

Requests: in the sequential design create, list, get and delete: 4N. All contenders are in one
process, so each knows without listing again that the one before it was the first. (In a process
each, all would list again but the first in the queue, which saw nobody ahead but the gate: 5N - 1.)
In a herd contender p to be served fails p times at most, with a create and a get each, then creates
and deletes: the sum of 2p + 2 is N(N+3). With children-watch each creates, lists and deletes, 3N,
and lists once more whenever it is woken, N(N-1)/2 times while queueing and N(N+1)/2 times after:
N(N+3) as well.

**Readers and writers**: the gate writes, the first W = N/2 (rounded down) contenders write, the R
others read; they arrive in this order.

    rw          a writer watches the one ahead, a reader the last writer: each has one watch, set
                once: W + R fires, of which the last R are one release that lets all readers in
    rw-first    a writer as above, W fires. A reader watches the first writer ahead: the gate, and
                whenever it is woken the writer that is first then. The gate wakes it surely, each
                of the W writers unless it is slow to look: R(W+1) at most, R at least. Not exact
    rw-herd     the gate's release fires N watches, that of writer i the N - i of those who wait:
                N + (N-1) + ... + R = W(N+R+1)/2 + R at most. Then all readers are in, and wake
                nobody. But a reader takes its watch away only after it has been let in, and until
                then the release of a quicker reader fires it: once for each of them but the
                quickest, R - 1 more fires at most

Requests: 5N for rw. With rw-first a reader has a get and a list for each writer ahead, where 2 do
with rw: 2W more for each, 5N + 2RW at most. With rw-herd 3N and one for each wakeup, as above.

**Elections**: the gate leads, N candidates stand behind it, each leads once and leaves. Whoever
leads watches its own node as well, to hear if somebody removes it, and takes that watch away before
it leaves.

    election-latch   a leader that leaves fires the watch of the candidate next in line: N fires
    election-herd    it fires that of everybody still standing: N + (N-1) + ... + 1 at most, and
                     each of them sends one more create

Requests: create, list, get, get its own node and delete: 5N (in a process each 6N - 1, as above).
In a herd contender p fails p times at most, with a create and a get each, then creates, watches its
node, and before it deletes that looks whose it is (sync, get): the sum of 2p + 5 is N(N+6).

**Shared**: N threads on one lock object of one session. Each contends as before, so creates,
requests and wakeups are as above; but in the sequential design all but the first list again, 5N - 1
requests, for a node of one's own session may have gone because that session is over. And a session
has one watch on a path, whoever waits for it, and a release fires it once: the herd is inside the
process, and shows in the wakeups. Where each
contender watches a path of its own (sequential) nothing changes. All readers behind one writer are
one fire (rw: W + 1), each release is one fire at most (herd, children-watch: N; rw-first: W + 1,
for nobody watches a reader; rw-herd: N, the quickest R - 1 readers included), and so is each
newcomer after the first (children-watch, rw-herd: N - 1). Candidates of elections have a session
each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

POPULATIONS = {
    "own": "each with a session of its own",
    "shared": "threads on one lock object of one session",
}
"""Who the contenders are."""


@dataclass(frozen=True)
class Term:
    """One count that a law predicts for N contenders, and how people write it."""

    formula: str
    of: Callable[[int], int]
    exact: bool = True

    @property
    def relation(self) -> str:
        """How a measured count must stand to the predicted one."""
        return "exactly" if self.exact else "at most"

    def allows(self, measured: int, contenders: int) -> bool:
        """Whether a measured count obeys."""
        predicted = self.of(contenders)
        return measured == predicted if self.exact else measured <= predicted


@dataclass(frozen=True)
class Law:
    """What a design costs."""

    fires: Term
    creates: Term
    wakeups: Term
    queueing_fires: Term
    """Fires before the gate opens."""
    requests: Term

    def terms(self) -> dict[str, Term]:
        """The terms by what they count; a GateRun has its counts under the same names."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def told(self) -> str:
        """The law in words. It leaves out the requests, the wakeups if their term is that of the
        fires, and the fires while queueing if there are none."""
        untold = {self.fires.formula: "wakeups", "0": "queueing_fires"}
        return ", ".join(
            f"{term.relation} {term.formula} {in_words(what)}"
            for what, term in self.terms().items()
            if untold.get(term.formula) != what and what != "requests"
        )


def in_words(what: str) -> str:
    """What is counted, as people say it."""
    return "fires while queueing" if what == "queueing_fires" else what


@dataclass(frozen=True)
class Laws:
    """A design's law for each population; no `shared`: it is not measured so."""

    own: Law
    shared: Law | None = None


def writers(contenders: int) -> int:
    """How many of them write where some read: the first half."""
    return contenders // 2


def readers(contenders: int) -> int:
    """How many of them read where some write: the others."""
    return contenders - writers(contenders)


def _in_turn(n: int) -> int:
    """Each writer once, each reader by the gate and by every writer."""
    return writers(n) + readers(n) * (writers(n) + 1)


def _all_who_wait(n: int) -> int:
    """Everybody who waits, at the gate's release and at each writer's."""
    return writers(n) * (n + readers(n) + 1) // 2 + readers(n)


def _looks_of_all(n: int) -> int:
    """Three requests for each, and one for each wakeup, while queueing and after."""
    return 3 * n + n * (n - 1) // 2 + _all_who_wait(n)


def at_most(formula: str, of: Callable[[int], int]) -> Term:
    """A term that is a bound, not an exact count."""
    return Term(formula, of, exact=False)


_NONE = Term("0", lambda n: 0)
_EACH = Term("N", lambda n: n)
_TRIANGLE = at_most("N(N+1)/2", lambda n: n * (n + 1) // 2)
_BY_ARRIVALS = at_most("N(N-1)/2", lambda n: n * (n - 1) // 2)
_ONE_A_RELEASE = at_most("N", lambda n: n)
_ONE_AN_ARRIVAL = at_most("N-1", lambda n: n - 1)
_ONE_A_WRITER = Term("W+1", lambda n: writers(n) + 1)
_BOTH = Term("W+R", lambda n: n)
_FIVE = Term("5N", lambda n: 5 * n)
_FOUR = Term("4N", lambda n: 4 * n)
_ONE_LESS = Term("5N-1", lambda n: 5 * n - 1)
_LOOKS = at_most("N(N+3)", lambda n: n * (n + 3))
_IN_TURN = at_most("W+R(W+1)", _in_turn)

_SEQUENTIAL = Law(fires=_EACH, creates=_EACH, wakeups=_EACH, queueing_fires=_NONE, requests=_FOUR)
SEQUENTIAL = Laws(_SEQUENTIAL, shared=replace(_SEQUENTIAL, requests=_ONE_LESS))

_HERD = Law(
    fires=_TRIANGLE,
    creates=at_most("N(N+3)/2", lambda n: n * (n + 3) // 2),
    wakeups=_TRIANGLE,
    queueing_fires=_NONE,
    requests=_LOOKS,
)
HERD = Laws(_HERD, shared=replace(_HERD, fires=_ONE_A_RELEASE))

_CHILDREN_WATCH = Law(
    fires=_TRIANGLE, creates=_EACH, wakeups=_TRIANGLE, queueing_fires=_BY_ARRIVALS, requests=_LOOKS
)
CHILDREN_WATCH = Laws(
    _CHILDREN_WATCH,
    shared=replace(_CHILDREN_WATCH, fires=_ONE_A_RELEASE, queueing_fires=_ONE_AN_ARRIVAL),
)

_RW = Law(fires=_BOTH, creates=_EACH, wakeups=_BOTH, queueing_fires=_NONE, requests=_FIVE)
RW = Laws(_RW, shared=replace(_RW, fires=_ONE_A_WRITER))

_RW_FIRST = replace(
    _RW,
    fires=_IN_TURN,
    wakeups=_IN_TURN,
    requests=at_most("5N+2RW", lambda n: 5 * n + 2 * readers(n) * writers(n)),
)
RW_FIRST = Laws(_RW_FIRST, shared=replace(_RW_FIRST, fires=replace(_ONE_A_WRITER, exact=False)))

_RW_HERD = Law(
    fires=at_most("W(N+R+1)/2+2R-1", lambda n: _all_who_wait(n) + readers(n) - 1),
    creates=_EACH,
    wakeups=at_most("W(N+R+1)/2+R", _all_who_wait),
    queueing_fires=_BY_ARRIVALS,
    requests=at_most("3N+(N(N-1)+W(N+R+1))/2+R", _looks_of_all),
)
RW_HERD = Laws(
    _RW_HERD, shared=replace(_RW_HERD, fires=_ONE_A_RELEASE, queueing_fires=_ONE_AN_ARRIVAL)
)

_ELECTION_LATCH = replace(_SEQUENTIAL, requests=_FIVE)
ELECTION_LATCH = Laws(_ELECTION_LATCH)

_ELECTION_HERD = replace(_HERD, requests=at_most("N(N+6)", lambda n: n * (n + 6)))
ELECTION_HERD = Laws(_ELECTION_HERD)
