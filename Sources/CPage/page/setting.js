// The panel of a setting: its description, its editor, and its history.
import { curl, get, persist } from "./api.js";
import { choice, newSide } from "./changes.js";
import { bdi, button, drawnOnChange, el, loading, newID, paced, say } from "./dom.js";
import { makeEditor } from "./editors.js";
import { print } from "./exact.js";
import { decision, whenDue } from "./pending.js";
import { resolve, summary } from "./schema.js";
import { isSamePending, isSecret, isStored, present, suitePath } from "./store.js";
import { texts } from "./texts.js";
import { held, origin, sourceBadge } from "./words.js";

// The content of an editor whose text is no value.
const unclear = Symbol("unclear");

// The head of a panel. A narrow screen shows the first button, and a wide screen the last.
export const panelHead = (back, heading) => el("div.panel-head",
  button("←", () => back(false), { class: "quiet back", "aria-label": texts.setting.back }), heading,
  button("✕", () => back(false), { class: "quiet close", "aria-label": texts.setting.close }));

export function settingPanel(app, store, key, { back }) {
  const { tray } = app;
  let editor = null, made = "", inEditor = unclear, isGone = false, pastOf = null;
  let isTextWhole = false;
  const due = el("div.task"), task = el("div.task"), place = el("div.editor"), state = el("div.edit-state"),
    about = el("div.about"), past = el("div.past");
  // A browser offers the clipboard only to pages of a secure origin.
  const copied = el("span.faint", { role: "status" });
  const copy = (label, textOf) => button(label, async () => {
    const problem = await navigator.clipboard.writeText(textOf()).catch(error => error);
    copied.textContent = problem?.message ?? texts.setting.copied;
  });
  const copyValue = copy(texts.setting.copyValue, () => {
    const value = present(store.at(key));
    return typeof value === "string" ? value : print(value);
  });
  const copies = el("div.buttons", copy(texts.setting.copyKey, () => key), copyValue,
    copy(texts.setting.copyCurl, () => curl(suitePath(store.suite, "keys", key))), copied);
  const heading = el("h2", { tabindex: -1, id: newID() }, bdi(key));
  const element = el("div.panel-body", { role: "group", "aria-labelledby": heading.id },
    panelHead(back, heading), due, task, place, state, about, navigator.clipboard && copies, past);

  function change(edit) {
    inEditor = "value" in edit ? edit.value : unclear;
    tray.propose(store.at(key), edit);
  }

  // Keeps the editor while its schema stays the same, so that the editor keeps the focus and the cursor.
  function drawEditor(setting) {
    const schema = resolve(setting.schema);
    const edit = tray.at(store.suite, key);
    const isDisabled = !setting.writable && !(edit?.overrides || isUnlocked(setting));
    const value = edit && "value" in edit ? edit.value : edit?.remove ? schema.default : present(setting);
    const form = [print(setting.schema), isDisabled, setting.schema || setting.source === "unset",
      isSecret(setting),
      /\r/.test(present(setting))].join();
    if (form !== made || !editor) {
      made = form;
      editor = makeEditor(setting.schema, value, {
        root: setting.schema, label: texts.setting.value, isDisabled, isSecret: isSecret(setting), change,
        done: () => back(true),
      });
      place.replaceChildren(editor.element);
    } else if (!edit?.mistake && (inEditor === unclear || print(inEditor) !== print(value))) {
      editor.set(value);
    }
    if (!edit?.mistake) inEditor = value;
    editor.fail(edit?.mistake ? [{ detail: edit.mistake }] : edit ? edit.errors : setting.source === "invalid"
      ? setting.errors || [] : []);
  }

  // The revision at which the person unlocked the setting. The next revision locks the setting again.
  let unlocked = null;
  const isUnlocked = setting => unlocked === setting.revision;

  const drawAbout = drawnOnChange((setting, isWhole) => {
    const schema = resolve(setting.schema);
    const { title, description, deprecated } = schema;
    const text = [title, description].filter(Boolean).join(". ");
    const isLong = text.length > 180;
    const focused = about.contains(document.activeElement);
    about.replaceChildren(...[
      el("p.facts", sourceBadge(setting.source), " ", setting.schema ? summary(schema) : texts.setting.noSchema),
      deprecated && el("p.notice", texts.setting.deprecated),
      text && el("p", { dir: "auto", class: isLong && !isWhole && "clamped" }, text),
      isLong && button(isWhole ? texts.setting.less : texts.setting.more,
        () => { isTextWhole = !isWhole; update(); }, { class: "link", "aria-expanded": String(isWhole) }),
      "default" in schema && el("p.facts", texts.setting.default,
        held({ value: schema.default, source: "default", isSecret: isSecret(setting) })),
      setting.modified && el("p.facts", setting.source === "stored" ? texts.setting.setAt : texts.setting.since,
        origin(setting),
        el("span.faint", texts.setting.revision(setting.revision))),
      isSecret(setting) && el("p.facts", texts.setting.secret),
    ].filter(Boolean));
    if (focused) (about.querySelector("button") || heading).focus();
  });

  // The pending revert stays the same element until it changes, so that a button keeps the focus.
  let duePending;
  function drawPending({ pending }) {
    if (isSamePending(pending, duePending) || due.querySelector("[aria-busy=true]")) return;
    duePending = pending;
    // The reason why the action could not be ended stays.
    if (!pending && due.querySelector(".error:not([hidden])")) return;
    const hasFocus = due.contains(document.activeElement);
    // The list of settings does not say what else the action concerns.
    const action = pending && { suites: [{ suite: store.suite, keys: [key] }], ...pending };
    const number = action?.suites.flatMap(({ keys = [] }) => keys).length;
    due.replaceChildren(...(action ? [el("div.notice.due", decision(app, action, {
      about: el("div", el("strong", whenDue(action)), number > 1 && el("p.facts", texts.pending.others(number))),
      onEnd: changes => { app.endPending(changes); drawPending(store.at(key)); },
    }))] : []));
    if (hasFocus) (due.querySelector("button") || heading).focus();
  }

  const act = (id, label, onclick) => button(label, onclick, { "data-act": id });

  // Replaces the children of an element. The focus stays on a button with the same `data-act`.
  function replace(place, ...children) {
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    place.replaceChildren(...children.filter(Boolean));
    if (focused) (element.querySelector(`[data-act=${focused}]`) || heading).focus();
  }

  // Draws what the person has to decide before an edit.
  const drawTask = drawnOnChange((setting, edit, other, canEdit, caller) => {
    const isLocked = resolve(setting.schema).readOnly === true;
    const mayUnlock = isLocked && caller.may("override", store.suite, key) && caller.may("write", store.suite, key);
    replace(task,
      !canEdit && el("p.notice", isLocked ? texts.setting.locked : texts.setting.noAccess),
      !canEdit && mayUnlock
        && act("unlock", texts.setting.unlock, () => { unlocked = setting.revision; update(); editor.focus(); }),
      other && choice(tray, edit),
      setting.source === "invalid" && el("p.notice.bad", texts.setting.invalid));
  });

  const drawState = drawnOnChange((setting, edit, canEdit, trouble) => {
    replace(state,
      edit && trouble && el("p.notice.bad", trouble),
      el("div.buttons", {},
        isStored(setting) && canEdit && !edit?.remove && act("reset",
          "default" in resolve(setting.schema) ? texts.setting.reset : texts.setting.remove,
          () => { tray.propose(setting, { remove: true }); say(texts.setting.willReset); }),
        setting.source === "default" && !edit && canEdit && !isSecret(setting)
          && act("keep", texts.setting.store, () => tray.propose(setting, { value: setting.value, isKept: true })),
        edit && act("drop", texts.setting.drop, () => { tray.remove(edit); editor.focus(); })));
  });

  const drawPast = paced(30, async () => {
    const setting = store.at(key);
    if (isGone || pastOf === setting.revision || setting.revision === 0) return;
    pastOf = setting.revision;
    if (!past.hasChildNodes()) past.replaceChildren(el("h3", texts.common.history), loading());
    const read = () => get(suitePath(store.suite, "history"), { key, limit: 6 });
    const answer = await persist(read, () => {}, () => isGone);
    if (answer) showPast(setting, answer.body.commits);
    else past.querySelector(".loading")?.remove();
  });

  function showPast(setting, commits) {
    const entry = (commit, index) => {
      const change = commit.changes.find(each => each.key === key);
      const mayPutBack = index > 0 && setting.writable && !change?.secret && !isSecret(setting)
        && change?.source !== "invalid";
      return change && el("li",
        el("div", held(newSide(change, isSecret(setting))), " ", sourceBadge(change.source)),
        el("div.faint", origin(commit)),
        mayPutBack && button(texts.setting.putBack, () => {
          tray.propose(store.at(key), change.source === "stored" ? { value: change.new } : { remove: true });
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
    drawAbout(setting, isTextWhole);
    drawTask(setting, edit, edit?.other, canEdit, app.caller);
    drawState(setting, edit, canEdit, tray.failure || tray.problem);
    if (edit && isUnlocked(setting) && !edit.overrides) tray.override(edit, true);
    copyValue.hidden = isSecret(setting) || present(setting) === undefined;
    drawPast();
  }

  // A key that the daemon does not list may have a schema, by `patternProperties`.
  async function lookUp() {
    if (!store.settings.has(key) && store.exists)
      await persist(() => store.refresh(key).then(() => true), () => {}, () => isGone);
    update();
  }

  lookUp();
  update();
  return { element, update,
    focus: () => (store.at(key).writable || isUnlocked(store.at(key)) ? editor.focus() : heading.focus()),
    leave: () => { isGone = true; drawPast.cancel(); } };
}
