"""The OpenAPI document of the native API as a referee.

Every call that goes through Client is held against src/server/openapi.json: the path and the method
are in it, the status, the headers and the media type of the answer are those that it promises, the
body matches its schema, and what the service accepted is what the document allows.
"""
import json
import os
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import harness

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/server/openapi.json")
METHODS = ("get", "put", "post", "delete", "patch")
# Words of a schema that say nothing about values.
REMARKS = {"description", "default"}


class Mismatch(AssertionError):
    """The document and the service disagree."""


def strict_json(text):
    """The value of a JSON text; raises ValueError also for what only Python takes for JSON."""
    def no_constant(name):
        raise ValueError(f"{name} is no JSON")

    def members(pairs):
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError(f"a name stands twice among {[name for name, _ in pairs]}")
        return value

    return json.loads(text, parse_constant=no_constant, object_pairs_hook=members)


# ------------------------------------------------------------------------------------------ schemas

def kind_of(value):
    for name, types in (("null", type(None)), ("boolean", bool), ("integer", int),
                        ("number", float), ("string", str), ("array", list), ("object", dict)):
        if isinstance(value, types):
            return name
    raise TypeError(f"no JSON: {value!r}")


def is_number(value):
    return kind_of(value) in ("integer", "number")


def same(one, other):
    return kind_of(one) == kind_of(other) and one == other


class Document:
    def __init__(self, value):
        self.value = value
        self.words = {
            "$ref": lambda value, ref, _: self.problems(value, self.resolve(ref)),
            "type": self.check_type,
            "enum": lambda value, words, _: [] if any(same(value, word) for word in words)
            else [f": {value!r} is none of {words}"],
            "const": lambda value, word, _: [] if same(value, word)
            else [f": {value!r} is not {word!r}"],
            "minimum": lambda value, least, _: [f": {value} is less than {least}"]
            if is_number(value) and value < least else [],
            "maximum": lambda value, most, _: [f": {value} is more than {most}"]
            if is_number(value) and value > most else [],
            "minLength": lambda value, least, _: [f": shorter than {least}"]
            if isinstance(value, str) and len(value) < least else [],
            "maxLength": lambda value, most, _: [f": longer than {most}"]
            if isinstance(value, str) and len(value) > most else [],
            "pattern": lambda value, pattern, _: [f": {value!r:.100} is not like {pattern}"]
            if isinstance(value, str) and not re.search(pattern, value) else [],
            "minItems": lambda value, least, _: [f": fewer than {least} items"]
            if isinstance(value, list) and len(value) < least else [],
            "maxItems": lambda value, most, _: [f": more than {most} items"]
            if isinstance(value, list) and len(value) > most else [],
            "uniqueItems": lambda value, wanted, _: [": an item is there twice"]
            if wanted and isinstance(value, list) and len(set(map(json.dumps, value))) < len(value)
            else [],
            "items": self.check_items,
            "required": lambda value, names, _: [f": {name} is missing" for name in names
                                                 if isinstance(value, dict) and name not in value],
            "properties": self.check_properties,
            "additionalProperties": self.check_others,
            "allOf": lambda value, schemas, _: [problem for schema in schemas
                                                for problem in self.problems(value, schema)],
            "anyOf": lambda value, schemas, _: self.check_number(value, schemas, lambda n: n > 0),
            "oneOf": lambda value, schemas, _: self.check_number(value, schemas, lambda n: n == 1),
            "not": lambda value, schema, _: [] if self.problems(value, schema)
            else [": it matches what it must not"],
        }

    def resolve(self, ref):
        """What a reference within the document leads to."""
        if not ref.startswith("#/"):
            raise ValueError(f"{ref} leads elsewhere")
        found = self.value
        for part in ref[2:].split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def follow(self, value):
        """The same for an object that may be nothing but a reference."""
        return self.resolve(value["$ref"]) if "$ref" in value else value

    def members(self, schema):
        """Name and schema of those of an object that may be put together from others."""
        found = self.members(self.resolve(schema["$ref"])) if "$ref" in schema else {}
        for one in schema.get("allOf", ()):
            found.update(self.members(one))
        return {**found, **schema.get("properties", {})}

    def problems(self, value, schema):
        """Why the value does not match, as texts that begin with the place; empty if it does."""
        found = []
        for word, argument in schema.items():
            if word not in REMARKS:
                # A word that nobody here knows would be a check that nobody makes.
                found += self.words[word](value, argument, schema)
        return found

    def check_type(self, value, types, _):
        types = [types] if isinstance(types, str) else types
        kind = kind_of(value)
        if kind in types or (kind == "integer" and "number" in types):
            return []
        return [f": {value!r:.100} is no {' or '.join(types)}"]

    def check_items(self, value, schema, _):
        if not isinstance(value, list):
            return []
        return [f"[{index}]{problem}" for index, item in enumerate(value)
                for problem in self.problems(item, schema)]

    def check_properties(self, value, schemas, _):
        if not isinstance(value, dict):
            return []
        return [f".{name}{problem}" for name, schema in schemas.items() if name in value
                for problem in self.problems(value[name], schema)]

    def check_others(self, value, allowed, schema):
        if allowed is not False:
            raise ValueError("additionalProperties is false or not there")
        if not isinstance(value, dict):
            return []
        return [f": {name} is unexpected" for name in value.keys() - schema.get("properties", {})]

    def check_number(self, value, schemas, fits):
        tried = [self.problems(value, schema) for schema in schemas]
        if fits(sum(not problems for problems in tried)):
            return []
        return [f": matches {sum(not problems for problems in tried)} of {len(tried)} schemas: "
                f"{tried}"]

    def operations(self):
        for path, item in self.value["paths"].items():
            for method in METHODS:
                if method in item:
                    yield Operation(self, method.upper(), path, item, item[method])

    def find(self, method, path):
        """The operation of a request; raises Mismatch if the document has none."""
        segments = path.split("/")
        for operation in self.operations():
            pattern = operation.path.split("/")
            if operation.method == method and len(pattern) == len(segments) and all(
                    part == segment or (part.startswith("{") and segment)
                    for part, segment in zip(pattern, segments)):
                return operation
        raise Mismatch(f"the document has no {method} {path}")


