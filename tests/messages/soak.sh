#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Matched messages for a long time: random messages against a model inside a node, over UDP, and over UDP that loses 1 and
# 5 % of the packets; then a sender that outruns its receiver, inside a node and over UDP. Stops at the first failure.
set -euo pipefail

usage() {
    echo "usage: $(basename "$0") BIN [MESSAGES [GIGABYTES [SEED]]]" >&2
    echo "  BIN: the folder of the programs, as build/bin; MESSAGES: 10000000 in each run; GIGABYTES: 10; SEED: 1" >&2
    exit 2
}

(($# >= 1 && $# <= 4)) && [[ -x $1/onesea && -x $1/random_messages && -x $1/outrun ]] || usage
bin=$1 messages=${2:-10000000} gigabytes=${3:-10} seed=${4:-1}
[[ $messages =~ ^[0-9]+$ && $gigabytes =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ ]] || usage

# job NAME LAUNCHER-OPTION... -- PROGRAM OPTION...
job() {
    local name=$1 launch=() start=$SECONDS
    shift
    while [[ $1 != -- ]]; do launch+=("$1") && shift; done
    shift
    echo "== $name: onesea run ${launch[*]} $*"
    "$bin/onesea" run "${launch[@]}" "$bin/$1" "${@:2}"
    echo "== $name: good, $((SECONDS - start)) s"
}

random=(random_messages --count "$messages" --rare 5 --threads 2 --seed "$seed")
job shm -n 2 -- "${random[@]}"
job net -n 2 --nodes 2 -- "${random[@]}"
for loss in 0.01 0.05; do
    ONESEA_LOG=error ONESEA_NET_FAULTS="loss=$loss,dup=0.01,reorder=0.02,seed=$seed" \
        job "net, loss $loss" -n 2 --nodes 2 -- "${random[@]}"
done
((gigabytes > 0)) || exit 0
for nodes in 1 2; do
    job "outrun, $nodes nodes" -n 2 --nodes "$nodes" --spawn 0 -- outrun --bytes "$gigabytes"000000000 --size 4096
    job "outrun, $nodes nodes, longer messages" -n 2 --nodes "$nodes" --spawn 0 -- outrun --bytes "$gigabytes"000000000 --size 60000
done
