"""What the Debian package holds, and what happens when it is installed and removed."""
import gzip
import hashlib
import io
import os
import re
import subprocess
import tarfile
import tempfile
import unittest

from package import PROGRAMS, ROOT, SOME_DATE, Package, build, commit_date, output
from harness import Client, Service, main, wait_until
from programs import run
from units import UnitChecks
from shells import missing

UNIT = "lib/systemd/system/sluiced.service"
FILES = {
    "etc/retracker.yaml": 0o644,
    "etc/sluiced.yaml": 0o644,
    "lib/systemd/system/retracker.service": 0o644,
    UNIT: 0o644,
    "usr/bin/queuectl": 0o755,
    "usr/bin/retracker": 0o755,
    "usr/bin/sluice-migrate": 0o755,
    "usr/bin/sluiced": 0o755,
    "usr/lib/sysusers.d/retracker.conf": 0o644,
    "usr/lib/sysusers.d/sluiced.conf": 0o644,
    "usr/share/bash-completion/completions/queuectl": 0o644,
    "usr/share/bash-completion/completions/retracker": 0o644,
    "usr/share/bash-completion/completions/sluice-migrate": 0o644,
    "usr/share/bash-completion/completions/sluiced": 0o644,
    "usr/share/doc/sluice/CHANGELOG.md.gz": 0o644,
    "usr/share/doc/sluice/changelog.gz": 0o644,
    "usr/share/doc/sluice/copyright": 0o644,
    "usr/share/fish/vendor_completions.d/queuectl.fish": 0o644,
    "usr/share/fish/vendor_completions.d/retracker.fish": 0o644,
    "usr/share/fish/vendor_completions.d/sluice-migrate.fish": 0o644,
    "usr/share/fish/vendor_completions.d/sluiced.fish": 0o644,
    "usr/share/lintian/overrides/sluice": 0o644,
    "usr/share/man/man1/queuectl.1.gz": 0o644,
    "usr/share/man/man1/retracker.1.gz": 0o644,
    "usr/share/man/man1/sluice-migrate.1.gz": 0o644,
    "usr/share/man/man1/sluiced.1.gz": 0o644,
    "usr/share/zsh/vendor-completions/_queuectl": 0o644,
    "usr/share/zsh/vendor-completions/_retracker": 0o644,
    "usr/share/zsh/vendor-completions/_sluice-migrate": 0o644,
    "usr/share/zsh/vendor-completions/_sluiced": 0o644,
}


