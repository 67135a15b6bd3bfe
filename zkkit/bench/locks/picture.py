"""The pictures of how fast locks are: zkkit's rate over each other peer's, with intervals; where
zkkit's CPU time goes."""

from __future__ import annotations

from zkkit.bench.kit import ground
from zkkit.bench.locks.figures import LocksResults
from zkkit.bench.locks.words import layers_name, layers_title, ratio_rows, title
from zkkit.bench.peers import picture
from zkkit.bench.peers.layers import LAYERS


def ratios_png(results: LocksResults) -> bytes:
    """Ratios with their intervals, a line for each row."""
    return picture.ratios_png(
        results,
        ratio_rows(results),
        title=title(results),
        axis="zkkit's rate over the other's (as fast: 1; to the right zkkit is faster)",
    )


def layers_png(results: LocksResults) -> bytes:
    """A bar for each profiled run, its layers side by side."""
    return picture.shares_png(
        [(layers_name(one), one.shares()) for one in results.layers],
        LAYERS,
        title=layers_title(results),
        footer="A mutex, acquired and released, in runs under a profile whose cost is taken off.\n"
        f"{ground.briefly(results.head)}, {ground.data(results.head)}.",
        axis="share of zkkit's CPU time",
    )
