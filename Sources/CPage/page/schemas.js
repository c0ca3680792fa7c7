// The schema of a suite: view, edit, check what it would do, and put it in force.
import { Problem, get, newKey, send } from "./api.js";
import { bdi, button, confirm, el, field } from "./dom.js";
import { mistake, parse, print } from "./exact.js";
import { changeList } from "./history.js";
import { suitePath } from "./store.js";

const beginning = print({
  $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", additionalProperties: false,
  properties: { "player.volume": { description: "How loud, from silent to full", type: "number", minimum: 0,
    maximum: 1, default: 0.5 } },
}, 2);

export function schemaView(app, store) {
  const target = suitePath(store.suite, "schema");
  // The version of the text that is shown, and the one that is in force.
  let tag = null, newest = null, stored = null, isGone = false;
  const may = app.caller.may("schema", store.suite);
  const text = el("textarea.code.tall",
    { rows: 24, readonly: !may, oninput: () => { place.fail(""); report.replaceChildren(); draw(); } });
  const place = field("JSON Schema", text,
    may ? "Draft 2020-12. Its properties are the settings of this suite." : "You may read the schema, not change it.");
  const report = el("div.report", { "aria-live": "polite" });
  const failure = el("p.notice", { hidden: true, role: "status" });
  const checkButton = button("Check", () => check());
  const apply = button("Put in force…", () => check(true), { class: "primary" });
  const revert = button("Revert",
    () => { text.value = stored ?? ""; tag = newest; report.replaceChildren(); place.fail(""); draw(); });
  const remove = button("Remove the schema…", () => drop(), { class: "danger" });
  const element = el("div.scrolls", failure, place,
    el("div.buttons", may && [checkButton, apply, revert], may && remove), report);

  function draw() {
    const isSame = text.value === (stored ?? "");
    revert.disabled = isSame;
    apply.disabled = isSame || !text.value.trim();
    checkButton.disabled = !text.value.trim();
    remove.hidden = stored === null;
  }

  async function read() {
    try {
      const answer = await get(target, {}, { isText: true });
      // One long line is easier to read as several.
      const isLine = !answer.body.trim().includes("\n");
      // A field for text has one kind of line end.
      [stored, newest] = [isLine ? `${print(parse(answer.body), 2)}\n` : answer.body.replace(/\r\n?/g, "\n"), answer.tag];
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) return tell(error.message);
      [stored, newest] = [null, null];
    }
    return stored;
  }

  function tell(words) {
    failure.textContent = words;
    failure.hidden = !words;
  }

  async function open() {
    await read();
    if (isGone) return;
    if (stored === null) tell("This suite has no schema: it takes any key and any value.");
    text.value = stored ?? (may ? beginning : "");
    tag = newest;
    draw();
  }

  // Tries the schema, and shows what it would do. Then it can be put in force.
  async function check(isToApply) {
    report.replaceChildren();
    const wrong = mistake(text.value);
    if (wrong) return fail(wrong.words, wrong.at);
    try {
      const { body } = await send("PUT", target, { text: text.value, query: { dryRun: true } });
      if (isGone) return;
      report.append(el("p.notice.good",
        body.changed === false ? "This is the schema in force." : body.changes.length
        ? "Everything that is stored fits. It changes what readers get:"
        : "Everything that is stored fits, and no value changes."), changeList(body.changes || []));
      if (isToApply) ask();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.code === "schema_conflict") return conflicts(problem, isToApply);
      const { line, column, errors } = problem.body;
      const at = line ? text.value.split("\n").slice(0, line - 1).reduce((sum, each) => sum + each.length + 1,
        0) + (column || 1) - 1 : undefined;
      fail(problem.message, at);
      report.append(el("ul.mistakes",
        (errors || []).map(error => el("li", el("code", error.pointer || "/"), " ", error.detail))));
    } finally {
      report.scrollIntoView({ block: "nearest" });
    }
  }

  function fail(words, at) {
    place.fail(words);
    text.focus();
    if (at !== undefined) text.setSelectionRange(at, Math.min(text.value.length, at + 1));
  }

  function conflicts(problem, isToApply) {
    const found = problem.body.conflicts || [];
    report.append(el("p.notice.bad", "Values that are stored do not fit this schema:"),
      el("ul.mistakes", found.map(conflict =>
        el("li", conflict.key ? bdi(conflict.key, "strong") : "The suite as a whole", ": ",
        (conflict.errors || []).map(error => error.detail).join("; ")))));
    if (isToApply) ask(true);
  }

  function ask(hasConflicts) {
    const choice = el("select",
      [["keep", "Keep them: they count as invalid until a schema allows them"],
      ["reset", "Reset them to the default"]].map(([value, label]) => el("option", { value }, label)));
    const note = el("input", { dir: "auto" });
    const key = newKey();
    confirm("Put the schema in force",
      [el("p", hasConflicts ? "Values that are stored do not fit this schema."
      : "Everything that is stored fits this schema."), hasConflicts && field("Values that do not fit", choice),
      field("Note", note)],
      "Put in force", hasConflicts ? "danger" : "primary", async () => {
        try {
          await send("PUT", target,
            { text: text.value, query: { onConflict: hasConflicts ? choice.value : undefined },
            note: note.value.trim(), key,
            match: tag || undefined, noneMatch: tag ? undefined : "*" });
        } catch (problem) {
          if (problem.code !== "precondition_failed") return problem.message;
          read();
          return "The schema was changed elsewhere meanwhile. Revert, to see it.";
        }
        report.replaceChildren();
        await open();
        tell("The schema is in force.");
      });
  }

  function drop() {
    confirm("Remove the schema?",
      el("p", "The suite then takes any key and any value, and there are no defaults. What is stored stays."),
      "Remove the schema", "danger", async () => {
      try {
        await send("DELETE", target, { match: tag });
        await open();
      } catch (problem) {
        return problem.message;
      }
    });
  }

  open();
  return {
    element,
    change: async (_, isWhole) => {
      if (!isWhole) return;
      const isEdited = text.value !== (stored ?? "") && !(stored === null && text.value === beginning);
      const before = stored;
      await read();
      if (isGone) return;
      if (!isEdited || stored === before) tag = newest;
      if (stored === before) return;
      if (isEdited) tell("The schema was changed elsewhere meanwhile. Your text is still here; Revert shows the other one.");
      else { text.value = stored ?? ""; tell("The schema was changed elsewhere just now."); }
      draw();
    },
    leave: () => { isGone = true; },
  };
}
