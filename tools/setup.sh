#!/usr/bin/env bash
#
# Gets this house ready, and cleans up after it. `make` calls it; you can too:
#
#     tools/setup.sh            the Python side and the servers (what `make demo` and `make test` need)
#     tools/setup.sh python     the Python side only (what `make lint` needs)
#     tools/setup.sh interop    and Java Curator with a compiler (what all of `make test-all` needs)
#     tools/setup.sh clean      remove what the set-up and the runs left here
#
# What it makes inside this directory:
#     .venv/                    a virtual environment with zkkit and the tools, installed by pip, and
#                               a stamp that says the install is up to date
#     .setup/                   the log, and
#     .setup/installed.txt      the list of what it had to install outside (apt packages)
#
# It never calls sudo. As root on Debian or Ubuntu it installs what is missing with apt-get and says
# so; anyone else is told the one command to run. It starts no service.
#
#     PYTHON=python3.12 make test              choose the interpreter (3.11 or newer)
#     ZOOKEEPER_HOME=~/apache-zookeeper make   choose the ZooKeeper; JAVA_HOME, the Java
#     ZKKIT_VENV=.setup/pythons/3.12           another place than .venv (tools/pythons.sh wants it)

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=${ZKKIT_VENV:-.venv} state=.setup
readonly log=${ZKKIT_VENV:-$state/setup}.log stamp=$venv/zkkit-is-installed outside=$state/installed.txt
readonly extras=dev

# ------------------------------------------------------------------ talking

say() { printf '%s\n' "$*"; }

