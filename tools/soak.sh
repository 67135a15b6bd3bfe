#!/usr/bin/env bash
#
# Runs the concurrent tests N times (50 if nothing is said) and stops at the first failure:
#
#     tools/soak.sh             50 rounds
#     tools/soak.sh 200 -k lock 200 rounds of those with "lock" in their name
#
# A test of interleavings that passes once has said little.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=50
if [ $# -gt 0 ]; then
    rounds=$1
    shift
fi
[[ $rounds =~ ^[1-9][0-9]*$ ]] || {
    echo "soak: \"$rounds\" is no number of rounds. Say, for example: tools/soak.sh 50" >&2
    exit 2
}

mkdir -p .setup
log=.setup/soak.log
for ((round = 1; round <= rounds; round++)); do
    started=$SECONDS
    status=0
    .venv/bin/python -m pytest -x -q -m concurrent "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -eq 5 ]; then
        echo "soak: no test carries the marker \"concurrent\" (or none matches: $*). Nothing was tested." >&2
        exit 1
    elif [ "$status" -ne 0 ]; then
        cat "$log"
        echo "soak: round $round of $rounds failed. The same output is in $log." >&2
        exit 1
    fi
    printf 'round %d of %d: %s (%d s)\n' "$round" "$rounds" "$(tail -n 1 "$log")" $((SECONDS - started))
done
echo "soak: $rounds rounds without a failure."
