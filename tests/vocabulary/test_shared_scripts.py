"""The shared scripts against a small world that can lag, lose replies and change sessions.

Real servers do not lag on request. A script is a function of what it is sent, so a dozen lines of
world are enough to put the question. (Real servers answer the others: tests/locks.)
"""

from __future__ import annotations

from typing import Any

import pytest

from zkkit.errors import (
    ConnectionLost,
    NoAuth,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NoRoot,
    SessionLost,
    TimedOut,
    Unimplemented,
    Unreachable,
    ZkkitError,
)
from zkkit.paths import split
from zkkit.recipes.shared import (
    begin_again,
    create_protected,
    create_with_parents,
    delete_surely,
    withdraw,
)
from zkkit.retry import NTimes, UntilElapsed
from zkkit.steps import (
    Children,
    Create,
    Delete,
    Exists,
    Mark,
    Mode,
    Node,
    Now,
    Random,
    SessionId,
    Stat,
    Sync,
    Together,
    Within,
)

ME, OTHER = 7, 8


class World:
    """Nodes with owners. What is hidden is on the leader, but not yet on our follower."""

    def __init__(self, *paths: str) -> None:
        self.owners: dict[str, int] = dict.fromkeys(paths, 0)
        self.modes: dict[str, Mode] = {}
        self.hidden: set[str] = set()
        self.lose: list[type] = []
        self.session = ME
        self.flights = 0
        self.refuse: dict[str, ZkkitError] = {}

    def run(self, script: Any, limit: int = 50) -> Any:
        value: Any = None
        error: BaseException | None = None
        for _ in range(limit):
            try:
                step = script.send(value) if error is None else script.throw(error)
            except StopIteration as end:
                return end.value
            value, error = None, None
            try:
                value = self.take(step)
            except ZkkitError as raised:
                error = raised
        raise AssertionError("the script does not end")

    def take(self, step: Any) -> Any:
        if isinstance(step, SessionId):
            return self.session
        if isinstance(step, Mark):
            return None
        self.flights += 1
        if isinstance(step, Together):
            outcomes = [self.settled(each) for each in step.requests]
            first = next((o for o in outcomes if isinstance(o, ZkkitError)), None)
            if first is not None and not step.settle:
                raise first
            return tuple(outcomes)
        outcome = self.settled(step)
        if isinstance(outcome, ZkkitError):
            raise outcome
        return outcome

    def settled(self, step: Any) -> Any:
        try:
            outcome = self.apply(step)
        except ZkkitError as error:
            outcome = error
        if type(step) in self.lose:
            self.lose.remove(type(step))
            return ConnectionLost("lost")
        return outcome

    def apply(self, step: Any) -> Any:
        if isinstance(step, Create):
            return self.create(step)
        if isinstance(step, Sync):
            self.hidden.clear()
            return None
        if step.path not in self.owners or step.path in self.hidden:
            if isinstance(step, Exists):
                return None
            raise NoNode(step.path)
        if isinstance(step, Delete):
            del self.owners[step.path]
            return None
        if isinstance(step, Exists):
            return stat(self.owners[step.path])
        assert isinstance(step, Children)
        below = [p for p in self.owners if split(p)[0] == step.path and p not in self.hidden]
        return tuple(split(path)[1] for path in below)

    def create(self, step: Create) -> Node:
        if step.path in self.refuse:
            raise self.refuse[step.path]
        if step.mode is Mode.CONTAINER and "containers" in self.refuse:
            raise self.refuse["containers"]
        parent = split(step.path)[0]
        if parent != "/" and parent not in self.owners:
            raise NoNode(step.path)
        ephemeral = "EPHEMERAL" in step.mode.name
        path = step.path + f"{len(self.owners):010d}" if "SEQ" in step.mode.name else step.path
        if path in self.owners:
            raise NodeExists(path)
        self.owners[path] = self.session if ephemeral else 0
        self.modes[path] = step.mode
        return Node(path, stat(self.owners[path]))


def stat(owner: int) -> Stat:
    return Stat(1, 1, 0, 0, 0, 0, 0, owner, 0, 0, 1)


GUID = "11111111-2222-3333-4444-555555555555"
NAME = f"_c_{GUID}-lock-"


