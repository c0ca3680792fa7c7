// The bar at the foot of the page with the number of edits, the old and new sides of a change, and the message about a new
// commit. In an edit of tray.js, `seen` is the setting when the person began to edit it, and `other` is a newer setting
// from another commit, which makes a conflict.
import { get, newRequestKey, send } from "./api.js";
import { announce, button, confirm, el, toast } from "./dom.js";
import { decisionButtons, hasEnded, pendingInterval, whenDue, whyNotEnded } from "./pending.js";
import { resolveRefs } from "./schema.js";
import { stateOf } from "./store.js";
import { texts } from "./texts.js";
import { shownValue, changeInfo } from "./words.js";

export function trayBar(app, bar) {
  const { tray } = app;
  let shownSize = 0;
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
    if (text === line.textContent && shownSize === tray.size) return;
    line.textContent = text;
    bar.classList.toggle("is-bad", conflicts.length + mistakes.length > 0 || tray.failure !== "");
    if (tray.size) announce(text);
    shownSize = tray.size;
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

// Says which commit was made and `what` it did. Offers to undo the commit, or to end its pending revert.
export function tellCommit(app, revision, what, pending) {
  const content = [el("strong", texts.edits.committed(revision)), el("span", what)];
  if (pending) return tellPending(app, content, pending);
  const undo = button(texts.history.undo, async () => {
    undo.disabled = true;
    try {
      const note = texts.edits.undoNote(revision);
      const { body } = await send("POST", "v1/undo", { body: { revision }, note, key: newRequestKey() });
      tellCommit(app, body.revision, texts.edits.undone(revision));
    } catch (problem) {
      toast(el("p.error", texts.history.cannotUndo(problem.message)));
    }
  }, texts.history.undoRevision(revision));
  toast(el("p", content), undo);
}

// Says that a commit will be reverted, and follows the action until it ends or another message comes.
function tellPending(app, content, action) {
  const about = el("p", content, el("span", whenDue(action)));
  const timer = about.querySelector("[data-deadline]");
  // The view of a suite sets `app.endPending`, which takes the changes into the list of settings.
  toast(decisionButtons(app, action, { about, onEnd: changes => app.endPending?.(changes) }));
  const follow = async () => {
    if (!timer.isConnected) return;
    try {
      timer.dataset.deadline = (await get(`v1/pending/${action.id}`)).body.deadline;
    } catch (problem) {
      if (hasEnded(problem) && timer.isConnected) return toast(el("p", el("strong", whyNotEnded(problem))));
    }
    setTimeout(follow, pendingInterval);
  };
  setTimeout(follow, pendingInterval);
}
