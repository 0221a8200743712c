"""The command line: settings and where they come from, the forwarders file, help, completion, the
manual.
"""
import json
import os
import re
import subprocess

from harness import RETRACKER, RetrackerTest, main, variable
from shells import bash_offers, fish_offers, missing, zsh_line

# A file with every key that such files have, none of them at its default.
FILE = """\
# HTTP and UDP
listen: ":7070"
udp_listen: "127.0.0.1:7071"
debug: true
prometheus_enabled: true

age: 90            # minutes
x_real_ip: true
announce_interval: 900
retry_period: 120
tracker_id: "here"
stats_interval: 30

forward_timeout: 15
forwarder_workers: 10
max_forwarder_workers: 20
forwarder_queue_size: 5000
queue_scale_threshold_pct: 50
queue_rate_limit_threshold: 70
queue_throttle_threshold: 55
queue_throttle_top_n: 10
max_forwarders_per_announce: 80
rate_limit_initial_per_sec: 10
rate_limit_initial_burst: 150
forwarder_suspend_seconds: 200
forwarder_fail_threshold: 7
forwarder_retry_attempts: 3
forwarder_retry_base_ms: 250
"""
VALUES = {
    "listen": "[::]:7070", "udp_listen": "127.0.0.1:7071", "debug": True,
    "prometheus_enabled": True, "age": 90, "x_real_ip": True, "announce_interval": 900,
    "retry_period": 120, "tracker_id": "here", "stats_interval": 30, "forward_timeout": 15,
    "forwarder_workers": 10, "max_forwarder_workers": 20, "forwarder_queue_size": 5000,
    "queue_scale_threshold_pct": 50, "queue_rate_limit_threshold": 70,
    "queue_throttle_threshold": 55, "queue_throttle_top_n": 10, "max_forwarders_per_announce": 80,
    "rate_limit_initial_per_sec": 10, "rate_limit_initial_burst": 150,
    "forwarder_suspend_seconds": 200, "forwarder_fail_threshold": 7,
    "forwarder_retry_attempts": 3, "forwarder_retry_base_ms": 250}
# What else there is: the default, and three values that are not.
OURS = {
    "first_reply_wait_ms": (300, 1, 2, 3), "announce_mode": ("peer", "hash", "peer", "hash"),
    "refuse_when_full": (False, True, False, True),
    "trusted_proxies": ([], ["::1"], ["10.0.0.0/8", "::1"], ["::2"]),
    "hash_allow_file": ("", "a", "b", "c"), "hash_deny_file": ("", "a", "b", "c"),
    "snapshot_file": ("", "a", "b", "c"), "snapshot_interval": (300, 1, 2, 3),
    "threads": (0, 1, 2, 3), "forwarders_file": ("", "a", "b", "c"),
    "in_flight_per_upstream": (16, 1, 2, 3), "wanted_max": (200, 1, 2, 3),
    "ip_from_private": (True, False, True, False), "stats_user": ("", "a", "b", "c"),
    "stats_password": ("", "***", "***", "***")}
FORWARDERS = """\
# HTTP tracker
- uri: http://tracker.example.com:8080/announce
# HTTPS tracker
- uri: https://tracker.example.com/announce
# UDP tracker
- uri: udp://tracker.example.com:6969/announce
- uri: http://tracker.example.com/announce
  ip: 203.0.113.42
- uri: http://tracker.example.com/announce
  name: my-tracker
  host: tracker.internal
"""
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide/retracker.md")
COMMANDS = ("settings", "forwarders", "completion", "man")
OPTIONS = ("--config", "--listen", "--udp-listen", "--forwarders", "--debug", "--set", "--help",
           "--version")


