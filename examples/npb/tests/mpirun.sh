#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program on ranks of this machine with an installed MPI; exit status 77, with the reason, where there is none.
#
#     mpirun.sh openmpi|mpich RANKS PROGRAM ARGUMENT...
set -euo pipefail

name=$1 ranks=$2
shift 2
case $name in
openmpi)
    launcher=mpirun.openmpi
    options=(--oversubscribe --bind-to none --mca btl "vader,self" --mca pml ob1)
    ((EUID != 0)) || options+=(--allow-run-as-root)
    ;;
mpich)
    launcher=mpiexec.mpich
    options=(-launcher fork)
    ;;
*)
    echo "mpirun.sh: '$name' is no MPI that it knows" >&2
    exit 2
    ;;
esac
command -v "$launcher" >/dev/null || {
    echo "skipped: $launcher is not installed"
    exit 77
}
[[ -x $1 ]] || {
    echo "skipped: $1 was not built, for the headers of $name were not there"
    exit 77
}
exec timeout 100 "$launcher" "${options[@]}" -n "$ranks" "$@"
