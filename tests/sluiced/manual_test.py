"""Completion and the manual page."""
import os
import re
import subprocess

from harness import SLUICED, main
from programs import ProgramTest, variable
from shells import bash_offers, fish_offers, missing, zsh_line

LEVELS = ["debug", "error", "info", "warning"]


class ManualTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(os.path.abspath(SLUICED), self.path("bin/sluiced"))
        self.env = {"PATH": f"{self.path('bin')}:{os.environ['PATH']}", "HOME": self.home,
                    "LANG": "C.UTF-8"}
        self.env.update({name: value for name, value in os.environ.items()
                         if name.endswith("SAN_OPTIONS")})

    def need(self, *programs):
        if name := missing(*programs):
            self.skipTest(f"{name} is not installed")

    def printed(self, *arguments, **options):
        ended = self.sluiced(*arguments, **options)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return ended.out

    def options_of(self, *command):
        return re.findall(r"(?m)^ +(?:-., )?(--[a-z-]+)", self.printed(*command, "--help"))

    def commands(self):
        listed = self.printed("--help").partition("\nCommands:\n")[2]
        found = re.findall(r"(?m)^  ([a-z]+(?: [a-z]+)?)  ", listed)
        self.assertTrue({"verify", "backup", "completion", "man"} <= set(found), found)
        return found

    def first_words(self):
        return {name.split()[0] for name in self.commands()} | {"help"}


class Completion(ManualTest):
    def test_another_shell_is_refused(self):
        self.assertIn("bash, zsh or fish", self.refused(2, "completion"))
        self.assertIn('did you mean "bash"?', self.refused(2, "completion", "bahs"))

    def test_bash_offers_every_command_and_option(self):
        self.need("bash")

        def offers(*words):
            return sorted(bash_offers("sluiced", *words, env=self.env, cwd=self.home))

        self.check(offers)
        self.assertEqual(offers(""), sorted({*self.first_words(), *self.options_of()}))

    def test_fish_offers_every_command_and_option(self):
        self.need("fish")

        def offers(*words):
            return sorted(fish_offers("sluiced", *words, env=self.env, cwd=self.home))

        self.check(offers)
        self.assertEqual(offers(""), sorted(self.first_words()))

    def check(self, offers):
        self.assertEqual(offers("ver"), ["verify"])
        self.assertEqual(offers("--"), sorted(set(self.options_of())))
        for name in self.commands():
            words = name.split()
            self.assertEqual(offers(*words, "--"), sorted(set(self.options_of(*words))), name)
        seconds = [name.split()[1] for name in self.commands() if name.startswith("token ")]
        self.assertIn("revoke", seconds)
        self.assertEqual(offers("token", ""), sorted(seconds))
        self.assertEqual(offers("--data", "bin", "--max-b"), ["--max-body"])
        self.assertEqual(offers("--log-level", ""), LEVELS)
        self.assertEqual(offers("verify", "--log-level", "w"), ["warning"])
        self.assertEqual(offers("completion", ""), ["bash", "fish", "zsh"])
        self.assertEqual([name.rstrip("/") for name in offers("backup", "bi")], ["bin"])
        self.write("settings.yaml", "")
        self.assertEqual(offers("--config", "settings.y"), ["settings.yaml"])
        self.assertEqual(offers("--threads", ""), [])
        self.assertEqual(offers("nonsense", "--x"), [])

    def test_zsh_completes_with_a_script_that_is_sourced_or_installed(self):
        self.need("zsh", "setsid")
        for words, line in ((("ver",), "verify "), (("--max-b",), "--max-body "),
                            (("verify", "--da"), "verify --data "),
                            (("token", "rev"), "token revoke "),
                            (("--log-level", "w"), "--log-level warning "),
                            (("nonsense", "--x"), "nonsense --x")):
            for installed in (False, True):
                self.assertEqual(zsh_line("sluiced", *words, env=self.env, cwd=self.home,
                                          installed=installed), f"sluiced {line}")

    def test_wrong_settings_are_no_hindrance(self):
        self.assertIn("complete -F", self.printed("completion", "bash", env={"PORT": "x"}))
        self.assertIn(".TH", self.printed("man", env={"SLUICED_CONFIG": self.path("missing")}))


class Manual(ManualTest):
    def rendered(self, *command, **options):
        done = subprocess.run(command, capture_output=True, env={**self.env, "MANWIDTH": "80"},
                              cwd=self.home, check=False, **options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), command)
        # Bold and the like are letters struck over, or colours.
        return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())

    def test_it_has_no_mistakes_and_names_every_option_command_and_setting(self):
        self.need("groff")
        text = self.rendered("groff", "-man", "-Tutf8", "-ww", input=self.printed("man").encode())
        self.check(text)

    def test_man_shows_it(self):
        self.need("man", "groff")
        page = self.write("sluiced.1", self.printed("man"))
        self.check(self.rendered("man", "--warnings", "-P", "cat", "-l", page))

    def check(self, text):
        top, _, commands = text.partition("\nCOMMANDS\n")
        for option in self.options_of():
            self.assertRegex(top, rf"(?m)^ +(-., )?{option}( |$)")
            if option not in ("--config", "--help", "--version"):
                name = option.removeprefix("--")
                self.assertRegex(text, rf"(?m)^ +{name} {variable(name)}$")
        for command in self.commands():
            self.assertRegex(commands, rf"(?m)^   {command}( |$)")

    def test_it_is_the_same_every_time(self):
        self.assertEqual(self.printed("man"), self.printed("man"))
        self.assertRegex(self.printed("man"), r'\A\.TH sluiced 1 "" "sluiced \d+\.\d+\.\d+" ')

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SLUICED, "man"], stdout=full, stderr=subprocess.PIPE,
                                  env=self.env, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"sluiced: cannot write: ", done.stderr)

    def test_help_is_a_command(self):
        self.assertEqual(self.printed("help"), self.printed("--help"))
        for name in self.commands():
            self.assertEqual(self.printed("help", *name.split()),
                             self.printed(*name.split(), "--help"))


if __name__ == "__main__":
    main()
