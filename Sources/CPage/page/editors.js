// Editors for values, by schema. Each is `{ element, set(value), focus(), fail(errors) }` and reports edits to
// `context.change`: `{ value }`, or `{ mistake }` for a text that is no value yet.
import { button, el, field } from "./dom.js";
import { isNumber, isSame, mistake, numberMistake, parse, print, readNumber, typeOf } from "./exact.js";
import { formEditor, listEditor } from "./forms.js";
import { beginning, fitsForm, kindOf, resolve, types } from "./schema.js";
import { texts } from "./texts.js";
import { brief, bytes } from "./words.js";

const makers = {
  switch: switchEditor, number: numberEditor, choice: choiceEditor, colour: colourEditor, file: fileEditor,
  "date-time": dateEditor, date: dateEditor, text: textEditor, json: jsonEditor, list: listEditor, form: formEditor,
};

// Makes the editor for a value. The value of an unset key is undefined.
export function makeEditor(given, value, context) {
  const schema = resolve(given, context.root);
  if (context.isSecret) return secretEditor(schema, context);
  const known = types(schema);
  const isOpen = known.length === 0 && kindOf(schema) === "json"
    && !["anyOf", "oneOf", "allOf", "$ref", "not"].some(name => name in schema);
  if (!schema.enum && (isOpen || known.length > 1))
    return choosingEditor(schema, value, context, isOpen ? null : known);
  // A text area would replace each CR by a line feed.
  const kind = typeof value === "string" && value.includes("\r") ? "json" : kindOf(schema, value);
  const isForm = kind === "form" || kind === "list";
  if (isForm && !context.depth) return formOrText(kind, schema, value, context);
  return makers[isForm && !fitsForm(kind, value) ? "json" : kind](schema, value, context);
}

// A form or a list, with JSON as the alternative for the whole value. A value that the form cannot show is edited as
// JSON, so that the form loses nothing.
function formOrText(kind, schema, value, context) {
  const element = el("div.choosing");
  let inner, isText, last = value, isMistake = false;
  const change = edit => {
    isMistake = "mistake" in edit;
    if (!isMistake) last = edit.value;
    draw();
    context.change(edit);
  };
  const toggle = button("", () => { show(!isText); inner.focus(); }, { class: "link" });
  const draw = () => { toggle.disabled = isMistake || isText && !fitsForm(kind, last); };
  const show = wantsText => {
    isText = wantsText || !fitsForm(kind, last);
    inner = makers[isText ? "json" : kind](schema, last, { ...context, change });
    toggle.textContent = isText ? texts.editors.asForm : texts.editors.asJSON;
    element.replaceChildren(inner.element, toggle);
    draw();
  };
  show(false);
  return {
    element, focus: () => inner.focus(), fail: errors => inner.fail(errors),
    set: value => {
      [last, isMistake] = [value, false];
      if (!isText && !fitsForm(kind, value)) show(true);
      else { inner.set(value); draw(); }
    },
  };
}

const joined = errors => errors.map(error => (error.pointer ? `${error.pointer}: ` : "") + error.detail).join("\n");

// An editor with one input. Enter ends the edit, unless the text has several lines.
function single(input, context, set, hint) {
  if (context.isDisabled) input.disabled = true;
  if (!input.matches("textarea.code, [type=file]")) input.addEventListener("keydown", event => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing
      || input.value.includes("\n")) return;
    event.preventDefault();
    context.done?.();
  });
  const element = field(context.label, input, hint);
  return { element, set, focus: () => input.focus(), fail: errors => element.fail(joined(errors)), input };
}

function switchEditor(_, value, context) {
  const word = el("span", { "aria-hidden": "true" });
  const input = el("input.switch",
    { type: "checkbox", role: "switch", onchange: () => { tell(); context.change({ value: input.checked }); } });
  const tell = () => { word.textContent = input.checked ? texts.values.on : texts.values.off; };
  const set = value => { input.checked = value === true; tell(); };
  const editor = single(input, context, set);
  input.after(word);
  editor.element.classList.add("inline");
  set(value);
  return editor;
}

