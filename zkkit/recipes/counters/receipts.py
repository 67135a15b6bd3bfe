"""Writes that leave a receipt: after a lost reply one can find out whether they were applied.

    <path>                            persistent: a value, as Curator has it
    <path>-receipts                   a container: the server removes it when empty
      0000017f3a5b0001-0              ephemeral: the guid of the last write made with it
      0000017f3a5b0001-1              a second one, for two actors of that session at a time

A value has no room for the name of who wrote it: Curator's counters are eight or four bytes. So the
name is written beside it, in the same transaction:

    Multi(Set(<path>, value, version), Set(<path>-receipts/<session>-<number>, guid))

1. Take a receipt that no other write of this session is using: the session's table knows. (With one
   for all, the later of two writes under way would hide what became of the earlier.)
2. Send the transaction. Refused for its version: somebody else was quicker. Refused for want of
   the receipt, or of the levels above: create it with its levels, and send it again.
3. The connection broke: {Sync, Get the receipt} in one flight. Our guid is there, or the write was
   not applied and is sent again, for the same version.

Guarantees: each write is applied once or not at all, and the caller is told which. Receipts go with
their session; a session has no more of them for a value than it ever had writes under way at once.

If the session is lost before the reply came, the receipt goes with it. Then the value itself is
read, in the next session. Its version is the old one: the write is sent again for that version,
and if that is applied the first one was not and never will be. Its version is one higher and the
value is not ours: somebody else was quicker. Else nobody can know, and OutcomeUnknown says so. (It
says so, too, where the session was lost while its first receipt was being made.)

Not guaranteed: anything, if somebody deletes receipts of a living session by hand, or deletes and
creates the value itself while a reply is lost and the session is, too.

Cost: one flight. With the first receipt of a session two more, and one where the container is
missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import (
    MultiFailed,
    NoNode,
    OutcomeUnknown,
    SessionLost,
    VersionUsedUp,
)
from ...paths import join
from ...retry import RetryPolicy
from ...steps import (
    Create,
    Data,
    Get,
    Guid,
    Mode,
    Multi,
    Recall,
    Remember,
    Script,
    SessionId,
    Set,
    Sync,
)
from ..shared import (
    begin_again,
    check_overtaken,
    create_or_there,
    misses_its_node,
    read_all,
    there,
    until_answered,
    until_known,
)


def look(path: str) -> Script[Data | None]:
    """What the node holds; None if there is none."""
    try:
        return (yield from until_answered(Get(path)))
    except NoNode:
        return None


def write_once(path: str, found: Data | None, data: bytes, policy: RetryPolicy) -> Script[int]:
    """Write `data` in place of what was `found`. Gives the zxid of the write; 0 if somebody else
    was quicker. `policy`: how often to begin again where sessions are lost.

    Raises OutcomeUnknown if nobody can know, VersionUsedUp if there is no version to write for."""
    replacing = _replacing(path, found, data)
    try:
        return (yield from _commit(path, replacing))
    except SessionLost as lost:
        try:
            return (
                yield from begin_again(
                    lambda: _commit_in_doubt(path, found, replacing), policy, SessionLost
                )
            )
        except SessionLost:
            raise _unknown(path) from lost


def write_anyway(path: str, data: bytes, policy: RetryPolicy) -> Script[int]:
    """Write `data`, whatever is there; gives the zxid of the write. Written again, in place of what
    others wrote meanwhile, only if the session was lost before the reply came."""

    def attempt() -> Script[int]:
        while True:
            zxid = yield from _commit(path, Set(path, data))
            zxid = zxid or (yield from _commit(path, Create(path, data)))
            if zxid:
                return zxid

    return begin_again(attempt, policy, SessionLost)


def _replacing(path: str, found: Data | None, data: bytes) -> Create | Set:
    if found is None:
        return Create(path, data)
    if found.stat.version == -1:
        raise VersionUsedUp(
            f"the version of {path} has come to -1, which servers take for any version: nobody "
            f"can write it on condition that nobody else did",
            path=path,
            hint="write it once whatever is there (force_set, set): that makes its version 0",
        )
    return Set(path, data, found.stat.version)


def _commit_in_doubt(path: str, found: Data | None, replacing: Create | Set) -> Script[int]:
    """The same write, once more, after the session of the first was lost."""
    while True:
        now = yield from look(path)
        if not _untouched(found, now):
            if _anothers(found, now, replacing.data):
                return 0
            raise _unknown(path)
        zxid = yield from _commit(path, replacing)
        if zxid:
            return zxid  # so the first was not applied, and never will be


def _untouched(found: Data | None, now: Data | None) -> bool:
    """Whether nobody has written since: neither we nor others."""
    if found is None or now is None:
        return found is now
    return (now.stat.czxid, now.stat.version) == (found.stat.czxid, found.stat.version)


def _anothers(found: Data | None, now: Data | None, ours: bytes) -> bool:
    """Whether somebody else surely wrote what we wanted to replace."""
    if found is None or now is None:
        return False
    next_one = (now.stat.czxid, now.stat.version) == (found.stat.czxid, found.stat.version + 1)
    return next_one and now.data != ours


def _unknown(path: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the session was lost before it was known whether {path} was written, and it has been "
        f"written since, by us or by others",
        path=path,
        hint="read the value and decide; to write again may be to write twice",
    )


# --- one write, with a receipt -------------------------------------------------------------------


class Receipt(NamedTuple):
    """A node of this session in which a write leaves its guid."""

    session: int
    number: int

    def path(self, of: str) -> str:
        """Where it is, for writes of this value."""
        return join(f"{of}-receipts", f"{self.session & 0xFFFF_FFFF_FFFF_FFFF:016x}-{self.number}")


def _commit(path: str, write: Create | Set) -> Script[int]:
    """The zxid of this write; 0 if the node was not as it has to be."""
    receipt = yield from _take(path)
    try:
        return (yield from _send(path, write, receipt.path(path)))
    finally:
        yield from _give_back(path, receipt)


def _send(path: str, write: Create | Set, receipt: str) -> Script[int]:
    guid = (yield from Guid()).encode()

    def left() -> Script[tuple[Any, ...] | None]:
        _, found = yield from read_all(Sync(path), Get(receipt))
        return (None, found.stat) if there(found) is not None and found.data == guid else None

    while True:
        try:
            done: Any = yield from until_known(Multi((write, Set(receipt, guid))), left)
            return done[1].mzxid  # type: ignore[no-any-return]
        except MultiFailed as refused:
            wanting = refused.index == 1 or isinstance(write, Create)
            if not (wanting and misses_its_node(refused)):
                check_overtaken(refused)
                return 0
            # With all levels above it, which are those above the value: but not their root.
            yield from create_or_there(Create(receipt, mode=Mode.EPHEMERAL))


def _take(path: str) -> Script[Receipt]:
    """A receipt that no write of this session is using."""
    while not (session := (yield from SessionId())):
        yield from until_answered(Sync(path))  # between two sessions: wait for the next
    taken = (yield from Recall(_key(path))) or ()
    number = 0
    while (session, number) in taken:
        number += 1
    yield from Remember(_key(path), (*taken, Receipt(session, number)))
    return Receipt(session, number)


def _give_back(path: str, receipt: Receipt) -> Script[None]:
    taken = yield from Recall(_key(path))
    kept = tuple(each for each in taken if each != receipt)
    yield from Remember(_key(path), kept or None)


def _key(path: str) -> tuple[str, str]:
    """Where the session's table has the receipts in use."""
    return ("receipts in use", path)
