// The search for settings in all suites, by key, title and description. Values are not searched, because the search
// must not reveal a secret.
import { emit, get, getSuites, retryRead } from "./api.js";
import { errorLine, bdi, button, debounced, el, announce, searchInput } from "./dom.js";
import { wordsOf } from "./list.js";
import { resolveRefs } from "./schema.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";

// Limits: suites that are read at the same time, keys of an answer, requests and results before the person continues,
// and keys in memory.
const maxParallel = 4, pageOfKeys = 1000, maxRequests = 200, maxResults = 500, maxKept = 50_000;

export function searchView(app, route) {
  let isGone = false, newestRun = 0, suites = [], done = 0, found = 0, words = [];
  // The keys of suites that were read, so that the next letter of a search does not read them again.
  const readSuites = new Map();
  let keptKeys = 0;
  const input = searchInput(texts.search.label, { value: route.query.get("search") || "", oninput: () => applyFilters() });
  const progress = el("p.count");
  const failure = errorLine();
  const results = el("div.results");
  const more = button(texts.search.continue, () => searchOn(), { hidden: true });
  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.search.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.search.title), progress, el("div.tools", input)),
    failure, results, more);

  const applyFilters = debounced(300, () => {
    if (location.hash.startsWith("#/?search"))
      history.replaceState(null, "", app.link(null, null, { search: input.value.trim() }));
    search();
  });

  async function search() {
    const thisRun = newestRun += 1;
    words = wordsOf(input.value);
    results.replaceChildren();
    more.hidden = true;
    progress.textContent = "";
    if (!words.length) return;
    const answer = await retryRead(getSuites, failure.tell, () => isGone || thisRun !== newestRun);
    if (!answer) return;
    emit("status", true);
    [suites, done, found] = [answer.all, 0, 0];
    searchOn();
  }

  async function searchOn() {
    const thisRun = newestRun += 1;
    const resultLimit = found + maxResults;
    let requests = 0;
    more.hidden = true;
    while (done < suites.length && requests < maxRequests && found < resultLimit) {
      const next = suites.slice(done, done + maxParallel);
      const read = () => Promise.all(next.map(suite => searchSuite(suite, () => { requests += 1; })));
      const matches = await retryRead(read, failure.tell, () => isGone || thisRun !== newestRun);
      if (!matches) return;
      matches.forEach((settings, index) => show(next[index].suite, settings));
      done += next.length;
      progress.textContent = texts.search.progress(found, done, suites.length);
    }
    more.hidden = done >= suites.length;
    progress.textContent = texts.search.progress(found, done, suites.length);
    announce(progress.textContent);
  }

  // Returns the matching settings of a suite, at most one setting more than the view shows.
  async function searchSuite({ suite, revision }, countRequest) {
    // A suite that has changed has another revision, so its keys are read again.
    const id = `${suite} ${revision}`;
    const isMatch = ({ text }) => words.every(word => text.includes(word));
    if (readSuites.has(id)) return readSuites.get(id).filter(isMatch).slice(0, maxResults + 1);
    let all = [], matches = [], after;
    try {
      do {
        countRequest();
        const { body } = await get(suitePath(suite, "keys"), { limit: pageOfKeys, after });
        const settings = body.keys.map(searchable);
        matches = matches.concat(settings.filter(isMatch)).slice(0, maxResults + 1);
        if (all) all = keptKeys + all.length + settings.length > maxKept ? null : all.concat(settings);
        after = body.next;
      } while (after !== undefined);
    } catch (error) {
      if (error.code !== "unknown_suite") throw error;
    }
    if (all) {
      readSuites.set(id, all);
      keptKeys += all.length;
    }
    return matches;
  }

  function searchable({ key, schema }) {
    const { title, description } = resolveRefs(schema);
    const note = [title, description].filter(Boolean).join(". ");
    return { key, note, text: `${key} ${note}`.toLowerCase() };
  }

  function show(suite, settings) {
    if (!settings.length) return;
    found += settings.length;
    const shown = settings.slice(0, maxResults);
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
    leave: () => { isGone = true; applyFilters.cancel(); } };
}
