"""`zkkit sim`: the gallery, and replaying: words, pictures, exit codes and errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from zkkit import cli
from zkkit.cli import sim
from zkkit.sim import Verdict, speed
from zkkit.sim.coverage import COVERED
from zkkit.sim.exhibits import ALL
from zkkit.sim.expiry import WEAKER, ClockModel
from zkkit.sim.gallery import BY_FAMILY

FIRST = {twins[0].name for twins in BY_FAMILY.values()}
ROOT = Path(__file__).parents[2]
Captured = pytest.CaptureFixture[str]
OWN = """\
from zkkit import ReentrantLock
from zkkit.sim import contenders
from zkkit.sim.gallery.locks import LeaksWatches, LosesAWakeup
from zkkit.sim.properties import NothingLeft, of_a_fair_lock

def leaks(): return contenders(LeaksWatches, 2), of_a_fair_lock()
def loses(): return contenders(LosesAWakeup, 2), of_a_fair_lock()
def unasked(): return contenders(LeaksWatches, 2), []
def right(): return contenders(ReentrantLock, 2)
def nothing(): return None
def half(): return right(), 3
def fails(): raise RuntimeError("a bug of one's own")
broken = 3
"""


def call(*words: object) -> int:
    """The command in this process; usage errors as their exit code."""
    try:
        return cli.main([str(word) for word in words])
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """The story of LeaksWatches, saved in the directory we are in; own.py beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own", raising=False)
    assert call("sim", "gallery", "LeaksWatches", "--save", "story.json") == 0
    capsys.readouterr()
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "story.json"


def change(path: Path, edit: Callable[[dict[str, object]], object]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "words", [(name, "--help") for name in ("gallery", "clocks", "coverage", "speed", "replay")]
)
def test_help_has_examples(words: tuple[str, ...], capsys: Captured) -> None:
    """Every help has examples that can be typed, and says what the exit codes mean."""
    assert call("sim", *words) == 0
    said = capsys.readouterr().out
    assert "examples:\n  zkkit sim " in said and "exit codes:" in said


@pytest.mark.slow  # explores all of it; tests/sim/test_gallery.py does so one by one
def test_the_gallery_lists_all(capsys: Captured) -> None:
    """By family: name, fault, verdict, length and what each teaches; how far it is, on stderr."""
    assert call("sim", "gallery") == 0
    out, err = capsys.readouterr()
    head, _, *rows = out.split("\n\n")[0].splitlines()
    assert head.split() == ["name", "fault", "verdict", "length", "what", "it", "teaches"]
    assert [row for row in rows if not row.startswith("  ")] == list(BY_FAMILY)
    rows = [row.strip() for row in rows if row.startswith("  ")]
    assert [row.split()[0] for row in rows] == [each.name for each in ALL]
    assert all(" caught " in row for row in rows)
    leaks = next(row for row in rows if row.startswith("LeaksWatches"))
    assert leaks.split()[1:4] == ["none", "caught", "7"] and "watch by Get: Exists leaves" in leaks
    assert f"{len(ALL)}/{len(ALL)} explored" in err


