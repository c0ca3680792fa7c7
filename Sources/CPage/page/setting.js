// The panel of a setting: its description, its editor, and its history.
import { curlCommand, get, retryRead } from "./api.js";
import { conflictChoice, newSide } from "./changes.js";
import { bdi, button, drawnOnChange, el, loading, newID, throttled, announce } from "./dom.js";
import { makeEditor } from "./editors.js";
import { print } from "./exact.js";
import { decisionButtons, whenDue } from "./pending.js";
import { resolveRefs, summary } from "./schema.js";
import { isSamePending, isSecret, isStored, currentValue, suitePath } from "./store.js";
import { texts } from "./texts.js";
import { shownValue, changeInfo, sourceBadge } from "./words.js";

// Stands for the value of an editor whose text is no value.
const noValue = Symbol("no value");

// The head of a panel. A narrow screen shows the first button, and a wide screen the last. `back(isStaying)` returns to the
// list; `isStaying` keeps the panel open beside the list.
export const panelHead = (back, heading) => el("div.panel-head",
  button("←", () => back(false), { class: "quiet back", "aria-label": texts.setting.back }), heading,
  button("✕", () => back(false), { class: "quiet close", "aria-label": texts.setting.close }));

export function settingPanel(app, store, key, { back }) {
  // The tray has the edits that are not committed.
  const { tray } = app;
  // `editorInputs`: what the editor was made for; `shown`: the value in the editor; `pastRevision`: the revision of the
  // setting whose history is shown.
  let editor = null, editorInputs = "", shown = noValue, isGone = false, pastRevision = null;
  let isDescriptionOpen = false;
  // `task` has notices and decisions: a lock, a missing right, a conflict, an invalid value. `past` has the last commits of the key.
  const pendingBox = el("div.task"), task = el("div.task"), editorBox = el("div.editor"), state = el("div.edit-state"),
    about = el("div.about"), past = el("div.past");
  // A browser offers the clipboard only to pages of a secure origin.
  const copied = el("span.faint", { role: "status" });
  const copy = (label, textOf) => button(label, async () => {
    const problem = await navigator.clipboard.writeText(textOf()).catch(error => error);
    copied.textContent = problem?.message ?? texts.setting.copied;
  });
  const copyValue = copy(texts.setting.copyValue, () => {
    const value = currentValue(store.at(key));
    return typeof value === "string" ? value : print(value);
  });
  const copies = el("div.buttons", copy(texts.setting.copyKey, () => key), copyValue,
    copy(texts.setting.copyCurl, () => curlCommand(suitePath(store.suite, "keys", key))), copied);
  const heading = el("h2", { tabindex: -1, id: newID() }, bdi(key));
  const element = el("div.panel-body", { role: "group", "aria-labelledby": heading.id },
    panelHead(back, heading), pendingBox, task, editorBox, state, about, navigator.clipboard && copies, past);

  function change(edit) {
    shown = "value" in edit ? edit.value : noValue;
    tray.edit(store.at(key), edit);
  }

  // Keeps the editor while its schema stays the same, so that the editor keeps the focus and the cursor.
  function drawEditor(setting) {
    const schema = resolveRefs(setting.schema);
    const edit = tray.at(store.suite, key);
    const isDisabled = !setting.writable && !(edit?.overrides || isUnlocked(setting));
    const value = edit && "value" in edit ? edit.value : edit?.remove ? schema.default : currentValue(setting);
    // Without a schema, the value decides the kind of editor, so a key that becomes set or unset gets another editor. A text with
    // a CR has another editor, because a text area would replace each CR.
    const inputs = [print(setting.schema), isDisabled, setting.schema || setting.source === "unset", isSecret(setting),
      /\r/.test(currentValue(setting))].join();
    if (inputs !== editorInputs || !editor) {
      editorInputs = inputs;
      editor = makeEditor(setting.schema, value, {
        root: setting.schema, label: texts.setting.value, isDisabled, isSecret: isSecret(setting), change,
        done: () => back(true),
      });
      editorBox.replaceChildren(editor.element);
    } else if (!edit?.mistake && (shown === noValue || print(shown) !== print(value))) {
      editor.set(value);
    }
    if (!edit?.mistake) shown = value;
    editor.fail(edit?.mistake ? [{ detail: edit.mistake }] : edit ? edit.errors : setting.source === "invalid"
      ? setting.errors || [] : []);
  }

  // The revision at which the person unlocked the setting. The next revision locks the setting again.
  let unlocked = null;
  const isUnlocked = setting => unlocked === setting.revision;

  const drawAbout = drawnOnChange((setting, isOpen) => {
    const schema = resolveRefs(setting.schema);
    const { title, description, deprecated } = schema;
    const text = [title, description].filter(Boolean).join(". ");
    const isLong = text.length > 180;
    const focused = about.contains(document.activeElement);
    about.replaceChildren(...[
      el("p.facts", sourceBadge(setting.source), " ", setting.schema ? summary(schema) : texts.setting.noSchema),
      deprecated && el("p.notice", texts.setting.deprecated),
      text && el("p", { dir: "auto", class: isLong && !isOpen && "clamped" }, text),
      isLong && button(isOpen ? texts.setting.less : texts.setting.more,
        () => { isDescriptionOpen = !isOpen; update(); }, { class: "link", "aria-expanded": String(isOpen) }),
      "default" in schema && el("p.facts", texts.setting.default,
        shownValue({ value: schema.default, source: "default", isSecret: isSecret(setting) })),
      setting.modified && el("p.facts", setting.source === "stored" ? texts.setting.setAt : texts.setting.since,
        changeInfo(setting),
        el("span.faint", texts.setting.revision(setting.revision))),
      isSecret(setting) && el("p.facts", texts.setting.secret),
    ].filter(Boolean));
    if (focused) (about.querySelector("button") || heading).focus();
  });

  // The pending revert stays the same element until it changes, so that a button keeps the focus.
  let shownPending;
  function drawPending({ pending }) {
    if (isSamePending(pending, shownPending) || pendingBox.querySelector("[aria-busy=true]")) return;
    shownPending = pending;
    // The reason why the action could not be ended stays.
    if (!pending && pendingBox.querySelector(".error:not([hidden])")) return;
    const hasFocus = pendingBox.contains(document.activeElement);
    // The list of settings has pending actions without their `suites`. The page then assumes that the action concerns only
    // this key.
    const action = pending && { suites: [{ suite: store.suite, keys: [key] }], ...pending };
    const number = action?.suites.flatMap(({ keys = [] }) => keys).length;
    pendingBox.replaceChildren(...(action ? [el("div.notice.due", decisionButtons(app, action, {
      about: el("div", el("strong", whenDue(action)), number > 1 && el("p.facts", texts.pending.others(number))),
      onEnd: changes => { app.endPending(changes); drawPending(store.at(key)); },
    }))] : []));
    if (hasFocus) (pendingBox.querySelector("button") || heading).focus();
  }

  const actionButton = (id, label, onclick) => button(label, onclick, { "data-act": id });

  // Replaces the children of an element. The focus stays on a button with the same `data-act`.
  function replace(place, ...children) {
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    place.replaceChildren(...children.filter(Boolean));
    if (focused) (element.querySelector(`[data-act=${focused}]`) || heading).focus();
  }

  // Draws why the person cannot edit, a conflict of the edit with another change, and that the stored value is invalid.
  const drawTask = drawnOnChange((setting, edit, other, canEdit, caller) => {
    const isLocked = resolveRefs(setting.schema).readOnly === true;
    const mayUnlock = isLocked && caller.may("override", store.suite, key) && caller.may("write", store.suite, key);
    replace(task, !canEdit && el("p.notice", isLocked ? texts.setting.locked : texts.setting.noAccess), !canEdit && mayUnlock
        && actionButton("unlock", texts.setting.unlock, () => { unlocked = setting.revision; update(); editor.focus(); }),
      other && conflictChoice(tray, edit),
      setting.source === "invalid" && el("p.notice.bad", texts.setting.invalid));
  });

  const drawState = drawnOnChange((setting, edit, canEdit, failure) => {
    replace(state, edit && failure && el("p.notice.bad", failure), el("div.buttons", {},
        isStored(setting) && canEdit && !edit?.remove && actionButton("reset",
          "default" in resolveRefs(setting.schema) ? texts.setting.reset : texts.setting.remove,
          () => { tray.edit(setting, { remove: true }); announce(texts.setting.willReset); }),
        setting.source === "default" && !edit && canEdit && !isSecret(setting)
          && actionButton("keep", texts.setting.store, () => tray.edit(setting, { value: setting.value, storesDefault: true })),
        edit && actionButton("drop", texts.setting.drop, () => { tray.remove(edit); editor.focus(); })));
  });

  const drawPast = throttled(30, async () => {
    const setting = store.at(key);
    if (isGone || pastRevision === setting.revision || setting.revision === 0) return;
    pastRevision = setting.revision;
    if (!past.hasChildNodes()) past.replaceChildren(el("h3", texts.common.history), loading());
    const read = () => get(suitePath(store.suite, "history"), { key, limit: 6 });
    const answer = await retryRead(read, () => {}, () => isGone);
    if (answer) showPast(setting, answer.body.commits);
    else past.querySelector(".loading")?.remove();
  });

  function showPast(setting, commits) {
    const entry = (commit, index) => {
      const change = commit.changes.find(each => each.key === key);
      const mayPutBack = index > 0 && setting.writable && !change?.secret && !isSecret(setting) && change?.source !== "invalid";
      return change && el("li", el("div", shownValue(newSide(change, isSecret(setting))), " ", sourceBadge(change.source)),
        el("div.faint", changeInfo(commit)),
        mayPutBack && button(texts.setting.putBack, () => {
          tray.edit(store.at(key), change.source === "stored" ? { value: change.new } : { remove: true });
        }, texts.setting.putBackRevision(change.revision)));
    };
    past.replaceChildren(el("h3", texts.common.history), el("ol.past-list", commits.map(entry)),
      el("a", { href: app.link(store.suite, null, { history: "", key }) }, texts.setting.fullHistory));
  }

  function update(keys) {
    if (isGone || (keys && !keys.includes(key))) return;
    const setting = store.at(key);
    drawPending(setting);
    drawEditor(setting);
    const edit = tray.at(store.suite, key);
    const canEdit = setting.writable || isUnlocked(setting);
    drawAbout(setting, isDescriptionOpen);
    drawTask(setting, edit, edit?.other, canEdit, app.caller);
    drawState(setting, edit, canEdit, tray.failure || tray.problem);
    if (edit && isUnlocked(setting) && !edit.overrides) tray.override(edit, true);
    copyValue.hidden = isSecret(setting) || currentValue(setting) === undefined;
    drawPast();
  }

  // A key that the daemon does not list may have a schema, by `patternProperties` or `additionalProperties`.
  async function lookUp() {
    if (!store.settings.has(key) && store.exists)
      await retryRead(() => store.refresh(key).then(() => true), () => {}, () => isGone);
    update();
  }

  lookUp();
  update();
  return { element, update, focus: () => (store.at(key).writable || isUnlocked(store.at(key)) ? editor.focus() : heading.focus()),
    leave: () => { isGone = true; drawPast.cancel(); } };
}
