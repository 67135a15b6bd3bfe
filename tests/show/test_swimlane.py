"""Swimlanes: the picture and its words are made from one story, and the story is true."""

from __future__ import annotations

import re
import struct
import sys
from xml.etree import ElementTree

import pytest

from zkkit.bench.designs import HERD, SEQUENTIAL
from zkkit.bench.gate.gate import Gate
from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.kit.witness import Witness
from zkkit.hooks import Event
from zkkit.record import Row
from zkkit.show import canvas, swimlane
from zkkit.show.swimlane import LaneChart, PointKind

MS = 1_000_000
NODE = "/shop/lock"


def row(hook: str, ms: float, session: int, actor: str, **fields: object) -> Row:
    event = Event(int(ms * MS), session, actor, "HerdLock" if actor else "", NODE)
    return hook, event._replace(**fields)  # type: ignore[arg-type]


def woken(ms: float, session: int, actor: str, outcome: str = "", after: float = 1.0) -> list[Row]:
    """A fire for a session, the wakeup it causes, and what came of it so many ms later."""
    woke = row("woke", ms + 0.1, session, actor, kind="deleted")
    _, ended = row("wakeup_ended", ms + 0.1 + after, session, actor, kind=outcome)
    ended = ended._replace(duration=ended.t_ns - woke[1].t_ns)
    fire = row("watch_fired", ms, session, "", kind="deleted")
    return [fire, woke, ("wakeup_ended", ended)] if outcome else [fire, woke]


def two_wait() -> list[Row]:
    """One release; ann gets the lock, bob is woken for nothing; then ann releases."""
    return [
        row("acquired", 0, 1, "gate"),
        row("watch_set", 1, 2, "ann"),
        row("watch_set", 2, 3, "bob"),
        row("released", 10, 1, "gate"),
        *woken(12, 2, "ann", "useful", 3.0),
        *woken(13, 3, "bob", "again", 3.9),
        row("node_created", 15, 2, "ann", kind="ephemeral"),
        row("acquired", 15.1, 2, "ann"),
        row("step", 16, 3, "bob", kind="Create", cause="NodeExists"),
        row("watch_set", 17, 3, "bob"),
        row("released", 40, 2, "ann"),
        *woken(42, 3, "bob", "useful", 1.9),
        row("acquired", 44, 3, "bob"),
    ]


def facts(shown: LaneChart) -> dict[str, list[tuple[str, float]]]:
    return {
        name: [(str(point.kind), round(point.ms, 1)) for point in shown.of(lane).itertuples()]
        for lane, name in enumerate(shown.lanes)
    }


def test_one_release_is_shown_lane_by_lane() -> None:
    """From the release until the next one, everybody's marks are there, in ms since the release."""
    assert facts(swimlane.one_release(two_wait())) == {
        "gate": [("release", 0.0)],
        "ann": [
            ("watch fire", 2.0),
            ("useful wakeup", 2.1),
            ("node created", 5.0),
            ("grant", 5.1),
        ],
        "bob": [
            ("watch fire", 3.0),
            ("wasted wakeup", 3.1),
            ("create refused", 6.0),
            ("watch set", 7.0),
        ],
    }


def test_the_next_release_is_another_story() -> None:
    """Each release has a number; one that never was is refused."""
    second = swimlane.one_release(two_wait(), 1)
    assert swimlane.title(second) == "One release woke 1 of 2 waiters: 1 got the lock"
    with pytest.raises(ValueError, match="2 releases"):
        swimlane.one_release(two_wait(), 2)
    with pytest.raises(ValueError, match="none has number -1"):
        swimlane.one_release(two_wait(), -1)


