#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the build tree into a fresh folder, moves it, and uses it as a stranger would: a C11 and a C++20 program
# through pkg-config and through find_package, run alone and as a job; and looks at what the library exports.
# usage: install_test.sh CMAKE BUILD-TREE CC CXX VERSION
set -euo pipefail
cmake=$1 build=$2 cc=$3 cxx=$4 version=$5
here=$(dirname "$(readlink -f "$0")")
place=$(mktemp -d "${TMPDIR:-/tmp}/onesea-install-XXXXXX")
trap 'rm -rf "$place"' EXIT
unset LD_LIBRARY_PATH

fail() {
    echo "install_test: $*" >&2
    exit 1
}

# expect TEXT COMMAND...: the command succeeds, and prints that as a line.
expect() {
    local text=$1 output
    shift
    output=$(timeout 60 "$@" </dev/null) || fail "exit status $? of: $*"
    grep -qxF -- "$text" <<<"$output" || fail "'$text' expected, not '$output', from: $*"
    echo "ok: $*"
}

"$cmake" --install "$build" --prefix "$place/first" >"$place/log" || {
    cat "$place/log"
    fail "cmake --install failed"
}
prefix=$place/moved
mv "$place/first" "$prefix"
library=$prefix/lib/libonesea.so

for file in include/onesea.h include/onesea/inline.h lib/libonesea.so bin/onesea \
    lib/pkgconfig/onesea.pc lib/cmake/onesea/onesea-config.cmake share/doc/onesea/LICENSE; do
    [[ -e $prefix/$file ]] || fail "$file is not installed"
done
[[ -n $(ls "$prefix/libexec/onesea") ]] || fail "libexec/onesea is empty: the benchmark programs are missing"

docs=$prefix/share/doc/onesea examples=$prefix/share/doc/onesea/examples
while IFS=: read -r page link; do
    [[ $link == *://* || -e $(dirname "$page")/${link#](} ]] || fail "$page leads to ${link#](}, which is not installed"
done < <(grep -roE --include='*.md' '\]\([^)# ]+' "$docs")

# ---- the library: its name for the linker, its symbols, no way back into the build tree
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[[ $soname == "libonesea.so.${version%%.*}" ]] || fail "the soname is '$soname'"
strangers=$(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); if ($3 !~ /^sea_/) print $3 }')
[[ -z $strangers ]] || fail "the library exports more than sea_*: $strangers"
declared=$(sed -n 's/^[a-z].*[ *]\(sea_[a-z0-9_]*\)(.*/\1/p' "$prefix/include/onesea.h" | grep -v '^sea_[a-z_0-9]*_fn$' | sort -u)
inlined=$(sed -n 's/^static inline .*[ *]\(sea_[a-z0-9_]*\)(.*/\1/p' "$prefix/include/onesea.h" | sort -u)
exported=$(nm -D --defined-only "$library" | sed -n 's/.* \(sea_[a-z0-9_]*\).*/\1/p' | sort -u)
absent=$(comm -23 <(comm -23 <(echo "$declared") <(echo "$inlined")) <(echo "$exported"))
[[ -z $absent ]] || fail "onesea.h declares what the library lacks: $absent"
for file in "$prefix"/bin/* "$prefix"/libexec/onesea/* "$library"; do
    if readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -qF "$build"; then fail "$file looks into the build tree"; fi
done

# ---- pkg-config
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
[[ $(pkg-config --modversion onesea) == "$version" ]] || fail "pkg-config gives version $(pkg-config --modversion onesea)"
strict=(-Wall -Wextra -Wpedantic -Werror -O1)
"$cc" -std=c11 "${strict[@]}" "$here/user/ring.c" -o "$place/ring_c" $(pkg-config --cflags --libs onesea)
"$cxx" -std=c++20 "${strict[@]}" "$here/user/ring.cpp" -o "$place/ring_cpp" $(pkg-config --cflags --libs onesea)
for example in 01-hello/hello 02-ring/ring 03-messages/messages 04-heat/heat 05-updates/updates 06-growth/growth; do
    "$cc" -std=c11 "${strict[@]}" "$examples/$example.c" -o "$place/example" \
        $(pkg-config --cflags --libs onesea) -lm
done
for example in "$examples"/{acp,dsm,lapi,mmp}/*.c; do
    "$cc" -std=c11 "${strict[@]}" -fsyntax-only "$example" \
        $(pkg-config --cflags onesea-acp onesea-dsm onesea-lapi onesea-mmp)
done

# ---- LAPI: a user's program knows the name of the package, and nothing is exported but its names
"$cc" -std=gnu11 -Wall -Wextra -Werror -O1 "$examples/lapi/counter.c" -o "$place/counter" \
    $(pkg-config --cflags --libs onesea-lapi)
strangers=$(nm -D --defined-only "$prefix/lib/liblapi.so" | awk '$2 != "A" { sub(/@.*/, "", $3); if ($3 !~ /^(P?LAPI_|lapi_|lapinull_$)/) print $3 }')
[[ -z $strangers ]] || fail "liblapi exports more than LAPI's names: $strangers"
[[ -e $prefix/include/lapif.h ]] || fail "lapif.h is not installed"
"$cc" -std=c11 "${strict[@]}" "$examples/dsm/counter.c" -o "$place/dsm_counter" \
    $(pkg-config --cflags --libs onesea-dsm)