@pytest.mark.parametrize(("holds", "code"), [(True, 1), (None, 2)])
def test_a_mistake_that_is_not_caught(
    holds: bool | None, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A gallery whose explorer sleeps does not pass; nor one that gave up."""
    monkeypatch.setattr(sim, "find", lambda name: Verdict(holds, 1, 1, 0.0, "bounds", ()))
    assert call("sim", "gallery") == code
    assert {True: "NOT CAUGHT", None: "unknown"}[holds] in capsys.readouterr().out
    assert call("sim", "gallery", "LeaksWatches") == code


def test_one_of_the_gallery_is_told_and_drawn(tmp_path: Path, capsys: Captured) -> None:
    """In words on stdout; the files it wrote, on stderr."""
    svg, png, story = (tmp_path / name for name in ("s.svg", "s.png", "s.json"))
    given = ("--svg", svg, "--png", png, "--save", story)
    assert call("sim", "gallery", "leakswatches", *given) == 0
    out, err = capsys.readouterr()
    assert out.startswith("B holds and still watches /l/<A>lock-0\nLeaksWatches: Exists instead")
    assert "B: exists /l/<A>lock-0 with a watch -> not there" in out
    assert all(f"Wrote {path}" in err for path in (svg, png, story))
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "name",
    # tests/sim/test_story.py replays all of them without the command
    [
        pytest.param(each.name, marks=[] if each.name in FIRST else [pytest.mark.slow])
        for each in ALL
    ],
)
def test_saved_and_replayed(name: str, tmp_path: Path, capsys: Captured) -> None:
    """Every story comes to the same end, in the world it remembers."""
    story = tmp_path / "story.json"
    assert call("sim", "gallery", name, "--save", story) == 0
    told = capsys.readouterr().out
    assert call("sim", "replay", story) == 0
    again = capsys.readouterr().out
    assert again.startswith(told)
    assert "\nThe same end: " in again


def test_a_replay_is_drawn_without_its_world(saved: Path, capsys: Captured) -> None:
    """A story of an ad-hoc world is told and drawn; whether it still happens is unknown."""
    change(saved, lambda content: content.update(origin=None))
    assert call("sim", "replay", saved, "--svg", "s.svg", "--png", "s.png") == 2
    out, err = capsys.readouterr()
    assert "B watches /l/<A>lock-0" in out and "Unknown: it cannot be replayed." in out
    assert "does not say how its world is built" in err and "--world package.module" in err
    assert (saved.parent / "s.svg").exists() and (saved.parent / "s.png").exists()


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        ("leaks", 0, "The same end: B holds and still watches"),
        ("loses", 1, "It no longer happens: the story does not fit this world: event 8 cannot"),
        ("unasked", 1, "It ends well: nothing is wrong any more."),
        ("right", 1, "It"),
    ],
)
def test_a_world_of_ones_own(
    saved: Path, function: str, code: int, said: str, capsys: Captured
) -> None:
    """From the directory we are in: a World, or a World and its properties."""
    assert call("sim", "replay", saved, "--world", f"own:{function}") == code
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_another_end(saved: Path, capsys: Captured) -> None:
    """The events fit, and something else is wrong then."""
    change(saved, lambda content: content.update(wrong="two holders at once: A and B"))
    assert call("sim", "replay", saved) == 1
    assert "It comes to another end: B holds and still watches " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("world", "said"),
    [
        ("own:nothing", "own:nothing gives None, which is no world"),
        ("own:half", "which is no world"),
        ("own:fails", "own:fails() fails: RuntimeError"),
        ("own:nobody", "own:nobody cannot be imported"),
        ("own:broken", "own:broken is no function that builds something"),
        ("nowhere:world", "nowhere:world cannot be imported"),
        ("own", "own: cannot be imported"),
        ("os:getcwd", "os:getcwd is no function that builds something"),
    ],
)
def test_a_world_that_cannot_be_had(saved: Path, world: str, said: str, capsys: Captured) -> None:
    """Unknown, never a pass: one sentence says why."""
    assert call("sim", "replay", saved, "--world", world) == 2
    err = capsys.readouterr().err
    assert err.startswith("zkkit: ") and said.replace("own: ", "own ") in err
    assert "Traceback" not in err


def test_a_story_runs_no_code_unasked(saved: Path, capsys: Captured) -> None:
    """A file that names code outside the simulator: it is named, not run."""
    change(saved, lambda c: c["origin"]["build"].update(function="own:leaks", arguments=[]))  # type: ignore[index]
    assert call("sim", "replay", saved) == 2
    assert "own:leaks is code outside zkkit: it is not run unasked" in capsys.readouterr().err
    assert "own" not in sys.modules
    change(saved, lambda c: c["origin"]["build"].update(function="own:right"))  # type: ignore[index]
    assert call("sim", "replay", saved, "--world", "own:right") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim", "required: COMMAND"),
        ("sim gallery Leak", "do you mean LeaksWatches?"),
        ("sim gallery zzz", "the gallery has no 'zzz'"),
        ("sim gallery --png x.png", "which story?"),
        ("sim gallery LeaksWatches --save no/such/place", "cannot write no/such/place"),
        ("sim gallery LeaksWatches --svg no/such/place", "cannot write no/such/place"),
        ("sim replay", "required: STORY"),
        ("sim replay none.json", "none.json cannot be read: No such file"),
        ("sim replay .", "cannot be read"),
        ("sim replay own.py", "own.py is no story"),
    ],
)
def test_bad_input(saved: Path, words: str, said: str, capsys: Captured) -> None:
    """What is wrong is named, with the way out; exit 2, no traceback."""
    assert call(*words.split()) == 2
    err = capsys.readouterr().err.replace("\n", " ")
    assert said in err and "Traceback" not in err


def test_as_a_command_of_its_own(saved: Path) -> None:
    """The installed command finds a world in the directory it is called from."""
    code = "import zkkit.cli, sys; sys.path.remove(''); sys.exit(zkkit.cli.main())"
    words = "sim replay story.json --world own:leaks"
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=saved.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The same end" in done.stdout


# --- clocks -------------------------------------------------------------------------------------


def test_clocks_lists_the_real_rule_and_the_weaker_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Each with its verdict and what it does wrong."""
    one_leader = ClockModel(elections=0, breaks=0)
    monkeypatch.setattr(sim, "ClockModel", lambda: one_leader)
    monkeypatch.setattr(sim, "WEAKER", WEAKER[:2])
    assert call("sim", "clocks") == 0
    told = capsys.readouterr().out
    for rule, verdict in (("RealRule", "holds"), ("Pings", "caught"), ("OneSync", "caught")):
        assert [rule, verdict] in [line.split()[:2] for line in told.splitlines()]
    monkeypatch.setattr(sim, "ClockModel", lambda: replace(one_leader, grace=-1))
    assert call("sim", "clocks") == 1


def test_clocks_tells_and_draws_one_story(tmp_path: Path, capsys: Captured) -> None:
    """In words, and as a picture."""
    assert call("sim", "clocks", "threesyncs", "--svg", tmp_path / "story.svg") == 0
    assert "answers the Sync, though it is deposed" in capsys.readouterr().out
    assert ElementTree.parse(tmp_path / "story.svg")


def test_clocks_says_what_it_does_not_know(tmp_path: Path, capsys: Captured) -> None:
    """A name that is not there, and a picture of no story."""
    assert call("sim", "clocks", "TwoSync") == 2
    assert "do you mean TwoSyncs?" in capsys.readouterr().err
    assert call("sim", "clocks", "--png", tmp_path / "story.png") == 2
    assert "which story?" in capsys.readouterr().err


def test_what_is_covered(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A family's recipes under each fault, with what was found; broken and unknown by exit code."""
    (cast, *_), faults = COVERED["semaphore"], ("", "cancel")
    monkeypatch.setattr(sim, "COVERED", {"semaphore": (cast._replace(lives=cast.lives[:1]),)})
    monkeypatch.setattr(sim, "FAULTS", faults)
    assert call("sim", "coverage", "semaphore") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "semaphore: Semaphore, 2 leases: 1, preemptions up to 2"
    assert [line.split()[:-3] for line in lines] == [["no", "fault"], ["cancel"]]
    assert all("holds" in line and line.endswith(" states") for line in lines)
    for holds, code in ((False, 1), (None, 2)):
        found = Verdict(holds, 1, 1, 0.0, "bounds", ())
        monkeypatch.setattr(type(cast), "under", lambda cast, fault, found=found: found)
        assert call("sim", "coverage") == code
    vacuous = Verdict(False, 1, 1, 0.0, "bounds", (), unmet=("somebody is granted",))
    monkeypatch.setattr(type(cast), "under", lambda cast, fault: vacuous)
    capsys.readouterr()
    assert call("sim", "coverage") == 1
    assert "VACUOUS" in capsys.readouterr().out


def test_how_fast(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The command prints the trials and how the work grows."""
    monkeypatch.setattr(speed, "TRIALS", speed.TRIALS[:1])
    monkeypatch.setattr(speed, "ENOUGH", 10)
    assert call("sim", "speed") in (0, 1)
    assert "3 contenders, no faults" in capsys.readouterr().out
