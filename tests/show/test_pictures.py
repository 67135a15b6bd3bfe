"""The picture and the page around it."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from zkkit.bench.designs import CHILDREN_WATCH, HERD, RW, RW_FIRST, RW_HERD, SEQUENTIAL, Design
from zkkit.show import canvas, findings, plots, report

Make = Callable[..., dict[str, Any]]


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
    png = plots.compare_png(make_document(herd))
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
    assert plots.compare_png(document).startswith(b"\x89PNG")


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
        plots.compare_png(make_document({2: 3}))
        assert matplotlib.rcParams["font.size"] == 33
    assert matplotlib.pyplot.get_fignums() == figures


def test_without_matplotlib_the_way_out_is_told(
    make_document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare install is told what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(canvas.NoPicture, match=r"pip install 'zkkit\[lab\]'"):
        plots.compare_png(make_document({2: 3}))


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
    html = report.html(document, {"compare.png": b"\x89PNG..."})
    page = Page(html)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [str(image["src"])[:22] for image in images] == ["data:image/png;base64,"]
    assert images[0]["alt"] == findings.alt_text(document)
    assert not re.search(r"https?://|url\(|@import", html)
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}
    assert "prefers-color-scheme: dark" in html


def test_the_report_tells_everything(make_document: Make) -> None:
    """Verdict, finding, figures, machine and the command to run again are on the page."""
    document = make_document({2: 3, 8: 33})
    text = Page(report.html(document, {})).text
    for part in (
        document["why"],
        findings.title(document),
        "≤ 36",
        "ZooKeeper 3.8.0",
        "seed 42",
        "zkkit compare --seed 42 & more",
    ):
        assert part in text


def test_the_report_says_who_contends(make_document: Make) -> None:
    """Own sessions or one lock object, and who of them writes, with the law of each design."""
    own = Page(report.html(make_document({4: 10}), {})).text
    assert "each with a session of its own" in own and "to write" not in own
    document = make_document({4: 8}, designs=(RW_FIRST, RW), population="shared")
    text = Page(report.html(document, {})).text
    assert "threads on one lock object" in text and "the first half of them to write" in text
    assert "at most W+1 fires, exactly N creates, at most W+R(W+1) wakeups" in text


@pytest.mark.parametrize(
    ("verdict", "word"), [(True, "holds"), (False, "broken"), ("unknown", "unknown")]
)
def test_the_verdict_is_a_word_beside_its_colour(
    make_document: Make, verdict: object, word: str
) -> None:
    """Nobody has to see a colour to know the verdict."""
    document = make_document({2: 3}) | {"verdict": verdict}
    assert f"Verdict: {word}" in Page(report.html(document, {})).text
