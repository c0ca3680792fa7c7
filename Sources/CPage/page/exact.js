// JSON without loss: 9007199254740993 and 1.0 keep their spelling, and members keep their order, although JavaScript
// would sort the members of {"b": 1, "10": 2}. A text that cannot be kept is refused, with the place.

import { texts } from "./texts.js";

// A number that JavaScript would print differently.
class Exact {
  constructor(source) { this.source = source; }
  toString() { return this.source; }
}

// The names of an object's members in their order, if JavaScript would change the order.
const order = Symbol("order");

function member(object, name, value) {
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

// The JSON text of a value. With an indent, each member and element has a line of its own.
export function print(value, indent = 0, margin = "\n") {
  if (value instanceof Exact) return value.source;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const inner = margin + " ".repeat(indent);
  const parts = isList ? value.map(item => print(item, indent, inner))
    : membersOf(value).filter(([, member]) => member !== undefined).map(([name, member]) =>
      `${JSON.stringify(name)}:${indent ? " " : ""}${print(member, indent, inner)}`);
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
const space = /[ \t\n\r]*/y, plain = /[^"\\\u0000-\u001f]*"/y,
  content = /(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y,
  number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y, word = /true|false|null/y;
const words = { true: true, false: false, null: null };

const failure = (at, message) => Object.assign(new Error(message), { at });

// Parses JSON. Throws an error that has the offset `at` if the daemon would not accept the text. An answer of the
// daemon has no limit of depth, because the envelope of the answer adds levels to the deepest value. `places` is a map
// that receives the offset of each part by its JSON pointer.
export function parse(text, depthLimit = Infinity, places) {
  let at = 0;
  const take = form => {
    form.lastIndex = at;
    const found = form.exec(text);
    if (found) at = form.lastIndex;
    return found && found[0];
  };
  const skip = () => { if (text.charCodeAt(at) <= 32) take(space); };
  const wrong = (place = at) => failure(place, place < text.length
    ? texts.json.unexpected(JSON.stringify(String.fromCodePoint(text.codePointAt(place)))) : texts.json.ended);
  const next = mark => {
    skip();
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  };

  function readString() {
    const start = at;
    if (!next('"')) throw wrong();
    let value = take(plain)?.slice(0, -1);
    if (value === undefined) {
      const source = take(content);
      if (text[at] !== '"') throw wrong();
      at += 1;
      value = JSON.parse(`"${source}"`);
    }
    if (!value.isWellFormed()) throw failure(start, texts.json.surrogate);
    return value;
  }

  function readNumber(start) {
    const source = take(number);
    if (source === null) throw wrong();
    const value = Number(source);
    if (String(value) === source) return value;
    const isWhole = !/[.eE]/.test(source);
    if (isWhole ? BigInt.asIntN(64, BigInt(source)) !== BigInt(source) : !Number.isFinite(value))
      throw failure(start, texts.json.range(source));
    return new Exact(source);
  }

  // Reads a part of an object or a list that begins at an offset.
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
      if (!next(":")) throw wrong();
      member(object, name, readPart(depth, pointer, name, start));
      names.push(name);
    } while (next(","));
    if (!next("}")) throw wrong();
    return keepOrder(object, names);
  }

  function readList(depth, pointer) {
    const items = [];
    if (next("]")) return items;
    do {
      skip();
      items.push(readPart(depth, pointer, items.length, at));
    } while (next(","));
    if (!next("]")) throw wrong();
    return items;
  }

  function read(depth, pointer = "") {
    skip();
    const mark = text[at];
    if (mark === '"') return readString();
    if (mark === "{" || mark === "[") {
      if (depth === depthLimit) throw failure(at, texts.json.depth(depthLimit));
      at += 1;
      return mark === "{" ? readObject(depth + 1, pointer) : readList(depth + 1, pointer);
    }
    const known = take(word);
    return known === null ? readNumber(at) : words[known];
  }

  const value = read(0);
  skip();
  if (at < text.length) throw wrong();
  return value;
}

// Returns the first mistake of a JSON text as `{ words, at }`, or null if a commit may hold the value.
export function mistake(text, depthLimit = valueDepth) {
  try {
    parse(text, depthLimit);
    return null;
  } catch (error) {
    if (!text.trim()) return { words: texts.json.empty, at: 0 };
    const before = text.slice(0, error.at).split("\n");
    return { words: texts.json.mistake(before.length, before.at(-1).length + 1, error.message), at: error.at };
  }
}

// Returns the offset of a part of a JSON text, or of the nearest part that contains it.
export function offsetOf(pointer, text) {
  const places = new Map([["", 0]]);
  parse(text, Infinity, places);
  let known = pointer;
  while (!places.has(known)) known = known.slice(0, Math.max(0, known.lastIndexOf("/")));
  return places.get(known);
}

const asJSON = text => text.trim().replace(/^\+/, "").replace(/^(-?)\./, "$10.");

// Reads a number as a person types it. Returns undefined if the text is not a number that the daemon accepts.
export function readNumber(text) {
  try {
    const value = parse(asJSON(text));
    return isNumber(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Why `readNumber` does not accept a text.
export function numberMistake(text) {
  if (!text.trim()) return texts.json.noNumber;
  if (/^-?\d+$/.test(asJSON(text))) return texts.json.integerRange;
  if (!Number.isNaN(Number(text))) return texts.json.numberRange;
  return texts.json.notANumber(text);
}
