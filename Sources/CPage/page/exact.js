// JSON whose numbers keep their spelling: 9007199254740993 stays what it is, and 1.0 does not become 1.

// A number that JavaScript would spell in another way.
class Exact {
  constructor(source) { this.source = source; }
  toJSON() { return JSON.rawJSON(this.source); }
  toString() { return this.source; }
}

export const isSupported = typeof JSON.rawJSON === "function";

const keepSpelling = (_, value, context) =>
  typeof value === "number" && String(value) !== context.source ? new Exact(context.source) : value;

export const parse = text => JSON.parse(text, keepSpelling);

// `JSON.stringify` ends its lines; a value is one of JSON's, or undefined for none.
export const print = (value, indent) => JSON.stringify(value, null, indent);

export const isSame = (one, other) => print(one) === print(other);

export const isNumber = value => typeof value === "number" || value instanceof Exact;

const numberForm = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

// Reads a number as a person types it; undefined if it is none.
export function readNumber(text) {
  const plain = text.trim().replace(/^\+/, "").replace(/^(-?)\./, "$10.");
  return numberForm.test(plain) ? parse(plain) : undefined;
}

export function typeOf(value) {
  if (value === null) return "null";
  if (isNumber(value)) return /[.eE]/.test(String(value)) ? "number" : "integer";
  return Array.isArray(value) ? "array" : typeof value;
}

// Returns where a text stops being JSON, in words; null if it is JSON.
export function mistake(text) {
  try {
    JSON.parse(text);
    return null;
  } catch {
    if (!text.trim()) return { words: "Nothing is written here; write a JSON value.", at: 0 };
    const at = end(text);
    const before = text.slice(0, at).split("\n");
    const found = at < text.length ? `${JSON.stringify(text[at])} does not belong there` : "the text ends too early";
    return { words: `This is not JSON: line ${before.length}, column ${before.at(-1).length + 1}: ${found}.`, at };
  }
}

const string = /"(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

// Reads as much of a text as is JSON. Browsers do not tell where that ends.
function end(text) {
  let at = 0;
  const take = form => {
    form.lastIndex = at;
    if (form.test(text)) at = form.lastIndex;
    return form.lastIndex > 0;
  };
  const space = () => take(/[ \t\n\r]*/y);
  const next = form => { space(); return take(form); };
  const items = (last, item) => {
    if (next(last)) return true;
    do if (!item()) return false; while (next(/,/y));
    return next(last);
  };
  const member = () => next(string) && next(/:/y) && value();
  const value = () => next(/\{/y) ? items(/\}/y, member) : take(/\[/y) ? items(/\]/y, value) : take(string)
    || take(scalar);
  if (value()) space();
  return at;
}
