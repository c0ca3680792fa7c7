// The search for settings in all suites, by key, title and description. Values are not searched, because the search
// must not reveal a secret.
import { emit, get, getSuites, persist } from "./api.js";
import { alarm, bdi, button, debounced, el, say, searchInput } from "./dom.js";
import { wordsOf } from "./list.js";
import { resolve } from "./schema.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";

// Limits: suites that are read at the same time, keys of an answer, requests and results before the person continues,
// and keys in memory.
const width = 4, pageOfKeys = 1000, mostRequests = 200, mostResults = 500, mostKept = 50_000;

export function searchView(app, first) {
  let isGone = false, turn = 0, suites = [], done = 0, found = 0, words = [];
  // The keys of suites that were read, so that the next letter of a search does not read them again.
  const known = new Map();
  let kept = 0;
  const input = searchInput(texts.search.label,
    { value: first.query.get("search") || "", oninput: () => begin() });
  const progress = el("p.count");
  const failure = alarm();
  const results = el("div.results");
  const more = button(texts.search.continue, () => searchOn(), { hidden: true });
  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.search.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.search.title), progress, el("div.tools", input)),
    failure, results, more);

  const begin = debounced(300, () => {
    if (location.hash.startsWith("#/?search"))
      history.replaceState(null, "", app.link(null, null, { search: input.value.trim() }));
    search();
  });

  async function search() {
    const mine = turn += 1;
    words = wordsOf(input.value);
    results.replaceChildren();
    more.hidden = true;
    progress.textContent = "";
    if (!words.length) return;
    const answer = await persist(getSuites, failure.tell, () => isGone || mine !== turn);
    if (!answer) return;
    emit("status", true);
    [suites, done, found] = [answer.all, 0, 0];
    searchOn();
  }

  // Searches the next suites, until a limit is reached.
  async function searchOn() {
    const mine = turn += 1;
    const last = found + mostResults;
    let requests = 0;
    more.hidden = true;
    while (done < suites.length && requests < mostRequests && found < last) {
      const next = suites.slice(done, done + width);
      const read = () => Promise.all(next.map(suite => searchSuite(suite, () => { requests += 1; })));
      const matches = await persist(read, failure.tell, () => isGone || mine !== turn);
      if (!matches) return;
      matches.forEach((settings, index) => show(next[index].suite, settings));
      done += next.length;
      progress.textContent = texts.search.progress(found, done, suites.length);
    }
    more.hidden = done >= suites.length;
    progress.textContent = texts.search.progress(found, done, suites.length);
    say(progress.textContent);
  }

  // Returns the settings of a suite that match, at most one more than are shown.
  async function searchSuite({ suite, revision }, countRequest) {
    const id = `${suite} ${revision}`;
    const isMatch = ({ text }) => words.every(word => text.includes(word));
    if (known.has(id)) return known.get(id).filter(isMatch);
    let all = [], matches = [], after;
    try {
      do {
        countRequest();
        const { body } = await get(suitePath(suite, "keys"), { limit: pageOfKeys, after });
        const settings = body.keys.map(searched);
        matches = matches.concat(settings.filter(isMatch)).slice(0, mostResults + 1);
        all = kept + all.length + settings.length > mostKept ? null : all?.concat(settings);
        after = body.next;
      } while (after !== undefined);
    } catch (error) {
      if (error.code !== "unknown_suite") throw error;
    }
    if (all) {
      known.set(id, all);
      kept += all.length;
    }
    return matches;
  }

  function searched({ key, schema }) {
    const { title, description } = resolve(schema);
    const note = [title, description].filter(Boolean).join(". ");
    return { key, note, text: `${key} ${note}`.toLowerCase() };
  }

  function show(suite, settings) {
    if (!settings.length) return;
    found += settings.length;
    const shown = settings.slice(0, mostResults);
    results.append(el("section.card", el("h2", el("a", { href: app.link(suite) }, bdi(suite))),
      el("ul.changes", shown.map(({ key, note }) =>
        el("li", el("a", { href: app.link(suite, key) }, bdi(key)), note && bdi(note, "span.note"))),
      settings.length > shown.length && el("li.faint", texts.search.more))));
  }

  search();
  return { element, focus: () => input.focus(),
    follow: place => {
      if (place.suite !== null || !place.query.has("search")) return false;
      const text = place.query.get("search");
      if (text !== input.value.trim()) { input.value = text; search(); }
      return true;
    },
    leave: () => { isGone = true; begin.cancel(); } };
}
