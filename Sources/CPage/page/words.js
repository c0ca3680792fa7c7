// Values, sources and times as words for people.
import { print, typeOf, isNumber } from "./exact.js";
import { bdi, el, sign } from "./dom.js";

const sources = {
  stored: ["●", "This value was set"],
  default: ["○", "Nothing is stored, the schema gives this value"],
  unset: ["–", "Nothing is stored, and there is no default"],
  invalid: ["▲", "What is stored does not fit the schema"],
};

export function sourceBadge(source) {
  const [mark, title] = sources[source] || ["?"];
  return el("span", { class: `badge ${source}`, title }, sign(mark), ` ${source}`);
}

// A value on one line, cut where it gets long.
export function brief(value, most = 160) {
  if (value === undefined) return "no value";
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "On" : "Off";
  if (isNumber(value)) return String(value);
  const text = typeof value === "string" ? value || "empty text"
    : !Object.keys(value).length ? `empty ${Array.isArray(value) ? "list" : "object"}`
    : Array.isArray(value) && value.every(item => typeof item === "string") ? value.slice(0, most).join(", ")
      : print(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

// An element that shows a value, with its kind told apart.
export function shown(value, most) {
  const kind = value === undefined ? "none" : typeOf(value);
  const isFaint = value === undefined || value === "" || value === null;
  return el("span", { class: `value ${kind}${isFaint ? " faint" : ""}` }, bdi(brief(value, most)));
}

// What a setting or one side of a change holds: a secret, nothing, a value.
export function held(value, source, isSecret) {
  if (isSecret && source !== "unset") return el("span.value.faint", "hidden");
  return shown(source === "unset" ? undefined : value);
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function ago(instant) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
  if (Math.abs(seconds) >= 30 * 86400) return exactTime.format(new Date(instant));
  return unit === "second" ? "just now" : relative.format(Math.round(seconds / size), unit);
}

export const time = instant =>
  instant ? el("time", { datetime: instant, title: exactTime.format(new Date(instant)) }, ago(instant)) : "";

export const clock = date => date.toLocaleTimeString();

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function bytes(number) {
  if (number < 1024) return count(number, "byte");
  const step = Math.min(3, Math.floor(Math.log2(number) / 10));
  return `${(number / 1024 ** step).toFixed(1)} ${["", "KB", "MB", "GB"][step]}`;
}
