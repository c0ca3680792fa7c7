// The review of the edits before a commit.
import { choice, sides, tellCommit } from "./changes.js";
import { difference } from "./difference.js";
import { alarm, bdi, button, drawnOnChange, el, field, openDialog, toast } from "./dom.js";
import { print } from "./exact.js";
import { texts } from "./texts.js";
import { held } from "./words.js";

// What a commit of edits did, on one line.
function outcome(edits) {
  const [edit] = edits;
  if (edits.length > 1) return texts.edits.changed(edits.length, [...new Set(edits.map(({ suite }) => suite))]);
  return [bdi(edit.key), edit.remove ? texts.edits.wasReset : [": ", held(sides(edit)[1], { onOneLine: true })]];
}

const most = 200;

// Shows all edits with their old and new values, and commits them with a note.
export function openReview(app) {
  const { tray } = app;
  if (!tray.size || document.querySelector("dialog.review")) return;
  const list = el("div.edits");
  const trouble = alarm();
  const note = el("input",
    { value: tray.note, dir: "auto",
    oninput: () => { tray.note = note.value; place.fail(isTooLong() ? texts.edits.longNote : ""); draw(); },
    onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); commit(); } } });
  const place = field(texts.common.note, note, texts.edits.noteHint);
  const within = el("select", texts.pending.times.map(([value, label]) => el("option", { value }, label)));
  const isTooLong = () => new TextEncoder().encode(note.value).length > 256;
  const send = button("", () => commit(), { class: "primary" });

  function item(edit) {
    return el("article.edit", { "aria-label": `${edit.suite} ${edit.key}` },
      el("div.edit-head", el("h3", bdi(edit.key), el("span.faint", texts.edits.in, bdi(edit.suite))),
        button("✕", () => { tray.remove(edit); if (!tray.size) dialog.close(); },
          { class: "quiet", "aria-label": texts.edits.drop(edit.key) })),
      edit.other ? choice(tray, edit) : edit.mistake ? el("p.error", edit.mistake) : difference(...sides(edit)),
      edit.remove && !edit.other && el("p.faint", texts.edits.removes),
      tray.overriding.includes(edit) && el("p.faint", texts.edits.overrides),
      !tray.next.includes(edit) && el("p.faint", texts.edits.waits),
      edit.errors.map(error => el("p.error", (error.pointer ? `${error.pointer}: ` : "") + error.detail)));
  }

  const drawList = drawnOnChange(() => {
    const label = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label")
      || document.activeElement.textContent : null;
    const { all } = tray;
    // Edits that need a decision come first.
    all.sort((one, other) => Boolean(other.other) - Boolean(one.other)
      || (other.errors.length > 0) - (one.errors.length > 0));
    list.replaceChildren(...all.slice(0, most).map(item),
      ...(all.length > most ? [el("p.faint", texts.edits.more(all.length - most))] : []));
    if (label) ([...list.querySelectorAll("button")].find(each =>
      (each.getAttribute("aria-label") || each.textContent) === label) || note).focus();
  });

  function draw() {
    if (!tray.size && !tray.isSending) return dialog.close();
    const { next, overriding } = tray;
    // An edit is replaced when its value changes; only the properties here change in place.
    drawList(...tray.all.flatMap(edit => [edit, edit.seen, edit.other, edit.isSecret, print([edit.errors]),
      overriding.includes(edit), next.includes(edit)]));
    const waiting = tray.size - next.length;
    trouble.tell(tray.failure || tray.problem || waiting && texts.edits.waiting(waiting));
    send.disabled = !tray.canCommit || isTooLong();
    send.textContent = tray.isSending ? texts.edits.committing : texts.edits.commit(next.length);
  }

  async function commit() {
    if (!tray.canCommit || isTooLong()) return;
    const edits = tray.next;
    const answer = await tray.commit(note.value.trim(), within.value || undefined);
    if (!answer) { draw(); return; }
    dialog.close();
    if (answer.changed) tellCommit(app, answer.revision, outcome(edits), answer.pending);
    else toast(el("p", texts.edits.unchanged));
  }

  const dialog = openDialog(texts.edits.review, [list, trouble, place, field(texts.pending.within, within)],
    texts.edits.back, send, { class: "review wide" });
  tray.listeners.add(draw);
  dialog.addEventListener("close", () => tray.listeners.delete(draw));
  draw();
  note.focus();
}
