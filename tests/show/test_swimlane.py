"""Swimlanes: the picture and its words are made from one story, and the story is true."""

from __future__ import annotations

import re
import struct
import sys
from xml.etree import ElementTree

import pytest

from zkkit.bench.designs import HERD, SEQUENTIAL
from zkkit.bench.gate import Gate
from zkkit.bench.pool import Pool
from zkkit.bench.witness import Witness
from zkkit.hooks import Event
from zkkit.record import Row
from zkkit.show import canvas, swimlane
from zkkit.show.swimlane import Kind, Story

MS = 1_000_000
NODE = "/shop/lock"


def row(hook: str, ms: float, session: int, actor: str, **fields: object) -> Row:
    told = Event(int(ms * MS), session, actor, "HerdLock" if actor else "", NODE)
    return hook, told._replace(**fields)  # type: ignore[arg-type]


def woken(ms: float, session: int, actor: str) -> list[Row]:
    """A fire for a session, and the wakeup it causes."""
    return [
        row("watch_fired", ms, session, "", kind="deleted"),
        row("woke", ms + 0.1, session, actor, kind="deleted"),
    ]


def two_wait() -> list[Row]:
    """One release; ann gets the lock, bob is woken for nothing; then ann releases."""
    return [
        row("acquired", 0, 1, "gate"),
        row("watch_set", 1, 2, "ann"),
        row("watch_set", 2, 3, "bob"),
        row("released", 10, 1, "gate"),
        *woken(12, 2, "ann"),
        *woken(13, 3, "bob"),
        row("node_created", 15, 2, "ann", kind="ephemeral"),
        row("acquired", 15.1, 2, "ann"),
        row("step", 16, 3, "bob", kind="Create", cause="NodeExists"),
        row("watch_set", 17, 3, "bob"),
        row("released", 40, 2, "ann"),
        *woken(42, 3, "bob"),
        row("acquired", 44, 3, "bob"),
    ]


def facts(told: Story) -> dict[str, list[tuple[str, float]]]:
    return {
        name: [(mark.kind.value, round(mark.ms, 1)) for mark in told.of(lane)]
        for lane, name in enumerate(told.lanes)
    }


def test_one_release_is_told_lane_by_lane() -> None:
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


def test_a_wasted_wakeup_is_in_title_words_and_picture() -> None:
    """One wakeup for nothing is told as such everywhere, the legend of the picture included."""
    told = swimlane.one_release(two_wait())
    assert told.count(Kind.WASTED) == 1
    assert "1 woke for nothing" in swimlane.title(told)
    assert "bob: watch fire at 3.00 ms, wasted wakeup at 3.10 ms" in swimlane.words(told)
    legend = [text.get_text() for text in swimlane._draw(told).legends[0].get_texts()]
    assert "1 wasted wakeup" in legend


def test_words_and_picture_have_the_same_marks() -> None:
    """For every kind, the picture has as many points as the words have mentions, at equal times."""
    told = swimlane.one_release(two_wait())
    said = re.findall(r"([a-z ]+) at ([\d.]+) ms", swimlane.words(told))
    mentioned = sorted((kind.strip(), float(ms)) for kind, ms in said)
    axes = swimlane._draw(told).axes[0]
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
    told = swimlane.one_release(rows)
    assert "eve" in told.lanes
    assert "eve: sleeps on." in swimlane.words(told)


def test_titles_of_releases_that_help_nobody() -> None:
    """A release that wakes nobody, or only for nothing, is told as that."""
    rows = [row("watch_set", 0, 2, "ann"), row("released", 1, 1, "gate")]
    assert swimlane.title(swimlane.one_release(rows)) == "One release woke none of 1 waiter"
    rows += woken(2, 2, "ann")
    assert swimlane.title(swimlane.one_release(rows)) == (
        "One release woke 1 of 1 waiter: none got the lock, 1 woke for nothing"
    )
    assert swimlane.title(swimlane.story(two_wait())) == "2 releases woke 3 waiters, 1 for nothing"


def test_a_lost_connection_is_no_fire() -> None:
    """Kind "none" never came over the wire: no fire is drawn for it."""
    rows = [row("released", 0, 1, "gate"), row("watch_fired", 1, 1, "", kind="none")]
    assert swimlane.one_release(rows).count(Kind.FIRE) == 0


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


