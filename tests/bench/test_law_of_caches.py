"""What two designs of a cache cost, on real servers, by two witnesses; and what breaks the law."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from zkkit import cli
from zkkit.bench.caches import run as runs
from zkkit.bench.caches.designs import CACHES, CHANGES, PERSISTENT, WATCHES, CacheDesign
from zkkit.bench.caches.figures import CacheResults, judge
from zkkit.bench.caches.run import CachePlan, CacheRun, measure, parents_of
from zkkit.recipes.caches.tree_cache import TreeCache

NODES = 23  # the root, ten below it, twelve below two of them


@pytest.fixture(scope="module")
def made(zk_hosts: str) -> list[CacheRun]:
    """A run of each design, over the same tree and the same changes."""
    found, rows, stopped = measure(CachePlan((WATCHES, PERSISTENT), (NODES,), 3, 1), zk_hosts)
    assert not stopped and rows
    return found


def test_the_law_holds(made: list[CacheRun]) -> None:
    """Two watches a node and a watch for each that is used up, against one for everything; both
    witnesses count the same fires, the servers one more for each deletion."""
    verdict = judge(made, "")
    assert verdict.verdict == "holds", verdict.why
    each, one = made
    assert (each.watches, one.watches) == (2 * NODES, 1)
    assert (each.requests, one.requests) == (2 * NODES + 1, NODES + 3 + 2)
    assert [each.changes[kind].watches for kind in CHANGES] == [3, 9, 3]
    assert [one.changes[kind].watches for kind in CHANGES] == [0, 0, 0]
    for run in made:
        fires = sum(found.fires for found in run.changes.values())
        assert run.server_fires == fires + run.changes["deleted"].events
        assert all(found.told_ms > 0 for found in run.changes.values())


def test_how_many_have_children() -> None:
    """Ten to a node."""
    assert [parents_of(number) for number in (2, 11, 12, 21, 22, 1000)] == [1, 1, 2, 2, 3, 100]


def twin(honest: CacheDesign, other: CacheDesign) -> CacheDesign:
    return replace(honest, make=other.make)


@pytest.mark.parametrize(
    ("design", "says"),
    [
        (twin(PERSISTENT, WATCHES), "22 watches to load, where exactly 1"),
        (
            replace(
                WATCHES,
                make=lambda session, path: TreeCache(session, path, max_depth=0),
                per_event=PERSISTENT.per_event,
            ),
            "1 watches to load, where exactly 22",
        ),
    ],
    ids=["a watch for each", "only the root"],
)
def test_a_twin_is_found_out(
    zk_hosts: str, design: CacheDesign, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that sets more watches than it says, and one that follows less than it says."""
    monkeypatch.setattr(runs, "CHANGES", ())
    found, _, _ = measure(CachePlan((design,), (11,), 1, 1), zk_hosts)
    verdict = judge(found, "")
    assert verdict.verdict == "broken"
    assert says in verdict.why


def test_a_cache_that_is_never_told_leaves_it_unknown(
    zk_hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that follows the root only hears nothing of its children: the run does not end."""
    deaf = replace(WATCHES, make=lambda session, path: TreeCache(session, path, max_depth=0))
    monkeypatch.setattr(runs, "_PATIENCE", 0.5)
    found, _, stopped = measure(CachePlan((deaf,), (11,), 1, 1), zk_hosts)
    assert judge(found, stopped).verdict == "unknown"
    assert "did not tell" in stopped and "after 0 of 1 runs" in stopped


def test_witnesses_that_disagree_leave_it_unknown(made: list[CacheRun]) -> None:
    """A void run says nothing, and nothing at all says no more."""
    void = replace(made[0], void="the servers say so")
    assert "void: the servers say so" in judge([void, made[1]], "").why
    assert judge([], "").verdict == "unknown"


def test_the_command(zk_hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`zkkit compare` with designs of a cache: tables, a title that says the finding, a picture
    with its words, and all of it can be read back."""
    words = ("compare", "--designs", ",".join(CACHES), "--nodes", "11", "--changes", "1")
    words += ("--repeats", "1", "--hosts", zk_hosts, "--results", str(tmp_path))
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    assert (
        "To follow 11 nodes cache-watches sets 22 watches and cache-persistent sets 1 watch" in said
    )
    home = tmp_path / "compare" / "latest"
    assert len(CacheResults.read(home).runs) == 2
    assert (home / "compare.png").read_bytes().startswith(b"\x89PNG")
    page = (home / "report.html").read_text()
    assert "cache-watches, a node deleted: 3 requests, 2 fires" in page
    assert f"--designs {','.join(CACHES)}" in (home / "results.json").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--designs cache-watches,herd", "no design 'herd'"),
        ("--designs cache-watches --nodes 1", "2 to 20000 nodes"),
        ("--designs cache-watches --contenders 5", "--contenders"),
    ],
)
def test_bad_input(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Designs of two kinds, a tree that is none, an option of the other experiment."""
    with pytest.raises(SystemExit):
        cli.main(["compare", *words.split()])
    assert says in capsys.readouterr().err
