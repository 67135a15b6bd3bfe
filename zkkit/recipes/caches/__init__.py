"""Caches, Curator's: local copies of nodes that follow the servers."""

from .base import CacheListener
from .cache import Cache
from .children_cache import ChildrenCache
from .content import CachedNode, CacheEvent, EventKind, Storage
from .node_cache import NodeCache
from .tree_cache import Selector, TreeCache

__all__ = [
    "Cache",
    "CacheEvent",
    "CacheListener",
    "CachedNode",
    "ChildrenCache",
    "EventKind",
    "NodeCache",
    "Selector",
    "Storage",
    "TreeCache",
]