def test_actors_of_one_name_are_told_apart() -> None:
    """Two sessions whose threads have the same name get two lanes with two names."""
    rows = [row("acquired", 0, 0x1A, "MainThread"), row("acquired", 1, 0x2B, "MainThread")]
    told = swimlane.story(rows, names={"MainThread": "main"})
    assert told.lanes == ("main (0x1a)", "main (0x2b)")


def test_stories_side_by_side_share_one_time_axis() -> None:
    """Whichever is the longer one: both pictures go equally far, and have the same ticks."""
    long = swimlane.one_release(two_wait())
    rows = [row("released", 0, 1, "gate"), *woken(0.5, 2, "ann"), row("acquired", 1.5, 2, "ann")]
    short = swimlane.one_release(rows)
    assert short.span_ms < long.span_ms
    alone, *both = (
        swimlane._draw(*stories).axes[0] for stories in ((short,), (short, long), (long, short))
    )
    assert both[0].get_xlim() == both[1].get_xlim() != alone.get_xlim()
    assert list(both[0].get_xticks()) == list(both[1].get_xticks())


def test_a_hold_ends_with_its_story() -> None:
    """Beside a longer story the picture goes on, but nobody knows whether the hold does."""
    long = swimlane.story([row("released", 0, 1, "gate"), row("watch_set", 90, 2, "bob")])
    bars = swimlane._draw(swimlane.one_release(two_wait()), long).axes[0].patches
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert ends == pytest.approx([0, 30])  # the gate's, and ann's until her release


def test_ten_thousand_events_and_no_more() -> None:
    """What is too long is cut, and both the words and the picture say so."""
    rows = [row("released", 0, 1, "gate")]
    rows += [row("watch_set", 1 + n / 1000, 2, "ann") for n in range(swimlane.LIMIT + 5)]
    told = swimlane.one_release(rows)
    assert (len(told.marks), told.left_out) == (swimlane.LIMIT, 6)
    notice = "Cut: the first 10,000 of 10,006 events are shown."
    assert notice in swimlane.words(told)
    assert notice in [text.get_text() for text in swimlane._draw(told).texts]
    assert "Cut" not in swimlane.words(swimlane.one_release(two_wait()))


def test_the_files() -> None:
    """A PNG of the usual width; an SVG that carries its title and its words."""
    told = swimlane.one_release(two_wait())
    png = swimlane.png(told)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20]) == (1600,)
    text = "".join(ElementTree.fromstring(swimlane.svg(told)).itertext())
    assert swimlane.title(told) in text
    assert "wasted wakeup at 3.10 ms" in text


def test_an_empty_recording_can_be_drawn() -> None:
    """No rows, no marks, no error."""
    told = swimlane.story([])
    assert told.marks == ()
    assert swimlane.png(told).startswith(b"\x89PNG")


def test_without_matplotlib_the_words_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The story needs no plotting; the picture says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = swimlane.one_release(two_wait())
    assert swimlane.words(told)
    with pytest.raises(canvas.NoPicture, match=r"zkkit\[lab\]"):
        swimlane.png(told)


def test_a_real_release_of_each_design(zk_hosts: str) -> None:
    """With five waiting, a release wakes all five of a herd and one of a queue, who gets it."""
    with Pool(zk_hosts, 5) as pool:
        gate = Gate(pool, Witness(zk_hosts), hold=0.3)
        _, herd = gate.run(HERD, range(5), 0)
        _, queue = gate.run(SEQUENTIAL, range(5), 0)
    told = swimlane.one_release(herd, names={"MainThread": "gate"})
    assert swimlane.title(told) == (
        "One release woke 5 of 5 waiters: 1 got the lock, 4 woke for nothing"
    )
    assert told.count(Kind.FIRE) == 5
    assert told.lanes[0] == "gate"
    told = swimlane.one_release(queue)
    assert swimlane.title(told) == "One release woke 1 of 5 waiters: 1 got the lock"
    assert (told.count(Kind.FIRE), told.count(Kind.WASTED)) == (1, 0)
