# SPDX-License-Identifier: Apache-2.0
"""Texts: the licence line is there; nothing is left for later; nothing points into somebody's home; links in pages lead
to files; each layer has its page."""

import re

LICENCE = "SPDX-License-Identifier: Apache-2.0"
LICENSED = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".rb"}
LICENSED_NAMES = {"dev", "run"}
# Written so that this file does not contain what it looks for.
LATER = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
HOME = re.compile(r"(?<![\w.$}{-])/(home|root|work)/\w")
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)]*)?\)")  # in a page, to another file of the repository
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
        for target, _ in LINK.findall(line) if path.suffix == ".md" else ():
            if not (tree.root / path.parent / target).exists():
                problems.append(f"{path}:{number}: the link '{target}' leads nowhere")
    return problems


def missing_pages(tree):
    layers = {path.parts[1] for path in tree.code if path.parts[0] == "src" and len(path.parts) > 2}
    without = [layer for layer in sorted(layers) if not (tree.root / "src" / layer / "README.md").is_file()]
    return [f"src/{layer}:1: has no README.md" for layer in without]


def check(tree):
    files = [p for p in tree.files if p.suffix not in BINARY and "corpus" not in p.parts]
    return [problem for path in files for problem in check_file(tree, path)] + missing_pages(tree)
