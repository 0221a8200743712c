"""A check of the checker: a small build tree with a mutant of every fate, each of which must be
told by its name and with the right reason."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from mutants import run_mutants  # noqa: E402
from trial import Mutant  # noqa: E402

FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(Small LANGUAGES CXX)
add_library(room STATIC room.cc)
add_executable(room_test room_test.cc)
target_link_libraries(room_test PRIVATE room)
add_executable(actor actor.cc)
target_link_libraries(actor PRIVATE room)
add_executable(stranger stranger.cc)
enable_testing()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME actor.sum COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/actor_test.py)
set_tests_properties(actor.sum PROPERTIES ENVIRONMENT "ACTOR=$<TARGET_FILE:actor>")
""",
    "room.h": "int sum(int a, int b);\n",
    "room.cc": """
#include "room.h"
int sum(int a, int b) {
  int left = a;
  int right = b;
  return left + right;
}
""",
    "room_test.cc": """
#include <cstdio>
#include <cstring>
#include "room.h"
int main(int, char** words) {
  if (std::strstr(words[1], "Sum") == nullptr) return 0;
  if (std::strstr(words[1], "wrong") != nullptr) return 1;
  std::puts("[==========] 1 test from 1 test suite ran.");
  return sum(2, 3) == 5 ? 0 : 1;
}
""",
    "actor.cc": '#include "room.h"\nint main() { return sum(2, 3) == 5 ? 0 : 1; }\n',
    "stranger.cc": "int main() {}\n",
    "actor_test.py": """
import os, subprocess, unittest
class Sum(unittest.TestCase):
    def test_is_right(self):
        subprocess.run([os.environ["ACTOR"]], check=True)
unittest.main()
""",
}
RIGHT = ["left + right", "left - right"]
# name: (text and what it becomes, test, programs, what is said of it)
FATES = {
    "small.killed": (RIGHT, "room_test Sum", ["room_test"], "killed small.killed: by room_test"),
    "small.by_python": (RIGHT, "actor.sum *right*", ["actor"], "killed small.by_python: by"),
    "small.endless": (["return left", "for (;;) left = right;\n  return left"], "room_test Sum",
                      ["room_test"], "(not finished after 10 s)"),
    "small.survivor": (["left + right", "right + left"], "room_test Sum", ["room_test"],
                       "failed small.survivor: survived room_test Sum"),
    "small.absent": (["up + down", "0"], "room_test Sum", ["room_test"], "occurs 0 times"),
    "small.twice": (["left", "0"], "room_test Sum", ["room_test"], "occurs 2 times"),
    "small.unbuilt": (["left + right", "left +"], "room_test Sum", ["room_test"], "does not build"),
    "small.no_test": (RIGHT, "room_test Product", ["room_test"], "none was run"),
    "small.no_python_test": (RIGHT, "actor.sum *left*", ["actor"], "none was run"),
    "small.no_such_test": (RIGHT, "actor.product", ["actor"], "there is no test actor.product"),
    "small.red_before": (RIGHT, "room_test Sum.wrong", ["room_test"], "does not pass without it"),
    "small.stranger": (RIGHT, "stranger Sum", ["stranger"], "none was run"),
    "small.unlinked": (RIGHT, "room_test Sum", ["room_test", "stranger"],
                       "stranger is not made of"),
    "small.unused": (RIGHT, "actor.sum", ["room_test"], "starts none of room_test"),
}


def main():
    with tempfile.TemporaryDirectory(prefix="mutants-self-test-") as folder:
        root = Path(folder)
        for name, text in FILES.items():
            (root / name).write_text(text.lstrip())
        tree = root / "build/release"
        for command in (["cmake", "-G", "Ninja", "-S", root, "-B", tree,
                         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], ["ninja", "-C", tree]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        mutants = [Mutant(name, "", "room.cc", *change, test, programs)
                   for name, (change, test, programs, _) in FATES.items()]
        # An object that is no archive's is replaced where it stands.
        mutants.append(Mutant("small.own_file", "", "room_test.cc", "== 5", "== 6", "room_test Sum",
                              ["room_test"]))
        told = []
        failed = run_mutants(root, tree, mutants, told.append, seconds_max=10)
        left = [path.name for path in tree.parent.iterdir()]
    wanted = [*((name, fate[3]) for name, fate in FATES.items()), ("small.own_file", "killed")]
    wrong = [line for line, (name, said) in zip(told, wanted)
             if said not in line or f" {name}: " not in line]
    killed = sum(line.startswith("killed ") for line in told)
    print("\n".join(told))
    if wrong or killed != 4 or failed != len(wanted) - 4 or left != ["release"]:
        sys.exit(f"{killed} killed, {failed} failed, left {left}; wrong:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
