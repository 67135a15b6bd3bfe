"""An integer that everybody can read and set: Curator's SharedCount, on the same node.

    <path>            persistent; four bytes, big-endian, signed

The node is created with the seed by whoever comes first; from then on its value counts, whatever
seeds others bring. A node that holds anything but four bytes is reported, never guessed at.
"""

from __future__ import annotations

import struct

from ...errors import ConnectionLost, CorruptData, NodeExists, NoNode, ZkkitError
from ...scripting import Recipe, S, script
from ...steps import Create, Data, Get, Script, Set
from ..shared import create_with_parents

_INT = struct.Struct(">i")
LOWEST, HIGHEST = -(2**31), 2**31 - 1


class SharedCount(Recipe[S]):
    """An integer of 32 bits in a node."""

    def __init__(self, session: S, path: str, *, seed: int = 0) -> None:
        super().__init__(session, path)
        self._seed = _packed(seed)

    @script
    def get(self) -> Script[int]:
        """The value now."""
        return self.read(Data(*(yield from self.ensure())))

    @script
    def set(self, value: int) -> Script[None]:
        """Write a value, whatever is there."""
        return self._set(_packed(value))

    def _set(self, data: bytes) -> Script[None]:
        while True:
            try:
                yield from self.ensure()
                yield from Set(self.path, data)
                return
            except (ConnectionLost, NoNode):
                continue  # writing the same value twice is writing it

    def ensure(self, *, watch: bool = False) -> Script[Data]:
        """The node's data; the node is made if it is not there."""
        while True:
            try:
                return (yield from Get(self.path, watch))
            except NoNode:
                (made,) = yield from create_with_parents(Create(self.path, self._seed))
                if isinstance(made, ZkkitError) and not isinstance(
                    made, NodeExists | ConnectionLost
                ):
                    raise made from None
            except ConnectionLost:
                continue

    def read(self, found: Data) -> int:
        """The value that these data say."""
        if len(found.data) != _INT.size:
            raise CorruptData(
                f"{self.path} holds {len(found.data)} bytes, not a count of {_INT.size}",
                path=self.path,
                hint="is the path right? SharedCount.set writes it anew",
            )
        value: int = _INT.unpack(found.data)[0]
        return value


def _packed(value: int) -> bytes:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not LOWEST <= value <= HIGHEST:
        raise ValueError(f"a shared count is an integer of 32 bits, not {value!r}")
    return _INT.pack(value)