CONFIGS = ["etc/retracker.yaml", "etc/sluiced.yaml"]


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.package = Package.get()

    def program(self, name):
        return self.package.path(f"usr/bin/{name}")

    def printed(self, name, *arguments):
        ended = run(self.program(name), *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        return ended.out

    def need(self, *programs):
        if name := missing(*programs):
            self.skipTest(f"{name} is not installed")

    def defaults(self):
        """Of every setting, as the manual tells them; empty if there is none."""
        text = self.printed("sluiced", "man").partition(".SH SETTINGS\n")[2].partition(".SH ")[0]
        entries = re.findall(r"\.TP\n\\fB(\S+)\\fR \\fI\S+\\fR\n(.*)\n", text.replace("\\-", "-"))
        found = {name: re.search(r"\(default (\S+)\)$", help_text) for name, help_text in entries}
        self.assertGreater(len(found), 10)
        return {name: default[1] if default else "" for name, default in found.items()}


class Contents(PackageTest):
    def test_it_holds_these_files_of_root_with_the_date_of_the_commit(self):
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", self.package.deb],
                              capture_output=True, check=True).stdout
        members = tarfile.open(fileobj=io.BytesIO(data)).getmembers()
        found = {member.name.removeprefix("./"): member.mode for member in members
                 if not member.isdir()}
        self.assertEqual(found, FILES)
        self.assertEqual({member.mode for member in members if member.isdir()}, {0o755})
        self.assertEqual({(member.uid, member.gid, member.uname) for member in members},
                         {(0, 0, "root")})
        self.assertEqual({member.mtime for member in members}, {commit_date() or SOME_DATE})

    def test_the_programs_are_stripped(self):
        for name in PROGRAMS:
            sections = output("readelf", "--sections", "--wide", self.program(name))
            self.assertIn(".text", sections)
            self.assertNotIn(".debug", sections)
            self.assertNotIn(".symtab", sections)

    def test_what_it_says_of_itself(self):
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(Sluice VERSION ([\d.]+)", file.read())[1]
        fields = output("dpkg-deb", "--field", self.package.deb, "Package", "Version",
                        "Architecture")
        machine = output("dpkg", "--print-architecture").strip()
        self.assertEqual(fields, f"Package: sluice\nVersion: {version}\nArchitecture: {machine}\n")
        self.assertEqual(os.path.basename(self.package.deb), f"sluice_{version}_{machine}.deb")
        for name in PROGRAMS:
            self.assertEqual(self.printed(name, "--version"), f"{name} {version}\n")

    def test_it_depends_on_the_packages_of_all_libraries_that_are_loaded(self):
        depends = output("dpkg-deb", "--field", self.package.deb, "Depends")
        needed = set()
        for name in PROGRAMS:
            dynamic = output("readelf", "--dynamic", self.program(name))
            needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        self.assertIn("libssl.so.3", needed)
        for library in needed:
            owners = re.findall(r"(?m)^(\S+?)(?::\S+)?: ", output("dpkg", "-S", f"*/{library}"))
            self.assertTrue(any(re.search(rf"(^|, ){re.escape(owner)} \(>= ", depends)
                                for owner in owners), (library, owners, depends))
        self.assertRegex(depends, r"systemd \| systemd-standalone-sysusers$")

    def test_the_sums_are_those_of_the_files(self):
        sums = dict(reversed(line.split("  ", 1))
                    for line in self.package.read("DEBIAN/md5sums").decode().splitlines())
        self.assertEqual(set(sums), set(FILES))
        for name, wanted in sums.items():
            self.assertEqual(hashlib.md5(self.package.read(name)).hexdigest(), wanted, name)

    def test_manual_and_completion_are_those_of_the_programs(self):
        for name in PROGRAMS:
            page = gzip.decompress(self.package.read(f"usr/share/man/man1/{name}.1.gz"))
            self.assertEqual(page.decode(), self.printed(name, "man"))
            for shell, path in (("bash", f"bash-completion/completions/{name}"),
                                ("zsh", f"zsh/vendor-completions/_{name}"),
                                ("fish", f"fish/vendor_completions.d/{name}.fish")):
                self.assertEqual(self.package.read(f"usr/share/{path}").decode(),
                                 self.printed(name, "completion", shell))

    def test_the_terms_are_there(self):
        with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as file:
            terms = file.read()
        copyright_text = self.package.read("usr/share/doc/sluice/copyright").decode()
        self.assertIn(terms, copyright_text)
        self.assertIn("OpenLDAP Public License", copyright_text)

    def test_built_again_it_is_the_same_to_the_byte(self):
        date = str(int(os.stat(self.package.path("usr/bin/sluiced")).st_mtime))
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp", 0o700)
            before = os.umask(0o077)
            try:
                again = build(folder, TMPDIR=f"{folder}/tmp", TZ="Asia/Tokyo", LC_ALL="C.UTF-8",
                              SOURCE_DATE_EPOCH=date)
            finally:
                os.umask(before)
            self.assertEqual(os.listdir(f"{folder}/tmp"), [])
            with open(again, "rb") as one, open(self.package.deb, "rb") as other:
                self.assertTrue(one.read() == other.read(), "they differ")

    def test_lintian_finds_no_error(self):
        self.need("lintian")
        output("lintian", "--fail-on", "error", "--allow-root", self.package.deb)


class InstalledService(Service):
    """The unpacked program with the settings file of the package, elsewhere on this machine."""

    before = ()

    def command(self, same_port):
        package = Package.get()
        return [*self.before, package.path("usr/bin/sluiced"), "--config",
                package.path("etc/sluiced.yaml"), "--listen", "127.0.0.1:0", "--data", self.data]


class Programs(PackageTest):
    def serve_one_job(self, service):
        self.addCleanup(service.end)
        service.start()
        client = Client(service)
        self.addCleanup(client.close)
        client.push("team", "job")
        claim = client.pop("team")
        self.assertEqual(claim["job"]["id"], "job")
        self.assertTrue(client.complete(claim))
        client.close()
        self.assertEqual(service.stop(), 0, service.said())

    def test_the_service_serves_a_job(self):
        self.serve_one_job(InstalledService())

    def test_sluice_migrate_makes_a_tree_like_another(self):
        with tempfile.TemporaryDirectory() as home:
            os.makedirs(f"{home}/src/folder")
            with open(f"{home}/src/folder/file", "w", encoding="utf-8") as file:
                file.write("moved")
            ended = run(self.program("sluice-migrate"), "run", f"{home}/src", f"{home}/dst",
                        "--state", f"{home}/ledger")
            self.assertEqual((ended.code, ended.err), (0, ""))
            with open(f"{home}/dst/folder/file", encoding="utf-8") as file:
                self.assertEqual(file.read(), "moved")

    def test_queuectl_runs_a_job(self):
        with tempfile.TemporaryDirectory() as home:
            def queuectl(*arguments):
                ended = run(self.program("queuectl"), "--db", f"{home}/db", *arguments,
                            env={"HOME": home})
                self.assertEqual(ended.code, 0, ended)
                return ended.out

            queuectl("enqueue", "echo done", "--id", "a")
            queuectl("worker", "start", "--drain")
            self.assertEqual(queuectl("logs", "a"), "done\n")

    def test_the_system_calls_of_the_service_are_those_that_the_unit_allows(self):
        self.need("strace", "systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            service = InstalledService()
            # -D: what is started, and gets the signals, is the program; strace ends after it.
            service.before = ("strace", "-D", "-f", "-q", "-o", f"{folder}/calls")
            self.serve_one_job(service)
            end = re.compile(rf"(?m)^{service.process.pid} +\+\+\+ exited with 0 ")
            wait_until(lambda: end.search(read_text(f"{folder}/calls")), "the end of strace")
            called = set(re.findall(r"(?m)^\d+ +([a-z]\w*)\(", read_text(f"{folder}/calls")))
        self.assertIn("epoll_wait", called)
        allowed = allowed_calls(self.package.read(UNIT).decode())
        self.assertIn("read", allowed)
        self.assertNotIn("mount", allowed)
        self.assertEqual(called - allowed, set())


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def calls_of(name):
    """The system calls of a set of systemd's, which may name other sets."""
    if not name.startswith("@"):
        return {name}
    lines = [line.strip() for line in
             output("systemd-analyze", "syscall-filter", name).splitlines()[1:]]
    return set().union(*(calls_of(line) for line in lines if line and not line.startswith("#")))


def allowed_calls(unit):
    """The system calls that a unit allows."""
    allowed = set()
    for line in re.findall(r"(?m)^SystemCallFilter=(.*)", unit):
        calls = set().union(*(calls_of(name) for name in line.removeprefix("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


class Settings(PackageTest):
    def file(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return file.name

    def entries(self):
        """Every setting that the file names, commented out or not."""
        text = self.package.read("etc/sluiced.yaml").decode()
        found = re.findall(r"(?m)^(#?)([a-z-]+): (.*)$", text)
        return {name: (value, bool(comment)) for comment, name, value in found}

    def test_every_setting_is_in_the_file_once(self):
        text = self.package.read("etc/sluiced.yaml").decode()
        names = re.findall(r"(?m)^#?([a-z-]+): ", text)
        self.assertEqual(sorted(names), sorted(self.defaults()))

    def test_what_is_commented_out_is_the_default(self):
        entries = self.entries()
        for name, default in self.defaults().items():
            value, commented = entries[name]
            if commented and default:
                self.assertEqual(value, default, name)
        self.assertEqual(entries["listen"], (self.defaults()["listen"], False))
        self.assertEqual(entries["data"], ("/var/lib/sluiced", False))

    def test_the_program_accepts_all_of_it(self):
        text = "".join(f"{name}: {value}\n" for name, (value, _) in self.entries().items())
        for path in (self.package.path("etc/sluiced.yaml"), self.file(text)):
            with tempfile.TemporaryDirectory() as folder:
                ended = run(self.program("sluiced"), "verify", "--config", path, "--data", folder)
            # Settings are read first: what it has to say is not of them.
            self.assertEqual((ended.code, ended.out), (3, ""), ended)
            self.assertIn("there is no store in", ended.err)
        broken = run(self.program("sluiced"), "verify", "--config", self.file(text + "x: 1\n"))
        self.assertEqual(broken.code, 2, broken)


class Unit(UnitChecks, PackageTest):
    service = "sluiced"

    def test_it_does_what_the_documents_say(self):
        for name, value in (("User", "sluice"), ("StateDirectory", "sluiced"), ("UMask", "0077"),
                            ("ExecStart", "/usr/bin/sluiced --config /etc/sluiced.yaml"),
                            ("ExecReload", "/bin/kill -HUP $MAINPID"), ("LimitCORE", "0"),
                            ("KillSignal", "SIGTERM"), ("Restart", "on-failure"),
                            ("MemoryDenyWriteExecute", "yes"), ("ProtectSystem", "strict")):
            self.assertEqual(self.value(name), value, name)
        self.assertRegex(self.package.read("usr/lib/sysusers.d/sluiced.conf").decode(),
                         r"\Au sluice - ")

    def test_there_is_time_to_drain_and_room_for_connections(self):
        defaults = self.defaults()
        self.assertGreater(int(self.value("TimeoutStopSec")),
                           int(defaults["drain-time"].removesuffix("s")))
        self.assertGreater(int(self.value("LimitNOFILE")), int(defaults["max-connections"]))


class Installing(PackageTest):
    """Into a tree of its own, with a dpkg that knows of no other package."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can install")
        self.need("systemd-sysusers")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name in ("info", "updates"):
            os.makedirs(self.path(f"var/lib/dpkg/{name}"))
        os.mkdir(self.path("etc"))
        self.write("var/lib/dpkg/status", "")

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def dpkg(self, *arguments):
        output("dpkg", f"--root={self.root}", "--force-script-chrootless", "--force-depends",
               "--force-confold", *arguments)

    def state(self):
        status = self.read("var/lib/dpkg/status") + "Status: none"
        return re.search(r"(?m)^Status: (.*)$", status)[1]

    def test_jobs_and_settings_outlive_all_but_a_purge(self):
        self.dpkg("--install", self.package.deb)
        self.assertEqual(self.state(), "install ok installed")
        users = re.findall(r"(?m)^sluice:.*$", self.read("etc/passwd"))
        self.assertEqual(len(users), 1)
        self.assertTrue(users[0].endswith(":/var/lib/sluiced:/usr/sbin/nologin"), users)
        self.assertRegex(self.read("etc/passwd"),
                         r"(?m)^retracker:.*:/var/lib/retracker:/usr/sbin/nologin$")
        self.write("var/lib/sluiced/data.mdb", "jobs")
        self.write("var/lib/retracker/peers", "peers")
        for name in CONFIGS:
            self.write(name, "listen: 127.0.0.1:1\n")
        wants = "etc/systemd/system/multi-user.target.wants"
        os.makedirs(self.path(wants))
        for name in ("sluiced", "retracker"):
            os.symlink(f"/lib/systemd/system/{name}.service", self.path(f"{wants}/{name}.service"))

        self.dpkg("--install", self.package.deb)
        self.assertEqual(re.findall(r"(?m)^sluice:.*$", self.read("etc/passwd")), users)
        for name in CONFIGS:
            self.assertEqual(self.read(name), "listen: 127.0.0.1:1\n")

        self.dpkg("--remove", "sluice")
        self.assertEqual(self.state(), "deinstall ok config-files")
        self.assertEqual([name for name in FILES if os.path.exists(self.path(name))],
                         CONFIGS)
        self.assertEqual(self.read("var/lib/sluiced/data.mdb"), "jobs")
        self.assertEqual(self.read("var/lib/retracker/peers"), "peers")
        self.assertTrue(os.path.lexists(self.path(f"{wants}/sluiced.service")))

        self.dpkg("--purge", "sluice")
        self.assertEqual(self.state(), "none")
        for name in (*CONFIGS, "var/lib/sluiced", "var/lib/retracker", f"{wants}/sluiced.service",
                     f"{wants}/retracker.service"):
            self.assertFalse(os.path.lexists(self.path(name)), name)


if __name__ == "__main__":
    main()
