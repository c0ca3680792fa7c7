// Editors for values, by schema. An editor is `{ element, set(value), focus(), fail(errors) }` and reports edits to
// `context.change`: `{ value }`, or `{ mistake }` for a text that is no value yet.
import { el, field } from "./dom.js";
import { isNumber, isSame, jsonMistake, numberMistake, parse, readNumber } from "./exact.js";
import { lazyPart } from "./modules.js";
import { fitsForm, kindOf, resolveRefs, typesOf } from "./schema.js";
import { texts } from "./texts.js";
import { shortText } from "./words.js";

const makers = { switch: switchEditor, number: numberEditor, choice: choiceEditor, text: textEditor };
// The kinds of editors that are in formats.js.
const formatKinds = ["colour", "file", "date-time", "date"];

// Makes the editor for a value; the value of an unset key is undefined. `context`: `label`, `root` (the schema of the key),
// `depth` (the number of editors around this editor), `isDisabled`, `isSecret`, `change`, and `done`, which is called when the
// person presses Enter.
export function makeEditor(keySchema, value, context) {
  const schema = resolveRefs(keySchema, context.root);
  if (context.isSecret) return secretEditor(schema, context);
  const allowedTypes = typesOf(schema);
  const isAnyType = allowedTypes.length === 0 && kindOf(schema) === "json"
    && !["anyOf", "oneOf", "allOf", "$ref", "not"].some(name => name in schema);
  if (!schema.enum && (isAnyType || allowedTypes.length > 1))
    return makeLazily("typeChoice", "./structures.js", schema, value,
      { ...context, allowedTypes: isAnyType ? null : allowedTypes });
  // A text area would replace each CR by a line feed.
  const kind = typeof value === "string" && value.includes("\r") ? "json" : kindOf(schema, value);
  const isForm = kind === "form" || kind === "list";
  if (isForm && !context.depth)
    return makeLazily("formOrText", "./structures.js", schema, value, { ...context, kind });
  const usableKind = isForm && !fitsForm(kind, value) ? "json" : kind;
  if (makers[usableKind]) return makers[usableKind](schema, value, context);
  return makeLazily(usableKind, formatKinds.includes(usableKind) ? "./formats.js" : "./structures.js", schema, value, context);
}

const makeLazily = (kind, file, schema, value, context) =>
  lazyPart(file, module => module.makers[kind](schema, value, context), "div.field");

export const errorText = errors =>
  errors.map(error => (error.pointer ? `${error.pointer}: ` : "") + error.detail).join("\n");

// An editor with one input. Enter ends the edit, except in a `textarea.code`, in a file input, and in a text of several lines.
export function singleInput(input, context, set, hint) {
  if (context.isDisabled) input.disabled = true;
  if (!input.matches("textarea.code, [type=file]")) input.addEventListener("keydown", event => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing
      || input.value.includes("\n")) return;
    event.preventDefault();
    context.done?.();
  });
  const element = field(context.label, input, hint);
  return { element, set, focus: () => input.focus(), fail: errors => element.fail(errorText(errors)), input };
}

function switchEditor(_, value, context) {
  const stateText = el("span", { "aria-hidden": "true" });
  const input = el("input.switch",
    { type: "checkbox", role: "switch", onchange: () => { showState(); context.change({ value: input.checked }); } });
  const showState = () => { stateText.textContent = input.checked ? texts.values.on : texts.values.off; };
  const set = value => { input.checked = value === true; showState(); };
  const editor = singleInput(input, context, set);
  input.after(stateText);
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
  const step = isNumber(schema.multipleOf) ? Number(schema.multipleOf) : typesOf(schema)[0] === "integer" ? 1 : hasSlider
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
  const editor = singleInput(input, context, set);
  if (slider) input.before(slider);
  set(value);
  return editor;
}

// Puts text into a text area. For a large text Chromium takes seconds to fit the height, and minutes to find the
// direction of each line, so the page does neither for a large text.
export function fill(input, text) {
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
  const editor = singleInput(input, context, set, context.depth ? "" : texts.editors.lines);
  const hint = editor.element.querySelector(".hint");
  const show = text => {
    fill(input, text);
    if (hint) hint.textContent = text.includes("\n") ? texts.editors.moreLines : texts.editors.lines;
  };
  set(value);
  return editor;
}

function secretEditor(schema, context) {
  const isText = typesOf(schema).length === 0 || typesOf(schema).includes("string");
  // A password field would drop line ends, which secrets such as private keys and certificates contain.
  const input = el("textarea.secret", {
    rows: 1, placeholder: texts.editors.newSecret,
    oninput: () => {
      if (isText) return context.change({ value: input.value });
      const mistake = jsonMistake(input.value)?.message;
      context.change(mistake ? { mistake } : { value: parse(input.value) });
    }
  });
  return singleInput(input, context, () => { input.value = ""; },
    isText ? texts.editors.secretHint : texts.editors.secretJSON);
}

function choiceEditor(schema, value, context) {
  const choices = schema.enum || [schema.const];
  const input = el("select", { onchange: () => context.change({ value: choices[Number(input.value)] }) },
    el("option", { value: "", disabled: true, hidden: true }, texts.editors.choose),
    choices.map((choice, index) =>
      el("option", { value: String(index) }, typeof choice === "boolean" ? String(choice) : shortText(choice))));
  const set = value => {
    const index = choices.findIndex(choice => value !== undefined && isSame(choice, value));
    input.value = index < 0 ? "" : String(index);
  };
  set(value);
  return singleInput(input, context, set);
}
