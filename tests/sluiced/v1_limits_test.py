"""The limits of the native API: what the document says of each member is what the service does, at
the edge and one past it; names, bodies, numbers of things, and a store that is full."""
import json

from harness import OwnServiceTest, main, wait_until
from openapi import DOCUMENT
from v1 import V1Test, held, path_of

BODY_BYTES_MAX = 2 << 20
# One value of each kind; none of them is taken for another kind.
KINDS = {"null": None, "boolean": True, "integer": 1, "number": 1.5, "string": "1", "array": [],
         "object": {}}
# What the type allows at the most is more than ten years from now.
NOT_THE_MOST = {"due_at"}
# Texts that mean something.
MEANINGS = {"label": "high", "payload_base64": "AA=="}
# Names of what does not exist.
NOT_THERE = {"batch": "not_found", "queue": "lease_lost"}


def number_edges(name, schema, whole):
    least, most = schema["minimum"], schema["maximum"]
    good = [least] if name in NOT_THE_MOST else [least, most]
    bad = [least - 1, most + 1, 10**30, -10**30]
    return (good, bad + [least + 0.0, least + 0.5]) if whole else (good + [least + 0.5], bad)


def text_edges(name, schema):
    most = schema.get("maxLength")
    if name in MEANINGS:
        return [MEANINGS[name]], ["x" * 257]
    if "pattern" in schema:
        return [], ["", "x" * 48, "0" * 47, "0" * 49, " " + "0" * 47]
    if most == 256:
        return (["x", "x" * 256, "\U0001f600" * 64, "nul\0", "."],
                ["", "x" * 257, "\U0001f600" * 64 + "x"])
    return ["", "x" * (most or 100_000)], ["x" * (most + 1)] if most else []


def edges(name, schema):
    """Values of a member that are accepted, and values that are not."""
    schema = {**(DOCUMENT.resolve(schema["$ref"]) if "$ref" in schema else {}), **schema}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    good = [None] if "null" in types else []
    bad = [value for kind, value in KINDS.items() if kind not in types]
    if "boolean" in types:
        good += [True, False]
    for kind in {"integer", "number"} & set(types):
        more, less = number_edges(name, schema, kind == "integer")
        good, bad = good + more, [one for one in bad if one != 1 or kind == "integer"] + less
    if "string" in types:
        more, less = text_edges(name, schema)
        good, bad = good + more, bad + less
    return good, bad


