# SPDX-License-Identifier: Apache-2.0
"""Headers stand alone: each one compiles as the only line of a program; the public ones in C11 and C++, by both
compilers and pedantically, the others in the language that they are written in. Not those that their own source
includes first: compiling that proves it (by clang, without precompiled headers: scripts/second_compiler.py)."""

import os
import re
import subprocess

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
PEDANTIC = ["-Wpedantic", "-pedantic-errors"]
C = ["-x", "c", "-std=c11"]
CPP = ["-x", "c++", "-std=c++20"]
GCC = os.environ.get("ONESEA_GCC", "gcc")
CLANG = os.environ.get("ONESEA_CLANG", "clang-14")
# inline.h is the second half of onesea.h and says so.
NOT_ALONE = {"include/onesea/inline.h"}


def ways(tree, path):
    """The compilations that a header must pass: (what, command)."""
    places = [] if path.parts[0] == "include" else ["src", path.parts[0], *tree.header_folders(path)]
    if path.parts[0] in ("examples", "bench", "tests"):  # programs of users of a compatibility library
        places += sorted({p.parent for p in tree.headers if p.parts[0] == "compat" and p.parent.name == "include"})
    flags = [*WARNINGS, "-fsyntax-only", *(f"-I{place}" for place in places), "-Iinclude"]
    public = is_public(path)
    if public and path.suffix == ".hpp":
        for name, compiler in (("gcc", GCC), ("clang", CLANG)):
            yield f"{name} C++20", [compiler, *CPP, *PEDANTIC, *flags]
    elif public and path.suffix == ".h":
        for name, compiler in (("gcc", GCC), ("clang", CLANG)):
            yield f"{name} C11", [compiler, *C, *PEDANTIC, *flags]
            yield f"{name} C++20", [compiler, *CPP, *PEDANTIC, *flags]
    elif path.suffix == ".h":
        yield "gcc C11", [GCC, *C, "-D_GNU_SOURCE", *flags]
    else:
        yield "gcc C++20", [GCC, *CPP, *flags]


INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)')


def is_public(path):
    return path.parts[0] == "include" or (path.parts[0] == "compat" and "include" in path.parts)


def is_first_in_its_source(tree, path):
    for ending in (".cpp", ".c", "_test.cpp"):
        source = path.with_name(path.stem + ending)
        if not (tree.root / source).is_file():
            continue
        first = next((found[1] for line in tree.lines(source) if (found := INCLUDE.match(line))), "")
        if str(path).endswith("/" + first):
            return True
    return False


def check_one(tree, path):
    problems = []
    for what, command in ways(tree, path):
        program = f'#include "{path.relative_to(path.parts[0]) if path.parts[0] == "include" else path}"\n'
        result = subprocess.run([*command, "-I.", "-"], input=program, cwd=tree.root, capture_output=True, text=True)
        if result.returncode != 0:
            reason = next((l for l in result.stderr.splitlines() if "error" in l), result.stderr.strip())
            problems.append(f"{path}:1: does not stand alone ({what}): {reason}")
    return problems


def check(tree):
    headers = [p for p in tree.headers if str(p) not in NOT_ALONE]
    headers = [p for p in headers if is_public(p) or not is_first_in_its_source(tree, p)]
    return tree.in_parallel(lambda p: check_one(tree, p), headers)
