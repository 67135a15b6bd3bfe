"""The table of watches where no server at hand answers like that."""

from __future__ import annotations

import pytest

from zkkit.kernel import WatchKey, WatchKind
from zkkit.session.watches import WatchTable

DATA, CHILD = WatchKey(WatchKind.DATA, "/a"), WatchKey(WatchKind.CHILD, "/a")
LASTING, RECURSIVE = WatchKey(WatchKind.PERSISTENT, "/a"), WatchKey(WatchKind.RECURSIVE, "/a")


@pytest.fixture
def removed() -> list[WatchKey]:
    return []


@pytest.fixture
def table(removed: list[WatchKey]) -> WatchTable[str]:
    return WatchTable(removed.append, lambda key: None)


@pytest.mark.parametrize("lasting", [LASTING, RECURSIVE])
@pytest.mark.parametrize("one_shot", [DATA, CHILD])
def test_a_refused_persistent_watch(
    table: WatchTable[str], lasting: WatchKey, one_shot: WatchKey, removed: list[WatchKey]
) -> None:
    """A server without persistent watches: whoever relied on one, before or after the refusal was
    known, is told to look again, and then asks for a watch of its own."""
    assert table.asked(lasting) == lasting
    assert table.asked(one_shot) is None
    assert table.answered(lasting, "listener", was_set=False) == []
    assert table.asked(one_shot) == one_shot
    assert table.answered(one_shot, "looker", was_set=True) == ["looker"]
    assert table.answered(one_shot, "another", was_set=True) == ["another"]
    assert table.asked(one_shot) == one_shot
    assert table.answered(one_shot, "looker", was_set=True) == []
    assert removed == []


def test_a_refusal_beside_a_watch_that_is_there(table: WatchTable[str]) -> None:
    """One refused persistent watch is no concern of those who rely on another."""
    table.asked(LASTING)
    table.answered(LASTING, "listener", was_set=True)
    assert table.asked(DATA) is None
    assert table.answered(DATA, "looker", was_set=True) == []
    table.asked(RECURSIVE)
    assert table.answered(RECURSIVE, "another", was_set=False) == []