class Members(V1Test):
    def check(self, operation, path, base, inner=None):
        """Tries each member of a request whose other members are those of base(); or of the object
        in it that is called `inner`."""
        members, tried = operation.members(), 0
        if inner:
            members = DOCUMENT.members(members[inner])
        for name, schema in members.items():
            kind = DOCUMENT.follow(schema).get("type", "")
            if not kind or kind == "array" or "object" in kind:
                continue  # Any value, or one that is tried by itself.
            good, bad = edges(name, schema)
            for value, fine in [*((one, True) for one in good), *((one, False) for one in bad)]:
                body, tried = base(), tried + 1
                (body.setdefault(inner, {}) if inner else body)[name] = value
                with self.subTest(operation=str(operation), member=name, value=str(value)[:60]):
                    if not fine:
                        self.refused("invalid_argument", operation.method, path(), body)
                    elif name in NOT_THERE and value:
                        self.refused(NOT_THERE[name], operation.method, path(), body)
                    else:
                        self.client.ok(operation.method, path(), body)
        self.assertGreater(tried, 0)

    def test_members_of_a_new_job(self):
        for inner in (None, "retry"):
            self.check(DOCUMENT.find("POST", "/v1/queues/q/jobs"),
                       lambda: path_of(self.queue) + "/jobs", dict, inner)

    def test_members_of_an_edit(self):
        self.client.enqueue(self.queue, "j")
        self.check(DOCUMENT.find("PATCH", "/v1/queues/q/jobs/j"), lambda: path_of(self.queue, "j"),
                   lambda: {"payload": 1})

    def test_members_of_a_configuration(self):
        for inner in (None, "retry"):
            self.check(DOCUMENT.find("PUT", "/v1/queues/q"), lambda: path_of(self.queue), dict,
                       inner)

    def test_members_of_a_limit_of_a_group(self):
        self.client.configure(self.queue)
        self.check(DOCUMENT.find("PUT", "/v1/queues/q/groups/g"),
                   lambda: path_of(self.queue) + "/groups/g", dict)

    def test_members_of_a_claim(self):
        # There is always a job: however long a claim may wait, it is answered at once.
        self.client.fill(self.queue, 1200)
        self.check(DOCUMENT.find("POST", "/v1/claim"), lambda: "/v1/claim",
                   lambda: {"queues": [self.queue]})

    def test_members_of_what_workers_say(self):
        for verb in ("ack", "fail", "release", "extend"):
            self.check(DOCUMENT.find("POST", f"/v1/{verb}"), lambda verb=verb: f"/v1/{verb}",
                       lambda: held(self.leased()))

    def test_a_lease_needs_its_queue_and_its_token(self):
        lease = self.leased()
        for verb in ("ack", "fail", "release", "extend"):
            for name in ("queue", "token"):
                body = held(lease)
                del body[name]
                message = self.refused("invalid_argument", "POST", f"/v1/{verb}", body)
                self.assertEqual(message, f"{name} is missing")
                message = self.refused("invalid_argument", "POST", f"/v1/{verb}",
                                       {"items": [held(lease), body]})
                self.assertEqual(message, f"items[1].{name} is missing")
        self.client.ack(lease)

    def test_a_message_names_the_member(self):
        for body, start in (({"priority": "x"}, "priority must be a whole number from -2147483648"),
                            ({"retry": {"attempts_max": 0}}, "retry.attempts_max must be"),
                            ({"retry": []}, "retry must be an object, not an array"),
                            ({"jobs": [{}, {"id": ""}]}, "jobs[1].id must be 1 to 256 bytes"),
                            ({"jobs": [{"retry": {"factor": "x"}}]}, "jobs[0].retry.factor must")):
            message = self.refused("invalid_argument", "POST", path_of(self.queue) + "/jobs", body)
            self.assertTrue(message.startswith(start), message)

    def test_members_that_are_not_named_are_passed_over(self):
        odd = {"Priority": "x", "": None, "payloads": [1.5, {}], "maximum": -1, "next": {"id": 1}}
        self.client.configure(self.queue, **odd)
        self.client.enqueue(self.queue, "j", **odd)
        self.client.edit(self.queue, "j", priority=1, **odd)
        self.client.ok("PUT", path_of(self.queue) + "/groups/g", odd)
        lease = self.client.claim_one(self.queue, **odd)
        self.client.extend(lease, **odd)
        self.client.ack(lease, **odd)
        page = self.client.wire.call("GET", path_of(self.queue) + "/jobs?limits=x&x&=&a=b=c")
        self.assertEqual((page.status, json.loads(page.body)), (200, {"jobs": []}))


