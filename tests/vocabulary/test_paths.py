"""Paths, protected names and sequence numbers."""

from __future__ import annotations

import itertools
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkkit.errors import InvalidPath
from zkkit.paths import (
    guid_of,
    is_guid,
    join,
    levels,
    protected,
    sequence_of,
    serial_distance,
    split,
    validate,
)

INT32 = st.integers(-(2**31), 2**31 - 1)
PART = st.text("abcXYZ019-_.é羊 ", min_size=1).filter(lambda part: part not in (".", ".."))
PATH = st.lists(PART, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    "path", ["/", "/a", "/a/b", "/a.b/..c/d..", "/.../a", "/a b", "/羊群/é", "/_c_-", "/a~"]
)
def test_valid_paths_come_back_unchanged(path: str) -> None:
    """What ZooKeeper takes, `validate` gives back."""
    assert validate(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        ("a", "start with /"),
        ("a/b", "start with /"),
        (" /a", "start with /"),
        ("//", "ends with /"),
        ("/a/", "ends with /"),
        ("//a", "//"),
        ("/a//b", "//"),
        ("/.", "relative"),
        ("/..", "relative"),
        ("/a/./b", "relative"),
        ("/a/../b", "relative"),
        ("/a/..", "relative"),
    ],
)
def test_invalid_shapes_say_why(path: str, why: str) -> None:
    """A malformed path is refused with the reason, the path and a way out."""
    with pytest.raises(InvalidPath, match=why) as caught:
        validate(path)
    assert caught.value.path == path
    assert caught.value.hint


@pytest.mark.parametrize(
    "char",
    [
        *("\x00", "\x01", "\t", "\n", "\x1f", "\x7f", "\x85", "\x9f"),
        *("\ud800", "\udfff", "\ue000", "\uf8ff", "\ufff0", "\uffff"),
    ],
)
def test_forbidden_characters(char: str) -> None:
    """Control characters, surrogates, private use and specials are refused, and named."""
    with pytest.raises(InvalidPath) as caught:
        validate(f"/a{char}b")
    assert repr(char) in str(caught.value)


@pytest.mark.parametrize("char", [" ", "~", "\xa0", "\ud7ff", "\uf900", "\uffef"])
def test_neighbours_of_forbidden_characters_are_fine(char: str) -> None:
    """The forbidden ranges end where Curator's end."""
    assert validate(f"/a{char}b")


@pytest.mark.parametrize("char", ["\U0001f411", "\U00010000", "\U0010ffff"])
def test_characters_beyond_16_bits_are_forbidden(char: str) -> None:
    """A server sees such a character as two surrogates, and refuses those (BadArguments)."""
    with pytest.raises(InvalidPath):
        validate(f"/a{char}b")


def test_exactly_these_characters_are_forbidden() -> None:
    """Of all characters of 16 bits, as Curator's PathUtils has them."""
    refused = [code for code in range(0x1_0000) if not _takes(f"/a{chr(code)}b")]
    private, special = range(0xD800, 0xF900), range(0xFFF0, 0x1_0000)
    assert refused == [*range(0x20), *range(0x7F, 0xA0), *private, *special]


@given(st.lists(st.sampled_from(["/", ".", "a", "-", " ", "é", "\n", "\ue000"])).map("".join))
def test_a_path_is_refused_for_its_parts(path: str) -> None:
    """Valid is the root, or parts that are neither empty nor relative, with a / before each."""
    parts = path.split("/")[1:]
    fine = path.startswith("/") and not {"", ".", ".."}.intersection(parts)
    assert _takes(path) == (path == "/" or (fine and "\n" not in path and "\ue000" not in path))


def _takes(path: str) -> bool:
    try:
        return validate(path) == path
    except InvalidPath as refused:
        assert path in ("", refused.path)
        return False


@pytest.mark.parametrize("path", [None, 1, b"/a", ["/a"]])
def test_no_string_is_no_path(path: object) -> None:
    """Whatever is not a string is refused by its type, not with an AttributeError."""
    with pytest.raises(InvalidPath, match=type(path).__name__) as caught:
        validate(path)  # type: ignore[arg-type]
    assert caught.value.path is None


def test_invalid_path_is_a_value_error() -> None:
    """Callers who know only the standard exceptions can catch it."""
    with pytest.raises(ValueError):
        validate("relative")


@given(PATH)
def test_split_and_join_are_inverse(path: str) -> None:
    """Splitting a path and joining the parts gives the path."""
    assert validate(path) == path
    assert join(*split(path)) == path


