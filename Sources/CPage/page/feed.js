// The changes of all suites: their commits, newest first.
import { Watch, get, getSuites } from "./api.js";
import { commitList, commitRow, pageSize } from "./commits.js";
import { bdi, debounced, el, searchInput } from "./dom.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { undoDialogs } from "./undo.js";

// Limits of `Feed.read`: suites that are read at the same time, requests, and suites whose commits are in memory.
const maxParallel = 6, maxReads = 60, maxSuites = 200;
const maxNewer = 1000;
const hour = 3_600_000;
const spans = { hour, day: 24 * hour, week: 168 * hour };

// Merges the histories of all suites by revision. If the next commit can be in a suite without commits in memory, reads this suite
// and the next suites of this kind in the order of `bound`, at most `maxParallel` together.
export class Feed {
  // A suite has the `commits` that were read but not returned, the maximum revision `bound` of its next commit, and the
  // parameter `before` of its next request. `newest` is a revision, and `since` a time in ms.
  constructor(suites, newest, { by, isWanted, since }) {
    Object.assign(this, { by, isWanted, since, found: [], oldestTime: undefined });
    this.suites = suites.map(({ suite, revision }) =>
      ({ suite, commits: [], bound: Math.min(revision, newest), before: newest + 1 }));
  }

  close() { this.isClosed = true; }

  get isAtEnd() { return !this.suites.length; }

  // Returns the next commits that match: a page, or fewer at the end or after `maxReads` requests. The call can be repeated after an
  // error.
  async read() {
    let reads = 0;
    while (this.found.length < pageSize && this.suites.length) {
      const { suites } = this;
      suites.sort((one, other) => other.bound - one.bound);
      if (suites[0].commits.length) {
        this.#takeCommit(suites[0]);
      } else {
        if (reads >= maxReads || this.isClosed) break;
        const unread = suites.filter(each => !each.commits.length).slice(0, maxParallel);
        reads += unread.length;
        await Promise.all(unread.map(each => this.#readSuite(each)));
        // Keeps the commits of `maxSuites` suites in memory. The feed reads the dropped commits of the other suites again later.
        for (const each of suites.filter(each => each.commits.length).slice(maxSuites))
          Object.assign(each, { commits: [], before: each.bound + 1 });
      }
      this.suites = this.suites.filter(each => each.bound > 0);
    }
    return this.found.splice(0);
  }

  async #readSuite(each) {
    try {
      const { body } = await get(suitePath(each.suite, "history"), { limit: pageSize, before: each.before, by: this.by });
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

export function feedView(app, route) {
  // `newer`: the revisions of commits that the stream delivered since the list was read.
  let isGone = false, feed = null, watch = null, newer = [];
  const filter = (name, label) => searchInput(label, { name, oninput: () => applyFilters() });
  const filters = [
    el("select", { name: "since", "aria-label": texts.feed.time, onchange: () => applyFilters() },
      texts.feed.times.map(([value, label]) => el("option", { value }, label))),
    filter("by", texts.history.onlyCaller), filter("note", texts.feed.onlyNote)];
  const [since, by, note] = filters;
  setFilters(route);
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
    feed = new Feed(all, newest, { by: caller(), isWanted, since: Date.now() - (spans[since.value] ?? Infinity) });
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
      return commitRow(app, suite, commit, dialogs, { suiteLink: el("a", { href: app.link(suite) }, bdi(suite)),
        name: key => el("a", { href: app.link(suite, key) }, bdi(key)) });
    },
  });

  // Counts a new commit, unless the filters exclude it. A commit without changes, such as a commit of a schema, and a `reset`
  // count. The event `state` is the state at the beginning of the stream, and no commit.
  function countNewCommit(event, { revision, changes = [] }) {
    const isExcluded = changes.length > 0 && !changes.some(change =>
      (!caller() || change.by === caller()) && isWanted(change));
    if (event === "state" || isExcluded || newer.length >= maxNewer) return;
    newer.push(revision);
    commits.showNewer(newer.length, maxNewer);
  }

  const applyFilters = debounced(250, () => {
    const query = { changes: "" };
    for (const { name, value } of filters) if (value.trim()) query[name] = value.trim();
    // The person may have opened another view meanwhile, which has another address.
    if (location.hash.startsWith("#/?changes")) history.replaceState(null, "", app.link(null, null, query));
    commits.load(false);
  });

  // Sets the filters from the address. Returns true if a filter changed.
  function setFilters({ query }) {
    const values = filters.map(({ name }) => query.get(name) || "");
    const isChanged = filters.some((each, index) => each.value.trim() !== values[index]);
    filters.forEach((each, index) => { each.value = values[index]; });
    return isChanged;
  }

  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.feed.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.feed.title), count, el("div.tools", filters)), commits.elements);
  return { element, focus: () => element.querySelector("h1").focus(),
    follow: place => {
      if (place.suite !== null || !place.query.has("changes")) return false;
      if (setFilters(place)) commits.load(false);
      return true;
    },
    leave: () => { isGone = true; applyFilters.cancel(); feed?.close(); watch?.close(); } };
}
