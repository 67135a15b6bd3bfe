#!/usr/bin/env bash
#
# A container engine of our own, for tests on a machine that has none. As root on Debian.
#
#     tools/docker-engine.sh start             start one, with an image to run; prints how to use it
#     tools/docker-engine.sh stop              end it and remove everything it made
#     tools/docker-engine.sh run COMMAND...    run a command with the engine that answers; where
#                                              none does, with one of our own that ends afterwards
#     tools/docker-engine.sh image             build the image (docker/Dockerfile) where an engine
#                                              answers; its base by debootstrap if none can be pulled
#
# What is missing (docker.io, docker-compose, debootstrap) is installed by apt-get and written down
# in .setup/installed.txt. The engine has a socket, a data directory and processes of its own, and
# touches no other engine. `start` talks to stderr, so that this works:
#
#     eval "$(tools/docker-engine.sh start)"     # sets DOCKER_HOST

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly image=zkkit-zookeeper base=zkkit-debian suite=bookworm
readonly state=.setup outside=.setup/installed.txt note=.setup/engine
export LC_ALL=C

say() { printf '%s\n' "$*" >&2; }

stop_here() {
    say "docker-engine: $*"
    exit 1
}

# phase "Sentence" command...: a line with the seconds; what the command says only if it fails
phase() {
    local sentence=$1 started=$SECONDS log
    shift
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" | sed 's/^/    | /' >&2
        rm -f "$log"
        stop_here "$sentence: failed after $((SECONDS - started)) s."
    fi
    rm -f "$log"
    say "$sentence: done in $((SECONDS - started)) s."
}

answers() { timeout 5 docker version >/dev/null 2>&1; }

ours() { # the directory of our engine, if it runs
    local where
    [ -s "$note" ] || return 1
    where=$(cat "$note")
    [ -S "$where/docker.sock" ] && DOCKER_HOST=unix://$where/docker.sock answers && printf '%s\n' "$where"
}

can_start() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

# ------------------------------------------------------------------ what it needs

packages_for() { # the packages whose commands are missing
    command -v dockerd >/dev/null || echo docker.io
    docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || echo docker-compose
    command -v iptables >/dev/null || echo iptables
    command -v debootstrap >/dev/null || echo debootstrap
}

get_packages() {
    local missing
    missing=$(packages_for)
    [ -n "$missing" ] || return 0
    mkdir -p "$state"
    printf '%s\n' "$missing" >>"$outside" # first, so that an interrupt leaves no package unmentioned
    sort -u -o "$outside" "$outside"
    phase "Reading apt's package lists" apt-get -q update
    # shellcheck disable=SC2086  # one word per package
    phase "Installing ${missing//$'\n'/ } by apt-get (as root)" \
        env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
}

# ------------------------------------------------------------------ the image

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

bootstrap() { # bootstrap DIRECTORY: a small Debian, imported as an image
    debootstrap --variant=minbase "$suite" "$1/root"
    tar -C "$1/root" -c . | docker import --change "LABEL zkkit.built=base" - "$base:$suite"
}

build_image() {
    local from=debian:$suite-slim work
    if has_image "$image"; then
        say "The image $image is there."
        return
    fi
    if ! has_image "$from"; then
        if has_image "$base:$suite" || ! timeout 20 docker pull -q "$from" >/dev/null 2>&1; then
            from=$base:$suite
        fi
    fi
    if ! has_image "$from"; then
        can_start || stop_here "no base image can be pulled, and to make one by debootstrap one must be root on Debian."
        get_packages
        work=$(mktemp -d)
        # shellcheck disable=SC2064  # this directory, whatever the variable is later
        trap "rm -rf '$work'" EXIT
        phase "Making a base image by debootstrap" bootstrap "$work"
        rm -rf "$work"
        trap - EXIT
    fi
    # The network of the host: our own engine has no other.
    phase "Building the image $image" \
        docker build --network host --force-rm --build-arg "BASE=$from" --tag "$image" docker
}

