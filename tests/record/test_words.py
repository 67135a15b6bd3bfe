"""Every word that a recipe can mark: through a real session into the recorder, its files, the
frames and the picture. What is held or led is lost with its session; nothing else is."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, get_args

import pytest

import zkkit
from zkkit.hooks import HOOK_NAMES, Event
from zkkit.record import Recorder, Row, frames, read_jsonl, read_parquet
from zkkit.show import swimlane
from zkkit.sim import World, explore
from zkkit.sim.properties import one_leader
from zkkit.steps import ENDED_BY, GAINS, Create, Mark, Mode, Script, SessionId, StillHeld, Word
from zkkit.testing import eventually, expire_session

WORDS = [word for word in get_args(Word) if word not in ("gave up", "found")]
DRAWN = {
    "acquired": "grant", "released": "release", "led": "lead", "unled": "resignation",
    "entered": "entry", "left": "exit", "put": "item put", "taken": "item taken",
    "done": "item done", "value": "value", "cached": "cache event",
}  # fmt: skip


def saying(path: str, *words: Any) -> Script[int]:
    """Mark these words of a new node; gives its czxid."""
    node = yield from Create(path, mode=Mode.EPHEMERAL)
    for word in words:
        before = "41" if word == "value" else ""
        kind = {"value": "42", "cached": "added"}.get(word, "")
        yield from Mark(word, path, node.stat.czxid, kind, before=before)
    return node.stat.czxid


@pytest.fixture
def recorded(zk_hosts: str, zk_path: str) -> list[Row]:
    """A session in which every word was marked."""
    recorder = Recorder()
    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(recorder)
        session.run(saying(zk_path, *WORDS))
    return list(recorder)


def test_every_word_has_a_hook_and_a_shape() -> None:
    assert set(WORDS) <= set(HOOK_NAMES)
    assert set(WORDS) == set(DRAWN)
    assert GAINS | set(ENDED_BY) | set(ENDED_BY.values()) <= set(WORDS)


def test_a_wrong_word_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"Mark\('aquired'\): the words are acquired, released"):
        Mark("aquired", "/a", 1)  # type: ignore[arg-type]


def test_it_is_recorded_as_it_was_marked(recorded: list[Row], zk_path: str) -> None:
    marks = [(hook, event) for hook, event in recorded if hook in WORDS]
    assert [hook for hook, _ in marks] == WORDS
    assert {event.path for _, event in marks} == {zk_path}
    assert len({event.zxid for _, event in marks}) == 1
    said = {hook: (event.kind, event.cause) for hook, event in marks if event.kind}
    assert said == {"value": ("42", "41"), "cached": ("added", "")}


def test_the_files_have_every_word(recorded: list[Row], tmp_path: Path) -> None:
    recorder = Recorder()
    for hook, event in recorded:
        getattr(recorder, hook)(event)
    recorder.to_jsonl(tmp_path / "lines")
    recorder.to_parquet(tmp_path / "table")
    assert read_jsonl(tmp_path / "lines") == read_parquet(tmp_path / "table") == recorded


def test_the_frames_have_every_word(recorded: list[Row], zk_path: str) -> None:
    events = frames.events(recorded)
    assert list(events[events["hook"].isin(WORDS)]["hook"]) == WORDS
    assert list(events[events["hook"] == "value"][["cause", "kind"]].iloc[0]) == ["41", "42"]
    spans = frames.spans(recorded)
    assert list(spans["what"]) == ["acquired", "led", "entered"]
    assert list(spans["ended"]) == ["released", "unled", "left"]
    assert (spans["end_ns"] >= spans["start_ns"]).all()
    assert set(spans["path"]) == {zk_path}


def test_the_picture_has_every_word(recorded: list[Row]) -> None:
    chart = swimlane.chart(recorded)
    said = swimlane.words(chart)
    for word, shown in DRAWN.items():
        assert chart.count(swimlane.PointKind(shown)) == 1, word
        assert f"{shown} " in said
    assert "value 41 to 42 at" in said
    assert "cache event added at" in said
    legend = [text.get_text() for text in swimlane._draw(chart).legends[0].get_texts()]
    assert {f"1 {shown}" for shown in DRAWN.values()} < set(legend)
    assert {"holds the lock", "leads", "is inside"} < set(legend)


def test_no_two_shapes_are_the_same() -> None:
    """Not even in black and white."""
    shapes = [(shape.marker, shape.filled) for shape in swimlane._SHAPES.values()]
    small = [(k, s) for k, s in zip(swimlane._SHAPES, shapes, strict=True) if shapes.count(s) > 1]
    assert small == []
    assert len({bar.hatch for bar in swimlane._BARS.values()}) == len(swimlane._BARS)


@pytest.mark.parametrize("word", ["acquired", "led", "entered"])
def test_what_is_held_or_led_is_lost_with_its_session(
    zk_hosts: str, zk_path: str, word: Any
) -> None:
    """Valid until then; `lost` is told, and says of what; a stay is nobody's to lose."""
    recorder, told = Recorder(), threading.Event()
    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(recorder)
        first = session.session_id
        czxid = session.run(saying(zk_path, word))
        held = word != "entered"
        assert session.is_held(first, zk_path, czxid) == held
        assert session.run(StillHeld(first, zk_path, czxid)) == held
        # As in the simulator: nothing is held of a session that is not ours.
        assert not session.is_held(first + 1, zk_path, czxid)
        assert not session.run(StillHeld(first + 1, zk_path, czxid))
        session.when_lost(first, zk_path, czxid, told.set)
        expire_session(zk_hosts, session)
        eventually(lambda: session.session_id not in (0, first))
        assert told.wait(0 if not held else 10) == held
        assert not session.is_held(first, zk_path, czxid)
    lost = [event for hook, event in recorder if hook == "lost"]
    assert [(e.kind, e.path, e.zxid, e.session) for e in lost] == (
        [(word, zk_path, czxid, first)] if held else []
    )
    assert all(event.duration > 0 for event in lost)