function numberEditor(schema, value, context) {
  const { minimum, maximum } = schema;
  const hasSlider = isNumber(minimum) && isNumber(maximum) && Number(maximum) > Number(minimum);
  const report = () => {
    const number = readNumber(input.value);
    context.change(number === undefined ? { mistake: numberMistake(input.value) } : { value: number });
    if (slider && number !== undefined) slider.value = String(number);
  };
  const input = el("input.number", { inputmode: "decimal", oninput: report });
  const step = isNumber(schema.multipleOf) ? Number(schema.multipleOf) : types(schema)[0] === "integer" ? 1 : hasSlider
    ? 10 ** Math.floor(Math.log10((maximum - minimum) / 20)) : 1;
  const slider = hasSlider && el("input", {
    type: "range", min: minimum, max: maximum, step, "aria-label": texts.editors.slider(context.label),
      disabled: context.isDisabled,
    oninput: () => { input.value = slider.value; report(); },
  });
  const set = value => {
    input.value = isNumber(value) ? String(value) : "";
    if (slider) slider.value = isNumber(value) ? String(value) : String(minimum);
  };
  const editor = single(input, context, set);
  if (slider) input.before(slider);
  set(value);
  return editor;
}

// Puts text into a text area. For a large text Chromium takes seconds to fit the height, and minutes to find the
// direction of each line, so a large text has neither.
function fill(input, text) {
  const isLarge = text.length > 20_000;
  input.classList.toggle("big", isLarge);
  if (input.matches(".text")) input.dir = isLarge ? "ltr" : "auto";
  if (input.value !== text) input.value = text;
}

function textEditor(schema, value, context) {
  const input = el("textarea.text", {
    rows: 1, placeholder: value === undefined ? texts.editors.notSet : texts.editors.emptyText,
    inputmode: { email: "email", uri: "url" }[schema.format],
    oninput: () => { show(input.value); context.change({ value: input.value }); },
  });
  const set = value => show(typeof value === "string" ? value : "");
  const editor = single(input, context, set, context.depth ? "" : texts.editors.lines);
  const hint = editor.element.querySelector(".hint");
  const show = text => {
    fill(input, text);
    if (hint) hint.textContent = text.includes("\n") ? texts.editors.moreLines : texts.editors.lines;
  };
  set(value);
  return editor;
}

function secretEditor(schema, context) {
  const isText = types(schema).length === 0 || types(schema).includes("string");
  // A password field would drop line ends, which keys and certificates have.
  const input = el("textarea.secret", {
    rows: 1, placeholder: texts.editors.newSecret,
    oninput: () => {
      if (isText) return context.change({ value: input.value });
      const words = mistake(input.value);
      context.change(words ? { mistake: words.words } : { value: parse(input.value) });
    }
  });
  return single(input, context, () => { input.value = ""; },
    isText ? texts.editors.secretHint : texts.editors.secretJSON);
}

function choiceEditor(schema, value, context) {
  const choices = schema.enum || [schema.const];
  const input = el("select",
    { onchange: () => context.change({ value: choices[Number(input.value)] }) },
    el("option", { value: "", disabled: true, hidden: true }, texts.editors.choose),
    choices.map((choice, index) =>
      el("option", { value: String(index) }, typeof choice === "boolean" ? String(choice) : brief(choice))));
  const set = value => {
    const index = choices.findIndex(choice => value !== undefined && isSame(choice, value));
    input.value = index < 0 ? "" : String(index);
  };
  set(value);
  return single(input, context, set);
}

// Edits a time in the time zone of the browser. The stored time is in UTC.
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
    input.value = isDay ? value
      : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
  };
  set(value);
  return single(input, context, set,
    isDay ? "" : texts.editors.zone(Intl.DateTimeFormat().resolvedOptions().timeZone));
}

// An instant in UTC. If the milliseconds are those of `fraction`, the text has all digits of `fraction`.
export function instantText(date, fraction) {
  const [seconds, milliseconds] = date.toISOString().slice(0, -1).split(".");
  const digits = fraction.padEnd(3, "0").startsWith(milliseconds) ? fraction : milliseconds.replace(/0+$/, "");
  return `${seconds}${digits && `.${digits}`}Z`;
}

