"""A store outside ZooKeeper: what a lock protects, and cannot protect from a holder that is late.

It takes what it is asked at once, whatever has become of the session of whoever asks. Shown a token
it remembers the greatest one, and refuses smaller ones. In the model it is a node, so that stories
show it, with the data `<greatest token>:<value>`; nobody reaches it through a session.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Set, Step
from .state import Draft, Fact
from .tree import apply


@dataclass(frozen=True, slots=True)
class ReadOutside(Step["bytes | None"]):
    """Read the store; None: refused, since it has seen a greater token."""

    path: str
    token: int | None = None


@dataclass(frozen=True, slots=True)
class WriteOutside(Step[bool]):
    """Write the store; false: refused, since it has seen a greater token."""

    path: str
    value: bytes
    token: int | None = None


def value_in_store(data: bytes) -> bytes:
    """The value in the data of a store's node."""
    return data.partition(b":")[2]


def ask_store(draft: Draft, actor: int, step: ReadOutside | WriteOutside) -> bytes | bool | None:
    """What the store does and answers."""
    data = draft.tree.nodes[step.path].data
    seen, value = int(data.partition(b":")[0] or b"0"), value_in_store(data)
    token = seen if step.token is None else step.token
    outcome: bytes | bool | None
    if token < seen:
        outcome = None if isinstance(step, ReadOutside) else False
    else:
        outcome = value
        if isinstance(step, WriteOutside):
            outcome, value = True, step.value
        if token > seen or outcome is True:
            after = Set(step.path, b"%d:%b" % (token, value))
            draft.tree = apply(draft.tree, after, 0).tree
    draft.facts.append(Fact("applied", actor, step, outcome))
    return outcome