stop() { # a sentence that says what is wrong and what to do
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

child=
trap 'if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# phase "Sentence" command...: one line for the reader with the seconds it took, the rest in the log
phase() {
    local sentence=$1 started=$SECONDS status=0
    shift
    printf '\n--- %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null &
    child=$!
    if [ -t 1 ]; then
        while kill -0 "$child" 2>/dev/null; do
            printf '\r%s ... %d s ' "$sentence" $((SECONDS - started))
            sleep 0.5
        done
        printf '\r'
    else
        say "$sentence ..."
    fi
    wait "$child" || status=$?
    child=
    if [ "$status" -ne 0 ]; then
        say "$sentence: failed after $((SECONDS - started)) s. The end of $log:"
        tail -n 15 "$log" | sed 's/^/    | /'
    else
        say "$sentence: done in $((SECONDS - started)) s."
    fi
    return "$status"
}

# ------------------------------------------------------------------ packages of the system

can_apt() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

packages_present() {
    # shellcheck disable=SC2016  # ${...} is dpkg's own format
    dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | awk '$1 == "ii" { print $2 }' | sort -u
}

apt_install() { # only as root; writes down what really came in, dependencies too
    local before=$state/packages.before status=0
    packages_present >"$before"
    phase "Reading apt's package lists" apt-get -q update ||
        stop "apt-get could not read its package lists. Is there a network? Then run make again."
    printf '%s\n' "$@" >>"$outside" # first, so that an interrupt leaves no package unmentioned
    phase "Installing $* by apt-get (as root)" \
        env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" ||
        status=$?
    packages_present | comm -13 "$before" - >>"$outside"
    sort -u -o "$outside" "$outside"
    rm -f "$before"
    [ "$status" -eq 0 ] || stop "apt-get could not install $*. The log above says why; then run make again."
    say "Written down in $outside; \`make clean\` prints it."
}

# ------------------------------------------------------------------ the Python side

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() { # sets $python, or leaves it empty
    local name
    python=
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" ||
            stop "PYTHON=$PYTHON is not a Python 3.11 or newer that runs here. Name another, or unset PYTHON."
        python=$PYTHON
        return
    fi
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$name"; then
            python=$name
            return
        fi
    done
}

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

get_python() {
    find_python
    if [ -z "$python" ] || ! has_venv "$python"; then
        if can_apt && [ -z "${PYTHON:-}" ]; then
            apt_install python3 python3-venv
            find_python
        fi
    fi
    [ -n "$python" ] ||
        stop "zkkit needs Python 3.11 or newer and found none. Install one (python.org, your package manager, pyenv), or name it: PYTHON=/path/to/python3 make"
    has_venv "$python" ||
        stop "$python has no venv module. On Debian and Ubuntu run: apt-get install python3-venv   (as root), then make again."
}

fingerprint() { # of all that decides what is in .venv; the place too, for scripts in it name it
    {
        pwd -P
        printf '%s\n' "$extras" "${PYTHON:-}"
        # the settings of the tools in pyproject.toml install nothing
        awk '/^\[/ { tools = /^\[+tool\.(pytest|ruff|mypy|importlinter)/ } !tools' pyproject.toml
        cat constraints.txt
    } | cksum
}

venv_is_good() { # it runs, was made here (a moved one is broken), and by the same Python
    new_enough "$venv/bin/python" && grep -qF "$(pwd -P)/$venv" "$venv/pyvenv.cfg" &&
        [ "$("$venv/bin/python" -V)" = "$("$python" -V)" ]
}

set_up_python() {
    if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ] && new_enough "$venv/bin/python"; then
        return # nothing changed: no pip, no network
    fi
    get_python
    rm -f "$stamp"
    if [ -e "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ]; then
        stop "$venv exists and is no virtual environment. Move it away, then run make again."
    fi
    if ! venv_is_good; then
        phase "Making $venv with $("$python" -V)" "$python" -m venv --clear "$venv" ||
            stop "the virtual environment could not be made. The log above says why."
    fi
    phase "Installing zkkit and its tools into $venv (a minute or two, the first time)" \
        "$venv/bin/python" -m pip install --disable-pip-version-check --no-input \
        --constraint constraints.txt --editable ".[$extras]" ||
        stop "pip could not install. The first time needs a network; then run make again."
    fingerprint >"$stamp"
}

# ------------------------------------------------------------------ the servers' side

# Prints what was found and ends with 0; or the missing parts' Debian names on the first line, the
# reasons after it, and ends with 3.
look_for_servers() {
    "$venv/bin/python" - <<'PY'
import re, sys
from zkkit.ensemble.install import find_java, find_zookeeper

found, missing, why = [], [], []
try:
    java = find_java()
    first, second = (re.findall(r"\d+", java.version) + ["0", "0"])[:2]
    if int(second if first == "1" else first) < 11:  # Java 8 calls itself 1.8
        raise LookupError(f"{java.path} is Java {java.version}; zkkit's servers want 11 or newer")
    found.append(f"Java {java.version} ({java.path})")
except Exception as error:
    missing.append("default-jre-headless")
    why.append(str(error))
try:
    zookeeper = find_zookeeper()
    found.append(f"ZooKeeper {zookeeper.version} ({zookeeper.home})")
except Exception as error:
    missing.append("zookeeper")
    why.append(str(error))
if missing:
    print(" ".join(missing), *why, sep="\n")
    sys.exit(3)
print("Servers: " + ", ".join(found) + ".")
PY
}

set_up_servers() {
    local answer status=0 packages
    answer=$(look_for_servers) || status=$?
    if [ "$status" -eq 3 ]; then
        packages=${answer%%$'\n'*}
        say "${answer#*$'\n'}"
        if [[ $packages == *zookeeper* && -n ${ZOOKEEPER_HOME:-} ]]; then
            stop "correct ZOOKEEPER_HOME or unset it, then run make again."
        elif [[ $packages == *jre* && -n ${JAVA_HOME:-} ]]; then
            stop "correct JAVA_HOME or unset it, then run make again."
        elif can_apt; then
            # Debian's `zookeeper` holds the jars and tools; the service is another package.
            # shellcheck disable=SC2086  # one word per package
            apt_install $packages
            status=0
            answer=$(look_for_servers) || status=$?
            [ "$status" -ne 3 ] || stop "installed $packages, and still: ${answer#*$'\n'}"
        elif command -v apt-get >/dev/null; then
            stop "run this as root, then make again:   apt-get install --no-install-recommends $packages"
        elif command -v brew >/dev/null; then
            stop "run this, then make again:   brew install zookeeper"
        else
            stop "install a Java (11 or newer) and a ZooKeeper (3.6 or newer), set JAVA_HOME and ZOOKEEPER_HOME to them, then run make again."
        fi
    fi
    [ "$status" -eq 0 ] || stop "zkkit could not look for Java and ZooKeeper (the error is above). If .venv is broken: make clean, then make again."
    say "$answer"
}

# ------------------------------------------------------------------ Java Curator, for tests beside it

look_for_curator() { # prints what was found, or what is missing and ends with 3
    "$venv/bin/python" - <<'PY'
import sys
from zkkit.bench.peers.curator_jars import find_curator
from zkkit.errors import ZkkitError

try:
    found = find_curator()
except ZkkitError as error:
    print(error)
    sys.exit(3)
print(f"Curator: {found.version} ({found.jars[0].parent}), compiler {found.javac}.")
PY
}

set_up_curator() {
    local answer status=0
    answer=$(look_for_curator) || status=$?
    if [ "$status" -eq 3 ] && can_apt; then
        apt_install libcurator-recipes-java default-jdk-headless
        status=0
        answer=$(look_for_curator) || status=$?
        [ "$status" -eq 0 ] || stop "installed Java Curator, and still: $answer"
    elif [ "$status" -eq 3 ]; then
        say "The tests beside Java Curator will be skipped:"
    elif [ "$status" -ne 0 ]; then
        stop "zkkit could not look for Java Curator (the error is above)."
    fi
    say "$answer"
}

# ------------------------------------------------------------------ the way back

clean() {
    local kept
    if [ -s "$state/engine" ]; then tools/docker-engine.sh stop; fi
    rm -rf .venv "$state/pythons" build dist results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
    rm -rf ./*.egg-info "${XDG_CACHE_HOME:-$HOME/.cache}/zkkit" # there: the compiled Java peer
    find . -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
    rm -f "$log" "$state/packages.before"
    say "Removed .venv, results, builds and caches."
    if [ -d lab ]; then say "Left alone: lab/, your own copies of the notebooks."; fi
    if [ -s "$outside" ]; then
        kept=$(packages_present | comm -12 <(sort -u "$outside") - | tr '\n' ' ')
        if [ -n "$kept" ]; then
            say "The set-up had installed these packages on this system, and leaves them there:"
            say "    ${kept% }"
            say "To remove them, as root:"
            say "    apt-get remove ${kept% }"
            say "The list stays in $outside for as long as one of them is installed."
            return
        fi
    fi
    rm -rf "$state"
}

# ------------------------------------------------------------------ main

case ${1:-all} in
clean)
    clean
    exit
    ;;
all | python | interop) ;;
*) stop "do not know \"$1\". Say nothing, python, interop or clean." ;;
esac

mkdir -p "$state"
set_up_python
[ "${1:-all}" = python ] || set_up_servers
[ "${1:-all}" != interop ] || set_up_curator
