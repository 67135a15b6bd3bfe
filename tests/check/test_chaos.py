"""The judge of a storm: a sound history holds, and each promise has a history that breaks it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from zkkit.chaos.verdicts import grants_table, judge
from zkkit.check.chaos.history import EXCLUSIVE, LEASE, SHARED, read
from zkkit.check.chaos.properties import PLACES
from zkkit.show.table import table

X, RW, SEM, LATCH = "/chaos/x", "/chaos/rw", "/chaos/sem", "/chaos/latch"
COUNTER, SHARED_COUNT, NUMBERS = "/chaos/counter", "/chaos/shared-count", "/chaos/numbers"
TREE, GATE, MEETING = "/chaos/tree", "/chaos/gates/a", "/chaos/meeting"
A, B, C = "threads-1", "asyncio-1", "threads-2"
NODES = {TREE: [5, 5, ""], f"{TREE}/a": [7, 9, "new"]}
Line = dict[str, Any]


class Tale:
    """What was written down, file by file. Times are in seconds here."""

    def __init__(self) -> None:
        self.files: dict[str, list[Line]] = {"chaos": [], "ledger": []}
        self._attempts = self._at_gates = self._visits = 0
        self._additions: Counter[str] = Counter()

    def note(self, file: str, at: float, event: str, **facts: Any) -> None:
        self.files.setdefault(file, []).append({"t": int(at * 1e9), "e": event, **facts})

    def born(self, process: str, front: str) -> None:
        self.note(process, 0, "born", front=front)

    def hold(
        self, process: str, begin: float, end: float, token: int | None, *, valid: bool = True,
        lock: str = "lock", path: str = X, mode: str = EXCLUSIVE, session: str = "0x1",
        inside: dict[str, Any] | None = None, again: bool = False, run_of: int | None = None,
        released: float = 0.0,
    ) -> dict[str, Any]:  # fmt: skip
        """One hold, asked twice whether it is valid; gives what identifies it."""
        self._attempts += 1
        me = {"actor": "a", "attempt": self._attempts}
        parts = [[path, mode, token]]
        outer = inside["who"][2] if inside else None
        self.note(process, begin, "ask", lock=lock, **me)
        told = {"parts": parts, "session": session, "inside": outer, "again": again}
        told["selector"] = run_of
        self.note(process, begin, "granted", **told, **me)
        self.note(process, begin, "valid", valid=True, **me)
        self.note(process, end, "valid", valid=valid, **me)
        if released:
            self.note(process, released, "release", **me)
        return {"who": [process, "a", self._attempts], "parts": parts}

    def added(
        self, process: str, asked: float, answered: float, before: int, counter: str = COUNTER
    ) -> None:
        """An addition that was confirmed."""
        me = self.adding(process, asked, counter)
        self.note(process, answered, "added", before=before, after=before + 1, **me)

    def adding(self, process: str, asked: float, counter: str = COUNTER) -> dict[str, Any]:
        """An addition, without an answer yet."""
        self._additions[counter] += 1
        me = {"actor": counter.rpartition("/")[2], "attempt": self._additions[counter]}
        self.note(process, asked, "add", counter=counter, **me)
        return me

    def at_gate(
        self, process: str, event: str, asked: float, answered: float, outcome: str = ""
    ) -> None:
        """Somebody closes a gate, opens it or comes to it; without an outcome: no answer."""
        self._at_gates += 1
        me = {"actor": "g", "attempt": self._at_gates}
        self.note(process, asked, event, gate=GATE, **me)
        if outcome:
            self.note(process, answered, outcome, **me)

    def visit(
        self, process: str, *times: float, outcome: str = "entered", left: str = "left"
    ) -> None:
        """Somebody enters a meeting and leaves it: when it asks and is answered, when it begins to
        leave and is answered; as far as it comes."""
        self._visits += 1
        me = {"actor": "m", "attempt": self._visits}
        events = ("enter", outcome, "leave", left)
        for at, event in zip(times, events, strict=False):
            self.note(process, at, event, meeting=MEETING, **me)

    def saw(self, process: str, at: float, *node: Any) -> None:
        """A watch sees a node: its czxid, its mzxid and its data; or none."""
        self.note(process, at, "seen", watch="data watch", node=node or None)

    def saw_the_tree(self, process: str) -> None:
        """Its watches see how the tree comes."""
        self.saw(process, 2.0)
        self.saw(process, 3.0, 5, 5, "")
        self.saw_names(process, 2.0)
        self.saw_names(process, 3.0, "a")

    def saw_names(self, process: str, at: float, *names: str) -> None:
        self.note(process, at, "seen", watch="children watch", names=names)

    def told(self, process: str, at: float, kind: str, path: str, *node: Any) -> None:
        """A cache tells; the node is its czxid, its mzxid and its data."""
        self.note(process, at, "told", cache="cache", kind=kind, path=path, node=node or None)

    def written(self, hold: dict[str, Any], zxid: int, node: str = "") -> None:
        self.note("ledger", 0, "write", zxid=zxid, node=node or f"/ledger/{zxid}", **hold)

    def left_out(self, event: str, **facts: Any) -> None:
        """Without the lines of the chief that say this."""
        self.files["chaos"] = [
            line
            for line in self.files["chaos"]
            if line["e"] != event or any(line.get(key) != value for key, value in facts.items())
        ]

    def line(self, file: str, event: str) -> Line:
        """The last line of a file that says this, to be falsified."""
        return [line for line in self.files[file] if line["e"] == event][-1]

    def save(self, directory: Path) -> Path:
        for name, lines in self.files.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (directory / f"{name}.jsonl").write_text(text)
        return directory


@pytest.fixture
def tale() -> Tale:
    """Two processes, two faults, one hold that was lost, two that count to two and meet, caches and
    watches of a tree of two nodes; all promises are kept."""
    tale = Tale()
    tale.note(
        "chaos", 0, "plan", locks=["lock"], fronts=["threads", "asyncio"], limits={SEM: 2},
        faults=["kill client", "cut leader"], fenced=[X], counters=[COUNTER],
        numbers=[NUMBERS],
        caches={"cache": [TREE, "all"]}, gates=GATE, meetings={MEETING: 2},
        watches={"data watch": TREE, "children watch": TREE},
    )  # fmt: skip
    tale.born(A, "threads")
    tale.born(B, "asyncio")
    tale.born(C, "threads")
    tale.note("chaos", 1, "phase", phase="storm")
    tale.note("chaos", 2, "fault", kind="kill client", on=C)
    tale.note("chaos", 2, "killed", process=C)
    tale.note("chaos", 5, "fault", kind="cut leader", on="node 1")
    tale.written(tale.hold(A, 2.0, 3.0, 11, valid=False), 100)
    tale.written(tale.hold(B, 3.0, 4.0, 12), 101)
    for process in (A, B):
        tale.told(process, 2.0, "created", TREE, 5, 5, "")
        tale.told(process, 2.0, "initialized", TREE)
        tale.told(process, 3.0, "created", f"{TREE}/a", 7, 7, "old")
        tale.told(process, 3.5, "suspended", TREE)
        tale.told(process, 4.0, "changed", f"{TREE}/a", 7, 9, "new")
        tale.saw_the_tree(process)
    tale.visit(A, 2.0, 3.0, 3.5, 4.5)
    tale.visit(B, 2.5, 3.1, 4.0, 4.4)
    tale.at_gate(A, "close", 2.0, 2.1, "gate done")
    tale.at_gate(B, "come", 2.2, 2.5, "turned back")
    tale.at_gate(B, "come", 2.6, 3.2, "passed")
    tale.at_gate(A, "open", 3.0, 3.1, "gate done")
    tale.added(A, 2.0, 2.5, 5, NUMBERS)
    tale.added(B, 2.6, 3.0, 0, NUMBERS)
    tale.added(A, 2.0, 2.5, 0)
    tale.added(B, 2.2, 3.0, 1)
    tale.note("chaos", 20, "phase", phase="calm")
    tale.hold(A, 21.0, 22.0, 91)
    tale.hold(B, 22.0, 23.0, 92)
    for process in (A, B):
        tale.note(process, 24, "rested")
        tale.note(process, 25.5, "content", cache="cache", nodes=NODES)
        tale.note("chaos", 26, "ended", process=process, code=0)
    tale.note("chaos", 25, "phase", phase="over")
    for place in PLACES:
        tale.note("chaos", 26, "looked", where=place)
    tale.note("chaos", 25, "tree", nodes=NODES)
    tale.note("chaos", 27, "counted", counter=NUMBERS, value=10)
    tale.note("chaos", 27, "counted", counter=COUNTER, value=2)
    tale.note("chaos", 27, "drained")
    return tale


def test_a_sound_history_holds(tale: Tale, tmp_path: Path) -> None:
    """All promises were kept, all faults struck: that is a pass, and says what it rests on."""
    history = read(tale.save(tmp_path))
    found = judge(history)
    assert found.judgement.verdict == "holds", found
    assert "4 grants under 2 faults" in found.judgement.why
    assert "2 additions counted once (0 more are unknown)" in found.judgement.why
    assert "2 numbers were given out once" in found.judgement.why
    assert "1 came to a closed gate and passed when it was opened" in found.judgement.why
    assert "2 caches and watchers told of 6 changes and became like the tree" in found.judgement.why
    assert "lock        2        2          0     1         0.0 s" in table(*grants_table(history))


def test_half_a_line_at_the_end_is_passed_over(tale: Tale, tmp_path: Path) -> None:
    """A process that is killed may leave half a line; files may be compressed."""
    tale.save(tmp_path)
    file = tmp_path / f"{C}.jsonl"
    torn = file.read_bytes() + b'{"t": 12, "e": "as'
    (tmp_path / f"{C}.jsonl.gz").write_bytes(gzip.compress(torn))
    file.unlink()
    assert judge(read(tmp_path)).judgement.verdict == "holds"


def overlap(tale: Tale) -> None:
    tale.hold(A, 5.0, 7.0, 31)
    tale.hold(B, 6.0, 8.0, 32)


def writer_beside_reader(tale: Tale) -> None:
    tale.hold(A, 5.0, 7.0, 31, path=RW, mode=SHARED)
    tale.hold(B, 6.0, 6.5, 32, path=RW)


def too_many_leases(tale: Tale) -> None:
    for process, begin in ((A, 5.0), (B, 5.2), (A, 5.4)):
        tale.hold(process, begin, 6.0, None, path=SEM, mode=LEASE)


def valid_again(tale: Tale) -> None:
    hold = tale.hold(A, 5.0, 6.0, 31, valid=False)
    tale.note(A, 7.0, "valid", valid=True, actor="a", attempt=hold["who"][2])


def reentered_a_second_hold(tale: Tale) -> None:
    outer = tale.hold(A, 5.0, 7.0, 31)
    tale.hold(A, 5.5, 5.6, 32, inside=outer)


def reentry_outlives_its_hold(tale: Tale) -> None:
    """A release of one of two gave all back: another one is let in."""
    outer = tale.hold(A, 5.0, 6.0, 31)
    tale.hold(A, 5.5, 8.0, 31, inside=outer)
    tale.hold(B, 7.0, 7.5, 32)


def writer_let_in_by_a_downgrade(tale: Tale) -> None:
    outer = tale.hold(A, 5.0, 6.0, 31, path=RW)
    tale.hold(A, 5.5, 8.0, 31, path=RW, mode=SHARED, lock="read", inside=outer)
    tale.hold(B, 7.0, 7.5, 32, path=RW)


def downgraded_to_another_token(tale: Tale) -> None:
    outer = tale.hold(A, 5.0, 6.0, 31, path=RW)
    tale.hold(A, 5.5, 8.0, 32, path=RW, mode=SHARED, lock="read", inside=outer)


def token_goes_back(tale: Tale) -> None:
    tale.hold(A, 5.0, 6.0, 32)
    tale.hold(B, 6.5, 7.0, 31)


def same_token_twice(tale: Tale) -> None:
    tale.hold(A, 5.0, 6.0, 31)
    tale.hold(B, 6.5, 7.0, 31)


def reader_with_an_old_token(tale: Tale) -> None:
    tale.hold(A, 5.0, 6.0, 32, path=RW)
    tale.hold(B, 6.5, 7.0, 31, path=RW, mode=SHARED)


def stale_write(tale: Tale) -> None:
    old = tale.hold(A, 5.0, 6.0, 31, valid=False)
    new = tale.hold(B, 6.5, 7.0, 32)
    tale.written(new, 201)
    tale.written(old, 202)


def write_not_there(tale: Tale) -> None:
    hold = tale.hold(A, 5.0, 6.0, 31)
    tale.note(A, 6.1, "wrote", node="/ledger/9", actor="a", attempt=hold["who"][2])


def no_answer(tale: Tale) -> None:
    tale.note(B, 6.0, "ask", lock="lock", actor="b", attempt=1)


def not_served_in_the_calm(tale: Tale) -> None:
    tale.born("gevent-1", "gevent")
    tale.hold("gevent-1", 5.0, 6.0, 31)
    tale.note("gevent-1", 24, "rested")
    tale.note("gevent-1", 25.5, "content", cache="cache", nodes=NODES)
    tale.saw_the_tree("gevent-1")


def stood_in_the_calm(tale: Tale) -> None:
    """Of the scripts that stood there at the end the one about this lock is told."""
    not_served_in_the_calm(tale)
    stood = "in wait waits for a watch on"
    scripts = [f"Lock of Task-1 {stood} /chaos/x/lock-7", f"Lock of Task-2 {stood} /chaos/y/lock-8"]
    tale.note("gevent-1", 25, "standing", scripts=scripts)


def never_at_rest(tale: Tale) -> None:
    tale.files[A] = [line for line in tale.files[A] if line["e"] != "rested"]


def crash(tale: Tale) -> None:
    tale.note(A, 6.0, "crash", actor="a", why="AttributeError: no such thing")


def ended_by_itself(tale: Tale) -> None:
    tale.left_out("ended", process=A)
    tale.note("chaos", 26, "ended", process=A, code=-11)


def left_node(tale: Tale) -> None:
    tale.note("chaos", 26, "left", what="node", name="/chaos/x/lock-7")


def two_leaders(tale: Tale) -> None:
    """The first one does not know that it was cut off for too long."""
    tale.hold(A, 5.0, 7.0, 31, lock="latch", path=LATCH)
    tale.hold(B, 6.9, 8.0, 32, lock="latch", path=LATCH)


def leads_again_without_standing(tale: Tale) -> None:
    tale.hold(A, 5.0, 6.0, 31, lock="latch", path=LATCH)
    tale.hold(B, 6.5, 7.0, 32, lock="latch", path=LATCH)
    tale.hold(A, 7.5, 8.0, 31, lock="latch", path=LATCH)


def leads_again_after_another(tale: Tale) -> None:
    """By the node that it had before: it must have been gone when the other one led."""
    first = tale.hold(A, 5.0, 6.0, 31, valid=False, lock="latch", path=LATCH)
    tale.hold(B, 6.5, 7.0, 32, lock="latch", path=LATCH)
    tale.hold(A, 7.5, 8.0, 31, lock="latch", path=LATCH, inside=first, again=True)


def deposed_leader_writes(tale: Tale) -> None:
    old = tale.hold(A, 5.0, 6.0, 31, valid=False, lock="latch", path=LATCH)
    new = tale.hold(B, 6.5, 7.0, 32, lock="latch", path=LATCH)
    tale.written(new, 201)
    tale.written(old, 202)


def ran_twice_at_once(tale: Tale) -> None:
    """The session was lost, and the selector did not wait for its function to end."""
    run = partial(tale.hold, A, lock="selector", path=LATCH, run_of=1)
    run(5.0, 6.0, 31, valid=False, released=8.0)
    run(7.0, 7.5, 32, released=7.6)


def ran_again_before_it_ended(tale: Tale) -> None:
    """It never came to an end."""
    run = partial(tale.hold, A, lock="selector", path=LATCH, run_of=1)
    run(5.0, 6.0, 31, valid=False)
    run(7.0, 7.5, 32, released=7.6)


def two_functions_lead(tale: Tale) -> None:
    tale.hold(A, 5.0, 7.0, 31, lock="selector", path=LATCH, run_of=1, released=7.0)
    tale.hold(B, 6.9, 8.0, 32, lock="selector", path=LATCH, run_of=1, released=8.0)


def counted_twice(tale: Tale) -> None:
    """A reply was lost, and the addition was repeated."""
    tale.line("chaos", "counted")["value"] = 3


def not_counted(tale: Tale) -> None:
    tale.line("chaos", "counted")["value"] = 1


def more_than_can_be_in_doubt(tale: Tale) -> None:
    """One was killed on its way, one was told "unknown"; three more are there."""
    tale.adding(C, 1.5)
    tale.note(A, 7.0, "unknown", why="OutcomeUnknown", **tale.adding(A, 6.0))
    tale.line("chaos", "counted")["value"] = 5


def counted_though_it_was_denied(tale: Tale) -> None:
    tale.note(A, 7.0, "unadded", **tale.adding(A, 6.0))
    tale.line("chaos", "counted")["value"] = 3


def same_number_twice(tale: Tale) -> None:
    tale.added(A, 2.1, 3.1, 1)
    tale.line("chaos", "counted")["value"] = 3


def added_two(tale: Tale) -> None:
    tale.line(B, "added")["after"] = 3


def number_goes_back(tale: Tale) -> None:
    """The greater number was given away before the smaller one was asked for."""
    tale.added(A, 5.0, 5.5, 3)
    tale.added(B, 6.0, 6.5, 2)
    tale.line("chaos", "counted")["value"] = 4


def addition_without_an_answer(tale: Tale) -> None:
    tale.adding(B, 6.0)


def lost_update(tale: Tale) -> None:
    """Two set a shared count, both from what they had found, and both were told that it is so."""
    tale.files["chaos"][0]["counters"].append(SHARED_COUNT)
    tale.added(A, 2.0, 2.5, 0, SHARED_COUNT)
    tale.added(B, 2.2, 2.6, 0, SHARED_COUNT)
    tale.note("chaos", 27, "counted", counter=SHARED_COUNT, value=1)


def number_given_out_twice(tale: Tale) -> None:
    """By two processes that reserved the same block."""
    tale.added(B, 3.5, 4.0, 5, NUMBERS)


def number_nobody_reserved(tale: Tale) -> None:
    """The block went with its session, and its numbers are given out all the same."""
    tale.added(B, 3.5, 4.0, 10, NUMBERS)


def number_never_given(tale: Tale) -> None:
    tale.adding(B, 6.0, NUMBERS)


def passed_early(tale: Tale) -> None:
    tale.at_gate(A, "close", 5.0, 5.1, "gate done")
    tale.at_gate(B, "come", 5.2, 5.3, "passed")
    tale.at_gate(A, "open", 6.0, 6.1, "gate done")


def passed_a_gate_of_the_dead(tale: Tale) -> None:
    """Its keeper was killed: nobody has opened it."""
    tale.at_gate(C, "close", 5.0, 5.1, "gate done")
    tale.at_gate(B, "come", 5.2, 5.3, "passed")


def waits_at_an_open_gate(tale: Tale) -> None:
    tale.at_gate(B, "come", 5.2, 0)


def met_nobody(tale: Tale) -> None:
    tale.visit(A, 6.0, 6.1, 6.2, 6.3)


def met_one_who_came_later(tale: Tale) -> None:
    tale.visit(A, 6.0, 6.1, 6.5, 6.9)
    tale.visit(B, 6.2, 6.3, 6.4, 6.8)


def left_too_early(tale: Tale) -> None:
    tale.visit(A, 6.0, 6.2, 6.3, 6.4)
    tale.visit(B, 6.1, 6.2, 6.5, 6.6)


def waits_for_a_meeting(tale: Tale) -> None:
    tale.visit(B, 6.0)


def waits_to_leave(tale: Tale) -> None:
    tale.visit(A, 6.0, 6.2, 6.3, outcome="entered")
    tale.visit(B, 6.1, 6.2, 6.3, 7.0, left="left alone")


def left_alone_in_the_calm(tale: Tale) -> None:
    tale.visit(A, 20.5, 20.7, 20.8, 24.0, left="left alone")
    tale.visit(B, 20.6, 20.7, 20.8, 24.0, left="leave unsure")


def met_in_vain(tale: Tale) -> None:
    tale.note("chaos", 60, "phase", phase="over")
    tale.visit(A, 21.0, 51.0, outcome="turned away")
    tale.visit(B, 22.0, 52.0, outcome="turned away")


def watch_went_back(tale: Tale) -> None:
    tale.saw(B, 4.0, 5, 4, "old")
    tale.saw(B, 5.0, 5, 5, "")


def watch_saw_it_twice(tale: Tale) -> None:
    tale.saw_names(B, 4.0, "a")


def watch_missed_the_last_change(tale: Tale) -> None:
    tale.line(B, "seen")["names"] = ["a", "b"]


def watch_has_another_node(tale: Tale) -> None:
    tale.saw(B, 4.0)


def watch_never_called(tale: Tale) -> None:
    tale.files[B] = [line for line in tale.files[B] if line.get("watch") != "data watch"]
    tale.born("asyncio-9", "asyncio")
    tale.note("chaos", 2, "killed", process="asyncio-9")
    tale.saw_the_tree("asyncio-9")


def other_caches(tale: Tale) -> None:
    """One follows a node, one the children of another: no more than that is theirs."""
    more = {"node cache": (f"{TREE}/a", "node"), "children cache": (TREE, "children")}
    tale.files["chaos"][0]["caches"].update(more)
    for cache in more:
        for process in (A, B):
            told = {"cache": cache, "path": f"{TREE}/a"}
            tale.note(process, 3.0, "told", kind="created", node=[7, 7, "old"], **told)
            tale.note(process, 4.0, "told", kind="changed", node=[7, 9, "new"], **told)
            tale.note(process, 25, "content", cache=cache, nodes={f"{TREE}/a": [7, 9, "new"]})


def children_cache_has_a_ghost(tale: Tale) -> None:
    other_caches(tale)
    child = {"path": f"{TREE}/b", "node": [11, 11, ""]}
    tale.note(B, 5.0, "told", cache="children cache", kind="created", **child)
    tale.line(B, "content")["nodes"][f"{TREE}/b"] = [11, 11, ""]


def children_cache_without_a_child(tale: Tale) -> None:
    other_caches(tale)
    child = {"path": f"{TREE}/a", "node": None}
    tale.note(B, 5.0, "told", cache="children cache", kind="deleted", **child)
    tale.line(B, "content")["nodes"] = {}


def node_cache_lags_for_ever(tale: Tale) -> None:
    other_caches(tale)
    for event in ("told", "content"):
        [line] = [
            line
            for line in tale.files[B]
            if (line["e"], line.get("cache")) == (event, "node cache") and line["t"] >= 4e9
        ]
        tale.files[B].remove(line)
    tale.note(B, 25, "content", cache="node cache", nodes={f"{TREE}/a": [7, 7, "old"]})


def cache_lags_for_ever(tale: Tale) -> None:
    """It never heard of the change, and tells the same of itself."""
    tale.files[B].remove(tale.line(B, "told"))
    tale.line(B, "content")["nodes"] = {**NODES, f"{TREE}/a": [7, 7, "old"]}


def cache_has_a_ghost(tale: Tale) -> None:
    tale.told(B, 5.0, "created", f"{TREE}/b", 11, 11, "")
    tale.line(B, "content")["nodes"] = {**NODES, f"{TREE}/b": [11, 11, ""]}


def cache_with_other_data(tale: Tale) -> None:
    tale.line(B, "told")["node"] = [7, 9, "torn"]
    tale.line(B, "content")["nodes"] = {**NODES, f"{TREE}/a": [7, 9, "torn"]}


def cache_took_another_node_for_the_same(tale: Tale) -> None:
    """Deleted and created again behind its back: other versions would not have shown it."""
    tale.line("chaos", "tree")["nodes"] = {**NODES, f"{TREE}/a": [8, 9, "new"]}


def events_do_not_add_up(tale: Tale) -> None:
    tale.files[B].remove(tale.line(B, "told"))


def cache_goes_back(tale: Tale) -> None:
    """A server that lags has shown it something older, and it believed it for a while."""
    tale.told(B, 5.0, "changed", f"{TREE}/a", 7, 8, "older")
    tale.told(B, 6.0, "changed", f"{TREE}/a", 7, 9, "new")


def cache_brings_back_the_dead(tale: Tale) -> None:
    tale.told(B, 5.0, "deleted", f"{TREE}/a")
    tale.told(B, 6.0, "created", f"{TREE}/a", 7, 9, "new")


def created_twice(tale: Tale) -> None:
    tale.line(B, "told")["kind"] = "created"


def changed_into_another_node(tale: Tale) -> None:
    tale.line(B, "told")["node"] = [9, 9, "new"]
    for file, event in (("chaos", "tree"), (A, "content"), (B, "content")):
        tale.line(file, event)["nodes"] = {**NODES, f"{TREE}/a": [9, 9, "new"]}
    last = tale.line(A, "told")
    tale.files[A].insert(tale.files[A].index(last), {**last, "kind": "deleted", "node": None})
    last.update(kind="created", node=[9, 9, "new"])


def deleted_what_was_not_there(tale: Tale) -> None:
    tale.told(B, 5.0, "deleted", f"{TREE}/b")


def content_unknown(tale: Tale) -> None:
    tale.files[B].remove(tale.line(B, "content"))


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (two_leaders, "/chaos/latch: threads-1/a#5 and asyncio-1/a#6 were valid at the same time"),
        (leads_again_without_standing, "/chaos/latch: the token of threads-1/a#7 (0x1f) is not gr"),
        (leads_again_after_another, "/chaos/latch: the token of threads-1/a#7 (0x1f) is not great"),
        (deposed_leader_writes, "/chaos/latch: a guarded write of threads-1/a#5 was accepted afte"),
        (
            ran_twice_at_once,
            "selector: the function ran as threads-1/a#6 when it ran as threads-1/",
        ),
        (ran_again_before_it_ended, "selector: the function ran as threads-1/a#6 when it ran as t"),
        (two_functions_lead, "/chaos/latch: threads-1/a#5 and asyncio-1/a#6 were valid at the sam"),
        (counted_twice, "holds 3 in the end: 2 additions were confirmed, and 0 are unknown"),
        (not_counted, "holds 1 in the end: 2 additions were confirmed, and 0 are unknown"),
        (more_than_can_be_in_doubt, "holds 5 in the end: 2 additions were confirmed, and 2 are"),
        (counted_though_it_was_denied, "holds 3 in the end: 2 additions were confirmed, and 0 are"),
        (same_number_twice, "counter#2 and threads-1/counter#3 were both given 2"),
        (added_two, "asyncio-1/counter#2 added one to 1 and got 3"),
        (number_goes_back, "asyncio-1/counter#4 was given 3 after threads-1/counter#3 had been gi"),
        (addition_without_an_answer, "asyncio-1/counter#3 added for 19 s and got no answer"),
        (lost_update, "/chaos/shared-count"),
        (number_given_out_twice, "asyncio-1/numbers#3 and threads-1/numbers#1 were both given 5"),
        (number_nobody_reserved, "/chaos/numbers holds 10 in the end, and asyncio-1/numbers#3 was"),
        (number_never_given, "/chaos/numbers: asyncio-1/numbers#3 added for 19 s and got no ans"),
        (passed_early, "gates/a: asyncio-1/g#6 passed 200.0 ms after threads-1/g#5 had closed it"),
        (
            passed_a_gate_of_the_dead,
            "gates/a: asyncio-1/g#6 passed 200.0 ms after threads-2/g#5 ha",
        ),
        (waits_at_an_open_gate, "/chaos/gates/a: asyncio-1/g#5 wanted to come and got no answer"),
        (met_nobody, "/chaos/meeting: threads-1/m#3 was let in when 1 of 2 had come"),
        (met_one_who_came_later, "/chaos/meeting: threads-1/m#3 was let in when 1 of 2 had come"),
        (left_too_early, "threads-1/m#3 was out 100.0 ms before asyncio-1/m#4 began to leave"),
        (waits_for_a_meeting, "/chaos/meeting: asyncio-1/m#3 wanted to enter and got no answer"),
        (waits_to_leave, "/chaos/meeting: threads-1/m#3 wanted to leave and got no answer"),
        (left_alone_in_the_calm, "threads-1/m#3 left alone, though the others were about to leave"),
        (met_in_vain, "2 of 2 waited together for 29 s, and nobody was let in"),
        (watch_went_back, "the data watch of asyncio-1 went back: it saw 0x5/0x5 with '', then"),
        (watch_saw_it_twice, "the children watch of asyncio-1 saw the same twice: 1 names"),
        (
            watch_missed_the_last_change,
            "the children watch of asyncio-1 saw 2 names at last, and at /chaos/tree there is 1 na",
        ),
        (watch_has_another_node, "the data watch of asyncio-1 saw no node at last, and at /chaos"),
        (watch_never_called, "the data watch of asyncio-1 saw nothing at last, and at /chaos/tree"),
        (
            cache_lags_for_ever,
            "the cache of asyncio-1 is not like the tree at the end, in 1 nodes such as "
            "/chaos/tree/a: 0x7/0x7 with 'old' there, 0x7/0x9 with 'new' in the latter",
        ),
        (node_cache_lags_for_ever, "the node cache of asyncio-1 is not like the tree at the end"),
        (children_cache_has_a_ghost, "the children cache of asyncio-1 is not like the tree at"),
        (children_cache_without_a_child, "the children cache of asyncio-1 is not like the tree "),
        (cache_has_a_ghost, "the cache of asyncio-1 is not like the tree at the end"),
        (cache_with_other_data, "the cache of asyncio-1 is not like the tree at the end"),
        (cache_took_another_node_for_the_same, "is not like the tree at the end"),
        (events_do_not_add_up, "the sum of what the cache of asyncio-1 told is not like what it"),
        (cache_goes_back, "of asyncio-1 went back: /chaos/tree/a was 0x7/0x"),
        (cache_brings_back_the_dead, "went back: /chaos/tree/a was 0x7/0x9, then 0x7/0x9"),
        (created_twice, "told that /chaos/tree/a was created, which was there already"),
        (changed_into_another_node, "told that /chaos/tree/a was changed, which is another node"),
        (deleted_what_was_not_there, "told that /chaos/tree/b was deleted, which was not there"),
        (content_unknown, "it is unknown what the cache of asyncio-1 held at the end"),
        (overlap, "threads-1/a#5 and asyncio-1/a#6 were valid at the same time, for 1000.0 ms"),
        (
            writer_beside_reader,
            "/chaos/rw: threads-1/a#5 and asyncio-1/a#6 were valid at the same time",
        ),
        (
            too_many_leases,
            "/chaos/sem: threads-1/a#5 and asyncio-1/a#6 and threads-1/a#7 were valid at the",
        ),
        (valid_again, "valid of threads-1/a#5 was true again after it had been false"),
        (reentered_a_second_hold, "threads-1/a#"),
        (reentry_outlives_its_hold, "threads-1/a#6 and asyncio-1/a#7 were valid at the same time"),
        (
            writer_let_in_by_a_downgrade,
            "/chaos/rw: threads-1/a#6 and asyncio-1/a#7 were valid at the same time",
        ),
        (downgraded_to_another_token, "threads-1/a#"),
        (token_goes_back, "the token of asyncio-1/a#6 (0x1f) is not greater than that of threads"),
        (same_token_twice, "the token of asyncio-1/a#6 (0x1f) is not greater than that of threads"),
        (reader_with_an_old_token, "/chaos/rw: the token of asyncio-1/a#6 (0x1f) is not greater"),
        (stale_write, "a guarded write of threads-1/a#5 was accepted after one of asyncio-1/a#6"),
        (write_not_there, "/ledger/9 was acknowledged to threads-1/a#5 and is not there"),
        (no_answer, "lock: asyncio-1/b#1 waited for 19 s and got no answer"),
        (not_served_in_the_calm, "lock: gevent-1 was not granted it after the last fault"),
        (
            stood_in_the_calm,
            "lock: gevent-1 was not granted it after the last fault (Lock of Task-1 in wait "
            "waits for a watch on /chaos/x/lock-7)",
        ),
        (never_at_rest, "threads-1 did not come to rest after the last fault"),
        (crash, "an error that is not promised: threads-1/a: AttributeError"),
        (ended_by_itself, "threads-1 ended by itself, with exit code -11"),
        (left_node, "left behind: node /chaos/x/lock-7"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_promise_is_found(
    tale: Tale, tmp_path: Path, break_it: Callable[[Tale], None], sentence: str
) -> None:
    """Each promise, broken once: that is the only thing found, and the verdict is broken."""
    break_it(tale)
    found = judge(read(tale.save(tmp_path)))
    assert found.judgement.verdict == "broken"
    assert [line for line in found.broken if sentence not in line] == []


def two_readers(tale: Tale) -> None:
    tale.hold(A, 5.0, 7.0, 32, path=RW, mode=SHARED)
    tale.hold(B, 6.0, 8.0, 31, path=RW, mode=SHARED)


def reentry(tale: Tale) -> None:
    """The same hold twice; the outer one is written under afterwards."""
    outer = tale.hold(A, 5.0, 7.0, 31)
    tale.written(tale.hold(A, 5.5, 6.0, 31, inside=outer), 201)
    tale.written(outer, 202)
    tale.hold(B, 7.0, 8.0, 32)


def reentry_after_a_loss(tale: Tale) -> None:
    """The hold is lost, another one had the lock: who asks again gets in as anybody does."""
    outer = tale.hold(A, 5.0, 6.0, 31, valid=False)
    tale.hold(B, 6.5, 7.0, 32)
    tale.hold(A, 7.5, 8.0, 33, inside=outer)


def downgrade(tale: Tale) -> None:
    """It reads on with the token of the write hold, and others read with it."""
    outer = tale.hold(A, 5.0, 6.0, 31, path=RW)
    tale.hold(A, 5.5, 8.0, 31, path=RW, mode=SHARED, lock="read", inside=outer)
    tale.hold(B, 6.5, 7.0, 32, path=RW, mode=SHARED)


def two_leases(tale: Tale) -> None:
    for process in (A, B):
        tale.hold(process, 5.0, 6.0, None, path=SEM, mode=LEASE)


def told_too_late(tale: Tale) -> None:
    """It was stopped, and another was granted and has released when it writes its grant down."""
    tale.hold(B, 5.0, 6.0, 32)
    me = {"actor": "z", "attempt": 1}
    tale.note(A, 4.0, "ask", lock="lock", **me)
    tale.note(A, 7.0, "granted", parts=[[X, EXCLUSIVE, 31]], **me)
    tale.note(A, 7.0, "valid", valid=False, **me)


def closed_from_outside(tale: Tale) -> None:
    """Its session was closed in its name: it cannot know that at once."""
    tale.note("chaos", 5.5, "closing", session="0x9", process=A)
    tale.note("chaos", 5.58, "closing", session="0x9", process=A)  # once more, too late
    tale.hold(A, 5.0, 5.6, 31, session="0x9")
    tale.hold(B, 5.55, 6.0, 32)


def late_but_not_stale(tale: Tale) -> None:
    """The next one stands in line already, and has written nothing yet."""
    hold = tale.hold(A, 5.0, 6.0, 31)
    tale.hold(B, 6.5, 7.0, 32)
    tale.written(hold, 201)
    tale.written(hold, 202)


def waited_when_killed(tale: Tale) -> None:
    tale.note(C, 1.5, "ask", lock="lock", actor="a", attempt=1)


def leader_after_leader(tale: Tale) -> None:
    """The first one has seen in time that it may be no leader any more."""
    tale.hold(A, 5.0, 7.0, 31, valid=False, lock="latch", path=LATCH)
    tale.hold(B, 6.9, 8.0, 32, lock="latch", path=LATCH)


def leads_again(tale: Tale) -> None:
    """Its connection broke, and its node is still the first: a new leadership, the same token. Then
    its session is lost, and it leads in the next one."""
    first = tale.hold(A, 5.0, 6.0, 31, valid=False, lock="latch", path=LATCH)
    tale.hold(A, 6.5, 7.0, 31, valid=False, lock="latch", path=LATCH, inside=first, again=True)
    tale.hold(A, 8.0, 9.0, 33, lock="latch", path=LATCH, inside=first, again=True, session="0x2")


def ran_again(tale: Tale) -> None:
    """The second run waited for the first, which did not stop at once; beside both of them a
    function of another selector ends, and does not know that it leads no more."""
    run = partial(tale.hold, lock="selector", path=LATCH)
    run(B, 4.0, 4.5, 30, valid=False, run_of=1, released=9.0)
    run(A, 5.0, 6.0, 31, valid=False, run_of=1, released=7.0)
    run(A, 7.1, 7.5, 32, run_of=1, released=7.6)
    run(A, 8.0, 8.5, 33, run_of=2, released=8.6)


def counted_or_not(tale: Tale) -> None:
    """Two are unknown; one of them has counted."""
    tale.adding(C, 1.5)
    tale.note(A, 7.0, "unknown", why="OutcomeUnknown", **tale.adding(A, 6.0))
    tale.line("chaos", "counted")["value"] = 3


def number_told_late(tale: Tale) -> None:
    """They asked at the same time: either may have been first."""
    tale.added(A, 5.0, 7.0, 2)
    tale.added(B, 5.1, 6.0, 3)
    tale.line("chaos", "counted")["value"] = 4


def passed_while_it_was_opened(tale: Tale) -> None:
    """It came before it was closed, or passed when somebody was about to open it."""
    tale.at_gate(A, "close", 5.0, 5.2, "gate done")
    tale.at_gate(B, "come", 5.1, 5.3, "passed")
    tale.at_gate(B, "come", 5.4, 6.1, "passed")
    tale.at_gate(A, "open", 6.0, 7.0, "gate done")


def opened_by_the_dead(tale: Tale) -> None:
    """The last thing it did may come to be done after its next life has closed the gate."""
    tale.at_gate(C, "open", 5.0, 0)
    tale.at_gate(A, "close", 5.2, 5.3, "gate done")
    tale.at_gate(B, "come", 5.4, 5.5, "passed")


def joined_a_meeting(tale: Tale) -> None:
    """Enough had come, and one of them is still inside."""
    tale.visit(A, 6.0, 6.2, 6.3, 6.4)
    tale.visit(B, 6.1, 6.2, 6.3, 7.0)
    tale.visit(A, 6.5, 6.6, 6.7, 7.0)


def met_one_who_was_killed(tale: Tale) -> None:
    """It had come, and may have been there when the other was let in."""
    tale.visit(C, 1.5)
    tale.visit(A, 6.0, 6.1, 6.2, 6.3)


def did_not_wait_for_one_that_was_gone(tale: Tale) -> None:
    """Its session was lost while it was inside."""
    tale.visit(A, 6.0, 6.2, 6.3, 6.4)
    tale.visit(B, 6.1, 6.2, 6.5, 6.6, left="leave unsure")


def not_all_came_in_the_calm(tale: Tale) -> None:
    tale.visit(A, 20.1, 24.0, outcome="turned away")


def watch_of_the_dead(tale: Tale) -> None:
    tale.saw(C, 1.0)


def cache_of_the_dead(tale: Tale) -> None:
    """It was killed on its way: it need not have heard of everything."""
    tale.told(C, 1.0, "created", TREE, 5, 5, "")


def created_anew(tale: Tale) -> None:
    tale.told(B, 2.5, "created", f"{TREE}/b", 6, 6, "")
    tale.told(B, 2.6, "deleted", f"{TREE}/b")
    tale.told(B, 2.7, "created", f"{TREE}/b", 8, 8, "")
    tale.told(B, 2.8, "deleted", f"{TREE}/b")


@pytest.mark.parametrize(
    "allowed",
    [
        leader_after_leader,
        leads_again,
        ran_again,
        counted_or_not,
        number_told_late,
        passed_while_it_was_opened,
        opened_by_the_dead,
        joined_a_meeting,
        met_one_who_was_killed,
        did_not_wait_for_one_that_was_gone,
        not_all_came_in_the_calm,
        watch_of_the_dead,
        cache_of_the_dead,
        other_caches,
        created_anew,
        two_readers,
        reentry,
        reentry_after_a_loss,
        downgrade,
        two_leases,
        told_too_late,
        closed_from_outside,
        late_but_not_stale,
        waited_when_killed,
    ],
)
def test_what_is_allowed_is_not_called_broken(
    tale: Tale, tmp_path: Path, allowed: Callable[[Tale], None]
) -> None:
    """Readers together, leases up to the limit, a grant that was lost before it was known, ..."""
    allowed(tale)
    found = judge(read(tale.save(tmp_path)))
    assert found.judgement.verdict == "holds", found


def fault_missing(tale: Tale) -> None:
    tale.left_out("fault", kind="cut leader")


def interrupted(tale: Tale) -> None:
    tale.note("chaos", 6, "stopped", why="it was interrupted")


def no_grants(tale: Tale) -> None:
    tale.files[B] = [
        line
        for line in tale.files[B]
        if line["t"] >= 20e9 or line["e"] not in ("ask", "granted", "valid")
    ]


def nothing_lost(tale: Tale) -> None:
    for line in tale.files[A]:
        if line["e"] == "valid":
            line["valid"] = True


def nobody_looked(tale: Tale) -> None:
    tale.left_out("looked", where="ports")


def no_writes(tale: Tale) -> None:
    tale.files["ledger"] = []


def not_drained(tale: Tale) -> None:
    tale.left_out("drained")


def nobody_reentered(tale: Tale) -> None:
    tale.files["chaos"][0]["deeds"] = ["reentry"]


def nobody_downgraded(tale: Tale) -> None:
    tale.files["chaos"][0]["deeds"] = ["downgrade"]


def nobody_was_cancelled(tale: Tale) -> None:
    tale.files["chaos"][0]["deeds"] = ["cancel"]


def no_function_ran_again(tale: Tale) -> None:
    tale.files["chaos"][0]["deeds"] = ["next_run"]
    tale.hold(A, 5.0, 6.0, 31, lock="selector", path=LATCH, run_of=1, released=6.0)
    tale.hold(A, 7.0, 8.0, 32, lock="selector", path=LATCH, run_of=2, released=8.0)


def no_plan(tale: Tale) -> None:
    tale.left_out("plan")


def no_calm(tale: Tale) -> None:
    tale.left_out("phase", phase="calm")


def nobody_counted(tale: Tale) -> None:
    for process in (A, B):
        tale.line(process, "added")["t"] = 21_000_000_000


def no_number_was_given(tale: Tale) -> None:
    for process in (A, B):
        [line, _counted] = [line for line in tale.files[process] if line["e"] == "added"]
        line["t"] = 21_000_000_000


def not_read_in_the_end(tale: Tale) -> None:
    tale.left_out("counted")


def nobody_turned_back(tale: Tale) -> None:
    tale.line(B, "turned back").update(e="passed", t=3_200_000_000)


def never_passed(tale: Tale) -> None:
    tale.line(B, "passed")["e"] = "turned back"


def nobody_met(tale: Tale) -> None:
    for process in (A, B):
        tale.line(process, "entered")["e"] = "turned away"
        tale.files[process] = [
            line for line in tale.files[process] if line["e"] not in ("leave", "left")
        ]


def nobody_left_together(tale: Tale) -> None:
    for process in (A, B):
        tale.line(process, "left")["e"] = "left alone"


def no_watch_saw_a_change(tale: Tale) -> None:
    tale.line(B, "seen")["t"] = 21_000_000_000


def tree_not_read(tale: Tale) -> None:
    tale.left_out("tree")


def nothing_changed(tale: Tale) -> None:
    tale.line(B, "told")["t"] = 21_000_000_000


def never_cut_off(tale: Tale) -> None:
    for process in (A, B):
        tale.files[process] = [
            line for line in tale.files[process] if line.get("kind") != "suspended"
        ]


@pytest.mark.parametrize(
    ("doubt", "sentence"),
    [
        (nobody_counted, "nobody ever added to /chaos/counter in the storm"),
        (no_number_was_given, "nobody ever added to /chaos/numbers in the storm"),
        (not_read_in_the_end, "nobody read what /chaos/counter held in the end"),
        (nobody_turned_back, "nobody was ever turned back by a closed gate"),
        (never_passed, "nobody who came to a closed gate ever passed it"),
        (nobody_met, "nobody was ever let into a meeting in the storm"),
        (nobody_left_together, "nobody ever left a meeting with the others in the storm"),
        (no_watch_saw_a_change, "no children watch on asyncio saw a change in the storm"),
        (tree_not_read, "nobody read the tree that caches follow"),
        (nothing_changed, "no cache on asyncio was told of a change in the storm"),
        (never_cut_off, "no cache was ever cut off"),
        (fault_missing, "the fault 'cut leader' never struck"),
        (interrupted, "it was interrupted"),
        (no_grants, "no process on asyncio was granted anything in the storm"),
        (nothing_lost, "no holder ever lost what it held"),
        (nobody_looked, "nobody looked whether something was left behind: ports"),
        (no_writes, "nothing was ever written under a hold of /chaos/x"),
        (not_drained, "could not be read back to the last"),
        (nobody_reentered, "nobody ever acquired a lock that it held"),
        (nobody_downgraded, "nobody ever went from writing to reading"),
        (nobody_was_cancelled, "nobody was ever cancelled"),
        (no_function_ran_again, "no selector ever ran its function again"),
        (no_plan, "there is no plan"),
        (no_calm, "the run never came to: calm"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_run_that_shows_nothing_is_unknown(
    tale: Tale, tmp_path: Path, doubt: Callable[[Tale], None], sentence: str
) -> None:
    """Whatever keeps a run from being a proof makes the verdict unknown, never a pass."""
    doubt(tale)
    judgement = judge(read(tale.save(tmp_path))).judgement
    assert judgement.verdict == "unknown", judgement
    assert sentence in judgement.why


def test_deeds_that_were_done_are_no_doubt(tale: Tale, tmp_path: Path) -> None:
    """A reentry, a downgrade, a cancelled attempt and a function that ran again, each once, and the
    judge has counted them. A leader that leads again has not reentered."""
    tale.files["chaos"][0]["deeds"] = ["reentry", "downgrade", "cancel", "next_run"]
    reentry(tale)
    for begin, token in ((2.0, 1), (3.0, 2)):
        tale.hold(A, begin, begin + 0.5, token, path=LATCH, run_of=1, released=begin + 0.5)
    leads_again(tale)
    outer = tale.hold(A, 9.0, 10.0, 41, path=RW)
    tale.hold(A, 9.5, 11.0, 41, path=RW, mode=SHARED, lock="read", inside=outer)
    tale.note(B, 12.0, "ask", lock="lock", actor="b", attempt=1)
    tale.note(B, 12.5, "denied", why="AttemptCancelled", actor="b", attempt=1)
    history = read(tale.save(tmp_path))
    assert judge(history).judgement.verdict == "holds", judge(history)
    assert history.deeds() == {
        "reentry": 1,
        "downgrade": 1,
        "cancel": 1,
        "later_term": 2,
        "next_run": 1,
    }


def test_an_empty_directory_is_unknown(tmp_path: Path) -> None:
    """Nothing written, nothing proven."""
    assert judge(read(tmp_path)).judgement.verdict == "unknown"


def test_a_line_that_cannot_be_read_is_a_doubt(tale: Tale, tmp_path: Path) -> None:
    """Unless it is the torn last one, nobody knows what it said."""
    tale.save(tmp_path)
    file = tmp_path / f"{C}.jsonl"
    file.write_text("garbage\n" + file.read_text())
    judgement = judge(read(tmp_path)).judgement
    assert (judgement.verdict, "1 lines cannot be read" in judgement.why) == ("unknown", True)
