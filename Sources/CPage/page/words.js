// Shows values, sources and times.
import { print, typeOf, isNumber } from "./exact.js";
import { bdi, el, sign } from "./dom.js";
import { texts } from "./texts.js";

const sourceMarks = { stored: "●", default: "○", unset: "–", invalid: "▲" };

export function sourceBadge(source) {
  const title = texts.values.sources[source];
  return el("span", { class: `badge ${source}`, title }, sign(sourceMarks[source] || "?"), ` ${source}`);
}

// True if a text is probably base64, and not a long word or a hexadecimal number.
export const isBase64 = text => text.length >= 80 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
  && /[A-Z]/.test(text) && /[a-z]/.test(text) && /[+/=]/.test(text);

export function shortText(value, maxLength = 160) {
  if (value === undefined) return texts.values.none;
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? texts.values.on : texts.values.off;
  if (isNumber(value)) return String(value);
  if (typeof value === "string" && isBase64(value))
    return texts.values.base64(value.slice(0, 12), sizeText(value.replace(/=+$/, "").length * 3 >> 2));
  const text = typeof value === "string" ? value || texts.values.emptyText
    : !Object.keys(value).length ? Array.isArray(value) ? texts.values.emptyList : texts.values.emptyObject
    : Array.isArray(value) && value.every(item => typeof item === "string") ? value.slice(0, maxLength).join(", ") : print(value);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

// Shows what a setting or one side of a change holds: `{ value, source, isSecret }`. Every value that a person sees
// goes through this function or `difference`, so that a secret is hidden whatever its form and length. A value that is
// `onOneLine` fits a row.
export function shownValue({ value, source, isSecret }, { asJSON, onOneLine } = {}) {
  if (source === "unset") value = undefined;
  else if (isSecret) return el("span.value.faint", texts.values.hidden);
  if (source === "invalid" && value === undefined) return el("span.value.faint", texts.values.invalid);
  const kind = value === undefined ? "none" : typeOf(value);
  const isFaint = value === undefined || value === "" || value === null;
  const text = asJSON && value !== undefined ? print(value) : shortText(value);
  return el("span", { class: `value ${kind}${isFaint ? " faint" : ""}` }, bdi(onOneLine ? text.replace(/\r\n?|\n/g, " ⏎ ") : text));
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
export const localTime = instant => exactTime.format(new Date(instant));

function ago(instant) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
  if (Math.abs(seconds) >= 30 * 86400) return localTime(instant);
  return unit === "second" ? texts.values.justNow : relative.format(Math.round(seconds / size), unit);
}

export const exactTimes = instant => `${localTime(instant)}\n${instant.replace("T", " ").replace("Z", " UTC")}`;

export const time = instant =>
  instant ? el("time", { datetime: instant, title: exactTimes(instant) }, ago(instant)) : "";

// When, by whom and why a change was made.
export const changeInfo = ({ modified, time: made = modified, by, note }) =>
  [time(made), by && [texts.common.by, bdi(by)], note && [": ", bdi(note, "q")]];

// Updates relative times, because "just now" does not stay true.
export function refreshTimes() {
  for (const each of document.querySelectorAll("time")) {
    const text = ago(each.dateTime);
    if (each.textContent !== text) each.textContent = text;
  }
}

export const clock = date => date.toLocaleTimeString();

export function sizeText(bytes) {
  if (bytes < 1024) return texts.values.bytes(bytes);
  const step = Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** step).toFixed(1)} ${["", "KB", "MB", "GB"][step]}`;
}
