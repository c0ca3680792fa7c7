// The list of commits that the history of a suite and the changes of all suites share.
import { persist } from "./api.js";
import { newSide, oldSide } from "./changes.js";
import { difference } from "./difference.js";
import { alarm, bdi, button, el, loading } from "./dom.js";
import { menu } from "./menu.js";
import { texts } from "./texts.js";
import { time } from "./words.js";

export const page = 50;
const step = 100, mostInRow = 3;

// A list of changes, each with its key and both values; a button shows the changes after `first`. `name` makes the
// element for a key.
export function changeList(changes, { action, name, first = step } = {}) {
  let shown = 0;
  const more = button("", () => {
    const next = show(step)[0];
    if (shown === changes.length) next.focus();
  }, { class: "quiet" });
  const last = el("li.more", more);
  const list = el("ul.changes", last);

  function show(number) {
    const items = changes.slice(shown, shown + number).map(change => el("li", { tabindex: -1 },
      el("strong", (name || bdi)(change.key, name && change.suite)), difference(oldSide(change), newSide(change)),
      action?.(change)));
    last.before(...items);
    shown += items.length;
    if (shown === changes.length) last.remove();
    else more.textContent = texts.history.showMore(changes.length - shown);
    return items;
  }

  show(changes.length === first + 1 ? first + 1 : first);
  return list;
}

// The settings whose values a schema does not allow, with the reasons. A mistake without a key concerns the whole suite.
export const mistakeList = all => el("ul.mistakes", all.map(({ key, errors = [] }) =>
  el("li", key ? bdi(key, "strong") : texts.schemas.wholeSuite, ": ", errors.map(error => error.detail).join("; "))));

// A row of the list, with a menu of actions. `dialogs` are the dialogs of the suite of the commit, and `place` leads to
// the suite if the list has several. `keys()` chooses the settings of "Go back".
export function commitRow(app, suite, commit, dialogs, { place, name, keys = () => undefined } = {}) {
  const { revision, changes, by, note } = commit;
  const trouble = alarm("p.error");
  const mayWrite = app.caller.may("write", suite);
  return el("li.commit",
    el("div.commit-head", place, time(commit.time), el("span.faint", texts.history.revision(revision)),
      by && el("span", texts.common.by, bdi(by))),
    el("div.commit-body", commit.dropped && el("strong", texts.history.dropped), note && bdi(note, "q"),
      commit.schema && dialogs.schemaChange(revision),
      changes.length ? changeList(changes, { name, first: mostInRow })
        : !commit.schema && !commit.dropped && el("span.faint", texts.history.noChanges),
      trouble),
    menu(texts.history.actions(revision, place && suite), () => [
      mayWrite && [texts.history.undoThis, () => dialogs.undo(commit, trouble.show)],
      mayWrite && [texts.history.goBackHere, () => dialogs.restore(revision, keys(), trouble.show)],
      [texts.history.compareWithNow, () => app.go(suite, null, { compare: "", from: revision })]]));
}

// `read(next, count)` returns `{ commits, next }`: the newest commits, or the commits before `next`. `none()` is the
// text of an empty list, and `waiting()` the number of new commits after a reading. New commits wait behind the button
// `newer`, so that no row moves under the pointer.
export function commitList({ read, row, none, isGone, waiting = () => 0 }) {
  // `reading` is the turn of the reading that runs, or 0.
  let commits = [], next, turn = 0, reading = 0;
  // The element of each commit. A row stays the same element, so that the focus and the pointer stay on the commit.
  const rows = new Map();
  const id = ({ suite, revision }) => `${suite} ${revision}`;
  const failure = alarm();
  // The button is at the end of the list, and stays in view there.
  const newer = button("", () => load(false), { class: "newer" });
  const list = el("ol.commits", loading("li"));
  const more = button(texts.history.older, () => load(true), { hidden: true });

  async function load(isMore) {
    // A reading of the changes of all suites takes its commits out of the feed, so it must not be discarded.
    if (isMore && reading) return;
    const mine = turn += 1;
    reading = mine;
    const body = await persist(() => read(isMore ? next : undefined, commits.length), failure.tell,
      () => isGone() || mine !== turn);
    if (reading === mine) reading = 0;
    if (!body) return;
    commits = isMore ? [...commits, ...body.commits] : body.commits;
    next = body.next;
    more.hidden = next === undefined;
    draw();
  }

  // Counts the commits of `readNewest` that the list does not show yet.
  async function countNewer(readNewest) {
    const mine = turn;
    const body = await persist(readNewest, failure.tell, () => isGone() || mine !== turn);
    if (!body) return;
    if (!commits.length) return load(false);
    showNewer(body.commits.filter(commit => !rows.has(id(commit))).length, page);
  }

  function showNewer(number, most) {
    newer.textContent = texts.history.newer(number, most);
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
