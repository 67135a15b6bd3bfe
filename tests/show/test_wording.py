"""Numbers and places are said in one way everywhere."""

from __future__ import annotations

import pytest

from zkkit.show.wording import lies, many, milliseconds


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.3456, "0.346"),
        (3.4, "3.40"),
        (9.999, "10.0"),
        (34.56, "34.6"),
        (345.6, "346"),
        (999.6, "1,000"),
        (12345.678, "12,300"),
        (0.0123, "0.012"),
        (0.0, "0"),
    ],
)
def test_milliseconds_have_three_significant_digits(value: float, said: str) -> None:
    """And never more than microseconds, which is what is measured."""
    assert milliseconds(value) == said


def test_one_thing_is_not_many() -> None:
    """1 user, 2 users; 1 watch set, 2 watches set."""
    assert [many(n, "user") for n in (0, 1, 2)] == ["0 users", "1 user", "2 users"]
    assert [many(n, "watch set") for n in (1, 2000)] == ["1 watch set", "2,000 watches set"]


@pytest.mark.parametrize(
    ("medium", "said"),
    [
        ("memory", "in memory"),
        ("disk", "on disk"),
        (
            "unknown (they were there already)",
            "on an unknown medium (they were there already)",
        ),
    ],
)
def test_where_data_lies(medium: str, said: str) -> None:
    """After the word "data": nothing lies on memory."""
    assert lies(medium) == said
