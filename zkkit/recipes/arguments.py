"""Arguments that make no sense: refused at the call, by a sentence that says what is wanted.

Otherwise they would end in a wait that never ends, or in an AttributeError somewhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..steps import Check, Create, Delete, Set


def check_blocking(given: object) -> None:
    """`acquire(2)` does not mean two seconds."""
    if not isinstance(given, bool):
        raise ValueError(
            f"blocking must be True or False, not {given!r}; a deadline is given as timeout=seconds"
        )


def check_flag(name: str, given: object) -> None:
    """What is on or off."""
    if not isinstance(given, bool):
        raise ValueError(f"{name} must be True or False, not {given!r}")


def check_count(name: str, given: object, *, other: str = "") -> None:
    """How many of something: at least one. `other`: what else could have been given."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError(f"{name} must be a whole number of at least one{other}, not {given!r}")


def check_choice(name: str, given: object, choices: Sequence[str]) -> None:
    """One of these words."""
    if given not in tuple(choices):
        raise ValueError(f"there is no {name} {given!r}: use one of {', '.join(choices)}")


def check_data(given: object) -> None:
    """What a recipe is to write into its nodes."""
    if given is not None and not isinstance(given, bytes):
        raise ValueError(f"node_data must be bytes, not {given!r}; encode text first")


def check_callable(name: str, given: object) -> None:
    """What is to be called later."""
    if not callable(given):
        raise ValueError(f"{name} must be something that can be called, not {given!r}")


def check_ops(given: Sequence[object]) -> None:
    """What a transaction is to apply."""
    for op in given:
        if not isinstance(op, Create | Delete | Set | Check):
            raise ValueError(f"a transaction takes Create, Delete, Set and Check, not {op!r}")
