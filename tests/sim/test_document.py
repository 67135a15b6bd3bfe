"""The first example of docs/simulator.md says what it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


def test_the_first_example_prints_what_it_says() -> None:
    """Run as it stands, it prints the line in its last comment; … is a number that depends on the
    version and on the machine."""
    found = re.search(
        r"```python\n(.*?\(verdict\) +# (.*?)\n)```", DOCUMENT.read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    code, said = found.groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert re.fullmatch(re.escape(said).replace("…", r"[\d,.]+") + "\n", printed.getvalue())
