#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""second_compiler.py TREE: does clang take, without a warning, all C and C++ that gcc has compiled in a build tree?

Reads the tree's compile_commands.json and checks each file with the same options but without making code, which is
much faster than a second build. Exit status 1: some file does not pass; its first lines are printed."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

CLANG = os.environ.get("ONESEA_CLANG", "clang-14")
CLANGXX = os.environ.get("ONESEA_CLANGXX", "clang++-14")

# What only gcc knows, for its way to optimize (ONESEA_AS_ONE in cmake/OneseaSettings.cmake); no code is made here.
ONLY_GCC = ("-flto=auto", "-ffat-lto-objects", "-Wno-restrict", "-mmemcpy-strategy=libcall:-1:noalign")

# What a tree that was trained says to gcc (ONESEA_TRAINING in cmake/OneseaSettings.cmake), begins so.
TRAINING = ("-fprofile-", "--param=hot-bb-", "-Wno-error", "-Wno-maybe-uninitialized", "-Wno-missing-profile", "-Wno-coverage-mismatch")

# What is said to gcc because it reads several files as one (ONESEA_FILES_TOGETHER); here each is read by itself.
TOGETHER = ("-Wno-shadow", "-Wno-subobject-linkage")

# Read once for many files (cmake/OneseaPrecompiled.cmake). Here every file must include what it needs.
READ_ONCE = "cmake_pch.hxx"

# The headers in which a compiler spends most of its time. They too are read once for many files, but each file gets only
# those that it includes anyway, so that what it forgets to include is still missing.
LARGE = ("CLI/CLI.hpp", "fmt/format.h", "gmock/gmock.h", "gtest/gtest.h", "nlohmann/json.hpp", "string", "vector")
FEWEST_FILES = 3  # for which reading headers once is worth it
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def apart(entry):
    """An entry for each file of one that CMake made of several."""
    if not Path(entry["file"]).match("Unity/unity_*"):
        return [entry]
    return [
        {**entry, "file": file, "command": entry["command"].replace(entry["file"], file)}
        for _, file in INCLUDE.findall(Path(entry["file"]).read_text())
    ]


def command_of(entry):
    words = shlex.split(entry["command"])
    source = entry["file"]
    kept, before = [], ""
    for word in words[1:]:
        if before == "-o":
            pass
        elif before == "-include" and word.endswith(READ_ONCE):
            kept.pop()
        elif word not in ("-c", "-o", source, *ONLY_GCC, *TOGETHER) and not word.startswith(TRAINING):
            kept.append(word)
        before = word
    return [CLANG if source.endswith(".c") else CLANGXX, *kept, "-fsyntax-only", source]


@cache
def included_by(file):
    return INCLUDE.findall(Path(file).read_text(errors="replace"))


def large_headers_of(file, folders, seen):
    """Those of LARGE that the file includes, itself or by way of headers in the folders."""
    found = set()
    for quote, name in included_by(file):
        places = [os.path.dirname(file), *folders] if quote == '"' else folders
        ours = next((p for p in (os.path.normpath(os.path.join(f, name)) for f in places) if os.path.isfile(p)), None)
        if ours is None:
            found.update({name} & set(LARGE))
        elif ours not in seen:
            seen.add(ours)
            found |= large_headers_of(ours, folders, seen)
    return found


def alike(entry):
    """What files have in common that may share precompiled headers: their options and large headers."""
    if entry["file"].endswith(".c"):
        return None
    options = command_of(entry)[:-1]
    folders = [word[2:] for word in options if word.startswith("-I")]
    headers = large_headers_of(entry["file"], folders, set())
    return tuple(w for w in options if not w.startswith("-I")), tuple(h for h in LARGE if h in headers)


def read_once(entries, headers, place):
    """The options that give these files what they include of LARGE; none where that is not worth it or fails."""
    if len(entries) < FEWEST_FILES or not headers:
        return []
    place.with_suffix(".hpp").write_text("".join(f"#include <{header}>\n" for header in headers))
    made = place.with_suffix(".pch")
    # What the headers use of templates is made once, too: a seventh of all time.
    header = ["-fpch-instantiate-templates", "-x", "c++-header", str(place.with_suffix(".hpp"))]
    command = [*command_of(entries[0])[:-2], *header, "-o", str(made)]
    done = subprocess.run(command, cwd=entries[0]["directory"], capture_output=True)
    return ["-include-pch", str(made)] if done.returncode == 0 else []


def check(entry, given):
    command = [*command_of(entry), *given]
    result = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], result.returncode, result.stderr


def check_alike(group):
    entries, headers, place = group
    given = read_once(entries, headers, place)
    results = [check(entry, given) for entry in entries]
    place.with_suffix(".pch").unlink(missing_ok=True)
    return results


def main(tree):
    entries = json.loads((Path(tree) / "compile_commands.json").read_text())
    groups = defaultdict(list)
    for entry in (one for some in entries for one in apart(some)):
        if entry["file"].endswith((".c", ".cpp")):  # clang 14 has no Fortran
            groups[alike(entry)].append(entry)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [(files, key[1] if key else (), Path(folder) / str(i)) for i, (key, files) in enumerate(groups.items())]
        work.sort(key=lambda group: -len(group[0]))  # the longest first, so that all end at about the same time
        results = [result for some in pool.map(check_alike, work) for result in some]
    bad = [(file, text) for file, status, text in results if status != 0]
    for file, text in bad:
        print(f"{file} does not pass clang:", *text.splitlines()[:20], sep="\n")
    print(f"clang: {len(results)} files, {len(bad)} do not pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
