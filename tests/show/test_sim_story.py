"""Pictures of simulated stories: readable, complete, and told in words as well."""

from __future__ import annotations

import functools
import itertools
import re
import struct
import sys
from xml.etree import ElementTree

import pytest

from zkkit import ReentrantLock, show
from zkkit.show import canvas
from zkkit.show.sim_layout import StoryLayout
from zkkit.show.sim_picture import StoryPicture
from zkkit.sim import (
    NO_FAULTS,
    Story,
    World,
    contenders,
    explore,
    of_a_fair_lock,
    of_a_lock,
    one,
    use,
    walk,
)
from zkkit.sim.exhibits import ALL, find
from zkkit.sim.gallery import BY_FAMILY
from zkkit.sim.gallery.locks import LeaksWatches, TrustsItsPredecessorsDeath
from zkkit.sim.places import line_of
from zkkit.sim.properties import Always
from zkkit.sim.steps import Say
from zkkit.steps import Exists, Remember, Script

# One for each thing that a picture can show; drawing takes time. Every day those with a watch that
# fires, a fault, a session that ends and a watch that leaks.
EVERY_DAY = ("TrustsItsPredecessorsDeath", "CreatesAgain", "HoldsAfterExpiry", "LeaksWatches")
SELDOM = (
    "ComparesAsText", "SearchesWithoutSync", "TakesAnOldNode", "WatchesTheParent",
    "RemovesOthersWatches", "DeletesByName", "adds_blindly", "LeavesAnOrphan", "WritesUnfenced",
)  # fmt: skip
DRAWN = (*EVERY_DAY, *(pytest.param(name, marks=pytest.mark.slow) for name in SELDOM))
FIRST = {twins[0].name for twins in BY_FAMILY.values()}
"""Of each family the first."""
SVG = "{http://www.w3.org/2000/svg}"
# What the picture adds to tell one thing from another, and its words say in other ways.
LEGEND = {"sets a watch", "the watch fires", "believes it holds: its node is not there"}


@functools.cache
def story_of(name: str) -> Story:
    story = find(name).story
    assert story is not None
    return story


@functools.cache
def svg_of(name: str) -> str:
    return show.draw(story_of(name)).svg()


