"""What the flags, and the fields of the web page, accept."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from typing import Any

import pytest

from loadtests.experiment import order
from loadtests.options import LoadOptions, WrongOption, ensemble


def given(**changes: Any) -> Namespace:
    """locust's options, as they are when nothing but -u 7 was said."""
    usual = {
        "design": "herd",
        "host": None,
        "ensemble": None,
        "hold_ms": 5.0,
        "steps": "",
        "path": "",
        "results": "results",
        "num_users": 7,
        "run_time": None,
        "spawn_rate": None,
    }
    return Namespace(**{**usual, **changes})


@pytest.mark.parametrize("value", ["auto", "docker", "local", "zk1:2181,zk2:2181", "127.0.0.1:9/x"])
def test_an_ensemble_is_a_kind_or_a_list_of_servers(value: str) -> None:
    """Our own servers are named by a word, others by any connect string with ports."""
    assert ensemble(value) == value


@pytest.mark.parametrize("value", ["locall", "", "zk1:port", "zk1:2181,zk2", "http://zk1:2181"])
def test_a_misspelt_ensemble_is_no_host(value: str) -> None:
    """A word without a port is a slip of the pen and not the name of a server."""
    with pytest.raises(ArgumentTypeError):
        ensemble(value)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, "auto"),
        ({"ensemble": "local"}, "local"),
        ({"host": "zk1:2181"}, "zk1:2181"),
        ({"host": " zk1:2181 ", "ensemble": "local"}, "zk1:2181"),
        ({"host": "", "ensemble": "local"}, "local"),
    ],
)
def test_the_host_of_the_page_names_the_servers(changes: dict[str, str], where: str) -> None:
    """What the field Host says is taken; empty, what the command line said; else our own."""
    assert LoadOptions.of(given(**changes)).ensemble == where


def test_users_are_one_step_without_an_end() -> None:
    """Plain -u gives one step, held until somebody stops it."""
    wanted = LoadOptions.of(given())
    assert (wanted.steps, wanted.seconds) == ((7,), None)


def test_several_steps_have_a_time_even_if_none_was_said() -> None:
    """With two steps the first must end, or the second would never come."""
    wanted = LoadOptions.of(given(steps="2, 4"))
    assert wanted.steps == (2, 4) and wanted.seconds is not None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"design": "queue"}, "queue"),
        ({"design": "rw"}, "no design 'rw'"),
        ({"ensemble": "dokker"}, "dokker"),
        ({"host": "http://zk1"}, "http://zk1"),
        ({"hold_ms": -1.0}, "-1.0"),
        ({"steps": "2,x"}, "2,x"),
        ({"num_users": 5000}, "5000"),
        ({"path": "no/slash"}, "no/slash"),
    ],
)
def test_what_the_page_sends_is_checked_too(changes: dict[str, Any], word: str) -> None:
    """locust does not check a form's fields; we do, and the sentence names the wrong value."""
    with pytest.raises(WrongOption, match=word):
        LoadOptions.of(given(**changes))


def test_the_command_asks_for_the_same_again() -> None:
    """The command in a report has all that mattered to the run."""
    command = LoadOptions.of(given(steps="2,4", run_time=9, host="zk1:2181")).command
    assert "--design herd" in command and "--steps 2,4" in command
    assert "-H zk1:2181" in command and "-t 9" in command


def test_a_comparison_runs_in_abba_order() -> None:
    """Neither design is always first: what grows warmer in time favours none."""
    assert order(2) == ["herd", "sequential", "sequential", "herd"]
