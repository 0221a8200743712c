"""The OpenAPI document: that it is sound, and that the service has the routes that it names."""
import itertools
import unittest

import openapi
from harness import main
from openapi import DOCUMENT
from v1 import CODES, LANES, V1Test

def walk(value):
    """All objects of the document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from walk(one)


def schemas():
    """All schemas, also those within others."""
    def inner(schema):
        yield schema
        for word in ("allOf", "anyOf", "oneOf"):
            for one in schema.get(word, ()):
                yield from inner(one)
        for word in ("items", "not"):
            if word in schema:
                yield from inner(schema[word])
        for one in schema.get("properties", {}).values():
            yield from inner(one)

    named = DOCUMENT.value["components"]["schemas"].values()
    used = (one["schema"] for one in walk(DOCUMENT.value) if isinstance(one.get("schema"), dict))
    for schema in itertools.chain(named, used):
        yield from inner(schema)


class Validator(unittest.TestCase):
    """A referee that lets everything pass would prove nothing."""

    def test_every_word(self):
        named = {"components": {"schemas": {"A": {"type": "integer"}}}}
        document = openapi.Document(named)
        for schema, good, bad in (
                ({"type": "integer"}, (0, -1, 10**30), (1.0, True, "1", None, [], {})),
                ({"type": "number"}, (0, 1.5), (True, "1", None)),
                ({"type": "boolean"}, (True, False), (0, 1, None, "true")),
                ({"type": "null"}, (None,), (0, False, "", [])),
                ({"type": ["string", "null"]}, ("", "x", None), (0, [], {})),
                ({"type": "object"}, ({}, {"a": 1}), ([], None)),
                ({"type": "array"}, ([], [1]), ({}, "x")),
                ({}, (0, None, "x", [], {}), ()),
                ({"enum": ["a", 1]}, ("a", 1), ("b", True, 1.0, None)),
                ({"const": 1}, (1,), (True, 1.0, 2, "1")),
                ({"minimum": -1, "maximum": 1}, (-1, 0, 1, 0.5, "x"), (-2, 2, 1.01)),
                ({"minLength": 1, "maxLength": 2}, ("a", "ab", "\U0001f600" * 2, 1), ("", "abc")),
                ({"pattern": "^a+$"}, ("a", "aa", 1), ("", "b", "ab")),
                ({"minItems": 1, "maxItems": 2}, ([1], [1, 2], "x"), ([], [1, 2, 3])),
                ({"uniqueItems": True}, ([], [1, 2], [1, "1"]), ([1, 1], [{}, {}])),
                ({"items": {"type": "integer"}}, ([], [1, 2], {}), (["x"], [1, None])),
                ({"required": ["a"]}, ({"a": None}, []), ({}, {"b": 1})),
                ({"properties": {"a": {"type": "null"}}}, ({}, {"a": None, "b": 1}), ({"a": 1},)),
                ({"properties": {"a": {}}, "additionalProperties": False}, ({}, {"a": 1}, 1),
                 ({"b": 1}, {"a": 1, "b": 1})),
                ({"allOf": [{"minimum": 0}, {"maximum": 1}]}, (0, 1), (-1, 2)),
                ({"anyOf": [{"type": "null"}, {"minimum": 5}]}, (None, 5), (4,)),
                ({"oneOf": [{"maximum": 5}, {"minimum": 5}]}, (4, 6), (5,)),
                ({"not": {"required": ["a"]}}, ({}, {"b": 1}), ({"a": 1},)),
                ({"$ref": "#/components/schemas/A", "minimum": 0}, (0,), (-1, "x"))):
            for value in good:
                self.assertEqual(document.problems(value, schema), [], (value, schema))
            for value in bad:
                self.assertNotEqual(document.problems(value, schema), [], (value, schema))
        with self.assertRaises(KeyError):
            document.problems(1, {"multipleOf": 2})

    def test_json_is_strict(self):
        self.assertEqual(openapi.strict_json(' {"a": [1, 1e2, null]} '), {"a": [1, 100.0, None]})
        for text in ("", "{", "NaN", "[Infinity]", '{"a":1,"a":1}', "1 2", "'x'", "01"):
            with self.assertRaises(ValueError):
                openapi.strict_json(text)


class Soundness(unittest.TestCase):
    def test_every_reference_leads_somewhere_and_every_component_is_used(self):
        references = {one["$ref"] for one in walk(DOCUMENT.value) if "$ref" in one}
        components = {f"#/components/{kind}/{name}"
                      for kind, named in DOCUMENT.value["components"].items() for name in named}
        references |= {f"#/components/securitySchemes/{name}" for one in walk(DOCUMENT.value)
                       for need in one.get("security", ()) for name in need}
        self.assertEqual(references, components)

    def test_every_word_of_every_schema_is_checked(self):
        words = set().union(*schemas()) - openapi.REMARKS
        self.assertEqual(words - set(DOCUMENT.words), set())

    def test_operations_are_described(self):
        operations = list(DOCUMENT.operations())
        names = [one.value["operationId"] for one in operations]
        self.assertEqual(len(set(names)), len(names))
        tags = {one["name"] for one in DOCUMENT.value["tags"]}
        for one in operations:
            self.assertRegex(one.value["summary"], r"\A[A-Z].*\.\Z", one)
            self.assertLessEqual(set(one.value["tags"]), tags, one)
            in_path = [part[1:-1] for part in one.path.split("/") if part.startswith("{")]
            self.assertEqual([parameter["name"] for parameter in one.parameters()
                              if parameter["in"] == "path"], in_path, one)
            self.assertTrue({200, 201} & one.responses().keys(), one)
            for status, response in one.responses().items():
                self.assertTrue(response["description"].endswith("."), (str(one), status))

    def test_every_member_of_a_request_says_what_it_is(self):
        for operation in DOCUMENT.operations():
            for name, schema in operation.members().items():
                text = schema.get("description") or DOCUMENT.follow(schema).get("description", "")
                self.assertTrue(text.endswith(".") or name in ("jobs", "items"),
                                (str(operation), name))

    def test_codes_and_statuses_are_those_of_the_table(self):
        named = DOCUMENT.value["components"]["schemas"]
        self.assertEqual(named["Code"]["enum"], list(CODES))
        self.assertEqual(named["Lane"]["enum"], list(LANES))
        for operation in DOCUMENT.operations():
            for status, response in operation.responses().items():
                if status < 400 or status == 413:
                    continue
                schema = response["content"]["application/json"]["schema"]
                code = schema["properties"]["error"]["properties"]["code"]
                # Who is not known gets the code of those who may not, and another status.
                for name in code.get("enum") or [code["const"]]:
                    self.assertEqual(CODES[name][0], 403 if status == 401 else status,
                                     (str(operation), name))

    def test_headers_of_answers(self):
        for operation in DOCUMENT.operations():
            for status, response in operation.responses().items():
                for name, statuses in (("Retry-After", (429, 503)), ("WWW-Authenticate", (401,))):
                    self.assertEqual(name in response.get("headers", {}), status in statuses,
                                     (str(operation), status))
                # A body that is too large is refused before anybody looks at the request.
                self.assertEqual("X-Request-Id" in response.get("headers", {}), status != 413,
                                 (str(operation), status))

    def test_tokens_are_asked_for_everywhere_but_for_the_document(self):
        for operation in DOCUMENT.operations():
            is_open = operation.path == "/v1/openapi.json"
            needs = operation.value.get("security", DOCUMENT.value["security"])
            self.assertEqual(needs, [] if is_open else [{"Token": []}, {}], operation)
            for status in (401, 403, 429):
                self.assertEqual(status in operation.responses(), not is_open, operation)
            if "{queue}" in operation.path or operation.value["tags"] == ["leases"]:
                self.assertIn(404, operation.responses(), operation)


class Routes(V1Test):
    def test_every_route_of_the_document_exists(self):
        for operation in DOCUMENT.operations():
            reply = self.client.wire.call(operation.method, operation.sample_path(), b"{}")
            if operation.path != "/v1/openapi.json":
                self.assertEqual(reply.media_type(), "application/json", operation)

    def test_other_methods_are_refused_and_told_which_there_are(self):
        paths = {}
        for operation in DOCUMENT.operations():
            paths.setdefault(operation.sample_path(), set()).add(operation.method)
        paths.pop("/v1/openapi.json")
        for path, methods in paths.items():
            for method in {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"} - methods:
                reply = self.client.wire.call(method, path, b"{}")
                self.assertEqual(reply.status, 405, (method, path))
                self.assertEqual(set(reply.headers["allow"].split(", ")), methods, path)

    def test_no_other_paths(self):
        for path in ("/v1", "/v1/", "/v2/queues", "/v1/queues/", "/v1/Queues", "/v1/queues//jobs",
                     "/v1/queues/q/jobs/", "/v1/queues/q/jobs/j/", "/v1/queues/q/jobs/j/ack",
                     "/v1/queues/q/jobs/j/break_lease", "/v1/queues/q/groups/", "/v1/claim/",
                     "/v1/queues/q/x", "/v1/ack/x", "/v1/verify/", "/v1/openapi"):
            for method in ("GET", "POST", "PUT"):
                self.assertEqual(self.client.wire.call(method, path, b"{}").status, 404, path)

    def test_the_service_answers_the_document(self):
        if self.client.wire.call("GET", "/v1/openapi.json").status == 404:
            self.skipTest("sluiced has no route GET /v1/openapi.json yet")
        self.assertEqual(self.client.ok("GET", "/v1/openapi.json"), DOCUMENT.value)


if __name__ == "__main__":
    main()
