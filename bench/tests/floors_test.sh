#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# floors_test.sh FLOORS PATTERNS: every floor gives one positive figure whose tail is no better than its median, and the
# one of patterns the figures of all its streams; wrong names and sizes are refused.
set -euo pipefail
floors=$1 patterns=$2
failures=0
fail() { echo "FAILED: $*" >&2 && failures=$((failures + 1)); }

wanted='store load cpu_fetch_add cpu_cas store_rate cache_line_rtt futex_rtt_asleep futex_rtt_computing memcpy:4096
    memcpy:1048576 udp_rtt udp_rtt_asleep udp_rtt_computing udp_send tcp_rtt udp_stream_gso:64 udp_stream_gso:1048576
    udp_stream_60k:1048576 udp_pingpong:4 udp_pingpong:32768 memory_pingpong:4 memory_pingpong:1048576 udp_rate udp_rate_gso tcp_stream:1048576'
out=$("$floors" --ms 5 $wanted) || fail "exit code $?"
for floor in $wanted; do
    name=${floor%:*} size=8
    [[ $floor != *:* ]] || size=${floor#*:}
    awk -v name="$name" -v size="$size" '
        $1 == "result" && $2 == name && $4 == size {
            good = $5 > 0 && $7 >= 5 && ($3 == "latency_us" ? $6 >= $5 : $6 <= $5)
            found++
        }
        END { exit !(found == 1 && good) }' <<<"$out" || fail "$floor: $(grep " $name " <<<"$out" || echo no result)"
done

for wrong in nothing memcpy:0 memcpy:12x udp_rtt:16 memcpy: udp_pingpong:3 ''; do
    ! "$floors" --ms 5 "$wrong" >/dev/null 2>&1 || fail "'$wrong' was accepted"
done
for wrong in a,b,127.0.0.1 a,b,c,d no-such-namespace,b,127.0.0.1,127.0.0.1 a,b,127.0.0.1,127.0.0.1,x ''; do
    ! "$floors" --ms 5 --cable "$wrong" udp_rtt >/dev/null 2>&1 || fail "cable '$wrong' was accepted"
done
! "$floors" >/dev/null 2>&1 || fail "no floor was accepted"

for pattern in one:1 both:2 out:7 in:7; do
    for size in 1000 65536 1048576; do
        for room in '' 65536 udp; do
            out=$("$patterns" "${pattern%:*}" $size 50 $room) || fail "${pattern%:*} of $size $room: exit code $?"
            awk -v streams="${pattern#*:}" -v size=$size '
                $1 == "result" && $3 == "bandwidth_gbs" && $4 == size && $7 == streams { gbs[$2] = $5 }
                END {
                    off = gbs["total"] - streams * gbs["mean"]
                    exit !(gbs["slowest"] > 0 && gbs["slowest"] <= gbs["mean"] && off * off < 1e-6 * gbs["total"] ^ 2)
                }' <<<"$out" || fail "$pattern of $size $room: $out"
        done
    done
done
for wrong in 'round 8 5' 'one 0 5' 'one 8 0' 'one 8' 'one 8 5 0' 'one 8 5 1k' 'one 8 5 5 5' ''; do
    ! "$patterns" $wrong >/dev/null 2>&1 || fail "the pattern '$wrong' was accepted"
done

# One process of a pattern is lost: the others do not wait for it.
"$patterns" in 65536 60000 >/dev/null 2>&1 &
origin=$! child=
for ((i = 0; i < 500; i++)); do
    read -r child _ <"/proc/$origin/task/$origin/children" || true
    [[ ! $child ]] || break
    sleep 0.01
done
kill -KILL "$child" || fail "there are no processes of a pattern"
status=0 && wait "$origin" || status=$?
((status == 1)) || fail "a lost process: exit code $status"
exit $((failures > 0))
