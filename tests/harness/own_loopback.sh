#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# own_loopback.sh COMMAND...: runs it in a network namespace of its own, whose loopback it may take down. 77: not possible
# here.
set -euo pipefail
if ((EUID != 0)) || ! command -v ip >/dev/null || ! unshare -n true 2>/dev/null; then
    echo "skipped: network namespaces need root, and ip"
    exit 77
fi
exec unshare -n -- bash -c 'ip link set lo up && exec "$@"' bash "$@"