class Operation(NamedTuple):
    document: Document
    method: str
    path: str
    item: dict
    value: dict

    def parameters(self):
        return [self.document.follow(one)
                for one in (*self.item.get("parameters", ()), *self.value.get("parameters", ()))]

    def request_schema(self):
        """Of the body; None if it takes none."""
        body = self.value.get("requestBody")
        return body and body["content"]["application/json"]["schema"]

    def needs_body(self):
        return self.value.get("requestBody", {}).get("required", False)

    def members(self):
        """Of the body: name and schema; those of one and of many together."""
        schema, found = self.request_schema() or {}, {}
        for one in schema.get("oneOf", [schema]):
            found.update(self.document.members(one))
        return found

    def sample_path(self):
        """A path to call it with."""
        return re.sub(r"{(\w)\w*}", r"\1", self.path)

    def responses(self):
        return {int(status): self.document.follow(response)
                for status, response in self.value["responses"].items()}

    def check_request(self, path, query, body):
        """What the service accepted must be what the document allows."""
        names = {one["name"]: one["schema"] for one in self.parameters() if one["in"] == "query"}
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name in names and text:
                schema = names[name]
                value = int(text) if schema.get("type") == "integer" else text
                self.check(value, schema, f"?{name}")
        for pattern, segment in zip(self.path.split("/"), path.split("/")):
            if pattern.startswith("{"):
                self.check(unquote(segment), {"$ref": "#/components/schemas/Name"}, pattern)
        if self.needs_body() or (self.request_schema() and body):
            self.check(strict_json(body), self.request_schema(), "body")

    def check_reply(self, reply):
        """Returns the answer as a value: a text if it is no JSON."""
        response = self.responses().get(reply.status)
        if response is None:
            raise Mismatch(f"{self}: {reply.status} is not documented: {reply.body[:500]!r}")
        for name, header in response.get("headers", {}).items():
            header = self.document.follow(header)
            if reply.headers[name] is None:
                raise Mismatch(f"{self}: {reply.status} lacks {name}")
            text, schema = reply.headers[name], header["schema"]
            self.check(int(text) if schema["type"] == "integer" else text, schema, name)
        media = response["content"].get(reply.media_type())
        if media is None:
            raise Mismatch(f"{self}: {reply.status} as {reply.media_type()} is not documented")
        value = reply.body.decode("utf-8")
        if reply.media_type() == "application/json":
            value = strict_json(value)
        self.check(value, media["schema"], f"answer {reply.status}")
        return value

    def check(self, value, schema, what):
        problems = self.document.problems(value, schema)
        if problems:
            raise Mismatch(f"{self}: {what}" + "; ".join(problems)[:2000])

    def __str__(self):
        return f"{self.method} {self.path}"


def load():
    with open(PATH, encoding="utf-8") as file:
        return Document(strict_json(file.read()))


DOCUMENT = load()


# ------------------------------------------------------------------------------------------- client

class Answer(NamedTuple):
    status: int
    body: Any
    headers: Any


class Client:
    """One connection, whose every call and answer is checked."""

    def __init__(self, service):
        self.wire = harness.Client(service)

    def close(self):
        self.wire.close()

    def call(self, method, path, body=None, key=None):
        """Sends bytes as they are, anything else as JSON; `key` is the Idempotency-Key."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = dict(harness.JSON) if key is None else {**harness.JSON, "Idempotency-Key": key}
        address = urlsplit(path)
        operation = DOCUMENT.find(method, address.path)
        reply = self.wire.call(method, path, body, headers)
        answer = operation.check_reply(reply)
        if reply.status < 300:
            operation.check_request(address.path, address.query, body)
        return Answer(reply.status, answer, reply.headers)
