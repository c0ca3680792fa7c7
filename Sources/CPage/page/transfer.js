// Settings as a file: import as edits in the tray, and export.
import { get } from "./api.js";
import { button, el, field, openDialog, say } from "./dom.js";
import { save } from "./editors.js";
import { isSame, membersOf, mistake, parse, typeOf } from "./exact.js";
import { isSecret, present, suitePath } from "./store.js";
import { count } from "./words.js";

export async function exportSuite(store) {
  try {
    const { body } = await get(suitePath(store.suite), { view: "stored", raw: true }, { isText: true });
    save(`${store.suite}.json`, body, "application/json");
    say("Exported what is stored");
  } catch (problem) {
    openDialog("Export failed", el("p", problem.message), "Close");
  }
}

const isUTF8 = file => file.arrayBuffer().then(bytes => new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  .then(() => true, () => false);

// Reads a file with a map of keys, shows the plan, and puts it into the tray.
export function openImport(app, store) {
  let values = null;
  const plan = el("div", { "aria-live": "polite" });
  const whole = el("input", { type: "checkbox", onchange: () => show() });
  const input = el("input",
    { type: "file", accept: ".json,application/json", onclick: () => { input.value = ""; }, onchange: async () => {
    values = null;
    place.fail("");
    const [file] = input.files;
    if (!file) return show();
    const text = await file.text();
    const wrong = mistake(text);
    const broken = text.indexOf("\ufffd");
    if (broken >= 0 && !await isUTF8(file))
      place.fail(`This is not UTF-8: line ${text.slice(0, broken).split("\n").length}.`);
    else if (wrong) place.fail(wrong.words);
    else if (typeOf(parse(text)) !== "object") place.fail("A file of settings is one JSON object, with a member for each key.");
    else values = new Map(membersOf(parse(text)));
    show();
  } });
  const place = field("File", input, "One JSON object, with a member for each key, as Export writes it.");
  const toTray = button("Put into the tray", () => {
    const { sets, resets } = edits();
    for (const [key, value] of sets) app.tray.propose(store.at(key), { value });
    for (const key of resets) app.tray.propose(store.at(key), { remove: true });
    dialog.close();
    app.review();
  }, { class: "primary", disabled: true });

  function edits() {
    const sets = [...values].filter(([key, value]) => {
      const now = store.at(key);
      return now.source !== "stored" || isSecret(now) || !isSame(present(now), value);
    });
    const resets = whole.checked
      ? [...store.settings.values()].filter(({ key, source, writable, secret }) =>
      (source === "stored" || source === "invalid") && writable && !secret && !values.has(key)).map(({ key }) => key)
      : [];
    return { sets, resets };
  }

  function show() {
    toTray.disabled = true;
    if (!values) return plan.replaceChildren();
    const { sets, resets } = edits();
    toTray.disabled = sets.length + resets.length === 0;
    plan.replaceChildren(el("p",
      `${count(sets.length, "setting")} to set, ${resets.length} to reset, ${values.size - sets.length} already so. Nothing changes before you commit.`));
  }

  const dialog = openDialog(`Import into ${store.suite}`,
    [place, el("label.check", whole, " Reset what is not in the file"), plan], "Cancel", toTray);
  input.focus();
}
