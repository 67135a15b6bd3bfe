"""The picture of how fast the connection is: how much faster than kazoo, with intervals."""

from __future__ import annotations

from zkkit.bench.connection.figures import ConnectionResults
from zkkit.bench.connection.words import ratio_rows, title
from zkkit.bench.peers import picture


def ratios_png(results: ConnectionResults) -> bytes:
    """Ratios with their intervals, a line for each row, and what is asked."""
    return picture.ratios_png(
        results,
        ratio_rows(results),
        title=title(results),
        axis="how much faster than kazoo (as fast: 1; to the right kazoo is slower)",
        label=lambda peer: f"{peer} : kazoo",
        asked={f.row.name: f.row.asked for f in results.figures if f.row.asked is not None},
    )
