"""The plain operations of a blocking session, on real servers."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

import zkkit
from zkkit.errors import (
    AuthFailed,
    BadVersion,
    InvalidAcl,
    InvalidPath,
    MultiFailed,
    NoAuth,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
)
from zkkit.paths import sequence_of
from zkkit.steps import Acl, Check, Create, Delete, Get, Mode, Set, Stat
from zkkit.testing import eventually


def digest(user: str, password: str) -> str:
    """The id by which an ACL knows user:password."""
    secret = hashlib.sha1(f"{user}:{password}".encode()).digest()
    return f"{user}:{base64.b64encode(secret).decode()}"


def test_a_node_from_creation_to_deletion(session: zkkit.Session, zk_path: str) -> None:
    """Create, read, write, list and delete do what they say."""
    node = session.create(zk_path, b"one")
    assert node.path == zk_path
    assert session.get(zk_path) == (b"one", node.stat)
    written = session.set(zk_path, b"three")
    assert (written.version, written.data_length) == (1, 5)
    assert written.mzxid > written.czxid == node.stat.czxid
    assert session.get(zk_path).data == b"three"
    session.create(f"{zk_path}/child")
    assert session.children(zk_path) == ("child",)
    found = session.exists(zk_path)
    assert found is not None
    assert (found.children, found.cversion) == (1, 1)
    session.delete(f"{zk_path}/child")
    session.delete(zk_path)
    assert session.exists(zk_path) is None


def test_empty_and_binary_data(session: zkkit.Session, zk_path: str) -> None:
    """Data is bytes, any bytes, and none by default."""
    session.create(zk_path)
    assert session.get(zk_path).data == b""
    data = bytes(range(256)) * 100
    session.set(zk_path, data)
    assert session.get(zk_path).data == data


def test_many_children_and_unicode(session: zkkit.Session, zk_path: str) -> None:
    """Names come back as they were given, however many."""
    names = {f"羊-{number}-é" for number in range(50)}
    session.create(zk_path)
    session.multi(*(Create(f"{zk_path}/{name}") for name in names))
    assert set(session.children(zk_path)) == names


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda s, p: s.create(p), NodeExists),
        (lambda s, p: s.create(f"{p}/none/child"), NoNode),
        (lambda s, p: s.get(f"{p}/none"), NoNode),
        (lambda s, p: s.set(f"{p}/none", b""), NoNode),
        (lambda s, p: s.children(f"{p}/none"), NoNode),
        (lambda s, p: s.delete(f"{p}/none"), NoNode),
        (lambda s, p: s.delete(p), NotEmpty),
        (lambda s, p: s.create(f"{p}/ephemeral/child"), NoChildrenForEphemerals),
        (lambda s, p: s.set(p, b"", version=7), BadVersion),
        (lambda s, p: s.delete(f"{p}/ephemeral", version=7), BadVersion),
        (lambda s, p: s.create(f"{p}/open", acl=[]), InvalidAcl),
        (lambda s, p: s.create(f"{p}/open", acl=[Acl(31, "nosuch", "x")]), InvalidAcl),
    ],
)
def test_refusals(session: zkkit.Session, zk_path: str, refused: Any, error: Any) -> None:
    """Each refusal of the server is an error of its own that names the node."""
    session.create(zk_path)
    session.create(f"{zk_path}/ephemeral", mode=Mode.EPHEMERAL)
    with pytest.raises(error) as caught:
        refused(session, zk_path)
    assert caught.value.path.startswith(zk_path)


@pytest.mark.parametrize(
    ("why", "senseless"),
    [
        ("mode must be", lambda s, p: s.create(p, mode="ephemeral")),
        ("acl must be", lambda s, p: s.create(p, acl="world")),
        ("acl must be", lambda s, p: s.create(p, acl=5)),
        ("ttl_ms must be", lambda s, p: s.create(p, mode=Mode.PERSISTENT_TTL, ttl_ms="5")),
        ("version must be", lambda s, p: s.set(p, b"", version="1")),
        ("version must be", lambda s, p: s.set(p, b"", version=None)),
        ("version must be", lambda s, p: s.delete(p, version=2.5)),
        ("a transaction takes", lambda s, p: s.multi("x")),
        ("a transaction takes", lambda s, p: s.multi([Check(p)])),
        ("a callback must be", lambda s, p: s.background(Get(p), 5)),
    ],
)
def test_arguments_that_make_no_sense(
    session: zkkit.Session, zk_path: str, why: str, senseless: Any
) -> None:
    """Each is refused by a sentence, and nothing is sent."""
    with pytest.raises(ValueError, match=why):
        senseless(session, zk_path)
    assert session.exists(zk_path) is None


def test_versions(session: zkkit.Session, other: zkkit.Session, zk_path: str) -> None:
    """A write with the version that was read fails once somebody else was faster."""
    seen = session.create(zk_path).stat
    assert other.set(zk_path, b"faster", version=seen.version).version == 1
    with pytest.raises(BadVersion):
        session.set(zk_path, b"slower", version=seen.version)
    with pytest.raises(BadVersion):
        session.delete(zk_path, version=seen.version)
    session.delete(zk_path, version=1)


# --- modes ----------------------------------------------------------------------------------


def test_ephemeral_goes_with_its_session(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """It is owned by the session that made it, and gone when that is closed."""
    node = other.create(zk_path, mode=Mode.EPHEMERAL)
    assert node.stat.ephemeral_owner == other.session_id != 0
    other.close()
    eventually(lambda: session.exists(zk_path) is None, 2.0)


@pytest.mark.parametrize("mode", [Mode.PERSISTENT_SEQUENTIAL, Mode.EPHEMERAL_SEQUENTIAL])
def test_sequential_names_count_up(session: zkkit.Session, zk_path: str, mode: Mode) -> None:
    """The server appends the parent's counter, and the reply says the whole name."""
    session.create(zk_path)
    made = [session.create(f"{zk_path}/n-", mode=mode) for _ in range(3)]
    assert [sequence_of(node.path, "n-") for node in made] == [0, 1, 2]
    assert {node.path for node in made} == {f"{zk_path}/{n}" for n in session.children(zk_path)}
    owner = session.session_id if mode is Mode.EPHEMERAL_SEQUENTIAL else 0
    assert all(node.stat.ephemeral_owner == owner for node in made)


