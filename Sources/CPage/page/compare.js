// The comparison of a suite with another suite, or with itself at another moment.
import { get, getAll } from "./api.js";
import { changeList } from "./commits.js";
import { errorLine, bdi, button, el, field, newID, announce } from "./dom.js";
import { isSame } from "./exact.js";
import { isSecret, isStored, pageOfKeys, suitePath } from "./store.js";
import { texts } from "./texts.js";
import { schemaDifference, undoDialogs } from "./undo.js";

const maxSuggestions = 1000;

// The settings of a suite, by key. In this file, a side of the comparison is `[suite, at]`; `at` is a revision, a time, or
// undefined: now.
async function settingsAt(suite, at) {
  const { all } = await getAll(suitePath(suite, "keys"), "keys", { at, limit: pageOfKeys });
  return new Map(all.map(setting => [setting.key, setting]));
}

// The changes from one suite to another, and the number of secrets whose values the caller may not read.
async function compareSuites(from, to) {
  const [fromSettings, toSettings] = await Promise.all([settingsAt(...from), settingsAt(...to)]);
  const changes = [];
  let hidden = 0;
  for (const key of new Set([...fromSettings.keys(), ...toSettings.keys()])) {
    const unset = { value: null, source: "unset" };
    const [old, now] = [fromSettings.get(key) || unset, toSettings.get(key) || unset];
    if (old.value === undefined || now.value === undefined) { hidden += 1; continue; }
    // A stored value and an equal default are no difference, unlike an unset or invalid setting.
    if (isSame(old.value, now.value) && (old.source === now.source || ![old.source, now.source].some(source =>
      ["unset", "invalid"].includes(source)))) continue;
    changes.push({ key, old: old.value, oldSource: old.source, new: now.value, source: now.source,
      secret: isSecret(old) || isSecret(now) });
  }
  return { changes: changes.sort((a, b) => a.key < b.key ? -1 : 1), hidden };
}

export function compareView(app, store, route) {
  const { suite } = store;
  let isGone = false, newestRun = 0;
  const suites = el("datalist", { id: newID() });
  const from = el("input", { list: suites.id, placeholder: suite });
  const at = el("input", { placeholder: texts.compare.now });
  const to = el("input", { placeholder: texts.compare.now });
  const failure = errorLine("p.error");
  const result = el("section.comparison", { hidden: true });
  const dialogs = undoDialogs(app, suite, () => isGone, () => compare());
  const isOtherSuite = () => ![suite, ""].includes(from.value.trim());
  const goBack = app.caller.may("write", suite) && button(texts.compare.goBackToFrom,
    () => dialogs.restore(at.value.trim(), {}, failure.show), { hidden: true });
  const form = el("form.compare", { onsubmit: event => {
    event.preventDefault();
    const link = app.link(suite, null, { compare: from.value.trim(), from: at.value.trim() || undefined,
      to: to.value.trim() || undefined });
    if (location.hash === link) compare(true);
    else location.hash = link;
  }, oninput: () => offerGoBack() }, field(texts.compare.from, from), field(texts.compare.at, at),
  field(texts.compare.to, to), suites, el("button.primary", { type: "submit" }, texts.compare.compare), goBack,
  el("p.hint", texts.compare.hint), failure);
  const element = el("div.scrolls", form, result);

  function offerGoBack() {
    if (goBack) goBack.hidden = isOtherSuite() || !at.value.trim();
  }

  async function compare(isSubmitted) {
    const thisRun = newestRun += 1;
    const [left, right] = [[isOtherSuite() ? from.value.trim() : suite, at.value.trim() || undefined],
      [suite, to.value.trim() || undefined]];
    failure.tell();
    result.hidden = true;
    if (left.join() === right.join()) return failure.tell(isSubmitted ? texts.compare.same : "");
    try {
      const found = isOtherSuite() ? await compareSuites(left, right)
        : (await get(suitePath(suite, "diff"), { from: left[1] ?? store.revision, to: right[1] })).body;
      const schemas = await schemaDifference(left, right);
      if (isGone || thisRun !== newestRun) return;
      show(left, right, found, schemas);
    } catch (error) {
      if (!isGone && thisRun === newestRun) failure.show(error.message);
    }
  }

  function show(left, right, { changes, hidden }, schemas) {
    const isCopy = isOtherSuite();
    const hasValue = ({ oldSource }) => oldSource === "stored" || isCopy && oldSource === "default";
    // The page can change only the present state, so there is no button if the right side is an earlier moment. An edit of a
    // secret would show its value. An invalid setting has no effective value that the edit could use.
    const mayUse = change => !right[1] && !change.secret && change.oldSource !== "invalid"
      && store.at(change.key).writable && app.caller.may("write", suite, change.key) && (hasValue(change) || isStored(change));
    const useValues = all => {
      for (const change of all)
        app.tray.edit(store.at(change.key), hasValue(change) ? { value: change.old } : { remove: true });
      announce(texts.compare.willUse(all.length));
    };
    const usable = changes.filter(mayUse);
    result.replaceChildren(el("h2", { tabindex: -1 }, texts.compare.differences(texts.compare.place(...left),
      texts.compare.place(...right), changes.length)),
    hidden ? el("p.faint", texts.compare.hidden(hidden)) : "",
    Array.isArray(schemas) ? el("details", el("summary", texts.compare.schemas), schemas) : "",
    changeList(changes, { name: key => el("a", { href: app.link(suite, key) }, bdi(key)), action: change => mayUse(change)
      && button(texts.compare.use(isCopy), () => useValues([change]), texts.compare.useKey(isCopy, change.key)) }),
    usable.length > 1 ? el("div.buttons", button(texts.compare.useAll(isCopy, usable.length), () => useValues(usable))) : "");
    result.hidden = false;
    result.querySelector("h2").focus();
  }

  function follow(place) {
    [from.value, at.value, to.value] = ["compare", "from", "to"].map(name => place.query.get(name) || "");
    offerGoBack();
    compare();
  }

  // If this request fails, the field `from` has no suggestions.
  get("v1/suites", { limit: maxSuggestions }).then(({ body }) =>
    suites.append(...body.suites.map(each => el("option", { value: each.suite }))), () => {});
  follow(route);
  return { element, follow, change: () => {}, leave: () => { isGone = true; } };
}
