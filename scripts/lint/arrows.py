# SPDX-License-Identifier: Apache-2.0
"""Arrows: a folder includes only what lies below it in the house.

base < net, shm < core < coll, data, dsm, io < msg < compat, cli, python. observe stands on base alone; agent stands
beside core on base, net, shm and observe; cli may also see agent. bench, examples and compat see what a user sees:
onesea.h, onesea.hpp and their own folder; but compat/dsm stands on compat/lapi, bench/dsm puts compat/dsm on other wires,
bench/memory plays the launcher to real agents, bench/tune and bench/mmp read and write profiles: they see agent;
bench/cipher calls the cipher of net. The public header stands on nothing but the standard library.
"""

import re
from pathlib import Path

ABOVE_CORE = ("coll", "data", "msg", "dsm", "io")
BELOW = {
    "base": set(),
    "net": {"base"},
    "shm": {"base"},
    "core": {"base", "net", "shm"},
    "observe": {"base"},
    "agent": {"base", "net", "shm", "observe"},
    **{layer: {"base", "net", "shm", "core"} for layer in ABOVE_CORE},
    "msg": {"base", "net", "shm", "core", "coll"},  # its messages go to members of teams
    "cli": {"base", "net", "shm", "core", "observe", "agent", *ABOVE_CORE},
    "python": {"base", "core", *ABOVE_CORE},
    "bench": set(),
    "bench/memory": {"bench", "base", "net", "shm", "agent"},
    "bench/cipher": {"bench", "base", "net"},
    "bench/tune": {"bench", "base", "net", "shm", "agent"},
    "bench/mmp": {"bench", "base", "net", "shm", "agent", "compat"},
    "bench/dsm": {"bench", "compat"},
    "examples": set(),
    "compat": set(),
    "include": set(),
}
ON = {"dsm": "lapi"}  # a compatibility library on another one
FREE = ("tests", "packaging")  # tests of the whole may look everywhere
HARNESS = Path("tests/harness")  # what tests beside the code have in common with them
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The part of the house that a file belongs to: src/net/link.hpp -> net, cli/run.cpp -> cli."""
    parts = Path(path).parts
    if "/".join(parts[:2]) in BELOW and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def is_test(path):
    return path.name.endswith("_test.cpp") or "tests" in path.parts[:-1]


def find(tree, path, name, quoted):
    """The file of the repository that an include names, or None."""
    places = ([path.parent] if quoted else []) + [Path("src"), Path("include"), Path(path.parts[0])]
    places += [HARNESS] if is_test(path) else []
    places += tree.header_folders(path)
    for place in places:
        found = (tree.root / place / name).resolve()
        if found.is_file() and found.is_relative_to(tree.root.resolve()):
            return found.relative_to(tree.root.resolve())
    return None


def check_file(tree, path):
    here = folder_of(path)
    if here in FREE:
        return []
    if here not in BELOW:
        return [f"{path}:1: folder '{here}' has no place in the house (scripts/lint/arrows.py)"]
    problems = []
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted = match[1] == '"'
        found = find(tree, path, match[2], quoted)
        if found is None:
            if quoted:
                problems.append(f'{path}:{number}: "{match[2]}" is no file of this repository')
            continue
        there = folder_of(found)
        if is_test(path) and found.parent == HARNESS:
            continue
        if there not in (here, "include") and there not in BELOW[here]:
            problems.append(f"{path}:{number}: {here} must not include {there} ({match[2]})")
        elif here == "compat" and there == "compat" and found.parts[1] not in (path.parts[1], ON.get(path.parts[1])):
            problems.append(f"{path}:{number}: one compatibility library must not include another ({match[2]})")
    return problems


def check(tree):
    return [problem for path in tree.code for problem in check_file(tree, path)]
