// Shows values, differences, sources and times.
import { print, typeOf, isNumber } from "./exact.js";
import { bdi, el, sign } from "./dom.js";
import { changedLines, isBase64, markedTexts } from "./textdiff.js";
import { texts } from "./texts.js";

const sourceMarks = { stored: "●", default: "○", unset: "–", invalid: "▲" };

export function sourceBadge(source) {
  const title = texts.values.sources[source];
  return el("span", { class: `badge ${source}`, title }, sign(sourceMarks[source] || "?"), ` ${source}`);
}

// A short text for a value.
export function brief(value, most = 160) {
  if (value === undefined) return texts.values.none;
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? texts.values.on : texts.values.off;
  if (isNumber(value)) return String(value);
  if (typeof value === "string" && isBase64(value))
    return texts.values.base64(value.slice(0, 12), bytes(value.replace(/=+$/, "").length * 3 >> 2));
  const text = typeof value === "string" ? value || texts.values.emptyText
    : !Object.keys(value).length ? Array.isArray(value) ? texts.values.emptyList
      : texts.values.emptyObject
    : Array.isArray(value) && value.every(item => typeof item === "string") ? value.slice(0, most).join(", ")
      : print(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

// Shows what a setting or one side of a change holds: `{ value, source, isSecret }`. Every value that a person sees
// goes through this function or `difference`, so that a secret is hidden whatever its form and length. A value that is
// `onOneLine` fits a row.
export function held({ value, source, isSecret }, { asJSON, onOneLine } = {}) {
  if (source === "unset") value = undefined;
  else if (isSecret) return el("span.value.faint", texts.values.hidden);
  if (source === "invalid" && value === undefined) return el("span.value.faint", texts.values.invalid);
  const kind = value === undefined ? "none" : typeOf(value);
  const isFaint = value === undefined || value === "" || value === null;
  const text = asJSON && value !== undefined ? print(value) : brief(value);
  return el("span", { class: `value ${kind}${isFaint ? " faint" : ""}` },
    bdi(onOneLine ? text.replace(/\r\n?|\n/g, " ⏎ ") : text));
}

const isLong = value => typeof value === "string" ? value.includes("\n") || value.length > 80
  : typeof value === "object" && value !== null && print(value).length > 40;
const typeWord = value => texts.values.types[typeOf(value)];

// Shows an old and a new side. If both are long, the lines that differ are shown with two lines around them.
export function difference(before, after) {
  const isHidden = before.isSecret || after.isSecret;
  const hasValues = [before, after].every(({ value, source }) => value !== undefined && source !== "unset");
  const isOtherType = !isHidden && hasValues && typeWord(before.value) !== typeWord(after.value);
  const hasLines = !isHidden && hasValues && (isLong(before.value) || isLong(after.value));
  const plain = value => !hasLines ? brief(value) : typeof value === "string" ? value : print(value, 2);
  // JSON tells "Off" from false, and "1, 2" from [1, 2].
  const asJSON = isOtherType || !isHidden && hasValues && plain(before.value).trim() === plain(after.value).trim();
  const note = isOtherType
    && el("p.faint", texts.values.typeChange(typeWord(before.value), typeWord(after.value)));
  if (hasLines) {
    const linesOf = value => value === "" && !asJSON ? [] : (asJSON ? print(value, 2) : plain(value)).split("\n");
    return [changedLines(linesOf(before.value), linesOf(after.value)), note];
  }
  const values = [before, after].map(state => held({ ...state, isSecret: isHidden }, { asJSON }));
  if (!isHidden && hasValues && !isOtherType && ["string", "object", "array"].includes(typeOf(before.value))) {
    const places = values.map(each => each.querySelector("bdi"));
    const marked = markedTexts(...places.map(each => each.textContent));
    marked?.forEach((nodes, index) => places[index].replaceChildren(...nodes));
  }
  const side = (kind, label, index, { source }) => el(kind, el("span.unseen", label), values[index],
    source === "default" && el("span.faint", texts.values.default));
  return [el("div.difference", side("del", texts.values.from, 0, before), sign("→", "span.arrow"),
    side("ins", texts.values.to, 1, after)), note];
}

// Shows the lines of two stored texts that differ. A text that does not exist is null.
export const textDifference = (...both) => difference(...both.map(text => ({ value: text ?? "", source: "stored" })));

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function ago(instant) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000;
  const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
  if (Math.abs(seconds) >= 30 * 86400) return exactTime.format(new Date(instant));
  return unit === "second" ? texts.values.justNow : relative.format(Math.round(seconds / size), unit);
}

// The local time and UTC.
const exactTimes = instant => `${exactTime.format(new Date(instant))}\n${instant.replace("T", " ").replace("Z", " UTC")}`;

export const time = instant =>
  instant ? el("time", { datetime: instant, title: exactTimes(instant) }, ago(instant)) : "";

// Updates relative times, because "just now" does not stay true.
export function refreshTimes() {
  for (const each of document.querySelectorAll("time")) {
    const text = ago(each.dateTime);
    if (each.textContent !== text) each.textContent = text;
  }
}

export const clock = date => date.toLocaleTimeString();

export function bytes(number) {
  if (number < 1024) return texts.values.bytes(number);
  const step = Math.min(3, Math.floor(Math.log2(number) / 10));
  return `${(number / 1024 ** step).toFixed(1)} ${["", "KB", "MB", "GB"][step]}`;
}
