"""The picture and the page around it."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from zkkit.bench.designs import CHILDREN_WATCH, HERD, RW, RW_FIRST, RW_HERD, SEQUENTIAL, Design
from zkkit.bench.gate import picture, words
from zkkit.bench.gate.experiment import EXPERIMENT
from zkkit.bench.gate.figures import GateResults
from zkkit.bench.kit.judgement import Judgement, VerdictWord
from zkkit.show import canvas

Make = Callable[..., GateResults]


class Page(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("herd", [{2: 3, 4: 9, 32: 500}, {3: 5}, {1: 1, 2: 3, 3: 6, 250: 9000}])
def test_the_picture_is_1600_pixels_wide(make_document: Make, herd: dict[int, int]) -> None:
    """Whatever the numbers of contenders, a PNG of the promised width is drawn."""
    png = picture.compare_png(make_document(herd))
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20]) == (1600,)


@pytest.mark.parametrize("population", ["own", "shared"])
@pytest.mark.parametrize(
    "designs", [(HERD, CHILDREN_WATCH, SEQUENTIAL), (RW_HERD, RW_FIRST, RW), (RW,)]
)
def test_any_designs_can_be_drawn(
    make_document: Make, designs: tuple[Design, ...], population: str
) -> None:
    """Three designs, those of readers and writers, and one alone, in both populations."""
    document = make_document({2: 3, 16: 100}, designs=designs, population=population)
    assert picture.compare_png(document).startswith(b"\x89PNG")


def test_designs_look_different() -> None:
    """Among designs that can be compared no two share a colour or a marker."""
    for kind in ([HERD, CHILDREN_WATCH, SEQUENTIAL], [RW_HERD, RW_FIRST, RW]):
        looks = canvas.looks([design.name for design in kind]).values()
        assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 3


def test_drawing_leaves_matplotlib_as_it_was(make_document: Make) -> None:
    """A user's own settings and figures are not touched."""
    import matplotlib
    import matplotlib.pyplot

    figures = matplotlib.pyplot.get_fignums()
    with matplotlib.rc_context({"font.size": 33}):
        picture.compare_png(make_document({2: 3}))
        assert matplotlib.rcParams["font.size"] == 33
    assert matplotlib.pyplot.get_fignums() == figures


