"""The picture of where zkkit's CPU time goes."""

from __future__ import annotations

from zkkit.bench.kit import ground
from zkkit.bench.locks.figures import LocksResults
from zkkit.bench.locks.words import layers_name, layers_title
from zkkit.bench.peers import picture
from zkkit.bench.peers.layers import LAYERS


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
