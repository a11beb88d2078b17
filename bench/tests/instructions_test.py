# SPDX-License-Identifier: Apache-2.0
"""instructions_test.py ONESEA COUNTER OBJDUMP: an 8-byte put and get inside a node take at most 25 instructions each,
inlined, without a call.

callgrind counts the instructions of one function that does N of them between two ranks; the difference between N and 2N,
divided by N, is one operation with its share of the loop. callgrind also notes every call that the function makes, and
every system call: there are none. objdump shows that the loop as compiled has no call."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

AT_MOST = 25
SKIPPED = 77
N = 1000


def callgrind(onesea, counter, what, n, folder):
    """(instructions inside count_WHAT, calls that it makes), of rank 0; rank 1 never enters it."""
    out = Path(folder) / f"{what}.{n}"
    command = [onesea, "run", "-n", "2", "--timeout", "100", "valgrind", "--quiet", "--tool=callgrind",
               f"--callgrind-out-file={out}.%p", f"--toggle-collect=count_{what}", counter, what, str(n)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, f"exit code {result.returncode}: {result.stderr}{result.stdout}"
    texts = [file.read_text() for file in Path(folder).glob(f"{out.name}.*")]
    assert len(texts) == 2, f"{len(texts)} files of callgrind, not one per rank"
    counts = [int(re.search(r"^(?:summary|totals): (\d+)", text, re.M)[1]) for text in texts]
    busiest = texts[counts.index(max(counts))]
    return max(counts), calls_of(busiest, f"count_{what}")


def calls_of(text, function):
    """How many calls callgrind has seen `function` make. A section begins with "fn=(number) name", the name only at its
    first mention, which may be in a "cfn=" line."""
    names, inside, calls = {}, False, 0
    for line in text.splitlines():
        match = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line)
        if match:
            names.setdefault(match[2], match[3])
            inside = names[match[2]] == function if not match[1] else inside
        calls += inside and line.startswith("calls=")
    return calls


def loop_without_call(objdump, counter, function):
    """True if some jump back inside the function encloses no call."""
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", counter], capture_output=True, text=True, check=True)
    body = re.search(rf"^[0-9a-f]+ <{function}>:\n(.*?)(?:\n\n|\Z)", listing.stdout, re.M | re.S)[1]
    calls, jumps = [], []
    for line in body.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*([0-9a-f]*)", line)
        if not match:
            continue
        at = int(match[1], 16)
        if match[2].startswith("call"):
            calls.append(at)
        elif match[2].startswith("j") and match[3] and int(match[3], 16) <= at:
            jumps.append((int(match[3], 16), at))
    return any(not any(begin <= call <= end for call in calls) for begin, end in jumps)


def main(onesea, counter, objdump):
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        for what in ("put", "get"):
            once, _ = callgrind(onesea, counter, what, N, folder)
            twice, calls = callgrind(onesea, counter, what, 2 * N, folder)
            each = (twice - once) / N
            print(f"{what}: {each:.2f} instructions ({once} for {N}, {twice} for {2 * N}), {calls} calls")
            assert 0 < each <= AT_MOST, f"{what}: {each} instructions; at most {AT_MOST}"
            assert calls == 0, f"count_{what} makes {calls} calls"
            assert loop_without_call(objdump, counter, f"count_{what}"), f"the loop of count_{what} has a call"
    return 0


sys.exit(main(*sys.argv[1:]))
