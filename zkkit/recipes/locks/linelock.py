"""A lock whose contenders stand in line: the line, the rule, and the release, put together."""

from __future__ import annotations

from typing import Any

from ...scripting import S, script
from ...steps import Mode, Node, Script
from ..shared import delete_surely
from .hold import Hold
from .line import CURATOR, Layout, Line
from .revoking import RevocableLock
from .rules import Rule


class LineLock(RevocableLock[S]):
    """A lock whose contenders stand in line, each watching only the node that its rule names."""

    def __init__(
        self,
        session: S,
        path: str,
        *,
        kind: str,
        kinds: tuple[str, ...],
        rule: Rule,
        layout: Layout = CURATOR,
        persistent: bool = False,
        node_data: bytes | None = None,
    ) -> None:
        super().__init__(session, path, node_data=node_data)
        self._line = Line(self.path, kinds, layout)
        self._kind = kind
        self._rule = rule
        self._mode = Mode.PERSISTENT_SEQUENTIAL if persistent else Mode.EPHEMERAL_SEQUENTIAL

    def _contend(self, blocking: bool) -> Script[Node | None]:
        line = self._line
        wait_turn = line.by_predecessor(self._rule, blocking)
        data = yield from self._data()
        return (yield from line.enter(self._kind, wait_turn, data=data, mode=self._mode))

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path, lasting=not hold.session_id)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all contenders, the holder's first."""
        return self._line.participants(self._kind)
