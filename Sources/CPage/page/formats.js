// Editors for texts with a format: times, colours and files. editors.js describes the `context` and the results of the makers.
import { button, el, download } from "./dom.js";
import { singleInput } from "./editors.js";
import { texts } from "./texts.js";
import { sizeText } from "./words.js";

export const makers = { colour: colourEditor, file: fileEditor, "date-time": dateEditor, date: dateEditor };

// Edits a time or a day. A time is shown in the time zone of the browser and stored in UTC. A day has no time zone.
function dateEditor(schema, value, context) {
  const isDay = schema.format === "date";
  // The digits of the fraction of a second. The input has milliseconds, but a stored value may have more digits.
  let fraction = "";
  const input = el("input", { type: isDay ? "date" : "datetime-local", step: isDay ? null : 0.001, oninput: () => {
    const text = isDay || !input.value ? input.value : instantText(new Date(input.value), fraction);
    context.change(text ? { value: text } : { mistake: texts.editors.chooseDate });
  } });
  const set = value => {
    const date = new Date(value);
    if (typeof value !== "string" || Number.isNaN(date.getTime())) {
      [input.value, fraction] = ["", ""];
      return;
    }
    fraction = /\.(\d+)/.exec(value)?.[1] || "";
    input.value = isDay ? value : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
  };
  set(value);
  return singleInput(input, context, set, isDay ? "" : texts.editors.zone(Intl.DateTimeFormat().resolvedOptions().timeZone));
}

// The text of an instant in UTC. It keeps all digits of the stored `fraction` if the milliseconds are still the same.
export function instantText(date, fraction) {
  const [seconds, milliseconds] = date.toISOString().slice(0, -1).split(".");
  const digits = fraction.padEnd(3, "0").startsWith(milliseconds) ? fraction : milliseconds.replace(/0+$/, "");
  return `${seconds}${digits && `.${digits}`}Z`;
}

function colourEditor(_, value, context) {
  const report = text => context.change({ value: text });
  const input = el("input.code", { oninput: () => { show(input.value); report(input.value); } });
  const picker = el("input", { type: "color", "aria-label": texts.editors.colour(context.label), disabled: context.isDisabled,
    oninput: () => { input.value = picker.value; report(picker.value); } });
  const show = text => { if (/^#[0-9a-fA-F]{6}$/.test(text)) picker.value = text.toLowerCase(); };
  const set = value => { input.value = typeof value === "string" ? value : ""; show(input.value); };
  const editor = singleInput(input, context, set);
  input.before(picker);
  editor.element.classList.add("inline");
  set(value);
  return editor;
}

function fileEditor(_, value, context) {
  let content = value;
  const size = el("p.hint", { "aria-live": "polite" });
  const input = el("input", { type: "file", onchange: () => {
    const [file] = input.files;
    if (!file) return;
    const reader = new FileReader();
    reader.onload = () => { set(reader.result.slice(reader.result.indexOf(",") + 1));
      context.change({ value: content }); };
    reader.onerror = () => context.change({ mistake: texts.editors.fileFailure(reader.error.message) });
    reader.readAsDataURL(file);
  } });
  const saveButton = button(texts.editors.saveFile,
    () => download("value.bin", Uint8Array.from(atob(content), each => each.charCodeAt(0))));
  const set = value => {
    content = typeof value === "string" ? value : undefined;
    size.textContent = content === undefined ? texts.editors.noContent
      : sizeText(Math.floor(content.replace(/[=\s]/g, "").length * 3 / 4));
    saveButton.hidden = !content;
  };
  const editor = singleInput(input, context, set, texts.editors.fileHint);
  input.after(size, saveButton);
  set(value);
  return editor;
}