def test_container_is_reaped_after_its_last_child(session: zkkit.Session, zk_path: str) -> None:
    """The server removes a container whose children are gone."""
    session.create(zk_path, mode=Mode.CONTAINER)
    session.create(f"{zk_path}/child")
    session.delete(f"{zk_path}/child")
    eventually(lambda: session.exists(zk_path) is None, 10.0)


@pytest.mark.parametrize(
    "mode",
    [Mode.PERSISTENT_TTL, pytest.param(Mode.PERSISTENT_SEQUENTIAL_TTL, marks=pytest.mark.slow)],
)
def test_ttl_node_goes(session: zkkit.Session, zk_path: str, mode: Mode) -> None:
    """A node that is not written for its time to live is removed by the server."""
    node = session.create(zk_path, b"x", mode=mode, ttl_ms=200)
    assert node.path.startswith(zk_path)
    assert (node.path == zk_path) == (mode is Mode.PERSISTENT_TTL)
    eventually(lambda: session.exists(node.path) is None, 10.0)


def test_ttl_without_its_mode(session: zkkit.Session, zk_path: str) -> None:
    """A TTL for a mode without one is the caller's mistake."""
    with pytest.raises(ValueError, match="ttl_ms"):
        session.create(zk_path, ttl_ms=1000)


@pytest.mark.parametrize("value", [2, 0, None, "no"])
def test_make_parents_is_on_or_off(session: zkkit.Session, zk_path: str, value: Any) -> None:
    """Anything else is refused, and nothing is created."""
    with pytest.raises(ValueError, match=rf"make_parents must be True or False, not {value!r}"):
        session.create(zk_path, make_parents=value)
    assert session.exists(zk_path) is None


