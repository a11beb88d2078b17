#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# real_loss.sh PERMILLE COMMAND...: runs it in a network namespace of its own whose loopback has an mtu of 1500 and loses
# that many of 1000 UDP packets by netfilter, at random. Fails if the command fails, or if nothing was lost. 77: not
# possible here.
set -euo pipefail
permille=$1
shift

skip() {
    echo "skipped: $1"
    exit 77
}
((EUID == 0)) || skip "network namespaces and netfilter need root"
command -v ip >/dev/null && command -v nft >/dev/null || skip "ip or nft is not installed"

# What earlier ones had to leave when they were killed.
for left in $(ip netns list 2>/dev/null | sed -n 's/^onesea-loss-\([0-9]*\)\>.*/\1/p'); do
    kill -0 "$left" 2>/dev/null || ip netns delete "onesea-loss-$left" || true
done
name=onesea-loss-$$
ip netns add "$name" 2>/dev/null || skip "this machine gives no network namespaces"
trap 'ip netns delete "$name"' EXIT
ip -n "$name" link set lo up mtu 1500
ip netns exec "$name" nft -f - <<RULES || skip "netfilter does not take the rule"
table inet fault {
    counter lost { }
    chain arriving {
        type filter hook input priority 0;
        meta l4proto udp numgen random mod 1000 < $permille counter name lost drop
    }
}
RULES

ip netns exec "$name" "$@"
lost=$(ip netns exec "$name" nft list counter inet fault lost | sed -n 's/.*packets \([0-9]*\).*/\1/p')
echo "$lost packets were lost"
((lost > 0))
