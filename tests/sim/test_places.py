"""Places in code: the line that helps whoever wrote the script."""

from __future__ import annotations

import json

import pytest

from zkkit.recipes.shared import until_answered
from zkkit.sim.gallery.counters import Adds
from zkkit.sim.places import NOWHERE, CodeLine, hint, line_of, nearest, raised_at, script_at
from zkkit.steps import Exists


def stack(outermost):
    """The generators that a suspended one stands in, the innermost last."""
    found = [outermost]
    while getattr(found[-1].gi_yieldfrom, "gi_yieldfrom", None) is not None:
        found.append(found[-1].gi_yieldfrom)
    return found


def begun(script):
    next(script)
    return script


def outer():
    yield from inner()


def inner():
    yield from until_answered(Exists("/x"))


def test_the_innermost_line_of_ones_own():
    """Not that of zkkit's script, nor the outermost."""
    line = inner.__code__.co_firstlineno + 1
    assert nearest(stack(begun(outer())), NOWHERE).text == f"test_places.py:{line} in inner"


def test_where_all_is_zkkits_the_innermost():
    """A recipe explored by itself."""
    assert nearest([begun(until_answered(Exists("/x")))], NOWHERE).text.startswith("shared.py:")


def test_a_twin_of_the_gallery_comes_before_what_it_calls():
    """The mistake is there."""
    twin = begun(Adds("/n").life())
    helper = begun(until_answered(Exists("/x")))
    assert nearest([twin, helper], NOWHERE).text.startswith("counters.py:")


def test_a_script_inside_a_deadline_stands_in_the_one_outside():
    """Where only that is one's own."""
    helper = begun(until_answered(Exists("/x")))
    mine = nearest([begun(outer())], NOWHERE)
    assert nearest([helper], mine) == mine
    assert nearest([begun(inner())], mine).text.endswith("in inner")


def test_an_error_in_a_library_has_the_line_that_called_it():
    """Not a line of the library."""
    try:
        json.loads("no json")
    except ValueError as error:
        line = error.__traceback__.tb_lineno
        assert raised_at(error, NOWHERE).text.startswith(f"test_places.py:{line} in test_an_error")


def takes_the_first_of_none():
    yield 1
    next(iter(()))


def calls_it():
    yield from takes_the_first_of_none()


def test_a_stop_iteration_has_the_line_that_raised_it():
    """Python makes a RuntimeError of it, with a line of whoever ran the script."""
    line = takes_the_first_of_none.__code__.co_firstlineno + 2
    for script in (takes_the_first_of_none, calls_it):
        generator = begun(script())
        with pytest.raises(RuntimeError) as raised:
            next(generator)
        where = raised_at(raised.value, NOWHERE).text
        assert where == f"test_places.py:{line} in takes_the_first_of_none"


def test_in_a_notebook_it_is_a_cell():
    """The name of the file that Jupyter makes up says nothing."""
    code = "def script():\n    yield 1\n"
    room: dict = {}
    exec(compile(code, "/tmp/ipykernel_77/1234567.py", "exec"), room)
    assert nearest([begun(room["script"]())], NOWHERE).text == "cell:2 in script"


def test_a_place_in_words():
    """File and line; nothing where there is none."""
    where = CodeLine(2, "answer.py:12 in acquire").text
    assert line_of(where) == "answer.py:12"
    assert script_at(where) == "acquire (answer.py:12)" and script_at("") == ""
    assert hint(where) == "   [answer.py:12]" and hint("") == ""
