"""What is particular about the tests of locks."""

from __future__ import annotations

import pytest

from tests.locks.kinds import DIRECTORIES


@pytest.fixture
def directories() -> frozenset[str]:
    return DIRECTORIES
