"""A value that everybody can read, set and follow: Curator's SharedValue, on the same node.

    <path>                            persistent: the value
    <path>-receipts/<session>-<n>     ephemeral: who wrote it last (receipts.py)

The node is created with the seed by whoever comes first; from then on its value counts, whatever
seeds others bring. It is so again if somebody deletes the node.

`get`, `set` and `try_set` ask the servers, and need no start. Between `start` and `close` the value
is followed as well:

1. Get the node, with a watch.
2. It was written later than what we have (by its mzxid): that is the value now; tell the listeners.
3. Wait until the watch fires or the connection breaks, and go to 1.

Guarantees: the followed `value` never goes back, and comes to be what the servers have once they
are quiet: it is read again after every reconnect, so no change is missed for good. Listeners are
told in the order of writing, only of what was written since the start, and of each write once. Not
guaranteed: that they are told of every write; several in a row may show as the last of them.
`try_set` writes only if nobody has written since the version that it is given; if its reply is
lost it is found out whether it was applied.

Connection loss: outlived. Expiry: followed again in the next session. What `try_set` and `set` do
then is in receipts.py (`write_once`, `write_anyway`). A node that holds no such value: `value` and
`get` raise CorruptData until somebody writes it anew; listeners are not told of it. A node that may
not be read for a while: `value` stays, and is read again when anything happens to the node later.
Writing needs the right to create children of the node's parent: the receipts stand there.

Cost: `get` 1 flight, `set` 1, `try_set` 2; one more to see what was written where the value is
followed. A change costs each follower one fire and one flight.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from ...errors import CorruptData, NoAuth, NoNode, NotStarted, SessionLost
from ...scripting import S, script
from ...steps import Create, Data, Exists, Get, Mark, Recall, Remember, Script, Wait
from ..long_lived import LongLived
from ..shared import begin_again, create_or_there, until_answered
from .forms import RAW, Form, as_text
from .receipts import look, write_anyway, write_once

T = TypeVar("T")


class Versioned(NamedTuple, Generic[T]):
    """A value, and which one it is: the node's version, and the zxid of the write (its mzxid)."""

    value: T
    version: int
    zxid: int