class Sizes(V1Test):
    """How many there may be of what."""

    def test_jobs_of_one_call(self):
        path = path_of(self.queue) + "/jobs"
        for number in (1, 999, 1000, 1001, 10_000):
            results = self.client.enqueue_many(self.queue, [{}] * number)
            self.assertEqual(len({one["id"] for one in results}), number)
        for jobs in ([], [{}] * 10_001):
            message = self.refused("invalid_argument", "POST", path, {"jobs": jobs})
            self.assertEqual(message, "jobs must have 1 to 10000 members")
        self.assertEqual(self.client.counts(self.queue), {"ready": 13_001})

    def test_arrays_are_arrays_of_the_right_things(self):
        lease = self.leased()
        for path, body, name, items in (
                (path_of(self.queue) + "/jobs", {}, "jobs", (1, None, "x", [])),
                ("/v1/claim", {}, "queues", (1, None, "", "x" * 257, {})),
                ("/v1/claim", {"queues": ["q"]}, "skip_groups", (1, None, "", "x" * 257, {})),
                ("/v1/ack", {}, "items", (1, None, "x", [])),
                ("/v1/ack", held(lease), "children", (1, None, "x", []))):
            for value in (None, 1, "x", {}, *([one] for one in items)):
                self.refused("invalid_argument", "POST", path, {**body, name: value})

    def test_items_of_one_call(self):
        for verb in ("extend", "release", "fail", "ack"):
            lease = self.leased()
            items = [held(lease)] * 1000
            results = self.client.settle_many(verb, items)
            self.assertEqual(len(results), 1000)
            for items in ([], items + items[:1]):
                message = self.refused("invalid_argument", "POST", f"/v1/{verb}", {"items": items})
                self.assertEqual(message, "items must have 1 to 1000 members")

    def test_jobs_of_one_claim(self):
        self.client.fill(self.queue, 1500)
        self.assertEqual(self.client.claim_ids(self.queue, max=1000),
                         [str(number) for number in range(1000)])
        self.refused("invalid_argument", "POST", "/v1/claim", {"queues": [self.queue], "max": 1001})
        self.assertEqual(self.client.counts(self.queue), {"leased": 1000, "ready": 500})

    def test_queues_of_one_claim(self):
        names = [f"{self.queue} {number}" for number in range(65)]
        self.client.enqueue(names[63], "j")
        self.assertEqual(self.client.claim_ids(*names[:64]), ["j"])
        for queues in ([], names, ["q", "q"]):
            self.refused("invalid_argument", "POST", "/v1/claim", {"queues": queues})
        self.refused("invalid_argument", "POST", "/v1/claim", {})

    def test_groups_that_a_claim_skips(self):
        names = [f"g{number}" for number in range(1001)]
        self.client.enqueue(self.queue, "j", group="g1000")
        self.refused("invalid_argument", "POST", "/v1/claim",
                     {"queues": [self.queue], "skip_groups": names})
        self.assertEqual(self.client.claim_ids(self.queue, skip_groups=names[1:]), [])
        self.assertEqual(self.client.claim_ids(self.queue, skip_groups=names[:1000]), ["j"])

    def test_children_of_one_ack(self):
        lease = self.leased()
        self.refused_settle("invalid_argument", "ack", lease, children=[{}] * 1001)
        self.client.ack(lease, children=[{}] * 1000)
        self.assertEqual(self.client.counts(self.queue), {"ready": 1000})

    def test_a_claim_ends_once_it_is_heavy(self):
        for number in range(6):
            self.client.enqueue(self.queue, str(number), payload="x" * 2_000_000)
        # The fifth takes it past 8 MiB.
        self.assertEqual(self.client.claim_ids(self.queue, max=6), ["0", "1", "2", "3", "4"])
        self.assertEqual(self.client.claim_ids(self.queue, max=6), ["5"])

    def test_pages(self):
        self.client.fill(self.queue, 1001, group="g")
        for path in ("/v1/queues", path_of(self.queue) + "/jobs", path_of(self.queue) + "/groups"):
            for text in ("0", "1001", "-1", "+1", "x", "", "1.0", "1e2", "4294967296", "%201"):
                self.refused("invalid_argument", "GET", f"{path}?limit={text}")
            for text in ("1", "1000", "0001"):
                self.client.ok("GET", f"{path}?limit={text}")
        for query, number in (({}, 100), ({"limit": 1}, 1), ({"limit": 1000}, 1000)):
            page = self.client.page(path_of(self.queue) + "/jobs", **query)
            self.assertEqual((len(page["jobs"]), "next" in page), (number, True))


