// Import and export of settings. An import becomes edits, which the person then commits.
import { get } from "./api.js";
import { button, el, field, openDialog, download, announce } from "./dom.js";
import { isSame, membersOf, jsonMistake, parse, typeOf } from "./exact.js";
import { isSecret, currentValue, suitePath } from "./store.js";
import { texts } from "./texts.js";

export async function exportSuite(store) {
  try {
    const { body } = await get(suitePath(store.suite), { view: "stored", raw: true }, { isText: true });
    download(`${store.suite}.json`, body, "application/json");
    announce(texts.transfer.exported);
  } catch (problem) {
    openDialog(texts.transfer.exportFailed, el("p", problem.message), texts.common.close);
  }
}

const isUTF8 = file => file.arrayBuffer().then(bytes => new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  .then(() => true, () => false);

// Reads a file of settings, and shows the numbers of settings to set, to reset and unchanged. A button adds the edits.
export function openImport(store, app) {
  let values = null;
  const plan = el("div", { "aria-live": "polite" });
  const resetsOthers = el("input", { type: "checkbox", onchange: () => show() });
  const input = el("input",
    { type: "file", accept: ".json,application/json", onclick: () => { input.value = ""; }, onchange: async () => {
    values = null;
    fileField.fail("");
    const [file] = input.files;
    if (!file) return show();
    const text = await file.text();
    const mistake = jsonMistake(text);
    // The decoder replaces invalid bytes by U+FFFD. A valid file may also contain U+FFFD, so `isUTF8` checks the bytes.
    const invalid = text.indexOf("\ufffd");
    if (invalid >= 0 && !await isUTF8(file))
      fileField.fail(texts.transfer.notUTF8(text.slice(0, invalid).split("\n").length));
    else if (mistake) fileField.fail(mistake.message);
    else if (typeOf(parse(text)) !== "object") fileField.fail(texts.transfer.notAnObject);
    else values = new Map(membersOf(parse(text)));
    show();
  } });
  const fileField = field(texts.transfer.file, input, texts.transfer.fileHint);
  const addButton = button(texts.transfer.add, () => {
    const { sets, resets } = edits();
    for (const [key, value] of sets) app.tray.edit(store.at(key), { value });
    for (const key of resets) app.tray.edit(store.at(key), { remove: true });
    dialog.close();
    app.review();
  }, { class: "primary", disabled: true });

  function edits() {
    const sets = [...values].filter(([key, value]) => {
      const now = store.at(key);
      return now.source !== "stored" || isSecret(now) || !isSame(currentValue(now), value);
    });
    const resets = resetsOthers.checked ? [...store.settings.values()].filter(({ key, source, writable, secret }) =>
      (source === "stored" || source === "invalid") && writable && !secret && !values.has(key)).map(({ key }) => key) : [];
    return { sets, resets };
  }

  function show() {
    addButton.disabled = true;
    if (!values) return plan.replaceChildren();
    const { sets, resets } = edits();
    addButton.disabled = sets.length + resets.length === 0;
    plan.replaceChildren(el("p", texts.transfer.plan(sets.length, resets.length, values.size - sets.length)));
  }

  const dialog = openDialog(texts.transfer.title(store.suite),
    [fileField, el("label.check", resetsOthers, texts.transfer.reset), plan], texts.common.cancel, addButton);
  input.focus();
}
