#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# few_packets.sh ONESEA PROGRAM: messages of 16 KB there and back between two nodes on plain Ethernet: each goes as one
# packet of many datagrams, once the path is known to lose nothing.
set -euo pipefail
onesea=$1 program=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
statistics=$(mktemp)
trap 'rm -f "$statistics"' EXIT
"$here/../harness/ethernet.sh" "$onesea" run -n 2 --nodes 2 --stats="$statistics" "$program" --ms 200 --cores -1,-1 pingpong:16384
python3 - "$statistics" <<'CHECK'
import json
import sys

to_the_other = json.load(open(sys.argv[1], encoding="utf-8"))["ranks"][0]["pairs"][0]
messages, packets = to_the_other["messages"], to_the_other["packets_out"]
print(f"{messages} messages, {packets} packets")
lost = to_the_other["packets_lost"]
sys.exit(0 if messages > 200 and packets < 2 * messages + 500 + 100 * lost else 1)
CHECK
