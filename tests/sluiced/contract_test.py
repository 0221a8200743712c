"""The compatible routes: what each of them takes and answers, and how ids and data travel."""
import base64
import http.client
import json
from urllib.parse import quote

from harness import JSON, PATIENCE, OwnServiceTest, SluicedTest, main, raw_json
from routes import PUSH, ROUTES, WITHOUT_BODY, changed
from waiting import is_since, now_ms

ODD_IDS = ("a/b", "/", "100%", "%2F", "%", "two words", " ", "gr\u00fcn", "\u6f22\u5b57",
           "\U0001f600", "..", ".", "a?b", "?", "a#b", "a+b", "a&limit=0", "a=b;c", "a:b@c", '"',
           "back\\slash", "line\nbreak", "nul\0byte", "\x7f", "null")
# As Python reads it; numbers must come back digit for digit.
DATA = ("null", "true", "false", "0", "-1", '""', "[]", "{}", "1e300", "12345678901234567890",
        "-9223372036854775809", "0.1", "1E-7", "123456789012345678901234567890.5",
        '"\\u0000 \\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\ud83d\\ude00"', '"gr\u00fcn"',
        '{"z":1,"a":{"z":[1,2.50,{"z":null}],"":"no name"},"\u00e9":[[],[[]]]}',
        ' {\n"a" : [ 1 ,\t2 ] } ')


