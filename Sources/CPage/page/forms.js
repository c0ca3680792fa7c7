// Editors for lists and objects, which contain the editors of their elements and members. editors.js describes the `context`.
import { button, el, field, newID, announce } from "./dom.js";
import { makeEditor } from "./editors.js";
import { membersOf, objectOf } from "./exact.js";
import { initialValue, memberSchema, resolveRefs } from "./schema.js";
import { texts } from "./texts.js";

// Splits a JSON pointer into its first name and the pointer below it.
const splitPointer = pointer => {
  const [name = "", ...rest] = pointer.split("/").slice(1);
  return { name: name.replaceAll("~1", "/").replaceAll("~0", "~"), pointer: rest.length ? `/${rest.join("/")}` : "" };
};

// Separates the errors of the whole value and of parts without an editor (`own`) from the errors of the other parts.
function splitErrors(errors, editorOf) {
  const own = [], byName = new Map();
  for (const error of errors) {
    const { name, pointer } = splitPointer(error.pointer || "");
    if (name === "" || !editorOf(name)) own.push(error);
    else byName.set(name, [...(byName.get(name) || []), { ...error, pointer }]);
  }
  return { own, byName };
}

function fieldset(context, hint) {
  const errors = el("p.error", { id: newID(), hidden: true });
  const parts = el("div.parts");
  const element = el("fieldset.group", { "aria-describedby": errors.id, disabled: context.isDisabled },
    el("legend", context.label), hint && el("p.hint", hint), parts, errors);
  const fail = own => {
    errors.textContent = own.map(error => error.detail).join("\n");
    errors.hidden = !own.length;
  };
  return { element, parts, fail };
}

export function listEditor(schema, value, context) {
  const { element, parts, fail } = fieldset(context);
  const items = resolveRefs(schema.items, context.root);
  let values = [], mistakes = new Map(), editors = [];
  const report = () => {
    const [mistake] = mistakes.values();
    context.change(mistake ? { mistake } : { value: [...values] });
  };
  // `focused`: the index of the element that gets the focus.
  const draw = focused => {
    mistakes = new Map();
    editors = values.map((each, index) => makeEditor(items, each, {
      root: context.root, depth: (context.depth || 0) + 1, label: texts.editors.element(index + 1),
      isDisabled: context.isDisabled,
      done: () => add.focus(),
      change: edit => {
        if (edit.mistake) mistakes.set(index, edit.mistake);
        else { mistakes.delete(index); values[index] = edit.value; }
        report();
      },
    }));
    parts.replaceChildren(...editors.map((editor, index) => el("div.part", editor.element, el("div.part-buttons", {},
      button("↑", () => swap(index, -1), { "aria-label": texts.editors.moveUp(index + 1), disabled: index === 0 }),
      button("↓", () => swap(index, 1), { "aria-label": texts.editors.moveDown(index + 1), disabled: index === values.length - 1 }),
      button("✕", () => { values.splice(index, 1); draw(Math.min(index, values.length - 1)); report();
        announce(texts.editors.removed(index + 1)); }, texts.editors.removeElement(index + 1))))));
    if (focused !== undefined) (editors[focused] || { focus: () => add.focus() }).focus();
  };
  const swap = (index, by) => {
    [values[index], values[index + by]] = [values[index + by], values[index]];
    draw(index + by);
    report();
  };
  const add = button(texts.editors.addElement, () => {
    values.push(initialValue(items));
    draw(values.length - 1);
    report();
  });
  element.append(add);
  const set = value => { values = Array.isArray(value) ? [...value] : []; draw(); };
  set(value);
  return {
    element, set, focus: () => (editors[0] || { focus: () => add.focus() }).focus(),
    fail: errors => {
      const { own, byName } = splitErrors(errors, name => editors[Number(name)]);
      editors.forEach((editor, index) => editor.fail(byName.get(String(index)) || []));
      fail(own);
    },
  };
}

export function formEditor(schema, value, context) {
  const { element, parts, fail } = fieldset(context, context.depth && schema.description);
  const names = membersOf(schema.properties || {}).map(([name]) => name);
  const required = new Set(schema.required || []);
  const mayAdd = schema.additionalProperties !== false || schema.patternProperties;
  const editors = new Map(), mistakes = new Map(), rows = new Map();
  let members = new Map();
  const report = () => {
    const [mistake] = mistakes.values();
    context.change(mistake ? { mistake } : { value: objectOf(members) });
  };
  const draw = name => {
    const found = memberSchema(schema, name);
    const member = resolveRefs(found === false ? {} : found, context.root);
    const label = member.title || name;
    if (!rows.has(name)) {
      rows.set(name, el("div.member"));
      parts.append(rows.get(name));
    }
    const row = rows.get(name);
    mistakes.delete(name);
    editors.delete(name);
    if (!members.has(name)) {
      row.replaceChildren(el("span", label, el("span.faint", texts.editors.memberNotSet)),
        button(texts.editors.set, () => set(name, initialValue(member)), texts.editors.setMember(label)));
      return;
    }
    const editor = makeEditor(member, members.get(name), {
      root: context.root, depth: (context.depth || 0) + 1,
      label: required.has(name) ? texts.editors.required(label) : label,
      isDisabled: context.isDisabled,
      done: context.done,
      change: edit => {
        if (edit.mistake) mistakes.set(name, `${label}: ${edit.mistake}`);
        else { mistakes.delete(name); members.set(name, edit.value); }
        report();
      },
    });
    editors.set(name, editor);
    row.replaceChildren(editor.element, ...(required.has(name) ? [] : [button("✕", () => remove(name),
      texts.editors.removeMember(label))]));
  };
  const set = (name, value) => {
    members.set(name, value);
    draw(name);
    editors.get(name).focus();
    report();
  };
  const remove = name => {
    members.delete(name);
    if (names.includes(name)) {
      draw(name);
      rows.get(name).querySelector("button").focus();
    } else {
      rows.get(name).remove();
      for (const each of [rows, editors, mistakes]) each.delete(name);
      (newName || element.querySelector("button"))?.focus();
    }
    report();
  };
  // The input for the name of a member that the schema does not list.
  const newName = mayAdd && el("input", { onkeydown: event => {
    if (event.key === "Enter") { event.preventDefault(); add(); }
  } });
  const nameField = newName && field(texts.common.name, newName);
  const add = () => {
    const name = newName.value;
    const schemaOfName = memberSchema(schema, name);
    const mistake = members.has(name) || rows.has(name) ? texts.editors.memberExists
      : schemaOfName === undefined || schemaOfName === false ? texts.editors.memberRefused : "";
    nameField.fail(mistake);
    if (mistake) return newName.focus();
    newName.value = "";
    set(name, initialValue(resolveRefs(schemaOfName, context.root)));
  };
  if (newName) {
    element.append(el("details", { open: !names.length && !context.depth }, el("summary", texts.editors.newMember),
      el("div.member", nameField, button(texts.common.add, add))));
  }
  const setAll = value => {
    members = new Map(value && typeof value === "object" && !Array.isArray(value) ? membersOf(value) : []);
    for (const each of [rows, editors, mistakes]) each.clear();
    parts.replaceChildren();
    new Set([...names, ...members.keys()]).forEach(draw);
  };
  setAll(value);
  return {
    element, set: setAll, focus: () => element.querySelector("input, select, textarea, button")?.focus(),
    fail: errors => {
      const { own, byName } = splitErrors(errors, name => editors.get(name));
      for (const [name, editor] of editors) editor.fail(byName.get(name) || []);
      fail(own);
    },
  };
}
