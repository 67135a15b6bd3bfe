"""The shop: what oversells does so for certain, what does not never does."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass

import pytest

import zkkit
from zkkit.bench.shop import run as oversell
from zkkit.bench.shop.run import Sale, ShopFailed, sell

# Long enough that a process which is late by a few hundred milliseconds still meets the others:
# ten items one after the other take longer than that.
PAUSE = 0.05


@dataclass(frozen=True)
class Unknown:
    """An order that no process of buyers understands."""

    hosts: str
    stock: str
    lock: str
    way: str
    buyers: int
    pause: float
    colour: str = "red"


def shop(hosts: str, way: str, *, items: int = 10) -> Sale:
    return sell(hosts, way, items=items, buyers=24, processes=3, pause=PAUSE)


def test_without_a_lock_the_shop_oversells(zk_hosts: str) -> None:
    """Buyers who all look before one has paid all buy."""
    sale = shop(zk_hosts, "none")
    assert sale.oversold == sale.sold - 10 > 0


def test_a_lock_in_each_process_oversells(zk_hosts: str) -> None:
    """A threading.Lock does not keep the buyers of two processes apart."""
    assert shop(zk_hosts, "in-process").oversold > 0


def test_a_lock_in_the_only_process_is_enough(zk_hosts: str) -> None:
    """With one process the threading.Lock sells exactly what is there."""
    sale = sell(zk_hosts, "in-process", items=3, buyers=6, processes=1, pause=0.01)
    assert (sale.sold, sale.oversold, sale.left) == (3, 0, 0)


@pytest.mark.parametrize("way", [pytest.param("herd", marks=pytest.mark.slow), "sequential"])
def test_a_lock_on_zookeeper_never_oversells(zk_hosts: str, way: str) -> None:
    """Across processes exactly the stock is sold, and the shelf is empty."""
    sale = shop(zk_hosts, way, items=7)
    assert (sale.sold, sale.oversold, sale.left) == (7, 0, 0)
    assert 7 * PAUSE < sale.last_sale_s <= sale.served_s


@pytest.mark.slow  # the law itself is shown by test_law.py
def test_the_herd_fires_more_than_the_queue(zk_hosts: str) -> None:
    """By the servers' own count: 23 wait behind the first buyer, and each design keeps its law."""
    herd, queue = (shop(zk_hosts, way, items=24).fires for way in ("herd", "sequential"))
    assert herd is not None
    assert queue is not None
    assert queue <= 23 < herd <= 23 * 24 // 2


def test_nothing_is_left_behind(zk_hosts: str) -> None:
    """Neither nodes nor processes outlive the shop."""
    shop(zk_hosts, "sequential", items=1)
    with zkkit.connect(zk_hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]


def test_a_process_that_fails_is_told(zk_hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buyers that die give an error with their last words, not a result."""
    monkeypatch.setattr(oversell, "_Order", Unknown)
    with pytest.raises(ShopFailed, match="unexpected keyword argument"):
        shop(zk_hosts, "none")


def test_a_process_that_hangs_is_ended(zk_hosts: str) -> None:
    """When patience is over the buyers are ended, and the shop has failed."""
    with pytest.raises(ShopFailed, match="ended before"):
        sell(zk_hosts, "sequential", items=10, buyers=2, processes=1, pause=60, patience=2)


def test_a_process_whose_shop_is_gone_ends(zk_hosts: str) -> None:
    """Buyers whose parent has died do not wait for it for ever."""
    order = oversell._Order(zk_hosts, "/nothing", "/nothing", "none", 1, 0.0)
    ended = subprocess.run(
        [sys.executable, "-m", "zkkit.bench.shop.run", json.dumps(asdict(order))],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.returncode == 1
    assert "closed before it opened" in ended.stderr


@pytest.mark.parametrize(
    ("way", "processes"), [("hope", 1), ("none", 0), ("none", 9)], ids=["way", "no process", "many"]
)
def test_a_shop_that_cannot_be(way: str, processes: int) -> None:
    """Unknown ways and impossible numbers are refused before anything is started."""
    with pytest.raises(ValueError, match=r"ways|spread"):
        sell("127.0.0.1:1", way, buyers=8, processes=processes)
