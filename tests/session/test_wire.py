"""Names as they come over the wire."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zkkit.session.wire import Wire
from zkkit.steps import OPEN_ACL, Acl, Check, Children, Create, Delete, Mode, Multi, Set

LIKE_A_TEXT: Any = "world"
SENSELESS: list[tuple[str, Any]] = [
    *[
        (r"^/a: version must be .* not", op)
        for version in ("1", None, 2.5, 1 << 31)
        for op in (Set("/a", b"", version), Delete("/a", version), Check("/a", version))  # type: ignore[arg-type]
    ],
    *[
        (r"^/a: ttl_ms must be .* not", Create("/a", b"", Mode.PERSISTENT_TTL, None, ttl_ms))  # type: ignore[arg-type]
        for ttl_ms in ("5", 2.5, 1 << 70)
    ],
    *[
        (r"^acl must be a list of Acl\(", Create("/a", b"", Mode.PERSISTENT, acl))
        for acl in (LIKE_A_TEXT, (1,), 5, (Acl(LIKE_A_TEXT, "world", "anyone"),))
    ],
]


@pytest.mark.parametrize("in_multi", [False, True], ids=["alone", "in a multi"])
@pytest.mark.parametrize(("why", "op"), SENSELESS)
def test_fields_that_make_no_sense(why: str, op: Any, in_multi: bool) -> None:
    """What cannot be written is named, with its path."""
    with pytest.raises(ValueError, match=why):
        Wire("", OPEN_ACL).encode(Multi((Create("/b"), op)) if in_multi else op)


HEADER = b"the header of the reply"
NAME = st.text("ab0-é羊\x7f", min_size=1, max_size=70)
ALIKE = st.integers(1, 140).flatmap(
    lambda size: st.lists(st.text("ab0-", min_size=size, max_size=size), max_size=5)
)


def listing(names: Sequence[bytes]) -> bytes:
    """A list of children as a server sends it."""
    return struct.pack(">i", len(names)) + b"".join(
        struct.pack(">i", len(name)) + name for name in names
    )


def decoded(body: bytes) -> tuple[str, ...]:
    """What a session makes of it."""
    _, _, decode = Wire("", OPEN_ACL).encode(Children("/a"))
    names: tuple[str, ...] = decode(HEADER + body, len(HEADER))
    return names


@given(st.lists(NAME) | ALIKE)
@example(["a" * 127, "b" * 127])
@example(["a" * 128, "b" * 128])
@example(["羊羊", "ab0-éx"[:5]])
def test_names_come_back_as_they_were_sent(names: list[str]) -> None:
    """In their order, be they of one length or not, short or long, ASCII or not."""
    assert decoded(listing([name.encode() for name in names])) == tuple(names)


@pytest.mark.parametrize("names", [["a"], ["aa", "bb"], ["a", "bbb"], ["abc", "d", "ef"]])
def test_what_comes_after_the_listing_is_no_name(names: list[str]) -> None:
    """The listing says where it ends, not what it came in."""
    body = listing([name.encode() for name in names])
    for more in (b"x", b"\x00\x00\x00\x01z", b"\x00\x00\x00\x02zz", bytes(6)):
        assert decoded(body + more) == tuple(names)


@given(st.lists(st.binary(min_size=1, max_size=3).map(lambda name: name.replace(b"\0", b"~"))))
def test_names_that_are_no_text(names: list[bytes]) -> None:
    """They are refused, as each of them would be by itself."""
    try:
        expected = tuple(name.decode() for name in names)
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            decoded(listing(names))
    else:
        assert decoded(listing(names)) == expected