@pytest.mark.parametrize(
    ("path", "parts"),
    [("/a", ("/", "a")), ("/a/b", ("/a", "b")), ("/a/b/c", ("/a/b", "c")), ("/", ("/", ""))],
)
def test_split(path: str, parts: tuple[str, str]) -> None:
    """The parent of a top node is the root."""
    assert split(path) == parts


def test_join_below_the_root() -> None:
    """Joining to the root makes no double slash."""
    assert join("/", "a") == "/a"
    assert join("/a", "b") == "/a/b"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/", []), ("/a", ["/a"]), ("/a/b/c", ["/a", "/a/b", "/a/b/c"])],
)
def test_levels(path: str, expected: list[str]) -> None:
    """All prefixes from the top down, without the root."""
    assert list(levels(path)) == expected


@given(PATH)
def test_each_level_is_the_parent_of_the_next(path: str) -> None:
    """The levels form a chain that ends in the path itself."""
    chain = ["/", *levels(path)]
    assert chain[-1] == path
    assert all(split(lower)[0] == upper for upper, lower in itertools.pairwise(chain))


@given(st.uuids(), st.text("abc-_0123456789", max_size=12))
def test_guid_of_a_protected_name(guid: uuid.UUID, name: str) -> None:
    """The guid is found again, whatever name it protects."""
    assert guid_of(protected(str(guid), name)) == str(guid)


@given(st.uuids())
def test_a_guid_and_nothing_else(guid: uuid.UUID) -> None:
    """Names that hold more, or less, are none."""
    assert is_guid(str(guid))
    others = (
        f"{guid}-0",
        f"{guid}\n",
        f"x{guid}",
        str(guid)[1:],
        guid.hex,
        protected(str(guid), ""),
    )
    assert not any(map(is_guid, (*others, "", "ready", "config")))


def test_protected_name_looks_as_curators() -> None:
    """Java and Python must find each other's nodes."""
    guid = "d4a5a5c2-6c9f-4b0e-9b1f-0123456789ab"
    assert protected(guid, "lock-") == f"_c_{guid}-lock-"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_c_",
        "lock-0000000001",
        "_c_short-lock-0000000001",
        "_c_d4a5a5c2-6c9f-4b0e-9b1f-0123456789ab",
        "_c_d4a5a5c2-6c9f-4b0e-9b1f-0123456789abX",
        "x_c_d4a5a5c2-6c9f-4b0e-9b1f-0123456789ab-lock-",
    ],
)
def test_other_names_have_no_guid(name: str) -> None:
    """Names that only look a little like protected ones have no guid."""
    assert guid_of(name) is None


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("lock-0000000000", 0),
        ("lock-0000000042", 42),
        ("lock-2147483647", 2147483647),
        ("lock--000000001", -1),
        ("lock--2147483648", -2147483648),
        ("_c_d4a5a5c2-6c9f-4b0e-9b1f-0123456789ab-lock-0000000007", 7),
        ("lock-lock-0000000003", 3),
    ],
)
def test_sequence_of(name: str, number: int) -> None:
    """The number the server appended, negative ones of a wrapped counter included."""
    assert sequence_of(name, "lock-") == number


@pytest.mark.parametrize(
    "name",
    ["", "lock-", "lock--", "lock---1", "lock-x", "lock-1x", "lock- 1", "lock-+1", "lock-1_0",
     "read-0000000001", "lock"],
)  # fmt: skip
def test_no_sequence(name: str) -> None:
    """A name without the prefix, or with something else after it, has no number; nor has one whose
    number no server can have given."""
    assert sequence_of(name, "lock-") is None


@given(INT32)
def test_sequence_as_the_server_writes_it(number: int) -> None:
    """Java's %010d of any 32-bit number is read back."""
    assert sequence_of(f"lock-{number:010d}", "lock-") == number


@given(INT32, INT32)
def test_distance_is_antisymmetric(a: int, b: int) -> None:
    """Except at exactly half the circle, where neither comes first, a after b is b before a."""
    forth, back = serial_distance(a, b), serial_distance(b, a)
    if forth == -(2**31):
        assert back == forth
    else:
        assert forth == -back


@given(INT32, st.integers(-(2**31) + 1, 2**31 - 1))
def test_distance_is_found_across_the_wrap(start: int, step: int) -> None:
    """Whoever counted `step` further on a signed 32-bit counter is `step` away."""
    end = (start + step + 2**31) % 2**32 - 2**31
    assert serial_distance(end, start) == step


def test_distance_around_the_wrap() -> None:
    """The first number after the wrap comes just after the last one before it."""
    assert serial_distance(-(2**31), 2**31 - 1) == 1
    assert serial_distance(2**31 - 1, -(2**31)) == -1
    assert serial_distance(0, -1) == 1
    assert serial_distance(5, 5) == 0