def written(value):
    """A value as it stands on a command line or in a variable."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def three_of(name):
    """Three values of a setting, of which the neighbours differ, as they are written."""
    if name in OURS:
        return OURS[name][1:]
    value = VALUES[name]
    if isinstance(value, bool):
        return (value, not value, value)
    if name.endswith("listen"):
        return ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
    if name == "max_forwarder_workers":
        return (2001, 2002, 2003)
    return (f"{value}1", f"{value}2", f"{value}3") if isinstance(value, str) else (31, 32, 33)


class Settings(RetrackerTest):
    def test_a_file_that_people_have_loads_unchanged(self):
        path = self.write("config.yml", FILE)
        found = self.settings("-c", path)
        for name, value in VALUES.items():
            line = 1 + [line.startswith(name + ":") for line in FILE.splitlines()].index(True)
            self.assertEqual(found[name], (value, f"{path}:{line}"))
        for name, values in OURS.items():
            self.assertEqual(found[name], (values[0], "default"))
        self.assertEqual(set(found), {*VALUES, *OURS})

    def test_without_a_file_there_are_defaults(self):
        found = self.settings()
        self.assertEqual({source for _, source in found.values()}, {"default"})
        self.assertEqual(found["listen"][0], "[::]:6969")
        self.assertEqual(found["udp_listen"][0], "")
        self.assertEqual(found["forwarder_workers"][0], 1024)
        self.assertEqual(found["max_forwarder_workers"][0], 4096)

    def test_each_setting_comes_from_option_then_environment_then_file(self):
        for name in (*VALUES, *OURS):
            with self.subTest(name=name):
                values = three_of(name)
                extra = () if name == "x_real_ip" else ("--set", "x_real_ip=true")
                if name == "stats_user":
                    extra += ("--set", "stats_password=p")
                path = self.write("config.yml", f"{name}: {json.dumps(values[2])}\n")
                env = {variable(name): written(values[1])}
                option = ("--set", f"{name}={written(values[0])}")
                for arguments, environment, value, source in (
                        ((*option, "-c", path), env, values[0], "--set"),
                        (("-c", path), env, values[1], "$" + variable(name)),
                        (("-c", path), {}, values[2], f"{path}:1"),
                        (("-c", path), {variable(name): ""}, values[2], f"{path}:1"),
                        (option, {"RETRACKER_CONFIG": path}, values[0], "--set"),
                        ((), {"RETRACKER_CONFIG": path}, values[2], f"{path}:1")):
                    found = self.settings(*arguments, *extra, env=environment)
                    self.assertEqual(found[name], (value, source), arguments)

    def test_flags_of_their_own_beat_everything(self):
        path = self.write("config.yml", 'listen: ":1"\nudp_listen: ":1"\ndebug: false\n'
                                        "forwarders_file: x\n")
        env = {"RETRACKER_LISTEN": ":2", "RETRACKER_UDP_LISTEN": ":2", "RETRACKER_DEBUG": "0",
               "RETRACKER_FORWARDERS_FILE": "y", "RETRACKER_CONFIG": "/nowhere"}
        for flags in (("-c", path, "-l", ":3", "-u", ":3", "-d", "-f", "z"),
                      ("--config", path, "--listen=:3", "--udp-listen=:3", "--debug",
                       "--forwarders", "z")):
            found = self.settings(*flags, env=env)
            self.assertEqual(found["listen"], ("[::]:3", "--listen"))
            self.assertEqual(found["udp_listen"], ("[::]:3", "--udp-listen"))
            self.assertEqual(found["debug"], (True, "--debug"))
            self.assertEqual(found["forwarders_file"], ("z", "--forwarders"))
        # Nothing is an answer too: no UDP.
        self.assertEqual(self.settings("-c", path, "-u", "", env=env)["udp_listen"],
                         ("", "--udp-listen"))

    def test_unknown_keys_are_warned_of_and_do_not_stop_it(self):
        path = self.write("config.yml", "lisen: x\nage: 7\ncolour: red\n")
        found, lines = self.warned("settings", "-c", path)
        self.assertEqual(lines, [f'{path}:1: there is no setting "lisen": did you mean "listen"?',
                                 f'{path}:3: there is no setting "colour"'])
        self.assertIn({"name": "age", "value": 7, "from": f"{path}:2"}, found)

    def test_wrong_values_say_where_they_are_from_and_what_is_allowed(self):
        path = self.write("config.yml", "threads: 1\nage: long\n")
        told = ': age "long": 0.1 to 525600 minutes is allowed'
        for command in ((), ("settings",)):
            self.assertEqual(self.refused(*command, "-c", path), f"{path}:2{told}")
            self.assertEqual(self.refused(*command, "-c", path, env={"RETRACKER_AGE": "long"}),
                             f"$RETRACKER_AGE{told}")
            self.assertEqual(self.refused(*command, "--set", "age=long"), f"--set{told}")
            self.assertIn('--listen: listen "here:1": ', self.refused(*command, "-l", "here:1"))

    def test_a_password_is_not_shown(self):
        self.assertEqual(self.settings("--set", "stats_password=pass-12")["stats_password"],
                         ("***", "--set"))
        for ended in (self.run_r("settings", "--set", "stats_password=pass-12"),
                      self.run_r("--set", "stats_password=pass-12" + "x" * 255)):
            self.assertNotIn("pass-12", ended.out + ended.err)
        self.assertEqual(self.refused("--set", "stats_password=" + "x" * 256),
                         '--set: stats_password "***": a text of at most 255 bytes without control '
                         "characters is allowed")
        self.assertIn("set both", self.refused("--set", "stats_user=me"))

    def test_files_that_are_none(self):
        os.mkdir(self.path("folder"))
        for path in (self.path("missing.yml"), self.path("folder"),
                     self.write("list.yml", "- age\n"), self.write("open.yml", "age: [1\n"),
                     self.write("many.yml", "age: [1, 2]\n")):
            self.assertTrue(self.refused("settings", "-c", path).startswith(path), path)

    def test_what_is_misspelt_gets_a_hint(self):
        for arguments, hint in (
                (("--lisen", "x"), 'no option --lisen: did you mean "--listen"?'),
                (("-x",), "no option -x"),
                (("settigns",), 'no command "settigns": did you mean "settings"?'),
                (("frobnicate",), 'no command "frobnicate": see retracker --help'),
                (("settings", "x"), 'retracker settings takes no argument "x"'),
                (("--set", "aeg=1"), '--set: there is no setting "aeg": did you mean "age"?'),
                (("--set", "age"), "write name=value"),
                (("--set", "age=1", "--set", "age=2"), "--set: age is there twice"),
                (("-l", ":1", "--set", "listen=:2"), "--set: listen is there twice"),
                (("-l", ":1", "-l", ":2"), "--listen is there twice")):
            self.assertIn(hint, self.refused(*arguments))

    def test_what_is_shown_of_a_mistake_is_harmless(self):
        self.assertNotIn("\x1b", self.refused("--set", "age=\x1b[31mred\nline"))
        path = self.write("config.yml", '"\\e[31m": 1\n')
        self.assertNotIn("\x1b", self.run_r("settings", "-c", path).err)

    def test_the_guide_has_every_setting_with_its_default(self):
        with open(GUIDE, encoding="utf-8") as guide:
            rows = dict(re.findall(r"(?m)^\| `([a-z_]+)` \| (?:`(.*?)`)? ?\|", guide.read()))
        rows = {name: value for name, value in rows.items() if name in {*VALUES, *OURS}}
        rows["listen"] = "[::]" + rows["listen"]
        self.assertEqual(rows, {name: written(value)
                                for name, (value, _) in self.settings().items()})

    def test_the_table_shows_the_same(self):
        lines = self.printed("settings", "--set", "age=7").splitlines()
        self.assertRegex(lines[0], r"^NAME +VALUE +FROM +WHAT IT IS$")
        self.assertEqual({line.split()[0] for line in lines[1:]}, {*VALUES, *OURS})
        self.assertRegex("\n".join(lines), r"(?m)^age +7 +--set +\S")


class Forwarders(RetrackerTest):
    def test_a_file_that_people_have_loads_unchanged(self):
        path = self.write("forwarders.yml", FORWARDERS)
        found = json.loads(self.printed("forwarders", "-f", path, "--json"))
        http = "http://tracker.example.com/announce"
        self.assertEqual(found, [
            {"name": "tracker.example.com:8080",
             "uri": "http://tracker.example.com:8080/announce"},
            {"name": "tracker.example.com:443", "uri": "https://tracker.example.com/announce"},
            {"name": "tracker.example.com:6969",
             "uri": "udp://tracker.example.com:6969/announce"},
            {"name": "tracker.example.com:80", "uri": http, "ip": "203.0.113.42"},
            {"name": "my-tracker", "uri": http, "host": "tracker.internal"}])
        self.assertEqual(len(self.printed("forwarders", "-f", path).splitlines()), 6)

    def test_two_of_one_place_have_two_names(self):
        path = self.write("forwarders.yml", "- http://a:1/x\n- udp://a:1/x\n- uri: udp://a:1/x\n")
        found, lines = self.warned("forwarders", "-f", path)
        self.assertEqual([one["name"] for one in found], ["a:1", "a:1/udp"])
        self.assertEqual(lines, [f"{path}:3: the same as {path}:2; left out"])

    def test_the_file_may_be_named_by_any_source(self):
        path = self.write("forwarders.yml", "- http://a/x\n")
        config = self.write("config.yml", f"forwarders_file: {path}\n")
        for arguments, env in ((("-f", path), {}), ((), {"RETRACKER_FORWARDERS_FILE": path}),
                               (("-c", config), {})):
            self.assertIn("a:80", self.printed("forwarders", *arguments, env=env))
        self.assertIn("say which file", self.refused("forwarders"))

    def test_mistakes_are_told_with_their_line(self):
        path = self.write("forwarders.yml", "- http://a/x\n- uri: gopher://a/x\n")
        self.assertTrue(self.refused("forwarders", "-f", path).startswith(f"{path}:2: uri "))
        self.assertIn("cannot be read", self.refused("forwarders", "-f", self.path("missing")))


class Manual(RetrackerTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(os.path.abspath(RETRACKER), self.path("bin/retracker"))
        self.env["PATH"] = f"{self.path('bin')}:{self.env['PATH']}"

    def need(self, *programs):
        if name := missing(*programs):
            self.skipTest(f"{name} is not installed")

    def options_of(self, *command):
        return sorted(set(re.findall(r"(?m)^ +(?:-., )?(--[a-z-]+)",
                                     self.printed(*command, "--help"))))

    def test_help_names_every_option_and_command(self):
        for words in (("--help",), ("-h",), ("help",)):
            text = self.printed(*words)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            for name in OPTIONS:
                self.assertRegex(text, rf"(?m)^ +(-., )?{name}\b.*\S")
            for name in COMMANDS:
                self.assertRegex(text, rf"(?m)^  {name} +\S")
        for name in COMMANDS:
            self.assertIn(f"Usage: retracker {name}", self.printed(name, "--help"))
            self.assertEqual(self.printed("help", name), self.printed(name, "--help"))

    def test_the_version_is_one_line(self):
        for flag in ("--version", "-v"):
            self.assertRegex(self.printed(flag), r"\Aretracker \d+\.\d+\.\d+\S*\n\Z")

    def test_wrong_settings_are_no_hindrance(self):
        env = {"RETRACKER_CONFIG": self.path("missing"), "RETRACKER_AGE": "x"}
        for words in (("--help",), ("-v",), ("man",), ("completion", "bash")):
            self.printed(*words, env=env)

    def test_another_shell_is_refused(self):
        self.assertIn("bash, zsh or fish", self.refused("completion"))
        self.assertIn('did you mean "bash"?', self.refused("completion", "bahs"))

    def check_offers(self, offers):
        self.assertEqual(offers("set"), ["settings"])
        self.assertEqual(offers("--"), self.options_of())
        for name in COMMANDS:
            self.assertEqual(offers(name, "--"), self.options_of(name), name)
        self.assertEqual(offers("completion", ""), ["bash", "fish", "zsh"])
        self.write("config.yml", "")
        self.assertEqual(offers("--config", "config.y"), ["config.yml"])
        self.assertEqual(offers("--listen", ""), [])

    def test_bash_offers_every_command_and_option(self):
        self.need("bash")
        self.check_offers(lambda *words: sorted(
            bash_offers("retracker", *words, env=self.env, cwd=self.home)))

    def test_fish_offers_every_command_and_option(self):
        self.need("fish")
        self.check_offers(lambda *words: sorted(
            fish_offers("retracker", *words, env=self.env, cwd=self.home)))

    def test_zsh_completes_with_a_script_that_is_sourced_or_installed(self):
        self.need("zsh", "setsid")
        for words, line in ((("sett",), "settings "), (("--udp",), "--udp-listen "),
                            (("settings", "--js"), "settings --json ")):
            for installed in (False, True):
                self.assertEqual(zsh_line("retracker", *words, env=self.env, cwd=self.home,
                                          installed=installed), f"retracker {line}")

    def test_the_manual_has_no_mistakes_and_names_every_option_command_and_setting(self):
        self.need("groff")
        page = self.printed("man")
        self.assertEqual(page, self.printed("man"))
        self.assertRegex(page, r'\A\.TH retracker 1 "" "retracker \d+\.\d+\.\d+" ')
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page.encode(),
                              capture_output=True, env=self.env, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
        top, _, commands = text.partition("\nCOMMANDS\n")
        for option in OPTIONS:
            self.assertRegex(top, rf"(?m)^ +(-., )?{option}( |$)")
        for command in COMMANDS:
            self.assertRegex(commands, rf"(?m)^   {command}( |$)")
        for name in (*VALUES, *OURS):
            self.assertRegex(text, rf"(?m)^ +{name} {variable(name)}$")


if __name__ == "__main__":
    main()
