# SPDX-License-Identifier: Apache-2.0
"""memory_test.py ONESEA: `onesea bench memory --quick` with a job of 1,000,000 ranks keeps what it promises: memory is
no matter of speed, so that here, and only here, figures are held against limits."""

import json
import signal
import subprocess
import sys

RANKS = 1_000_000
PROCESS_BYTES = 2_000_000  # of a process that talks to 64 peers
TABLE_BYTES = 24  # per rank, once per node
FLAT_BYTES = 64 * 1024  # page tables and the pages around what is looked up; nothing that is as long as the job


def check_signals(onesea):
    """It ends soon when it is asked to, and says so by its status, not when all has been measured."""
    for number in (signal.SIGINT, signal.SIGTERM):
        bench = subprocess.Popen([onesea, "bench", "memory", "--quick", "--json"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        said = bench.stderr.readline() + bench.stderr.readline() # the job of a million is being set up
        bench.send_signal(number)
        out, err = bench.communicate(timeout=60)
        assert bench.returncode == 128 + number and not out, (number, bench.returncode, out, said, err)


def main(onesea):
    check_signals(onesea)
    result = subprocess.run([onesea, "bench", "memory", "--quick", "--json"], capture_output=True, text=True,
                            timeout=100)
    print(result.stderr)
    assert result.returncode == 0, f"exit code {result.returncode}"
    figures = [json.loads(line) for line in result.stdout.splitlines()]
    value = {(f["case"], f["ranks"]): f["median"] for f in figures}
    small = min(ranks for _, ranks in value)
    print(value)
    assert small < RANKS and max(ranks for _, ranks in value) == RANKS, "the sizes are missing"
    for case in ("init", "talk", "end"):
        assert 0 < value[case, RANKS] <= PROCESS_BYTES, f"{case}: the process owns {value[case, RANKS]} bytes"
        grown = value[case, RANKS] - value[case, small]
        assert grown <= FLAT_BYTES, f"{case}: {grown} bytes more than in a job of {small} ranks"
    assert 0 < value["tables", RANKS] <= TABLE_BYTES, f"the tables cost {value['tables', RANKS]} bytes a rank"
    assert value["all", RANKS] > value["talk", RANKS] and value["setup", RANKS] > 0

    for wrong in (["--ranks", "1"], ["--ranks", "64", "--peers", "64"], ["--peers", "0"], ["--case", "nothing"],
                  ["--path", "shm"], ["--per-node", "0"], ["--unknown"]):
        result = subprocess.run([onesea, "bench", "memory", *wrong], capture_output=True, text=True, timeout=20)
        assert result.returncode != 0 and result.stderr and not result.stdout, f"{wrong} was accepted"


main(sys.argv[1])
