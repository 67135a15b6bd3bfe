"""A guess, kept, and drawn beside the law and the measurement.

A prediction made before the measurement teaches; the same number read afterwards does not. So the
learner is asked first, the answer is kept in a small file, and it comes back in the picture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zkkit.bench.gate import picture
from zkkit.bench.gate.figures import GateResults
from zkkit.show import canvas
from zkkit.show.wording import many

__all__ = ["Guess", "finding", "png", "predict"]

_STANDS_IN = "Nobody typed a guess"


@dataclass(frozen=True)
class Guess:
    """What somebody predicted; `own` is False for the one that stands in."""

    name: str
    value: int
    own: bool

    def __repr__(self) -> str:
        if self.own:
            return f"Your guess is {self.value:,}. It is kept; we come back to it."
        return f"{_STANDS_IN}: {self.value:,} stands in."


def predict(
    name: str,
    question: str,
    *,
    default: int,
    again: bool = False,
    ask: Callable[[str], str] | None = None,
) -> Guess:
    """Ask for a whole number and keep it; a guess that was kept is not asked for `again`.

    Where nobody can type (a notebook that is run unattended) or an empty answer is given, the
    `default` stands in, and is not kept. Kept in guesses.json, or in the file ZKKIT_GUESSES names.
    """
    file = Path(os.environ.get("ZKKIT_GUESSES", "guesses.json"))
    kept = _read(file)
    if name in kept and not again:
        return Guess(name, kept[name], own=True)
    ask = ask or input  # looked up now: in a notebook it is another one for each cell
    while True:
        try:
            answer = ask(f"{question} ").strip().replace(",", "").replace("_", "")
        except (EOFError, NotImplementedError, OSError):
            answer = ""
        if not answer:
            return Guess(name, default, own=False)
        if answer.isdecimal():
            break
        question = f"A whole number, please ({answer!r} is none):"
    value = int(answer)
    file.write_text(json.dumps({**kept, name: value}, indent=1) + "\n", encoding="utf-8")
    return Guess(name, value, own=True)


def _read(file: Path) -> dict[str, int]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {name: value for name, value in kept.items() if isinstance(value, int)}


def finding(results: GateResults, guess: Guess) -> str:
    """How the guess, the law and the measurement stand to each other, at the most contenders."""
    whose = "Your guess" if guess.own else "The guess"
    parts = []
    for figure in results.of_most():
        law, measured = figure.law["fires"], canvas.short(figure.fires.median)
        parts.append(f"{figure.design} fired {measured} (law: {law.relation} {law.count:,})")
    most = many(results.figures[-1].contenders, "contender")
    return f"{most}: {'; '.join(parts)}. {whose} for the herd: {guess.value:,}"


def png(results: GateResults, guess: Guess) -> bytes:
    """Fires against contenders: the law as a line, the measurement as points, the guess as a
    star."""
    with canvas.style():
        figure = canvas.start(canvas.HEIGHT)
        axes = figure.subplots()
        figure.subplots_adjust(left=0.075, right=0.76, top=0.8, bottom=0.19)
        plan = results.plan
        canvas.caption(
            figure,
            _heading(results, guess),
            f"{picture.law_key(results)} Points: measured, by clients and servers alike. "
            f"Each hold {plan.hold * 1e3:g} ms.",
        )
        picture.prepare(axes, results, "", "fires")
        looks = canvas.looks([design.name for design in plan.designs])
        ends = picture.draw_counts(axes, results, "fires", looks, predicted=True)
        most = results.figures[-1].contenders
        # Below the points, and hollow: a good guess must not hide what it hits.
        axes.plot(
            [most],
            [guess.value],
            marker="*",
            markersize=26,
            markerfacecolor="white",
            markeredgecolor=canvas.INK,
            markeredgewidth=1.6,
            zorder=2.5,
            clip_on=False,
        )
        axes.set_ylim(0, max(axes.get_ylim()[1], guess.value * 1.05) * 1.03)
        text = f"{'your guess' if guess.own else 'the guess'}: {guess.value:,}"
        ends.append(canvas.End(most, guess.value, text, canvas.Style(canvas.INK, "*")))
        canvas.label_ends(axes, ends)
        return canvas.as_png(figure)


def _heading(results: GateResults, guess: Guess) -> str:
    fired = [f"{canvas.short(f.fires.median)} ({f.design})" for f in results.of_most()]
    most = many(results.figures[-1].contenders, "contender")
    whose = "you guessed" if guess.own else "the guess was"
    return f"{most} fired {' and '.join(fired)} watches; {whose} {guess.value:,}"
