"""The tests of a build, as ctest knows them, and which of them a command line means."""
import difflib
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 600.0  # Of a test without one of its own, as tools/run_tests.py tells ctest.
SUITE = re.compile(r"^\w*(?:TEST|PROP)\w*\(\s*(\w+)\s*,", re.M)
# How ctest treats these is not rebuilt here, so a test that has one is refused, not run wrongly.
UNKNOWN = {"DEPENDS", "ENVIRONMENT_MODIFICATION", "FIXTURES_REQUIRED", "FIXTURES_SETUP",
           "RESOURCE_GROUPS", "RESOURCE_LOCK", "TIMEOUT_AFTER_MATCH"}


class WrongUse(Exception):
    """What the command line asks for does not exist or cannot be done; says what to do instead."""


@dataclass
class Test:
    """One entry of ctest: what it runs, and how its end is judged."""
    name: str
    command: list
    folder: str = "."
    environment: dict = field(default_factory=dict)
    limit_s: float = LIMIT_S
    labels: tuple = ()
    alone: bool = False
    disabled: bool = False
    opposite: bool = False  # Passes when the command fails.
    skip_code: int = None
    skip_if: tuple = ()
    fail_if: tuple = ()
    pass_if: tuple = ()
    declared_in: str = ""  # The folder of its CMakeLists.txt, "src/queue".

    def verdict(self, code, output):
        """(result, why) of a run that ended with this exit code, negative for a signal, by the
        rules of ctest. The result is "passed", "failed" or "skipped"."""
        if code >= 0 and (code == self.skip_code or matches(self.skip_if, output)):
            return "skipped", reason_to_skip(output)
        if code < 0:
            return "failed", f"ended by signal {-code}"
        if matches(self.fail_if, output):
            return "failed", "printed what its FAIL_REGULAR_EXPRESSION names"
        if self.pass_if and not matches(self.pass_if, output):
            return "failed", "did not print what its PASS_REGULAR_EXPRESSION names"
        fine = bool(self.pass_if) or code == 0
        if fine == self.opposite:
            return "failed", f"exit code {code}{failed_cases(output)}"
        return "passed", ""


def matches(patterns, output):
    return any(re.search(pattern, output) for pattern in patterns)


def failed_cases(output):
    """ ": test_a, test_b" of what unittest says; an entry of GoogleTest is one case already."""
    names = dict.fromkeys(re.findall(r"^(?:FAIL|ERROR): (\w+)", output, re.M))
    return ": " + ", ".join(names) if names else ""


def reason_to_skip(output):
    why = re.search(r": Skipped\n(.+)|skipped '(.+)'", output)  # GoogleTest's, unittest's.
    return (why[1] or why[2]) if why else "it says so"


def listed(tree):
    """Every test of the build in the folder `tree`, in ctest's order."""
    command = ["ctest", "--test-dir", str(tree), "--show-only=json-v1"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    try:
        entries = json.loads(done.stdout)["tests"]
    except ValueError:
        raise WrongUse(f"ctest cannot list the tests of {tree}; is it built? {done.stderr.strip()}")
    return [from_ctest(entry, tree) for entry in entries]


def from_ctest(entry, tree):
    given = {one["name"]: one["value"] for one in entry.get("properties", [])}
    unknown = sorted(UNKNOWN & set(given))
    if unknown:
        raise WrongUse(f"{entry['name']} has {unknown[0]}, which tools/flake does not know: teach "
                       f"tools/flake_tests.py")
    folder = given.get("WORKING_DIRECTORY", str(tree))
    inside = Path(folder).is_relative_to(tree)
    limit = float(given.get("TIMEOUT", 0))
    return Test(
        name=entry["name"], command=entry.get("command", []), folder=folder,
        environment=dict(one.split("=", 1) for one in given.get("ENVIRONMENT", [])),
        limit_s=limit if limit > 0 else LIMIT_S, labels=tuple(given.get("LABELS", [])),
        alone=bool(given.get("RUN_SERIAL")), disabled=bool(given.get("DISABLED")),
        opposite=bool(given.get("WILL_FAIL")), skip_code=given.get("SKIP_RETURN_CODE"),
        skip_if=tuple(given.get("SKIP_REGULAR_EXPRESSION", [])),
        fail_if=tuple(given.get("FAIL_REGULAR_EXPRESSION", [])),
        pass_if=tuple(given.get("PASS_REGULAR_EXPRESSION", [])),
        declared_in=str(Path(folder).relative_to(tree)) if inside else "")


def chosen(tests, names, labels):
    """The tests whose name contains one of `names` or that carry one of `labels`; all of them if
    neither is given. A name or label that no test has is refused."""
    tests = [test for test in tests if not test.disabled]
    if not names and not labels:
        return tests
    for name in names:
        if not any(name in test.name for test in tests):
            parts = {test.name for test in tests} | {test.name.split(".")[0] for test in tests}
            raise WrongUse(f"no test's name contains '{name}'" + nearest(name, parts))
    known = {label for test in tests for label in test.labels}
    for label in labels:
        if label not in known:
            raise WrongUse(f"no test has the label '{label}'" + nearest(label, known))
    return [test for test in tests
            if any(name in test.name for name in names) or set(labels) & set(test.labels)]


def nearest(word, words):
    near = difflib.get_close_matches(word, words, 3, 0.5)
    return "; did you mean " + " or ".join(near) + "?" if near else ""


def changed_files(commit):
    """What differs from `commit` in the work tree, new files too, as paths below the root."""
    found = set()
    for words in (["diff", "--name-only", "-z", commit, "--"],
                  ["ls-files", "-o", "--exclude-standard", "-z"]):
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True,
                              errors="replace", check=False)
        if done.returncode != 0:
            raise WrongUse(f"git does not know '{commit}': {done.stderr.strip()}")
        found |= {path for path in done.stdout.split("\0") if path}
    return found


def source(path):
    """What a path below the root says; nothing if it was removed."""
    return (ROOT / path).read_text(errors="replace") if (ROOT / path).exists() else ""


def touched(tests, changed, read=source):
    """The tests whose sources are among the `changed` paths, by the rule that --help states."""
    folders = {test.declared_in for test in tests}
    wanted = set()
    for path in changed:
        owner = next((str(above) for above in Path(path).parents if str(above) in folders), None)
        of_owner = [test for test in tests if test.declared_in == owner]
        if path.startswith("tests/support/"):
            wanted |= {test.name for test in tests if test.declared_in.startswith("tests")}
        elif path.endswith("_test.cc"):
            suites = set(SUITE.findall(read(path)))
            wanted |= {test.name for test in of_owner if suites & set(suite_of(test.name))}
        elif re.search(r"_test\.\w+$", path):
            wanted |= {test.name for test in of_owner
                       if any(word.endswith("/" + path) for word in test.command)}
        elif path.startswith("tests/") and not path.endswith("CMakeLists.txt"):
            wanted |= {test.name for test in of_owner}
    return [test for test in tests if test.name in wanted]


def suite_of(name):
    """The words of "queue_test.Every/Suite/1.case/lmdb" among which its suite is."""
    return name.partition(".")[2].partition(".")[0].split("/")
