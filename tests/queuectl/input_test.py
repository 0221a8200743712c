"""Bad input: a clear message, the right exit code, and nothing stored."""
import json
import os

from harness import QueuectlTest, main


class Input(QueuectlTest):
    def refuse(self, *arguments, code=2, **options):
        message = self.fails(code, *arguments, **options)
        self.assertEqual(self.jobs(), [], message)
        return message

    def test_broken_json_names_the_place(self):
        self.assertIn("line 1, column 12", self.refuse("enqueue", '{"command" "true"}'))
        self.assertIn("column", self.refuse("enqueue", '{"command": "true"'))
        self.assertIn("line 2", self.refuse("enqueue", "-",
                                            stdin='{"command":"true"}\n{"command":}\n'))

    def test_json_that_is_no_job(self):
        for text in ('{}', '{"id":"a"}', '{"command":""}', '{"command":"  "}', '{"command":5}',
                     '{"command":["a"]}', '{"command":"true","argv":["true"]}',
                     '{"command":"true","id":""}', '{"command":"true","id":7}',
                     '{"command":"true","priority":"high"}', '{"command":"true","priority":1.5}',
                     '{"command":"true","max_retries":-1}', '{"command":"true","max_retries":"3"}',
                     '{"command":"true","timeout":-5}', '{"command":"true","run_at":"tomorrow"}',
                     '{"command":"true","env":["A=1"]}', '{"command":"true","slots":0}',
                     '{"command":"true","command":"false"}', '{"command":"a\\u0000b"}'):
            with self.subTest(text=text):
                self.refuse("enqueue", text)

    def test_an_unknown_member_is_refused_with_a_hint(self):
        self.assertIn("max_retries", self.refuse("enqueue", '{"command":"true","max_retrys":3}'))

    def test_a_mistake_in_the_last_of_many_stores_nothing(self):
        good = '{"command":"true"}\n' * 3000
        self.assertIn("line 3001", self.refuse("enqueue", "-", stdin=good + '{"comand":"true"}\n'))

    def test_empty_and_oversized_commands(self):
        self.refuse("enqueue", "")
        self.refuse("enqueue", "   ")
        self.refuse("enqueue", "--")
        self.refuse("enqueue", "--", "")
        self.refuse("enqueue")
        self.refuse("enqueue", "-", stdin="")
        self.refuse("enqueue", "-", stdin=json.dumps({"command": "x" * 1048576}))
        self.refuse("enqueue", "-", stdin=json.dumps({"command": "x" * 131072}))

    def test_the_longest_command_runs(self):
        text = ": " + "x" * (131071 - 2)
        self.q("enqueue", "-", stdin=json.dumps({"command": text, "id": "a"}))
        self.drain()
        self.assertEqual(self.job("a")["state"], "completed")

    def test_unicode_newlines_and_odd_bytes_survive(self):
        self.q("enqueue", "printf '%s' 'grün — 日本\nzweite Zeile'", "--id", "ü—1")
        self.q("enqueue", "--id", "bytes", "--", "printf", "%s", b"\xff\xfe\x01")
        self.drain()
        self.assertEqual(self.q("logs", "ü—1"), "grün — 日本\nzweite Zeile")
        self.assertEqual(self.run_q("logs", "bytes").stdout, b"\xff\xfe\x01")
        self.assertEqual({job["id"] for job in self.jobs()}, {"ü—1", "bytes"})

    def test_a_taken_id_is_a_conflict(self):
        self.q("enqueue", "true", "--id", "a")
        self.fails(4, "enqueue", "false", "--id", "a")
        self.assertEqual([job["command"] for job in self.jobs()], ["true"])

    def test_a_dedup_key_is_held_until_the_job_is_over(self):
        self.q("enqueue", "true", "--dedup-key", "k")
        self.fails(4, "enqueue", "true", "--dedup-key", "k")
        self.drain()
        self.q("enqueue", "true", "--dedup-key", "k")

    def test_options_that_make_no_sense(self):
        for words in (["--priority", "x"], ["--max-retries", "-1"], ["--timeout", "soon"],
                      ["--delay", "-3s"], ["--at", "2026-02-30"], ["--slots", "0"],
                      ["--env", "NOVALUE"], ["--retry-on", "256"], ["--backoff-base", "0.5"],
                      ["--delay", "1s", "--at", "+1s"], ["--queue", ""], ["--id", "x" * 257],
                      ["--nonsense"], ["--priority"], ["--array", "5-1"], ["--array", "x"]):
            with self.subTest(words=words):
                self.refuse("enqueue", "true", *words)

    def test_unknown_commands_and_options_get_a_hint(self):
        self.assertIn('"enqueue"', self.fails(2, "enqeue", "true"))
        self.assertIn("--priority", self.fails(2, "enqueue", "true", "--priorty", "3"))
        self.assertIn("worker start", self.fails(2, "worker"))
        self.assertIn("pending", self.fails(2, "list", "--state", "pendng"))
        self.fails(2, "config", "set", "max-retries")
        self.fails(2, "list", "stray")

    def test_unknown_jobs_are_3_and_wrong_states_4(self):
        for words in (["show"], ["logs"], ["cancel"], ["retry"], ["hold"], ["unhold"],
                      ["dlq", "show"], ["dlq", "retry"], ["wait"]):
            with self.subTest(words=words):
                self.fails(3, *words, "nobody")
        self.fails(3, "edit", "nobody", "--priority", "1")
        self.q("enqueue", "true", "--id", "a")
        self.fails(4, "unhold", "a")
        self.drain()
        for words in (["cancel", "a"], ["hold", "a"], ["retry", "a"],
                      ["edit", "a", "--priority", "1"]):
            with self.subTest(words=words):
                self.fails(4, *words)

    def test_dependencies_that_cannot_be(self):
        self.refuse("enqueue", "true", "--after", "nobody", code=3)
        self.refuse("enqueue", "true", "--id", "a", "--after", "a", code=3)

    def test_a_folder_that_cannot_be_used_is_5(self):
        blocked = os.path.join(self.home, "file")
        with open(blocked, "w", encoding="utf-8"):
            pass
        self.fails(5, "--db", os.path.join(blocked, "db"), "list")
        self.fails(5, "--db", "/proc/nowhere", "enqueue", "true")

    def test_a_corrupt_store_is_5(self):
        self.q("enqueue", "true")
        with open(os.path.join(self.db, "data.mdb"), "r+b") as file:
            file.write(b"\xff" * 8192)
        self.fails(5, "list")


