"""The connection without I/O: whatever bytes come, cut wherever, it says what the server said, or
that no server said it."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkkit.session.link import (
    AUTH_XID,
    BODY,
    FIRE_XID,
    LARGEST_FRAME,
    PING_XID,
    Fired,
    Garbled,
    Link,
    Pong,
    Reply,
)
from zkkit.session.opcodes import AUTH, EXISTS, GET, PING
from zkkit.steps import FireKind


def frame(xid: int, zxid: int = 7, error: int = 0, body: bytes = b"") -> bytes:
    """A frame as servers send it."""
    content = struct.pack(">iqi", xid, zxid, error) + body
    return struct.pack(">i", len(content)) + content


def fire(kind: int, path: str) -> bytes:
    raw = path.encode()
    return frame(FIRE_XID, -1, 0, struct.pack(">iii", kind, 3, len(raw)) + raw)


def asking(*names: str) -> Link:
    """A link on which these were asked for, at 1.0, 2.0, ..., and sent."""
    link = Link(0)
    for number, name in enumerate(names, 1):
        link.request(GET, b"body", name, float(number))
    link.sent(len(link.outgoing))
    return link


def brief(heard: list[Any]) -> list[Any]:
    """What was heard, without frames."""
    return [
        (each.what, each.error, each.zxid, each.frame[BODY:]) if isinstance(each, Reply) else each
        for each in heard
    ]


# --- out ------------------------------------------------------------------------------------------


def test_a_request_on_the_wire() -> None:
    """Its length, its number, its kind, its body; numbers go on from the last connection's."""
    link = Link(41)
    link.request(EXISTS, b"xyz", "a", 1.0)
    link.ping(2.0)
    link.request(AUTH, b"", "who we are", 3.0)
    link.request(GET, b"", "b", 4.0)
    wanted = struct.pack(">iii", 11, 42, EXISTS) + b"xyz" + struct.pack(">iii", 8, PING_XID, PING)
    wanted += struct.pack(">iii", 8, AUTH_XID, AUTH) + struct.pack(">iii", 8, 43, GET)
    assert bytes(link.outgoing) == wanted
    assert link.last_xid == 43


def test_numbers_begin_again_at_their_end() -> None:
    link = Link(0x7FFF_FFFE)
    for name in "ab":
        link.request(GET, b"", name, 1.0)
    assert link.last_xid == 1
    link.sent(len(link.outgoing))
    assert brief(link.receive(frame(0x7FFF_FFFF) + frame(1))) == [
        ("a", 0, 7, b""),
        ("b", 0, 7, b""),
    ]


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_what_the_socket_has_not_taken(bodies: list[bytes], data: st.DataObject) -> None:
    """However it takes the bytes: a request of which it has one byte may have been applied, one of
    which it has none was not."""
    link = Link(0)
    begins, total = [], 0
    for number, body in enumerate(bodies):
        link.request(GET, body, number, 1.0)
        begins.append(total)
        total += 12 + len(body)
    assert len(link.outgoing) == total
    taken = 0
    while taken < total and data.draw(st.booleans()):
        count = data.draw(st.integers(1, total - taken))
        link.sent(count)
        taken += count
    assert len(link.outgoing) == total - taken
    sent = [number for number, begin in enumerate(begins) if begin < taken]
    rest = [number for number, begin in enumerate(begins) if begin >= taken]
    assert link.unanswered() == (sent, rest)


def test_answered_out_of_turn() -> None:
    """Servers answer credentials at once, whatever else is under way."""
    link = Link(0)
    link.request(GET, b"", "first", 1.0)
    link.request(AUTH, b"", "who we are", 2.0)
    link.sent(len(link.outgoing))
    assert link.waits_since == 1.0
    (reply,) = link.receive(frame(AUTH_XID, error=-115))
    assert (reply.what, reply.error) == ("who we are", -115)  # type: ignore[union-attr]
    assert link.unanswered()[0] == ["first"]


# --- in -------------------------------------------------------------------------------------------

SAID = (
    frame(1, 5, 0, b"one")
    + fire(3, "/grün")
    + frame(PING_XID)
    + frame(2, 6, -101)
    + fire(7, "/removed")
    + frame(3, 8, 0, bytes(300))
)
HEARD = [
    ("a", 0, 5, b"one"),
    (FireKind.CHANGED, "/grün"),
    Pong(9.0),
    ("b", -101, 6, b""),
    ("c", 0, 8, bytes(300)),
]


