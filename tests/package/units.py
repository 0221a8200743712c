"""What the tests of a service that systemd starts share."""
import os
import re
import subprocess
import tempfile

from package import output


class UnitChecks:
    """For a PackageTest that names its `service`."""

    def setUp(self):
        super().setUp()
        self.text = self.package.read(f"lib/systemd/system/{self.service}.service").decode()
        # As if it were installed on this machine.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, f"{self.service}.service")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text.replace(f"/usr/bin/{self.service}", self.program(self.service)))

    def value(self, name):
        (value,) = re.findall(rf"(?m)^{name}=(.*)$", self.text)
        return value

    def test_systemd_finds_no_mistake(self):
        self.need("systemd-analyze")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               self.path], capture_output=True, check=False)
        said = [line for line in done.stderr.decode().splitlines() if self.service in line]
        self.assertEqual((done.returncode, said), (0, []), done)

    def test_it_is_locked_in(self):
        self.need("systemd-analyze")
        # Of 100, where 100 is a program that may do everything.
        output("systemd-analyze", "security", "--offline=yes", "--threshold=15", self.path)
