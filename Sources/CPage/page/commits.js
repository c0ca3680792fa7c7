// The list of commits that the history of a suite and the changes of all suites share.
import { persist } from "./api.js";
import { newSide, oldSide } from "./changes.js";
import { alarm, bdi, button, el } from "./dom.js";
import { texts } from "./texts.js";
import { difference, time } from "./words.js";

export const page = 50;
const mostShown = 100;

// A list of changes, each with its key and both values. `name` makes the element for a key.
export function changeList(changes, action, name = key => bdi(key)) {
  return el("ul.changes", changes.slice(0, mostShown).map(change =>
    el("li", el("strong", name(change.key)), difference(oldSide(change), newSide(change)), action?.(change))),
    changes.length > mostShown
      && el("li.faint", texts.history.moreChanges(changes.length - mostShown)));
}

// A row of the list. `buttons` gets a function that shows why an action failed.
export function commitRow(commit, schemaChange, buttons, place, name) {
  const title = [commit.schema && texts.common.schema, commit.dropped && texts.history.dropped,
    commit.changes.length && texts.history.changes(commit.changes.length)].filter(Boolean).join(", ")
    || texts.history.noChanges;
  const trouble = alarm("p.error");
  return el("li.commit", el("div.commit-head", place, el("strong", title), " ", time(commit.time),
    commit.by && [texts.common.by, bdi(commit.by)], commit.note && bdi(commit.note, "q"),
    el("span.faint", texts.history.revision(commit.revision)),
    el("span.commit-buttons", buttons(trouble.show))),
    trouble, commit.schema && schemaChange(commit.revision), changeList(commit.changes, null, name));
}

// `read(next, count)` returns `{ commits, next }`: the newest commits, or the commits before `next`. `none()` is the text
// of an empty list, and `waiting()` the number of new commits after a reading. New commits wait behind the button
// `newer`, so that no row moves under the pointer.
export function commitList({ read, row, none, isGone, waiting = () => 0 }) {
  let commits = [], next, turn = 0;
  // The element of each commit. A row stays the same element, so that the focus and the pointer stay on the commit.
  const rows = new Map();
  const id = ({ suite, revision }) => `${suite} ${revision}`;
  const failure = alarm();
  // The button keeps its place while it is empty.
  const newer = button("", () => load(false), { class: "newer" });
  const list = el("ol.commits");
  const more = button(texts.history.older, () => load(true), { hidden: true });

  async function load(isMore) {
    const mine = turn += 1;
    const body = await persist(() => read(isMore ? next : undefined, commits.length), failure.tell,
      () => isGone() || mine !== turn);
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
    newer.classList.toggle("is-empty", !number);
    newer.disabled = !number;
  }

  function draw() {
    const shown = new Set(commits.map(id));
    for (const [name, row] of rows) if (!shown.has(name)) { row.remove(); rows.delete(name); }
    list.querySelector(".empty")?.remove();
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
  return { newer, load, countNewer, showNewer, elements: [failure, list, more] };
}
