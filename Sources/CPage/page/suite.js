// A suite: a tree of its settings by the dots in their names, and the panel of the open setting.
import { curlCommand, get, retryRead } from "./api.js";
import { errorLine, ask, bdi, button, debounced, el, loading, throttled, announce, sign, toast } from "./dom.js";
import { hasSchemaDraft } from "./drafts.js";
import { isNumber } from "./exact.js";
import { List, headings, searchField, wordsOf } from "./list.js";
import { menu } from "./menu.js";
import { lazyPart, withModule } from "./modules.js";
import { countdown } from "./pending.js";
import { resolveRefs } from "./schema.js";
import { settingPanel } from "./setting.js";
import { Store, isSecret, currentValue, stateOf, suitePath } from "./store.js";
import { texts } from "./texts.js";
import { naturalSortKey, treeRows } from "./tree.js";
import { shortText, shownValue, sourceBadge, time } from "./words.js";

// The pause in ms between two requests for the commits that the clients have applied. The event stream of a suite has no reports of
// clients.
export const clientInterval = 3000;

const transfer = (name, ...values) => withModule("./transfer.js", module => module[name](...values));

export function suiteView(app, firstRoute) {
  const { suite } = firstRoute;
  // A part is the view of a tab. `settings`: the part with the settings, once it was shown; `isCreating`: the person creates the
  // suite, as the parameter `create` of an address says; `isWaiting`: the page must ask the daemon for the clients again.
  let route = firstRoute, part = null, settings = null, isGone = false, isCreating = false;
  let clientTimer = 0, isWaiting = true;
  const heading = el("h1", { tabindex: -1 }, bdi(suite));
  const tabs = el("nav.tabs", { "aria-label": texts.suite.parts });
  const failure = errorLine();
  // If the page has the address of the link already, the browser ignores a click, but the click must set the filter again.
  const invalid = el("a.mark.bad", { href: app.link(suite, null, { show: "invalid" }), hidden: true, onclick: event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    app.go(suite, null, { show: "invalid" });
  } });
  const body = el("div.part-view", loading());
  const mayManage = app.caller.may("schema", suite);
  const actions = menu(texts.manage.actions(suite), () => [
    [texts.compare.title, () => app.go(suite, null, { compare: "" })],
    [texts.suite.export, () => transfer("exportSuite", store)],
    navigator.clipboard && [texts.setting.copyCurl, copyCurl],
    mayManage && [texts.manage.clone, () => manage("cloneSuite")],
    mayManage && [texts.manage.drop, () => manage("dropSuite")]]);
  const manage = name => withModule("./manage.js", module => module[name](app, store, failure.tell));
  const clients = button("", () => withModule("./clients.js", module => module.showClients(suite)),
    { class: "mark", hidden: true });
  const head = el("div.head", heading, actions, tabs, invalid, clients);
  const element = el("div.view", head, failure, body);
  const countInvalid = throttled(200, () => {
    const number = [...store.settings.values()].filter(({ source }) => source === "invalid").length;
    invalid.textContent = texts.suite.invalid(number);
    invalid.hidden = !number;
  });
  // Shows how many clients have applied the revision of the view. Asks again until all present clients have applied this revision.
  const countClients = throttled(300, async () => {
    clearTimeout(clientTimer);
    try {
      if (store.exists && !document.hidden) {
        const target = `${store.cursor.split(".")[0]}.${store.revision}`;
        const { present, applied, failed } = (await get(suitePath(suite, "clients"), { for: target })).body;
        clients.textContent = texts.clients.count(applied, present, failed);
        clients.classList.toggle("bad", failed > 0);
        clients.hidden = !present;
        isWaiting = applied < present;
      }
    } catch (problem) {
      isWaiting = problem.isTransient;
    }
    if (isWaiting && !isGone) clientTimer = setTimeout(countClients, clientInterval);
  });
  const store = new Store(suite, (keys, isReread) => {
    app.tray.compare(store);
    countInvalid();
    countClients();
    actions.hidden = !store.exists;
    if (part && part.name !== partOf(route)) draw();
    for (const each of new Set([part, settings])) each?.change(keys, isReread);
  });

  const tabOf = ({ query }) => ["history", "compare", "schema"].find(name => query.has(name)) || "settings";

  async function copyCurl() {
    const problem = await navigator.clipboard.writeText(curlCommand(suitePath(suite))).catch(error => error);
    toast(problem ? el("p.error", problem.message) : el("p", texts.setting.copied));
  }

  // A suite that does not exist has no settings and no schema until the person decides to create the suite.
  function partOf(route) {
    const name = tabOf(route);
    const isShown = store.exists || name === "history" || isCreating || route.query.has("create")
      || hasSchemaDraft(suite) || app.tray.all.some(edit => edit.suite === suite);
    return isShown ? name : "absent";
  }

  function drawTabs() {
    const name = tabOf(route);
    const label = hasSchemaDraft(suite) ? texts.suite.edited : texts.common.schema;
    if (tabs.dataset.shown === `${name} ${label}`) return;
    tabs.dataset.shown = `${name} ${label}`;
    tabs.replaceChildren(...[["settings", texts.common.settings, {}],
      ["history", texts.common.history, { history: "" }], ["compare", texts.compare.title, { compare: "" }],
      ["schema", label, { schema: "" }]].map(([id, label, query]) =>
      el("a", { href: app.link(suite, null, query), "aria-current": id === name ? "page" : null }, label)));
  }

  const create = () => { isCreating = true; draw(); };
  const parts = {
    absent: ["./absent.js", module => module.absentSuite(app, store, create)],
    history: ["./history.js", module => module.historyView(app, store, route)],
    compare: ["./compare.js", module => module.compareView(app, store, route)],
    schema: ["./schemas.js", module => module.schemaView(app, store, drawTabs)],
  };

  function draw() {
    const name = partOf(route);
    actions.hidden = !store.exists;
    drawTabs();
    if (part?.name === name) return part.follow?.(route);
    // Keeps the part with the settings, so that it keeps its search, its closed groups and its scroll position.
    if (part === settings) settings?.pause();
    else part?.leave();
    if (route.query.has("create")) isCreating = true;
    part = name === "settings" ? settings || settingsPart(app, store, route) : lazyPart(...parts[name], "div.scrolls");
    part.name = name;
    body.replaceChildren(part.element);
    if (name !== "settings") return;
    if (settings) settings.follow(route);
    settings = part;
  }

  async function open() {
    const isOpen = await retryRead(() => store.open().then(() => true), failure.tell, () => isGone);
    if (!isOpen) return;
    app.tray.onCommit = changes => store.apply(changes);
    app.endPending = changes => { store.apply(changes); store.readPending(); };
    app.tray.compare(store);
    countInvalid();
    countClients();
    draw();
    if (!document.activeElement?.matches("input, button, a")) part.focus?.();
  }

  open();
  return {
    element, focus: () => heading.focus(),
    follow: next => {
      if (next.suite !== suite) return false;
      route = next;
      if (store.isLoaded) draw();
      return true;
    },
    leave: () => {
      isGone = true;
      countInvalid.cancel();
      countClients.cancel();
      clearTimeout(clientTimer);
      for (const each of new Set([part, settings])) each?.leave();
      store.close();
    },
  };
}

