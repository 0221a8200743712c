"""What can be set about the service, from where, within which limits, and what is said of mistakes.
"""
import json
import os
import socket

from harness import Client, main
from programs import ProgramTest, SettledService, variable
from watch import SANITIZED

# Values that are accepted, and values that are not: the limits, one past them, and nonsense.
DURATIONS = (("1ms", "0.001", "24h", "1d", "86400s", "23h59m59s999ms"),
             ("", "0", "0s", "999us", "24h1ms", "86401", "-1s", "1x", "s", "1s1s", "1 s", "NaN"))
SETTINGS = {
    "listen": (("127.0.0.1:0", "127.0.0.1:1", "127.0.0.1:65535", "127.255.255.254:0", "[::1]:0",
                "[::1]:65535", "unix:x", "unix:/" + "x" * 106),
               ("", ":", ":0", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                "127.0.0.1:+1", "127.0.0.1: 1", "127.0.0.1:0x1", "256.0.0.1:0", "1.2.3:0", "[::1]",
                "[::1:0", "::1:0", "[::g]:0", "here:0", "unix:", "unix:/" + "x" * 107)),
    "data": (("data", "./data", "/x/y"), ("",)),
    "compat-lease": DURATIONS,
    "drain-time": DURATIONS,
    "store-size": (("1M", "1048576", "1024KiB", "64T"),
                   ("", "0", "1048575", "1023K", "70368744177665", "65T", "-1M", "1X", "M",
                    "99999999999999999999")),
    "max-body": (("1K", "1024", "64M", "64MiB"),
                 ("", "0", "1023", "67108865", "65M", "-1K", "1kk", "big")),
    "max-connections": (("1", "10000", "1000000"),
                        ("", "0", "1000001", "-1", "+1", "1.0", "1e3", " 1", "1 ", "many",
                         "18446744073709551617")),
    "threads": (("0", "1", "1024"), ("", "1025", "-1", "two", "4294967297")),
    "log-level": (("debug", "info", "warning", "error"), ("", "warn", "INFO", "loud", "1")),
}
# What is found only when every single setting is right.
HALF_TLS = ("--tls-cert", "x")
# The texts that a file may have for a switch, which is an option without a value.
SWITCH = (("true", "false"), ("yes", "1", "TRUE", "on"))


class SettingsTest(ProgramTest):
    def file(self, name="settings.yaml", **values):
        """A file with these settings; a name has _ for -, which the program takes as well."""
        return self.write(name, "".join(f"{key}: {json.dumps(value)}\n"
                                        for key, value in values.items()))

    def accepted(self, *arguments, **options):
        error = self.refused(2, *arguments, *HALF_TLS, **options)
        self.assertIn("TLS needs both a certificate and a key", error)

    def blamed(self, where, name, value, *arguments, **options):
        error = self.refused(2, *arguments, **options)
        shown = value if len(value) <= 60 else value[:50]
        self.assertTrue(error.startswith(f'{where}: {name} "{shown}'), error)
        self.assertGreater(len(error), len(f'{where}: {name} "{value}": '), error)


class Commands(ProgramTest):
    def test_help_names_every_setting_and_command(self):
        for flag in ("--help", "-h"):
            ended = self.sluiced(flag)
            self.assertEqual((ended.code, ended.err), (0, ""))
            for name in (*SETTINGS, "config", "tls-cert", "tls-key", "allow-plain", "version"):
                self.assertRegex(ended.out, rf"(?m)^ +(-., )?--{name} .*\S")
            for name in ("verify", "backup"):
                self.assertRegex(ended.out, rf"(?m)^  {name} +\S")

    def test_every_command_explains_itself(self):
        for command, usage in (("verify", "sluiced verify [OPTIONS]"),
                               ("backup", "sluiced backup [OPTIONS] DIR")):
            ended = self.sluiced(command, "--help")
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertIn(f"Usage: {usage}\n", ended.out)
            self.assertIn("--data DIR", ended.out)
            self.assertNotIn("--listen", ended.out)
        self.assertEqual(os.listdir(self.home), [])

    def test_the_version_is_one_line(self):
        ended = self.sluiced("--version")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertRegex(ended.out, r"\Asluiced \d+\.\d+\.\d+\S*\n\Z")

    def test_what_is_misspelt_gets_a_hint(self):
        for arguments, hint in (
                (("--lisen", "x"), 'no option --lisen: did you mean "--listen"?'),
                (("--max_body", "1K"), 'no option --max_body: did you mean "--max-body"?'),
                (("--nothing-like-it",), "no option --nothing-like-it: see sluiced --help"),
                (("-x",), "no option -x"),
                (("verfy",), 'no command "verfy": did you mean "verify"?'),
                (("bakcup", "x"), 'no command "bakcup": did you mean "backup"?'),
                (("frobnicate",), 'no command "frobnicate": see sluiced --help'),
                (("",), 'no command "": see sluiced --help'),
                (("verify", "--dat", "x"), 'no option --dat: did you mean "--data"?'),
                (("verify", "--threads", "1"), "no option --threads: see sluiced verify --help"),
                (("verify", "here"), 'sluiced verify takes no argument "here"'),
                (("--data",), "--data needs a value: --data DIR"),
                (("--data", "a", "--data", "b"), "--data is there twice"),
                (("--allow-plain=true",), "--allow-plain takes no value"),
                (("--listen", "127.0.0.1:0", "verify"), 'takes no argument "verify"'),
                (("backup",), "sluiced backup DIR"), (("backup", "a", "b"), "sluiced backup DIR")):
            self.assertIn(hint, self.refused(2, *arguments))

    def test_what_is_shown_of_a_mistake_is_harmless(self):
        error = self.refused(2, "--\x1b[31mred\nline")
        self.assertNotIn("\x1b", error)


