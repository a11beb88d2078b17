#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of ACP's manual, from an installation: compile, start, several programs, wrong use.
# usage: commands_test.sh PREFIX CC CXX
set -euo pipefail
prefix=$1
export ACP_CC=$2 ACP_CXX=$3
here=$(dirname "$(readlink -f "$0")")
place=$(mktemp -d "${TMPDIR:-/tmp}/onesea-acp-XXXXXX")
trap 'rm -rf "$place"' EXIT
export PATH=$prefix/bin:$PATH
unset LD_LIBRARY_PATH PKG_CONFIG_PATH
cd "$place"

fail() {
    echo "commands_test: $*" >&2
    exit 1
}

# expect TEXT COMMAND...: succeeds, and prints a line that contains it.
expect() {
    local text=$1 output
    shift
    output=$(timeout 60 "$@" </dev/null 2>&1) || fail "exit status $? of: $*: $output"
    grep -qF -- "$text" <<<"$output" || fail "'$text' expected, not '$output', from: $*"
}

# refuse TEXT COMMAND...: fails, and says so.
refuse() {
    local text=$1 output
    shift
    if output=$(timeout 60 "$@" </dev/null 2>&1); then fail "success of: $*"; fi
    grep -qF -- "$text" <<<"$output" || fail "'$text' expected, not '$output', from: $*"
}

cp "$here/clients/hello.c" .
cp hello.c hello_cpp.cpp
acpcc -O1 -Wall -Wextra -Werror hello.c -o hello_world_acp -g
acpgcc -c hello.c -o hello.o
acpcc -ndev UDP hello.o -o hello_linked
for compiler in acp++ acpc++ acpcxx; do "$compiler" -Wall -Wextra -Werror hello_cpp.cpp -o hello_cpp; done
expect "-lacp" acpcc -show hello.c
MACP_CC=$ACP_CC macpcc hello.c -o hello_macp
for command in acpcc acpgcc acp++ acpcxx macpcc acprun macprun; do expect "usage:" "$command" -help; done
refuse "usage:" acpcc
refuse "no compiler" env ACP_CC=no-such-compiler acpcc hello.c

expect "2 processes" acprun -np 2 ./hello_world_acp
expect "3 processes" acprun -np 3 ./hello_linked
expect "2 processes" acprun --acp-nprocs=2 ./hello_cpp
expect "2 processes" acprun ./hello_macp --acp-nprocs=2
expect "4 processes, 8192 bytes" acprun -np 4 -startermemsize 8192 ./hello_world_acp 8192
expect "2 processes, 2097152 bytes" acprun -np 2 --acp-startermemsize=2M ./hello_world_acp 2097152
expect "2 processes, 4096 bytes" onesea run -n 2 ./hello_world_acp --acp-startermemsize 4096 4096
printf 'localhost\nlocalhost # twice\n' >nodefile
expect "3 processes" acprun -np 3 -nodefile nodefile -envnet udp ./hello_world_acp
expect "2 processes" acprun -np 2 --acp-nodefile=nodefile --acp-envnet=ib ./hello_world_acp
expect "2 processes" acprun -np 2 -host localhost -startermemsize-dl 4096 -startermemsize-cl 4096 ./hello_world_acp
expect "4 processes" acprun -np 4 -onesea --nodes=2 ./hello_world_acp
expect "localhost" acprun -np 2 -machinefile nodefile -rsh ssh -ethspeed 10 -onesea --dry-run ./hello_world_acp
refuse "no number of processes" acprun -np two ./hello_world_acp
refuse "no option '-frobnicate'" acprun -np 2 -frobnicate ./hello_world_acp
refuse "no option '--acp-frobnicate=1'" acprun -np 2 ./hello_world_acp --acp-frobnicate=1
refuse "cannot be read" acprun -np 2 -nodefile missing ./hello_world_acp
refuse "no network" acprun -np 2 -envnet carrier-pigeon ./hello_world_acp
refuse "no program" acprun -np 2
refuse "macprun" acprun -np 2 -multirun -portfile ports -offsetrank 0 ./hello_world_acp
refuse "macprun" acprun -np 1 ./hello_world_acp : -np 1 ./hello_cpp
refuse "--acp-frobnicate=1" onesea run -n 2 ./hello_world_acp --acp-frobnicate=1

cat >groups <<END
# Number of runtime environments
2
# Runtime environments
acprun -startermemsize 8192
acprun
# Number of processes
1
2
# Commands
./hello_world_acp 8192     # with arguments
./hello_cpp 8192
END
expect "3 processes, 8192 bytes" macprun -np 3 groups
expect "3 processes" macprun -np 1 ./hello_world_acp : -np 2 ./hello_cpp
refuse "-np says 4" macprun -np 4 groups
sed 's/^acprun$/mpirun/' groups >mixed
refuse "'mpirun'" macprun -np 3 mixed
echo "commands_test: all as expected"
