"""Steps as bytes and replies as results: ZooKeeper's jute encoding, pure.

Paths are prefixed with the session's root (namespace and chroot) on the way out and stripped of it
on the way in, so no other module knows that there is one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
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
    MultiOp,
    Node,
    Request,
    Set,
    Stat,
    Sync,
    Watch,
)

Decode = Callable[[bytes, int], Any]

CREATE, DELETE, EXISTS, GET, SET, CHILDREN, SYNC, CHECK, MULTI = 1, 2, 3, 4, 5, 8, 9, 13, 14
CREATE2, REMOVE_WATCHES, CREATE_CONTAINER, CREATE_TTL, ADD_WATCH = 15, 18, 19, 21, 106

WRITES = frozenset({CREATE, DELETE, SET, MULTI, CREATE2, CREATE_CONTAINER, CREATE_TTL})
CREATE_TYPES = frozenset({CREATE, CREATE2, CREATE_CONTAINER, CREATE_TTL})

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_STAT = struct.Struct(">qqqqiiiqiiq")
_MULTI_HEADER = struct.Struct(">i?i")
_RUNTIME_INCONSISTENCY = -2  # what the server says of operations it did not get to


class Wire:
    """Encoder and decoder for one session: knows its root path and default ACL."""

    def __init__(self, root: str, acl: tuple[Acl, ...]) -> None:
        self._root = "" if root == "/" else root
        self._acl = acl
        self._encoders: dict[type, Callable[[Any], tuple[int, bytes, Decode]]] = {
            Create: self._create,
            Delete: lambda step: (DELETE, self._path_version(step.path, step.version), _nothing),
            Get: lambda step: (GET, self._path_flag(step.path, step.watch), _data),
            Set: lambda step: (SET, self._set(step), _stat),
            Exists: lambda step: (EXISTS, self._path_flag(step.path, step.watch), _stat),
            Children: lambda step: (CHILDREN, self._path_flag(step.path, step.watch), _names),
            Sync: lambda step: (SYNC, _string(self._full(step.path)), _nothing),
            Watch: lambda step: (
                ADD_WATCH,
                _string(self._full(step.path)) + _INT.pack(step.recursive),
                _nothing,
            ),
            Multi: self._multi,
        }

    def encode(self, step: Request[Any]) -> tuple[int, bytes, Decode]:
        """The request's type, its body, and how to decode the reply."""
        return self._encoders[type(step)](step)

    def encode_remove_watch(self, path: str, kind: int) -> tuple[int, bytes, Decode]:
        """removeWatches: kind 1 is a child watch, 2 a data watch, 3 a persistent one."""
        return REMOVE_WATCHES, _string(self._full(path)) + _INT.pack(kind), _nothing

    def strip(self, full: str) -> str:
        """A path from the server as the session sees it."""
        return (full[len(self._root) :] or "/") if self._root else full

    def _full(self, path: str) -> str:
        if not self._root:
            return path
        return self._root if path == "/" else self._root + path

    def _path_version(self, path: str, version: int) -> bytes:
        return _string(self._full(path)) + _INT.pack(version)

    def _path_flag(self, path: str, watch: bool) -> bytes:
        return _string(self._full(path)) + (b"\x01" if watch else b"\x00")

    def _set(self, step: Set) -> bytes:
        return _string(self._full(step.path)) + _buffer(step.data) + _INT.pack(step.version)

    def _create(self, step: Create) -> tuple[int, bytes, Decode]:
        body = (
            _string(self._full(step.path))
            + _buffer(step.data)
            + _acls(self._acl if step.acl is None else step.acl)
            + _INT.pack(step.mode.value)
        )
        if step.ttl_ms is not None:
            return CREATE_TTL, body + _LONG.pack(step.ttl_ms), self._node
        kind = CREATE_CONTAINER if step.mode is Mode.CONTAINER else CREATE2
        return kind, body, self._node

    def _node(self, buffer: bytes, offset: int) -> Node:
        path, offset = _read_string(buffer, offset)
        return Node(self.strip(path), _stat(buffer, offset))

    def _multi(self, step: Multi) -> tuple[int, bytes, Decode]:
        parts = []
        for op in step.ops:
            kind, body = self._multi_op(op)
            parts.append(_MULTI_HEADER.pack(kind, False, -1) + body)
        parts.append(_MULTI_HEADER.pack(-1, True, -1))
        return MULTI, b"".join(parts), lambda buffer, offset: [self._outcomes(step, buffer, offset)]

    def _multi_op(self, op: MultiOp) -> tuple[int, bytes]:
        if isinstance(op, Check):
            return CHECK, self._path_version(op.path, op.version)
        kind, body, _ = self.encode(op)
        return kind, body

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
            elif kind in CREATE_TYPES:
                path, offset = _read_string(buffer, offset)
                results.append(self.strip(path))
                offset += _STAT.size if kind != CREATE else 0  # a plain create sends no stat
            elif kind == SET:
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


def _string(text: str) -> bytes:
    return _buffer(text.encode())


def _buffer(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _acls(acls: tuple[Acl, ...]) -> bytes:
    each = (_INT.pack(acl.perms) + _string(acl.scheme) + _string(acl.id) for acl in acls)
    return _INT.pack(len(acls)) + b"".join(each)


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
    return Stat._make(_STAT.unpack_from(buffer, offset))


def _data(buffer: bytes, offset: int) -> Data:
    data, offset = _read_buffer(buffer, offset)
    return Data(data, _stat(buffer, offset))


def _names(buffer: bytes, offset: int) -> tuple[str, ...]:
    (count,) = _INT.unpack_from(buffer, offset)
    offset += _INT.size
    names = []
    for _ in range(count):
        end = offset + 4 + _INT.unpack_from(buffer, offset)[0]
        names.append(buffer[offset + 4 : end].decode())
        offset = end
    return tuple(names)