class Limits(SettingsTest):
    def test_what_is_within_the_limits_is_accepted(self):
        for name, (accepted, _) in SETTINGS.items():
            for value in accepted:
                self.accepted(f"--{name}", value)

    def test_what_is_beyond_is_refused_and_says_where_it_came_from(self):
        for name, (_, refused) in SETTINGS.items():
            for value in refused:
                self.blamed(f"--{name}", name, value, f"--{name}={value}")
                path = self.file(**{name: value})
                self.blamed(path, name, value, "--config", path)
                if value:
                    self.blamed(f"${variable(name)}", name, value, env={variable(name): value})

    def test_a_switch_is_true_or_false(self):
        for value in SWITCH[0]:
            self.accepted(env={"SLUICED_ALLOW_PLAIN": value})
            self.accepted("--config", self.file(allow_plain=value))
        for value in SWITCH[1]:
            self.blamed("$SLUICED_ALLOW_PLAIN", "allow-plain", value,
                        env={"SLUICED_ALLOW_PLAIN": value})
            path = self.file(allow_plain=value)
            self.blamed(path, "allow-plain", value, "--config", path)

    def test_a_certificate_and_its_key_come_together(self):
        for name in ("tls-cert", "tls-key"):
            for error in (self.refused(2, f"--{name}", "x"),
                          self.refused(2, env={variable(name): "x"})):
                self.assertIn("TLS needs both a certificate and a key: tls-cert, tls-key", error)

    def test_the_service_runs_at_the_limits(self):
        lowest = {"compat-lease": "1ms", "drain-time": "1ms", "store-size": "1M", "max-body": "1K",
                  "max-connections": "1", "threads": "1", "log-level": "debug"}
        # The sanitizer cuts the addresses of a process in two.
        highest = {"compat-lease": "24h", "drain-time": "24h",
                   "store-size": "32T" if SANITIZED else "64T",
                   "max-body": "64M", "max-connections": "1000000", "threads": "1024",
                   "log-level": "error"}
        for values, body in ((lowest, 1024), (highest, 64 << 20)):
            service = SettledService("--listen", "127.0.0.1:0", "--data", "data",
                                     *(word for name, value in values.items()
                                       for word in (f"--{name}", value)))
            client = Client(self.started(service))
            client.push("t", "j")
            self.assertEqual(client.pop_id("t"), "j")
            for size, status in ((body, 400), (body + 1, 413)):
                self.assertEqual(client.call("POST", "/queue/release", b" " * size).status, status)
            client.close()
            self.assertEqual(service.stop(), 0, service.said())


class Precedence(SettingsTest):
    def test_an_option_beats_the_environment_beats_the_file_beats_the_default(self):
        for name, (accepted, refused) in SETTINGS.items():
            good, bad = accepted[-1], refused[-1]
            if not bad:
                continue  # Nothing but emptiness is refused, and an empty variable is none.
            path, env = self.file(**{name: bad}), {variable(name): bad}
            fine = self.file("fine.yaml", **{name: good})
            self.blamed(f"--{name}", name, bad, f"--{name}", bad, "--config", path, env=env)
            self.blamed(f"${variable(name)}", name, bad, "--config", path, env=env)
            self.blamed(path, name, bad, "--config", path)
            self.accepted(f"--{name}", good, "--config", path, env=env)
            self.accepted("--config", path, env={variable(name): good})
            self.accepted("--config", fine)
            self.blamed(path, name, bad, "--config", path, env={variable(name): ""})

    def test_the_file_is_named_by_option_or_environment(self):
        bad, worse = self.file("bad.yaml", threads="x"), self.file("worse.yaml", threads="y")
        self.blamed(bad, "threads", "x", env={"SLUICED_CONFIG": bad})
        self.blamed(bad, "threads", "x", "--config", bad, env={"SLUICED_CONFIG": worse})

    def test_port_is_the_port_of_the_default_address(self):
        for port in ("65536", "x", "-1", "1:2"):
            self.blamed("$PORT", "listen", f"127.0.0.1:{port}", env={"PORT": port})
        good = self.file(listen="127.0.0.1:0")
        self.accepted("--config", good, env={"PORT": "x"})
        self.accepted(env={"PORT": "x", "SLUICED_LISTEN": "127.0.0.1:0"})
        self.accepted("--listen", "127.0.0.1:0", env={"PORT": "x"})

    def test_a_service_that_is_told_nothing_uses_the_defaults(self):
        # Somebody has this port, if not this test: who listens there is named in the error.
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", 3100))
                taken.listen()
            except OSError:
                pass
            ended = self.sluiced()
        self.assertEqual(ended.code, 5, ended)
        self.assertIn("cannot listen on 127.0.0.1:3100: it is in use", ended.err)
        self.assertEqual(os.listdir(self.home), ["data"])

    def test_a_service_listens_and_stores_where_the_strongest_says(self):
        file = {"listen": "127.0.0.1:0", "data": "of-file", "max-body": "1K"}
        for options, env, values, folder, largest in (
                ((), {"PORT": "0"}, {"max-body": "1K"}, "data", 1024),
                ((), {"PORT": "1"}, file, "of-file", 1024),
                ((), {"SLUICED_DATA": "of-env", "SLUICED_MAX_BODY": "2K"}, file, "of-env", 2048),
                (("--data", "of-option", "--max-body=3K"), {"SLUICED_DATA": "of-env"}, file,
                 "of-option", 3072)):
            service = SettledService(*options)
            service.env.update(env, SLUICED_CONFIG=self.file(**values))
            os.rmdir(service.data)
            client = Client(self.started(service))
            for size, status in ((largest, 400), (largest + 1, 413)):
                self.assertEqual(client.call("POST", "/queue/release", b" " * size).status, status)
            client.close()
            self.assertEqual(sorted(os.listdir(service.home)), sorted([folder, "log"]))
            self.assertEqual(service.stop(), 0, service.said())