def hear(link: Link, pieces: list[bytes]) -> list[Any]:
    heard = [each for piece in pieces for each in link.receive(piece)]
    return [each[:2] if isinstance(each, Fired) else each for each in brief(heard)]


def conversation() -> Link:
    link = asking("a", "b", "c")
    link.ping(9.0)
    return link


def test_all_at_once() -> None:
    link = conversation()
    assert hear(link, [SAID]) == HEARD
    assert link.waits_since is None
    assert link.unanswered() == ([], [])


def test_cut_at_every_byte() -> None:
    for place in range(1, len(SAID)):
        assert hear(conversation(), [SAID[:place], SAID[place:]]) == HEARD


def test_byte_by_byte() -> None:
    assert hear(conversation(), [bytes([byte]) for byte in SAID]) == HEARD


@given(st.lists(st.integers(0, len(SAID)), max_size=12))
def test_cut_anywhere(places: list[int]) -> None:
    edges = [0, *sorted(places), len(SAID)]
    pieces = [SAID[a:b] for a, b in itertools.pairwise(edges)]
    assert hear(conversation(), pieces) == HEARD


@pytest.mark.parametrize("length", [-1, 0, BODY - 1, LARGEST_FRAME + 1, -(2**31), 0x48545450])
def test_a_length_that_makes_no_sense(length: int) -> None:
    """Told at once, not when so many bytes have come; what was said before counts."""
    link = asking("a")
    with pytest.raises(Garbled, match=f"{length} bytes") as caught:
        link.receive(frame(1) + struct.pack(">i", length))
    assert brief(caught.value.heard) == [("a", 0, 7, b"")]


@pytest.mark.parametrize("xid", [0, 2, 99, -3, -4, -2, -(2**31)])
def test_a_reply_to_nothing(xid: int) -> None:
    """Also one that is early, a ping's that was not sent, and one to credentials."""
    with pytest.raises(Garbled, match=r"to nothing|xid"):
        asking("a", "b").receive(frame(xid))


def test_a_reply_to_what_was_not_sent() -> None:
    """Nobody can know of a request of which the socket has taken no byte: it is still to be sent
    on the next connection."""
    link = asking("a")
    link.request(GET, b"body", "b", 2.0)
    with pytest.raises(Garbled, match="to nothing"):
        link.receive(frame(1) + frame(2))
    assert link.unanswered() == ([], ["b"])


@pytest.mark.parametrize(
    "body",
    [b"", b"\0" * 11, struct.pack(">iii", 3, 3, 5) + b"/abc", struct.pack(">iii", 3, 3, -1),
     struct.pack(">iii", 3, 3, 2) + b"\xff\xff"],
)  # fmt: skip
def test_a_fire_that_cannot_be_read(body: bytes) -> None:
    with pytest.raises(Garbled, match="fire"):
        Link(0).receive(frame(FIRE_XID, -1, 0, body))


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_noise(pieces: list[bytes]) -> None:
    """Whatever comes: heard, awaited or garbled, and nothing else. Nobody is answered twice."""
    link = asking(*"abcde")
    answered: list[Any] = []
    try:
        for piece in pieces:
            answered += link.receive(piece)
    except Garbled as garbled:
        answered += garbled.heard
    names = [each.what for each in answered if isinstance(each, Reply)]
    assert names == list("abcde")[: len(names)]
    sent, unsent = link.unanswered()
    assert sent + unsent == list("abcde")[len(names) :]


@given(st.lists(st.tuples(st.integers(0, len(SAID) - 1), st.integers(0, 255)), max_size=4))
def test_a_few_wrong_bytes(changes: list[tuple[int, int]]) -> None:
    """As above, for what is almost right."""
    said = bytearray(SAID)
    for place, byte in changes:
        said[place] = byte
    link = conversation()
    try:
        heard = link.receive(bytes(said))
    except Garbled as garbled:
        heard = garbled.heard
    names = [each.what for each in heard if isinstance(each, Reply)]
    assert names == list("abc")[: len(names)]


def test_a_large_frame_is_not_looked_at_until_it_is_there() -> None:
    """A reply of megabytes in small pieces takes time in proportion, not squared."""
    link = asking("a")
    body = bytes(8_000_000)
    said = frame(1, body=body)
    pieces = [said[at : at + 4096] for at in range(0, len(said), 4096)]
    (reply,) = [each for piece in pieces for each in link.receive(piece)]
    assert isinstance(reply, Reply)
    assert len(reply.frame) == BODY + len(body)
