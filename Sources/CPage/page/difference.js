// Shows the differences of values and of texts.
import { el, sign } from "./dom.js";
import { print, typeOf } from "./exact.js";
import { changedLines, markedTexts } from "./textdiff.js";
import { texts } from "./texts.js";
import { shortText, shownValue } from "./words.js";

const isLong = value => typeof value === "string" ? value.includes("\n") || value.length > 80
  : typeof value === "object" && value !== null && print(value).length > 40;
const typeWord = value => texts.values.types[typeOf(value)];

// Shows an old and a new side. A side is `{ value, source, isSecret }`. If both sides have values that are not secret, and one
// of the values is long, only the lines that differ are shown, with two lines around each.
export function difference(before, after) {
  const isHidden = before.isSecret || after.isSecret;
  const hasValues = [before, after].every(({ value, source }) => value !== undefined && source !== "unset");
  const isTypeChange = !isHidden && hasValues && typeWord(before.value) !== typeWord(after.value);
  const hasLines = !isHidden && hasValues && (isLong(before.value) || isLong(after.value));
  const textOf = value => !hasLines ? shortText(value) : typeof value === "string" ? value : print(value, 2);
  // JSON distinguishes values that would otherwise look the same: the text "Off" and false, the lists ["a, b"] and ["a", "b"],
  // the texts "a" and "a ".
  const asJSON = isTypeChange || !isHidden && hasValues && textOf(before.value).trim() === textOf(after.value).trim();
  const note = isTypeChange && el("p.faint", texts.values.typeChange(typeWord(before.value), typeWord(after.value)));
  if (hasLines) {
    const linesOf = value => value === "" && !asJSON ? [] : (asJSON ? print(value, 2) : textOf(value)).split("\n");
    return [changedLines(linesOf(before.value), linesOf(after.value)), note];
  }
  const values = [before, after].map(state => shownValue({ ...state, isSecret: isHidden }, { asJSON }));
  if (!isHidden && hasValues && !isTypeChange && ["string", "object", "array"].includes(typeOf(before.value))) {
    const places = values.map(each => each.querySelector("bdi"));
    const marked = markedTexts(...places.map(each => each.textContent));
    marked?.forEach((nodes, index) => places[index].replaceChildren(...nodes));
  }
  const side = (kind, label, index, { source }) => el(kind, el("span.unseen", label), values[index],
    source === "default" && el("span.faint", texts.values.default));
  return [el("div.difference", side("del", texts.values.from, 0, before), sign("→", "span.arrow"),
    side("ins", texts.values.to, 1, after)), note];
}

// Shows the difference between two stored texts. A text that does not exist is null.
export const textDifference = (...both) => difference(...both.map(text => ({ value: text ?? "", source: "stored" })));
