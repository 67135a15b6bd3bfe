"""docs/testing.md says what there is. (tests/packaging runs its listings.)"""

from __future__ import annotations

from pathlib import Path

import zkkit.testing
from zkkit.testing import fixtures

TEXT = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")


def test_it_names_all_that_there_is() -> None:
    """Every public name and every fixture; a Countdown and a Loss are what `when` and a proxy
    give."""
    names = {*zkkit.testing.__all__} - {"Countdown", "Loss"}
    names |= {name for name in vars(fixtures) if name.startswith("zk_")}
    assert [name for name in sorted(names) if f"`{name}" not in TEXT] == []
