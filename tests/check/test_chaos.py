"""The judge of a storm: a sound history holds, and each promise has a history that breaks it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zkkit.bench.verdict import Verdict
from zkkit.chaos.results import judge, text
from zkkit.check.chaos.history import EXCLUSIVE, LEASE, SHARED, read
from zkkit.check.chaos.properties import PLACES

X, RW, SEM = "/chaos/x", "/chaos/rw", "/chaos/sem"
A, B, C = "threads-1", "asyncio-1", "threads-2"
Line = dict[str, Any]


class Tale:
    """What was written down, file by file. Times are in seconds here."""

    def __init__(self) -> None:
        self.files: dict[str, list[Line]] = {"chaos": [], "ledger": []}
        self._attempts = 0

    def note(self, file: str, at: float, event: str, **facts: Any) -> None:
        self.files.setdefault(file, []).append({"t": int(at * 1e9), "e": event, **facts})

    def born(self, process: str, front: str) -> None:
        self.note(process, 0, "born", front=front)

    def hold(
        self, process: str, begin: float, end: float, token: int | None, *, valid: bool = True,
        lock: str = "lock", path: str = X, mode: str = EXCLUSIVE, session: str = "0x1",
    ) -> dict[str, Any]:  # fmt: skip
        """One hold, asked twice whether it is valid; gives what identifies it."""
        self._attempts += 1
        me = {"actor": "a", "attempt": self._attempts}
        parts = [[path, mode, token]]
        self.note(process, begin, "ask", lock=lock, **me)
        self.note(process, begin, "granted", parts=parts, session=session, **me)
        self.note(process, begin, "valid", valid=True, **me)
        self.note(process, end, "valid", valid=valid, **me)
        return {"who": [process, "a", self._attempts], "parts": parts}

    def written(self, hold: dict[str, Any], zxid: int, node: str = "") -> None:
        self.note("ledger", 0, "write", zxid=zxid, node=node or f"/ledger/{zxid}", **hold)

    def left_out(self, event: str, **facts: Any) -> None:
        """Without the lines of the chief that say this."""
        self.files["chaos"] = [
            line
            for line in self.files["chaos"]
            if line["e"] != event or any(line.get(key) != value for key, value in facts.items())
        ]

    def save(self, directory: Path) -> Path:
        for name, lines in self.files.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (directory / f"{name}.jsonl").write_text(text)
        return directory


@pytest.fixture
def tale() -> Tale:
    """Two processes, two faults, one hold that was lost; all promises are kept."""
    tale = Tale()
    tale.note(
        "chaos", 0, "plan", locks=["lock"], fronts=["threads", "asyncio"], limits={SEM: 2},
        faults=["kill client", "cut leader"], fenced=[X],
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
    tale.note("chaos", 20, "phase", phase="calm")
    tale.hold(A, 21.0, 22.0, 91)
    tale.hold(B, 22.0, 23.0, 92)
    for process in (A, B):
        tale.note(process, 24, "rested")
        tale.note("chaos", 26, "ended", process=process, code=0)
    tale.note("chaos", 25, "phase", phase="over")
    for place in PLACES:
        tale.note("chaos", 26, "looked", where=place)
    tale.note("chaos", 27, "drained")
    return tale


def test_a_sound_history_holds(tale: Tale, tmp_path: Path) -> None:
    """All promises were kept, all faults struck: that is a pass, and says what it rests on."""
    history = read(tale.save(tmp_path))
    found = judge(history)
    assert found.judgement.verdict is Verdict.HOLDS, found
    assert "4 grants under 2 faults" in found.judgement.why
    assert "lock        2        2          0     1         0.0 s" in text(history, found)


def test_half_a_line_at_the_end_is_passed_over(tale: Tale, tmp_path: Path) -> None:
    """A process that is killed may leave half a line; files may be compressed."""
    tale.save(tmp_path)
    file = tmp_path / f"{C}.jsonl"
    torn = file.read_bytes() + b'{"t": 12, "e": "as'
    (tmp_path / f"{C}.jsonl.gz").write_bytes(gzip.compress(torn))
    file.unlink()
    assert judge(read(tmp_path)).judgement.verdict is Verdict.HOLDS


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


def never_at_rest(tale: Tale) -> None:
    tale.files[A] = [line for line in tale.files[A] if line["e"] != "rested"]


def crash(tale: Tale) -> None:
    tale.note(A, 6.0, "crash", actor="a", why="AttributeError: no such thing")


def ended_by_itself(tale: Tale) -> None:
    tale.left_out("ended", process=A)
    tale.note("chaos", 26, "ended", process=A, code=-11)


def left_node(tale: Tale) -> None:
    tale.note("chaos", 26, "left", what="node", name="/chaos/x/lock-7")


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
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
        (token_goes_back, "the token of asyncio-1/a#6 (0x1f) is not greater than that of threads"),
        (same_token_twice, "the token of asyncio-1/a#6 (0x1f) is not greater than that of threads"),
        (reader_with_an_old_token, "/chaos/rw: the token of asyncio-1/a#6 (0x1f) is not greater"),
        (stale_write, "a guarded write of threads-1/a#5 was accepted after one of asyncio-1/a#6"),
        (write_not_there, "/ledger/9 was acknowledged to threads-1/a#5 and is not there"),
        (no_answer, "lock: asyncio-1/b#1 waited for 19 s and got no answer"),
        (not_served_in_the_calm, "lock: gevent-1 was not granted it after the last fault"),
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
    assert found.judgement.verdict is Verdict.BROKEN
    assert [line for line in found.broken if sentence not in line] == []


def two_readers(tale: Tale) -> None:
    tale.hold(A, 5.0, 7.0, 32, path=RW, mode=SHARED)
    tale.hold(B, 6.0, 8.0, 31, path=RW, mode=SHARED)


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


@pytest.mark.parametrize(
    "allowed",
    [
        two_readers,
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
    assert found.judgement.verdict is Verdict.HOLDS, found


def fault_missing(tale: Tale) -> None:
    tale.left_out("fault", kind="cut leader")


def interrupted(tale: Tale) -> None:
    tale.note("chaos", 6, "stopped", why="it was interrupted")


def no_grants(tale: Tale) -> None:
    tale.files[B] = [line for line in tale.files[B] if line["t"] >= 20e9 or line["e"] == "born"]


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


def no_plan(tale: Tale) -> None:
    tale.left_out("plan")


def no_calm(tale: Tale) -> None:
    tale.left_out("phase", phase="calm")


@pytest.mark.parametrize(
    ("doubt", "sentence"),
    [
        (fault_missing, "the fault 'cut leader' never struck"),
        (interrupted, "it was interrupted"),
        (no_grants, "no process on asyncio was granted anything in the storm"),
        (nothing_lost, "no holder ever lost what it held"),
        (nobody_looked, "nobody looked whether something was left behind: ports"),
        (no_writes, "nothing was ever written under a hold of /chaos/x"),
        (not_drained, "could not be read back to the last"),
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
    assert judgement.verdict is Verdict.UNKNOWN, judgement
    assert sentence in judgement.why


def test_an_empty_directory_is_unknown(tmp_path: Path) -> None:
    """Nothing written, nothing proven."""
    assert judge(read(tmp_path)).judgement.verdict is Verdict.UNKNOWN


def test_a_line_that_cannot_be_read_is_a_doubt(tale: Tale, tmp_path: Path) -> None:
    """Unless it is the torn last one, nobody knows what it said."""
    tale.save(tmp_path)
    file = tmp_path / f"{C}.jsonl"
    file.write_text("garbage\n" + file.read_text())
    judgement = judge(read(tmp_path)).judgement
    assert (judgement.verdict, "1 lines cannot be read" in judgement.why) == (Verdict.UNKNOWN, True)