class Configuration(QueuectlTest):
    def test_both_spellings_and_the_file_stays(self):
        self.q("config", "set", "max-retries", "7")
        self.assertEqual(self.q("config", "get", "max_retries"), "7\n")
        self.q("config", "set", "backoff_base", "3")
        self.assertEqual(self.q("config", "get", "backoff-base"), "3\n")
        self.assertIn("max-retries", self.q("config", "list"))
        self.q("config", "unset", "max-retries")
        self.assertEqual(self.q("config", "get", "max-retries"), "3\n")

    def test_unknown_keys_and_bad_values_change_nothing(self):
        self.assertIn("max-retries", self.fails(3, "config", "set", "max-retrys", "3"))
        self.fails(3, "config", "get", "nonsense")
        self.fails(3, "config", "unset", "max-retries")
        for key, value in (("max-retries", "many"), ("max-retries", "-1"), ("backoff-base", "x"),
                           ("keep-logs", "soon"), ("output-limit", "big"),
                           ("store-size", "1023K"), ("store-size", "65T")):
            with self.subTest(key=key, value=value):
                self.fails(2, "config", "set", key, value)
        self.assertFalse(os.path.exists(self.q("config", "path").strip()))

    def test_a_change_is_for_jobs_to_come(self):
        self.q("enqueue", "true", "--id", "before")
        self.q("config", "set", "max-retries", "9")
        self.q("enqueue", "true", "--id", "after")
        self.q("enqueue", "true", "--id", "told", "--max-retries", "2")
        self.q("enqueue", "true", "--id", "env", env={"QUEUECTL_MAX_RETRIES": "5"})
        self.assertEqual({job["id"]: job["max_retries"] for job in self.jobs()},
                         {"before": 3, "after": 9, "told": 2, "env": 5})

    def test_comments_in_the_file_stay(self):
        path = self.q("config", "path").strip()
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("# mine\nmax-retries = 4\n\n# more\n")
        self.q("config", "set", "max-retries", "5")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "# mine\nmax-retries = 5\n\n# more\n")

    def test_a_file_that_makes_no_sense_is_named(self):
        path = self.q("config", "path").strip()
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("max-retries = 4\nmax-retires = 5\n")
        message = self.fails(2, "enqueue", "true")
        self.assertIn("line 2", message)
        self.assertIn("max-retries", message)


if __name__ == "__main__":
    main()
