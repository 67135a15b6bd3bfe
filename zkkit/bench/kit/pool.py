"""Sessions that are opened once and serve all runs of an experiment."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import zkkit
from zkkit import Session
from zkkit.errors import NoNode, ZkkitError
from zkkit.hosts import parse_hosts
from zkkit.record import Recorder
from zkkit.session.options import BUSY_TIMEOUT
from zkkit.steps import Children, Delete, Script, Sync

_GOODBYE = 2.0  # seconds to remove our nodes at the end


class SessionPool(AbstractContextManager["SessionPool"]):
    """One session for the gate and one for each of `size` contenders, below one root node.

    Whatever ends it, the sessions are closed and the root is removed.
    """

    def __init__(self, hosts: str, size: int) -> None:
        self.root = f"/zkkit-bench-{uuid.uuid4().hex[:12]}"
        self.contenders: list[Session] = []
        self.gate = zkkit.connect(hosts, timeout=BUSY_TIMEOUT)
        try:
            self.gate.create(self.root)
            while len(self.contenders) < size:
                self.contenders.append(zkkit.connect(hosts, timeout=BUSY_TIMEOUT))
        except BaseException:
            self.close()
            raise

    @contextmanager
    def directory(self, name: str) -> Iterator[str]:
        """A fresh node to put a lock under; after a failure `close` removes it.

        It is persistent: the server could reap an empty container in the middle of a run, and
        making it again would count as creates.
        """
        path = f"{self.root}/{name}"
        self.gate.create(path)
        yield path
        self.gate.delete(path)

    def close(self) -> None:
        """End all waits, close all sessions, remove our nodes. Closing twice is harmless."""
        # Together: a frozen server costs each of them its patience.
        with ThreadPoolExecutor(max_workers=32) as threads:
            list(threads.map(Session.close, self.contenders))
        try:
            self.gate.run(removal(self.root), timeout=_GOODBYE)
        except ZkkitError:
            pass  # the servers are gone, or were never there: nothing more can be done
        finally:
            self.gate.close()

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def recording(recorder: Recorder, sessions: Sequence[Session]) -> Iterator[None]:
    """Record these sessions for as long as the `with` block lasts."""
    for session in sessions:
        session.hooks.add(recorder)
    try:
        yield
    finally:
        for session in sessions:
            session.hooks.remove(recorder)


def wait_for_servers(hosts: str, path: str) -> None:
    """Wait until each server has what was written so far: one may lag."""
    for member in parse_hosts(hosts).of_each():
        with zkkit.connect(member, timeout=BUSY_TIMEOUT) as session:
            session.run(Sync(path))


def removal(path: str) -> Script[None]:
    """Delete a node and all below it. What sessions that are closed had goes with them; the sync is
    there to see that."""
    yield from Sync(path)
    try:
        for name in (yield from Children(path)):
            yield from removal(f"{path}/{name}")
        yield from Delete(path)
    except NoNode:
        return  # an empty container, which the server has removed