def test_a_wasted_wakeup_is_in_title_words_and_picture() -> None:
    """One wakeup for nothing is shown as such everywhere, the legend of the picture included."""
    shown = swimlane.one_release(two_wait())
    assert shown.count(PointKind.WASTED) == 1
    assert "1 woke for nothing" in swimlane.title(shown)
    assert "bob: watch fire at 3.00 ms, wasted wakeup at 3.10 ms" in swimlane.words(shown)
    legend = [text.get_text() for text in swimlane._draw(shown).legends[0].get_texts()]
    assert "1 wasted wakeup" in legend


def test_words_and_picture_have_the_same_marks() -> None:
    """For every kind, the picture has as many points as the words have mentions, at equal times."""
    shown = swimlane.one_release(two_wait())
    said = re.findall(r"([a-z ]+) at ([\d.]+) ms", swimlane.words(shown))
    mentioned = sorted((kind.strip(), float(ms)) for kind, ms in said)
    axes = swimlane._draw(shown).axes[0]
    looks = {(s.marker, s.colour): kind for kind, s in swimlane._SHAPES.items()}
    drawn = []
    for line in axes.lines:
        edge_or_face = {line.get_markerfacecolor(), line.get_markeredgecolor()}
        kind = next((k for (m, c), k in looks.items()
                     if line.get_marker() == m and c in edge_or_face), None)  # fmt: skip
        if kind is not None:
            drawn += [(kind.value, round(float(x), 1)) for x in line.get_xdata()]
    assert sorted(drawn) == mentioned


def test_who_does_nothing_has_a_lane_and_sleeps_on() -> None:
    """An actor that is not woken is shown all the same: that it sleeps is the news."""
    rows = [*two_wait(), row("watch_set", 3, 4, "eve")]
    shown = swimlane.one_release(rows)
    assert "eve" in shown.lanes
    assert "eve: sleeps on." in swimlane.words(shown)


def test_titles_of_releases_that_help_nobody() -> None:
    """A release that wakes nobody, or only for nothing, is shown as that."""
    rows = [row("watch_set", 0, 2, "ann"), row("released", 1, 1, "gate")]
    assert swimlane.title(swimlane.one_release(rows)) == "One release woke none of 1 waiter"
    rows += woken(2, 2, "ann", "again")
    assert swimlane.title(swimlane.one_release(rows)) == (
        "One release woke 1 of 1 waiter: none got the lock, 1 woke for nothing"
    )
    assert swimlane.title(swimlane.chart(two_wait())) == "2 releases woke 3 waiters, 1 for nothing"


def a_barrier() -> list[Row]:
    """Three wait at a barrier; one takes it away, and hears of it last of all."""
    waiters = {2: "ann", 3: "bob", 4: "eve"}
    return [
        *(
            row("watch_set", n, session, actor)
            for n, (session, actor) in enumerate(waiters.items())
        ),
        *(r for n, who in enumerate(waiters.items()) for r in woken(12 + n, *who, "useful")),
        row("step", 20, 1, "opener", kind="Delete", duration=10 * MS),
        row("node_deleted", 20, 1, "opener"),
    ]


def test_a_barrier_is_no_lock() -> None:
    """Nobody releases, nobody gets a lock, and nobody was woken for nothing: the delete woke them,
    and stands before what it caused."""
    shown = swimlane.chart(a_barrier(), since_ns=10 * MS, since="the delete")
    assert swimlane.title(shown) == ("One delete woke 3 of 3 waiters: 3 got what they waited for")
    assert facts(shown)["opener"] == [("delete sent", 0.0)]
    assert "3 useful wakeups" in swimlane.words(shown)
    figure = swimlane._draw(shown)
    assert figure.axes[0].get_xlabel() == "milliseconds since the delete"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["1 delete sent", "3 watch fires", "3 useful wakeups"]
    (lines,) = figure.axes[0].collections
    assert len(lines.get_segments()) == 3


