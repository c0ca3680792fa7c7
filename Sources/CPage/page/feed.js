// The changes of all suites: their commits, newest first.
import { Watch, get, getSuites } from "./api.js";
import { commitList, commitRow, page } from "./commits.js";
import { bdi, debounced, el, searchInput } from "./dom.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { undoDialogs } from "./undo.js";

// Limits of one reading: suites that are read at the same time, requests, and suites whose commits are in memory.
const width = 6, mostReads = 60, mostSuites = 200;
const mostNewer = 1000;
const hour = 3_600_000;
const spans = { hour, day: 24 * hour, week: 168 * hour };

// Merges the histories of all suites by revision. A suite is read only when its next commit can be the newest commit.
export class Feed {
  // A suite has its unreturned commits, the revision `bound` that its next commit does not exceed, and the revision
  // `before` that the next request begins at.
  constructor(suites, newest, { by, isWanted, since }) {
    Object.assign(this, { by, isWanted, since, found: [], oldestTime: undefined });
    this.suites = suites.map(({ suite, revision }) =>
      ({ suite, commits: [], bound: Math.min(revision, newest), before: newest + 1 }));
  }

  close() { this.isClosed = true; }

  get isAtEnd() { return !this.suites.length; }

  // Returns the next commits that match, fewer than a page if they are hard to find. After an error, the call can be
  // repeated.
  async read() {
    let reads = 0;
    while (this.found.length < page && this.suites.length) {
      const { suites } = this;
      suites.sort((one, other) => other.bound - one.bound);
      if (suites[0].commits.length) {
        this.#takeCommit(suites[0]);
      } else {
        if (reads >= mostReads || this.isClosed) break;
        const unread = suites.filter(each => !each.commits.length).slice(0, width);
        reads += unread.length;
        await Promise.all(unread.map(each => this.#readSuite(each)));
        // Commits of more suites are not kept. Such a suite is read again from the same commit.
        for (const each of suites.filter(each => each.commits.length).slice(mostSuites))
          Object.assign(each, { commits: [], before: each.bound + 1 });
      }
      this.suites = this.suites.filter(each => each.bound > 0);
    }
    return this.found.splice(0);
  }

  async #readSuite(each) {
    try {
      const { body } = await get(suitePath(each.suite, "history"),
        { limit: page, before: each.before, by: this.by });
      each.commits = body.commits;
      each.before = body.next ?? 1;
    } catch (error) {
      if (error.code !== "unknown_suite") throw error;
      each.before = 1;
    }
    each.bound = each.commits[0]?.revision ?? each.before - 1;
  }

  #takeCommit(each) {
    const commit = { ...each.commits.shift(), suite: each.suite };
    each.bound = each.commits[0]?.revision ?? each.before - 1;
    this.oldestTime = commit.time;
    if (Date.parse(commit.time) < this.since) this.suites = [];
    else if (this.isWanted(commit)) this.found.push(commit);
  }
}

export function feedView(app, first) {
  let isGone = false, feed = null, watch = null, newer = [];
  const filter = (name, label) => searchInput(label, { name, oninput: () => begin() });
  const filters = [
    el("select", { name: "since", "aria-label": texts.feed.time, onchange: () => begin() },
      texts.feed.times.map(([value, label]) => el("option", { value }, label))),
    filter("by", texts.history.onlyCaller), filter("note", texts.feed.onlyNote)];
  const [since, by, note] = filters;
  setFilters(first);
  const caller = () => by.value.trim() || undefined;
  const isWanted = ({ note: text = "" }) => text.toLowerCase().includes(note.value.trim().toLowerCase());
  const count = el("p.count", { "aria-live": "polite" });
  const readBackTo = () => new Date(feed.oldestTime).toLocaleString();

  async function beginFeed() {
    const { all, first } = await getSuites();
    const newest = first.body.revision;
    if (!isGone) watch ||= new Watch("v1/observe", { suitePrefix: "" }, first.cursor, countNewCommit);
    newer = newer.filter(revision => revision > newest);
    feed?.close();
    feed = new Feed(all, newest,
      { by: caller(), isWanted, since: Date.now() - (spans[since.value] ?? Infinity) });
  }

  const commits = commitList({
    isGone: () => isGone, waiting: () => newer.length,
    none: () => feed.isAtEnd ? caller() || note.value || since.value ? texts.history.noMatch : texts.feed.none
      : texts.feed.noMatchSince(readBackTo()),
    read: async next => {
      if (next === undefined) await beginFeed();
      const commits = await feed.read();
      count.textContent = feed.isAtEnd || !feed.oldestTime ? "" : texts.feed.searched(readBackTo());
      return { commits, next: feed.isAtEnd ? undefined : true };
    },
    row: commit => {
      const { suite } = commit;
      const dialogs = undoDialogs(app, suite, () => isGone, () => commits.load(false));
      return commitRow(app, suite, commit, dialogs, { place: el("a", { href: app.link(suite) }, bdi(suite)),
        name: key => el("a", { href: app.link(suite, key) }, bdi(key)) });
    },
  });

  // Counts a new commit that may match the filters. A commit of a schema has no caller in the stream.
  function countNewCommit(event, { revision, changes = [] }) {
    const isOther = changes.length > 0 && !changes.some(change =>
      (!caller() || change.by === caller()) && isWanted(change));
    if (event === "state" || isOther || newer.length >= mostNewer) return;
    newer.push(revision);
    commits.showNewer(newer.length, mostNewer);
  }

  const begin = debounced(250, () => {
    const query = { changes: "" };
    for (const { name, value } of filters) if (value.trim()) query[name] = value.trim();
    // The address may be that of another view already.
    if (location.hash.startsWith("#/?changes")) history.replaceState(null, "", app.link(null, null, query));
    commits.load(false);
  });

  // Sets the filters from the address. Returns true if a filter changed.
  function setFilters({ query }) {
    const values = filters.map(({ name }) => query.get(name) || "");
    const isOther = filters.some((each, index) => each.value.trim() !== values[index]);
    filters.forEach((each, index) => { each.value = values[index]; });
    return isOther;
  }

  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.feed.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.feed.title), count,
      el("div.tools", filters)), commits.elements);
  return { element, focus: () => element.querySelector("h1").focus(),
    follow: place => {
      if (place.suite !== null || !place.query.has("changes")) return false;
      if (setFilters(place)) commits.load(false);
      return true;
    },
    leave: () => { isGone = true; begin.cancel(); feed?.close(); watch?.close(); } };
}
