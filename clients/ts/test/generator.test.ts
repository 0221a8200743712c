// SPDX-License-Identifier: MIT
// What generate.mjs makes of schemas, and what it refuses.
import test from "node:test";
import assert from "node:assert/strict";

const module = new URL("../generate.mjs", import.meta.url).href;
const { generate }: { generate(document: object): string } = await import(module);

const COMPONENTS = {
  schemas: {
    Name: { type: "string" }, Thing: { type: "object" }, Maybe: { type: ["object", "null"] },
  },
  parameters: { Limit: { name: "limit", in: "query", schema: { type: "integer" } } },
  responses: { Done: { description: "", content: { "application/json": { schema: true } } } },
};

function documentOf(schema: unknown, paths = {}): object {
  const schemas = { ...COMPONENTS.schemas, Probe: schema };
  return { openapi: "3.1.0", paths, components: { ...COMPONENTS, schemas } };
}

/** The text of one type. */
function typeOf(schema: unknown): string {
  const text = generate(documentOf(schema));
  return /export type Probe =\s([^]*?);\n\n/.exec(text)?.[1] ?? text;
}

function operation(members: object, item = {}): object {
  const responses = { 200: { $ref: "#/components/responses/Done" } };
  return documentOf({}, { "/x": { get: { operationId: "x", responses, ...members }, ...item } });
}

function operationOf(members: object, item = {}): string {
  const text = generate(operation(members, item));
  return /interface Operations \{\n([^]*?)\n\}\n/.exec(text)?.[1]?.replace(/^ {2}/gm, "") ?? text;
}

const NAME = { $ref: "#/components/schemas/Name" };
const THING = { $ref: "#/components/schemas/Thing" };

test("schemas become types", () => {
  const cases: [unknown, string][] = [
    [true, "unknown"], [false, "never"], [{}, "unknown"], [{ description: "x" }, "unknown"],
    [{ type: "string", minLength: 1, pattern: "x", format: "y", "x-own": 1 }, "string"],
    [{ type: "integer" }, "number"], [{ type: "number" }, "number"], [{ type: "null" }, "null"],
    [{ type: ["boolean", "null"], default: null }, "boolean | null"],
    [{ type: ["integer", "number"] }, "number"],
    [{ enum: ["a", 1, true, null] }, '"a" | 1 | true | null'],
    [{ type: "string", enum: ["a"] }, '"a"'], [{ const: "a" }, '"a"'], [{ const: null }, "null"],
    [NAME, "Name"], [{ ...NAME, description: "x" }, "Name"],
    [{ oneOf: [NAME, { type: "null" }] }, "Name | null"],
    [{ anyOf: [NAME, NAME, { type: "integer" }] }, "Name | number"],
    [{ allOf: [THING, { required: ["a"] }] }, "Thing & { a: unknown }"],
    [{ allOf: [THING, { oneOf: [NAME, THING] }] }, "Thing & (Name | Thing)"],
    [{ allOf: [THING, { not: { required: ["a-b"] } }] }, 'Thing & { "a-b"?: never }'],
    [{ allOf: [THING, { not: { required: ["a", "b"] } }] },
      "Thing & ({ a?: never } | { b?: never })"],
    [{ ...THING, properties: { a: NAME } }, "Thing & { a?: Name }"],
    [{ type: "array", items: NAME, maxItems: 3 }, "Name[]"], [{ type: "array" }, "unknown[]"],
    [{ items: NAME }, "Name[]"],
    [{ type: ["array", "null"], items: { type: ["string", "null"] } }, "(string | null)[] | null"],
    [{ type: "array", items: { enum: ["(", "|"] } }, '("(" | "|")[]'],
    [{ type: "array", items: { type: "array", items: NAME } }, "Name[][]"],
    [{ type: "object" }, "Record<string, unknown>"],
    [{ type: "object", additionalProperties: false }, "Record<string, never>"],
    [{ type: "object", additionalProperties: NAME }, "Record<string, Name>"],
    [{ type: "object", properties: { a: {} }, additionalProperties: true },
      "{ a?: unknown } & Record<string, unknown>"],
    [{ type: "object", required: ["a"], properties: { a: NAME, b: NAME } },
      "{ a: Name; b?: Name }"],
    [{ type: ["object", "null"], properties: { a: NAME } }, "{ a?: Name } | null"],
    [{ type: "array", items: { type: "object", properties: { a: NAME } } }, "{ a?: Name }[]"],
  ];
  for (const [schema, type] of cases) assert.equal(typeOf(schema), type, JSON.stringify(schema));
});

