"""What a cache knows, alone: whatever is read in whatever order, the events add up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zkkit.recipes.caches.content import NOTHING, CachedNode, EventKind, Known, Memory
from zkkit.steps import Stat


def node(path: str, czxid: int, mzxid: int = 0, pzxid: int = 0, **stat: int) -> CachedNode:
    known = Stat(czxid, mzxid or czxid, 0, 0, 0, 0, 0, 0, 0, 0, pzxid or czxid)
    return CachedNode(path, b"", known._replace(**stat))


def after(known: Known, *seen: CachedNode | str) -> tuple[Known, list[tuple[str, str]]]:
    """What is known when these were read (a path: nothing was there), and what is told."""
    read = {each if isinstance(each, str) else each.path: each for each in seen}
    known, events, _ = known.after({p: None if isinstance(n, str) else n for p, n in read.items()})
    return known, [(event.kind.value, event.path) for event in events]


def test_a_life():
    known, told = after(NOTHING, node("/a", 1))
    assert told == [("created", "/a")]
    known, told = after(known, node("/a", 1, 2))
    assert told == [("changed", "/a")]
    known, told = after(known, "/a")
    assert told == [("deleted", "/a")] and not known.nodes


def test_nothing_new():
    """The same again, or something older, is not told, and changes nothing."""
    known, _ = after(NOTHING, node("/a", 5, 7))
    for old in (node("/a", 5, 7), node("/a", 5, 6), node("/a", 3, 4)):
        assert after(known, old) == (known, [])
    assert after(NOTHING, "/a") == (NOTHING, [])


def test_a_newer_stat():
    """What its children or its ACL have changed is taken over and not told, and never goes back."""
    known, _ = after(NOTHING, first := node("/a", 5, 7))
    for newer in (
        node("/a", 5, 7, 8, cversion=1, children=1),
        node("/a", 5, 7, 9, cversion=2),
        node("/a", 5, 7, 9, cversion=2, aversion=1),
    ):
        known, events, touched = known.after({"/a": newer})
        assert (known.nodes, events, touched) == ({"/a": newer}, [], [newer])
        assert known.after({"/a": first}) == (known, [], [])
        first = newer


def test_another_czxid_is_another_node():
    """Though its version is the same."""
    known, _ = after(NOTHING, node("/a", 1, version=0))
    known, told = after(known, node("/a", 2, version=0))
    assert told == [("deleted", "/a"), ("created", "/a")]


def test_in_order():
    """Deletions from below, then creations and changes as the servers did them."""
    known, told = after(NOTHING, node("/a/b/c", 3), node("/a", 1, 9), node("/a/b", 2))
    assert [path for _, path in told] == ["/a", "/a/b", "/a/b/c"]
    known, told = after(known, "/a", node("/d", 12), node("/e", 11), "/a/b/c", "/a/b")
    assert told == [
        ("deleted", "/a/b/c"), ("deleted", "/a/b"), ("deleted", "/a"),
        ("created", "/e"), ("created", "/d"),
    ]  # fmt: skip


def test_the_rest_is_gone():
    known, _ = after(NOTHING, node("/a", 1), node("/b", 2))
    assert known.without(["/b", "/c"]) == {"/a": None}


def test_it_is_never_changed():
    """Who has what was known before has it still."""
    before, _ = after(NOTHING, node("/a", 1))
    after(before, "/a", node("/b", 2))
    assert list(before.nodes) == ["/a"] and not NOTHING.nodes


PATHS = st.sampled_from(["/a", "/a/b", "/c"])
ZXIDS = st.tuples(st.integers(1, 8), st.integers(0, 3), st.integers(0, 3))
READ = st.dictionaries(PATHS, st.none() | ZXIDS, max_size=3)


@given(st.lists(READ, max_size=8))
def test_events_add_up(reads):
    """Each event follows from the ones before; a node's zxids only grow while it is there."""
    known, total, memory = NOTHING, {}, Memory()
    for read in reads:
        seen = {p: node(p, c[0], c[0] + c[1], c[0] + c[2]) if c else None for p, c in read.items()}
        known, events, touched = known.after(seen)
        for each in touched:
            assert total[each.path].stat < each.stat
            total[each.path] = each
            memory.put(each)
        for event in events:
            assert total.get(event.path) == event.old
            if event.kind is EventKind.CHANGED:
                assert event.old.stat.czxid == event.new.stat.czxid
                assert event.old.stat.mzxid < event.new.stat.mzxid
            if event.new is None:
                del total[event.path]
                memory.remove(event.path)
            else:
                total[event.path] = event.new
                memory.put(event.new)
        assert total == known.nodes == {each.path: each for each in memory.nodes()}
        for path, each in seen.items():
            if each is None:
                assert path not in total
            else:
                assert total[path].stat >= each.stat


def test_memory():
    """By path, by parent, in all; removing twice is harmless."""
    memory = Memory()
    for path in ("/", "/a", "/a/b", "/a/c"):
        memory.put(node(path, 1))
    assert len(memory) == 4 and memory.get("/a/b") == node("/a/b", 1)
    assert sorted(memory.children("/a")) == ["b", "c"] and sorted(memory.children("/")) == ["a"]
    children = memory.children("/a")
    for _ in range(2):
        memory.remove("/a/b")
        memory.remove("/a/c")
    assert sorted(children) == ["b", "c"]  # what somebody reads does not change under them
    assert memory.children("/a") == {} and memory.get("/a/b") is None
    memory.clear()
    assert not len(memory) and not list(memory.nodes())
