#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fabric_test.sh PROGRAM: the program that measures libfabric gives one positive figure for each operation that a provider
# has, names what one lacks, and refuses what does not exist.
set -euo pipefail
program=$1
lacks=$(mktemp) failures=0
trap 'rm -f "$lacks"' EXIT
fail() { echo "FAILED: $*" >&2 && failures=$((failures + 1)); }

"$program" --version | grep -Eqx '[0-9]+\.[0-9]+' || fail "no version"

all='put:8 put_fence:8 get:8 fetch_add:8 cas:8 put_rate:8 put_bw:64 put_bw:65536 get_bw:65536'
for provider in 'tcp;ofi_rxm' 'udp;ofi_rxd' net; do
    cases=$all
    [[ $provider != net ]] || cases=${all/fetch_add:8 cas:8 /}
    out=$("$program" --provider "$provider" --ms 2 $all 2>"$lacks") || fail "$provider: exit code $?: $(cat "$lacks")"
    (($(grep -c '^result ' <<<"$out") == $(wc -w <<<"$cases"))) || fail "$provider: $out $(cat "$lacks")"
    for one in $cases; do
        awk -v name="${one%:*}" -v size="${one#*:}" '
            $1 == "result" && $2 == name && $4 == size && $5 > 0 && $6 > 0 { found++ }
            END { exit found != 1 }' <<<"$out" || fail "$provider: $one: $out"
    done
    [[ $provider != net ]] || grep -q 'fetch_add:8' "$lacks" || fail "net has no atomics, and nothing says so"
done

# A provider's fault ends the target; the origin tells, and does not wait.
IPATH_NO_BACKTRACE=1 "$program" --provider 'tcp;ofi_rxm' --ms 5000 get:8 >/dev/null 2>"$lacks" &
origin=$!
for ((i = 0; i < 500; i++)); do
    target=$(cat "/proc/$origin/task/$origin/children") && [[ ! $target ]] || break
    sleep 0.01
done
sleep 0.3
kill -SEGV $target || fail "there is no target"
status=0 && wait "$origin" || status=$?
((status == 1)) && grep -q 'the target was lost, by signal 11' "$lacks" || fail "a lost target: $status, $(cat "$lacks")"

! "$program" --provider nothing --ms 2 get:8 2>"$lacks" || fail "the provider 'nothing' was accepted"
grep -q nothing "$lacks" || fail "the provider that is not there is not named"
for wrong in nothing:8 get get:0 ''; do
    ! "$program" --provider 'tcp;ofi_rxm' --ms 2 "$wrong" >/dev/null 2>&1 || fail "the case '$wrong' was accepted"
done
! "$program" --provider 'tcp;ofi_rxm' --ms 2 --cable nowhere,b,127.0.0.1,127.0.0.1 get:8 2>"$lacks" || fail "a cable to nowhere"
exit $((failures > 0))
