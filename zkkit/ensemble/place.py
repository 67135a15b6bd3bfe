"""Where an ensemble's data lies, and what that place is made of."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Medium = Literal["memory", "disk"]

_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 256 * 1024 * 1024  # bytes; containers often get a /dev/shm of 64 MB, which soon is full
_IN_MEMORY = ("tmpfs", "ramfs")


@dataclass(frozen=True)
class DataLocation:
    """A directory to put data under, its filesystem, and what should be known about it."""

    parent: Path
    filesystem: str
    notes: tuple[str, ...] = ()


def choose(medium: Medium, directory: str | os.PathLike[str] | None) -> DataLocation:
    """Where the data of a medium goes; a directory that the caller names is used as it is."""
    notes = []
    if directory is not None:
        parent = Path(directory).absolute()
        parent.mkdir(parents=True, exist_ok=True)
    elif medium == "memory" and _has_room(_SHARED_MEMORY):
        parent = _SHARED_MEMORY
    else:
        parent = Path(tempfile.gettempdir()).absolute()
    filesystem = filesystem_of(parent)
    if (medium == "memory") != (filesystem in _IN_MEMORY) and filesystem != "unknown":
        notes.append(f"medium is {medium!r} but the data lies in {parent}, which is {filesystem}")
    if medium == "memory" and filesystem == "unknown":
        notes.append(f"medium is 'memory' but the data lies in {parent}, which may be a disk")
    return DataLocation(parent, filesystem, tuple(notes))


def filesystem_of(path: Path) -> str:
    """The type of the filesystem that holds `path` ("tmpfs", "ext4"), or "unknown"."""
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:  # not Linux
        return "unknown"
    real = path.resolve()
    best, kind = -1, "unknown"
    for fields in (line.split(" ") for line in mounts):
        point = Path(fields[1].replace("\\040", " "))
        # The longest mount point wins; of two on one point, the later one, which covers the other.
        if real.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind


def _has_room(path: Path) -> bool:
    return os.access(path, os.W_OK) and shutil.disk_usage(path).free >= _ROOM
