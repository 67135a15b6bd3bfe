#!/usr/bin/env bash
#
# Runs the fast part of the tests under every other Python that is found here:
#
#     tools/pythons.sh               all that are found, one after the other
#     tools/pythons.sh -k contract   the same, with options of pytest
#
# It looks for Python 3.11 to 3.14 on the PATH and below pyenv's versions, and leaves out the one
# .venv is made with: `make test` has seen that. Each gets a virtual environment of its own in
# .setup/pythons, which stays (`make clean` removes it). The fast part is what is about the library:
# vocabulary, sessions, locks on threads, asyncio and gevent, records, and the simulator's core; and
# of the slow tests one, a leader that is killed while a crowd contends, on gevent.
#
# It says what passed and what is not here. A Python that is not here is no failure.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly minors=(11 12 13 14) room=.setup/pythons
readonly fast=(tests/vocabulary tests/session tests/record
    tests/locks/test_contract.py tests/locks/test_one_front.py tests/gevent
    tests/sim/test_world.py tests/sim/test_scripts.py tests/sim/test_background.py
    tests/sim/test_conformance.py tests/kernel)

readonly crowd='tests/locks/test_faults.py::test_leader_killed_while_twenty_contend[gevent-on the other fronts]'
readonly on_gevent='from gevent import monkey; monkey.patch_all()
import sys, pytest
sys.exit(pytest.main(sys.argv[1:]))'

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

find_python() { # find_python 3.13: prints the path of one that can make virtual environments
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if [ "$(version_of "$candidate")" = "$1" ] && "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            "$candidate" -c 'import sys; print(sys.executable)' # the real one, behind pyenv's shim
            return
        fi
    done
    return 1
}

try() { # try PYTHON OPTIONS...: set it up and run the fast part under it
    local python=$1 version log started=$SECONDS
    shift
    version=$(version_of "$python")
    log=$room/$version-tests.log
    if ! PYTHON=$python ZKKIT_VENV=$room/$version tools/setup.sh python >"$log" 2>&1 ||
        ! ZKKIT_TEST_FRONTS=gevent "$room/$version/bin/python" -c "$on_gevent" -q \
            -p no:cacheprovider "$crowd" >>"$log" 2>&1 ||
        ! "$room/$version/bin/python" -m pytest -q -p no:cacheprovider -m "not slow and not browser" \
            "${fast[@]}" "$@" >>"$log" 2>&1; then
        tail -n 60 "$log"
        echo "pythons: it fails under $("$python" -V). All it said is in $log." >&2
        return 1
    fi
    echo "$("$python" -V): $(tail -n 1 "$log" | tr -d =) (with its set-up $((SECONDS - started)) s)"
}

if [ "${1:-}" = --try ]; then
    shift
    try "$@"
    exit
fi

mkdir -p "$room"
ours=$(version_of .venv/bin/python)
found=() missing=()
for minor in "${minors[@]}"; do
    if [ "3.$minor" = "$ours" ]; then
        continue
    elif python=$(find_python "3.$minor"); then
        found+=("$python")
    else
        missing+=("3.$minor")
    fi
done

status=0
if [ ${#found[@]} -gt 0 ]; then
    printf '%s\0' "${found[@]}" | xargs -0 -I '{}' "${BASH_SOURCE[0]}" --try '{}' "$@" || status=1
fi
echo "Beside $ours, which .venv is made with: ${#found[@]} tried; not here: ${missing[*]:-none}."
exit $status
