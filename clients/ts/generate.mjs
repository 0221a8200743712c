#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Writes src/types.ts from the OpenAPI document of sluiced.
//
//   node generate.mjs [DOCUMENT [OUTPUT]]
//
// A keyword of a schema that is not known here is refused with its place: a type that says less
// than the document would look right and be wrong.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const WIDTH = 100;
// Keywords that say nothing a type could say.
const SILENT = new Set([
  "$comment", "contentEncoding", "contentMediaType", "default", "deprecated", "description",
  "discriminator", "example", "examples", "exclusiveMaximum", "exclusiveMinimum", "format",
  "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties",
  "minimum", "multipleOf", "pattern", "readOnly", "title", "uniqueItems", "writeOnly",
]);
const SPOKEN = new Set([
  "$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "not", "oneOf",
  "properties", "required", "type",
]);
const OBJECT_WORDS = ["properties", "required", "additionalProperties"];
const PLAIN = {
  string: "string", integer: "number", number: "number", boolean: "boolean", null: "null",
};
const METHODS = ["get", "put", "post", "patch", "delete", "head", "options"];
const PATH_WORDS = new Set(["parameters", "summary", "description", "servers"]);

class Unknown extends Error {
  constructor(at, what) {
    super(`${at}: ${what}`);
    this.name = "Unknown";
  }
}

// ------------------------------------------------------------------------------------------ text

function indented(text) {
  return text.replace(/^(?=.)/gm, "  ");
}

function property(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** `place`: how far the line is indented, and what stands before the type on it. */
function fits(text, place) {
  return !text.includes("\n") && place.indent + place.head.length + text.length < WIDTH;
}

/** As a comment above what follows, broken into lines; nothing if there is nothing to say. */
function comment(text, indent) {
  if (!text) return "";
  const words = text.replaceAll("*/", "*\\/").split(/\s+/).filter(Boolean);
  const whole = `/** ${words.join(" ")} */`;
  if (indent + whole.length <= WIDTH) return `${whole}\n`;
  const lines = [""];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (lines.at(-1) && indent + 2 + line.length > WIDTH) lines.push(` ${word}`);
    else lines[lines.length - 1] = line;
  }
  return `/**\n${lines.map((line) => ` *${line}\n`).join("")} */\n`;
}

/** Types joined by "|" or "&"; one to a line if they do not fit. */
function joined(types, by, place) {
  const unique = [...new Set(types)];
  const line = unique.join(` ${by} `);
  if (unique.length < 2 || line.includes("\n") || fits(line, place)) return line;
  return unique.map((type) => `\n${indented(`${by} ${type}`)}`).join("");
}

/** In parentheses if it is a union or an intersection. */
function operand(type) {
  let depth = 0;
  for (const char of type.replace(/"(?:\\.|[^"\\])*"/g, "")) {
    depth += "{([<".includes(char) ? 1 : "})]>".includes(char) ? -1 : 0;
    if (depth === 0 && (char === "|" || char === "&")) return `(${type})`;
  }
  return type;
}

/** An object of [comment, name with its mark, type]; on one line if that is short and bare. */
function object(members, place) {
  const lines = members.map(([, name, type]) => `${name}: ${type};`);
  const short = `{ ${lines.join(" ").slice(0, -1)} }`;
  if (members.every(([said]) => !said) && short.length <= 60 && fits(short, place)) return short;
  return `{\n${indented(members.map(([said], i) => `${said}${lines[i]}\n`).join(""))}}`;
}

// --------------------------------------------------------------------------------------- schemas

/** Follows "#/components/KIND/NAME"; anything else is not known. */
function resolve(document, kind, part, at) {
  if (part?.$ref === undefined) return part;
  const name = part.$ref.match(new RegExp(`^#/components/${kind}/([^/]+)$`))?.[1];
  const target = document.components?.[kind]?.[name];
  if (target === undefined) throw new Unknown(at, `$ref ${part.$ref} is none of the ${kind}`);
  return target;
}

