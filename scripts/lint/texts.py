# SPDX-License-Identifier: Apache-2.0
"""Texts: the licence line is there; nothing is left for later; nothing points into somebody's home."""

import re

LICENCE = "SPDX-License-Identifier: Apache-2.0"
LICENSED = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".rb"}
LICENSED_NAMES = {"dev", "run"}
# Written so that this file does not contain what it looks for.
LATER = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
HOME = re.compile(r"(?<![\w.$}{-])/(home|root|work)/\w")
BINARY = {".png", ".jpg", ".gif", ".pdf", ".bin", ".ico"}


def check_file(tree, path):
    lines = tree.lines(path)
    problems = []
    if path.suffix in LICENSED or (not path.suffix and path.name in LICENSED_NAMES):
        if not any(LICENCE in line for line in lines[:2]):
            problems.append(f"{path}:1: the first line (after #!) must be '{LICENCE}' in a comment")
    for number, line in enumerate(lines, 1):
        if LATER.search(line):
            problems.append(f"{path}:{number}: do it now, or say in words why not: {line.strip()[:80]}")
        if HOME.search(line):
            problems.append(f"{path}:{number}: a path into somebody's home: {line.strip()[:80]}")
    return problems


def check(tree):
    files = [p for p in tree.files if p.suffix not in BINARY and "corpus" not in p.parts]
    return [problem for path in files for problem in check_file(tree, path)]
