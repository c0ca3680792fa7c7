// The bar at the foot of the page that counts the edits, the sides of a change, and the message about a commit.
import { newKey, send } from "./api.js";
import { button, confirm, el, say, toast } from "./dom.js";
import { tellPending } from "./pending.js";
import { resolve } from "./schema.js";
import { stateOf } from "./store.js";
import { texts } from "./texts.js";
import { held, origin } from "./words.js";

export function trayBar(app, place) {
  const { tray } = app;
  let size = 0;
  const words = el("p");
  place.setAttribute("aria-label", texts.edits.label);
  place.append(words, el("div.buttons", {},
    button(texts.common.discard, () => {
      confirm(texts.edits.discardAll, el("p", texts.edits.discards(tray.size)), texts.common.discard, "danger",
        () => tray.clear());
    }), button(texts.edits.review, () => app.review(), { class: "primary" })));
  tray.listeners.add(() => {
    const { conflicts, mistakes } = tray;
    const text = texts.edits.summary(tray.size, conflicts.length, mistakes.length, tray.failure);
    place.hidden = tray.size === 0;
    if (text === words.textContent && size === tray.size) return;
    words.textContent = text;
    place.classList.toggle("is-bad", conflicts.length + mistakes.length > 0 || tray.failure !== "");
    if (tray.size) say(text);
    size = tray.size;
  });
}

// The sides of a change from the daemon. The effective value of an invalid setting is null, which says nothing.
const sideOf = (value, source, isSecret) => ({ value: source === "invalid" ? undefined : value, source, isSecret });
export const oldSide = (change, isSecret) => sideOf(change.old, change.oldSource, isSecret || change.secret);
export const newSide = (change, isSecret) => sideOf(change.new, change.source, isSecret || change.secret);

// The value that a setting had when the person edited it, and the value after the commit.
export function sides(edit) {
  const { seen, isSecret } = edit;
  const { schema } = seen;
  const before = { ...stateOf(seen), isSecret };
  if (!edit.remove) return [before, { value: edit.value, source: "stored", isSecret }];
  const { default: value } = resolve(schema);
  return [before, { value, source: value === undefined ? "unset" : "default", isSecret }];
}

// Shows both values of a conflict, for the person to choose.
export function choice(tray, edit) {
  const { other } = edit;
  return el("div.conflict", { role: "group", "aria-label": texts.edits.conflict(edit.key) },
    el("p", el("strong", texts.edits.changedElsewhere), " ", origin(other)),
    el("dl", el("dt", texts.edits.theirs),
      el("dd", held({ ...stateOf(other), isSecret: edit.isSecret || other.secret })),
      el("dt", texts.edits.yours), el("dd", edit.mistake ? texts.suite.noValueYet : held(sides(edit)[1]))),
    el("div.buttons", button(texts.edits.takeTheirs, () => { tray.remove(edit); say(texts.edits.theirsStays); }),
      button(texts.edits.keepMine, () => { tray.keepMine(edit); say(texts.edits.mineReplaces); })));
}

// Says which commit was made and what it did, and offers to undo the commit. A commit with a pending revert can be kept
// or reverted.
export function tellCommit(app, revision, what, pending) {
  const content = [el("strong", texts.edits.committed(revision)), el("span", what)];
  if (pending) return tellPending(app, content, pending);
  const undo = button(texts.history.undo, async () => {
    undo.disabled = true;
    try {
      const note = texts.edits.undoNote(revision);
      const { body } = await send("POST", "v1/undo", { body: { revision }, note, key: newKey() });
      tellCommit(app, body.revision, texts.edits.undone(revision));
    } catch (problem) {
      toast(el("p.error", texts.history.cannotUndo(problem.message)));
    }
  }, texts.history.undoRevision(revision));
  toast(el("p", content), undo);
}
