# SPDX-License-Identifier: Apache-2.0
"""second_compiler.py must pass what clang passes, and fail on what only gcc takes."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "second_compiler.py"


class SecondCompilerTest(unittest.TestCase):
    def status(self, text):
        with tempfile.TemporaryDirectory(prefix="onesea-clang-") as place:
            source = str(Path(place) / "a.cpp")
            Path(source).write_text(text)
            only_gcc = "-O3 -flto=auto -ffat-lto-objects -Wno-restrict"
            (Path(place) / "cmake_pch.hxx").write_text("#include <vector>\n")
            read_once = f"-Winvalid-pch -include {place}/cmake_pch.hxx"
            command = f"g++ -std=c++20 -Wall -Wextra -Werror {only_gcc} {read_once} -o a.o -c {source}"
            subprocess.run(command.split(), cwd=place, check=True)
            entries = [{"directory": place, "file": source, "command": command}]
            (Path(place) / "compile_commands.json").write_text(json.dumps(entries))
            result = subprocess.run([sys.executable, str(SCRIPT), place], capture_output=True, text=True)
            self.assertEqual("a.cpp does not pass" in result.stdout, result.returncode != 0, result.stdout)
            return result.returncode

    def test_what_both_take_passes(self):
        self.assertEqual(self.status("int f() { return 1; }\n"), 0)

    def test_what_only_gcc_takes_fails(self):
        self.assertEqual(self.status("class c {\n    int unused_;\n};\n"), 1)

    def test_what_does_not_include_what_it_needs_fails(self):
        self.assertEqual(self.status("std::vector<int> v;\n"), 1)
        self.assertEqual(self.status("#include <vector>\nstd::vector<int> v;\n"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