def test_make_parents(session: zkkit.Session, zk_path: str) -> None:
    """All missing levels are made, as containers."""
    node = session.create(f"{zk_path}/a/b/c", b"x", make_parents=True)
    assert node == (f"{zk_path}/a/b/c", session.exists(f"{zk_path}/a/b/c"))
    with pytest.raises(NodeExists):
        session.create(f"{zk_path}/a/b/c", make_parents=True)
    session.delete(node.path)  # the server reaps a level of containers a second
    eventually(lambda: session.exists(f"{zk_path}/a/b") is None, 15.0)


# --- multi ----------------------------------------------------------------------------------


def test_multi_applies_all(session: zkkit.Session, zk_path: str) -> None:
    """Results stand in the order of the operations: a path, a stat, nothing."""
    first = session.create(zk_path)
    made, stat, gone, checked, numbered = session.multi(
        Create(f"{zk_path}/a", b"x"),
        Set(zk_path, b"y", version=0),
        Delete(f"{zk_path}/a"),
        Check(zk_path, 1),
        Create(f"{zk_path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL),
    )
    assert made == f"{zk_path}/a"
    assert isinstance(stat, Stat)
    assert (stat.version, stat.czxid) == (1, first.stat.czxid)
    assert gone is None
    assert checked is None
    assert session.children(zk_path) == (str(numbered).rpartition("/")[2],)


@pytest.mark.parametrize("mode", list(Mode))
def test_multi_creates_in_every_mode(session: zkkit.Session, zk_path: str, mode: Mode) -> None:
    """Whatever the mode, a create inside a multi gives its path and what follows is read right."""
    ttl = 60_000 if mode.has_ttl else None
    path, after = session.multi(Create(zk_path, b"x", mode, ttl_ms=ttl), Create(f"{zk_path}-after"))
    assert str(path).startswith(zk_path)
    assert after == f"{zk_path}-after"
    assert session.get(str(path)).data == b"x"


def test_multi_applies_none(session: zkkit.Session, zk_path: str) -> None:
    """When one operation is refused, none is applied, and the error says which."""
    session.create(zk_path, b"before")
    with pytest.raises(MultiFailed) as caught:
        session.multi(
            Create(f"{zk_path}/a"),
            Set(zk_path, b"after"),
            Check(zk_path, 77),
            Create(f"{zk_path}/b"),
        )
    failed = caught.value
    assert (failed.index, failed.path) == (2, zk_path)
    assert failed.errors == (None, None, BadVersion(zk_path), None)
    assert failed.error == BadVersion(zk_path)
    assert session.get(zk_path).data == b"before"
    assert session.children(zk_path) == ()


def test_multi_failing_at_once(session: zkkit.Session, zk_path: str) -> None:
    """Index 0 is an index like any other."""
    with pytest.raises(MultiFailed) as caught:
        session.multi(Delete(zk_path), Create(f"{zk_path}-b"))
    assert caught.value.index == 0
    assert caught.value.error == NoNode(zk_path)


def test_empty_multi(session: zkkit.Session) -> None:
    """Nothing to do is done."""
    assert session.multi() == ()


def test_multi_checks_all_paths(session: zkkit.Session, zk_path: str) -> None:
    """An invalid path in any place is found before anything is sent."""
    with pytest.raises(InvalidPath):
        session.multi(Create(zk_path), Create("relative"))
    assert session.exists(zk_path) is None


# --- access -------------------------------------------------------------------------------------


def test_digest_auth(open_session: Any, other: zkkit.Session, zk_path: str) -> None:
    """What is closed by an ACL opens to whoever has the secret, and to nobody else."""
    auth = [("digest", "ann:secret")]
    mine = open_session(auth=auth, acl=[Acl(31, "digest", digest("ann", "secret"))])
    mine.create(zk_path, b"private")
    assert mine.get(zk_path).data == b"private"
    for refused in (
        lambda: other.get(zk_path),
        lambda: other.set(zk_path, b""),
        lambda: other.children(zk_path),
        lambda: other.create(f"{zk_path}/child"),
    ):
        with pytest.raises(NoAuth) as caught:
            refused()
        assert caught.value.path.startswith(zk_path)
    assert open_session(auth=auth).get(zk_path).data == b"private"


def test_acl_of_one_node(session: zkkit.Session, zk_path: str) -> None:
    """An ACL given with the create goes before the session's own."""
    session.create(zk_path, b"x", acl=[Acl(1, "world", "anyone")])
    assert session.get(zk_path).data == b"x"
    with pytest.raises(NoAuth):
        session.set(zk_path, b"y")


def test_auth_survives_a_reconnect(open_session: Any, zk_proxy: Any, zk_path: str) -> None:
    """The credentials are shown to the next server as well."""
    session = open_session(zk_proxy.hosts, auth=[("digest", "ann:secret")])
    session.create(zk_path, b"x", acl=[Acl(31, "auth", "")])
    zk_proxy.drop()
    assert session.get(zk_path).data == b"x"


def test_unknown_auth_scheme(open_session: Any, no_thread_left: Any) -> None:
    """Credentials of a kind the server does not know end the attempt at once."""
    with no_thread_left():
        with pytest.raises(AuthFailed, match="credentials"):
            open_session(auth=[("nosuch", "x")])


# --- what is not bytes, or too many --------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda s, p: s.create(p, "text"),
        lambda s, p: s.create(p, None),
        lambda s, p: s.set(p, "text"),
        lambda s, p: s.set(p, b"", version="1"),
        lambda s, p: s.set(p, b"", version=2**40),
        lambda s, p: s.create(p, acl=["x"]),
        lambda s, p: s.multi(Create(p, "text")),
        lambda s, p: s.multi("x"),
    ],
)
def test_wrong_types_are_raised(
    session: zkkit.Session, zk_path: str, beside: Any, wrong: Any
) -> None:
    """An argument that cannot be sent is the caller's error, raised to the caller, at once."""
    with pytest.raises(Exception) as caught:
        beside(wrong, session, zk_path).result(3.0)
    assert not isinstance(caught.value, TimeoutError)
    assert session.exists(zk_path) is None


