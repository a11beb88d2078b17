#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house (scripts/lint/) over all files that git knows. Exit status 1: something is wrong."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from lint import arrows, formatting, headers, sizes, texts  # noqa: E402
from lint.tree import Tree  # noqa: E402

RULES = {module.__name__.split(".")[-1]: module for module in (texts, arrows, sizes, formatting, headers)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=Path(__file__).resolve().parent.parent, help="the tree to look at")
    parser.add_argument("--only", action="append", choices=RULES, help="this rule only (may be repeated)")
    parser.add_argument("--fix-format", action="store_true", help="format the sources in place and stop")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="compilations at once")
    options = parser.parse_args()
    tree = Tree(options.root, options.jobs)
    if options.fix_format:
        formatting.fix(tree)
        return 0
    total = 0
    for name in options.only or RULES:
        start = time.monotonic()
        problems = RULES[name].check(tree)
        total += len(problems)
        state = "ok" if not problems else f"{len(problems)} problems"
        print(f"lint {name:<11} {state:<12} {time.monotonic() - start:5.1f} s", flush=True)
        print("".join(f"  {problem}\n" for problem in problems), end="", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