class Files(SettingsTest):
    def test_an_unknown_name_says_what_was_meant(self):
        for name, hint in (("listne", 'did you mean "listen"?'), ("Data", 'did you mean "data"?'),
                           ("max-bodys", 'did you mean "max-body"?'), ("colour", "")):
            path = self.file(**{name: "x"})
            error = self.refused(2, "--config", path)
            self.assertTrue(error.startswith(f'{path}: there is no setting "{name}"'), error)
            self.assertTrue(error.endswith(hint or f'"{name}"'), error)

    def test_a_name_may_be_written_with_underscores(self):
        self.accepted("--config", self.file(max_body="1K", log_level="error", drain_time="1s"))

    def test_files_that_are_none(self):
        for path in (self.path("missing.yaml"), self.path("missing/file"),
                     self.write("list.yaml", "- listen\n- data\n"),
                     self.write("word.yaml", "listen\n"), self.write("open.yaml", "listen: [1\n"),
                     self.write("tab.yaml", "listen:\n\t- x\n"),
                     self.write("nested.yaml", "listen:\n  port: 1\n"),
                     self.write("many.yaml", "threads: [1, 2]\n"),
                     self.write("nothing.yaml", "threads:\n")):
            self.assertTrue(self.refused(2, "--config", path).startswith(f"{path}: "))

    def test_a_folder_is_no_file(self):
        os.mkdir(self.path("folder"))
        self.assertTrue(self.refused(2, "--config", self.path("folder")).startswith(self.home))

    def test_files_that_set_nothing(self):
        for text in ("", "\n", "# threads: 0\n", "---\n", "{}\n"):
            self.accepted("--config", self.write("empty.yaml", text))


class Exposure(SettingsTest):
    # Each way to say it.
    ALLOWED = ((("--allow-plain", "--allow-anonymous"), {}),
               ((), {"SLUICED_ALLOW_PLAIN": "true", "SLUICED_ALLOW_ANONYMOUS": "true"}))

    def test_other_machines_are_not_served_unless_that_is_meant(self):
        for address in ("0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", "192.0.2.1:0", "128.0.0.1:0",
                        "126.255.255.255:0", "[::2]:0"):
            for arguments, env in ((("--listen", address), {}), ((), {"SLUICED_LISTEN": address}),
                                   (("--config", self.file(listen=address)), {}),
                                   (("--listen", address), {"SLUICED_ALLOW_PLAIN": "false"}),
                                   (("--listen", address, "--allow-anonymous"), {})):
                error = self.refused(2, *arguments, env=env)
                self.assertIn(f"refusing to serve other machines on {address}", error)
                self.assertIn("--allow-plain", error)
            error = self.refused(2, "--listen", address, "--allow-plain")
            self.assertIn(f"refusing to serve other machines on {address}", error)
            self.assertIn("--allow-anonymous", error)

    def test_they_are_served_by_whoever_allows_it(self):
        for options, env in (*self.ALLOWED,
                             (("--config", self.file(allow_plain=True, allow_anonymous=True)), {})):
            service = SettledService("--listen", "0.0.0.0:0", "--data", "data", *options)
            service.greeting = rb"listening on http://0\.0\.0\.0:(\d+)\n"
            service.env.update(env)
            client = Client(self.started(service))
            self.assertEqual(client.get("/health")["status"], "ok")
            client.close()
            self.assertEqual(service.stop(), 0, service.said())


if __name__ == "__main__":
    main()
