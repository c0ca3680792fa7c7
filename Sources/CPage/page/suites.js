// The list of suites, with the number of settings and the last commit of each.
import { Watch, get, getSuites, retryRead } from "./api.js";
import { errorLine, ask, bdi, button, el, loading, throttled } from "./dom.js";
import { List, headings, searchField, wordsOf } from "./list.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { naturalSortKey } from "./tree.js";
import { changeInfo } from "./words.js";

// An element with `data-part` is the mark of invalid values: a click on the mark opens the suite and shows only its invalid
// settings.
export function suitesView(app) {
  let suites = [], watch = null, isGone = false;
  // The last commits of suites, by name and revision.
  const lastCommits = new Map();
  const search = searchField(texts.suites.search, () => list, draw);
  const total = el("p.count", { "aria-live": "polite" });
  const list = new List({
    label: texts.common.suites, role: "listbox", itemRole: "option", row,
    describe: item => ({ href: app.link(item.id), "aria-posinset": item.position, "aria-setsize": item.total }),
    onOpen: item => app.go(item.id), onPart: item => app.go(item.id, null, { show: "invalid" }),
  });
  const columns = headings([
    { id: "name", label: texts.suites.suite, keyOf: ({ suite }) => naturalSortKey(suite) },
    { id: "tag", label: texts.common.schema, keyOf: ({ hasSchema }) => hasSchema ? 0 : 1 },
    { id: "keys-count", label: texts.common.settings, keyOf: ({ keyCount }) => keyCount, isReversed: true },
    { id: "invalid", label: texts.suites.invalid, keyOf: ({ invalidCount = 0 }) => invalidCount, isReversed: true },
    { id: "last", label: texts.suites.last, keyOf: ({ revision }) => revision, isReversed: true },
  ], draw);
  const placeholder = loading();
  const empty = el("div.empty", { hidden: true });
  const failure = errorLine();
  const element = el("div.view", el("div.head", el("h1", { tabindex: -1 }, texts.common.suites), total,
    el("div.tools", search, button(texts.search.label, () => app.go(null, null, { search: search.value.trim() })),
      button(texts.suites.new, newSuite))), failure, placeholder, empty,
    el("div.table.suites", { hidden: true }, columns.element, list.element));

  function row({ suite }) {
    const { suite: name, keyCount, invalidCount, hasSchema } = suite;
    const last = el("span.last");
    const commit = lastCommits.get(`${name} ${suite.revision}`);
    if (commit) last.append(whenAndWho(commit));
    else lookUp(suite, last);
    return [el("span.name", bdi(name)), el("span.tag", hasSchema ? texts.suites.schema : ""),
      el("span.keys-count", texts.common.settingCount(keyCount)),
      el("span.invalid", invalidCount ? el("span.mark.bad", { "data-part": "" }, texts.suite.invalid(invalidCount)) : ""),
      last];
  }

  const whenAndWho = ({ time, by }) => el("span", changeInfo({ time, by }));

  // Requests the last commit only for rows that stay in view, because scrolling passes many rows.
  function lookUp(suite, place) {
    setTimeout(async () => {
      if (isGone || !place.isConnected) return;
      try {
        const { body } = await get(suitePath(suite.suite, "history"), { limit: 1 });
        const [commit] = body.commits;
        if (!commit) return;
        lastCommits.set(`${suite.suite} ${suite.revision}`, commit);
        place.replaceChildren(whenAndWho(commit));
      } catch {
        place.textContent = "";
      }
    }, 80);
  }

  function draw() {
    const wanted = wordsOf(search.value);
    const found = suites.filter(({ suite }) => wanted.every(word => suite.toLowerCase().includes(word)));
    list.set(columns.sort(found).map((suite, index) =>
      ({ id: suite.suite, suite, stamp: `${suite.revision} ${suite.keyCount}`, position: index + 1,
      total: found.length })));
    total.textContent = wanted.length ? texts.common.found(found.length, texts.suites.total(suites.length))
      : texts.suites.total(suites.length);
    list.element.parentElement.hidden = !found.length;
    empty.hidden = found.length > 0;
    if (!found.length) {
      empty.replaceChildren(...(wanted.length ? [el("p", texts.suites.noMatch)]
        : [el("h2", texts.suites.none), el("p", texts.suites.what), button(texts.suites.new, newSuite, { class: "primary" })]));
    }
  }

  async function load() {
    const { all, first } = await getSuites();
    suites = all;
    placeholder.remove();
    draw();
    return first.cursor;
  }

  const read = () => retryRead(load, failure.tell, () => isGone);
  const reload = throttled(300, read);

  async function open() {
    const cursor = await read();
    if (cursor === undefined || isGone) return;
    // The event `state` is the state at the beginning of the stream, and no change.
    watch = new Watch("v1/observe", { suitePrefix: "" }, cursor, event => { if (event !== "state") reload(); });
    if (!document.activeElement?.matches("input, button, a")) list.focusWithoutMark();
  }

  function newSuite() {
    ask(texts.suites.new, texts.common.name, texts.suites.nameHint, { name: "suite" }, (text, close) => {
      const name = text.trim();
      if (!/^[\w-][\w.-]{0,127}$/.test(name)) return texts.suites.badName;
      close();
      app.go(name, null, { create: "" });
    });
  }

  open();
  return { element, focus: () => element.querySelector("h1").focus(),
    leave: () => { isGone = true; reload.cancel(); watch?.close(); } };
}
