"""The numbers of ZooKeeper's requests, and what each kind of request is called. Pure.

The server calls them opcodes. Some kinds have several: a create that is answered with a stat has
another number than one that is not, and so has one that makes a container.
"""

from __future__ import annotations

CREATE, CREATE2, CREATE_CONTAINER, CREATE_TTL = 1, 15, 19, 21
DELETE, EXISTS, GET, SET, CHILDREN, CHILDREN2, SYNC, CHECK, MULTI = 2, 3, 4, 5, 8, 12, 9, 13, 14
REMOVE_WATCHES, ADD_WATCH = 18, 106
PING, AUTH, CLOSE = 11, 100, -11

OPERATIONS: dict[str, tuple[int, ...]] = {
    "create": (CREATE, CREATE2, CREATE_CONTAINER, CREATE_TTL),
    "delete": (DELETE, 20),  # 20: of a container, by the server itself
    "exists": (EXISTS,),
    "get": (GET,),
    "set": (SET,),
    "get_acl": (6,),
    "set_acl": (7,),
    "children": (CHILDREN, CHILDREN2),  # without and with the parent's stat
    "sync": (SYNC,),
    "ping": (PING,),
    "check": (CHECK,),
    "multi": (MULTI,),
    "reconfig": (16,),
    "check_watches": (17,),
    "remove_watches": (REMOVE_WATCHES,),
    "multi_read": (22,),
    "auth": (AUTH,),
    "set_watches": (101, 105),
    "sasl": (102,),
    "add_watch": (ADD_WATCH,),
    "close": (CLOSE,),
}
"""All numbers, by the name of the kind."""

NAMES = {number: name for name, numbers in OPERATIONS.items() for number in numbers}
"""The name of the kind, by number."""

CREATES = frozenset(OPERATIONS["create"])
WRITES = CREATES | {DELETE, SET, MULTI}