def test_without_matplotlib_the_way_out_is_told(
    make_document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare install is told what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(canvas.NoPicture, match=r"pip install 'zkkit\[lab\]'"):
        picture.compare_png(make_document({2: 3}))


def test_the_command_line_loads_no_plotting() -> None:
    """Importing the command line imports neither matplotlib nor pandas."""
    code = (
        "import sys, zkkit.cli; "
        "sys.exit(any(m in sys.modules for m in ('matplotlib', 'pandas', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_report_is_self_contained(make_document: Make) -> None:
    """The page refers to nothing outside itself and its picture has an alt text."""
    document = make_document({2: 3, 8: 33})
    html = EXPERIMENT.page(document, {"compare.png": b"\x89PNG..."})
    found = Page(html)
    images = [attributes for tag, attributes in found.tags if tag == "img"]
    assert [str(image["src"])[:22] for image in images] == ["data:image/png;base64,"]
    assert images[0]["alt"] == words.alt_text(document)
    assert not re.search(r"https?://|url\(|@import", html)
    assert not {"script", "link", "iframe"} & {tag for tag, _ in found.tags}
    assert "prefers-color-scheme: dark" in html


def test_the_report_tells_everything(make_document: Make) -> None:
    """Verdict, finding, figures, machine and the command to run again are on the page."""
    document = make_document({2: 3, 8: 33})
    text = Page(EXPERIMENT.page(document, {})).text
    for part in (
        document.head.judgement.why,
        words.title(document),
        "≤ 36",
        "ZooKeeper 3.8.0",
        "seed 42",
        "zkkit compare --seed 42 & more",
    ):
        assert part in text


def test_the_report_says_who_contends(make_document: Make) -> None:
    """Own sessions or one lock object, and who of them writes, with the law of each design."""
    own = Page(EXPERIMENT.page(make_document({4: 10}), {})).text
    assert "each with a session of its own" in own and "to write" not in own
    document = make_document({4: 8}, designs=(RW_FIRST, RW), population="shared")
    text = Page(EXPERIMENT.page(document, {})).text
    assert "threads on one lock object" in text and "the first half of them to write" in text
    assert "at most W+1 fires, exactly N creates, at most W+R(W+1) wakeups" in text


@pytest.mark.parametrize("word", ["holds", "broken", "unknown"])
def test_the_verdict_is_a_word_beside_its_colour(make_document: Make, word: VerdictWord) -> None:
    """Nobody has to see a colour to know the verdict."""
    document = make_document({2: 3})
    document = replace(document, head=replace(document.head, judgement=Judgement(word, "")))
    assert f"Verdict: {word}" in Page(EXPERIMENT.page(document, {})).text


# --- what is drawn ----------------------------------------------------------------------

RW_DESIGNS = (RW_HERD, RW_FIRST, RW)


def drawn(document: GateResults) -> Any:
    """The figure, with every text in its place."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with canvas.style():
        figure = picture._draw(document)
        FigureCanvasAgg(figure).draw()
    return figure


def labels(axes: Any) -> list[Any]:
    """The names at the ends of the lines."""
    return [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]


def extent(label: Any) -> Any:
    """Where a label's text lies, without the thread that ties it to its line."""
    from matplotlib.text import Text

    return Text.get_window_extent(label)


def joined(axes: Any) -> list[Any]:
    """The lines that join points with each other; the bars of an error are of another kind."""
    return [line for line in axes.lines if line.get_linestyle() != "None"]


@pytest.mark.parametrize("contenders", [(2, 5, 6), (4, 50, 121)])
def test_the_law_of_readers_and_writers_is_drawn_at_whole_numbers(
    make_document: Make, contenders: tuple[int, ...]
) -> None:
    """Half of N is rounded, so the law jumps: a dot for each number, the measured ones among
    them, each where the law says, and no line between them."""
    document = make_document({n: RW_HERD.law.fires.of(n) for n in contenders}, designs=RW_DESIGNS)
    axes = drawn(document).axes[0]
    assert joined(axes) == []
    dots = [line for line in axes.lines if line.get_marker() == "."]
    assert len(dots) == len(RW_DESIGNS)
    for line, design in zip(dots, RW_DESIGNS, strict=True):
        points = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert set(contenders) <= set(points)
        assert points == {n: design.law.fires.of(n) for n in points}
    assert "Small dots: the law" in drawn(document).texts[-1].get_text()


def test_other_laws_stay_lines(make_document: Make) -> None:
    """N(N+1)/2 has no jumps: it is dashed, and the footer says so."""
    figure = drawn(make_document({2: 3, 8: 36}))
    assert len(joined(figure.axes[0])) == 2
    footer = figure.texts[-1].get_text()
    assert "Dashed: the law" in footer and "Data in memory." in footer


@pytest.mark.parametrize(("repeats", "lines"), [(1, 0), (2, 2)])
def test_single_runs_are_not_joined_as_a_trend(
    make_document: Make, repeats: int, lines: int
) -> None:
    """A line between handoffs needs more than one run at each of its points; the footer says how
    many there were."""
    document = make_document({2: 3, 4: 9, 8: 33}, repeats=repeats)
    figure = drawn(document)
    assert len(joined(figure.axes[1])) == lines
    footer = figure.texts[-1].get_text()
    assert ("Points: one run each." in footer) == (repeats == 1)
    assert ("median of 2 repeats" in footer) == (repeats == 2)


@pytest.mark.parametrize(
    ("designs", "herd"),
    [
        ((HERD, CHILDREN_WATCH, SEQUENTIAL), {2: 3, 100: 5050}),
        ((HERD, CHILDREN_WATCH, SEQUENTIAL), {3: 3}),
        (RW_DESIGNS, {2: 2, 30: 374}),
        (RW_DESIGNS, {30: 30}),
        ((HERD, SEQUENTIAL), {1: 1}),
    ],
)
def test_no_label_floats_off_its_line(
    make_document: Make, designs: tuple[Design, ...], herd: dict[int, int]
) -> None:
    """Where ends lie on each other, too: each label is tied to the last point of its design,
    stays beside the axes and inside the picture, and covers no other text."""
    figure = drawn(make_document(herd, designs=designs))
    left, right = figure.axes
    for axes in (left, right):
        found = labels(axes)
        assert len(found) == len(designs)
        ends = {(line.get_xdata()[-1], line.get_ydata()[-1]) for line in axes.lines}
        assert {tuple(label.xy) for label in found} <= ends
        low, high = axes.get_ylim()
        assert all(low <= label.xyann[1] <= high for label in found)
        boxes = [extent(label) for label in found]
        others = [tick.get_window_extent() for tick in right.get_yticklabels()]
        others.append(right.title.get_window_extent())
        for number, box in enumerate(boxes):
            assert 0 <= box.x0 and box.x1 <= figure.bbox.width
            assert not any(box.overlaps(other) for other in boxes[:number] + others)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ([1, 5, 9], [1, 5, 9]),
        ([5, 5], [4.5, 5.5]),
        ([5, 5, 5.5], [4.17, 5.17, 6.17]),
        ([0, 0], [0, 1]),
        ([10, 10, 10], [8, 9, 10]),
        ([], []),
    ],
)
def test_labels_make_room_to_both_sides(wanted: list[float], given: list[float]) -> None:
    """Nearest places a gap apart, between the ends of the axis."""
    assert canvas.apart(wanted, 1, 0, 10) == pytest.approx(given, abs=0.01)


def test_the_tables_of_the_report_have_distinct_headings(make_document: Make) -> None:
    """No table has two columns of one name, and each stands under a heading of its own."""
    html = EXPERIMENT.page(make_document({2: 3}), {})
    parts = re.split(r"<h2>(.*?)</h2>", html)
    headings, sections = parts[1::2], parts[2::2]
    assert len(set(headings)) == len(headings)
    assert max(section.count("<table") for section in sections) == 1
    for section in sections:
        columns = re.findall(r'<th scope="col">(.*?)</th>', section)
        assert len(set(columns)) == len(columns)
    assert "law of fires" in html and "law of wakeups" in html
