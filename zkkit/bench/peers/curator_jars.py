"""Finding Java Curator on this machine, and compiling our program that drives it.

Debian's and Ubuntu's package `libcurator-recipes-java` brings the jars. The program is compiled
into $XDG_CACHE_HOME/zkkit, else ~/.cache/zkkit, once for each version of its source.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zkkit.ensemble.install import Java, find_java, find_zookeeper
from zkkit.errors import ZkkitError

SOURCES = Path(__file__).parent
"""The directory of our program's sources."""
MAIN_CLASS = "CuratorPeer"

_DEBIAN_JARS = Path("/usr/share/java")
_NEEDS = ("curator-recipes.jar", "curator-framework.jar", "curator-client.jar", "guava.jar")
_OLDEST_JAVA = "11"  # what the classes are compiled for, whatever the compiler
_PATIENCE = 120.0  # seconds for the compiler

_HINT = (
    "Debian, Ubuntu: apt-get install --no-install-recommends libcurator-recipes-java "
    "default-jdk-headless"
)


class CuratorMissing(ZkkitError):
    """Java Curator, or a compiler for Java, is not on this machine."""


@dataclass(frozen=True)
class Curator:
    """A Curator that can be run: the Java, its compiler, and all jars."""

    java: Java
    javac: Path
    version: str
    jars: tuple[Path, ...]

    @property
    def class_path(self) -> str:
        """All jars, as Java wants them."""
        return os.pathsep.join(map(str, self.jars))


def find_curator(directory: Path = _DEBIAN_JARS) -> Curator:
    """The Curator in a directory of jars, or CuratorMissing with the way out; JavaMissing and
    ZooKeeperMissing where one of these is not there."""
    missing = [name for name in _NEEDS if not (directory / name).exists()]
    if missing:
        raise CuratorMissing(
            f"no Java Curator in {directory}: {', '.join(missing)} missing", hint=_HINT
        )
    java = find_java()
    zookeeper = find_zookeeper()
    jars = tuple(directory / name for name in _NEEDS)
    return Curator(java, _compiler(java), _version(jars[0]), (*jars, *zookeeper.jars))


def compiled(curator: Curator, sources: Path = SOURCES) -> Path:
    """The directory of the compiled program; compiled now if these sources never were. Raises
    ZkkitError if they do not compile."""
    files = sorted(sources.glob("*.java"))
    texts = (f"{file.name}\n{file.read_text()}" for file in files)
    about = "\n".join((*texts, curator.version, _OLDEST_JAVA))
    mark = hashlib.sha256(about.encode()).hexdigest()[:16]
    target = _cache() / f"curator-peer-{mark}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place when whole: two processes may compile at once, and one may be killed.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="compiling-") as work:
        made = Path(work, "classes")
        _compile(curator, files, made)
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return target


def _compile(curator: Curator, files: Sequence[Path], into: Path) -> None:
    flags = ["--release", _OLDEST_JAVA, "-cp", curator.class_path]
    command = [str(curator.javac), *flags, "-d", str(into), *map(str, files)]
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)
    except subprocess.CalledProcessError as error:
        raise ZkkitError(
            f"{files[0].parent} does not compile against Curator {curator.version}:\n"
            f"{error.stderr.strip()}",
            hint="zkkit was tried with Curator 5.4.0",
        ) from error


def _compiler(java: Java) -> Path:
    """The javac of this Java, else the one on PATH."""
    beside = java.path.resolve().with_name("javac")
    found = beside if beside.exists() else shutil.which("javac")
    if found is None:
        raise CuratorMissing(f"Java {java.version} ({java.path}) has no compiler", hint=_HINT)
    return Path(found)


def _version(jar: Path) -> str:
    """The version of a jar. Debian gives the same file a second name, which says it."""
    numbered = next(jar.parent.glob(f"{jar.stem}-[0-9]*.jar"), None)
    return numbered.stem.rpartition("-")[2] if numbered else "unknown"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "zkkit"
