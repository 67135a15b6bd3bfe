"""Steps as bytes and replies as results: ZooKeeper's jute encoding, pure.

Paths are prefixed with the session's root (namespace and chroot) on the way out and stripped of it
on the way in, so no other module knows that there is one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import MultiFailed, server_error
from ..steps import (
    Acl,
    Check,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Get,
    Mode,
    Multi,
    Node,
    Request,
    Set,
    Stat,
    Sync,
    Watch,
    check_acl,
)
from . import opcodes

Decode = Callable[[bytes, int], Any]
"""Reads the reply's body from this offset on. It gives the result; of a multi that failed, the
error: that a multi failed is said in its body."""

Encoded = tuple[int, bytes, Decode]
"""A request's opcode, its body, and how to decode the reply."""

_INT = struct.Struct(">i")
_int = _INT.pack
_new = tuple.__new__
_ON, _OFF = b"\x01", b"\x00"
_LONG = struct.Struct(">q")
_STAT = struct.Struct(">qqqqiiiqiiq")
_MULTI_HEADER = struct.Struct(">i?i")
_LARGEST_ASCII = 127
_RUNTIME_INCONSISTENCY = -2  # what the server says of operations it did not get to


class Wire:
    """Encoder and decoder for one session: knows its root path and default ACL."""

    def __init__(self, root: str, acl: tuple[Acl, ...]) -> None:
        self._root = "" if root == "/" else root
        self._acl = _acls(acl)
        self._encoders: dict[type, Callable[[Any], Encoded]] = {
            Create: self._create,
            Delete: self._delete,
            Get: self._get,
            Set: self._set,
            Exists: self._exists,
            Children: self._children,
            Sync: self._sync,
            Watch: self._watch,
            Multi: self._multi,
            Check: self._check,
        }

    def encode(self, step: Request[Any]) -> Encoded:
        """A request as it goes on the wire, and how to decode the reply. Raises ValueError if one
        of its fields cannot be written; which one is looked for only then."""
        try:
            return self._encoders[type(step)](step)
        except (struct.error, AttributeError, TypeError):
            for op in step.ops if isinstance(step, Multi) else (step,):
                _check(op)
            raise

    def encode_remove_watch(self, path: str, kind: int) -> Encoded:
        """removeWatches: kind 1 is a child watch, 2 a data watch, 3 a persistent one."""
        return opcodes.REMOVE_WATCHES, self._path(path) + _int(kind), _nothing

    def full(self, path: str) -> str:
        """A path of the session as the server knows it."""
        return self._path(path)[_INT.size :].decode()

    def strip(self, full: str) -> str:
        """A path from the server as the session sees it."""
        return (full[len(self._root) :] or "/") if self._root else full

    def strip_if_inside(self, full: str) -> str | None:
        """The same of a path that may be somebody else's: None if it is not below our root."""
        root = self._root
        if not root or full == root or full.startswith(root + "/"):
            return self.strip(full)
        return None

    def _path(self, path: str) -> bytes:
        if self._root:
            path = self._root if path == "/" else self._root + path
        return _string(path)

    def _create(self, step: Create) -> Encoded:
        acl = self._acl if step.acl is None else _acls(step.acl)
        body = self._path(step.path) + _buffer(step.data) + acl + _int(step.mode.value)
        if step.ttl_ms is not None:
            return opcodes.CREATE_TTL, body + _LONG.pack(step.ttl_ms), self._node
        kind = opcodes.CREATE_CONTAINER if step.mode is Mode.CONTAINER else opcodes.CREATE2
        return kind, body, self._node

    def _delete(self, step: Delete) -> Encoded:
        return opcodes.DELETE, self._path(step.path) + _int(step.version), _nothing

    def _get(self, step: Get) -> Encoded:
        return opcodes.GET, self._path(step.path) + (_ON if step.watch else _OFF), _data

    def _set(self, step: Set) -> Encoded:
        body = self._path(step.path) + _buffer(step.data) + _int(step.version)
        return opcodes.SET, body, _stat

    def _exists(self, step: Exists) -> Encoded:
        return opcodes.EXISTS, self._path(step.path) + (_ON if step.watch else _OFF), _stat

    def _children(self, step: Children) -> Encoded:
        return opcodes.CHILDREN, self._path(step.path) + (_ON if step.watch else _OFF), _names

    def _sync(self, step: Sync) -> Encoded:
        return opcodes.SYNC, self._path(step.path), _nothing

    def _watch(self, step: Watch) -> Encoded:
        return opcodes.ADD_WATCH, self._path(step.path) + _int(step.recursive), _nothing

    def _check(self, step: Check) -> Encoded:
        return opcodes.CHECK, self._path(step.path) + _int(step.version), _nothing

    def _node(self, buffer: bytes, offset: int) -> Node:
        path, offset = _read_string(buffer, offset)
        return Node(self.strip(path), _stat(buffer, offset))

    def _multi(self, step: Multi) -> Encoded:
        parts = []
        for op in step.ops:
            kind, body, _ = self._encoders[type(op)](op)
            parts.append(_MULTI_HEADER.pack(kind, False, -1) + body)
        parts.append(_MULTI_HEADER.pack(-1, True, -1))
        return opcodes.MULTI, b"".join(parts), partial(self._outcomes, step)

    def _outcomes(
        self, step: Multi, buffer: bytes, offset: int
    ) -> tuple[str | Stat | None, ...] | MultiFailed:
        results: list[str | Stat | None] = []
        codes: list[int] = []
        while True:
            kind, done, _ = _MULTI_HEADER.unpack_from(buffer, offset)
            offset += _MULTI_HEADER.size
            if done:
                break
            if kind == -1:
                codes.append(_INT.unpack_from(buffer, offset)[0])
                offset += _INT.size
            elif kind in opcodes.CREATES:
                path, offset = _read_string(buffer, offset)
                results.append(self.strip(path))
                if kind != opcodes.CREATE:  # a plain create sends no stat
                    offset += _STAT.size
            elif kind == opcodes.SET:
                results.append(_stat(buffer, offset))
                offset += _STAT.size
            else:
                results.append(None)
        if not any(codes):
            return tuple(results)
        return MultiFailed(
            tuple(
                server_error(code, op.path) if code not in (0, _RUNTIME_INCONSISTENCY) else None
                for code, op in zip(codes, step.ops, strict=True)
            )
        )


