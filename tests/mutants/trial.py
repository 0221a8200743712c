"""One mutant against its test, in a folder of its own that looks like the build tree."""
import os
import re
import shutil
from typing import NamedTuple

from build_tree import Wrong


class Mutant(NamedTuple):
    name: str
    does: str
    file: str
    text: str
    becomes: str
    test: str
    programs: list


class Trials:
    """Every member may be called from any thread."""

    def __init__(self, root, build, scratch, seconds_max):
        self.root = root
        self.build = build
        self.scratch = scratch
        self.seconds_max = seconds_max
        self.ctests = None

    def prepare(self, mutants):
        """Before the first run: asks ctest for what is not a program by itself."""
        if any(one.test.split()[0] not in self.build.programs for one in mutants):
            self.ctests = self.build.tests()

    def baseline(self, number, test, programs):
        """Runs the test on the programs as they are, at the places where a mutant has its own: why
        it does not pass, or nothing."""
        folder = self.scratch / f"baseline-{number}"
        try:
            placed = self.place(folder, programs)
            for program, path in placed.items():
                # A symbolic link would lead the program back to its neighbours in the tree.
                shutil.copy(self.build.programs[program], path)
            passed, why = self.run(folder, test, placed)
            return None if passed else why
        except Wrong as wrong:
            return str(wrong)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge(self, mutant):
        """Why the test noticed the mutant; nothing if it did not."""
        folder = self.scratch / mutant.name
        try:
            placed = self.place(folder, mutant.programs)
            made, original = self.build.compile(self.root / mutant.file, mutant.name,
                                                self.mutated(mutant), folder)
            for program, path in placed.items():
                self.build.link(program, made, original, path, folder)
            # For what the mutant keeps from happening.
            passed, why = self.run(folder, mutant.test, placed, {"SLUICE_PATIENCE": "20"})
            return None if passed else why
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def mutated(self, mutant):
        try:
            text = (self.root / mutant.file).read_text()
        except OSError as error:
            raise Wrong(f"{mutant.file} cannot be read: {error.strerror}") from error
        count = text.count(mutant.text)
        if count != 1:
            raise Wrong(f"its text occurs {count} times in {mutant.file}, and it must once")
        return text.replace(mutant.text, mutant.becomes)

    def place(self, folder, programs):
        """Where the programs will be. Beside them stands all that stands beside them in the tree,
        as links."""
        placed = {}
        for program in programs:
            path = self.build.programs.get(program)
            if path is None:
                raise Wrong(f"there is no program {program}")
            if not path.exists():
                raise Wrong(f"{path} does not exist")
            place = folder / os.path.relpath(path, self.build.tree.parent)
            if not place.parent.exists():
                place.parent.mkdir(parents=True)
                for neighbour in path.parent.iterdir():
                    (place.parent / neighbour.name).symlink_to(neighbour)
            placed[program] = place
        for place in placed.values():
            place.unlink()
        return placed

    def run(self, folder, test, placed, more=None):
        """Whether the test passed, and why not. `more` of the environment is for it."""
        command, environment = self.command_of(test, placed)
        environment = {**os.environ, **environment, "SLUICE_QUICK": "1", **(more or {})}
        environment.pop("SLUICE_LONG", None)
        home = folder / "home"
        home.mkdir()
        code, printed = self.build.processes.run(command, folder / "test.log", self.seconds_max,
                                                 cwd=home, env=environment)
        if code is None:
            return False, f"not finished after {self.seconds_max} s"
        ran = re.search(r"^\[==========\] [1-9]\d* tests? from .* ran\.|^Ran [1-9]\d* tests? in",
                        printed, re.M)
        if "NO TESTS RAN" in printed or (code == 0 and not ran):
            raise Wrong(f"{test} is no test: none was run")
        return code == 0, reason_of(code, printed)

    def command_of(self, test, placed):
        program, *pattern = test.split()
        if program in self.build.programs:
            if program not in placed:
                raise Wrong(f"{program} is not among the programs")
            return [placed[program], *(f"--gtest_filter={one}" for one in pattern)], {}
        if program not in self.ctests:
            raise Wrong(f"there is no test {program}")
        command, environment = self.ctests[program]
        there = {str(self.build.programs[name]): str(path) for name, path in placed.items()}
        if not set(there) & {*command, *environment.values()}:
            raise Wrong(f"{program} starts none of {', '.join(placed)}")
        command = [there.get(word, word) for word in command]
        for one in pattern:
            command += ["-k", one]
        return command, {name: there.get(value, value) for name, value in environment.items()}


def reason_of(code, printed):
    """What a failing test says first is usually why."""
    found = (re.search(r"^.*Failure\n(?:.*\n){0,3}", printed, re.M) or
             re.search(r"^[\w.]*(?:Error|Exception|Expired)\b.*", printed, re.M) or
             re.search(r"^.*\n\Z", printed, re.M))
    ending = [f"signal {-code}:" if code < 0 else f"exit code {code}:"]
    return " ".join(ending + (found[0].split() if found else []))[:160]
