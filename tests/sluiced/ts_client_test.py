"""The TypeScript client by its own tests: built as users build it, run by node on real services."""
import os
import re
import shutil
import subprocess
import tempfile

from harness import PATIENCE, main
from v1 import V1Test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PACKAGE = os.path.join(ROOT, "clients/ts")


def tool(name, package):
    path = shutil.which(name)
    if not path:
        raise AssertionError(f"{name} is missing: apt-get install {package}")
    return path


NODE, TSC = tool("node", "nodejs"), tool("tsc", "node-typescript")


def build(folder):
    """The package and its tests, compiled in a copy of their folder."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("dist", "node_modules"))
    for project in (folder, os.path.join(folder, "test")):
        done = subprocess.run([TSC, "-p", project], capture_output=True, text=True,
                              timeout=PATIENCE)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)


class TsClient(V1Test):
    """The files of tests run at once, because they mostly wait; each test here waits for its own.
    """

    files = ("client", "generator", "retries")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = tempfile.mkdtemp(prefix="ts-client-")
        cls.addClassCleanup(shutil.rmtree, home)
        cls.folder = os.path.join(home, "package")
        build(cls.folder)
        env = {"SLUICE_URL": f"http://127.0.0.1:{cls.service.port}"}
        cls.running = {name: cls.node("--test-reporter=tap", f"test/{name}.test.js", **env)
                       for name in cls.files}

    @classmethod
    def node(cls, *arguments, **env):
        """Starts a program, which does not outlive the tests."""
        process = subprocess.Popen(
            [NODE, *arguments], cwd=cls.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": cls.folder, "NODE_NO_WARNINGS": "1", **env})

        def end():
            process.kill()
            process.communicate()

        cls.addClassCleanup(end)
        return process

    def said(self, process):
        """What it says, if it ends well."""
        output, _ = process.communicate(timeout=3 * PATIENCE)
        self.assertEqual(process.returncode, 0, output)
        return output

    def check(self, name):
        """The tests of one file, none of which may be missing."""
        output = self.said(self.running[name])
        with open(f"{PACKAGE}/test/{name}.test.ts", encoding="utf-8") as file:
            number = len(re.findall(r"^test\(", file.read(), re.M))
        self.assertGreater(number, 0)
        self.assertIn(f"\n# pass {number}\n", output, output)

    def test_client(self):
        self.check("client")

    def test_generator(self):
        self.check("generator")

    def test_retries(self):
        self.check("retries")

    def test_the_types_are_those_of_the_document(self):
        made = os.path.join(self.folder, "made.ts")
        document = os.path.join(ROOT, "src/server/openapi.json")
        self.assertEqual(self.said(self.node("generate.mjs", document, made)), "")
        with open(made, encoding="utf-8") as new, \
                open(os.path.join(PACKAGE, "src/types.ts"), encoding="utf-8") as old:
            self.assertEqual(new.read(), old.read(), "run: node clients/ts/generate.mjs")

    def test_every_file_of_tests_is_run(self):
        found = {name for name in os.listdir(os.path.join(PACKAGE, "test")) if ".test." in name}
        self.assertEqual(found, {f"{name}.test.ts" for name in self.files})


if __name__ == "__main__":
    main()
