"""What is particular about the tests of caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.caches.kinds import Kind, content, tree
from zkkit.testing import eventually


@pytest.fixture
def agrees(witness: Any) -> Callable[..., None]:
    """`agrees(kind, cache)`: it comes to have what the servers have."""

    def check(kind: Kind, cache: Any, seconds: float = 20.0) -> None:
        there = kind.part(tree(witness, cache.path), cache.path)
        eventually(
            lambda: content(cache) == there,
            seconds,
            otherwise=lambda: f"{content(cache)}, and there is {there}",
        )

    return check


@pytest.fixture
def started(front: Any) -> Iterator[Callable[[Any], Any]]:
    """`started(cache)` starts it; all are closed in the end."""
    living: list[Any] = []

    def start(cache: Any) -> Any:
        front.call(lambda: cache.start())
        living.append(cache)
        return cache

    yield start
    for cache in living:
        front.call(lambda cache=cache: cache.close())