def texts(svg: str) -> list[str]:
    """What can be read in the picture, line by line."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def crowd() -> Story:
    """Five actors, long paths, and more events than needed."""
    world = contenders(TrustsItsPredecessorsDeath, 5, path="/shop/stock/locks")
    story = walk(world, of_a_lock(), seed=3, walks=400, faults=one("cancel"), steps=200).story
    assert story is not None
    return story


def long_names() -> Story:
    """Actors and sessions with names that fill their lanes."""
    world = World("/l")
    for number in ("first", "second"):
        name = f"the {number} buyer of the morning in the shop round the corner"
        session = world.connect(f"the session of {name}")
        lock = LeaksWatches(session, "/l")
        world.actor(name, session, use, lock)
    story = explore(world, of_a_fair_lock(), faults=NO_FAULTS).story
    assert story is not None
    return story


@pytest.mark.parametrize("name", DRAWN)
def test_the_svg_is_one_well_formed_text(name: str) -> None:
    """It refers to nothing outside, and carries its title and all its words for a screen reader."""
    svg, drawing = svg_of(name), show.draw(story_of(name))
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == drawing.title
    assert root.findtext(f"{SVG}desc") == drawing.words
    assert not re.search(r'href="(?!#)|url\((?!#)|@import|<script|<image', svg)


@pytest.mark.parametrize("name", DRAWN)
def test_the_words_say_all_that_the_picture_says(name: str) -> None:
    """Every word and name in the picture is in the words."""
    said = show.draw(story_of(name)).words + " nodes in after each event"
    known = set(re.findall(r"[\w<>#/-]+", said)) | {
        part for path in re.findall(r"[\w<>#/-]+/[\w<>#/-]+", said) for part in path.split("/")
    }
    for text in texts(svg_of(name)):
        if text not in LEGEND:
            unknown = set(re.findall(r"[\w<>#/-]+", text)) - known
            assert not unknown, (text, unknown)


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_says_all_that_the_story_knows(name: str) -> None:
    """Every actor, request, outcome and fault, and what was wrong, can be read in it."""
    story = story_of(name)
    told = texts(svg_of(name))
    everything = " ".join(told)
    for lane in story.lanes:
        assert lane.name in told
    for scene in story.scenes:
        if scene.fault:
            assert scene.head in everything and f"⚡ {scene.fault}" in everything
        for deed in scene.deeds:
            verb = deed.text.split()[0]
            assert verb in everything, deed
            last = re.split(r"[/ ]", deed.outcome)[-1]
            assert last in everything, deed
            assert line_of(deed.where) in everything, deed
        assert line_of(scene.where) in everything, scene
    assert f"✗ Broken: {story.wrong}" in everything
    for sentence in story.why:
        assert sentence in everything
    assert show.draw(story).title in everything


@pytest.mark.parametrize("name", [*DRAWN, "a crowd", "long names"])
def test_no_text_lies_on_another_or_is_cut_off(name: str) -> None:
    """As measured by whoever draws them; lines that are meant to be one above the other touch."""
    made = {"a crowd": crowd, "long names": long_names}
    story = made[name]() if name in made else story_of(name)
    with canvas.style():
        figure = StoryPicture(story, show.draw(story).title).figure
        agg = canvas.need("matplotlib.backends.backend_agg")
        renderer = agg.FigureCanvasAgg(figure).get_renderer()
        drawn = [(t.get_text(), t.get_window_extent(renderer)) for t in figure.axes[0].texts]
    for text, box in drawn:
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height, text
    for (one_text, a), (other, b) in itertools.combinations(drawn, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or along <= 3, (one_text, other)


def measured(text: str, size: float, bold: bool) -> float:
    return len(text) * size * 0.6


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.name, marks=[] if each.name in FIRST else [pytest.mark.slow])
        for each in ALL
    ],
)
def test_every_story_of_the_gallery_finds_its_place(name: str) -> None:
    """Rows for all events, cells within the lanes, boxes within the slots, each in its room."""
    layout = StoryLayout(story_of(name), measured)
    assert [row.number for row in layout.rows][-1] == len(story_of(name).events)
    for row in layout.rows:
        assert set(row.cells) <= set(range(len(layout.lanes)))
        for line in itertools.chain(*row.cells.values()):
            assert measured(line.text, 8.6, False) <= layout.lane
        for box in row.boxes:
            assert layout.slot(box.slot) + layout.box <= layout.width
        for arrow in row.arrows:
            assert arrow.slot in [box.slot for box in row.boxes]


def test_a_watch_and_its_fire_are_arrows() -> None:
    """From the watcher to the node when it is set, and back when it fires."""
    layout = StoryLayout(story_of("TrustsItsPredecessorsDeath"), measured)
    arrows = {row.number: row.arrows for row in layout.rows if row.arrows}
    a, b, c = range(3)  # lanes and, in this story, slots
    assert arrows == {5: [(b, a, False)], 8: [(c, b, False)], 10: [(c, b, True)]}


def test_only_what_changed_is_emphasised() -> None:
    """A box stands out in the row in which it changes."""
    layout = StoryLayout(story_of("TrustsItsPredecessorsDeath"), measured)
    changed = {row.number: [box.slot for box in row.boxes if box.changed] for row in layout.rows}
    assert changed == {
        1: [0], 2: [0], 3: [1], 4: [], 5: [0], 6: [2], 7: [], 8: [1], 9: [], 10: [0, 1, 2],
    }  # fmt: skip


def test_a_node_keeps_its_slot_and_what_is_not_there_is_shown_if_it_matters() -> None:
    """A deleted node that is watched is still drawn, as one that is not there."""
    layout = StoryLayout(story_of("LeaksWatches"), measured)
    seen = {
        row.number: [(box.slot, box.state, [line.text for line in box.lines]) for box in row.boxes]
        for row in layout.rows
    }
    assert seen[6][0] == (0, "gone", ["<A>lock-0", "deleted"])
    assert seen[8] == [
        (0, "absent", ["<A>lock-0", "not there", "B watches"]),
        (1, "there", ["<B>lock-1", "B holds"]),
    ]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("TrustsItsPredecessorsDeath", "Two holders at once: A and C (fault: cancel)"),
        (
            "CreatesAgain",
            "A waits for ever: for its own node /l/<A>lock-0 (fault: reply lost)",
        ),
        ("LeaksWatches", "B holds and still watches /l/<A>lock-0"),
    ],
)
def test_the_title_says_the_finding(name: str, title: str) -> None:
    """What went wrong, and the faults it took."""
    assert show.draw(story_of(name)).title == title


def test_the_line_of_the_script_stands_behind_what_it_did() -> None:
    """Where there is room, else below it; once for all that one line of the script did."""
    layout = StoryLayout(story_of("TrustsItsPredecessorsDeath"), measured)
    (first,) = layout.rows[0].cells.values()
    assert re.fullmatch(r"\[locks.py:\d+\]", first[-1].tail)
    assert not any(line.tail for line in first[:-1])
    narrow = StoryLayout(story_of("RemovesOthersWatches"), lambda *text: 1.4 * measured(*text))
    lines = [line for row in narrow.rows for cell in row.cells.values() for line in cell]
    assert any(re.fullmatch(r"\[shared.py:\d+\]", line.text) for line in lines)


def test_no_path_is_cut_in_pieces() -> None:
    """A lane is as wide as the longest of them."""
    world = contenders(ReentrantLock, 3, next_sequence=2**31 - 2)
    end = Always("it never ends", lambda view: "it ends", at_end=True)
    story = explore(world, [end], faults=NO_FAULTS).story
    assert story is not None
    layout = StoryLayout(story, lambda *text: 1.2 * measured(*text))
    words = {
        word.strip("[],")
        for row in layout.rows
        for cell in row.cells.values()
        for line in cell
        for word in line.text.split(" ")
    }
    assert {"<A>lock-2147483646", "<B>lock-2147483647", "<C>lock--2147483648"} <= words
    assert not any(word.startswith("2147") or word.isdigit() for word in words)


def test_a_story_with_notes_and_a_bug_is_drawn() -> None:
    """What a script remembers, what it says and how it fails."""

    def fails() -> Script[None]:
        yield from Exists("/l")
        yield from Remember("my turn", 7)
        yield from Say("sees", 0)
        raise LookupError("nothing")

    world = World("/l")
    world.actor("A", world.connect(), fails)
    story = explore(world, [], faults=NO_FAULTS).story
    assert story is not None
    told = " ".join(texts(show.draw(story).svg()))
    assert "remembers my turn: 7" in told and "says: sees 0" in told
    assert "A's script fails: LookupError: nothing, at test_sim_story.py:" in told


def test_the_png_is_1600_pixels_wide_and_grows_with_a_crowd() -> None:
    """Wide enough for every lane and node."""
    png = show.draw(story_of("LeaksWatches")).png()
    assert png.startswith(b"\x89PNG") and struct.unpack(">I", png[16:20]) == (1600,)
    assert struct.unpack(">I", show.draw(crowd()).png()[16:20])[0] > 1600


def test_in_a_notebook_it_shows_itself_with_its_words() -> None:
    """StoryPicture and words, each escaped; where only text can be shown, the words."""
    drawing = show.draw(story_of("LeaksWatches"))
    html = drawing._repr_html_()
    assert html.count("<svg ") == 1 and "<?xml" not in html
    assert "<summary>The same in words</summary>" in html and "&lt;A&gt;lock-0" in html
    assert drawing._repr_svg_() == drawing.svg()
    assert repr(drawing) == drawing.words


def test_the_same_story_gives_the_same_picture() -> None:
    """Byte for byte: it can be kept beside the code."""
    assert show.draw(story_of("LeaksWatches")).svg() == svg_of("LeaksWatches")


def test_without_matplotlib_the_words_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the picture says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    drawing = show.draw(story_of("LeaksWatches"))
    assert "B watches /l/<A>lock-0" in drawing.words
    with pytest.raises(canvas.NoPicture, match=r"pip install 'zkkit\[lab\]'"):
        drawing.svg()
