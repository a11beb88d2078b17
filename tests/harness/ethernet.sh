#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ethernet.sh COMMAND...: runs it where virtual nodes reach each other by packets of 1500 bytes, as on plain Ethernet: in a
# network namespace of its own. 77: not possible here.
exec "$(dirname "${BASH_SOURCE[0]}")/own_loopback.sh" bash -c 'ip link set lo mtu 1500 && exec "$@"' bash "$@"
