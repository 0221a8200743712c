"""A build tree of Ninja as the mutants need it: how one file of it is compiled, how a program is
linked, and what ctest would run."""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

# Stands in every mutated object: a program that does not have it was linked without the mutant.
MARK = "this program holds the mutant "
SECONDS_MAX = 300  # For a compiler or a linker.


class Wrong(Exception):
    """Why there is no verdict on a mutant."""


def captured(*command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Wrong(f"{shlex.join(map(str, command))} failed\n{done.stdout}")
    return done.stdout


class BuildTree:
    """Nothing is written into it."""

    def __init__(self, tree, processes):
        self.tree = tree
        self.processes = processes
        if not (tree / "compile_commands.json").exists():
            raise Wrong(f"{tree} is no build tree: ./test --build mutant makes it")
        self.compiled = {}
        for entry in json.loads((tree / "compile_commands.json").read_text()):
            self.compiled.setdefault(entry["file"], []).append(shlex.split(entry["command"]))
        # Of the compiler's cache, which compile_commands.json leaves out.
        launcher = re.search(r"^CMAKE_CXX_COMPILER_LAUNCHER:\w+=(.*)$",
                             (tree / "CMakeCache.txt").read_text(), re.M)
        self.launcher = launcher[1].split(";") if launcher else []
        rules = captured("ninja", "-C", tree, "-t", "targets", "all")
        linked = re.findall(r"^(\S+): CXX_EXECUTABLE_LINKER__", rules, re.M)
        self.targets = {Path(target).name: target for target in linked}
        self.programs = {name: tree / target for name, target in self.targets.items()}

    def tests(self):
        """By their names: the command and the environment of each."""
        listed = json.loads(captured("ctest", "--test-dir", self.tree, "--show-only=json-v1"))
        tests = {}
        for test in listed["tests"]:
            properties = {one["name"]: one["value"] for one in test.get("properties", [])}
            environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
            tests[test["name"]] = (test.get("command", []), environment)
        return tests

    def compile(self, file, name, text, folder):
        """The object of `file` with another text, made as the tree makes it; and the object of the
        tree that it stands for."""
        ways = self.compiled.get(str(file), [])
        if len(ways) != 1:
            raise Wrong(f"{file} is compiled in {len(ways)} ways")
        original = ways[0][ways[0].index("-o") + 1]
        source, made = folder / file.name, folder / f"{file.name}.o"
        mark = f'extern const char kMutant[]; const char kMutant[] = "{MARK}{name}";'
        source.write_text(f'{text}\nextern "C" {{ {mark} }}\n')
        replaced = {str(file): source, original: made}
        words = [replaced.get(word, word) for word in ways[0]]
        # What lies beside the file is found as if the mutant lay there too.
        self.make([*self.launcher, *words, "-iquote", file.parent], folder)
        return made, original

    def link(self, program, mutated, original, target, folder):
        """The program with the mutated object. Before the archives, it keeps the member out that it
        stands for: a linker takes from an archive only what is still missing."""
        command = captured("ninja", "-C", self.tree, "-t", "commands", "-s", self.targets[program])
        words = shlex.split(command)
        if words[:2] != [":", "&&"] or words[-2:] != ["&&", ":"]:
            raise Wrong(f"the command that links {program} is not understood: {command}")
        words = words[2:-2]
        output = words.index("-o") + 1
        words[output] = target
        archive = "lib" + re.search(r"CMakeFiles/(.+?)\.dir/", original)[1] + ".a"
        if original in words:
            words[words.index(original)] = mutated
        elif archive in [Path(word).name for word in words]:
            words.insert(output + 1, mutated)
        else:
            raise Wrong(f"{program} is not made of {original}")
        self.make(words, folder)
        if MARK.encode() not in target.read_bytes():
            raise Wrong(f"{program} was linked without the mutant")

    def make(self, words, folder):
        code, printed = self.processes.run(words, folder / "make.log", SECONDS_MAX,
                                           cwd=self.tree, env={**os.environ, "TMPDIR": str(folder)})
        if code != 0:
            raise Wrong(f"does not build\n{printed[-4000:]}")