def protected(world: World, **options: Any) -> Any:
    return world.run(create_protected("/l", NAME, Children("/l"), data=b"", **options))


def test_a_lost_reply_makes_no_second_node():
    """The create was applied, its reply lost: the node is found by its guid."""
    world = World("/l")
    world.lose = [Create]
    node, names = protected(world)
    assert node.path in world.owners and len(world.owners) == 2
    assert split(node.path)[1] in names
    assert world.flights == 3


def test_a_lagging_follower_hides_nothing():
    """The follower we reconnect to does not show our node yet: without a sync we would make a
    second one and wait behind ourselves."""
    world = World("/l")
    world.lose = [Create]
    create = world.create

    def create_on_the_leader(step: Create) -> Node:
        node = create(step)
        world.hidden.add(node.path)
        return node

    world.create = create_on_the_leader  # type: ignore[method-assign]
    protected(world)
    assert len(world.owners) == 2


def test_a_node_of_another_session_is_not_ours():
    """After a change of session the old node may still be there: it is not taken (CURATOR-604)."""
    world = World("/l")
    world.owners[f"/l/_c_{GUID}-lock-0000000000"] = OTHER
    world.lose = [Create, Children]
    create = world.create
    calls = 0

    def lose_the_first_request(step: Create) -> Node:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionLost("never arrived")
        return create(step)

    world.create = lose_the_first_request  # type: ignore[method-assign]
    world.lose = []
    node, _ = protected(world)
    assert world.owners[node.path] == ME


def test_a_lost_listing_is_asked_for_again():
    """The node is there and known, only the listing was lost."""
    world = World("/l")
    world.lose = [Children]
    node, names = protected(world)
    assert len(world.owners) == 2 and split(node.path)[1] in names


def test_missing_parents_are_containers():
    """All missing levels are made in one further flight, as containers."""
    world = World()
    world.run(create_with_parents(Create("/a/b/c")))
    assert world.modes == {
        "/a": Mode.CONTAINER, "/a/b": Mode.CONTAINER, "/a/b/c": Mode.PERSISTENT
    }  # fmt: skip
    assert world.flights == 2


def test_plain_parents_on_request():
    """Whoever wants parents that stay gets them."""
    world = World()
    world.run(create_with_parents(Create("/a/b"), parents=Mode.PERSISTENT))
    assert world.modes["/a"] is Mode.PERSISTENT


def test_plain_parents_where_the_server_has_no_containers():
    """A server from before containers gets plain nodes."""
    world = World()
    world.refuse["containers"] = Unimplemented()
    world.run(create_with_parents(Create("/a/b")))
    assert world.modes["/a"] is Mode.PERSISTENT


def test_a_refused_parent_says_why():
    """It is the parent's refusal that is raised, not the missing node it caused."""
    world = World()
    world.refuse["/a"] = NoAuth("/a")
    with pytest.raises(NoAuth, match="/a"):
        world.run(create_with_parents(Create("/a/b")))


def test_an_ancestor_may_refuse_us():
    """No right to create above does not matter where the parent exists or can be made."""
    world = World("/a")
    world.refuse["/a"] = NoAuth("/a")
    (made,) = world.run(create_with_parents(Create("/a/b/c")))
    assert made.path == "/a/b/c"


@pytest.mark.parametrize("refusal", [NoAuth("/a/b"), NoChildrenForEphemerals("/a/b")], ids=repr)
def test_a_refusal_further_up_says_why(refusal):
    """Between the level that is refused and the node others are missing: it is asked once, and who
    is at fault is named."""
    world = World("/a")
    world.refuse["/a/b"] = refusal
    with pytest.raises(type(refusal)) as caught:
        world.run(create_with_parents(Create("/a/b/c/d/e")))
    assert caught.value.path == "/a" and "/a/b/c/d/e" in str(caught.value) and caught.value.hint
    assert world.flights == 2


@pytest.mark.parametrize("path", ["/a", "/a/b", "/a/b/c"])
def test_a_root_that_does_not_exist(path):
    """Even what is at the top has no parent: the session's chroot is missing."""
    world = World()
    world.refuse = {level: NoNode(level) for level in ("/a", "/a/b", "/a/b/c")}
    with pytest.raises(NoRoot, match=path):
        world.run(create_with_parents(Create(path)))
    assert world.flights == 2


