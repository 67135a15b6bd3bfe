"""The picture of how fast the connection is: how much faster than kazoo, with intervals."""

from __future__ import annotations

from zkkit.bench.connection.figures import ConnectionResults
from zkkit.bench.connection.words import title
from zkkit.bench.peers import picture


def ratios_png(results: ConnectionResults) -> bytes:
    """Ratios with their intervals, a line for each row, and what is asked."""
    return picture.ratios_png(
        [(figure.row.name, figure.ratios) for figure in results.figures],
        title=title(results),
        footer=picture.footer(results.head, results.plan, results.versions),
        axis="how much faster than kazoo (as fast: 1; to the right kazoo is slower)",
        label=lambda peer: f"{peer} : kazoo",
        asked={f.row.name: f.row.asked for f in results.figures if f.row.asked is not None},
    )
