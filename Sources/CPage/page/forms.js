// Editors for lists and objects, which contain the editors of their elements and members.
import { button, el, newID, say } from "./dom.js";
import { makeEditor } from "./editors.js";
import { membersOf, objectOf } from "./exact.js";
import { beginning, resolve } from "./schema.js";
import { texts } from "./texts.js";

const part = pointer => {
  const [name = "", ...rest] = pointer.split("/").slice(1);
  return { name: name.replaceAll("~1", "/").replaceAll("~0", "~"), pointer: rest.length ? `/${rest.join("/")}` : "" };
};

// Separates the errors of the whole value from the errors of its parts.
function spread(errors, editorOf) {
  const own = [], byName = new Map();
  for (const error of errors) {
    const { name, pointer } = part(error.pointer || "");
    if (name === "" || !editorOf(name)) own.push(error);
    else byName.set(name, [...(byName.get(name) || []), { ...error, pointer }]);
  }
  return { own, byName };
}

function frame(context, hint) {
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
  const { element, parts, fail } = frame(context);
  const items = resolve(schema.items, context.root);
  let values = [], mistakes = new Map(), editors = [];
  const report = () => {
    const wrong = [...mistakes.values()][0];
    context.change(wrong ? { mistake: wrong } : { value: [...values] });
  };
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
      button("↓", () => swap(index, 1),
        { "aria-label": texts.editors.moveDown(index + 1), disabled: index === values.length - 1 }),
      button("✕", () => { values.splice(index, 1); draw(Math.min(index, values.length - 1)); report();
        say(texts.editors.removed(index + 1)); }, texts.editors.removeElement(index + 1))))));
    if (focused !== undefined) (editors[focused] || { focus: () => add.focus() }).focus();
  };
  const swap = (index, by) => {
    [values[index], values[index + by]] = [values[index + by], values[index]];
    draw(index + by);
    report();
  };
  const add = button(texts.editors.addElement, () => {
    values.push(beginning(items));
    draw(values.length - 1);
    report();
  });
  element.append(add);
  const set = value => { values = Array.isArray(value) ? [...value] : []; draw(); };
  set(value);
  return {
    element, set, focus: () => (editors[0] || { focus: () => add.focus() }).focus(),
    fail: errors => {
      const { own, byName } = spread(errors, name => editors[Number(name)]);
      editors.forEach((editor, index) => editor.fail(byName.get(String(index)) || []));
      fail(own);
    },
  };
}

export function formEditor(schema, value, context) {
  const { element, parts, fail } = frame(context, context.depth && schema.description);
  const names = membersOf(schema.properties).map(([name]) => name);
  const required = new Set(schema.required || []);
  const editors = new Map(), mistakes = new Map();
  let members = new Map();
  const report = () => {
    const wrong = [...mistakes.values()][0];
    context.change(wrong ? { mistake: wrong } : { value: objectOf(members) });
  };
  const rows = new Map(names.map(name => {
    const row = el("div.member");
    return [name, row];
  }));
  parts.append(...rows.values());
  const draw = name => {
    const member = resolve(schema.properties[name], context.root);
    const isThere = members.has(name);
    const label = member.title || name;
    mistakes.delete(name);
    editors.delete(name);
    if (!isThere) {
      rows.get(name).replaceChildren(el("span", label, el("span.faint", texts.editors.memberNotSet)),
        button(texts.editors.set, () => {
          members.set(name, beginning(member));
          draw(name);
          editors.get(name).focus();
          report();
        }, texts.editors.setMember(label)));
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
    rows.get(name).replaceChildren(editor.element, ...(required.has(name) ? [] : [button("✕", () => {
      members.delete(name);
      draw(name);
      rows.get(name).querySelector("button").focus();
      report();
    }, texts.editors.removeMember(label))]));
  };
  const set = value => {
    const isObject = value && typeof value === "object" && !Array.isArray(value);
    members = new Map(isObject ? membersOf(value) : []);
    names.forEach(draw);
  };
  set(value);
  return {
    element, set, focus: () => element.querySelector("input, select, textarea, button")?.focus(),
    fail: errors => {
      const { own, byName } = spread(errors, name => editors.get(name));
      for (const [name, editor] of editors) editor.fail(byName.get(name) || []);
      fail(own);
    },
  };
}
