"""Finding a Java and a ZooKeeper on this machine.

ZooKeeper is looked for in this order: the given directory, $ZOOKEEPER_HOME, Debian's `zookeeper`
package, Homebrew's formula. A directory that was named but holds no ZooKeeper is an error: another
one is not taken silently in its place.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zkkit.ensemble.errors import JavaMissing, ZooKeeperMissing

_DEBIAN_JARS = Path("/usr/share/java")
_HOMEBREW_PREFIXES = ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew")

# Debian keeps the jars of all packages in one directory, so the needed ones are named. Most are
# in the class path of zookeeper.jar's manifest too; the logger's backend is not.
_DEBIAN_NEEDS = (
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "slf4j-api.jar",
    "slf4j-simple.jar",
    "snappy-java.jar",
    "metrics-core.jar",
    "commons-cli.jar",
    "commons-io.jar",
    "netty-buffer.jar",
    "netty-codec.jar",
    "netty-common.jar",
    "netty-handler.jar",
    "netty-resolver.jar",
    "netty-transport.jar",
    "netty-transport-native-epoll.jar",
    "netty-transport-native-unix-common.jar",
)

_SERVER_JAR = re.compile(r"zookeeper(-\d[\w.-]*)?\.jar")
_JAR_VERSION = re.compile(r"zookeeper-(\d+(?:\.\d+)+[\w.-]*)\.jar")
_MAVEN_PROPERTIES = "META-INF/maven/org.apache.zookeeper/zookeeper/pom.properties"
_JAVA_VERSION = re.compile(r'version "([^"]+)"')

_ZOOKEEPER_HINT = (
    "install it (Debian, Ubuntu: apt-get install zookeeper; macOS: brew install zookeeper) "
    "or unpack a release from zookeeper.apache.org and set ZOOKEEPER_HOME to its directory"
)
_JAVA_HINT = (
    "install one (Debian, Ubuntu: apt-get install default-jre-headless; macOS: brew install "
    "openjdk), or set JAVA_HOME to its directory"
)


@dataclass(frozen=True)
class ZooKeeper:
    """An install of ZooKeeper: where it is, which version, and the jars a server needs."""

    home: Path
    version: str
    jars: tuple[Path, ...]


@dataclass(frozen=True)
class Java:
    """A Java that runs."""

    path: Path
    version: str


def find_zookeeper(home: str | os.PathLike[str] | None = None) -> ZooKeeper:
    """The ZooKeeper to run. Raises ZooKeeperMissing, with what to do about it."""
    named = home or os.environ.get("ZOOKEEPER_HOME")
    if named:
        found = _look_in(Path(named).expanduser().absolute())
        if found is None:
            whose = "zookeeper_home" if home else "ZOOKEEPER_HOME"
            raise ZooKeeperMissing(
                f"no ZooKeeper in {named}, which {whose} names (looked for lib/zookeeper-*.jar)",
                hint=f"correct or remove it; to get one, {_ZOOKEEPER_HINT}",
            )
        return found
    for found in (_debian(_DEBIAN_JARS), *map(_look_in, _homebrew("zookeeper/libexec"))):
        if found is not None:
            return found
    raise ZooKeeperMissing("no ZooKeeper found on this machine", hint=_ZOOKEEPER_HINT)


def find_java(java: str | os.PathLike[str] | None = None) -> Java:
    """The Java to run; it is started once, to be sure that it works. Raises JavaMissing, with what
    to do about it."""
    tried = []
    for path in _java_candidates(java):
        tried.append(str(path))
        version = _java_version(path)
        if version is not None:
            return Java(path.absolute(), version)
    where = f" (tried {', '.join(tried)})" if tried else " in JAVA_HOME or on PATH"
    raise JavaMissing(f"no Java that runs was found{where}", hint=_JAVA_HINT)


def _look_in(home: Path) -> ZooKeeper | None:
    """A release as unpacked (jars in lib/), or the home of Debian's package (jars beside it)."""
    jars = sorted((home / "lib").glob("*.jar"))
    server = next((jar for jar in jars if _SERVER_JAR.fullmatch(jar.name)), None)
    if server is not None:
        return ZooKeeper(home, _zookeeper_version(server), tuple(jars))
    if (home / "bin" / "zkServer.sh").exists():
        return _debian(home.parent / "java")
    return None


def _debian(directory: Path) -> ZooKeeper | None:
    server = directory / _DEBIAN_NEEDS[0]
    if not server.exists():
        return None
    jars = tuple(directory / name for name in _DEBIAN_NEEDS if (directory / name).exists())
    return ZooKeeper(directory, _zookeeper_version(server), jars)


def _homebrew(below: str) -> Iterator[Path]:
    """Where Homebrew would have put `below`, in each of its usual prefixes."""
    prefixes = (os.environ.get("HOMEBREW_PREFIX"), *_HOMEBREW_PREFIXES)
    for prefix in dict.fromkeys(filter(None, prefixes)):
        yield Path(prefix, "opt", below)


def _zookeeper_version(jar: Path) -> str:
    """What the jar's name says; else (Debian's has none) what Maven wrote into the jar."""
    if match := _JAR_VERSION.fullmatch(jar.name):
        return match[1]
    try:
        with zipfile.ZipFile(jar) as archive:
            properties = archive.read(_MAVEN_PROPERTIES).decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return "unknown"
    match = re.search(r"^version=(\S+)", properties, re.MULTILINE)
    return match[1] if match else "unknown"


def _java_candidates(java: str | os.PathLike[str] | None) -> Iterator[Path]:
    if java is not None:
        yield Path(shutil.which(java) or java)
        return
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if found := shutil.which("java"):
        yield Path(found)
    # Homebrew's openjdk, which its zookeeper needs, is not linked into PATH.
    yield from (path for path in _homebrew("openjdk/bin/java") if path.exists())


def _java_version(path: Path) -> str | None:
    """Its version, or None if it does not run: macOS has a `java` that only says to get one."""
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _JAVA_VERSION.search(answer.stderr)
    return match[1] if match else "unknown"