class Shared(LongLived[S, Versioned[T]], Generic[S, T]):
    """Base of the shared values; each says in which form its value is written."""

    _form: Form[T]

    def __init__(self, session: S, path: str, *, seed: T) -> None:
        super().__init__(session, path)
        self._form.check(seed)
        self._seed = self._form.pack(self.path, seed)

    @property
    def value(self) -> T:
        """The value as it is followed, without asking. Raises NotStarted before the start, and
        CorruptData while the node holds no such value."""
        return self.versioned.value

    @property
    def versioned(self) -> Versioned[T]:
        """The same with its version, for `try_set`. Raises NotStarted, CorruptData as `value`."""
        seen: Data | None = self.session.noted((self, "seen"))
        if seen is None:
            raise NotStarted(
                f"{self!r} follows nothing yet",
                path=self.path,
                hint="start it, or use `with`; get() asks the servers without a start",
            )
        return self._versioned(seen)

    @script
    def start(self) -> Script[None]:
        """Begin to follow the value; it is there when this returns. Raises AlreadyStarted if it was
        started before, NotStarted if it is closed meanwhile, SessionLost if sessions are lost more
        often than the session allows."""
        return super().start.of()

    def _prepare(self) -> Script[None]:
        first = yield from self._now()
        yield from self._follow(first)
        yield from Remember((self, "told"), first.stat.mzxid)

    @script
    def get(self) -> Script[T]:
        """The value now. Raises CorruptData if the node holds no such value, SessionLost if
        sessions are lost more often than the session's retry policy allows."""
        found = yield from self._now()
        value = self.read(found)
        yield from Mark("value", self.path, found.stat.mzxid, as_text(value))
        return value

    @script
    def get_versioned(self) -> Script[Versioned[T]]:
        """The same with its version, for `try_set`. Raises as `get`."""
        return self._versioned((yield from self._now()))

    @script
    def set(self, value: T) -> Script[None]:
        """Write a value, whatever is there. It is written a second time if the session is lost
        before the reply comes. Raises ValueError if it is no such value, and SessionLost as `get`.
        """
        self._form.check(value)
        return self._set(value)

    def _set(self, value: T) -> Script[None]:
        data = self._form.pack(self.path, value)
        zxid = yield from write_anyway(self.path, data, self.session.retry)
        yield from self._written(value, zxid)

    @script
    def try_set(self, versioned: Versioned[T], value: T) -> Script[bool]:
        """Write a value if nobody has written since the one that is given; whether it was written.

        Raises ValueError if it is no such value or the other no Versioned, VersionUsedUp if the
        node's version is -1 (servers would take that for any), OutcomeUnknown if the session was
        lost and nobody can know whether it was written, and SessionLost as `get`.
        """
        if not isinstance(versioned, Versioned):
            raise ValueError(
                "try_set takes what `versioned` or `get_versioned` gave, and then the new value, "
                f"not {versioned!r}"
            )
        self._form.check(value)
        return self._try_set(versioned, value)

    def _try_set(self, versioned: Versioned[T], value: T) -> Script[bool]:
        found = yield from begin_again(lambda: look(self.path), self.session.retry, SessionLost)
        asked = (versioned.version, versioned.zxid)
        if found is None or (found.stat.version, found.stat.mzxid) != asked:
            return False
        data = self._form.pack(self.path, value)
        zxid = yield from write_once(self.path, found, data, self.session.retry)
        if zxid:
            yield from self._written(value, zxid, before=as_text(versioned.value))
        return bool(zxid)

    # --- for recipes that use one -----------------------------------------------------------

    def ensure(self, *, watch: bool = False) -> Script[Data]:
        """The node's data; the node is made if it is not there."""
        while True:
            try:
                return (yield from until_answered(Get(self.path, watch)))
            except NoNode:
                yield from create_or_there(Create(self.path, self._seed))

    def read(self, found: Data) -> T:
        """The value that these data say. Raises CorruptData if they are none."""
        return self._form.unpack(self.path, found)

    # --- following ----------------------------------------------------------------------------

    def _live(self) -> Script[None]:
        hidden = False
        while True:
            try:
                found = yield from self.ensure(watch=True)
                hidden = False
            except NoAuth:
                # We may not read it now, or not make it: look again when anything happens to it;
                # and at once, since that may have been before there was a watch.
                if hidden:
                    yield from Wait()
                yield from until_answered(Exists(self.path, watch=True))
                hidden = True
                continue
            yield from self._follow(found)
            told = (yield from Recall((self, "told"))) or 0
            if found.stat.mzxid > told:
                yield from Remember((self, "told"), found.stat.mzxid)
                yield from self._tell_of(found)
            yield from Wait()

    def _tell_of(self, found: Data) -> Script[None]:
        try:
            versioned = self._versioned(found)
        except CorruptData:
            return  # whoever asks for the value is told
        yield from Mark("value", self.path, versioned.zxid, as_text(versioned.value))
        yield from self._tell(versioned)

    def _follow(self, found: Data) -> Script[None]:
        """Take over what was read, unless something later was read before."""
        seen: Data | None = yield from Recall((self, "seen"))
        if seen is None or found.stat.mzxid > seen.stat.mzxid:
            yield from Remember((self, "seen"), found)

    def _written(self, value: T, zxid: int, before: str = "") -> Script[None]:
        """We wrote a value: where it is followed, it is not older than this from now on."""
        yield from Mark("value", self.path, zxid, as_text(value), before=before)
        if (yield from Recall((self, "seen"))) is not None:
            try:
                yield from self._follow((yield from self.ensure()))
            except SessionLost:
                return  # it is written; whoever follows it sees it in the next session

    def _now(self) -> Script[Data]:
        return begin_again(self.ensure, self.session.retry, SessionLost)

    def _versioned(self, found: Data) -> Versioned[T]:
        return Versioned(self.read(found), found.stat.version, found.stat.mzxid)


class SharedValue(Shared[S, bytes]):
    """Bytes in a node that everybody can read, set and follow (SharedValue). Raises ValueError if
    the seed is no bytes."""

    _form = RAW

    def __init__(self, session: S, path: str, *, seed: bytes = b"") -> None:
        super().__init__(session, path, seed=seed)
