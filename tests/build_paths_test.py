#!/usr/bin/env python3
"""Units that are compiled with the path of the sources in an option have their object in the compiler
cache for one clone only, so there are few. BUILD is the folder of the build.
"""
import json
import os
import re
import shlex
import unittest
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
UNITS_MAX = 15


def options_of(command):
    """Definitions, and what goes to the inside of clang: a cache makes other paths relative."""
    words = shlex.split(command)
    for at, word in enumerate(words):
        if word.startswith("-D"):
            yield words[at + 1] if word == "-D" else word
        if word == "-Xclang":
            yield words[at + 1]


class Paths(unittest.TestCase):
    def test_few_units_are_compiled_with_the_path_of_the_sources(self):
        path = Path(os.environ["BUILD"]) / "compile_commands.json"
        units = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(len(units), 50)
        named = {os.path.relpath(unit["file"], ROOT) for unit in units
                 if any(re.search(rf"{re.escape(ROOT)}\b", option)
                        for option in options_of(unit["command"]))}
        print(f"{len(units)} units, {len(named)} of them with a path: {', '.join(sorted(named))}")
        self.assertLessEqual(len(named), UNITS_MAX)


if __name__ == "__main__":
    unittest.main()