# ------------------------------------------------------------------ the engine

start() {
    local where
    if where=$(ours); then
        export DOCKER_HOST=unix://$where/docker.sock
        say "Our engine runs already."
    else
        can_start || stop_here "only root on Debian or Ubuntu can have an engine of its own. Start yours, then run this again."
        get_packages
        where=$(mktemp -d /tmp/zkkit-engine.XXXXXX) # short: a socket's path may have 107 characters
        mkdir -p "$state"
        printf '%s\n' "$where" >"$note"
        remember_network "$where"
        # No bridge of its own: compose makes the networks it needs, and takes them away.
        setsid dockerd --host "unix://$where/docker.sock" --data-root "$where/data" \
            --exec-root "$where/exec" --pidfile "$where/pid" --bridge none \
            >"$where/log" 2>&1 </dev/null &
        export DOCKER_HOST=unix://$where/docker.sock
        phase "Starting an engine" wait_for_engine "$!" || {
            tail -n 20 "$where/log" >&2
            stop
            exit 1
        }
    fi
    (build_image) || {
        stop
        exit 1
    }
    printf 'export DOCKER_HOST=%s\n' "$DOCKER_HOST"
}

wait_for_engine() { # wait_for_engine PID
    local _
    for _ in $(seq 150); do
        answers && return
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.2
    done
    return 1
}

stop() {
    local where pid _
    if [ ! -s "$note" ]; then
        say "There is no engine of ours."
        return
    fi
    where=$(cat "$note")
    if ours >/dev/null; then
        # A container that was left would keep its processes and its network.
        DOCKER_HOST=unix://$where/docker.sock docker ps -aq |
            DOCKER_HOST=unix://$where/docker.sock xargs -r docker rm -fv >/dev/null 2>&1 || true
        DOCKER_HOST=unix://$where/docker.sock docker network prune -f >/dev/null 2>&1 || true
    fi
    if [ -s "$where/pid" ] && pid=$(cat "$where/pid") && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ]; then
        kill "$pid"
        for _ in $(seq 150); do
            [ -e "/proc/$pid" ] || break
            sleep 0.2
        done
        [ ! -e "/proc/$pid" ] || kill -9 "$pid"
    fi
    # Mounts that an engine which was killed has left.
    awk -v where="$where/" 'index($2, where) == 1 { print $2 }' /proc/mounts | sort -r |
        xargs -r -n 1 umount -l 2>/dev/null || true
    forget_network "$where"
    rm -rf "$where"
    rm -f "$note"
    say "The engine has ended, and all it made is removed."
}

# An engine adds rules and a switch to the machine's network, and does not take them away.
remember_network() {
    iptables-save >"$1/rules" 2>/dev/null || true
    cat /proc/sys/net/ipv4/ip_forward >"$1/forward"
}

forget_network() {
    if [ -e "$1/rules" ] && ! grep -q DOCKER "$1/rules"; then
        iptables-save 2>/dev/null | grep -v DOCKER | iptables-restore 2>/dev/null || true
        iptables -P FORWARD "$(awk '$1 == ":FORWARD" { print $2; found = 1; exit } END { if (!found) print "ACCEPT" }' "$1/rules")" 2>/dev/null || true
    fi
    [ ! -e "$1/forward" ] || cat "$1/forward" >/proc/sys/net/ipv4/ip_forward
}

run() {
    local line
    if answers; then
        (build_image) # on an engine that was here already; the official image would do as well
    elif can_start; then
        trap stop EXIT
        trap 'exit 130' INT TERM
        line=$(start)
        eval "$line"
    else
        say "No engine answers, and only root on Debian can have one of its own: without containers."
        exec "$@"
    fi
    ZKKIT_NEED_DOCKER=1 "$@"
}

case ${1:-} in
start | stop) "$1" ;;
image) build_image ;;
run)
    shift
    [ "$#" -gt 0 ] || stop_here "run what?"
    run "$@"
    ;;
*) stop_here "say start, stop, image or run COMMAND..." ;;
esac