def test_a_lead_within_a_hold_of_the_same_node(zk_hosts: str, zk_path: str) -> None:
    """An election built on a lock marks both: giving the lead back leaves the hold."""
    recorder = Recorder()

    def both() -> Script[list[bool]]:
        czxid = yield from saying(zk_path, "acquired", "led")
        session = yield from SessionId()
        seen = []
        for word in ("unled", "released"):
            yield from Mark(word, zk_path, czxid)  # type: ignore[arg-type]
            seen.append((yield from StillHeld(session, zk_path, czxid)))
        return seen

    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(recorder)
        assert session.run(both()) == [True, False]
    ends = [(hook, e.duration > 0) for hook, e in recorder if hook in ("unled", "released")]
    assert ends == [("unled", True), ("released", True)]
    assert recorder.count("lost") == 0


def test_a_hook_is_called_for_its_word_only(zk_hosts: str, zk_path: str) -> None:
    class Ear:
        def __init__(self) -> None:
            self.heard: list[Event] = []

        def led(self, event: Event) -> None:
            self.heard.append(event)

    ear = Ear()
    with zkkit.connect(zk_hosts, timeout=6.0) as session:
        session.hooks.add(ear)
        session.run(saying(zk_path, *WORDS))
    assert [event.path for event in ear.heard] == [zk_path]


def test_the_simulator_takes_every_word() -> None:
    """It asks of a lead what it asks of a hold; the other words its stories tell."""
    world = World("/n")
    for name in ("A", "B"):
        lane = world.connect(name)
        world.actor(name, lane, lambda name=name: saying(f"/n/{name}", "entered", "led"))
    verdict = explore(world, properties=[one_leader()])
    assert verdict.holds is False
    assert verdict.story is not None
    assert "A says: entered" in str(verdict.story)
    world = World("/n")
    world.actor("A", world.connect("A"), saying, "/n/A", *get_args(Word))
    assert explore(world, properties=[one_leader()]).story is None