/** The TypeScript type of a JSON Schema. */
function typeOf(document, schema, at, place) {
  if (schema === true) return "unknown";
  if (schema === false) return "never";
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw new Unknown(at, "not a schema");
  for (const word of Object.keys(schema))
    if (!SILENT.has(word) && !SPOKEN.has(word) && !word.startsWith("x-"))
      throw new Unknown(at, `the keyword ${word} is not known`);
  const each = (word) =>
    schema[word].map((one, i) => typeOf(document, one, `${at}/${word}/${i}`, place));
  const all = [];
  if (schema.$ref !== undefined) {
    const target = resolve(document, "schemas", schema, at);
    // Members beside a reference say nothing about what is no object, and a type cannot.
    if (OBJECT_WORDS.some((word) => schema[word]) && !target.$ref && target.type !== "object")
      throw new Unknown(at, `members beside ${schema.$ref}, which is more than an object`);
    all.push(schema.$ref.split("/").at(-1));
  }
  const own = ownType(document, schema, at, place);
  if (own) all.push(own);
  if (schema.allOf) all.push(...each("allOf"));
  for (const word of ["oneOf", "anyOf"])
    if (schema[word]) all.push(joined(each(word), "|", place));
  if (schema.not !== undefined) all.push(without(schema.not, `${at}/not`, place));
  const telling = all.filter((type) => type !== "unknown");
  if (telling.length < 2) return telling[0] ?? "unknown";
  return joined(telling.map(operand), "&", place);
}

/** What the schema says by itself, without the schemas that it refers to. */
function ownType(document, schema, at, place) {
  if (schema.const !== undefined) return literal(schema.const, at);
  if (schema.enum) return joined(schema.enum.map((one) => literal(one, at)), "|", place);
  const untyped = OBJECT_WORDS.some((word) => schema[word] !== undefined) ? ["object"] : [];
  if (schema.items !== undefined) untyped.push("array");
  const names = schema.type === undefined ? untyped : [schema.type].flat();
  for (const [needed, words] of [["object", OBJECT_WORDS], ["array", ["items"]]])
    for (const word of words)
      if (schema[word] !== undefined && !names.includes(needed))
        throw new Unknown(at, `${word} says nothing about ${names.join(" or ")}`);
  const types = names.map((name) => {
    if (name === "object") return objectType(document, schema, at, place);
    if (name === "array")
      return `${operand(typeOf(document, schema.items ?? true, `${at}/items`, place))}[]`;
    if (!Object.hasOwn(PLAIN, name)) throw new Unknown(at, `the type ${name} is not known`);
    return PLAIN[name];
  });
  return types.length ? joined(types, "|", place) : undefined;
}

function literal(value, at) {
  if (value !== null && typeof value === "object")
    throw new Unknown(at, "an enum or const of objects or arrays is not known");
  return JSON.stringify(value);
}

function objectType(document, schema, at, place) {
  const named = schema.properties ?? {};
  const required = schema.required ?? [];
  const indent = place.indent + 2;
  const members = [...new Set([...Object.keys(named), ...required])].map((name) => {
    const head = `${property(name)}${required.includes(name) ? "" : "?"}`;
    const part = Object.hasOwn(named, name) ? named[name] : true;
    const type = typeOf(document, part, `${at}/properties/${name}`, { indent, head: `${head}: ` });
    return [comment(part.description, indent), head, type];
  });
  const others = schema.additionalProperties;
  const rest = others === undefined || others === false
    ? undefined
    : typeOf(document, others, `${at}/additionalProperties`, place);
  if (members.length === 0)
    return `Record<string, ${rest ?? (others === false ? "never" : "unknown")}>`;
  // Beside an index signature every member would have to be of its type.
  const shape = object(members, place);
  return rest === undefined ? shape : `${shape} & Record<string, ${rest}>`;
}

/** Of "not" only this can be said: that one of some members is absent. */
function without(schema, at, place) {
  const words = Object.keys(schema);
  if (words.length !== 1 || words[0] !== "required" || schema.required.length === 0)
    throw new Unknown(at, "of not, only required members are known");
  return joined(schema.required.map((name) => `{ ${property(name)}?: never }`), "|", place);
}

// ------------------------------------------------------------------------------------ operations