function colourEditor(_, value, context) {
  const report = text => context.change({ value: text });
  const input = el("input.code",
    { oninput: () => { show(input.value); report(input.value); } });
  const well = el("input",
    { type: "color", "aria-label": texts.editors.colour(context.label), disabled: context.isDisabled,
    oninput: () => { input.value = well.value; report(well.value); } });
  const show = text => { if (/^#[0-9a-fA-F]{6}$/.test(text)) well.value = text.toLowerCase(); };
  const set = value => { input.value = typeof value === "string" ? value : ""; show(input.value); };
  const editor = single(input, context, set);
  input.before(well);
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
  const load = button(texts.editors.saveFile,
    () => save("value.bin", Uint8Array.from(atob(content), each => each.charCodeAt(0))));
  const set = value => {
    content = typeof value === "string" ? value : undefined;
    size.textContent = content === undefined ? texts.editors.noContent
      : bytes(Math.floor(content.replace(/[=\s]/g, "").length * 3 / 4));
    load.hidden = !content;
  };
  const editor = single(input, context, set, texts.editors.fileHint);
  input.after(size, load);
  set(value);
  return editor;
}

// Downloads content as a file.
export function save(name, content, type = "application/octet-stream") {
  const url = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function jsonEditor(_, value, context) {
  const input = el("textarea.code", { rows: 3, oninput: () => {
    const wrong = mistake(input.value);
    editor.fail(wrong ? [{ detail: wrong.words }] : []);
    context.change(wrong ? { mistake: wrong.words } : { value: parse(input.value) });
  } });
  const set = value => {
    if (document.activeElement === input && !mistake(input.value) && value !== undefined
      && isSame(parse(input.value), value)) return;
    const text = value === undefined ? "" : print(value, 2);
    // Chromium takes seconds for each edit of a text area with thousands of lines.
    fill(input, text.length > 100_000 ? print(value) : text);
  };
  const editor = single(input, context, set, texts.editors.json);
  set(value);
  return editor;
}

// An editor for a key of several types: a choice of the type, and the editor of that type.
function choosingEditor(schema, value, context, known) {
  const names = known || ["string", "number", "boolean", "array", "object", "null"];
  const element = el("div.choosing");
  let inner = null;
  const nameOf = value => {
    const type = value === undefined ? names[0] : typeOf(value);
    return names.includes(type) ? type : type === "integer" ? "number" : names[0];
  };
  // The last value of each type, so that a change of the type and back loses nothing.
  const last = new Map();
  const keep = value => { if (value !== undefined) last.set(nameOf(value), value); };
  const change = edit => {
    if ("value" in edit) keep(edit.value);
    context.change(edit);
  };
  const select = el("select", { disabled: context.isDisabled, onchange: () => {
    const begin = last.has(select.value) ? last.get(select.value) : beginning({ type: select.value });
    show(select.value, begin);
    change({ value: begin });
    inner?.focus();
  } }, names.map(name => el("option", { value: name }, texts.editors.types[name])));
  const type = field(texts.editors.type, select);
  const show = (name, value) => {
    select.value = name;
    const { anyOf, oneOf, ...rest } = schema;
    inner = name === "null" ? null
      : makeEditor({ ...(known ? rest : { items: openItems(value) }), type: name }, value, { ...context, change });
    element.replaceChildren(type, ...(inner ? [inner.element] : []));
  };
  const set = value => {
    keep(value);
    if (nameOf(value) === select.value && inner) inner.set(value);
    else show(nameOf(value), value);
  };
  keep(value);
  show(nameOf(value), value);
  return { element, set, focus: () => (inner || { focus: () => select.focus() }).focus(),
    fail: errors => inner ? inner.fail(errors) : type.fail(joined(errors)) };
}

// The schema of the elements of a list without a schema. A list of other elements than text is edited as JSON.
function openItems(value) {
  return Array.isArray(value) && value.every(item => typeof item === "string") ? { type: "string" } : {};
}
