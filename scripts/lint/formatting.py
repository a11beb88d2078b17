# SPDX-License-Identifier: Apache-2.0
"""Format: clang-format of Debian 12 with .clang-format changes nothing. The public C header is laid out by hand."""

import os
import subprocess

CLANG_FORMAT = os.environ.get("ONESEA_CLANG_FORMAT", "clang-format-14")
BY_HAND = {"include/onesea.h", "include/onesea/inline.h"}


def formatted(tree):
    return [p for p in tree.code if str(p) not in BY_HAND]


def check_one(tree, path):
    command = [CLANG_FORMAT, "--dry-run", "--ferror-limit=1", str(path)]
    result = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
    if result.returncode == 0 and not result.stderr:
        return []
    where = next((l for l in result.stderr.splitlines() if l.startswith(str(path))), f"{path}:1:")
    return [":".join(where.split(":")[:2]) + ": not formatted (./dev fmt repairs it)"]


def check(tree):
    return tree.in_parallel(lambda p: check_one(tree, p), formatted(tree))


def fix(tree):
    files = [str(p) for p in formatted(tree)]
    if files:
        subprocess.run([CLANG_FORMAT, "-i", *files], cwd=tree.root, check=True)
