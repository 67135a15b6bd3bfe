"""The settings of a lab server: zoo.cfg, system properties, JVM flags, logging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from zkkit.ensemble.fourletter import LOOPBACK
from zkkit.ensemble.install import Java, ZooKeeper

SERVER_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

#: Three small servers on two cores, up quickly. A benchmark gives flags without
#: TieredStopAtLevel, so that the optimising compiler takes part.
FAST_START: tuple[str, ...] = (
    "-Xms64m",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
)

#: Always on, whatever the other flags are.
PROPERTIES: tuple[str, ...] = (
    "-XX:-UsePerfData",  # its file in the temp directory would survive a SIGKILL
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    "-Dzookeeper.extendedTypesEnabled=true",  # TTL nodes
    "-Dznode.container.checkIntervalMs=1000",  # empty containers go within a second, not a minute
    "-Dzookeeper.preAllocSize=4096",  # kB; the default 64 MB per log file is a lot of memory
    "-Dzookeeper.jmx.log4j.disable=true",
    # A node without a majority asks its peers ever more rarely, in the end once a minute. After
    # healing nobody wants to wait for that.
    "-Dzookeeper.fastleader.maxNotificationInterval=2000",  # ms
)

# Releases have logged through log4j, logback and (Debian) slf4j's simple logger: one file each.
_LOGGING = {
    "simplelogger.properties": (
        "org.slf4j.simpleLogger.defaultLogLevel=info\n"
        "org.slf4j.simpleLogger.showDateTime=true\n"
        "org.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS\n"
    ),
    "log4j.properties": (
        "log4j.rootLogger=INFO, CONSOLE\n"
        "log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} [%t] %-5p %c{1} - %m%n\n"
    ),
    "logback.xml": (
        "<configuration>\n"
        '  <appender name="CONSOLE" class="ch.qos.logback.core.ConsoleAppender">\n'
        "    <encoder><pattern>%d{ISO8601} [%t] %-5p %logger{0} - %m%n</pattern></encoder>\n"
        "  </appender>\n"
        '  <root level="INFO"><appender-ref ref="CONSOLE"/></root>\n'
        "</configuration>\n"
    ),
}


def zoo_cfg(client_port: int, peers: Mapping[int, Sequence[int]], data: Path, tick_ms: int) -> str:
    """The zoo.cfg of one node; `peers` gives (quorum, election) of every node, as it sees them."""
    lines = [
        f"dataDir={data}",
        f"clientPort={client_port}",
        f"clientPortAddress={LOOPBACK}",
        f"tickTime={tick_ms}",
        "initLimit=20",
        "syncLimit=10",
        "maxSessionTimeout=60000",
        "maxClientCnxns=0",
        "4lw.commands.whitelist=*",
        "admin.enableServer=false",
        "quorumListenOnAllIPs=false",
    ]
    if len(peers) > 1:
        lines += [
            f"server.{peer}={LOOPBACK}:{quorum}:{election}"
            for peer, (quorum, election) in peers.items()
        ]
    return "\n".join(lines) + "\n"


def write_node(
    directory: Path,
    node: int,
    client_port: int,
    peers: Mapping[int, Sequence[int]],
    tick_ms: int,
) -> None:
    """Write all that a node reads when it starts into `directory`."""
    data = directory / "data"
    data.mkdir(parents=True)
    (data / "myid").write_text(f"{node}\n")
    (directory / "zoo.cfg").write_text(zoo_cfg(client_port, peers, data, tick_ms))
    conf = directory / "conf"
    conf.mkdir()
    for name, text in _LOGGING.items():
        (conf / name).write_text(text)


def command(
    directory: Path, java: Java, zookeeper: ZooKeeper, jvm_flags: Sequence[str]
) -> list[str]:
    """The command line that runs the node written into `directory`."""
    classpath = ":".join(str(path) for path in (directory / "conf", *zookeeper.jars))
    return [
        str(java.path),
        *jvm_flags,
        *PROPERTIES,
        f"-Djava.io.tmpdir={directory}",
        f"-XX:ErrorFile={directory}/crash.log",
        "-cp",
        classpath,
        SERVER_CLASS,
        str(directory / "zoo.cfg"),
    ]
