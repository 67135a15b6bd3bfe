"""What the flags, and the fields of the web page, accept."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from loadtests.__main__ import order
from loadtests.options import Ensembles, Wanted, WrongOption


def given(**changes: Any) -> Namespace:
    """locust's options, as they are when nothing but -u 7 was said."""
    usual = {
        "design": "herd",
        "ensemble": "auto",
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
    """The drop-down list's words and any connect string with ports are accepted."""
    assert value in Ensembles()


@pytest.mark.parametrize("value", ["locall", "", "zk1:port", "zk1:2181,zk2"])
def test_a_misspelt_ensemble_is_no_host(value: str) -> None:
    """A word without a port is a slip of the pen and not the name of a server."""
    assert value not in Ensembles()


def test_a_given_connect_string_is_offered_on_the_page() -> None:
    """The drop-down list shows the servers the command line named, beside the three words."""
    choices = Ensembles()
    assert "zk1:2181" in choices
    assert list(choices) == ["auto", "docker", "local", "zk1:2181"]


def test_users_are_one_step_without_an_end() -> None:
    """Plain -u gives one step, held until somebody stops it."""
    wanted = Wanted.of(given())
    assert (wanted.steps, wanted.seconds) == ((7,), None)


def test_several_steps_have_a_time_even_if_none_was_said() -> None:
    """With two steps the first must end, or the second would never come."""
    wanted = Wanted.of(given(steps="2, 4"))
    assert wanted.steps == (2, 4) and wanted.seconds is not None


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"design": "queue"}, "queue"),
        ({"design": "rw"}, "no design 'rw'"),
        ({"ensemble": "dokker"}, "dokker"),
        ({"hold_ms": -1.0}, "-1.0"),
        ({"steps": "2,x"}, "2,x"),
        ({"num_users": 5000}, "5000"),
        ({"path": "no/slash"}, "no/slash"),
    ],
)
def test_what_the_page_sends_is_checked_too(changes: dict[str, Any], word: str) -> None:
    """locust does not check a form's fields; we do, and the sentence names the wrong value."""
    with pytest.raises(WrongOption, match=word):
        Wanted.of(given(**changes))


def test_the_command_asks_for_the_same_again() -> None:
    """The command in a report has all that mattered to the run."""
    command = Wanted.of(given(steps="2,4", run_time=9, ensemble="zk1:2181")).command
    assert "--design herd" in command and "--steps 2,4" in command
    assert "--ensemble zk1:2181" in command and "-t 9" in command


def test_a_comparison_runs_in_abba_order() -> None:
    """Neither design is always first: what grows warmer in time favours none."""
    assert order(2) == ["herd", "sequential", "sequential", "herd"]
