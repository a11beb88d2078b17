# SPDX-License-Identifier: Apache-2.0
"""Sizes: a file has one subject and at most 600 lines, a function fits on a screen (80 lines at the very most).

Functions of C and C++ are found by our own format, which the format rule enforces: the brace that opens a function
body, and no other one but that of a bare block, stands alone on its line, and the closing one stands below it in the
same column. Python functions are found by the compiler's own parser.
"""

import ast
import re

FILE_LINES = 600
FUNCTION_LINES = 80
LONG_BY_NATURE = {"LICENSE"}
COUNTED = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".rb"}
OPENING = re.compile(r"^( *)\{$")


def c_functions(lines):
    """(first line, number of lines) of every function body, braces included."""
    open_at = {}
    for number, line in enumerate(lines, 1):
        if match := OPENING.match(line):
            open_at[len(match[1])] = number
        elif line.lstrip(" ").startswith("}"):
            start = open_at.pop(len(line) - len(line.lstrip(" ")), None)
            if start:
                yield start, number - start + 1


def python_functions(lines):
    for node in ast.walk(ast.parse("\n".join(lines) + "\n")):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check_file(tree, path):
    lines = tree.lines(path)
    problems = []
    if len(lines) > FILE_LINES:
        problems.append(f"{path}:{FILE_LINES}: {len(lines)} lines; at most {FILE_LINES}")
    functions = python_functions(lines) if path.suffix == ".py" else c_functions(lines)
    for start, length in functions:
        if length > FUNCTION_LINES:
            problems.append(f"{path}:{start}: a function of {length} lines; at most {FUNCTION_LINES}")
    return problems


def check(tree):
    files = [p for p in tree.files if p.suffix in COUNTED or p.name == "dev"]
    return [problem for path in files for problem in check_file(tree, path)]
