// The past of a suite: its commits, what differs between two places, and undoing.
import { Problem, get, newKey, send } from "./api.js";
import { difference } from "./changes.js";
import { alarm, bdi, button, confirm, debounced, el, field, say } from "./dom.js";
import { suitePath } from "./store.js";
import { count, time } from "./words.js";

const page = 50;
const mostShown = 100;

const oldSide = change =>
  ({ value: change.oldSource === "unset" ? undefined : change.old, source: change.oldSource, isSecret: change.secret });
const newSide = change =>
  ({ value: change.source === "unset" ? undefined : change.new, source: change.source, isSecret: change.secret });

// Changes as a list of keys with both values.
export function changeList(changes, action) {
  return el("ul.changes", changes.slice(0, mostShown).map(change =>
    el("li", bdi(change.key, "strong"), difference(oldSide(change), newSide(change)), action?.(change))),
    changes.length > mostShown
      && el("li.faint", `and ${count(changes.length - mostShown, "more change", "more changes")}`));
}

export function historyView(app, store, first) {
  const { tray } = app;
  const target = suitePath(store.suite, "history");
  let commits = [], next, isGone = false, turn = 0;
  const key = el("input", { type: "search", value: first.query.get("key") || "", "aria-label": "Only this key",
    placeholder: "Only this key", oninput: () => begin() });
  const from = el("input", { size: 12 });
  const to = el("input", { size: 12, placeholder: "now" });
  const result = el("section.comparison", { "aria-label": "Comparison", hidden: true });
  const failure = alarm();
  const list = el("ol.commits");
  const more = button("Show older commits", () => load(true));
  const compareForm = el("form.compare", { onsubmit: event => { event.preventDefault(); compare(); } },
    field("From", from), field("to", to), el("button", { type: "submit" }, "Compare"),
    el("p.hint", "A place is a revision, or a time such as 2026-11-20T18:00:00Z."));
  const element = el("div.scrolls", el("div.subhead", el("div.tools", key)),
    el("details.compare-box", el("summary", "Compare two places"), compareForm), result, failure, list, more);

  const begin = debounced(250, () => load(false));

  async function load(isMore, limit = page) {
    const mine = turn += 1;
    try {
      const { body } = await get(target, { limit, before: isMore ? next : undefined, key: key.value || undefined });
      if (isGone || mine !== turn) return;
      commits = isMore ? [...commits, ...body.commits] : body.commits;
      next = body.next;
      failure.tell();
      draw();
    } catch (error) {
      if (isGone || mine !== turn) return;
      if (error.code === "unknown_suite") { commits = []; next = undefined; return draw(); }
      failure.tell(error.message);
    }
  }

  function draw() {
    list.replaceChildren(...commits.map(row));
    if (!commits.length) list.replaceChildren(el("li.empty",
      key.value ? "No commit is like that." : "Nothing is kept of this suite's past."));
    more.hidden = next === undefined;
  }

  function row(commit) {
    const mayUndo = app.caller.may("write", store.suite);
    const title = [commit.schema && "Schema", commit.dropped && "Suite dropped",
      commit.changes.length && count(commit.changes.length, "change")].filter(Boolean).join(", ") || "No changes";
    return el("li.commit", el("div.commit-head", el("strong", title), " ", time(commit.time),
      commit.by && [" by ", bdi(commit.by)], commit.note && bdi(commit.note, "q"),
      el("span.faint", ` revision ${commit.revision}`),
      el("span.commit-buttons",
        button("Compare with now", () => { from.value = String(commit.revision); to.value = ""; compare(); },
        { "aria-label": `Compare revision ${commit.revision} with now` }),
        mayUndo && button("Undo", () => undo(commit), { "aria-label": `Undo revision ${commit.revision}` }))),
      changeList(commit.changes));
  }

  async function compare() {
    element.querySelector("details").open = true;
    try {
      const { body } = await get(suitePath(store.suite, "diff"),
        { from: from.value.trim() || "0", to: to.value.trim() || undefined });
      if (isGone) return;
      const isNow = !to.value.trim();
      const putBack = change =>
        tray.propose(store.at(change.key), change.oldSource === "stored" ? { value: change.old } : { remove: true });
      const canPutBack = change => isNow && !change.secret && change.oldSource !== "invalid"
        && store.at(change.key).writable;
      const able = body.changes.filter(canPutBack);
      result.replaceChildren(el("h2", { tabindex: -1 },
        `From ${from.value.trim() || "0"} to ${to.value.trim() || "now"}: ${count(body.changes.length, "difference")}`),
        body.schemaChanged ? el("p", "The schema is another one, too.") : "",
        changeList(body.changes,
          change => canPutBack(change)
          && button("Put back", () => { putBack(change); say(`${change.key} is put back, once it is committed`); },
          { "aria-label": `Put back ${change.key}` })),
        el("div.buttons", able.length > 1
          && button(`Put all ${able.length} back`, () => { able.forEach(putBack); app.review(); }),
          button("Close", () => { result.hidden = true; })));
      result.hidden = false;
      failure.tell();
      result.querySelector("h2").focus();
      result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      failure.tell(error.message);
    }
  }

  // Shows what undoing would do, and does it.
  async function undo(commit) {
    const target = suitePath(store.suite, "undo");
    const body = { revision: commit.revision };
    const note = el("input", { dir: "auto", value: `undo of revision ${commit.revision}` });
    let content, label = "Undo", kind = "primary";
    try {
      const { body: plan } = await send("POST", target, { body, query: { dryRun: true } });
      content = plan.changed === false ? el("p", "This changes nothing: what was before is there already.")
        : changeList(plan.changes);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.code !== "changed_since") return failure.tell(problem.message);
      body.force = true;
      [label, kind] = ["Undo all the same", "danger"];
      content = [el("p.notice.bad", "It was changed since. To undo this takes these later changes away, too:"),
        changeList(problem.body.changes || [])];
    }
    const key = newKey();
    confirm(`Undo revision ${commit.revision}`, [content, field("Note", note)], label, kind, async () => {
      try {
        await send("POST", target, { body, note: note.value.trim(), key });
        say("Undone");
      } catch (problem) {
        return problem.message;
      }
    });
  }

  const again = debounced(300, () => load(false, Math.min(1000, Math.max(page, commits.length))));
  load(false);
  return {
    element,
    follow: place => { const wanted = place.query.get("key") || "";
      if (wanted !== key.value) { key.value = wanted; load(false); } },
    change: () => again(), leave: () => { isGone = true; begin.cancel(); again.cancel(); },
  };
}