const searchTexts = new WeakMap();

function searchText(setting) {
  let text = searchTexts.get(setting);
  if (text === undefined) {
    const { title = "", description = "" } = resolveRefs(setting.schema);
    const value = setting.value === null || isSecret(setting) ? "" : shortText(setting.value);
    text = `${setting.key} ${title} ${description} ${value}`.toLowerCase();
    searchTexts.set(setting, text);
  }
  return text;
}

const sourceOrder = ["invalid", "stored", "default", "unset"];

function valueOrder(setting) {
  const value = isSecret(setting) ? undefined : currentValue(setting);
  return isNumber(value) ? Number(value) : naturalSortKey(shortText(value, 60));
}

const switchMark = isOn => el("span.toggle", { "data-part": "switch", "data-on": isOn && "", "aria-hidden": "true" });

// The part with the list of settings and the panel. The items of the list are rows of tree.js: `item.setting` or `item.group`.
function settingsPart(app, store, firstRoute) {
  const { tray } = app;
  const closedGroups = new Set();
  let panel = null, key = null, lastRoute = null, isDrawn = false;
  const search = searchField(texts.suite.search, () => list, () => { draw(); keepAddress(); });
  const filter = el("select", { "aria-label": texts.suite.show, onchange: () => { draw(); keepAddress(); } },
    texts.suite.filters.map(([value, label]) => el("option", { value }, label)));
  const total = el("p.count", { "aria-live": "polite" });
  const list = new List({
    label: texts.suite.label(store.suite), role: "tree", itemRole: "treeitem", row, describe, onOpen: open,
    onArrow: turn, onPart: ({ setting }) => toggle(store.at(setting.key)),
    onKey: (event, item) => {
      if (event.key === "Escape" && key !== null) { openKey(null); return true; }
      const setting = item?.setting && store.at(item.setting.key);
      if (!setting || !setting.writable) return false;
      if (event.key === " " && typeof setting.value === "boolean") { toggle(setting); return true; }
      if (event.key === "Delete") { tray.edit(setting, { remove: true }); return true; }
      return false;
    },
  });
  const columns = headings([
    { id: "name", label: texts.suite.setting, keyOf: ({ key }) => naturalSortKey(key) },
    { id: "note", label: texts.suite.description },
    { id: "now", label: texts.setting.value, keyOf: valueOrder },
    { id: "source", label: texts.suite.source, keyOf: ({ source }) => sourceOrder.indexOf(source) },
    { id: "changed", label: texts.suite.changed, keyOf: ({ modified = "" }) => modified, isReversed: true },
  ], draw);
  // The address has the search and the filter, so that a person can send the view to another person.
  const query = () => ({ search: search.value.trim() || undefined, show: filter.value || undefined });
  const openKey = (key, more) => app.go(store.suite, key, { ...query(), ...more });
  const keepAddress = debounced(250, () => {
    // The person may have opened another view meanwhile, which has another address.
    if (location.hash.split("?")[0] === app.link(store.suite, key))
      history.replaceState(null, "", app.link(store.suite, key, query()));
  });
  const mayWrite = app.caller.may("write", store.suite);
  const tools = el("div.tools", search, filter,
    mayWrite && [button(texts.common.add, addSetting, texts.suite.add),
      button(texts.suite.import, () => transfer("openImport", store, app))],
    button(texts.suite.export, () => transfer("exportSuite", store)));
  const empty = el("div.empty", { hidden: true });
  const panelPlace = el("section.panel", { "aria-label": texts.suite.setting, hidden: true });
  const element = el("div.columns", el("div.column", el("div.subhead", tools, total), empty,
    el("div.table", columns.element, list.element)), panelPlace);

  function describe(item) {
    const edit = item.setting && tray.at(store.suite, item.setting.key);
    return { href: item.setting && app.link(store.suite, item.setting.key),
      "aria-level": item.level, "aria-posinset": item.position, "aria-setsize": item.total,
      "aria-expanded": item.group ? String(item.isOpen) : null,
      class: ["row", item.group && "is-group", edit && "is-edited", item.setting && store.isFresh(item.setting.key) && "is-fresh",
        item.setting?.key === key && "is-open"].filter(Boolean).join(" ") };
  }

  function row(item) {
    const name = el("span.name", { title: item.setting?.key }, bdi(item.label));
    if (item.group) {
      name.prepend(sign(item.isOpen ? "▾" : "▸", "span.caret"));
      return [name, el("span.keys-count", texts.common.settingCount(item.size))];
    }
    const { setting } = item;
    const edit = tray.at(store.suite, setting.key);
    const { title, description, deprecated, readOnly } = resolveRefs(setting.schema);
    const note = [title, description].filter(Boolean).join(": ");
    const value = edit && "value" in edit ? edit.value : setting.value;
    const isSwitch = typeof value === "boolean" && setting.writable && !isSecret(setting);
    const revertMark = setting.pending && el("span.mark.due", sign("⟲ "), el("span.unseen", texts.pending.revertsIn),
      countdown(setting.pending.deadline));
    return [
      name, el("span.note", { title: note, dir: "auto" }, deprecated && [el("span.mark", texts.suite.deprecated), " "],
        title && el("b", title), title && description && " ", description),
      // Screen readers skip this switch. With the keyboard, a person presses Space.
      edit ? el("span.now", isSwitch && switchMark(value), edit.mistake ? texts.suite.noValueYet
        : edit.remove ? texts.suite.reset : edit.isSecret ? texts.suite.newSecret
          : shownValue({ value: edit.value }, { onOneLine: true }),
        el("span.mark", edit.other ? texts.suite.conflict : edit.errors.length || edit.mistake ? texts.suite.refused
          : texts.suite.isEdited), revertMark)
        : el("span.now", isSwitch && switchMark(value), shownValue(stateOf(setting), { onOneLine: true }),
          (readOnly || !setting.writable) && el("span.mark", texts.suite.locked), revertMark),
      sourceBadge(setting.source), el("span.changed", time(setting.modified)),
    ];
  }

  function toggle(setting) {
    const edit = tray.at(setting.suite, setting.key);
    const value = !(edit && "value" in edit ? edit.value : setting.value);
    tray.edit(setting, { value });
    announce(texts.suite.turned(setting.key, value));
  }

  function draw() {
    const words = wordsOf(search.value);
    const shownSource = filter.value;
    const isWanted = setting => words.every(word => searchText(setting).includes(word))
      && (!shownSource || (shownSource === "edited" ? tray.at(store.suite, setting.key) : setting.source === shownSource));
    const all = [...store.settings.values()];
    for (const edit of tray.edits.values())
      if (edit.suite === store.suite && !store.settings.has(edit.key)) all.push(store.at(edit.key));
    const isTree = columns.column === "name";
    const found = words.length || shownSource ? all.filter(isWanted) : all;
    if (!isTree) found.sort((one, other) => naturalSortKey(one.key) < naturalSortKey(other.key) ? -1 : 1);
    columns.sort(found);
    const rows = isTree ? treeRows(found, group => words.length > 0 || !closedGroups.has(group))
      : found.map((setting, index) => ({ id: `k:${setting.key}`, setting, label: setting.key, level: 1,
        position: index + 1, total: found.length }));
    for (const item of rows) {
      item.stamp = item.group ? `${item.isOpen} ${item.size} ${item.position} ${item.total}` : stamp(item);
    }
    list.set(rows);
    const stored = all.filter(setting => setting.source === "stored").length;
    total.textContent = found.length === all.length ? texts.suite.total(all.length, stored)
      : texts.common.found(found.length, texts.common.settingCount(all.length));
    list.element.parentElement.hidden = !rows.length;
    empty.hidden = rows.length > 0;
    if (!rows.length) {
      empty.replaceChildren(...(all.length ? [el("p", texts.suite.noMatch)] : [el("h2", texts.suite.none),
        ...(mayWrite ? [el("p", texts.suite.begin), button(texts.suite.add, addSetting, { class: "primary" })] : [])]));
    }
    isDrawn = true;
  }

  function stamp({ setting, label, level, position, total }) {
    const edit = tray.at(store.suite, setting.key);
    return [setting.revision, setting.source, label, level, position, total, setting.key === key,
      store.isFresh(setting.key), setting.pending?.deadline,
      ...(edit ? [edit.mistake, edit.errors.length, Boolean(edit.other), edit.remove ? "" : shortText(edit.value, 60)]
        : [])].join(" ");
  }

  let frame = 0;
  const drawSoon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(draw); };

  // With `by` 1, opens a closed group, or moves to the first child of an open group. With `by` -1, closes an open group, or
  // moves to the parent.
  function turn(item, by) {
    const opens = by > 0;
    if (item.group && item.isOpen !== opens) {
      if (opens) closedGroups.delete(item.group);
      else closedGroups.add(item.group);
      return draw();
    }
    if (opens && item.group) return list.move(list.indexes.get(item.id) + 1);
    if (!opens) {
      for (let index = list.indexes.get(item.id) - 1; index >= 0; index -= 1)
        if (list.items[index].level < item.level) return list.move(index);
    }
  }

  function open(item, event) {
    if (item.group) return turn(item, item.isOpen ? -1 : 1);
    const isKey = event.type === "keydown";
    wantsFocus = isKey || isNarrow();
    openKey(item.setting.key);
  }

  let wantsFocus = false;
  const isNarrow = () => matchMedia("(max-width: 55rem)").matches;
  // On a narrow screen the open setting replaces the list.
  const isListSeen = () => list.element.getClientRects().length > 0;

  function pause() {
    keepAddress.cancel();
    panel?.leave();
    panel = key = null;
  }

  // The panel of a key that does not exist is replaced when the key exists.
  const absentPanel = (key, actions) => Object.assign(lazyPart("./absent.js",
    ({ absentSetting }) => absentSetting(app, store, key, actions), "div.panel-body"), { isAbsent: true });

  const isKnown = ({ key, query }) => store.settings.has(key) || query.has("create") || tray.at(store.suite, key);

  function show(route) {
    const isOther = route.key !== key || !panel || panel.isAbsent;
    const hasFocus = panelPlace.contains(document.activeElement);
    key = route.key;
    lastRoute = route;
    if (["search", "show"].some(name => route.query.has(name))) {
      const [text, shown] = ["search", "show"].map(name => route.query.get(name) || "");
      if (search.value.trim() !== text) search.value = text;
      filter.value = shown;
      draw();
    } else keepAddress();
    if (isOther) {
      panel?.leave();
      // Returns to the list. With `isStaying`, the panel stays open if the list is visible beside the panel.
      const back = isStaying => {
        if (!isStaying || !isListSeen()) openKey(null);
        list.element.focus();
      };
      panel = key === null ? null : isKnown(route) ? settingPanel(app, store, key, { back })
        : absentPanel(key, { back, create: () => { wantsFocus = true; openKey(key, { create: "" }); } });
      panelPlace.hidden = !panel;
      panelPlace.replaceChildren(...(panel ? [panel.element] : []));
      element.classList.toggle("has-panel", Boolean(panel));
      if (key !== null) {
        for (const group of [...closedGroups]) if (key.startsWith(group)) closedGroups.delete(group);
      }
      draw();
      if (key !== null) list.activate(`k:${key}`);
    }
    if (panel && wantsFocus) panel.focus();
    else if (!panel && hasFocus) list.element.focus({ preventScroll: true });
    wantsFocus = false;
  }

  function addSetting() {
    ask(texts.suite.add, texts.common.name, texts.suite.keyHint, { dir: "auto", name: "key" }, (name, close) => {
      if (!name || name === "." || name === ".." || new TextEncoder().encode(name).length > 256)
        return texts.suite.badKey;
      close();
      wantsFocus = true;
      openKey(name, { create: "" });
    });
  }

  const onTrayChange = () => { if (isDrawn) drawSoon(); panel?.update(); };
  tray.listeners.add(onTrayChange);
  element.addEventListener("keydown", event => {
    if (event.key === "Escape" && panelPlace.contains(event.target) && !event.defaultPrevented)
      { event.preventDefault(); if (isListSeen()) list.element.focus(); else openKey(null); }
  });
  // `store.isFresh` is true for 2500 ms after a change.
  const removeMarks = debounced(2600, () => drawSoon());
  show(firstRoute);
  return {
    element,
    focus: () => { if (firstRoute.key === null || !panel) list.focusWithoutMark(); },
    follow: show, pause,
    change: (keys, isReread) => {
      drawSoon();
      removeMarks();
      if (panel?.isAbsent && isKnown(lastRoute)) show(lastRoute);
      panel?.update(isReread ? undefined : keys);
    },
    leave: () => {
      tray.listeners.delete(onTrayChange);
      panel?.leave();
      for (const each of [removeMarks, keepAddress]) each.cancel();
      cancelAnimationFrame(frame);
    },
  };
}
