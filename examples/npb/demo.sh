#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NAS CG and IS, each on 1 rank, then on 4 ranks of 2 virtual nodes (shared memory inside a node, authenticated UDP between
# them), verified with the published values, and one table that compares them.
#
#     examples/npb/demo.sh BUILD [--class S|W|A|B]      BUILD: the build folder or its bin folder
#
# Each is run three times in turn (class B: once) and the table has the best of each: on a machine that does something else
# too a single short run says little. All runs must verify.
#
# Exit status: 0 all verified; 1 one failed; 2 called wrongly.
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
for program in onesea examples-cg examples-is; do
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

# job KERNEL RANKS NODES REPORT: one run; its output, the report in a file. False if it failed.
job() {
    local progress=lines
    [[ ! -t 1 ]] || progress=each
    "$bin/onesea" run --tag=none --timeout 900 --secure auth -n "$2" --nodes "$3" \
        "$bin/examples-$1" --class "$class" --progress "$progress" --report "$4" 2>&1 </dev/null
}

# again KERNEL RANKS NODES: one more run, of which only progress and bad news are shown; keeps the better report.
again() {
    local log=$reports/log best=$1-$2
    job "$1" "$2" "$3" "$reports/next" >"$log" || {
        cat "$log"
        return 1
    }
    echo "  ${1^^}: $(value next seconds) s on $2 rank$( (($2 == 1)) || echo s), verified"
    if awk -v a="$(value next seconds)" -v b="$(value "$best" seconds)" 'BEGIN { exit !(a < b) }'; then
        mv "$reports/next" "$reports/$best"
    fi
}

value() { awk -v name="$2" '$1 == name { print $2 }' "$reports/$1" 2>/dev/null || true; }

# row KERNEL RANKS WHERE: a line of the table.
row() {
    local name=$1-$2 text="${1^^}, $3" verdict=FAILED
    if [[ ! -s $reports/$name ]]; then
        printf '  %-38s %10s %10s %10s   %s\n' "$text" - - - "did not finish"
        return
    fi
    [[ $(value "$name" verified) != yes ]] || verdict=SUCCESSFUL
    awk -v text="$text" -v seconds="$(value "$name" seconds)" -v mops="$(value "$name" mops)" \
        -v base="$(value "$1-1" seconds)" -v verdict="$verdict" 'BEGIN {
            speedup = base > 0 ? sprintf("%.2f", base / seconds) : "-"
            printf "  %-38s %10.3f %10.1f %10s   %s\n", text, seconds, mops, speedup, verdict }'
}

failed=0
for kernel in cg is; do
    job $kernel 1 1 "$reports/$kernel-1" | show || failed=1
    echo
    job $kernel 4 2 "$reports/$kernel-4" | show || failed=1
    echo
done
runs=1
if [[ $failed == 0 && $class != B ]]; then
    runs=3
    printf 'again, to see how much the times vary:\n'
    for ((i = 1; i < runs; ++i)); do
        for kernel in cg is; do
            again $kernel 1 1 || failed=1
            again $kernel 4 2 || failed=1
        done
    done
    echo
fi

printf '  %-38s %10s %10s %10s   %s\n' "NAS class $class, best of $runs" "time, s" "Mop/s" "speed-up" verification
for kernel in cg is; do
    row $kernel 1 "1 rank"
    row $kernel 4 "4 ranks, 2 nodes, shm + UDP (auth)"
done
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
