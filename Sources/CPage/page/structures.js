// Editors for values of any structure: JSON, a choice of the type, and the choice between a form and JSON. editors.js
// describes the `context` and the results of the makers.
import { button, el, field } from "./dom.js";
import { fill, errorText, makeEditor, singleInput } from "./editors.js";
import { isSame, jsonMistake, parse, print, typeOf } from "./exact.js";
import { formEditor, listEditor } from "./forms.js";
import { initialValue, fitsForm } from "./schema.js";
import { texts } from "./texts.js";

export const makers = { json: jsonEditor, list: listEditor, form: formEditor, typeChoice: typeChoiceEditor,
  formOrText: formOrTextEditor };

// A form or a list, with JSON as the alternative for the whole value. A value that the form cannot show is edited as
// JSON, so that the form loses nothing.
function formOrTextEditor(schema, value, { kind, ...context }) {
  const element = el("div.choosing");
  // `isText`: the editor shows JSON. `last`: the last value without a mistake.
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
    const mistake = jsonMistake(input.value)?.message;
    editor.fail(mistake ? [{ detail: mistake }] : []);
    context.change(mistake ? { mistake } : { value: parse(input.value) });
  } });
  const set = value => {
    if (document.activeElement === input && !jsonMistake(input.value) && value !== undefined
      && isSame(parse(input.value), value)) return;
    const text = value === undefined ? "" : print(value, 2);
    // Each edit in a text area with thousands of lines takes Chromium seconds.
    fill(input, text.length > 100_000 ? print(value) : text);
  };
  const editor = singleInput(input, context, set, texts.editors.json);
  set(value);
  return editor;
}

// An editor for a value whose schema allows several types: a choice of the type, and the editor for the chosen type.
// `allowedTypes` is null for any type.
function typeChoiceEditor(schema, value, { allowedTypes, ...context }) {
  const names = allowedTypes || ["string", "number", "boolean", "array", "object", "null"];
  const element = el("div.choosing");
  let inner = null;
  const typeNameOf = value => {
    const type = value === undefined ? names[0] : typeOf(value);
    return names.includes(type) ? type : type === "integer" ? "number" : names[0];
  };
  // The last value of each type, for a change of the type and back.
  const last = new Map();
  const keep = value => { if (value !== undefined) last.set(typeNameOf(value), value); };
  const change = edit => {
    if ("value" in edit) keep(edit.value);
    context.change(edit);
  };
  const select = el("select", { disabled: context.isDisabled, onchange: () => {
    const value = last.has(select.value) ? last.get(select.value) : initialValue({ type: select.value });
    show(select.value, value);
    change({ value });
    inner?.focus();
  } }, names.map(name => el("option", { value: name }, texts.editors.types[name])));
  const type = field(texts.editors.type, select);
  const show = (name, value) => {
    select.value = name;
    const { anyOf, oneOf, ...rest } = schema;
    inner = name === "null" ? null
      : makeEditor({ ...(allowedTypes ? rest : { items: elementSchema(value) }), type: name }, value, { ...context, change });
    element.replaceChildren(type, ...(inner ? [inner.element] : []));
  };
  const set = value => {
    keep(value);
    if (typeNameOf(value) === select.value && inner) inner.set(value);
    else show(typeNameOf(value), value);
  };
  keep(value);
  show(typeNameOf(value), value);
  return { element, set, focus: () => (inner || { focus: () => select.focus() }).focus(),
    fail: errors => inner ? inner.fail(errors) : type.fail(errorText(errors)) };
}

// The schema for the elements of a list without a schema. A list with an element that is no text is edited as JSON.
function elementSchema(value) {
  return Array.isArray(value) && value.every(item => typeof item === "string") ? { type: "string" } : {};
}
