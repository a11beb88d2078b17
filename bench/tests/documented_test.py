# SPDX-License-Identifier: Apache-2.0
"""documented_test.py ONESEA DOCS: every benchmark that there is has a line in the list of docs/benchmarks.md, and in no
list is one that there is not."""

import re
import subprocess
import sys
from pathlib import Path

onesea, docs = sys.argv[1], Path(sys.argv[2])
said = subprocess.run([onesea, "bench", "--help"], capture_output=True, text=True, check=True, timeout=20).stdout
there = set(said.split("benchmarks:")[1].replace(",", " ").split())
listed = set(re.findall(r"^onesea bench ([a-z]+)", (docs / "benchmarks.md").read_text(), re.MULTILINE))
shown = set(re.findall(r"^\./dev bench ([a-z]+)", (docs.parent / "README.md").read_text(), re.MULTILINE))
assert listed == there, f"docs/benchmarks.md lacks {there - listed} and has {listed - there} too many"
assert shown == there, f"README.md lacks {there - shown} and has {shown - there} too many"
