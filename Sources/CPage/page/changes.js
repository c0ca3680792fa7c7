// The tray at the foot of the page, the review of edits before they are committed, and values side by side.
import { alarm, bdi, button, confirm, el, field, openDialog, say } from "./dom.js";
import { resolve } from "./schema.js";
import { stateOf } from "./store.js";
import { count, difference, held, time } from "./words.js";

export function trayBar(app, place) {
  const { tray } = app;
  let size = 0;
  const words = el("p");
  place.setAttribute("aria-label", "Edits");
  place.append(words, el("div.buttons", {},
    button("Discard", () => {
      confirm("Discard all edits?",
        el("p", `${count(tray.size, "edit")} will be gone. Nothing that is stored changes.`), "Discard", "danger",
        () => tray.clear());
    }), button("Review and commit", () => app.review(), { class: "primary" })));
  tray.listeners.add(() => {
    const { conflicts, mistakes } = tray;
    const text = [count(tray.size, "edit"), conflicts.length && count(conflicts.length, "conflict"),
      mistakes.length && `${mistakes.length} refused`].filter(Boolean).join(", ")
      + (tray.failure ? `. ${tray.failure}` : "");
    place.hidden = tray.size === 0;
    if (text === words.textContent && size === tray.size) return;
    words.textContent = text;
    place.classList.toggle("is-bad", conflicts.length + mistakes.length > 0 || tray.failure !== "");
    if (tray.size) say(text);
    size = tray.size;
  });
}

// The sides of a change that the daemon tells of. The effective value of an invalid setting is null, which says nothing.
const sideOf = (value, source, isSecret) => ({ value: source === "invalid" ? undefined : value, source, isSecret });
export const oldSide = (change, isSecret) => sideOf(change.old, change.oldSource, isSecret || change.secret);
export const newSide = (change, isSecret) => sideOf(change.new, change.source, isSecret || change.secret);

// What a setting held when it was edited, and what it will hold.
function sides(edit) {
  const { seen, isSecret } = edit;
  const { schema } = seen;
  const before = { ...stateOf(seen), isSecret };
  if (!edit.remove) return [before, { value: edit.value, source: "stored", isSecret }];
  const { default: value } = resolve(schema);
  return [before, { value, source: value === undefined ? "unset" : "default", isSecret }];
}

// Both values of a conflict, to choose one.
export function choice(tray, edit) {
  const { other } = edit;
  return el("div.conflict", { role: "group", "aria-label": `Conflict about ${edit.key}` },
    el("p", el("strong", "Changed elsewhere meanwhile"), other.by && [" by ", bdi(other.by)], " ",
      time(other.modified), other.note && [": ", bdi(other.note, "q")]),
    el("dl", el("dt", "Theirs"),
      el("dd", held({ ...stateOf(other), isSecret: edit.isSecret || other.secret })),
      el("dt", "Yours"), el("dd", edit.mistake ? "not a value yet" : held(sides(edit)[1]))),
    el("div.buttons", button("Take theirs", () => { tray.remove(edit); say("Their value stays"); }),
      button("Keep mine", () => { tray.keepMine(edit); say("Your value will replace theirs"); })));
}

const most = 200;

// Shows all edits as one change, with a note, and commits them.
export function openReview(app) {
  const { tray } = app;
  if (!tray.size || document.querySelector("dialog.review")) return;
  const list = el("div.edits");
  const trouble = alarm();
  const note = el("input",
    { value: tray.note, dir: "auto",
    oninput: () => { tray.note = note.value; place.fail(isTooLong() ? "A note has at most 256 bytes." : ""); draw(); },
    onkeydown: event => { if (event.key === "Enter") { event.preventDefault(); commit(); } } });
  const place = field("Note", note, "Why you do this, for those who read the history. It may stay empty.");
  const isTooLong = () => new TextEncoder().encode(note.value).length > 256;
  const send = button("Commit", () => commit(), { class: "primary" });

  function item(edit) {
    return el("article.edit", { "aria-label": `${edit.suite} ${edit.key}` },
      el("div.edit-head", el("h3", bdi(edit.key), el("span.faint", " in ", bdi(edit.suite))),
        button("✕", () => { tray.remove(edit); if (!tray.size) dialog.close(); },
          { class: "quiet", "aria-label": `Drop the edit of ${edit.key}` })),
      edit.other ? choice(tray, edit) : edit.mistake ? el("p.error", edit.mistake) : difference(...sides(edit)),
      edit.remove && !edit.other && el("p.faint", "What is stored is taken away."),
      tray.overriding.includes(edit) && el("p.faint", "Overrides the lock of the schema."),
      !tray.next.includes(edit) && el("p.faint", "Waits for another commit."),
      edit.errors.map(error => el("p.error", (error.pointer ? `${error.pointer}: ` : "") + error.detail)));
  }

  function draw() {
    if (!tray.size && !tray.isSending) return dialog.close();
    const { next } = tray;
    const label = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label")
      || document.activeElement.textContent : null;
    const { all } = tray;
    // What needs a decision stands first.
    all.sort((one, other) => Boolean(other.other) - Boolean(one.other)
      || (other.errors.length > 0) - (one.errors.length > 0));
    list.replaceChildren(...all.slice(0, most).map(item),
      ...(all.length > most ? [el("p.faint", `and ${count(all.length - most, "edit")} more`)] : []));
    const waiting = tray.size - next.length;
    trouble.tell(tray.failure || tray.problem || waiting && `A lock is overridden, for which you have no right on every key: ${count(waiting, "edit")} will wait in the tray for another commit.`);
    send.disabled = !tray.canCommit || isTooLong();
    send.textContent = tray.isSending ? "Committing…" : `Commit ${count(next.length, "change")}`;
    if (label) ([...list.querySelectorAll("button")].find(each =>
      (each.getAttribute("aria-label") || each.textContent) === label) || note).focus();
  }

  async function commit() {
    if (!tray.canCommit || isTooLong()) return;
    const answer = await tray.commit(note.value.trim());
    if (!answer) { draw(); return; }
    dialog.close();
    say(answer.changed ? `Committed as revision ${answer.revision}` : "Nothing to change: it was so already");
  }

  const dialog = openDialog("Review and commit", [list, trouble, place], "Back", send, { class: "review wide" });
  tray.listeners.add(draw);
  dialog.addEventListener("close", () => tray.listeners.delete(draw));
  draw();
  note.focus();
}
