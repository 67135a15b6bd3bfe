"""What recording costs an acquire, on real servers."""

from __future__ import annotations

import zkkit
from zkkit.bench.recorder.share import measure


def test_the_share_of_an_acquire(zk_hosts: str) -> None:
    """An uncontended acquire and release gives a fixed number of events; nothing is left."""
    blocks: list[int] = []
    share = measure(zk_hosts, blocks=2, per_block=5, on_block=blocks.append)
    assert blocks == [0, 1]
    assert share.events == int(share.events) >= 4
    assert share.ratio.low <= share.ratio.median <= share.ratio.high
    assert share.share(2_000) == share.events * 2 / share.off_us.median
    with zkkit.connect(zk_hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]