test("what is told of a type and its members stands above them, within the width", () => {
  const description = "It ends */ here. ".repeat(10);
  const inner = { type: "object", properties: { c: { enum: [..."abc"], description } } };
  const properties = { "a b": inner };
  const text = generate(documentOf({ type: "object", properties, description }));
  assert.match(text, /^ {4}\/\*\*\n {5}\* It ends \*\\\/ here\./m);
  assert.match(text, /^ {2}"a b"\?: \{$/m);
  assert.match(text, /^\/\*\*\n \* It ends/m);
  assert(text.split("\n").every((line) => line.length <= 100));
  const long = Array.from({ length: 20 }, (_, n) => `value ${n}`);
  assert.match(typeOf({ enum: long }), /^ {2}\| "value 0"\n {2}\| "value 1"\n/);
});

test("operations have a query, a body and an answer", () => {
  const json = (schema: unknown) => ({ "application/json": { schema } });
  assert.equal(operationOf({ summary: "Looks." }), "/** Looks. */\nx: { answer: unknown };");
  const parameters = [{ $ref: "#/components/parameters/Limit" },
    { name: "a", in: "query", required: true, schema: NAME }, { name: "b", in: "path" },
    { name: "c", in: "header" }];
  assert.equal(operationOf({ parameters: parameters.slice(1) }, { parameters: [parameters[0]] }),
    "x: { query: { limit?: number; a: Name }; answer: unknown };");
  const responses = { 200: { content: json(NAME) }, 201: { content: json(THING) }, 204: {},
    404: { content: { "strange/type": {} } } };
  assert.equal(operationOf({ requestBody: { content: json(NAME) }, responses }),
    "x: { body: Name; answer: Name | Thing | undefined };");
  const events = { 200: { content: { "text/event-stream": {} } } };
  assert.equal(operationOf({ responses: events }), "x: { answer: string };");
});

test("what is not known is refused with its place", () => {
  const at = "#/components/schemas/Probe";
  const cases: [unknown, string][] = [
    [{ if: {} }, `${at}: the keyword if is not known`],
    [{ type: "string", nullable: true }, `${at}: the keyword nullable is not known`],
    [{ properties: { a: { type: "date" } } }, `${at}/properties/a: the type date is not known`],
    [{ type: "toString" }, `${at}: the type toString is not known`],
    [{ items: { prefixItems: [] } }, `${at}/items: the keyword prefixItems is not known`],
    [{ oneOf: [{}, { $ref: "#/components/schemas/None" }] },
      `${at}/oneOf/1: $ref #/components/schemas/None is none of the schemas`],
    [{ $ref: "other.json#/Name" }, `${at}: $ref other.json#/Name is none of the schemas`],
    [{ not: { type: "null" } }, `${at}/not: of not, only required members are known`],
    [{ enum: [[1]] }, `${at}: an enum or const of objects or arrays is not known`],
    [{ type: "string", properties: {} }, `${at}: properties says nothing about string`],
    [{ type: "object", items: {} }, `${at}: items says nothing about object`],
    [{ $ref: "#/components/schemas/Maybe", required: ["a"] },
      `${at}: members beside #/components/schemas/Maybe, which is more than an object`],
    [{ additionalProperties: { $anchor: "x" } },
      `${at}/additionalProperties: the keyword $anchor is not known`],
    [[], `${at}: not a schema`], ["x", `${at}: not a schema`], [null, `${at}: not a schema`],
  ];
  for (const [schema, message] of cases)
    assert.throws(() => typeOf(schema), { name: "Unknown", message });
});

test("operations that are not known are refused", () => {
  const place = "#/paths//x/get";
  const cases: [object, RegExp][] = [
    [operation({ operationId: undefined }), /no operationId/],
    [operation({ responses: { 404: {} } }), /no answer of success/],
    [operation({ responses: { 200: { content: { "image/png": {} } } } }), /image\/png/],
    [operation({ parameters: [{ name: "a", in: "cookie" }] }),
      new RegExp(`^Unknown: ${place}/parameters/0: a parameter in cookie`)],
    [operation({}, { trace: {} }), /trace is not known/],
    [operation({ requestBody: { $ref: "#/x" } }), /#\/x is none of the requestBodies/],
    [{ openapi: "3.0.3" }, /3\.0\.3 is not known/],
    [{ ...documentOf({}), components: { schemas: { "a-b": {} } } }, /not a name for a type/],
    [{ ...documentOf({}), components: { schemas: { Operations: {} } } }, /name is taken/],
  ];
  for (const [document, message] of cases) assert.throws(() => generate(document), message);
});
