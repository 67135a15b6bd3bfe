"""What acquiring a lock gives you: a tenure (../tenure.py says what makes it valid, and what its
token is for) that can be released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import Unsupported
from ...scripting import S, script
from ...steps import Check, Node, Script
from ..tenure import Tenure, cannot_guard

if TYPE_CHECKING:
    from .owned import OwnedLock


class Hold(Tenure[S]):
    """One grant of a lock. Always truthy; ask `.valid` whether it still holds."""

    _recipe: OwnedLock[S]

    def __init__(self, lock: OwnedLock[S], node: Node, token: int = 0) -> None:
        super().__init__(lock, node)
        self._token = token or self.czxid

    @property
    def token(self) -> int:
        """The fencing token: grows from grant to grant. Unsupported where several may hold."""
        if not self._recipe.single_holder:
            raise Unsupported(
                f"{self._recipe!r} lets several in at a time, and a token could not tell who of "
                "them came last",
                path=self.path,
                hint="fence with a lock, or with a semaphore of one lease",
            )
        return self._token

    @script
    def release(self) -> Script[None]:
        """Give this hold up, once for each acquire. Where the lock belongs to the actor that
        acquired it, only that one may; see the lock's class.

        Raises NotOwner if it was released already, or by an actor that may not.
        """
        yield from self._recipe.release_hold(self)

    def guard(self) -> Check:
        if not self._recipe.unique_names:
            raise cannot_guard(self, "ReentrantLock")
        return super().guard()

    def give_back(self) -> Script[Any]:
        """Undo the grant for an actor that has left."""
        return self._recipe.take_back(self)

    def _shown_token(self) -> str:
        return super()._shown_token() if self._recipe.single_holder else ""