def exact(text):
    """JSON as a value in which numbers keep the form in which they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


class Queue(SluicedTest):
    def test_health(self):
        self.assertEqual(self.client.get("/health"), {"status": "ok", "fdbConnected": True})

    def test_the_life_of_a_job(self):
        client, team = self.client, self.team
        self.assertEqual(client.post("/queue/push", changed(PUSH, "teamId", team)),
                         {"success": True})
        path = quote(team)
        self.assertEqual(client.get(f"/queue/count/team/{path}"), {"count": 1})
        self.assertEqual(client.get(f"/queue/jobs/team/{path}"), {"jobIds": ["j"]})
        claim = client.pop(team)
        self.assertEqual(set(claim), {"job", "queueKey"})
        base64.b64decode(claim["queueKey"], validate=True)
        self.assertEqual(client.call("POST", f"/queue/pop/{path}", {"workerId": "w"}).body, b"null")
        self.assertEqual(client.post("/queue/release", {"jobId": "j"}), {"success": True})
        key = {"queueKey": client.pop(team)["queueKey"]}
        self.assertEqual(client.post("/queue/complete", key), {"success": True})
        self.assertEqual(client.post("/queue/complete", key), {"success": False})
        self.assertEqual(client.get(f"/queue/count/team/{path}"), {"count": 0})

    def test_a_job_comes_with_everything_that_it_was_pushed_with(self):
        before = now_ms()
        self.client.post("/queue/push", {
            "teamId": self.team, "timeout": 5000,
            "job": {"id": "a", "data": {"url": "x"}, "priority": -7, "listenable": True,
                    "listenChannelId": "channel"}})
        job = self.client.pop(self.team)["job"]
        created = job.pop("createdAt")
        self.assertIsInstance(created, int)
        self.assertTrue(is_since(before, created), (before, created))
        self.assertEqual(job, {"id": "a", "data": {"url": "x"}, "priority": -7, "listenable": True,
                               "listenChannelId": "channel", "teamId": self.team,
                               "timesOutAt": created + 5000})

    def test_what_does_not_apply_is_left_out(self):
        always = {"id", "data", "priority", "listenable", "createdAt", "teamId"}
        plain = changed(PUSH, "teamId", self.team)
        for index, (more, fields) in enumerate((
                ({}, set()), ({"timeout": None, "crawlId": None}, set()), ({"timeout": 0}, set()),
                ({"timeout": 60000}, {"timesOutAt"}), ({"crawlId": self.crawl}, {"crawlId"}),
                ({"crawlId": self.crawl, "timeout": 60000}, {"crawlId"}))):
            with self.subTest(more):
                self.client.post("/queue/push", {**changed(plain, "job.id", f"j{index}"), **more})
                self.assertEqual(set(self.client.pop(self.team)["job"]), always | fields)
        for index, (channel, fields) in enumerate(((None, set()), ("x", {"listenChannelId"}))):
            body = changed(changed(plain, "job.id", f"k{index}"), "job.listenChannelId", channel)
            self.client.post("/queue/push", body)
            self.assertEqual(set(self.client.pop(self.team)["job"]), always | fields)

    def test_unknown_fields_are_ignored(self):
        odd = {"timeOut": -1, "crawlID": "x", "": None, "more": {"teamId": [1.5, {}]}}
        body = {**PUSH, **odd, "teamId": self.team}
        self.client.post("/queue/push", changed(body, "job", {**PUSH["job"], **odd, "teamId": 3}))
        claim = self.client.post(f"/queue/pop/{quote(self.team)}", {"workerId": "w", **odd})
        self.assertEqual(claim["job"]["teamId"], self.team)
        self.assertTrue(self.client.post("/queue/release", {"jobId": "j", **odd})["success"])
        key = self.client.pop(self.team)["queueKey"]
        self.assertTrue(self.client.post("/queue/complete", {**odd, "queueKey": key})["success"])
        marker = {**odd, "teamId": self.team, "crawlId": self.crawl, "jobId": "j"}
        for kind in ("", "/crawl"):
            self.client.post(f"/active{kind}/push", {**marker, "timeout": 1000})
            self.client.delete(f"/active{kind}/remove", marker)
        self.assertEqual(self.client.ids(self.team, "?after=x&limits=1&limit=5"), [])

    def test_a_pop_needs_nothing_but_a_worker(self):
        self.client.push(self.team, "a")
        claim = self.client.post(f"/queue/pop/{quote(self.team)}", {"workerId": "w"})
        self.assertEqual(claim["job"]["id"], "a")

    def test_what_nobody_knows_is_empty(self):
        name = quote(self.named("nobody"))
        self.assertEqual(self.client.call("POST", f"/queue/pop/{name}", {"workerId": "w"}).body,
                         b"null")
        for path in ("/queue/count/team/", "/queue/count/crawl/", "/active/count/"):
            self.assertEqual(self.client.get(path + name), {"count": 0})
        for path in ("/queue/jobs/team/", "/active/jobs/", "/active/crawl/jobs/"):
            self.assertEqual(self.client.get(path + name), {"jobIds": []})
        self.assertEqual(self.client.post("/queue/release", {"jobId": "nobody"}), {"success": True})

    def test_the_list_of_jobs_has_a_limit(self):
        names = [f"j{number}" for number in range(5)]
        for name in names:
            self.client.push(self.team, name)
        for query, number in (("", 5), ("?limit=0", 0), ("?limit=1", 1), ("?limit=4", 4),
                              ("?limit=5", 5), ("?limit=6", 5), ("?limit=100001", 5),
                              ("?limit=4294967295", 5)):
            self.assertEqual(self.client.ids(self.team, query), names[:number], query)

    def test_integers_at_their_edges(self):
        plain = changed(PUSH, "teamId", self.team)
        for priority in (-2**31, -1, 0, 1, 2**31 - 1):
            self.client.post("/queue/push", changed(
                changed(plain, "job.priority", priority), "job.id", str(priority)))
            claim = self.client.pop(self.team)
            self.assertEqual(claim["job"]["priority"], priority)
            self.client.complete(claim)
        for timeout, delivered in ((2**63 - 1, True), (2**62, True), (1 - 2**63, False),
                                   (-2**63, False), (-1, False)):
            with self.subTest(timeout=timeout):
                self.client.push(self.team, "timed", timeout=timeout)
                claim = self.client.pop(self.team)
                self.assertEqual(claim is not None, delivered)
                if claim:
                    self.assertGreater(claim["job"].get("timesOutAt", 2**63), now_ms())
                    self.client.complete(claim)


class Markers(SluicedTest):
    def test_the_life_of_a_marker_of_a_team(self):
        client, marker = self.client, {"teamId": self.team, "jobId": "j"}
        self.assertEqual(client.post("/active/push", {**marker, "timeout": 60000}),
                         {"success": True})
        self.assertEqual(client.get(f"/active/count/{quote(self.team)}"), {"count": 1})
        self.assertEqual(client.get(f"/active/jobs/{quote(self.team)}"), {"jobIds": ["j"]})
        for _ in range(2):
            self.assertEqual(client.delete("/active/remove", marker), {"success": True})
        self.assertEqual(client.active(self.team), (0, []))

    def test_the_life_of_a_marker_of_a_crawl(self):
        client, marker = self.client, {"crawlId": self.crawl, "jobId": "j"}
        self.assertEqual(client.post("/active/crawl/push", {**marker, "timeout": 60000}),
                         {"success": True})
        path = f"/active/crawl/jobs/{quote(self.crawl)}"
        self.assertEqual(client.get(path), {"jobIds": ["j"]})
        for _ in range(2):
            self.assertEqual(client.delete("/active/crawl/remove", marker), {"success": True})
        self.assertEqual(client.get(path), {"jobIds": []})

    def test_timeouts_at_their_edges(self):
        for timeout, live in ((2**63 - 1, 1), (1, None), (0, 0), (-1, 0), (-2**63, 0)):
            team, crawl = f"{self.team} {timeout}", f"{self.crawl} {timeout}"
            self.client.mark(team, "j", timeout)
            self.client.mark_crawl(crawl, "j", timeout)
            if live is not None:
                self.assertEqual(self.client.active(team), (live, ["j"] * live), timeout)
                self.assertEqual(self.client.crawl_active(crawl), ["j"] * live, timeout)


class Upkeep(OwnServiceTest):
    def test_cleanup_and_reconcile_answer_numbers(self):
        for what in ("expired-jobs", "expired-active-jobs", "orphaned-claims", "stale-counters"):
            answer = self.client.post(f"/cleanup/{what}")
            self.assertEqual(set(answer), {"cleaned"})
            self.assertIsInstance(answer["cleaned"], int)
            self.assertGreaterEqual(answer["cleaned"], 0)
        for what in ("team/queue", "team/active", "crawl/queue", "crawl/active"):
            self.assertEqual(self.client.post(f"/reconcile/{what}/x"), {"correction": 0})

    def test_samples(self):
        for what in ("teams", "crawls"):
            self.assertEqual(self.client.get(f"/sample/{what}"), {"ids": []})
        for number in range(60):
            self.client.push(f"t{number:02}", "j", crawl=f"c{number:02}")
        for what, letter in (("teams", "t"), ("crawls", "c")):
            names = [f"{letter}{number:02}" for number in range(60)]
            for query, expected in (
                    ("", names[:50]), ("?limit=0", []), ("?limit=1", names[:1]),
                    ("?limit=1000", names), ("?limit=1001", names), ("?limit=4294967295", names),
                    (f"?after={letter}09", names[10:]), (f"?after={letter}10x", names[11:]),
                    (f"?limit=2&after={letter}58", names[59:]), (f"?after={letter}59", []),
                    ("?after=", names[:50])):
                self.assertEqual(self.client.get(f"/sample/{what}{query}"), {"ids": expected},
                                 query)


class Data(SluicedTest):
    def test_data_comes_back_equal_to_what_was_sent(self):
        for index, text in enumerate(DATA):
            with self.subTest(text):
                body = changed(changed(PUSH, "teamId", self.team), "job", {
                    "id": f"j{index}", "data": "@", "priority": 0, "listenable": False})
                self.client.post("/queue/push", raw_json(body, text))
                claim = self.client.json("POST", f"/queue/pop/{quote(self.team)}",
                                         {"workerId": "w"}, parse_int=str, parse_float=str)
                self.assertEqual(claim["job"]["data"], exact(text))

    def test_names_may_return_in_another_object(self):
        data = {"a": {"a": [{"a": 1}, {"a": 2}]}, "teamId": 1, "job": {"data": 2, "id": 3}}
        self.client.push(self.team, "j", data)
        self.assertEqual(self.client.pop(self.team)["job"]["data"], data)

    def test_the_order_of_fields_is_free(self):
        turned = dict(reversed(changed(PUSH, "teamId", self.team).items()))
        turned["job"] = dict(reversed(turned["job"].items()))
        self.client.post("/queue/push", turned)
        self.assertEqual(self.client.pop_id(self.team), "j")

    def test_space_around_the_body(self):
        body = b" \r\n\t" + json.dumps(changed(PUSH, "teamId", self.team)).encode() + b"\n \t\r"
        self.client.post("/queue/push", body)
        self.assertEqual(self.client.count(self.team), 1)

    def test_nesting_up_to_the_limit(self):
        # The body and its job are the two outermost levels of 64.
        for levels in (1, 61, 62):
            text = "[" * levels + "]" * levels
            body = {"teamId": self.team, "job": {**PUSH["job"], "id": str(levels), "data": "@"}}
            self.client.post("/queue/push", raw_json(body, text))
            self.assertEqual(self.client.pop(self.team)["job"]["data"], exact(text))


class Ids(SluicedTest):
    def check(self, team, path, crawl):
        """All routes that take ids see the same one, however it is written."""
        client, crawl_path = self.client, quote(crawl, safe="")
        client.push(team, "j", crawl=crawl)
        self.assertEqual(client.get(f"/queue/count/team/{path}"), {"count": 1})
        self.assertEqual(client.get(f"/queue/count/crawl/{crawl_path}"), {"count": 1})
        self.assertEqual(client.get(f"/queue/jobs/team/{path}?limit=7"), {"jobIds": ["j"]})
        blocked = {"workerId": "w", "blockedCrawlIds": [crawl]}
        self.assertIsNone(client.post(f"/queue/pop/{path}", blocked))
        claim = client.post(f"/queue/pop/{path}", {"workerId": "w"})
        self.assertEqual((claim["job"]["teamId"], claim["job"]["crawlId"]), (team, crawl))
        self.assertTrue(client.complete(claim))
        client.mark(team, "j")
        client.mark_crawl(crawl, "j")
        self.assertEqual(client.get(f"/active/count/{path}"), {"count": 1})
        self.assertEqual(client.get(f"/active/jobs/{path}"), {"jobIds": ["j"]})
        self.assertEqual(client.get(f"/active/crawl/jobs/{crawl_path}"), {"jobIds": ["j"]})
        for what in ("team/queue", "team/active"):
            self.assertEqual(client.post(f"/reconcile/{what}/{path}"), {"correction": 0})
        for what in ("crawl/queue", "crawl/active"):
            self.assertEqual(client.post(f"/reconcile/{what}/{crawl_path}"), {"correction": 0})
        client.delete("/active/remove", {"teamId": team, "jobId": "j"})
        client.delete("/active/crawl/remove", {"crawlId": crawl, "jobId": "j"})
        self.assertEqual((client.active(team), client.crawl_active(crawl)), ((0, []), []))

    def test_ids_in_paths(self):
        for name in ODD_IDS:
            with self.subTest(name):
                self.check(name, quote(name, safe=""), name)

    def test_every_byte_may_be_written_in_hex(self):
        for name in ("plain", "..", "a-b_c.d~e", "gr\u00fcn"):
            text = name.encode()
            for path in ("".join(f"%{byte:02X}" for byte in text),
                         "".join(f"%{byte:02x}" for byte in text)):
                self.check(name, path, self.crawl)

    def test_a_plus_in_a_path_is_a_plus(self):
        self.check("a+b", "a+b", self.crawl)
        self.assertEqual(self.client.get("/queue/count/team/a%20b"), {"count": 0})

    def test_other_marks_that_need_no_escape(self):
        self.check("a:b@c!d$e&f'g(h)i*j,k;l=m", "a:b@c!d$e&f'g(h)i*j,k;l=m", self.crawl)

    def test_odd_job_ids(self):
        for name in ODD_IDS:
            self.client.push(self.team, name, timeout=60_000)
        self.assertEqual(self.client.ids(self.team), list(ODD_IDS))
        for name in ODD_IDS:
            self.assertEqual(self.client.pop_id(self.team), name)
            self.client.release(name)
            self.assertTrue(self.client.complete(self.client.pop(self.team)))
        for name in ODD_IDS:
            self.client.mark(self.team, name)
        self.assertEqual(self.client.active(self.team), (len(ODD_IDS), sorted(ODD_IDS)))

    def test_ids_of_256_bytes(self):
        for name in ("x" * 256, "/" * 256, "\U0001f600" * 64, "\u00fc" * 128):
            self.check(name, quote(name, safe=""), name)
            body = changed(changed(PUSH, "job.id", name), "job.listenChannelId", name)
            self.client.post("/queue/push", changed(body, "teamId", self.team))
            claim = self.client.post(f"/queue/pop/{quote(self.team)}", {"workerId": name})
            self.assertEqual((claim["job"]["id"], claim["job"]["listenChannelId"]), (name, name))
            self.assertTrue(self.client.complete(claim))


class Cursors(OwnServiceTest):
    def test_a_cursor_is_decoded_like_a_form(self):
        names = sorted(("a b", "a+b", "a%b", "a&b", "gr\u00fcn"), key=str.encode)
        for name in names:
            self.client.push(name, "j")
        for index, name in enumerate(names):
            for text in (quote(name, safe=""), quote(name, safe="").replace("%20", "+")):
                self.assertEqual(self.client.get(f"/sample/teams?after={text}")["ids"],
                                 names[index + 1:], text)


class Wire(SluicedTest):
    def test_routes_without_a_body_take_any_content_type(self):
        for route in WITHOUT_BODY:
            path = route.of(quote(self.team))
            for headers in (JSON, {}, {"content-type": "text/plain"}, {"content-type": "?"}):
                self.assertEqual(self.client.call(route.method, path, headers=headers).status, 200,
                                 (path, headers))
            if route.method == "POST":
                for body in (b"", b"{}", b"not json", b"x" * 10_000):
                    self.assertEqual(self.client.call("POST", path, body).status, 200, path)

    def test_content_types_of_json(self):
        body = json.dumps(changed(PUSH, "teamId", self.team)).encode()
        for text in ("application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
                     "application/json;charset=UTF-8", "application/problem+json",
                     "application/vnd.api+json; version=1", "Application/Activity+JSON"):
            reply = self.client.call("POST", "/queue/push", body, {"Content-Type": text})
            self.assertEqual((reply.status, json.loads(reply.body)), (200, {"success": True}), text)

    def test_one_connection_carries_everything(self):
        self.client.get("/health")
        sock = self.client.connection.sock
        for route in ROUTES:
            if route.path != "/queue/complete":
                self.client.json(route.method, route.of(quote(self.team)), route.body)
        self.assertIs(self.client.connection.sock, sock)

    def test_a_connection_is_closed_when_that_is_asked_for(self):
        reply = self.client.call("GET", "/health", headers={"connection": "close"})
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["connection"].lower(), "close")

    def test_a_body_in_chunks(self):
        body = json.dumps(changed(PUSH, "teamId", self.team)).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        for size in (1, 7, 1000):
            parts = [body[at:at + size] for at in range(0, len(body), size)]
            connection.request("POST", "/queue/push", iter(parts),
                               {**JSON, "Transfer-Encoding": "chunked"}, encode_chunked=True)
            response = connection.getresponse()
            self.assertEqual((response.status, json.loads(response.read())),
                             (200, {"success": True}))
        self.assertEqual(self.client.count(self.team), 1)


if __name__ == "__main__":
    main()