def test_parents_that_are_reaped_again_and_again():
    """However often they vanish between being made and the node: it is tried again."""
    world = World()
    reaps, create = 20, world.create

    def reap_first(step: Create) -> Node:
        nonlocal reaps
        if step.path == "/a/b/c" and "/a/b" in world.owners and reaps:
            reaps -= 1
            del world.owners["/a/b"]
        return create(step)

    world.create = reap_first  # type: ignore[method-assign]
    (made,) = world.run(create_with_parents(Create("/a/b/c")))
    assert made.path == "/a/b/c" and not reaps


def test_no_second_node_where_containers_are_unknown():
    """The parents were made by another while we learnt that the server has no containers: what was
    created stays the only one."""
    world = World()
    world.refuse["containers"] = Unimplemented()
    create = world.create

    def made_by_another(step: Create) -> Node:
        if step.mode is Mode.CONTAINER:
            world.owners[step.path] = OTHER
        return create(step)

    world.create = made_by_another  # type: ignore[method-assign]
    (made,) = world.run(create_with_parents(Create("/a/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)))
    assert [path for path, owner in world.owners.items() if owner == ME] == [made.path]


def test_deleting_surely():
    """A lost reply to a delete is followed by another, until the node is gone."""
    world = World("/l", "/l/x")
    world.lose = [Delete, Delete]
    world.run(delete_surely("/l/x"))
    assert "/l/x" not in world.owners


def test_withdrawing_an_unknown_node():
    """No reply ever told us the name: it is found by the guid, even behind a lagging follower."""
    world = World("/l")
    path = f"/l/_c_{GUID}-lock-0000000000"
    world.owners[path] = ME
    world.hidden = {path}
    world.run(withdraw("/l", NAME, None))
    assert path not in world.owners


def test_withdrawing_when_the_session_is_over():
    """The node goes with its session: nothing more to do, and no error."""
    script = withdraw("/l", NAME, Node("/l/x", stat(ME)))
    assert isinstance(next(script), Delete)
    with pytest.raises(StopIteration):
        script.throw(SessionLost("over"))


LOST, OUT_OF_REACH = SessionLost("lost"), Unreachable("out of reach")


@pytest.mark.parametrize(
    ("failures", "gives_up"),
    [
        ([LOST, LOST, LOST, LOST], False),
        ([LOST, OUT_OF_REACH, LOST, OUT_OF_REACH], False),
        ([LOST, OUT_OF_REACH, OUT_OF_REACH], True),
        ([OUT_OF_REACH, OUT_OF_REACH, OUT_OF_REACH], True),
        ([NoNode("/l"), NoNode("/l"), NoNode("/l")], True),
    ],
)
@pytest.mark.parametrize("policy", [NTimes(2), UntilElapsed(0.5, 0.1)], ids=str)
def test_beginning_again_is_counted_in_a_row(policy, failures, gives_up):
    """A session that lived ends the row: two tries, or half a second, from there on. (Every attempt
    takes 0.2 s here.)"""
    left = list(failures)
    time = 0.0

    def attempt() -> Any:
        nonlocal time
        yield from ()
        time += 0.2
        if left:
            raise left.pop(0)
        return "done"

    def answer(step: Any) -> Any:
        if isinstance(step, Within):
            raise TimedOut("the pause is over")
        return {Now: time, Random: 0.5}[type(step)]

    script = begin_again(attempt, policy, SessionLost, NoNode)
    world = World()
    world.take = answer  # type: ignore[method-assign]
    if gives_up:
        with pytest.raises(type(failures[-1])):
            world.run(script)
        assert not left
    else:
        assert world.run(script) == "done"


def test_a_session_lost_during_the_pause():
    """It is one more failure, not the end."""
    failures, pauses = [LOST], [LOST, TimedOut("the pause is over")]

    def attempt() -> Any:
        yield from ()
        if failures:
            raise failures.pop()
        return "done"

    def answer(step: Any) -> Any:
        if isinstance(step, Within):
            raise pauses.pop(0)
        return 0.0

    world = World()
    world.take = answer  # type: ignore[method-assign]
    assert world.run(begin_again(attempt, NTimes(1), SessionLost)) == "done"
    assert not pauses
