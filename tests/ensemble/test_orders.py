"""`zkkit ensemble`: what its orders say while servers are broken, and whom they are for."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from zkkit.cli import main
from zkkit.cli.ensemble import _report
from zkkit.ensemble import kept
from zkkit.ensemble.base import NodeStatus


@pytest.fixture(scope="module", autouse=True)
def _up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One ensemble for all tests here; each leaves it whole."""
    with pytest.MonkeyPatch.context() as patch:
        state = tmp_path_factory.mktemp("state")
        patch.setenv("ZKKIT_STATE", str(state))
        assert run("up", "--backend", "local") == 0
        yield state
        kept.down()


def run(*words: str) -> int:
    """What the command line's exit code is."""
    return main(["ensemble", *words])


def nodes() -> list[NodeStatus]:
    return kept.find().servers.status()


def in_state(state: str) -> list[int]:
    return [each.node for each in nodes() if each.state == state]


def tells_who_leads(said: str) -> bool:
    """Whether it names a leader or an election, but not both; gives whether it is a leader."""
    led = re.search(r"running +leader", said) is not None
    assert led != ("an election is under way" in said), said
    return led


@pytest.mark.slow
def test_after_cut_leader_status_tells_of_the_election_and_heal_means_the_cut_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The cut node only believes that it leads; `heal leader` is refused, `heal` puts it back."""
    old = kept.find().servers.leader()
    assert run("cut", "leader") == 0
    if not tells_who_leads(capsys.readouterr().out):  # for five seconds
        assert run("status") == 0
        said = capsys.readouterr().out
        assert tells_who_leads(said) or "believes: leader" in said
    assert kept.find().servers.leader() != old  # waits until the election is over
    assert run("status") == 0
    assert tells_who_leads(capsys.readouterr().out)
    with pytest.raises(SystemExit) as ended:
        run("heal", "leader")
    assert ended.value.code == 2
    assert "no longer leads" in capsys.readouterr().err
    other = next(each.node for each in nodes() if not each.cut)
    assert run("heal", str(other)) == 0
    assert f"Node {other} was not cut off, but {old}" in capsys.readouterr().out
    assert [each.node for each in nodes() if each.cut] == [old]
    assert run("heal") == 0
    assert not any(each.cut for each in nodes())
    assert run("heal") == 0
    assert "No node was cut off" in capsys.readouterr().out


@pytest.mark.slow
def test_right_after_cut_and_heal_status_tells_of_the_election(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The one that was cut is back, and still believes that it leads, while the others elect."""
    assert run("cut", "leader") == 0
    assert run("heal") == 0
    capsys.readouterr()
    deadline = time.monotonic() + 30.0
    while run("status") == 0 and not tells_who_leads(said := capsys.readouterr().out):
        assert time.monotonic() < deadline, said
    assert said.count("serves nobody") <= 1


A, B, C = 1, 2, 3
LEADER, FOLLOWER, NONE = "leader", "follower", None


@pytest.mark.parametrize(
    ("roles", "cut", "leading"),
    [
        ((LEADER, FOLLOWER, FOLLOWER), (), A),
        ((FOLLOWER, LEADER, NONE), (), B),
        ((NONE, NONE, LEADER), (), None),
        ((NONE, NONE, NONE), (), None),
        ((LEADER, FOLLOWER, LEADER), (), None),
        ((NONE, FOLLOWER, LEADER), (C,), None),
        ((LEADER, FOLLOWER, LEADER), (C,), A),
        ((LEADER, NONE, FOLLOWER), (C,), None),
    ],
)
def test_who_leads_leads_a_majority(
    roles: tuple[str | None, ...], cut: tuple[int, ...], leading: int | None
) -> None:
    """Else there is an election: what a node believes counts only if a majority serves."""
    nodes = [
        NodeStatus(node, 2180 + node, "running", node in cut, role)
        for node, role in enumerate(roles, 1)
    ]
    said = _report(nodes)
    assert tells_who_leads(said) == (leading is not None)
    for each in nodes:
        wrong = each.role == LEADER and each.node != leading
        assert not wrong or re.search(rf"(?m)^ *{each.node} .*believes: leader", said)


@pytest.mark.parametrize(
    ("breaking", "state", "mending"),
    [
        pytest.param("kill", "killed", "restart", marks=pytest.mark.slow),
        ("pause", "paused", "resume"),
    ],
)
def test_what_was_the_leader_is_mended_without_a_name(
    breaking: str, state: str, mending: str
) -> None:
    """As with `heal`, so with the other orders that mend: `leader` is another node by then."""
    old = kept.find().servers.leader()
    assert run(breaking, "leader") == 0
    assert in_state(state) == [old]
    with pytest.raises(SystemExit):
        run(mending, "leader")
    assert run(mending) == 0
    assert in_state("running") == [1, 2, 3]


@pytest.mark.slow  # the sync limit, five seconds
def test_without_a_majority_an_order_for_the_leader_ends_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No leader can come, so nothing is waited for; the way out is told as commands."""
    assert run("kill", "1") == 0
    assert run("cut", "2") == 0
    capsys.readouterr()
    began = time.monotonic()
    assert run("cut", "leader") == 2
    assert time.monotonic() - began < 10  # an election would be waited for 30 s
    said = capsys.readouterr().err
    assert "1 of 3 nodes are up and connected" in said
    assert "zkkit ensemble restart 1, zkkit ensemble heal 2" in said
    assert run("status") == 0
    assert "Nobody can lead" in capsys.readouterr().out
    assert run("pause", "1") == 2
    assert "zkkit ensemble restart 1" in capsys.readouterr().err
    assert run("restart") == 0
    assert run("heal") == 0


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (("--backend", "docker"), "its backend is local, not docker"),
        (("--medium", "disk"), "its medium is memory, not disk"),
        (("--ports", "1,2,3"), ", not 1,2,3"),
    ],
)
def test_up_with_other_options_says_that_one_is_up(
    options: tuple[str, str], difference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It exits 2 and names the difference; the one that is up stays as it is."""
    before = kept.find().hosts
    assert run("up", *options) == 2
    said = capsys.readouterr().err
    assert difference in said and "zkkit ensemble down" in said
    assert "Starting" not in said
    assert kept.find().hosts == before


def test_up_with_the_same_options_finds_it(capsys: pytest.CaptureFixture[str]) -> None:
    """What is not said may be anything; what is said is the same."""
    ports = ",".join(str(each.port) for each in nodes())
    assert run("up") == 0
    assert run("up", "--backend", "local", "--medium", "memory", "--ports", ports) == 0
    assert capsys.readouterr().out.count("it was up already") == 2