class Bodies(V1Test):
    def with_body(self):
        return [one for one in DOCUMENT.operations() if one.request_schema()]

    def test_what_is_no_json_or_no_object_is_refused(self):
        for operation in self.with_body():
            missing = (None, b"") if operation.needs_body() else ()
            for body in (*missing, b" ", b"{", b"nothing", b"{'a':1}", b'{"a":1}x', b"\xff",
                         b'{"a":"\xff"}', b'{"a":1,"a":1}', b"null", b"[]", b"1", b'"x"', b"[{}]",
                         b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"):
                self.refused("invalid_argument", operation.method, operation.sample_path(), body)

    def test_any_content_type_is_taken_for_json(self):
        for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/xml"}):
            reply = self.client.wire.call("POST", path_of(self.queue) + "/jobs", {}, headers)
            self.assertEqual(reply.status, 201)

    def test_the_largest_body(self):
        for operation in self.with_body():
            for size in (BODY_BYTES_MAX, BODY_BYTES_MAX + 1):
                # Some of them want more than an empty object, but they have read it.
                answer = self.client.call(operation.method, operation.sample_path(),
                                          b"{}".ljust(size))
                self.assertEqual(answer.status == 413, size > BODY_BYTES_MAX, operation)


class Names(V1Test):
    ODD = ("a/b", "/", "100%", "%2F", "two words", " ", "gr\u00fcn", "\u6f22\u5b57", "\U0001f600",
           "..", ".", "a?b", "a#b", "a+b", "a&limit=0", "a=b;c", '"', "back\\slash", "line\nbreak",
           "nul\0byte", "\x7f", "null", "x" * 256, "\U0001f600" * 64)

    def test_odd_names_in_every_place(self):
        for name in self.ODD:
            with self.subTest(name):
                client, queue = self.client, name
                client.configure(queue, done_retention_ms=60_000)
                self.assertEqual(client.enqueue(queue, name, group=name, hold=True), name)
                client.limit_group(queue, name, 1)
                client.edit(queue, name, priority=3)
                client.change("unhold", queue, name)
                client.change("hold", queue, name)
                client.change("unhold", queue, name)
                for path in (path_of(queue) + "/jobs", path_of(queue) + "/groups"):
                    self.assertEqual(len(client.pages(path)), 1)
                self.assertEqual(client.job_ids(queue, group=name), [name])
                self.assertEqual(client.claim(queue, skip_groups=[name]), [])
                client.claim_one(queue, worker=name)
                client.change("break-lease", queue, name)
                lease = client.claim_one(queue, worker=name)
                self.assertEqual((lease["queue"], lease["id"], lease["group"]), (name,) * 3)
                client.ack(lease)
                explained = client.ok("GET", path_of(queue, name) + "/explain")["job"]
                self.assertEqual((explained["worker"], explained["lane"]), (name, "done"))
                client.change("requeue", queue, name)
                client.change("cancel", queue, name)
                client.ok("DELETE", path_of(queue, name))
                client.ok("POST", path_of(queue) + "/pause")
                client.ok("POST", path_of(queue) + "/resume")
                self.assertEqual(client.ok("GET", path_of(queue))["name"], name)
                client.ok("DELETE", path_of(queue))

    def test_names_in_paths_that_are_too_long(self):
        self.client.configure("q")
        for operation in DOCUMENT.operations():
            parts = operation.sample_path().split("/")
            for index, part in enumerate(operation.path.split("/")):
                if part.startswith("{"):
                    for name in ("x" * 257, "%2F" * 257):
                        path = "/".join(parts[:index] + [name] + parts[index + 1:])
                        body = {"payload": 1} if operation.method == "PATCH" else {}
                        self.refused("invalid_argument", operation.method, path, body)

    def test_names_in_paths_that_are_not_percent_encoded_utf_8(self):
        for operation in DOCUMENT.operations():
            parts = operation.sample_path().split("/")
            for index, part in enumerate(operation.path.split("/")):
                if part.startswith("{"):
                    for name in ("%FF", "%C0%AF", "%ED%A0%80", "%", "%4", "%zz"):
                        path = "/".join(parts[:index] + [name] + parts[index + 1:])
                        answer = self.client.call(operation.method, path, {})
                        self.assertEqual(answer.status, 400, path)
                        self.assertEqual(answer.body["error"]["code"], "invalid_argument")


class FullStore(OwnServiceTest, V1Test):
    options = ("--store-size", "1M")

    def fill_up(self):
        """Until nothing more goes in."""
        for size in (3000, 1):
            while True:
                answer = self.client.call("POST", path_of(self.queue) + "/jobs",
                                          {"payload": "x" * size})
                if answer.status != 201:
                    self.assertEqual(answer.body["error"]["code"], "storage_full")
                    break

    def test_what_is_there_can_be_worked_off(self):
        self.fill_up()
        path, large = path_of(self.queue) + "/jobs", {"payload": "x" * 400_000}
        self.refused("storage_full", "POST", path, large)
        id = self.client.job_ids(self.queue, limit=1000)[0]
        self.refused("storage_full", "PATCH", path_of(self.queue, id), large)
        results = self.client.enqueue_many(self.queue, [large, large])
        self.assertEqual([one["error"]["code"] for one in results], ["storage_full"] * 2)
        lease = self.client.claim_one(self.queue)
        self.refused_settle("lease_lost", "ack", {**lease, "token": "0" * 48})
        self.client.extend(lease, progress="x")
        self.client.release(lease)
        self.client.fail(self.client.claim_one(self.queue))
        while leases := self.client.claim(self.queue, max=10):
            self.client.settle_many("ack", [held(lease) for lease in leases])
        wait_until(lambda: self.client.call("POST", path, {}).status == 201, "room to come back")
        self.check_store(self.service)

    def test_children_need_room_like_any_new_job(self):
        self.fill_up()
        lease = self.client.claim_one(self.queue)
        self.refused_settle("storage_full", "ack", lease, children=[{"payload": "x" * 3000}] * 20)
        self.client.ack(lease)
        self.check_store(self.service)


if __name__ == "__main__":
    main()
