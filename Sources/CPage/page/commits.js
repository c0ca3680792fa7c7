// The list of commits in the history of a suite and in the changes of all suites.
import { retryRead } from "./api.js";
import { newSide, oldSide } from "./changes.js";
import { difference } from "./difference.js";
import { bdi, button, el, errorLine, loading } from "./dom.js";
import { menu } from "./menu.js";
import { texts } from "./texts.js";
import { time } from "./words.js";

export const pageSize = 50;
// The number of changes that one press of "Show more changes" adds, and the number that the row of a commit shows at first.
const maxMore = 100, maxInRow = 3;

// A list of changes, each with its key and both values. A button shows the changes after the first `first` changes, unless only
// one change follows.
// `name(key, suite)` makes the element for a key, and `action(change)` a button for a change.
export function changeList(changes, { action, name, first = maxMore } = {}) {
  let shown = 0;
  const more = button("", () => {
    const next = show(maxMore)[0];
    if (shown === changes.length) next.focus();
  }, { class: "quiet" });
  const moreItem = el("li.more", more);
  const list = el("ul.changes", moreItem);

  function show(number) {
    const items = changes.slice(shown, shown + number).map(change => el("li", { tabindex: -1 },
      el("strong", (name || bdi)(change.key, name && change.suite)), difference(oldSide(change), newSide(change)),
      action?.(change)));
    moreItem.before(...items);
    shown += items.length;
    if (shown === changes.length) moreItem.remove();
    else more.textContent = texts.history.showMore(changes.length - shown);
    return items;
  }

  show(changes.length === first + 1 ? first + 1 : first);
  return list;
}

// A list of settings with reasons, such as the errors of values that a schema does not allow. An entry without a key is about
// the whole suite.
export const mistakeList = all => el("ul.mistakes", all.map(({ key, errors = [] }) =>
  el("li", key ? bdi(key, "strong") : texts.schemas.wholeSuite, ": ", errors.map(error => error.detail).join("; "))));

// A row of the list, with a menu of actions. `dialogs`: the `undoDialogs` of the suite. `suiteLink`: a link to the suite if
// the list has several suites. `keys()` says which settings "Go back" concerns: undefined for all, `{ key }` or
// `{ prefix }`.
export function commitRow(app, suite, commit, dialogs, { suiteLink, name, keys = () => undefined } = {}) {
  const { revision, changes, by, note } = commit;
  const failure = errorLine("p.error");
  const mayWrite = app.caller.may("write", suite);
  return el("li.commit", el("div.commit-head", suiteLink, time(commit.time), el("span.faint", texts.history.revision(revision)),
      by && el("span", texts.common.by, bdi(by))),
    el("div.commit-body", commit.dropped && el("strong", texts.history.dropped), note && bdi(note, "q"),
      commit.schema && dialogs.schemaChange(revision),
      changes.length ? changeList(changes, { name, first: maxInRow })
        : !commit.schema && !commit.dropped && el("span.faint", texts.history.noChanges),
      failure),
    menu(texts.history.actions(revision, suiteLink && suite), () => [
      mayWrite && [texts.history.undoThis, () => dialogs.undo(commit, failure.show)],
      mayWrite && [texts.history.goBackHere, () => dialogs.restore(revision, keys(), failure.show)],
      [texts.history.compareWithNow, () => app.go(suite, null, { compare: "", from: revision })]]));
}

// `read(next, count)` returns `{ commits, next }`: the newest commits, or the commits before `next`; `count` is the number of
// commits in the list. `none()` returns the text of an empty list, `waiting()` the number of newer commits. A list that is not empty
// gets newer commits only when the person presses the button `newer`, so that no row moves under the pointer.
export function commitList({ read, row, none, isGone, waiting = () => 0 }) {
  // The number of the newest call of `load`, and the number of the call that waits for its answer, or 0.
  let commits = [], next, newestLoad = 0, runningLoad = 0;
  // The element of each commit. `draw` reuses the elements, so that the focus and the pointer stay on a commit.
  const rows = new Map();
  const id = ({ suite, revision }) => `${suite} ${revision}`;
  const failure = errorLine();
  const newer = button("", () => load(false), { class: "newer" });
  const list = el("ol.commits", loading("li"));
  const more = button(texts.history.older, () => load(true), { hidden: true });

  async function load(isMore) {
    // In the list of the changes of all suites, `read` for older commits removes these commits from a buffer (feed.js). A second
    // press must not discard them. A `load(false)` may discard them, because it begins the list and the buffer again.
    if (isMore && runningLoad) return;
    const thisLoad = newestLoad += 1;
    runningLoad = thisLoad;
    const body = await retryRead(() => read(isMore ? next : undefined, commits.length), failure.tell,
      () => isGone() || thisLoad !== newestLoad);
    if (runningLoad === thisLoad) runningLoad = 0;
    if (!body) return;
    commits = isMore ? [...commits, ...body.commits] : body.commits;
    next = body.next;
    more.hidden = next === undefined;
    draw();
  }

  // Counts the newest commits that the list does not have.
  async function countNewer(readNewest) {
    const thisLoad = newestLoad;
    const body = await retryRead(readNewest, failure.tell, () => isGone() || thisLoad !== newestLoad);
    if (!body) return;
    if (!commits.length) return load(false);
    showNewer(body.commits.filter(commit => !rows.has(id(commit))).length, pageSize);
  }

  function showNewer(number, limit) {
    newer.textContent = texts.history.newer(number, limit);
    newer.hidden = !number;
  }

  function draw() {
    const shown = new Set(commits.map(id));
    for (const [name, row] of rows) if (!shown.has(name)) { row.remove(); rows.delete(name); }
    list.querySelector(".empty, .loading")?.remove();
    commits.forEach((commit, index) => {
      if (!rows.has(id(commit))) rows.set(id(commit), row(commit));
      const element = rows.get(id(commit));
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] || null);
    });
    if (!commits.length) list.append(el("li.empty", none()));
    if (document.activeElement === newer)
      (list.querySelector("button") || newer.parentElement.querySelector("input")).focus();
    showNewer(waiting());
  }

  showNewer(0);
  load(false);
  return { load, countNewer, showNewer, elements: [failure, list, more, newer] };
}
