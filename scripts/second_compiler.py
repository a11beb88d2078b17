#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""second_compiler.py TREE: does clang take, without a warning, all C and C++ that gcc has compiled in a build tree?

Reads the tree's compile_commands.json and checks each file with the same options but without making code, which is
much faster than a second build. Exit status 1: some file does not pass; its first lines are printed."""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLANG = os.environ.get("ONESEA_CLANG", "clang-14")
CLANGXX = os.environ.get("ONESEA_CLANGXX", "clang++-14")

# What only gcc knows, for its way to optimize (ONESEA_AS_ONE in cmake/OneseaSettings.cmake); no code is made here.
ONLY_GCC = ("-flto=auto", "-ffat-lto-objects", "-Wno-restrict")

# Read once for many files (cmake/OneseaPrecompiled.cmake). Here every file must include what it needs.
READ_ONCE = "cmake_pch.hxx"


def command_of(entry):
    words = shlex.split(entry["command"])
    source = entry["file"]
    kept, before = [], ""
    for word in words[1:]:
        if before == "-o":
            pass
        elif before == "-include" and word.endswith(READ_ONCE):
            kept.pop()
        elif word not in ("-c", "-o", source, *ONLY_GCC):
            kept.append(word)
        before = word
    return [CLANG if source.endswith(".c") else CLANGXX, *kept, "-fsyntax-only", source]


def check(entry):
    result = subprocess.run(command_of(entry), cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], result.returncode, result.stderr


def main(tree):
    entries = json.loads((Path(tree) / "compile_commands.json").read_text())
    entries = [e for e in entries if e["file"].endswith((".c", ".cpp"))]  # clang 14 has no Fortran
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [(file, text) for file, status, text in pool.map(check, entries) if status != 0]
    for file, text in bad:
        print(f"{file} does not pass clang:", *text.splitlines()[:20], sep="\n")
    print(f"clang: {len(entries)} files, {len(bad)} do not pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
