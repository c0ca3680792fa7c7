// Differences of two texts: the lines that differ, and the words that differ within a line.
import { el } from "./dom.js";
import { texts } from "./texts.js";
import { isBase64 } from "./words.js";

// The limit of the table in `steps`, because its time grows with the number of cells.
const maxCells = 1_000_000;

// The steps from one list to the other: `[kind, element]`. The kind is "span" for an element of both lists, "del" for an element
// of `before` only, and "ins" for an element of `after` only.
// In long lists, all elements between the common beginning and the common end count as changed.
export function steps(before, after) {
  let start = 0, end = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const one = before.slice(start, before.length - end), other = after.slice(start, after.length - end);
  const isSmall = one.length * other.length <= maxCells;
  // `table[i * width + j]` is the length of the longest common subsequence of `one` from i and `other` from j.
  // The length is at most 1000, the square root of `maxCells`, so 16 bits are enough.
  const width = other.length + 1;
  const table = new Uint16Array(isSmall ? (one.length + 1) * width : 0);
  for (let i = one.length - 1; isSmall && i >= 0; i -= 1)
    for (let j = other.length - 1; j >= 0; j -= 1)
      table[i * width + j] = one[i] === other[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const found = before.slice(0, start).map(each => ["span", each]);
  for (let i = 0, j = 0; i < one.length || j < other.length;) {
    if (isSmall && i < one.length && one[i] === other[j]) { found.push(["span", one[i]]); i += 1; j += 1; }
    else if (j === other.length || i < one.length
      && (!isSmall || table[(i + 1) * width + j] >= table[i * width + j + 1])) { found.push(["del", one[i]]); i += 1; }
    else { found.push(["ins", other[j]]); j += 1; }
  }
  return [...found, ...before.slice(before.length - end).map(each => ["span", each])];
}

// Both texts as nodes, with a mark around the words that differ. Returns null if less than
// a third of the letters and digits of `before` are in words that both texts have.
export function markedTexts(before, after) {
  const words = text => text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) || [];
  const all = steps(words(before), words(after));
  const length = kinds => all.filter(([kind, text]) => kinds.includes(kind) && /[\p{L}\p{N}]/u.test(text))
    .reduce((sum, [, text]) => sum + text.length, 0);
  if (length(["span"]) * 3 < length(["span", "del"])) return null;
  return ["del", "ins"].map(side => {
    const nodes = [];
    for (const [kind, text] of all) {
      if (kind !== "span" && kind !== side) continue;
      const last = nodes.at(-1);
      if (last?.kind === kind) last.text += text;
      else nodes.push({ kind, text });
    }
    return nodes.map(({ kind, text }) => kind === "span" ? text : el("mark", text));
  });
}

// The part of a long line where it begins to differ from another line.
function shortened(text, other = "") {
  const [maxLength, before] = isBase64(text) ? [60, 20] : [200, 60];
  if (text.length <= maxLength) return text;
  let same = 0;
  while (same < text.length && text[same] === other[same]) same += 1;
  const from = Math.max(0, same - before);
  return (from ? "…" : "") + text.slice(from, from + maxLength) + (from + maxLength < text.length ? "…" : "");
}

// The lines shown around a changed line, and the limit of changed lines of each side.
const nearLines = 2, maxLines = 500;

// The lines that differ, with two lines around each.
export function changedLines(before, after) {
  const all = steps(before, after);
  const isNear = all.map(() => false);
  all.forEach(([kind], index) => {
    if (kind !== "span") isNear.fill(true, Math.max(0, index - nearLines), index + nearLines + 1);
  });
  const lines = [];
  // The numbers of changed lines of the old and of the new text.
  const counts = [0, 0];
  let hidden = 0;
  for (let index = 0; index < all.length; index += 1) {
    if (!isNear[index]) {
      if (isNear[index - 1] && isNear.indexOf(true, index) > 0) lines.push(el("span.line.faint", "⋯\n"));
      continue;
    }
    // Removed lines come before the lines that replace them. If their numbers are equal, the lines form pairs, in which the words
    // that differ are marked.
    let end = index;
    while (all[end]?.[0] !== "span" && end < all.length) end += 1;
    const [removed, added] = ["del", "ins"].map(side =>
      all.slice(index, end).filter(([kind]) => kind === side).map(([, text]) => text));
    const marked = removed.length === added.length ? removed.map((text, line) => {
      const both = [shortened(text, added[line]), shortened(added[line], text)];
      return markedTexts(...both) || both;
    }) : [];
    for (const [kind, mark, side, group] of [["del", "−", 0, removed], ["ins", "+", 1, added]]) {
      group.forEach((text, line) => {
        counts[side] += 1;
        if (counts[side] > maxLines) hidden += 1;
        else lines.push(el(`${kind}.line`, `${mark} `, marked[line]?.[side] || shortened(text), "\n"));
      });
    }
    if (end > index) index = end - 1;
    else lines.push(el("span.line", `  ${shortened(all[index][1])}\n`));
  }
  return el("pre.lines", { dir: "auto", tabindex: 0, "aria-label": texts.values.changedLines }, lines,
    hidden > 0 && el("span.line.faint", texts.values.moreLines(hidden)));
}
