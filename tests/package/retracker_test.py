"""What the Debian package holds for retracker as a service."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import urllib.request

from package_test import PackageTest, allowed_calls, read_text
from harness import PATIENCE, main, wait_until
from programs import run
from units import UnitChecks

UNIT = "lib/systemd/system/retracker.service"
FILE = "etc/retracker.yaml"


class Settings(PackageTest):
    def entries(self):
        """Every setting that the file names: its value, and whether it is commented out."""
        found = re.findall(r"(?m)^(#?)([a-z_]+): (.*)$", self.package.read(FILE).decode())
        self.assertEqual(len(found), len({name for _, name, _ in found}))
        return {name: (value, bool(comment)) for comment, name, value in found}

    def shown(self, *arguments):
        ended = run(self.program("retracker"), "settings", "--json", *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return {one["name"]: one["value"] for one in json.loads(ended.out)}

    def test_every_setting_is_in_the_file_and_what_is_commented_out_is_the_default(self):
        entries, defaults = self.entries(), self.shown()
        self.assertEqual(set(entries), set(defaults))
        for name, (value, commented) in entries.items():
            if commented and defaults[name] not in ("", []):
                self.assertEqual(value, json.dumps(defaults[name]).strip('"'), name)
        there = {name for name, (_, commented) in entries.items() if not commented}
        self.assertEqual(there, {"listen", "snapshot_file"})

    def test_the_program_accepts_all_of_it(self):
        found = self.shown("-c", self.package.path(FILE))
        self.assertEqual(found["snapshot_file"], "/var/lib/retracker/peers")
        self.assertEqual(found["listen"], "[::]:6969")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
            # One of the two lists, and a list only for who believes proxies.
            file.write("".join(f"{name}: {value}\n" for name, (value, _) in self.entries().items()
                               if name not in ("hash_deny_file", "x_real_ip")) +
                       "x_real_ip: true\n")
            file.flush()
            self.assertEqual(self.shown("-c", file.name)["stats_user"], "me")


class Unit(UnitChecks, PackageTest):
    service = "retracker"

    def test_it_does_what_the_documents_say(self):
        for name, value in (("User", "retracker"), ("StateDirectory", "retracker"),
                            ("ExecStart", "/usr/bin/retracker --config /etc/retracker.yaml"),
                            ("ExecReload", "/bin/kill -HUP $MAINPID"), ("UMask", "0077"),
                            ("LimitCORE", "0"), ("KillSignal", "SIGTERM"),
                            ("Restart", "on-failure"), ("ProtectSystem", "strict"),
                            ("MemoryDenyWriteExecute", "yes")):
            self.assertEqual(self.value(name), value, name)
        self.assertRegex(self.package.read("usr/lib/sysusers.d/retracker.conf").decode(),
                         r"\Au retracker - ")


class Program(PackageTest):
    def start(self, folder, *before):
        process = subprocess.Popen(
            [*before, self.program("retracker"), "--config", self.package.path(FILE),
             "-l", "127.0.0.1:0", "-u", "127.0.0.1:0", "--set", f"snapshot_file={folder}/peers",
             "--set", "prometheus_enabled=true", "-f", f"{folder}/forwarders"],
            stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        http, udp = (int(process.stdout.readline().rpartition(b":")[2]) for _ in range(2))
        return process, http, udp

    def get(self, port, target):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}", timeout=PATIENCE) as reply:
            return reply.read()

    def use(self, process, http, udp):
        """All that it does: both protocols, forwarding, figures, a reload, and the end."""
        announce = f"/announce?info_hash={'h' * 20}&peer_id={'p' * 20}&port=1&left=1"
        self.assertIn(b"peers", self.get(http, announce))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.settimeout(PATIENCE)
            peer.connect(("127.0.0.1", udp))
            peer.send(struct.pack(">QII", 0x41727101980, 0, 5))
            self.assertEqual(peer.recv(99)[:8], struct.pack(">II", 0, 5))
        failed = re.compile(rb'status="unreachable"} [1-9]')
        wait_until(lambda: failed.search(self.get(http, "/metrics")), "the forward")
        process.send_signal(signal.SIGHUP)
        self.assertIn(b"hhhh".hex().encode(), self.get(http, "/stats"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_its_system_calls_are_those_that_the_unit_allows(self):
        self.need("strace", "systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            # Nobody listens there: the name is looked up and the connection refused.
            with open(f"{folder}/forwarders", "w", encoding="utf-8") as file:
                file.write("- http://localhost:1/announce\n")
            started = self.start(folder, "strace", "-D", "-f", "-q", "-o", f"{folder}/calls")
            self.use(*started)
            self.assertGreater(os.path.getsize(f"{folder}/peers"), 0)
            end = re.compile(rf"(?m)^{started[0].pid} +\+\+\+ exited with 0 ")
            wait_until(lambda: end.search(read_text(f"{folder}/calls")), "the end of strace")
            called = set(re.findall(r"(?m)^\d+ +([a-z]\w*)\(", read_text(f"{folder}/calls")))
        self.assertTrue({"epoll_wait", "recvmmsg", "rename"} <= called, called)
        self.assertEqual(called - allowed_calls(self.package.read(UNIT).decode()), set())


if __name__ == "__main__":
    main()
