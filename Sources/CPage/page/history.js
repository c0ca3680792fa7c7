// The history of a suite: its commits, with filters.
import { get } from "./api.js";
import { commitList, commitRow, pageSize } from "./commits.js";
import { debounced, el, newID, throttled, searchInput } from "./dom.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { undoDialogs } from "./undo.js";

const maxSuggestions = 100;

export function historyView(app, store, route) {
  const target = suitePath(store.suite, "history");
  let isGone = false;
  const suggestions = el("datalist", { id: newID() });
  const filter = (name, label, more) => searchInput(label,
    { value: route.query.get(name) || "", oninput: () => applyFilters(), ...more });
  const key = filter("key", texts.history.onlyKey, { list: suggestions.id, onfocus: suggest });
  const by = filter("by", texts.history.onlyCaller);
  const dialogs = undoDialogs(app, store.suite, () => isGone, () => commits.load(false));

  // The parameters of the key filter. A final `*` asks for all keys that begin with the text before it, unless the whole
  // text is the key of a setting.
  function keys() {
    const text = key.value;
    if (!text) return {};
    return text.endsWith("*") && !store.settings.has(text) ? { prefix: text.slice(0, -1) } : { key: text };
  }

  const query = () => ({ ...keys(), by: by.value.trim() || undefined });

  function suggest() {
    const found = [...store.settings.keys()].filter(each => each.includes(key.value));
    suggestions.replaceChildren(...found.slice(0, maxSuggestions).map(value => el("option", { value })));
  }

  async function read(query) {
    try {
      return (await get(target, query)).body;
    } catch (error) {
      if (error.code === "unknown_suite") return { commits: [] };
      throw error;
    }
  }

  const commits = commitList({
    isGone: () => isGone, none: () => key.value || by.value ? texts.history.noMatch : texts.history.none,
    row: commit => commitRow(app, store.suite, commit, dialogs, { keys }),
    read: (before, count) =>
      read({ limit: before === undefined ? Math.min(1000, Math.max(pageSize, count)) : pageSize, before, ...query() }),
  });
  const reload = debounced(250, () => commits.load(false));
  const lookForNewer = throttled(300, () => commits.countNewer(() => read({ limit: pageSize, ...query() })));
  const element = el("div.scrolls", el("div.subhead", el("div.tools", key, suggestions, by)), commits.elements);

  function applyFilters() {
    suggest();
    const parameters = { history: "", key: key.value || undefined, by: query().by };
    if (location.hash.startsWith(app.link(store.suite, null, { history: "" })))
      history.replaceState(null, "", app.link(store.suite, null, parameters));
    reload();
  }

  return {
    element,
    follow: place => {
      const [wanted, caller] = ["key", "by"].map(name => place.query.get(name) || "");
      if (wanted === key.value && caller === by.value) return;
      [key.value, by.value] = [wanted, caller];
      commits.load(false);
    },
    change: () => lookForNewer(), leave: () => { isGone = true; reload.cancel(); lookForNewer.cancel(); },
  };
}