def test_without_a_cause_in_the_recording() -> None:
    """The opener may be elsewhere: then it is only said who woke, and what for."""
    shown = swimlane.chart([r for r in a_barrier() if r[1].actor != "opener"])
    assert swimlane.title(shown) == "3 waiters woke: 3 got what they waited for"
    one = [row("watch_set", 0, 2, "ann"), *woken(1, 2, "ann", "useful")]
    assert swimlane.title(swimlane.chart(one)) == "1 waiter woke: 1 got what it waited for"


def test_a_wakeup_of_unknown_outcome() -> None:
    """Neither useful nor wasted, in the title, the words and the legend."""
    rows = [row("released", 0, 1, "gate"), *woken(1, 2, "ann"), *woken(2, 3, "bob", "again")]
    shown = swimlane.one_release(rows)
    assert swimlane.title(shown) == (
        "One release woke 2 of 2 waiters: none got the lock, 1 woke for nothing, of 1 it is unknown"
    )
    assert "wakeup (unknown) at 1.10 ms" in swimlane.words(shown)
    assert "1 wakeup (unknown)" in [
        text.get_text() for text in swimlane._draw(shown).legends[0].get_texts()
    ]


def test_a_foreign_client_has_a_lane() -> None:
    """Its wakeups have no actor: they are drawn in the lane of its session."""
    rows = [row("session_changed", 0, 9, "", path=""), *woken(1, 9, "")]
    shown = swimlane.chart(rows)
    assert shown.lanes == ("session 0x9",)
    assert swimlane.title(shown) == "1 waiter woke: of 1 it is unknown"


def test_an_election_is_no_lock_either() -> None:
    """A lead that is given back is a resignation; the bars say who leads."""
    rows = [
        row("led", 0, 1, "ann", path="/e/1"),
        row("unled", 5, 1, "ann", path="/e/1"),
        *woken(6, 2, "bob", "useful"),
        row("led", 7, 2, "bob", path="/e/2"),
    ]
    shown = swimlane.one_release(rows)
    assert swimlane.title(shown) == "One resignation woke 1 of 1 waiter: 1 took the lead"
    figure = swimlane._draw(shown)
    assert figure.axes[0].get_xlabel() == "milliseconds since the resignation"
    assert "leads" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_what_lasts_beyond_the_chart_is_drawn_through_it() -> None:
    """A hold that began before and goes on after fills its lane."""
    rows = [
        row("acquired", 0, 1, "ann", zxid=1),
        row("led", 1, 2, "bob", zxid=2),
        row("unled", 5, 2, "bob", zxid=2),
        row("released", 9, 1, "ann", zxid=1),
    ]
    shown = swimlane.chart(rows, since_ns=3 * MS, until_ns=7 * MS)
    assert shown.spans["start_ms"].isna().all()
    assert list(shown.spans["end_ms"].fillna(-1)) == [-1, 2.0]


def test_a_lost_connection_is_no_fire() -> None:
    """Kind "none" never came over the wire: no fire is drawn for it."""
    rows = [row("released", 0, 1, "gate"), row("watch_fired", 1, 1, "", kind="none")]
    assert swimlane.one_release(rows).count(PointKind.WATCH_FIRED) == 0


def test_a_shared_session_fires_in_the_lane_it_woke() -> None:
    """A fire has no actor; of two actors with one session the woken one gets it."""
    rows = [
        row("watch_set", 0, 7, "ann"),
        row("watch_set", 0, 7, "bob"),
        row("released", 1, 1, "gate"),
        *woken(2, 7, "bob"),
    ]
    assert facts(swimlane.one_release(rows))["ann"] == []
    assert ("watch fire", 1.0) in facts(swimlane.one_release(rows))["bob"]


def test_actors_of_one_name_are_shown_apart() -> None:
    """Two sessions whose threads have the same name get two lanes with two names."""
    rows = [row("acquired", 0, 0x1A, "MainThread"), row("acquired", 1, 0x2B, "MainThread")]
    shown = swimlane.chart(rows, names={"MainThread": "main"})
    assert shown.lanes == ("main (0x1a)", "main (0x2b)")


