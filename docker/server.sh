#!/bin/sh
#
# Writes zoo.cfg from the environment and runs one ZooKeeper server, as the user zookeeper.
#
#     ZOO_MY_ID                     this server's number                      (1)
#     ZOO_SERVERS                   "server.1=host:2888:3888;2181 server.2=…" (this one alone)
#     ZOO_TICK_TIME                 milliseconds                              (2000)
#     ZOO_INIT_LIMIT                ticks to join                             (5)
#     ZOO_SYNC_LIMIT                ticks a peer may be silent                (2)
#     ZOO_MAX_CLIENT_CNXNS          connections per client address, 0: any    (60)
#     ZOO_STANDALONE_ENABLED        may it serve alone                        (true)
#     ZOO_ADMINSERVER_ENABLED       the HTTP admin server                     (true)
#     ZOO_AUTOPURGE_PURGEINTERVAL   hours                                     (0)
#     ZOO_AUTOPURGE_SNAPRETAINCOUNT snapshots                                 (3)
#     ZOO_4LW_COMMANDS_WHITELIST    four-letter words that are answered
#     ZOO_CFG_EXTRA                 further lines of zoo.cfg, with spaces between them
#     JVMFLAGS                      flags for Java
#
# A /conf/zoo.cfg that is there already is used as it is. With arguments, they are run instead.

set -eu

if [ "$#" -gt 0 ]; then
    exec "$@"
fi

if [ "$(id -u)" -eq 0 ]; then
    # A volume may belong to root; the server must not.
    chown -R zookeeper:zookeeper /data /datalog /conf
    exec setpriv --reuid=zookeeper --regid=zookeeper --clear-groups /bin/sh "$0"
fi

if [ ! -e /conf/zoo.cfg ]; then
    {
        echo dataDir=/data
        echo dataLogDir=/datalog
        echo "tickTime=${ZOO_TICK_TIME:-2000}"
        echo "initLimit=${ZOO_INIT_LIMIT:-5}"
        echo "syncLimit=${ZOO_SYNC_LIMIT:-2}"
        echo "maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}"
        echo "standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}"
        echo "admin.enableServer=${ZOO_ADMINSERVER_ENABLED:-true}"
        echo "autopurge.purgeInterval=${ZOO_AUTOPURGE_PURGEINTERVAL:-0}"
        echo "autopurge.snapRetainCount=${ZOO_AUTOPURGE_SNAPRETAINCOUNT:-3}"
        if [ -n "${ZOO_4LW_COMMANDS_WHITELIST:-}" ]; then
            echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
        fi
        set -f # a * in a value is no file name
        for line in ${ZOO_SERVERS:-server.1=localhost:2888:3888;2181} ${ZOO_CFG_EXTRA:-}; do
            echo "$line"
        done
        set +f
    } >/conf/zoo.cfg
fi

if [ ! -e /data/myid ]; then
    echo "${ZOO_MY_ID:-1}" >/data/myid
fi

# zookeeper.jar's manifest names the other jars it needs; the logger's backend is not among them.
jars=/usr/share/java
classpath=/conf:$jars/zookeeper.jar:$jars/slf4j-simple.jar
cd /data
# shellcheck disable=SC2086  # one word per flag
exec java ${JVMFLAGS:-} -cp "$classpath" org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg
