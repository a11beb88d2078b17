#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# own_pids.sh COMMAND...: runs it if ranks may be started by `unshare -pf`, each as number 1 of a namespace of its own. 77:
# not possible here.
set -euo pipefail
if ! unshare -pf true 2>/dev/null; then
    echo "skipped: namespaces of process numbers need root"
    exit 77
fi
exec "$@"
