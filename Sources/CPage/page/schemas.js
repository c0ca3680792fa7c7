// The schema of a suite: view, edit, check the effects, and apply.
import { Problem, newRequestKey, retryRead, send } from "./api.js";
import { textDifference } from "./difference.js";
import { errorLine, button, confirm, el, field, loading } from "./dom.js";
import { readDraft, saveDraft, schemaDraftName } from "./drafts.js";
import { jsonMistake, parse, print, requestDepth } from "./exact.js";
import { tellCommit } from "./changes.js";
import { changeList, mistakeList } from "./commits.js";
import { noSchema, readSchema, suitePath } from "./store.js";
import { texts } from "./texts.js";

// The text of the editor for a suite without a schema.
const exampleSchema = print({
  $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", additionalProperties: false,
  properties: { "player.volume": { description: texts.schemas.example, type: "number", minimum: 0, maximum: 1, default: 0.5 } },
}, 2);

// Returns the offset of a part of a JSON text, or of the nearest part that contains it.
export function offsetOf(pointer, text) {
  const places = new Map([["", 0]]);
  parse(text, Infinity, places);
  let found = pointer;
  while (!places.has(found)) found = found.slice(0, Math.max(0, found.lastIndexOf("/")));
  return places.get(found);
}

// `onDraft` is called when the person may have begun or ended to edit the schema.
export function schemaView(app, store, onDraft) {
  const target = suitePath(store.suite, "schema");
  // A version of the schema is `{ text, tag }`. `opened`: the version that the edited text is based on; `current`: the
  // version in force. Both are null until the daemon answers.
  // `reads` counts the reads, so that a view ignores the answer to a read that is not the newest.
  let opened = null, current = null, reads = 0, isGone = false;
  const mayEdit = app.caller.may("schema", store.suite);
  const text = el("textarea.code.tall", { rows: 24, readonly: !mayEdit, oninput: () => {
    clearMistakes();
    report.replaceChildren();
    draw();
  }, onscroll: () => followScroll() });
  const textField = field(texts.schemas.label, text, mayEdit ? texts.schemas.hint : texts.schemas.readOnly);
  const numbers = el("pre.line-numbers", { "aria-hidden": "true" });
  const messages = el("div.line-messages", { role: "alert", id: `${text.id}-lines` });
  text.before(el("div.numbered", numbers, el("div.messages-view", messages)));
  numbers.after(text);
  text.setAttribute("aria-describedby", `${text.getAttribute("aria-describedby")} ${messages.id}`);
  const report = el("div.report", { "aria-live": "polite" });
  const failure = errorLine();
  const notice = el("p.notice", { hidden: true, role: "status" });
  const conflict = el("div.conflict", { role: "group", "aria-label": texts.schemas.conflict, hidden: true });
  const checkButton = button(texts.schemas.check, () => check());
  const apply = button(texts.schemas.applyThis, () => check(true), { class: "primary" });
  const revert = button(texts.schemas.revert, () => open(current));
  const remove = button(texts.schemas.removeThis, () => askToRemove(), { class: "danger" });
  const content = el("div.part-view", { hidden: true }, conflict, textField,
    el("div.buttons", mayEdit && [checkButton, apply, revert], mayEdit && remove), report);
  const wait = loading();
  const element = el("div.scrolls", failure, notice, wait, content);

  const textOf = version => version.text ?? (mayEdit ? exampleSchema : "");
  const isEdited = () => text.value !== textOf(opened);
  const isChangedElsewhere = () => opened.tag !== current.tag;

  function followScroll() {
    numbers.scrollTop = text.scrollTop;
    messages.style.transform = `translateY(${-text.scrollTop}px)`;
  }

  function drawNumbers(mistakes = new Map()) {
    const lines = text.value.split("\n").map((_, index) => index + 1);
    numbers.replaceChildren(...mistakes.size
      ? lines.flatMap(line => [mistakes.has(line) ? el("b", String(line)) : String(line), "\n"]) : [lines.join("\n")]);
    followScroll();
  }

  function clearMistakes() {
    textField.fail("");
    messages.replaceChildren();
    drawNumbers();
  }

  // Shows messages at their lines, and selects the first mistake. A mistake is `{ message, at }`; `at` is its offset.
  function showMistakes(mistakes) {
    const byLine = new Map();
    for (const { message, at } of mistakes.slice(0, 50)) {
      const line = text.value.slice(0, at).split("\n").length;
      byLine.set(line, [...byLine.get(line) || [], message]);
    }
    messages.replaceChildren(...[...byLine].map(([line, lineTexts]) => {
      const element = el("p.error", lineTexts.join("\n"));
      element.style.setProperty("--line-number", line);
      return element;
    }));
    text.setAttribute("aria-invalid", "true");
    drawNumbers(byLine);
    const { at } = mistakes[0];
    text.focus();
    text.setSelectionRange(at, Math.min(text.value.length, at + 1));
    const [line] = byLine.keys();
    text.scrollTop = Math.max(0, line - 4) * parseFloat(getComputedStyle(text).lineHeight);
    followScroll();
  }

  function draw() {
    apply.disabled = isChangedElsewhere() || text.value === current.text || !text.value.trim();
    revert.disabled = !isEdited() && !isChangedElsewhere();
    checkButton.disabled = !text.value.trim();
    remove.hidden = current.text === null;
    content.hidden = false;
    wait.remove();
    saveDraft(schemaDraftName(store.suite), isEdited() ? { text: text.value, opened } : null);
    onDraft();
  }

  async function read() {
    const { text, tag } = await readSchema(store.suite);
    // A text area has no CR. A schema on one line is indented, so that a person can read it.
    const isOneLine = text && !text.trim().includes("\n");
    return { text: isOneLine ? `${print(parse(text), 2)}\n` : text && text.replace(/\r\n?/g, "\n"), tag };
  }

  function showNotice(text) {
    notice.textContent = text;
    notice.hidden = !text;
  }

  // Shows a version, without edits. Ignores the answers to earlier reads, which may be older than this version.
  function open(version) {
    reads += 1;
    [opened, current] = [version, version];
    text.value = textOf(version);
    clearMistakes();
    report.replaceChildren();
    conflict.hidden = true;
    showNotice(version.text === null ? texts.schemas.none : "");
    draw();
  }

  async function begin() {
    const version = await retryRead(read, failure.tell, () => isGone);
    if (!version) return;
    const draft = readDraft(schemaDraftName(store.suite));
    open(version);
    if (!draft || draft.text === text.value) return;
    opened = draft.opened;
    text.value = draft.text;
    drawNumbers();
    showNotice(texts.schemas.draft);
    drawConflict();
    draw();
  }

  // Reads the version in force. An edited text stays as it is, and the person decides between the versions.
  async function readAgain() {
    if (!opened) return;
    // The answers can arrive in another order than the reads.
    const thisRead = reads += 1;
    const version = await retryRead(read, failure.tell, () => isGone || thisRead !== reads);
    if (!version || version.tag === current.tag) return;
    if (!isEdited() || version.text === text.value) {
      open(version);
      return showNotice(texts.schemas.justChanged);
    }
    current = version;
    drawConflict();
    draw();
  }

  function drawConflict() {
    conflict.hidden = !isChangedElsewhere();
    if (conflict.hidden) return;
    conflict.replaceChildren(el("p", el("strong", texts.schemas.changedWhileEditing)),
      el("h3", texts.schemas.theirs), el("div", textDifference(opened.text, current.text)),
      el("h3", texts.schemas.yours), el("div", textDifference(opened.text, text.value)),
      el("div.buttons", button(texts.schemas.useTheirs, () => { open(current); text.focus(); }),
        button(texts.schemas.keepMine, () => {
          opened = current;
          conflict.hidden = true;
          showNotice(texts.schemas.mineReplaces);
          draw();
          text.focus();
        })));
  }

  // Shows the effects of the text, by a dry run. With `isToApply`, a dialog then offers to apply the text.
  async function check(isToApply) {
    report.replaceChildren();
    clearMistakes();
    const checked = text.value;
    const mistake = jsonMistake(checked, requestDepth);
    if (mistake) return showMistakes([mistake]);
    let effects, valuesDoNotFit = false;
    try {
      const { body } = await send("PUT", target, { text: checked, query: { dryRun: true } });
      effects = [el("p.notice.good", body.changed === false ? texts.schemas.inForceAlready : body.changes.length
        ? texts.schemas.fitsAndChanges : texts.schemas.fitsUnchanged), changeList(body.changes || [])];
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      const { errors, conflicts = [] } = problem.body;
      valuesDoNotFit = problem.code === "schema_conflict";
      if (!valuesDoNotFit && !errors?.length) return textField.fail(problem.message);
      if (!valuesDoNotFit) {
        return text.value === checked && showMistakes(errors.map(({ pointer = "", detail }) =>
          ({ message: detail, at: offsetOf(pointer, checked) })));
      }
      effects = [el("p.notice.bad", texts.schemas.doNotFit), mistakeList(conflicts)];
    }
    // The effects of a text that the person has edited since are not shown.
    if (isGone || text.value !== checked) return;
    if (isToApply) return askToApply(effects, valuesDoNotFit);
    report.append(...effects);
    report.scrollIntoView({ block: "nearest" });
  }

  // Returns the message about a refusal. If another caller has changed the schema, the message is
  // `changedBefore`.
  async function whyRefused(problem, changedBefore) {
    if (problem.code !== "precondition_failed") return problem.message;
    await readAgain();
    return changedBefore;
  }

  function askToApply(effects, valuesDoNotFit) {
    const choice = el("select", texts.schemas.conflictChoices.map(([value, label]) => el("option", { value }, label)));
    const note = el("input", { dir: "auto" });
    const key = newRequestKey();
    const applied = text.value;
    const dialog = confirm(texts.schemas.confirmApply,
      [el("h3", texts.schemas.changes), el("div", textDifference(current.text, applied)), el("h3", texts.schemas.effects), effects,
        valuesDoNotFit && field(texts.schemas.conflictChoice, choice), field(texts.common.note, note)],
      texts.schemas.apply, valuesDoNotFit ? "danger" : "primary", async () => {
        try {
          const { tag, body } = await send("PUT", target, { text: applied, note: note.value.trim(), key,
            query: { onConflict: valuesDoNotFit ? choice.value : undefined },
            match: opened.tag || undefined, noneMatch: opened.tag ? undefined : "*" });
          open({ text: applied, tag });
          showNotice(texts.schemas.applied);
          tellCommit(app, body.revision, texts.schemas.changed(store.suite));
        } catch (problem) {
          return whyRefused(problem, texts.schemas.changedBeforeApply);
        }
      });
    dialog.classList.add("wide");
  }

  function askToRemove() {
    confirm(texts.schemas.confirmRemoval, el("p", texts.schemas.removal), texts.schemas.remove, "danger", async () => {
      try {
        const { body } = await send("DELETE", target, { match: current.tag });
        open(noSchema);
        tellCommit(app, body.revision, texts.schemas.removed(store.suite));
      } catch (problem) {
        return whyRefused(problem, texts.schemas.changedBeforeRemoval);
      }
    });
  }

  begin();
  // The store reads settings again after each change of the schema.
  return { element, change: (_, isReread) => { if (isReread) readAgain(); }, leave: () => { isGone = true; } };
}