def test_wrong_types_do_not_hang_the_main_thread(session: zkkit.Session, zk_path: str) -> None:
    """The main thread, whose scripts are started elsewhere, gets the error as well."""
    with pytest.raises(TypeError):
        session.run(Create(zk_path, "text"), timeout=2.0)  # type: ignore[arg-type]
    assert session.exists(zk_path) is None


# --- what sessions write --------------------------------------------------------------


def test_node_data(open_session: Any, zk_path: str) -> None:
    """Locks write `node_data` into their nodes; by default, something that tells who it is."""
    with zkkit.ReentrantLock(open_session(node_data=b"me"), zk_path) as hold:
        assert hold.session.get(hold.path).data == b"me"
    with zkkit.ReentrantLock(open_session(), zk_path) as hold:
        assert hold.session.get(hold.path).data == hold.session.node_data != b""
    with zkkit.ReentrantLock(open_session(node_data=b""), zk_path) as hold:
        assert hold.session.get(hold.path).data == b""


def test_what_a_session_says_of_itself(session: zkkit.Session, zk_hosts: str) -> None:
    """State, id, timeout and repr are those of a session that lives."""
    assert session.state == "connected"
    assert session.session_id == session.kazoo.client_id[0] != 0
    assert session.timeout == 5.0
    assert zk_hosts in repr(session)
    assert "connected" in repr(session)


def test_timeout_is_the_negotiated_one(open_session: Any) -> None:
    """The servers allow no less than two ticks (of 500 ms here), and it is said what they gave."""
    assert open_session(timeout=0.1).timeout == 1.0


def test_text_where_bytes_belong(session: zkkit.Session, zk_path: str) -> None:
    """The error says whose data it is and the way out; nothing is sent."""
    for write in (
        lambda: session.create(zk_path, "text"),  # type: ignore[arg-type]
        lambda: session.create(zk_path, "text", make_parents=True),  # type: ignore[arg-type]
        lambda: session.set(zk_path, "text"),  # type: ignore[arg-type]
        lambda: session.multi(Create(zk_path, "text")),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=rf"data of {zk_path} must be bytes.*text\.encode"):
            write()
    assert session.exists(zk_path) is None
    assert session.create(zk_path, bytearray(b"x")).path == zk_path
