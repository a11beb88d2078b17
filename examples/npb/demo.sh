#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NAS CG on 1 rank, then on 4 ranks of 2 virtual nodes (shared memory inside a node, authenticated UDP between them), both
# verified with the published value, and one table that compares them.
#
#     examples/npb/demo.sh BUILD [--class S|W|A|B]      BUILD: the build folder or its bin folder
#
# Each is run three times in turn (class B: once) and the table has the best of each: on a machine that does something else
# too a single short run says little. All runs must verify.
#
# Exit status: 0 both verified; 1 one failed; 2 called wrongly.
set -euo pipefail

die() {
    echo "demo: $1" >&2
    exit "${2:-2}"
}

(($# >= 1)) || die "usage: demo.sh BUILD [--class S|W|A|B]"
bin=$1
shift
[[ ! -d $bin/bin ]] || bin=$bin/bin
class=A
while (($# > 0)); do
    case $1 in
    --class)
        (($# >= 2)) || die "option --class needs a value"
        class=$2
        shift 2
        ;;
    --class=*)
        class=${1#*=}
        shift
        ;;
    *) die "option '$1' is unknown; usage: demo.sh BUILD [--class S|W|A|B]" ;;
    esac
done
[[ $class == [SWAB] ]] || die "class '$class' is unknown; use S, W, A or B"
for program in onesea examples-cg; do
    [[ -x $bin/$program ]] || die "$bin/$program is not there; build first (./dev build)"
done

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

# Passes lines on; on a terminal those of progress rewrite each other.
show() {
    local line rewriting=0
    while IFS= read -r line; do
        if [[ -t 1 && $line == "  iteration "* ]]; then
            printf '\r%s\e[K' "$line"
            rewriting=1
        else
            ((rewriting == 0)) || echo
            rewriting=0
            printf '%s\n' "$line"
        fi
    done
}

# job RANKS NODES REPORT: one run; its output, the report in a file. False if it failed.
job() {
    local progress=lines
    [[ ! -t 1 ]] || progress=each
    "$bin/onesea" run --tag=none --timeout 900 --secure auth -n "$1" --nodes "$2" \
        "$bin/examples-cg" --class "$class" --progress "$progress" --report "$3" 2>&1 </dev/null
}

# again NAME RANKS NODES: one more run, of which only progress and bad news are shown; keeps the better report.
again() {
    local log=$reports/log
    job "$2" "$3" "$reports/next" >"$log" || {
        cat "$log"
        return 1
    }
    echo "  $(value next seconds) s on $2 rank$( (($2 == 1)) || echo s), verified"
    if awk -v a="$(value next seconds)" -v b="$(value "$1" seconds)" 'BEGIN { exit !(a < b) }'; then
        mv "$reports/next" "$reports/$1"
    fi
}

value() { awk -v name="$2" '$1 == name { print $2 }' "$reports/$1" 2>/dev/null || true; }

row() {
    local name=$1 text=$2 verdict=FAILED
    if [[ ! -s $reports/$name ]]; then
        printf '  %-36s %10s %10s %10s   %s\n' "$text" - - - "did not finish"
        return
    fi
    [[ $(value "$name" verified) != yes ]] || verdict=SUCCESSFUL
    awk -v text="$text" -v seconds="$(value "$name" seconds)" -v mops="$(value "$name" mops)" \
        -v base="$(value one seconds)" -v verdict="$verdict" 'BEGIN {
            speedup = base > 0 ? sprintf("%.2f", base / seconds) : "-"
            printf "  %-36s %10.3f %10.1f %10s   %s\n", text, seconds, mops, speedup, verdict }'
}

failed=0
job 1 1 "$reports/one" | show || failed=1
echo
job 4 2 "$reports/four" | show || failed=1
runs=1
if [[ $failed == 0 && $class != B ]]; then
    runs=3
    printf '\nagain, to see how much the times vary:\n'
    for ((i = 1; i < runs; ++i)); do
        again one 1 1 || failed=1
        again four 4 2 || failed=1
    done
fi

printf '\n  %-36s %10s %10s %10s   %s\n' "NAS CG class $class, best of $runs" "time, s" "Mop/s" "speed-up" verification
row one "1 rank"
row four "4 ranks, 2 nodes, shm + UDP (auth)"
echo
cores=$(nproc)
if ((cores < 4)); then
    echo "  This machine has $cores processor$( ((cores == 1)) || echo s), which 4 ranks share: a speed-up of about $cores is the most to expect,"
    echo "  and a rank that waits for another costs a switch between processes."
else
    echo "  This machine has $cores processors, at least one for each of the 4 ranks."
fi
load=$(cut -d' ' -f1 /proc/loadavg)
if awk -v load="$load" -v cores="$cores" 'BEGIN { exit !(load > 0.75 * cores) }'; then
    echo "  Other programs were running too (load $load): do not read much into these times."
fi
exit "$failed"
