// The bar at the foot of the page with the number of edits, and the old and new sides of a change.
import { announce, button, confirm, el } from "./dom.js";
import { resolveRefs } from "./schema.js";
import { stateOf } from "./store.js";
import { texts } from "./texts.js";
import { shownValue, changeInfo } from "./words.js";

export function trayBar(app, bar) {
  const { tray } = app;
  let size = 0;
  const line = el("p");
  bar.setAttribute("aria-label", texts.edits.label);
  bar.append(line, el("div.buttons", {},
    button(texts.common.discard, () => {
      confirm(texts.edits.discardAll, el("p", texts.edits.discards(tray.size)), texts.common.discard, "danger", () => tray.clear());
    }), button(texts.edits.review, () => app.review(), { class: "primary" })));
  tray.listeners.add(() => {
    const { conflicts, mistakes } = tray;
    const text = texts.edits.summary(tray.size, conflicts.length, mistakes.length, tray.failure);
    bar.hidden = tray.size === 0;
    if (text === line.textContent && size === tray.size) return;
    line.textContent = text;
    bar.classList.toggle("is-bad", conflicts.length + mistakes.length > 0 || tray.failure !== "");
    if (tray.size) announce(text);
    size = tray.size;
  });
}

// The sides of a change from the daemon. The daemon sends null for the effective value of an invalid setting.
const sideOf = (value, source, isSecret) => ({ value: source === "invalid" ? undefined : value, source, isSecret });
export const oldSide = (change, isSecret) => sideOf(change.old, change.oldSource, isSecret || change.secret);
export const newSide = (change, isSecret) => sideOf(change.new, change.source, isSecret || change.secret);

// The sides of an edit: the setting when the person began to edit it, and the setting after the commit.
export function editSides(edit) {
  const { seen, isSecret } = edit;
  const before = { ...stateOf(seen), isSecret };
  if (!edit.remove) return [before, { value: edit.value, source: "stored", isSecret }];
  const { default: value } = resolveRefs(seen.schema);
  return [before, { value, source: value === undefined ? "unset" : "default", isSecret }];
}

// Shows both values of a conflict, for the person to choose.
export function conflictChoice(tray, edit) {
  const { other } = edit;
  return el("div.conflict", { role: "group", "aria-label": texts.edits.conflict(edit.key) },
    el("p", el("strong", texts.edits.changedElsewhere), " ", changeInfo(other)),
    el("dl", el("dt", texts.edits.theirs), el("dd", shownValue({ ...stateOf(other), isSecret: edit.isSecret || other.secret })),
      el("dt", texts.edits.yours), el("dd", edit.mistake ? texts.suite.noValueYet : shownValue(editSides(edit)[1]))),
    el("div.buttons", button(texts.edits.takeTheirs, () => { tray.remove(edit); announce(texts.edits.theirsStays); }),
      button(texts.edits.keepMine, () => { tray.keepMine(edit); announce(texts.edits.mineReplaces); })));
}
