#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# floors_test.sh FLOORS: every floor gives one positive figure whose tail is no better than its median; wrong names and
# sizes are refused.
set -euo pipefail
floors=$1
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
exit $((failures > 0))
