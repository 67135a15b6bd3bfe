"""What pictures and tables say is computed from the data."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from zkkit.bench.designs import CHILDREN_WATCH, HERD, RW, RW_FIRST, RW_HERD, SEQUENTIAL
from zkkit.bench.gate import words
from zkkit.bench.gate.figures import GateResults
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.ground import SATURATED_NOTE
from zkkit.show.progress import Progress
from zkkit.show.table import paint, pairs, table

Make = Callable[..., GateResults]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("herd", "says"),
    [
        ({2: 3, 32: 512}, "With 32 contenders the herd lock fires 16 times as many watches"),
        ({4: 10, 8: 20}, "With 8 contenders the herd lock fires 2.5 times as many watches"),
        ({4: 8}, "With 4 contenders the herd lock fires 2 times as many watches"),
        ({3: 3}, "With 3 contenders both designs fire about 3 watches"),
        ({1: 1}, "With 1 contender both designs fire about 1 watch"),
    ],
)
def test_the_title_is_the_finding(make_document: Make, herd: dict[int, int], says: str) -> None:
    """The title names the largest number of contenders and the factor measured there."""
    assert words.title(make_document(herd)).startswith(says)


def test_the_title_of_one_design(make_document: Make) -> None:
    """With one design there is nothing to compare, so its count is told."""
    assert words.title(make_document({5: 15}, designs=[HERD])).endswith(
        "herd lock fires 15 watches"
    )


def test_the_title_of_three_designs(make_document: Make) -> None:
    """Each design that costs more is named with its factor; those that cost the same together."""
    three = make_document({8: 32}, designs=[HERD, CHILDREN_WATCH, SEQUENTIAL])
    assert words.title(three) == (
        "With 8 contenders the children-watch and herd locks fire 4 and 4 times as many watches "
        "as the sequential lock"
    )
    same = make_document({8: 8}, designs=[RW_HERD, RW_FIRST, RW])
    assert words.title(same) == "With 8 contenders all 3 designs fire about 8 watches"


def test_on_one_lock_object_the_wakeups_are_told(make_document: Make) -> None:
    """Threads that share a session share its fires, so the finding is who was woken."""
    document = make_document({8: 32}, population="shared")
    assert words.title(document).startswith(
        "With 8 contenders the herd lock wakes 4 times as many actors as the sequential"
    )
    assert "Left: wakeups against contenders" in words.alt_text(document)


def test_roles_are_explained_where_there_are_some(make_document: Make) -> None:
    """W and R, which stand in the laws of readers and writers, are told beside the table."""
    assert "W = N/2" in words.text_table(make_document({4: 8}, designs=[RW_FIRST, RW]))
    assert "W = N/2" not in words.text_table(make_document({4: 8}))


def test_the_title_of_nothing(make_document: Make) -> None:
    """A comparison stopped before its first run says so instead of failing."""
    document = replace(make_document({2: 3}), figures=(), runs=())
    assert words.title(document) == "Nothing was measured"
    assert words.facts(document)["CPU of the client"] == "not known"


def test_alt_text_tells_what_the_picture_shows(make_document: Make) -> None:
    """Every point of the picture is in the alt text."""
    text = words.alt_text(make_document({2: 3, 8: 33}))
    for part in ("3 at 2", "33 at 8", "8 at 8", "handoff in milliseconds"):
        assert part in text


def test_the_table_has_measured_and_predicted_side_by_side(make_document: Make) -> None:
    """Fires by both witnesses stand beside what the law says."""
    lines = words.text_table(make_document({8: 33})).splitlines()
    assert re.search(r"^herd +8 +33 +33 +≤ 36", lines[2])
    assert re.search(r"^sequential +8 +8 +8 += 8 +8 += 8 +100% +0 +0 +8 += 8 +5\.0$", lines[3])


def test_saturated_figures_are_marked_and_explained(make_document: Make) -> None:
    """Times of a busy client carry a star, and the star is explained; else there is none."""
    assert SATURATED_NOTE in words.text_table(make_document({8: 33}, cpu=0.95))
    assert "*" not in words.text_table(make_document({8: 33}))


def test_results_are_read_back_as_they_were(make_document: Make) -> None:
    """From JSON they come back typed; what is not written (the counters) is empty."""
    written = make_document({2: 3, 8: 33})
    assert GateResults.from_data(json.loads(as_json(written))) == written


def test_columns_are_aligned() -> None:
    """All lines end in the same column, also with Chinese characters, which are two wide."""
    text = table(("name", "n"), [("羊群", "1"), ("sequential", "1,234")])
    assert text.splitlines() == [
        "name            n",
        "----------  -----",
        "羊群            1",
        "sequential  1,234",
    ]


def test_pairs_are_aligned() -> None:
    """Values of named facts stand below each other."""
    assert pairs({"a": "1", "long": "2"}) == "  a     1\n  long  2"


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets no colour, a terminal does, and NO_COLOR is obeyed."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint("x", "green", io.StringIO()) == "x"
    assert paint("x", "green", Terminal()) == "\x1b[32mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "green", Terminal()) == "x"


def test_progress_into_a_file_is_one_line_a_unit() -> None:
    """Without a terminal there are lines and no control characters."""
    stream = io.StringIO()
    with Progress(2, "runs", stream=stream) as progress:
        progress.done("herd")
        progress.done("sequential")
    assert stream.getvalue() == "1/2 runs: herd\n2/2 runs: sequential\n"


def test_progress_on_a_terminal_clears_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal one line is redrawn, never longer than it, and gone at the end."""
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with Progress(2, "runs", stream=stream) as progress:
        progress.done("herd " * 30)
    text = stream.getvalue()
    assert "\n" not in text
    assert text.endswith("\r\x1b[K")
    assert max(len(part) for part in text.split("\r\x1b[K")) < 40