def _check(op: Any) -> None:
    """Raise ValueError if one of these fields cannot be written."""
    version, ttl_ms, acl = (getattr(op, name, None) for name in ("version", "ttl_ms", "acl"))
    if hasattr(op, "version") and not _is_whole(version, 31):
        raise ValueError(
            f"{op.path}: version must be a whole number of 32 bits (-1 fits any), not {version!r}"
        )
    if ttl_ms is not None and not _is_whole(ttl_ms, 63):
        raise ValueError(f"{op.path}: ttl_ms must be a whole number of 64 bits, not {ttl_ms!r}")
    if acl is not None:
        check_acl(acl)


def _is_whole(value: object, bits: int) -> bool:
    return isinstance(value, int) and -(1 << bits) <= value < 1 << bits


def _string(text: str) -> bytes:
    return _buffer(text.encode())


def _buffer(data: bytes) -> bytes:
    return _int(len(data)) + data


def _acls(acls: tuple[Acl, ...]) -> bytes:
    each = (_int(acl.perms) + _string(acl.scheme) + _string(acl.id) for acl in acls)
    return _int(len(acls)) + b"".join(each)


def _read_buffer(buffer: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = _INT.unpack_from(buffer, offset)
    offset += _INT.size
    if length < 0:
        return b"", offset  # null on the wire
    return bytes(buffer[offset : offset + length]), offset + length


def _read_string(buffer: bytes, offset: int) -> tuple[str, int]:
    raw, offset = _read_buffer(buffer, offset)
    return raw.decode(), offset


def _nothing(buffer: bytes, offset: int) -> None:
    return None


def _stat(buffer: bytes, offset: int) -> Stat:
    return _new(Stat, _STAT.unpack_from(buffer, offset))  # there are as many as Stat has fields


def _data(buffer: bytes, offset: int) -> Data:
    data, offset = _read_buffer(buffer, offset)
    return Data(data, _stat(buffer, offset))


def _names(buffer: bytes, offset: int) -> tuple[str, ...]:
    (count,) = _INT.unpack_from(buffer, offset)
    offset += _INT.size
    names = _of_one_length(buffer, offset, count) if count > 1 else None
    return _one_by_one(buffer, offset, count) if names is None else names


def _of_one_length(buffer: bytes, offset: int, count: int) -> tuple[str, ...] | None:
    """The names cut out all at once, if they are of one length, as those in a line are: before each
    stand the same four bytes, which are in no name, for the first of them is zero."""
    (length,) = _INT.unpack_from(buffer, offset)
    if not 0 < length <= _LARGEST_ASCII or len(buffer) - offset != count * (_INT.size + length):
        return None
    text = str(buffer[offset:], "utf-8")
    _, *names = text.split(text[: _INT.size])
    return tuple(names) if len(names) == count else None


def _one_by_one(buffer: bytes, offset: int, count: int) -> tuple[str, ...]:
    names = []
    for _ in range(count):
        end = offset + 4 + _INT.unpack_from(buffer, offset)[0]
        names.append(buffer[offset + 4 : end].decode())
        offset = end
    return tuple(names)
