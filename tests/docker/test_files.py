"""The compose files and the Dockerfile say the same as the code. Needs no engine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from zkkit.ensemble import FAST_START, config, containers, engine

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker" / "compose.yml").read_text(encoding="utf-8")
SERVER = ROOT / "docker" / "server.sh"


def test_files_are_found_in_a_checkout() -> None:
    """The files used are those of the top-level directory docker/."""
    assert containers.files() == ROOT / "docker"
    for name in (containers.COMPOSE_FILE, containers.MEMORY_FILE, "Dockerfile", "server.sh"):
        assert (containers.files() / name).is_file()


def test_flags_by_hand_are_those_of_an_ensemble() -> None:
    """`docker compose up` without us gives servers the flags that DockerEnsemble gives them."""
    match = re.search(r"\$\{ZKKIT_JVMFLAGS:-(.*)\}", COMPOSE)
    assert match
    assert match[1].split() == [*FAST_START, *config.PROPERTIES, *containers.PROPERTIES]


def test_image_by_hand_is_the_official_one() -> None:
    """The default image is the same in the compose file and in the code."""
    assert f"image: ${{ZKKIT_IMAGE:-{engine.OFFICIAL}}}" in COMPOSE


def test_all_ports_are_on_loopback() -> None:
    """No port is published to any other address."""
    published = re.findall(r'ports: \["(.*?)"\]', COMPOSE)
    assert len(published) == containers.SIZE
    assert all(each.startswith("127.0.0.1:") for each in published)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({}, {"tickTime=2000", "server.1=localhost:2888:3888;2181", "maxClientCnxns=60"}),
        (
            {
                "ZOO_MY_ID": "2",
                "ZOO_SERVERS": "server.1=a:2888:3888;2181 server.2=b:2888:3888;2181",
                "ZOO_TICK_TIME": "500",
                "ZOO_INIT_LIMIT": "20",
                "ZOO_SYNC_LIMIT": "10",
                "ZOO_MAX_CLIENT_CNXNS": "0",
                "ZOO_STANDALONE_ENABLED": "false",
                "ZOO_ADMINSERVER_ENABLED": "false",
                "ZOO_4LW_COMMANDS_WHITELIST": "*",
                "ZOO_CFG_EXTRA": "maxSessionTimeout=60000 quorumListenOnAllIPs=true",
            },
            {
                "dataDir=/data",
                "dataLogDir=/datalog",
                "server.1=a:2888:3888;2181",
                "server.2=b:2888:3888;2181",
                "tickTime=500",
                "initLimit=20",
                "syncLimit=10",
                "maxClientCnxns=0",
                "standaloneEnabled=false",
                "admin.enableServer=false",
                "4lw.commands.whitelist=*",
                "maxSessionTimeout=60000",
                "quorumListenOnAllIPs=true",
            },
        ),
    ],
    ids=["nothing", "everything"],
)
def test_image_obeys_the_official_variables(
    given: dict[str, str], written: set[str], tmp_path: Path
) -> None:
    """server.sh turns the official image's variables into lines of zoo.cfg."""
    # The same script with its directories moved, a Java that only tells its arguments, no root.
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    script = SERVER.read_text().replace('"$(id -u)" -eq 0', "1 -eq 0")
    for name in ("conf", "data"):
        (tmp_path / name).mkdir()
        script = re.sub(rf"(?<![=\w])/{name}(?=[/:\s])", f"{tmp_path}/{name}", script)
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "JVMFLAGS": "-Xmx64m -Da=b", **given},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert written <= set((tmp_path / "conf" / "zoo.cfg").read_text().splitlines())
    assert (tmp_path / "data" / "myid").read_text().strip() == given.get("ZOO_MY_ID", "1")
    assert done.stdout.split()[:2] == ["-Xmx64m", "-Da=b"]
