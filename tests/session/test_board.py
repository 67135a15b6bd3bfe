"""The board of the process: what one session posts, the others find."""

from __future__ import annotations

import zkkit
from zkkit.session.board import Board
from zkkit.steps import Post, Posted


def test_the_last_text_of_each_topic():
    board = Board()
    assert board.posted("/a") is None
    board.post("/a", "1")
    board.post("/b", "2")
    board.post("/a", "3")
    assert (board.posted("/a"), board.posted("/b")) == ("3", "2")


def test_it_never_grows_beyond_its_room():
    """It forgets, but never what was posted last; and a topic that is there needs no more room."""
    board = Board(room=3)
    for number in range(100):
        board.post(f"/{number}", "x")
        assert board.posted(f"/{number}") == "x"
        assert len(board._texts) <= 3
    kept = dict(board._texts)
    for _ in range(10):
        board.post(next(iter(kept)), "y")
    assert set(board._texts) == set(kept)


def test_all_sessions_of_a_process_share_it(zk_hosts, zk_path):
    """Also those below another namespace: whoever posts sees to it that it fits nobody else."""
    with (
        zkkit.connect(zk_hosts) as one,
        zkkit.connect(zk_hosts, namespace=zk_path.lstrip("/")) as other,
    ):
        one.run(iter(Post(zk_path, "here")))
        assert other.run(iter(Posted(zk_path))) == "here"
