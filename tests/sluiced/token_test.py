"""The commands that make, list and revoke tokens: what they take, print and refuse, and that nobody
but who asked for a token ever sees it."""
import hashlib
import json
import os
import pty
import re
import subprocess

from harness import PATIENCE, SLUICED, OwnServiceTest, in_threads, main
from programs import ProgramTest, run
from tokens import SECRET, Bearer, add, options, reload, revoke, token

# What is allowed and what is not: the limits, one past them, and nonsense.
TEXTS = (("x", "x" * 256, "\u00fc" * 128, "a b", "a,b", "a/", "/", "..", "'", '"', "\\n", "\u2028"),
         ("", "x" * 257, "\u00fc" * 128 + "x", "a\nb", "\n", "\x1b[31m", "a\tb", "\x01",
          "\udcff", "a\udcc3", "\udced\udca0\udc80"))
NUMBERS = {"rate": (("1", "1000000"), ("1000001",)),
           "backlog": (("1", "1000000000000"), ("1000000000001",))}
NO_NUMBERS = ("", "0", "-1", "+1", "1.0", "1e3", " 1", "1 ", "x", "0x10", "18446744073709551617")
SCOPES = ("enqueue", "work", "admin", "enqueue,work", "enqueue,admin", "work,admin",
          "enqueue,work,admin")
NO_SCOPES = ("", ",", "work,", ",work", "work,,admin", "Work", "ADMIN", " work", "work ",
             "work, admin", "work enqueue", "work;admin", "read", "all", "*", "enqueu", "enqueues",
             "7", "\n", "\x1b[31m")


class CommandTest(ProgramTest):
    def listed(self):
        ended = token(self.data, "list", "--json")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return json.loads(ended.out)

    def token_refused(self, code, *arguments):
        """Checks that nothing was changed, and returns what it says."""
        return self.refused(code, "token", *arguments, "--data", self.data)


class Adding(CommandTest):
    def test_a_token_is_256_random_bits(self):
        ended = [token(self.data, "add", f"t{number}", "--may", "work") for number in range(10)]
        for one in ended:
            self.assertEqual((one.code, one.err), (0, ""), one)
            self.assertRegex(one.out, rf"\A{SECRET}\n\Z")
        bits = [f"{int(one.out[4:], 16):0256b}" for one in ended]
        self.assertEqual(len(set(bits)), len(bits))
        # Two that are random differ in half of their bits; less than a quarter is out of the
        # question.
        for one, other in zip(bits, bits[1:]):
            self.assertGreater(sum(a != b for a, b in zip(one, other)), 64)

    def test_names_and_prefixes_at_their_limits(self):
        good, _ = TEXTS
        for number, text in enumerate(good):
            add(self.data, text, "work")
            add(self.data, f"prefix {number}", "work", (text,))
        found = {one["name"]: one["queues"] for one in self.listed()}
        self.assertEqual(found, {**{text: [] for text in good},
                                 **{f"prefix {number}": [text]
                                    for number, text in enumerate(good)}})

    def test_names_and_prefixes_beyond_them(self):
        add(self.data, "kept", "work")
        before = self.listed()
        for text in TEXTS[1]:
            self.assertIn("name", self.token_refused(2, "add", text, "--may", "work"))
            error = self.token_refused(2, "add", "t", *options("work", ("good", text)))
            self.assertIn("prefix", error)
        self.assertEqual(self.listed(), before)

    def test_numbers_at_their_limits_and_beyond_them(self):
        add(self.data, "kept", "work")
        for name, (good, bad) in NUMBERS.items():
            for number in good:
                add(self.data, f"{name} {number}", "work", **{name: number})
            for number in (*bad, *NO_NUMBERS):
                error = self.token_refused(2, "add", "t", *options("work", **{name: number}))
                self.assertIn(f"--{name}", error)
        found = {one["name"]: (one.get("rate"), one.get("backlog")) for one in self.listed()}
        self.assertEqual(found, {"kept": (None, None), "rate 1": (1, None),
                                 "rate 1000000": (1_000_000, None), "backlog 1": (None, 1),
                                 "backlog 1000000000000": (None, 10**12)})

    def test_64_prefixes_and_no_more(self):
        prefixes = [f"{number}/" for number in range(64)]
        add(self.data, "t", "work", prefixes)
        self.assertEqual(self.listed()[0]["queues"], prefixes)
        error = self.token_refused(2, "add", "u", *options("work", [*prefixes, "x"]))
        self.assertIn("64 prefixes", error)

    def test_what_it_may(self):
        for may in SCOPES:
            add(self.data, may, may)
        add(self.data, "reversed", "admin,work,enqueue")
        self.assertEqual({one["name"]: one["may"] for one in self.listed()},
                         {**{may: may for may in SCOPES}, "reversed": "enqueue,work,admin"})
        for may in NO_SCOPES:
            self.assertIn("enqueue, work, admin", self.token_refused(2, "add", "t", "--may", may))
        self.assertIn("--may", self.token_refused(2, "add", "t"))

    def test_a_name_that_is_taken(self):
        add(self.data, "t", "work", ("a/",), rate=5)
        before = self.listed()
        for may in ("work", "admin"):
            self.assertIn("there is a token 't'", self.token_refused(4, "add", "t", "--may", may))
        self.assertEqual(self.listed(), before)
        for other in ("T", "t ", "tt", "\u0442"):
            add(self.data, other, "work")
        self.assertEqual(len(self.listed()), 5)

    def test_many_at_once(self):
        add(self.data, "first", "work")
        same = in_threads(6, lambda index: token(self.data, "add", "same", "--may", "work").code)
        self.assertEqual(sorted(same), [0, 4, 4, 4, 4, 4])
        secrets = in_threads(6, lambda index: add(self.data, f"t{index}", "work"))
        self.assertEqual(len(set(secrets)), 6)
        self.assertEqual([one["name"] for one in self.listed()],
                         ["first", "same", *(f"t{index}" for index in range(6))])


