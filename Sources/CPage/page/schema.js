// The schema of a key: its types, its rules, and the editor for it.
import { isNumber, typeOf } from "./exact.js";
import { texts } from "./texts.js";
import { shortText } from "./words.js";

// Resolves `$ref` with the definitions in the schema of the key, at most 16 times, because definitions can form a circle.
export function resolveRefs(schema, root = schema) {
  let found = typeof schema === "object" && schema !== null ? schema : {};
  for (let depth = 0; typeof found.$ref === "string" && depth < 16; depth += 1) {
    const { $ref, ...rest } = found;
    const names = $ref.split("/").slice(1).map(name =>
      decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
    const target = names.reduce((place, name) => place?.[name], root);
    found = { ...(typeof target === "object" ? target : {}), ...rest };
  }
  return found;
}

export function typesOf(schema) {
  if (schema.type) return [].concat(schema.type);
  if (schema.enum) return [...new Set(schema.enum.map(typeOf))];
  if ("const" in schema) return [typeOf(schema.const)];
  return [];
}

// Matches the `pattern` of a schema for colours with six digits, such as ^#[0-9a-f]{6}$.
const colour = /^\^#\[[0-9a-fA-F-]{3,9}\](\{6\}|\{6,6\})\$$/;

// The kind of editor for a schema. If the schema has neither a type nor a keyword such as `anyOf`, the value decides.
export function kindOf(schema, value) {
  if (schema.enum) return "choice";
  if ("const" in schema) return "choice";
  const known = typesOf(schema).filter(type => type !== "null");
  let type = known.length === 1 ? known[0] : null;
  if (!type && known.length === 0 && !combinesSchemas(schema) && value !== undefined && value !== null) type = typeOf(value);
  switch (type) {
    case "boolean": return "switch";
    case "integer": case "number": return "number";
    case "string":
      if (schema.contentEncoding === "base64") return "file";
      if (schema["x-format"] === "color" || colour.test(schema.pattern || "")) return "colour";
      if (schema.format === "date-time" || schema.format === "date") return schema.format;
      return "text";
    case "array": return hasMembers(schema.items) && !schema.prefixItems ? "list" : "json";
    case "object": return [schema.properties, schema.additionalProperties, schema.patternProperties].some(hasMembers)
      ? "form" : "json";
    default: return "json";
  }
}

const hasMembers = value => typeof value === "object" && value !== null && Object.keys(value).length > 0;

// True if a form or a list can show a value. A value with more than 500 parts is edited as JSON, because a browser is
// slow with thousands of inputs.
export function fitsForm(kind, value) {
  if (value === undefined) return true;
  if (typeOf(value) !== (kind === "list" ? "array" : "object")) return false;
  let parts = 0;
  const count = value => {
    if (typeof value !== "object" || value === null || isNumber(value)) return parts += 1;
    for (const each of Object.values(value)) if (count(each) > 500) break;
    return parts += 1;
  };
  return count(value) <= 500;
}

// The schema of a member of an object; undefined if the schema does not name the member and allows no other members.
export function memberSchema(schema, name) {
  if (Object.hasOwn(schema.properties || {}, name)) return schema.properties[name];
  const found = Object.entries(schema.patternProperties || {}).find(([pattern]) => matches(pattern, name));
  if (found) return found[1];
  return schema.additionalProperties === false ? undefined : schema.additionalProperties ?? {};
}

function matches(pattern, text) {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return false;
  }
}

const combinesSchemas = schema => ["anyOf", "oneOf", "allOf", "not", "if"].some(name => name in schema);

// The rules of a schema as short phrases.
function rules(schema) {
  const { minimum, maximum } = schema;
  const range = isNumber(minimum) && isNumber(maximum) ? texts.rules.range(minimum, maximum) : isNumber(minimum)
    ? texts.rules.atLeast(minimum) : isNumber(maximum) && texts.rules.atMost(maximum);
  const choices = schema.enum?.slice(0, 8).map(item => shortText(item, 24)).join(", ");
  const { keywords } = texts.rules;
  return [range, ...Object.keys(keywords).map(name => name in schema && keywords[name](schema[name])),
    schema.uniqueItems && texts.rules.unique,
    choices && texts.rules.oneOf(`${choices}${schema.enum.length > 8 ? ", …" : ""}`)].filter(Boolean);
}

// The types and the rules of a schema, on one line.
export function summary(schema) {
  const { text, list, or, seeSchema, anyValue } = texts.rules;
  const names = typesOf(schema).map(type => type === "string" ? text : type === "array" ? list : type);
  return [names.join(or) || (combinesSchemas(schema) ? seeSchema : anyValue), ...rules(schema)].join(" · ");
}

// The first value of a key or a member that had no value.
export function initialValue(schema) {
  if ("default" in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  if ("const" in schema) return schema.const;
  switch (typesOf(schema)[0]) {
    case "boolean": return false;
    case "integer": case "number": return isNumber(schema.minimum) ? schema.minimum : 0;
    case "array": return [];
    case "object": return {};
    case "null": return null;
    default: return "";
  }
}
