# SPDX-License-Identifier: Apache-2.0
"""The files of the repository that the rules look at: what git tracks, or would track if it were added."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

CODE = {".c", ".h", ".cpp", ".hpp"}
HEADERS = {".h", ".hpp"}
FORTRAN = {"lapif.h"}  # headers of another language, with names that programs expect


class Tree:
    def __init__(self, root, jobs=2):
        self.root = Path(root)
        self.jobs = jobs

    @cached_property
    def files(self):
        """Relative paths of all files, sorted."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        paths = {Path(name) for name in listed.split("\0") if name}
        return sorted(p for p in paths if (self.root / p).is_file() and not (self.root / p).is_symlink())

    @property
    def code(self):
        return [p for p in self.files if p.suffix in CODE and p.name not in FORTRAN]

    @property
    def headers(self):
        return [p for p in self.files if p.suffix in HEADERS and p.name not in FORTRAN]

    def header_folders(self, path):
        """Folders of headers beside a file in its part of the repository (bench/, tests/, cli/ ...); none in src, where
        every include says its layer."""
        top = path.parts[0]
        return [] if top in ("src", "include") else sorted({p.parent for p in self.headers if p.parts[0] == top})

    def lines(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()

    def in_parallel(self, function, items):
        """function(item) for each, `jobs` at once; the lists that it returns, joined in order."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return [problem for problems in pool.map(function, items) for problem in problems]