class Mistakes(CommandTest):
    def test_words_that_are_too_few_or_too_many(self):
        add(self.data, "t", "work")
        before = self.listed()
        for arguments in (("add", "--may", "work"), ("add", "a", "b", "--may", "work"),
                          ("list", "t"), ("list", "--may", "work"), ("revoke",),
                          ("revoke", "t", "t"), ("revoke", "t", "--json"), ("off", "t"),
                          ("off", "--json"), (), ("remove", "t"), ("Add", "t"),
                          ("add", "u", "--may", "work", "--json"), ("add", "u", "--may"),
                          ("add", "u", "--may", "work", "--may", "admin"),
                          ("add", "u", "--may", "work", "--rate", "5", "--rate", "6"),
                          ("add", "u", "--may", "work", "--prefix", "x")):
            self.token_refused(2, *arguments)
        self.assertEqual(self.listed(), before)

    def test_a_store_that_is_not_there_is_not_made(self):
        for arguments in (("list",), ("list", "--json"), ("revoke", "t"), ("off",)):
            self.assertIn("there is no store", self.token_refused(3, *arguments))

    def test_no_store_is_made_for_a_token_that_is_refused(self):
        for arguments in (("", "--may", "work"), ("x" * 257, "--may", "work"), ("t",),
                          ("t", "--may", "x"), ("t", *options("work", ("",))),
                          ("t", *options("work", "x" * 65)), ("t", *options("work", rate=0))):
            self.token_refused(2, "add", *arguments)

    def test_a_token_that_is_not_there(self):
        add(self.data, "t", "work")
        for name in ("u", "T", "t ", "", "\n", "\x1b[31m", "x" * 257, "x" * 1000):
            self.assertIn("there is no token", self.token_refused(3, "revoke", name))
        revoke(self.data, "t")
        self.assertIn("there is no token", self.token_refused(3, "revoke", "t"))

    def test_help(self):
        for words in (("add",), ("list",), ("revoke",), ("off",)):
            ended = self.sluiced("token", *words, "--help")
            self.assertEqual((ended.code, ended.err), (0, ""), ended)
            self.assertIn("Usage: sluiced token " + words[0], ended.out)
        self.assertEqual(os.listdir(self.home), [])