def test_stories_side_by_side_share_one_time_axis() -> None:
    """Whichever is the longer one: both pictures go equally far, and have the same ticks."""
    long = swimlane.one_release(two_wait())
    rows = [row("released", 0, 1, "gate"), *woken(0.5, 2, "ann"), row("acquired", 1.5, 2, "ann")]
    short = swimlane.one_release(rows)
    assert short.span_ms < long.span_ms
    alone, *both = (
        swimlane._draw(*charts).axes[0] for charts in ((short,), (short, long), (long, short))
    )
    assert both[0].get_xlim() == both[1].get_xlim() != alone.get_xlim()
    assert list(both[0].get_xticks()) == list(both[1].get_xticks())


def test_a_hold_ends_with_its_story() -> None:
    """Beside a longer story the picture goes on, but nobody knows whether the hold does."""
    long = swimlane.chart([row("released", 0, 1, "gate"), row("watch_set", 90, 2, "bob")])
    bars = swimlane._draw(swimlane.one_release(two_wait()), long).axes[0].patches
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert ends == pytest.approx([0, 30])  # the gate's, and ann's until her release


def test_ten_thousand_events_and_no_more() -> None:
    """What is too long is cut, and both the words and the picture say so."""
    rows = [row("released", 0, 1, "gate")]
    rows += [row("watch_set", 1 + n / 1000, 2, "ann") for n in range(swimlane.LIMIT + 5)]
    shown = swimlane.one_release(rows)
    assert (len(shown.points), shown.left_out) == (swimlane.LIMIT, 6)
    notice = "Cut: the first 10,000 of 10,006 events are shown."
    assert notice in swimlane.words(shown)
    assert notice in [text.get_text() for text in swimlane._draw(shown).texts]
    assert "Cut" not in swimlane.words(swimlane.one_release(two_wait()))


def test_the_files() -> None:
    """A PNG of the usual width; an SVG that carries its title and its words."""
    shown = swimlane.one_release(two_wait())
    png = swimlane.png(shown)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20]) == (1600,)
    text = "".join(ElementTree.fromstring(swimlane.svg(shown)).itertext())
    assert swimlane.title(shown) in text
    assert "wasted wakeup at 3.10 ms" in text


def test_an_empty_recording_can_be_drawn() -> None:
    """No rows, no marks, no error."""
    shown = swimlane.chart([])
    assert len(shown.points) == len(shown.spans) == 0
    assert swimlane.title(shown) == "Nobody was woken"
    assert swimlane.png(shown).startswith(b"\x89PNG")


def test_without_matplotlib_the_words_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The story needs no plotting; the picture says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = swimlane.one_release(two_wait())
    assert swimlane.words(shown)
    with pytest.raises(canvas.NoPicture, match=r"zkkit\[lab\]"):
        swimlane.png(shown)


def test_a_real_release_of_each_design(zk_hosts: str) -> None:
    """With five waiting, a release wakes all five of a herd and one of a queue, who gets it."""
    with SessionPool(zk_hosts, 5) as pool:
        gate = Gate(pool, Witness(zk_hosts), hold=0.1)
        _, herd = gate.run(HERD, range(5), 0)
        _, queue = gate.run(SEQUENTIAL, range(5), 0)
    shown = swimlane.one_release(herd, names={"MainThread": "gate"})
    assert swimlane.title(shown) == (
        "One release woke 5 of 5 waiters: 1 got the lock, 4 woke for nothing"
    )
    assert shown.count(PointKind.WATCH_FIRED) == 5
    assert shown.lanes[0] == "gate"
    shown = swimlane.one_release(queue)
    assert swimlane.title(shown) == "One release woke 1 of 5 waiters: 1 got the lock"
    assert (shown.count(PointKind.WATCH_FIRED), shown.count(PointKind.WASTED)) == (1, 0)
