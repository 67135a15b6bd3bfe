"""Places in code: which line of a script to show to whoever wrote it.

A script stands in several scripts at once, one inside the other. The line that helps is the
innermost one of the learner's own code: not one of zkkit's shared scripts that it calls, nor of a
library. Where all of it is zkkit's, the innermost line of a twin of the gallery, else the innermost
of all.
"""

from __future__ import annotations

import os
import sysconfig
import types
from pathlib import Path
from typing import Any, NamedTuple

from ..steps import Step

_HOUSE = str(Path(__file__).parents[1]) + os.sep
_GALLERY = os.path.join(_HOUSE, "sim", "gallery") + os.sep
_RECIPES = os.path.join(_HOUSE, "recipes") + os.sep
_LIBRARIES = (
    _HOUSE,
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")),
    "<string>",  # the methods that dataclasses make
    "<frozen",
)
_HOUSES, _EXHIBIT, _OWN = range(3)  # how near code is to whoever reads the story


class CodeLine(NamedTuple):
    """A line of code: `answer.py:12 in acquire`. The greater `nearness`, the more it helps."""

    nearness: int
    text: str


NOWHERE = CodeLine(-1, "")
_places: dict[tuple[types.CodeType, int], CodeLine] = {}
_nearness: dict[types.CodeType, int] = {}


def _near(code: types.CodeType) -> int:
    known = _nearness.get(code)
    if known is None:
        file = code.co_filename
        known = _EXHIBIT if file.startswith(_GALLERY) else _HOUSES
        if not file.startswith(_LIBRARIES):
            known = _OWN
        _nearness[code] = known
    return known


def _place(code: types.CodeType, line: int) -> CodeLine:
    known = _places.get((code, line))
    if known is None:
        path = Path(code.co_filename)
        file = "cell" if path.parent.name.startswith("ipykernel_") else path.name
        text = f"{file}:{line} in {code.co_name}"
        known = _places[code, line] = CodeLine(_near(code), text)
    return known


def nearest(generators: list[Any], outside: CodeLine) -> CodeLine:
    """The line to show of suspended generators, the innermost last, which run inside a script that
    stands `outside`."""
    best, near = None, outside.nearness
    for each in reversed(generators):
        code = each.gi_code
        if _near(code) > near or (best is None and _near(code) == near):
            best, near = each, _near(code)
    if best is None or best.gi_frame is None:
        return outside
    return _place(best.gi_code, best.gi_frame.f_lineno)


def raised_at(error: BaseException, outside: CodeLine) -> CodeLine:
    """The line to show of where an error was raised."""
    found, at = outside, error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if _near(code) >= found.nearness and code is not Step.__iter__.__code__:
            found = _place(code, at.tb_lineno)
        at = at.tb_next
    cause = error.__cause__
    # Python makes another error of it, which begins outside the generator that raised it.
    of_next = isinstance(error, RuntimeError) and isinstance(cause, StopIteration)
    return raised_at(cause, found) if of_next and cause is not None else found


def is_of_a_recipe(code: types.CodeType) -> bool:
    """Whether this is code of a recipe of zkkit's own."""
    return code.co_filename.startswith(_RECIPES)


def line_of(where: str) -> str:
    """The file and the line of a place: `answer.py:12`."""
    return where.partition(" in ")[0]


def script_at(where: str) -> str:
    """A place as the name of its script, with file and line behind it: `acquire (answer.py:12)`."""
    line, _, name = where.partition(" in ")
    return f"{name} ({line})" if name else where


def hint(where: str, room: int = 3) -> str:
    """A place as it stands behind words."""
    return f"{' ' * room}[{line_of(where)}]" if where else ""
