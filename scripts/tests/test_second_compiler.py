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
            training = "-Wno-error -fprofile-use -fprofile-partial-training -fprofile-dir=counts -Wno-missing-profile"
            training += " --param=hot-bb-count-ws-permille=1000"
            only_gcc = f"-O3 -flto=auto -ffat-lto-objects -Wno-restrict -mmemcpy-strategy=libcall:-1:noalign {training}"
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

    def found_among(self, texts):
        """Which of these files do not pass, though gcc takes them as one."""
        with tempfile.TemporaryDirectory(prefix="onesea-clang-") as place:
            (Path(place) / "Unity").mkdir()
            for name, text in texts.items():
                (Path(place) / name).write_text(text)
            source = f"{place}/Unity/unity_0_cxx.cxx"
            Path(source).write_text("".join(f'#include "{place}/{name}"\n\n' for name in texts))
            command = f"g++ -std=c++20 -Wall -Wshadow -Werror -Wno-shadow -Wno-subobject-linkage -o a.o -c {source}"
            subprocess.run(command.split(), cwd=place, check=True)
            entries = [{"directory": place, "file": source, "command": command}]
            (Path(place) / "compile_commands.json").write_text(json.dumps(entries))
            result = subprocess.run([sys.executable, str(SCRIPT), place], capture_output=True, text=True)
            found = [name for name in texts if f"{name} does not pass" in result.stdout]
            self.assertIn(f"clang: {len(texts)} files, {len(found)} do not pass", result.stdout)
            return found

    def test_files_that_gcc_reads_as_one_are_read_one_by_one(self):
        whole = "#include <vector>\nstd::vector<int> v;\n"
        self.assertEqual(self.found_among({"a.cpp": whole, "b.cpp": "int f() { return 1; }\n"}), [])
        self.assertEqual(self.found_among({"a.cpp": whole, "b.cpp": "std::vector<int> w;\n"}), ["b.cpp"])
        hides = "int f(int a)\n{\n    { int a = 1; return a; }\n    return a;\n}\n"
        self.assertEqual(self.found_among({"a.cpp": whole, "b.cpp": hides}), ["b.cpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