strangers=$(nm -D --defined-only "$prefix/lib/libdsm.so" | awk '$2 != "A" { sub(/@.*/, "", $3); if ($3 !~ /^dsm_/) print $3 }')
[[ -z $strangers ]] || fail "libdsm exports more than dsm_*: $strangers"
[[ -e $prefix/include/dsmf.inc ]] || fail "dsmf.inc is not installed"

strangers=$(nm -D --defined-only "$prefix/lib/libacp.so" | awk '$2 != "A" { sub(/@.*/, "", $3); if ($3 !~ /^acp_/) print $3 }')
[[ -z $strangers ]] || fail "libacp exports more than acp_*: $strangers"
declared=$(sed -n 's/^[a-z].*[ *]\(acp_[a-z0-9_]*\)(.*/\1/p' "$prefix/include/acp.h" "$prefix"/include/acp/*.h 2>/dev/null | sort -u)
exported=$(nm -D --defined-only "$prefix/lib/libacp.so" | sed -n 's/.* \(acp_[a-z0-9_]*\).*/\1/p' | sort -u)
absent=$(comm -23 <(echo "$declared") <(echo "$exported"))
[[ -z $absent ]] || fail "acp.h declares what libacp lacks: $absent"

"$here/../../compat/acp/tests/commands_test.sh" "$prefix" "$cc" "$cxx"

# ---- MMP
"$cc" -std=c11 "${strict[@]}" "$examples/mmp/overlap.c" -o "$place/overlap" \
    $(pkg-config --cflags --libs onesea-mmp) -lm
strangers=$(nm -D --defined-only "$prefix/lib/libmmp.so" | awk '$2 != "A" { sub(/@.*/, "", $3); if ($3 !~ /^(MP|mp)_/) print $3 }')
[[ -z $strangers ]] || fail "libmmp exports more than MP_* and mp_*: $strangers"
[[ -e $prefix/include/mmpf.inc ]] || fail "mmpf.inc is not installed"

# ---- commands of the manuals, word for word: what they build must also start
# builds_and_starts NAME EXAMPLE TEXT: EXAMPLE as the program.c of the first command in docs/NAME.md prints TEXT.
builds_and_starts() {
    local folder=$place/$1 example=$2 text=$3 output line
    line=$(grep -m 1 '^cc program\.c' "$here/../../docs/$1.md") || fail "docs/$1.md has no command"
    mkdir "$folder" && cp "$examples/$example" "$folder/program.c"
    output=$(
        cd "$folder"
        cc() { command "$cc" "$@"; }
        eval "$line -lm" && timeout 60 "$prefix/bin/onesea" run -n 2 --nodes 2 ./program 2>&1 </dev/null
    ) || fail "the commands of docs/$1.md: exit status $?: $output"
    [[ $output == *"$text"* ]] || fail "the commands of docs/$1.md: '$text' expected, not '$output'"
}
builds_and_starts mmp mmp/overlap.c "the sum is kept: correct"
builds_and_starts lapi lapi/counter.c ": correct"
builds_and_starts acp acp/allgather.c " rounds of "

# ---- programs of the examples are not installed: what needs them says so
if output=$("$prefix/bin/onesea" bench mmp --quick --case is_s 2>&1 </dev/null); then fail "IS was measured without IS"; fi
[[ $output == *"examples-is-mmp is not in this tree"*"nothing is left to measure"* ]] || fail "bench mmp says '$output'"

# ---- the program of the README, word for word
sed -n '/^```c$/,/^```$/p' "$docs/README.md" | sed '1d;$d' >"$place/first.c"
"$cc" "${strict[@]}" "$place/first.c" -o "$place/first" $(pkg-config --cflags --libs onesea)

# ---- find_package
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt") # whose program is known to be here
"$cmake" -G "$generator" -S "$here/user" -B "$place/user" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >"$place/log" 2>&1 && "$cmake" --build "$place/user" >>"$place/log" 2>&1 || {
    cat "$place/log"
    fail "a project that says find_package(onesea) does not build"
}

# ---- and all of them work, alone and launched by the installed command
for program in "$place/ring_c" "$place/ring_cpp" "$place/user/ring_c" "$place/user/ring_cpp"; do
    expect "ok 1 ranks" "$program"
    expect "ok 3 ranks" "$prefix/bin/onesea" run -n 3 --nodes 2 "$program"
done
expect "3000 tickets drawn by 3 tasks, 0 not marked, task 0 has 1000: correct" \
    "$prefix/bin/onesea" run -n 3 --nodes 2 "$place/counter"
expect "0: rank 0 greets its neighbour" "$place/first"
expect "0: rank 3 greets its neighbour" "$prefix/bin/onesea" run -n 4 --nodes 2 --quiet "$place/first"
expect "counter: 6000 throws at 3 nodes: correct" "$prefix/bin/onesea" run -n 3 --nodes 2 --quiet "$place/dsm_counter"
output=$(timeout 60 "$prefix/bin/onesea" run -n 3 --nodes 2 --quiet "$place/overlap" 20 </dev/null)
[[ $output == *"20 steps on 3 ranks"*"the sum is kept: correct"* ]] || fail "examples/mmp says '$output'"
