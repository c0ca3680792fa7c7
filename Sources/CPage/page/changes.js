// The bar at the foot of the page that counts the edits, and the review of the edits before a commit.
import { newKey, send } from "./api.js";
import { alarm, bdi, button, confirm, el, field, openDialog, say, toast } from "./dom.js";
import { resolve } from "./schema.js";
import { stateOf } from "./store.js";
import { texts } from "./texts.js";
import { difference, held, time } from "./words.js";

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
function sides(edit) {
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
    el("p", el("strong", texts.edits.changedElsewhere), other.by && [texts.common.by, bdi(other.by)], " ",
      time(other.modified), other.note && [": ", bdi(other.note, "q")]),
    el("dl", el("dt", texts.edits.theirs),
      el("dd", held({ ...stateOf(other), isSecret: edit.isSecret || other.secret })),
      el("dt", texts.edits.yours), el("dd", edit.mistake ? texts.suite.noValueYet : held(sides(edit)[1]))),
    el("div.buttons", button(texts.edits.takeTheirs, () => { tray.remove(edit); say(texts.edits.theirsStays); }),
      button(texts.edits.keepMine, () => { tray.keepMine(edit); say(texts.edits.mineReplaces); })));
}

// Says which commit was made and what it did, and offers to undo it.
export function tellCommit(app, revision, what) {
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
  toast(el("p", el("strong", texts.edits.committed(revision)), el("span", what)), undo);
}

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

  function draw() {
    if (!tray.size && !tray.isSending) return dialog.close();
    const { next } = tray;
    const label = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label")
      || document.activeElement.textContent : null;
    const { all } = tray;
    // Edits that need a decision come first.
    all.sort((one, other) => Boolean(other.other) - Boolean(one.other)
      || (other.errors.length > 0) - (one.errors.length > 0));
    list.replaceChildren(...all.slice(0, most).map(item),
      ...(all.length > most ? [el("p.faint", texts.edits.more(all.length - most))] : []));
    const waiting = tray.size - next.length;
    trouble.tell(tray.failure || tray.problem || waiting && texts.edits.waiting(waiting));
    send.disabled = !tray.canCommit || isTooLong();
    send.textContent = tray.isSending ? texts.edits.committing : texts.edits.commit(next.length);
    if (label) ([...list.querySelectorAll("button")].find(each =>
      (each.getAttribute("aria-label") || each.textContent) === label) || note).focus();
  }

  async function commit() {
    if (!tray.canCommit || isTooLong()) return;
    const edits = tray.next;
    const answer = await tray.commit(note.value.trim());
    if (!answer) { draw(); return; }
    dialog.close();
    if (answer.changed) tellCommit(app, answer.revision, outcome(edits));
    else toast(el("p", texts.edits.unchanged));
  }

  const dialog = openDialog(texts.edits.review, [list, trouble, place], texts.edits.back, send,
    { class: "review wide" });
  tray.listeners.add(draw);
  dialog.addEventListener("close", () => tray.listeners.delete(draw));
  draw();
  note.focus();
}
