# SPDX-License-Identifier: Apache-2.0
"""Every rule of scripts/lint must pass a clean tree, and must fail on the one thing it exists for."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lint import arrows, formatting, headers, sizes, texts  # noqa: E402
from lint.tree import Tree  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "#pragma once\n\n"


class RuleTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="onesea-lint-")
        self.addCleanup(self.place.cleanup)
        self.root = Path(self.place.name)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(".clang-format", (HERE.parent.parent / ".clang-format").read_text())
        self.write("include/onesea.h", "/* SPDX-License-Identifier: Apache-2.0 */\ntypedef int sea_team;\n")
        self.write("src/base/log.hpp", HEADER + "inline int volume = 1;\n")
        self.write("src/base/README.md", "# base\n")
        self.write("src/net/README.md", "# net\n")
        self.write("src/net/link.hpp", HEADER + '#include "base/log.hpp"\n')

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def problems(self, rule):
        return rule.check(Tree(self.root))

    def assert_one(self, rule, *words):
        problems = self.problems(rule)
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_every_rule_passes_a_clean_tree(self):
        for rule in (arrows, formatting, headers, sizes, texts):
            self.assertEqual(self.problems(rule), [], rule.__name__)

    # ---- arrows

    def test_arrows_fail_when_a_lower_layer_includes_a_higher_one(self):
        self.write("src/base/log.cpp", SPDX + '#include "base/log.hpp"\n#include "net/link.hpp"\n')
        self.assert_one(arrows, "src/base/log.cpp:3", "base must not include net")

    def test_arrows_fail_between_the_two_transports(self):
        self.write("src/shm/ring.cpp", SPDX + '#include "net/link.hpp"\n')
        self.assert_one(arrows, "shm must not include net")

    def test_arrows_fail_on_a_detour_through_dots_and_on_angle_brackets(self):
        self.write("src/base/a.cpp", SPDX + '#include "../net/link.hpp"\n')
        self.write("src/base/b.cpp", SPDX + "#include <net/link.hpp>\n")
        self.assertEqual(len(self.problems(arrows)), 2)

    def test_arrows_fail_when_an_example_or_a_compat_library_sees_the_inside(self):
        for place in ("examples/ring.cpp", "bench/rma.cpp", "compat/lapi/src/lapi.cpp"):
            self.write(place, SPDX + '#include "onesea.h"\n#include "base/log.hpp"\n')
        self.assertEqual(len(self.problems(arrows)), 3)

    def test_arrows_let_the_command_but_not_core_include_the_agent(self):
        self.write("src/agent/agent.hpp", HEADER + '#include "net/link.hpp"\n')
        self.write("src/core/job.cpp", SPDX + '#include "agent/agent.hpp"\n')
        self.write("cli/run.cpp", SPDX + '#include "agent/agent.hpp"\n')
        self.assert_one(arrows, "core must not include agent")

    def test_arrows_let_tests_beside_the_code_but_not_the_code_include_the_harness(self):
        self.write("tests/harness/pairs.hpp", HEADER)
        for place in ("src/net/a_test.cpp", "compat/acp/tests/b_test.cpp", "compat/acp/tests/c/d.cpp", "src/net/a.cpp"):
            self.write(place, SPDX + '#include "pairs.hpp"\n')
        self.assert_one(arrows, "src/net/a.cpp:2", "is no file of this repository")

    def test_arrows_fail_between_two_compat_libraries(self):
        self.write("compat/acp/include/acp.h", "/* SPDX-License-Identifier: Apache-2.0 */\n")
        self.write("compat/lapi/src/lapi.c", SPDX + '#include "../../acp/include/acp.h"\n')
        self.assert_one(arrows, "must not include another")

    def test_arrows_fail_on_an_include_of_nothing_and_on_an_unknown_folder(self):
        self.write("src/base/a.cpp", SPDX + '#include "base/gone.hpp"\n')
        self.assert_one(arrows, "base/gone.hpp")
        self.write("src/base/a.cpp", SPDX)
        self.write("src/attic/a.cpp", SPDX)
        self.assert_one(arrows, "attic")

    def test_arrows_and_headers_know_the_folders_beside_a_test_or_benchmark(self):
        self.write("bench/measure/turns.hpp", HEADER + "inline int turns = 1;\n")
        self.write("bench/rma/rma.hpp", HEADER + '#include "turns.hpp"\n')
        self.assertEqual(self.problems(arrows) + self.problems(headers), [])

    # ---- headers

    def test_headers_fail_when_one_needs_another_first(self):
        self.write("src/net/packet.hpp", HEADER + "inline std::string name;\n")
        self.assert_one(headers, "src/net/packet.hpp", "does not stand alone")

    def test_headers_are_left_to_their_source_only_where_that_includes_them_first(self):
        self.write("src/net/packet.hpp", HEADER + "inline std::string name;\n")
        self.write("src/net/packet.cpp", SPDX + '#include <string>\n#include "net/packet.hpp"\n')
        self.assert_one(headers, "src/net/packet.hpp", "does not stand alone")
        self.write("src/net/packet.cpp", SPDX + '#include "net/packet.hpp"\n#include <string>\n')
        self.assertEqual(self.problems(headers), [])

    def test_headers_fail_when_the_public_one_is_not_c11(self):
        self.write("include/onesea.h", "static inline int *first(void) { return nullptr; }\n")
        problems = self.problems(headers)
        self.assertEqual(len(problems), 2, problems)
        self.assertIn("gcc C11", problems[0])
        self.assertIn("clang C11", problems[1])

    def test_headers_fail_when_the_public_one_needs_a_gnu_extension(self):
        self.write("include/onesea.h", "static inline int one(void) { return ({ 1; }); }\n")
        self.assertEqual(len(self.problems(headers)), 4)

    # ---- format

    def test_format_fails_on_an_unformatted_file_and_the_repair_repairs_it(self):
        self.write("src/base/a.cpp", SPDX + "int  f( )  {return 1;}\n")
        self.assert_one(formatting, "src/base/a.cpp:2", "not formatted")
        formatting.fix(Tree(self.root))
        self.assertEqual(self.problems(formatting), [])

    # ---- sizes

    def test_sizes_fail_on_a_long_file(self):
        self.write("src/base/a.cpp", SPDX + "int x;\n" * 600)
        self.assert_one(sizes, "601 lines")

    def test_sizes_fail_on_a_long_function_and_only_there(self):
        self.write("src/base/a.cpp", SPDX + "struct s {\n" + "    int x;\n" * 90 + "};\n")
        self.assertEqual(self.problems(sizes), [])
        body = "    if (f()) {\n        f();\n    }\n" * 27
        self.write("src/base/a.cpp", SPDX + "namespace {\nint f()\n{\n" + body + "}\n} // namespace\n")
        self.assert_one(sizes, "src/base/a.cpp:4", "83 lines")
        method = "class c {\n    int f()\n    {\n" + "        f();\n" * 80 + "    }\n};\n"
        self.write("src/base/a.cpp", SPDX + method)
        self.assert_one(sizes, "src/base/a.cpp:4", "82 lines")

    def test_sizes_fail_on_a_long_python_function(self):
        self.write("scripts/a.py", "def f():\n" + "    f()\n" * 80)
        self.assert_one(sizes, "81 lines")

    # ---- texts

    def test_texts_fail_without_the_licence_line(self):
        self.write("src/base/a.cpp", "int x;\n")
        self.write("scripts/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        self.assert_one(texts, "src/base/a.cpp:1", "SPDX")

    def test_texts_fail_on_what_is_left_for_later(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX"):
            self.write("docs/a.md", f"{word}: write this page\n")
            self.assert_one(texts, "docs/a.md:1")

    def test_texts_fail_on_a_path_into_a_home(self):
        self.write("docs/a.md", "Run /" + "home/ann/onesea/dev\n")
        self.assert_one(texts, "docs/a.md:1", "home")

    def test_texts_fail_on_a_link_that_leads_nowhere(self):
        self.write("docs/a.md", "See [the log](../src/base/README.md#levels), [the net](../src/net/gone.md), [us](http://x).\n")
        self.assert_one(texts, "docs/a.md:1", "../src/net/gone.md")

    def test_texts_fail_on_a_layer_without_its_page(self):
        (self.root / "src/net/README.md").unlink()
        self.assert_one(texts, "src/net", "README.md")

    # ---- the command

    def test_the_command_says_so_with_its_exit_status(self):
        command = [sys.executable, str(HERE.parent / "lint.py"), "--root", str(self.root)]
        clean = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(clean.returncode, 0, clean.stdout + clean.stderr)
        self.write("src/base/a.cpp", SPDX + '#include "net/link.hpp"\n')
        broken = subprocess.run([*command, "--only", "arrows"], capture_output=True, text=True)
        self.assertEqual(broken.returncode, 1)
        self.assertIn("base must not include net", broken.stdout)

    def test_files_that_git_ignores_are_not_looked_at(self):
        self.write(".gitignore", "build/\n")
        self.write("build/a.cpp", '#include "nowhere.hpp"\n')
        self.assertEqual(self.problems(arrows) + self.problems(texts), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
