// JSON without loss: 9007199254740993 and 1.0 keep their spelling, and members keep their order, although JavaScript
// would sort the members of {"b": 1, "10": 2}. A text that the daemon would refuse is refused.

import { texts } from "./texts.js";

// A number that JavaScript would print differently, with its text.
class Exact {
  constructor(source) { this.source = source; }
  toString() { return this.source; }
}

// The property of an object for the names of its members in their order, if JavaScript would change the order.
const order = Symbol("order");

function setMember(object, name, value) {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function keepOrder(object, names) {
  if (names.some(name => /^\d+$/.test(name))) object[order] = names;
  return object;
}

export const objectOf = members => keepOrder(Object.fromEntries(members), [...members].map(([name]) => name));

export const membersOf = object => (object[order] || Object.keys(object)).map(name => [name, object[name]]);

export const isNumber = value => typeof value === "number" || value instanceof Exact;

// The JSON text of a value. With an indent, each member and element has its own line. `margin` is the line feed and the spaces
// before the closing bracket of the value.
export function print(value, indent = 0, margin = "\n") {
  if (value instanceof Exact) return value.source;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = margin + " ".repeat(indent);
  const parts = isList ? value.map(item => print(item, indent, inner))
    : membersOf(value).filter(([, each]) => each !== undefined).map(([name, each]) =>
      `${JSON.stringify(name)}:${indent ? " " : ""}${print(each, indent, inner)}`);
  const text = indent && parts.length ? inner + parts.join(`,${inner}`) + margin : parts.join();
  return isList ? `[${text}]` : `{${text}}`;
}

export const isSame = (one, other) => print(one) === print(other);

export function typeOf(value) {
  if (value === null) return "null";
  if (isNumber(value)) return /[.eE]/.test(String(value)) ? "number" : "integer";
  return Array.isArray(value) ? "array" : typeof value;
}

// The daemon accepts 128 levels in a request. The body of a commit has three levels around a value.
export const requestDepth = 128;
const valueDepth = requestDepth - 3;
// These patterns match at `lastIndex`. `simpleString` is the rest of a string without escapes, with its closing quote.
const space = /[ \t\n\r]*/y, simpleString = /[^"\\\u0000-\u001f]*"/y,
  stringContent = /(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y,
  number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y, literal = /true|false|null/y;
const literals = { true: true, false: false, null: null };

const failure = (at, message) => Object.assign(new Error(message), { at });

// Parses JSON. Throws an error with the offset `at` of the mistake if the daemon would not accept the text. By default,
// there is no limit of depth, because an answer has levels around a value, which may have the maximum depth. `places`
// is a map from a JSON pointer to an offset: `parse` adds the offset at which each member and element begins.
export function parse(text, depthLimit = Infinity, places) {
  let at = 0;
  // Reads the text that the pattern matches at `at`, or returns null.
  const take = pattern => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found && found[0];
  };
  const skip = () => { if (text.charCodeAt(at) <= 32) take(space); };
  const unexpected = (place = at) => failure(place, place < text.length
    ? texts.json.unexpected(JSON.stringify(String.fromCodePoint(text.codePointAt(place)))) : texts.json.ended);
  // Skips space. If `character` is next, skips the character, too, and returns true.
  const next = character => {
    skip();
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };

  function readString() {
    const start = at;
    if (!next('"')) throw unexpected();
    let value = take(simpleString)?.slice(0, -1);
    if (value === undefined) {
      const source = take(stringContent);
      if (text[at] !== '"') throw unexpected();
      at += 1;
      value = JSON.parse(`"${source}"`);
    }
    if (!value.isWellFormed()) throw failure(start, texts.json.surrogate);
    return value;
  }

  function readNumber(start) {
    const source = take(number);
    if (source === null) throw unexpected();
    const value = Number(source);
    const isWhole = !/[.eE]/.test(source);
    if (String(value) === source && (!isWhole || Math.abs(value) < 2 ** 63)) return value;
    if (isWhole ? BigInt.asIntN(64, BigInt(source)) !== BigInt(source) : !Number.isFinite(value))
      throw failure(start, texts.json.range(source));
    return new Exact(source);
  }

  function readPart(depth, pointer, name, start) {
    if (!places) return read(depth);
    const inner = `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    places.set(inner, start);
    return read(depth, inner);
  }

  function readObject(depth, pointer) {
    const object = {}, names = [];
    if (next("}")) return object;
    do {
      skip();
      const start = at;
      const name = readString();
      if (Object.hasOwn(object, name)) throw failure(start, texts.json.duplicate(JSON.stringify(name)));
      if (!next(":")) throw unexpected();
      setMember(object, name, readPart(depth, pointer, name, start));
      names.push(name);
    } while (next(","));
    if (!next("}")) throw unexpected();
    return keepOrder(object, names);
  }

  function readList(depth, pointer) {
    const items = [];
    if (next("]")) return items;
    do {
      skip();
      items.push(readPart(depth, pointer, items.length, at));
    } while (next(","));
    if (!next("]")) throw unexpected();
    return items;
  }

  function read(depth, pointer = "") {
    skip();
    const character = text[at];
    if (character === '"') return readString();
    if (character === "{" || character === "[") {
      if (depth === depthLimit) throw failure(at, texts.json.depth(depthLimit));
      at += 1;
      return character === "{" ? readObject(depth + 1, pointer) : readList(depth + 1, pointer);
    }
    const found = take(literal);
    return found === null ? readNumber(at) : literals[found];
  }

  const value = read(0);
  skip();
  if (at < text.length) throw unexpected();
  return value;
}

// Returns the first mistake of a JSON text as `{ message, at }`, or null if a commit may hold the value.
export function jsonMistake(text, depthLimit = valueDepth) {
  try {
    parse(text, depthLimit);
    return null;
  } catch (error) {
    if (!text.trim()) return { message: texts.json.empty, at: 0 };
    const before = text.slice(0, error.at).split("\n");
    return { message: texts.json.mistake(before.length, before.at(-1).length + 1, error.message), at: error.at };
  }
}

const toJSON = text => text.trim().replace(/^\+/, "").replace(/^(-?)\./, "$10.");

// Reads a number as a person types it. Returns undefined if the text is not a number that the daemon accepts.
export function readNumber(text) {
  try {
    const value = parse(toJSON(text));
    return isNumber(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function numberMistake(text) {
  if (!text.trim()) return texts.json.noNumber;
  const json = toJSON(text);
  if (/^-?(?:0|[1-9]\d*)$/.test(json)) return texts.json.integerRange;
  const isTooLarge = /^-?\d[\d.eE+-]*$/.test(json) && Math.abs(Number(json)) === Infinity;
  return isTooLarge ? texts.json.numberRange : texts.json.notANumber(text);
}
