"""For those who write recipes: everything a recipe needs, from one place.

    from zkkit.recipe import Exists, Recipe, S, Script, timed_script, until_answered
    from zkkit.recipe import wait_for_change

    class Gate(Recipe[S]):
        @timed_script(otherwise=False)
        def wait(self, timeout: float | None = None) -> Script[bool]:
            while (yield from until_answered(Exists(self.path))) is not None:
                yield from wait_for_change(self.path)     # closed while its node is there
            return True

The rules of scripts, in short:

1. A script is a generator. It yields steps and is sent what they give; scripts use each other by
   `yield from`, and a recipe's methods by `yield from recipe.method.of(...)`.
2. Between two yields it is pure: no clock, chance, thread, I/O, user code or shared object. There
   are steps for these (Now, Random, Guid, Actor, Call, ...), and the session's table for what must
   outlive the script (Remember, Recall).
3. A fire means "look again", never news: the connection may have broken, or things have changed
   again. So whoever waits does so in a loop.
4. `ConnectionLost`: it is unknown whether the request was applied. What may be done twice is done
   again (`until_answered`); a create that must happen once is protected (`create_protected`).
5. `SessionLost`: the session that the script began in is over, and its ephemeral nodes with it.
6. `Cancelled` is thrown once, at any step that takes time: clean up, and let it pass. What must be
   removed is removed by `withdraw` or `delete_surely`, which nothing stops.
7. Requests fly together (`Together`) in one round trip, in order; others' writes may fall between.
8. A recipe removes no watches: the session does, when the script that set them has ended.
"""

# ruff: noqa: I001  (by subject)
# fmt: off

from .scripting import (
    AnySession, InSession, Recipe, Returnable, S, script, timed_script,
)
from .recipes.long_lived import LongLived
from .steps import (
    Script, Create, Delete, Get, Set, Exists, Children, Multi, Check, Sync, Watch, Together,
    Mode, Node, Data, Stat, Wait, Heard, Within, Fire, FireKind, Spawn, Spawned, Stop, Call, Notify,
    IfUntaken, Employ, Employment, Dismiss,
    Guid, Now, Random, SessionId, Actor, Remember, Recall, Post, Posted, Mark, Proved, StillHeld,
)
from .recipes.shared import (
    until_answered, list_children, read_all, answer, there, all_answered, until_known, applied,
    wait_for_change, saw_it_go, pause, begin_again, all_of, create_or_there, create_with_parents,
    create_protected, withdraw, delete_surely, surely, create_if_free, delete_ours,
)
from .recipes.line import (
    Line, Place, Turn, Rule, first_in_line, first_n, behind_last, behind_first,
)
from .paths import join, split, protected
from .errors import (
    ZkkitError, Cancelled, ConnectionLost, SessionLost, SessionClosed, TimedOut,
    NoNode, NodeExists, NotEmpty, BadVersion, NoAuth, MultiFailed, CorruptData, Unsupported,
)

__all__ = [
    # what a recipe is made of
    "Recipe", "LongLived", "InSession", "Returnable", "AnySession", "S", "Script", "script",
    "timed_script",
    # steps: requests, and what they give
    "Create", "Delete", "Get", "Set", "Exists", "Children", "Multi", "Check", "Sync", "Watch",
    "Together", "Mode", "Node", "Data", "Stat",
    # steps: waiting, and other actors
    "Wait", "Heard", "Within", "Fire", "FireKind", "Spawn", "Spawned", "Stop", "Call", "Notify",
    "IfUntaken", "Employ", "Employment", "Dismiss",
    # steps: the impure world, the session, and the process
    "Guid", "Now", "Random", "SessionId", "Actor", "Remember", "Recall", "Post", "Posted", "Mark",
    "Proved", "StillHeld",
    # shared scripts: asking and waiting
    "until_answered", "list_children", "read_all", "answer", "there", "all_answered", "until_known",
    "applied", "wait_for_change", "saw_it_go", "pause", "begin_again", "all_of",
    # shared scripts: creating and removing
    "create_or_there", "create_with_parents", "create_protected", "withdraw", "delete_surely",
    "surely", "create_if_free", "delete_ours",
    # standing in line
    "Line", "Place", "Turn", "Rule", "first_in_line", "first_n", "behind_last", "behind_first",
    # paths
    "join", "split", "protected",
    # errors that a script meets
    "ZkkitError", "Cancelled", "ConnectionLost", "SessionLost", "SessionClosed", "TimedOut",
    "NoNode", "NodeExists", "NotEmpty", "BadVersion", "NoAuth", "MultiFailed",
    # errors that a script raises
    "CorruptData", "Unsupported",
]
