"""Errors: one family, equal by value, with a way out in the text."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from zkkit import errors
from zkkit.errors import (
    CONNECTION_LOSS_CODES,
    SESSION_OVER_CODES,
    BadVersion,
    Cancelled,
    ConnectionLost,
    DeadlineExceeded,
    InvalidPath,
    MultiFailed,
    NodeExists,
    NoNode,
    NotAStep,
    ServerError,
    SessionClosed,
    SessionLost,
    TimedOut,
    TooLarge,
    UnknownServerError,
    ZkkitError,
    server_error,
)


def subclasses(kind: type[ZkkitError]) -> Iterator[type[ZkkitError]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def example(kind: type[ZkkitError]) -> ZkkitError:
    if kind is MultiFailed:
        return MultiFailed((None, NoNode("/a")))
    if kind is TooLarge:
        return TooLarge(2_000_000, 1_000_000, "/a")
    if kind is UnknownServerError:
        return UnknownServerError(-99, "/a")
    if issubclass(kind, ServerError):
        return kind("/a", hint="do this")
    return kind("it failed", path="/a", hint="do this")


IN_ERRORS = [kind for kind in subclasses(ZkkitError) if kind.__module__ == errors.__name__]
REFUSALS = [
    kind
    for kind in subclasses(ServerError)
    if kind.__module__ == errors.__name__ and kind is not UnknownServerError
]


@pytest.mark.parametrize("kind", IN_ERRORS)
def test_every_error_carries_its_path(kind: type[ZkkitError]) -> None:
    """Whoever catches a ZkkitError finds the node it speaks of."""
    assert example(kind).path == "/a"


@pytest.mark.parametrize("kind", IN_ERRORS)
def test_errors_are_equal_by_value(kind: type[ZkkitError]) -> None:
    """Two errors of one kind about one thing are equal and hash alike, but differ from others."""
    one, two = example(kind), example(kind)
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert one != ZkkitError("another", path="/a")
    assert one != "it failed"


@pytest.mark.parametrize("kind", IN_ERRORS)
@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
def test_errors_can_be_copied(kind: type[ZkkitError], how: str) -> None:
    """An error comes whole through a copy, or out of another process."""
    error = example(kind)
    clone = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda each: pickle.loads(pickle.dumps(each)),
    }[how](error)
    assert clone == error
    assert str(clone) == str(error)
    assert clone.hint == error.hint


def test_kind_and_path_are_part_of_the_value() -> None:
    """The same words about another node, or in another class, are another error."""
    assert NoNode("/a") != NoNode("/b")
    assert NoNode("/a") != NodeExists("/a")
    assert ConnectionLost("x", path="/a") != ConnectionLost("x", path="/b")
    assert SessionLost("x") != SessionClosed("x")


def test_hint_is_shown() -> None:
    """The text says what to do, on a line of its own."""
    assert str(ZkkitError("it failed", hint="do this")) == "it failed\n  What to do: do this"
    assert str(ZkkitError("it failed")) == "it failed"


def test_server_errors_name_the_node() -> None:
    """The text of a refusal says which node."""
    assert str(NoNode("/a")) == "no such node: /a"
    assert str(NoNode()) == "no such node"


@pytest.mark.parametrize("kind", REFUSALS)
def test_every_code_maps_back(kind: type[ServerError]) -> None:
    """A code of the server becomes the error that has it."""
    error = server_error(kind.code, "/a")
    assert type(error) is kind
    assert error.path == "/a"


def test_codes_are_unique() -> None:
    """No two errors claim one code, nor one that means a lost connection or session."""
    codes = [kind.code for kind in REFUSALS]
    assert len(codes) == len(set(codes))
    assert not set(codes) & (CONNECTION_LOSS_CODES | SESSION_OVER_CODES)


def test_unknown_code_is_kept() -> None:
    """A code nobody knows is still told."""
    error = server_error(-99, "/a")
    assert isinstance(error, UnknownServerError)
    assert error.number == -99
    assert "-99" in str(error)
    assert "/a" in str(error)


def test_multi_failed_points_at_the_culprit() -> None:
    """Index, error and path are those of the first operation that failed."""
    failed = MultiFailed((None, BadVersion("/b"), None))
    assert (failed.index, failed.error, failed.path) == (1, BadVersion("/b"), "/b")
    assert "operation 1" in str(failed)


def test_cancelled_is_no_exception() -> None:
    """`except Exception` in a script must not swallow it."""
    assert not issubclass(Cancelled, Exception)
    assert Cancelled() == Cancelled()
    assert hash(Cancelled()) == hash(Cancelled())
    assert Cancelled() != TimedOut("late")


def test_standard_bases() -> None:
    """Who knows only Python's own exceptions can catch these."""
    assert issubclass(DeadlineExceeded, TimeoutError)
    assert issubclass(InvalidPath, ValueError)
    assert issubclass(NotAStep, TypeError)
    assert issubclass(SessionClosed, SessionLost)
    assert not issubclass(TimedOut, TimeoutError)
