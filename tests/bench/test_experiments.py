"""The table of experiments: each is offered by name, and a new one is a module and a line."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from zkkit import cli
from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, Results, ResultsUnreadable
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.recorder.experiment import RecorderResults
from zkkit.bench.shop.experiment import EXPERIMENT as SHOP
from zkkit.bench.shop.experiment import ShopResults
from zkkit.bench.shop.run import Sale
from zkkit.bench.table import EXPERIMENTS, ExperimentEntry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_offered_by_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`zkkit bench NAME --help` has examples, exit codes, and where the results go."""
    with pytest.raises(SystemExit) as end:
        cli.main(["bench", name, "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    for part in ("examples:\n  zkkit ", "exit codes:", "--name", "--results"):
        assert part in said


def test_no_experiment_is_imported_before_it_is_asked_for() -> None:
    """The list of all commands needs none of them."""
    code = (
        "import sys, zkkit.cli\n"
        "try: zkkit.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(any(n.endswith('.experiment') and n != 'zkkit.bench.experiment'"
        " for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60).returncode == 0


def test_load_tests_know_nothing_of_the_command_line() -> None:
    """They use the kit; the command line is above both."""
    files = [*(ROOT / "loadtests").glob("*.py"), *(ROOT / "zkkit" / "bench").rglob("*.py")]
    assert not [file.name for file in files if "zkkit.cli" in file.read_text()]


# --- a new one --------------------------------------------------------------------------


@dataclass(frozen=True)
class DiceResults(Results):
    """What was thrown."""

    experiment: ClassVar[str] = "dice"
    eyes: tuple[int, ...]


class DiceExperiment(Experiment[int, list[int], DiceResults]):
    """Throws a die."""

    description = "Throws a die."
    epilog = "examples:\n  zkkit bench dice"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser, "--throws", arguments.repeats, "3", "how many")
        arguments.add_results(parser, "dice")

    def plan(self, args: argparse.Namespace) -> int:
        throws: int = args.throws
        return throws

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        return nullcontext(MeasuredServers(""))

    def run(self, plan: int, servers: MeasuredServers) -> list[int]:
        return [4] * plan

    def judge(self, outcome: list[int]) -> Judgement:
        return Judgement("broken" if len(outcome) > 3 else "holds", "It is a fair one.")

    def figures(self, outcome: list[int], head: Head) -> DiceResults:
        return DiceResults(head, tuple(outcome))

    def words(self, results: DiceResults) -> Words:
        return Words("A four", " ".join(map(str, results.eyes)))

    def picture(self, results: DiceResults) -> Mapping[str, bytes]:
        return {"dice.png": b"PNG"}

    def page(self, results: DiceResults, pictures: Mapping[str, bytes]) -> str:
        head = results.head
        return report(head, heading="Dice", finding="A four", body=(), facts={}, beside="nothing")


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("dice_experiment")
    module.EXPERIMENT = DiceExperiment()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(EXPERIMENTS, "dice", ExperimentEntry(module.__name__, "throws a die"))


def test_a_new_experiment_is_a_module_and_a_line(
    dice: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is run, judged, written, published and told like all others."""
    assert cli.main(["bench", "dice", "--throws", "2", "--results", str(tmp_path)]) == 0
    home = (tmp_path / "dice" / "latest").resolve()
    assert {file.name for file in home.iterdir()} == {"results.json", "report.html", "dice.png"}
    assert capsys.readouterr().out.splitlines() == [
        "4 4",
        "",
        "A four.",
        "It is a fair one.",
        "",
        f"  report   {home / 'report.html'}",
        f"  picture  {home / 'dice.png'}",
        f"  all      {home}",
    ]
    found = DiceResults.read(home)
    assert found.eyes == (4, 4)
    assert found.head.judgement == Judgement("holds", "It is a fair one.")
    assert found.head.command == "zkkit bench dice --throws 2 --name dice"
    assert found.head.ensemble is None


def test_results_of_something_else_are_refused(dice: None, tmp_path: Path) -> None:
    """Of another experiment, or of another version: a sentence, not a guess."""
    cli.main(["bench", "dice", "--results", str(tmp_path)])
    home = tmp_path / "dice" / "latest"
    with pytest.raises(ResultsUnreadable, match="results of dice, version 2"):
        ShopResults.read(home)
    old = json.loads((home / "results.json").read_text()) | {"version": 1}
    (home / "results.json").write_text(json.dumps(old))
    with pytest.raises(ResultsUnreadable, match="version 1"):
        DiceResults.read(home)


def test_its_verdict_is_the_exit_code(dice: None, tmp_path: Path) -> None:
    assert cli.main(["bench", "dice", "--throws", "4", "--results", str(tmp_path)]) == 1


# --- the shop and the recorder, as commands ---------------------------------------------


def sale(way: str, sold: int) -> Sale:
    return Sale(way, 10, 100, 5, sold, 0, 0.5, 0.75, None)


@pytest.mark.parametrize(
    ("sales", "verdict"),
    [
        ([sale("none", 100), sale("herd", 10), sale("sequential", 10)], "holds"),
        ([sale("none", 100), sale("herd", 11)], "broken"),
        ([sale("none", 100), sale("sequential", 9)], "broken"),
        ([sale("none", 10), sale("sequential", 10)], "unknown"),
        ([sale("sequential", 10)], "unknown"),
    ],
)
def test_the_verdict_over_a_shop(sales: list[Sale], verdict: str) -> None:
    """Locks across processes must sell exactly the stock; where nothing else oversells, that
    proves nothing."""
    assert SHOP.judge(tuple(sales)).verdict == verdict


@pytest.mark.slow  # tests/bench/test_oversell.py sells, test_cli.py has commands
def test_the_shop_as_a_command(zk_hosts: str, tmp_path: Path) -> None:
    """Two ways, a few buyers: the queue sells what is there, nothing at all sells more."""
    words = ("--ways", "none,sequential", "--items", "3", "--buyers", "8", "--processes", "2")
    words += ("--pause", "50", "--hosts", zk_hosts, "--results", str(tmp_path))
    assert cli.main(["bench", "shop", *words]) == 0
    found = ShopResults.read(tmp_path / "shop" / "latest")
    nothing, queue = found.sales
    assert nothing.oversold > 0 and queue.sold == 3
    assert "--ways none,sequential --items 3" in found.head.command
    assert "oversells" in (tmp_path / "shop" / "latest" / "report.html").read_text()


def test_a_way_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "shop", "--ways", "none,hope"])
    assert "there is no way 'hope'" in capsys.readouterr().err


def test_more_processes_than_buyers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused with a sentence before any server is started; nothing is left behind."""
    words = ("--buyers", "2", "--processes", "3", "--results", str(tmp_path / "r"))
    assert cli.main(["bench", "shop", *words]) == 2
    said = capsys.readouterr().err
    assert "2 buyers cannot be spread over 3 processes" in said and "Starting" not in said
    assert list(tmp_path.iterdir()) == []


def test_the_recorder_without_servers(tmp_path: Path) -> None:
    """The cost of an event alone is written as well, and read back as it was."""
    words = ("--events", "2000", "--no-servers", "--results", str(tmp_path))
    assert cli.main(["bench", "recorder", *words]) == 0
    found = RecorderResults.read(tmp_path / "recorder" / "latest")
    assert found.share is None and found.head.ensemble is None
    assert found.cost.events == 2000 and found.cost.ns_per_event > 0
    assert RecorderResults.from_data(json.loads(as_json(found))) == found