/** The type of a body or an answer by its media types. */
function contentType(document, content, at, place) {
  return joined(Object.entries(content).map(([media, { schema }]) => {
    if (/^application\/(.+\+)?json$/.test(media))
      return typeOf(document, schema ?? true, `${at}/${media}`, place);
    if (media.startsWith("text/")) return "string";
    throw new Unknown(at, `the media type ${media} is not known`);
  }), "|", place);
}

/** Those in the path and in headers are not told: they are strings, and the client's own affair. */
function queryType(document, parameters, at, place) {
  const query = { properties: {}, required: [] };
  for (const [i, one] of parameters.entries()) {
    const where = `${at}/parameters/${i}`;
    const parameter = resolve(document, "parameters", one, where);
    if (!["path", "query", "header"].includes(parameter.in))
      throw new Unknown(where, `a parameter in ${parameter.in} is not known`);
    if (parameter.in !== "query") continue;
    const said = { description: parameter.description };
    query.properties[parameter.name] = { ...(parameter.schema ?? {}), ...said };
    if (parameter.required) query.required.push(parameter.name);
  }
  if (Object.keys(query.properties).length === 0) return undefined;
  return objectType(document, query, `${at}/parameters`, place);
}

function operationType(document, path, method, item) {
  const at = `#/paths/${path}/${method}`;
  const operation = item[method];
  const place = (head) => ({ indent: 4, head: `${head}: ` });
  const members = [];
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
  const query = queryType(document, parameters, at, place("query"));
  if (query) members.push(["", "query", query]);
  const body = resolve(document, "requestBodies", operation.requestBody, `${at}/requestBody`);
  if (body) {
    const type = contentType(document, body.content, `${at}/requestBody`, place("body"));
    members.push(["", "body", type]);
  }
  const answers = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([status, one]) => {
      const where = `${at}/responses/${status}`;
      const { content } = resolve(document, "responses", one, where);
      return content ? contentType(document, content, where, place("answer")) : "undefined";
    });
  if (answers.length === 0) throw new Unknown(at, "there is no answer of success");
  members.push(["", "answer", joined(answers, "|", place("answer"))]);
  if (!operation.operationId) throw new Unknown(at, "there is no operationId");
  const head = property(operation.operationId);
  const type = object(members, { indent: 2, head: `${head}: ` });
  return `${comment(operation.summary, 2)}${head}: ${type};\n`;
}

function operationTypes(document) {
  const all = [];
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const word of Object.keys(item)) {
      if (METHODS.includes(word)) all.push(operationType(document, path, word, item));
      else if (!PATH_WORDS.has(word) && !word.startsWith("x-"))
        throw new Unknown(`#/paths/${path}`, `${word} is not known`);
    }
  }
  return all.join("");
}

// ---------------------------------------------------------------------------------------- output

function namedType(document, name, schema) {
  const at = `#/components/schemas/${name}`;
  if (!/^[A-Z]\w*$/.test(name)) throw new Unknown(at, "this is not a name for a type");
  if (name === "Operations") throw new Unknown(at, "this name is taken");
  const head = `export type ${name} =`;
  const type = typeOf(document, schema, at, { indent: 0, head: `${head} ` });
  return `${comment(schema.description, 0)}${head}${type.startsWith("\n") ? "" : " "}${type};\n`;
}

/** The text of types.ts for an OpenAPI document. */
export function generate(document) {
  if (!/^3\.1\./.test(document.openapi ?? ""))
    throw new Unknown("#/openapi", `${document.openapi} is not known, only 3.1`);
  const types = Object.entries(document.components?.schemas ?? {})
    .map(([name, schema]) => namedType(document, name, schema));
  return [
    "// SPDX-License-Identifier: MIT\n" +
      "// Generated by generate.mjs from src/server/openapi.json: change that, and run it.\n",
    ...types,
    "/** What each call takes, and what it answers when it succeeds. */\n" +
      `export interface Operations {\n${indented(operationTypes(document))}}\n`,
  ].join("\n");
}

function main(from, to) {
  const beside = (path) => fileURLToPath(new URL(path, import.meta.url));
  const text = readFileSync(from ?? beside("../../src/server/openapi.json"), "utf8");
  writeFileSync(to ?? beside("src/types.ts"), generate(JSON.parse(text)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv[2], process.argv[3]);
