"""The TypeScript client by its own tests: built as users build it, run by node on real services."""
import http.server
import os
import re
import shutil
import subprocess
import tempfile
import threading

from harness import PATIENCE, Service, free_port, main
from v1 import V1Test

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PACKAGE = os.path.join(ROOT, "clients/ts")
EXAMPLE_URL = "http://127.0.0.1:3100"


def tool(name, package):
    path = shutil.which(name)
    if not path:
        raise AssertionError(f"{name} is missing: apt-get install {package}")
    return path


NODE, TSC = tool("node", "nodejs"), tool("tsc", "node-typescript")


def example():
    """The first piece of code of the README."""
    with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as file:
        return re.search(r"^```ts\n(.*?)^```$", file.read(), re.M | re.S)[1]


def build(folder):
    """The package and its tests, compiled in a copy of their folder."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns(
        "dist", "node_modules", "*.tsbuildinfo"))
    with open(os.path.join(folder, "test/example.ts"), "w", encoding="utf-8") as file:
        file.write(example())
    done = subprocess.run([TSC, "--build", os.path.join(folder, "test")], capture_output=True,
                          text=True, timeout=PATIENCE)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)


class Control(http.server.ThreadingHTTPServer):
    """Lets a test kill a service and start it again where it was."""

    daemon_threads = True

    def __init__(self, service):
        self.verbs = {"/kill": service.kill, "/start": lambda: service.start(same_port=True)}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.server.verbs[self.path]()
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class TsClient(V1Test):
    """The files of tests run at once, because they mostly wait; each test here waits for its own.
    """

    files = ("client", "generator", "restart", "retries", "worker")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = tempfile.mkdtemp(prefix="ts-client-")
        cls.addClassCleanup(shutil.rmtree, home)
        cls.folder = os.path.join(home, "package")
        build(cls.folder)
        cls.mortal = Service()
        cls.addClassCleanup(cls.mortal.end)
        cls.mortal.port = free_port()
        cls.mortal.start(same_port=True)
        control = Control(cls.mortal)
        cls.addClassCleanup(control.end)
        cls.url = f"http://127.0.0.1:{cls.service.port}"
        env = {"SLUICE_URL": cls.url,
               "SLUICE_MORTAL_URL": f"http://127.0.0.1:{cls.mortal.port}",
               "SLUICE_CONTROL_URL": f"http://127.0.0.1:{control.server_address[1]}"}
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

    def test_restart(self):
        self.check("restart")
        self.check_store(self.mortal)

    def test_retries(self):
        self.check("retries")

    def test_worker(self):
        self.check("worker")

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

    def test_the_example_of_the_readme_works_as_it_stands(self):
        self.assertEqual(example().count(EXAMPLE_URL), 1)
        self.assertLessEqual(len(example().splitlines()), 10)
        path = os.path.join(self.folder, "test/example.js")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(EXAMPLE_URL, self.url))
        self.assertEqual(self.said(self.node(path)), "hello ann\n")
        self.assertEqual(self.client.counts("mail"), {})


if __name__ == "__main__":
    main()
