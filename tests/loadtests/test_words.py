"""Tables, titles and pages say what the data says, and mark what must not be trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from loadtests import picture, words
from loadtests.experiment import EXPERIMENT
from loadtests.figures import StepFigure, Window, figure
from loadtests.results import LoadOutcome, LoadPlan, LoadResults
from loadtests.turns import Turns
from zkkit.bench.experiment import head_of
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.machine import Cpu
from zkkit.bench.kit.servers import ServerFacts
from zkkit.show import canvas

MS = 1_000_000


def run(
    design: str, fires: int, *, servers: int | None = None, cpu: float = 0.1, users: int = 2
) -> StepFigure:
    kept = Turns()
    for number in range(10):
        begin = number * 10 * MS
        kept.done(kept.held(number % users, begin, begin + 4 * MS, begin + 9 * MS), begin + 10 * MS)
    window = Window(
        design,
        users,
        0,
        1000 * MS,
        fires,
        fires if servers is None else servers,
        Cpu(cpu, {"n1": 0.2}),
    )
    return figure(window, kept.between(0, 1000 * MS))


PLAN = LoadPlan(("herd", "sequential"), (2,), 1, "ABBA", 1.0, 5.0)
GOOD = Judgement("holds", "The lock was exclusive.")


def document(
    *runs: StepFigure, judgement: Judgement = GOOD, failures: Mapping[str, int] | None = None
) -> LoadResults:
    pytest.importorskip("psutil")  # with locust, whose version is in the document
    facts = ServerFacts("local", 3, "3.8.0", "memory")
    head = head_of("load", judgement, "locust --design <herd>", datetime.now(UTC), facts)
    outcome = LoadOutcome(PLAN, judgement, runs, failures or {}, "", {})
    return EXPERIMENT.figures(outcome, head)


def test_the_title_is_the_finding() -> None:
    """It names both designs with the fires per acquisition that the servers counted."""
    got = words.title(document(run("herd", 90, servers=80), run("sequential", 10)))
    assert got == (
        "With 2 users the herd lock fires 8.0 watches per acquisition, the sequential lock 1.0"
    )


def test_nothing_measured_is_said_and_drawn_as_nothing() -> None:
    """A test that was stopped before any step was held has no table, and says so."""
    empty = document()
    assert words.title(empty) == "Nothing was measured"
    assert "no step was held" in words.text(empty)
    assert "Nothing was measured" in EXPERIMENT.page(empty, {})


def test_a_saturated_client_has_a_star_and_a_note() -> None:
    """Figures of a client at its limit are marked in the table, and the mark is explained."""
    text = words.text(document(run("herd", 90, cpu=0.97)))
    assert "97%*" in text and "* the client used over 90 %" in text
    assert "*" not in words.text(document(run("herd", 90)))


def test_witnesses_that_differ_are_named() -> None:
    """If clients and servers count differently, somebody else uses the servers: a note says so."""
    assert "witnesses differ" in words.text(document(run("herd", 50, servers=90)))
    assert "witnesses differ" not in words.text(document(run("herd", 90, servers=91)))


def test_failures_are_in_the_notes() -> None:
    """What failed stands below the table, with its number and its reason."""
    text = words.text(document(run("herd", 9), failures={"the connection broke": 3}))
    assert "Failed, 3 times: the connection broke" in text


def test_the_four_phases_stand_in_the_table_with_three_digits() -> None:
    """Wait, handoff, hold and release have a row each, in milliseconds to three digits."""
    rows = [line.split() for line in words.text(document(run("herd", 9))).splitlines()]
    found = {row[2]: row[3] for row in rows if row[:2] == ["herd", "2"] and len(row) == 7}
    assert found == {"wait": "4.00", "handoff": "5.00", "hold": "5.00", "release": "1.00"}


def test_the_report_holds_everything_and_nothing_from_outside() -> None:
    """The page has the verdict, the tables, what the data lies on; and it escapes what it shows."""
    got = EXPERIMENT.page(document(run("herd", 90), run("sequential", 10)), {"load.png": b"png"})
    for text in ("Verdict: holds", "handoff", "memory", "acquisitions/s", "&lt;herd&gt;"):
        assert text in got
    assert 'src="http' not in got and "<herd>" not in got


def test_a_broken_lock_is_broken_on_the_page() -> None:
    """The verdict of the page is that of the check, with its reason."""
    why = Judgement("broken", "Not exclusive: user-1 and user-2 both held it.")
    got = EXPERIMENT.page(document(run("herd", 9), judgement=why), {})
    assert "Verdict: broken" in got and "user-1 and user-2" in got


def test_the_picture_is_a_png_also_for_one_design_alone() -> None:
    """One run of one design can be drawn like a comparison."""
    pytest.importorskip("matplotlib")
    for given in (document(run("herd", 90), run("sequential", 10)), document(run("herd", 0))):
        assert picture.png(given).startswith(b"\x89PNG")


def test_results_are_read_back_as_they_were() -> None:
    """From JSON they come back typed, and equal."""
    written = document(run("herd", 90), run("sequential", 10), failures={"it broke": 1})
    assert LoadResults.from_data(json.loads(as_json(written))) == written


def test_one_user_is_not_many() -> None:
    """Title, alt text and picture say "1 user"; the data lies in memory, not on it."""
    pytest.importorskip("matplotlib")
    alone = document(run("herd", 9, users=1))
    assert words.title(alone).startswith("With 1 user the herd lock")
    assert "herd, 1 user: " in words.alt_text(alone)
    with canvas.style():
        figure = picture._draw(alone)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["herd\n1 user"]
    assert any("Data in memory." in text.get_text() for text in figure.texts)
