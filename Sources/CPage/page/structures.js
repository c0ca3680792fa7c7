// Editors for values of any structure: JSON, a choice of the type, and the choice between a form and JSON.
import { button, el, field } from "./dom.js";
import { fill, joined, makeEditor, single } from "./editors.js";
import { isSame, mistake, parse, print, typeOf } from "./exact.js";
import { formEditor, listEditor } from "./forms.js";
import { beginning, fitsForm } from "./schema.js";
import { texts } from "./texts.js";

export const makers = { json: jsonEditor, list: listEditor, form: formEditor, choosing: choosingEditor,
  formOrText: formOrTextEditor };

// A form or a list, with JSON as the alternative for the whole value. A value that the form cannot show is edited as
// JSON, so that the form loses nothing.
function formOrTextEditor(schema, value, { kind, ...context }) {
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
function choosingEditor(schema, value, { known, ...context }) {
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
