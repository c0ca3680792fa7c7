// The review of the edits before a commit. An edit of tray.js has `seen`, the setting that the person saw, and, if the setting
// was changed since then, `other`: the newer setting, which makes a conflict.
import { conflictChoice, editSides, tellCommit } from "./changes.js";
import { difference } from "./difference.js";
import { errorLine, bdi, button, drawnOnChange, el, field, openDialog, toast } from "./dom.js";
import { print } from "./exact.js";
import { texts } from "./texts.js";
import { shownValue } from "./words.js";

// What a commit of edits changed, on one line.
function changesText(edits) {
  const [edit] = edits;
  if (edits.length > 1) return texts.edits.changed(edits.length, [...new Set(edits.map(({ suite }) => suite))]);
  return [bdi(edit.key), edit.remove ? texts.edits.wasReset : [": ", shownValue(editSides(edit)[1], { onOneLine: true })]];
}

const maxEdits = 200;

// Shows the first `maxEdits` edits with their old and new values. Commits `tray.nextEdits` with a note: all edits or, if an edit
// overrides a lock, the edits of keys on which the caller has the right `override`. The other edits wait.
export function openReview(app) {
  const { tray } = app;
  if (!tray.size || document.querySelector("dialog.review")) return;
  const list = el("div.edits");
  const failure = errorLine();
  const note = el("input", { value: tray.note, dir: "auto",
    oninput: () => { tray.note = note.value; noteField.fail(isTooLong() ? texts.edits.longNote : ""); draw(); },
    onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); commit(); } } });
  const noteField = field(texts.common.note, note, texts.edits.noteHint);
  const revertAfter = el("select", texts.pending.times.map(([value, label]) => el("option", { value }, label)));
  const isTooLong = () => new TextEncoder().encode(note.value).length > 256;
  const send = button("", () => commit(), { class: "primary" });

  function item(edit) {
    return el("article.edit", { "aria-label": `${edit.suite} ${edit.key}` },
      el("div.edit-head", el("h3", bdi(edit.key), el("span.faint", texts.edits.in, bdi(edit.suite))),
        button("✕", () => { tray.remove(edit); if (!tray.size) dialog.close(); },
          { class: "quiet", "aria-label": texts.edits.drop(edit.key) })),
      edit.other ? conflictChoice(tray, edit) : edit.mistake ? el("p.error", edit.mistake) : difference(...editSides(edit)),
      edit.remove && !edit.other && el("p.faint", texts.edits.removes),
      tray.overriding.includes(edit) && el("p.faint", texts.edits.overrides),
      !tray.nextEdits.includes(edit) && el("p.faint", texts.edits.waits),
      edit.errors.map(error => el("p.error", (error.pointer ? `${error.pointer}: ` : "") + error.detail)));
  }

  const drawList = drawnOnChange(() => {
    const label = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label")
      || document.activeElement.textContent : null;
    const { all } = tray;
    // Edits that need a decision come first.
    all.sort((one, other) => Boolean(other.other) - Boolean(one.other) || (other.errors.length > 0) - (one.errors.length > 0));
    list.replaceChildren(...all.slice(0, maxEdits).map(item),
      ...(all.length > maxEdits ? [el("p.faint", texts.edits.more(all.length - maxEdits))] : []));
    if (label) ([...list.querySelectorAll("button")].find(each =>
      (each.getAttribute("aria-label") || each.textContent) === label) || note).focus();
  });

  function draw() {
    if (!tray.size && !tray.isSending) return dialog.close();
    const { nextEdits, overriding } = tray;
    // The tray makes a new edit when the value changes. In an existing edit, the tray changes only properties that this list
    // contains.
    drawList(...tray.all.flatMap(edit => [edit, edit.seen, edit.other, edit.isSecret, print([edit.errors]),
      overriding.includes(edit), nextEdits.includes(edit)]));
    const waiting = tray.size - nextEdits.length;
    failure.tell(tray.failure || tray.problem || waiting && texts.edits.waiting(waiting));
    send.disabled = !tray.canCommit || isTooLong();
    send.textContent = tray.isSending ? texts.edits.committing : texts.edits.commit(nextEdits.length);
  }

  async function commit() {
    if (!tray.canCommit || isTooLong()) return;
    const edits = tray.nextEdits;
    const answer = await tray.commit(note.value.trim(), revertAfter.value || undefined);
    if (!answer) { draw(); return; }
    dialog.close();
    if (answer.changed) tellCommit(app, answer.revision, changesText(edits), answer.pending);
    else toast(el("p", texts.edits.unchanged));
  }

  const dialog = openDialog(texts.edits.review, [list, failure, noteField, field(texts.pending.within, revertAfter)],
    texts.edits.back, send, { class: "review wide" });
  tray.listeners.add(draw);
  dialog.addEventListener("close", () => tray.listeners.delete(draw));
  draw();
  note.focus();
}