class Lists(CommandTest):
    def setUp(self):
        super().setUp()
        add(self.data, "shop", "enqueue", ("shop/", "news/"), rate=100, backlog=10_000)
        add(self.data, "\u00fcber", "work,enqueue")
        add(self.data, "Admin")

    def test_json(self):
        listed = self.listed()
        for one in listed:
            self.assertRegex(one.pop("created_at"),
                             r"\A20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
        self.assertEqual(listed, [{"name": "Admin", "may": "admin", "queues": []},
                                  {"name": "shop", "may": "enqueue", "queues": ["shop/", "news/"],
                                   "rate": 100, "backlog": 10_000},
                                  {"name": "\u00fcber", "may": "enqueue,work", "queues": []}])

    def test_a_table_for_a_pipe(self):
        ended = token(self.data, "list")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        rows = [re.split(r"  +", line) for line in ended.out.splitlines()]
        self.assertEqual(rows[0], ["NAME", "MAY", "QUEUES", "RATE", "BACKLOG", "CREATED"])
        self.assertEqual([row[:-1] for row in rows[1:]],
                         [["Admin", "admin", "all", "-", "-"],
                          ["shop", "enqueue", "shop/, news/", "100", "10000"],
                          ["\u00fcber", "enqueue,work", "all", "-", "-"]])

    def test_names_do_nothing_to_a_terminal(self):
        for number, name in enumerate(("a\x7f", "\u009b31m", "\u202e", "\u2028")):
            add(self.data, f"{name}{number}", "work", (f"{name}/",))
        lines = token(self.data, "list").out
        self.assertEqual(len(lines.splitlines()), 8)
        self.assertEqual([sign for sign in lines if not (sign.isprintable() or sign == "\n")], [])

    def test_no_tokens(self):
        for name in ("shop", "\u00fcber", "Admin"):
            revoke(self.data, name)
        self.assertIn("nobody is let in", token(self.data, "list").out)
        self.assertEqual(self.listed(), [])
        self.assertEqual(token(self.data, "off"), (0, "", ""))
        self.assertIn("requests need none", token(self.data, "list").out)
        self.assertEqual(self.listed(), [])
        # There is nothing to forget, which is what was asked for.
        self.assertEqual(token(self.data, "off"), (0, "", ""))

    def on_terminal(self, *arguments):
        """What it prints there, and what it says on standard error."""
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        done = subprocess.run([SLUICED, "token", *arguments, "--data", self.data],
                              stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                              env={"PATH": os.environ["PATH"], "TERM": "xterm"}, timeout=PATIENCE)
        os.close(terminal)
        self.assertEqual(done.returncode, 0, done)
        return os.read(master, 100_000).decode(), done.stderr.decode()

    def test_a_terminal_is_told_that_it_sees_the_token_this_once(self):
        printed, said = self.on_terminal("add", "t", "--may", "work")
        self.assertRegex(printed, rf"\A{SECRET}\r\n\Z")
        self.assertIn("not shown again", said)
        printed, said = self.on_terminal("list")
        self.assertEqual(said, "")
        for text in ("NAME", "shop", "Admin"):
            self.assertIn(text, printed)
        self.assertNotRegex(printed, SECRET)


class Secrecy(OwnServiceTest):
    options = ("--log-level", "debug")

    def files(self):
        """All that the service and the commands have written."""
        for folder, _, names in os.walk(self.service.home):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    yield path, file.read()

    def test_a_token_is_in_no_file(self):
        data = self.service.data
        kept, gone = add(data, "kept"), add(data, "gone", "work", ("a/",))
        wrong = "slu_" + "0123456789abcdef" * 4
        reload(self.service)
        for secret in (kept, gone, wrong, kept + "x"):
            client = Bearer(self.service, secret)
            self.addCleanup(client.close)
            for method, path in (("GET", "/v1/queues"), ("POST", "/v1/claim"), ("GET", "/nowhere"),
                                 ("PUT", "/health"), ("POST", "/queue/push"), ("GET", "/%"),
                                 ("GET", f"/v1/queues?token={secret}"), ("GET", "/v1/verify")):
                client.call(method, path, b"{" if method == "POST" else None)
        revoke(data, "gone")
        reload(self.service)
        ended = run(SLUICED, "backup", os.path.join(self.service.home, "copy"), "--data", data)
        self.assertEqual(ended.code, 0, ended)
        self.assertEqual(self.service.stop(), 0)
        written = list(self.files())
        for secret in (kept, gone, wrong):
            digits = secret.removeprefix("slu_")
            for form in (secret, digits, secret.encode().hex(), digits.encode().hex(),
                         digits.upper()):
                self.assertEqual([path for path, text in written if form.encode() in text], [])
            self.assertEqual([path for path, text in written if bytes.fromhex(digits) in text], [])
        # It would have been found: this is what is kept of it.
        digest = hashlib.sha256(kept.encode()).digest()
        self.assertEqual(sum(digest in text for _, text in written), 2)


if __name__ == "__main__":
    main()
