// The past of a suite: its commits, what differs between two places, undoing, and going back to a place.
import { get, newKey, send } from "./api.js";
import { newSide, oldSide } from "./changes.js";
import { alarm, bdi, button, confirm, debounced, el, field, say } from "./dom.js";
import { suitePath } from "./store.js";
import { count, difference, time } from "./words.js";

const page = 50;
const mostShown = 100;

// Changes as a list of keys with both values.
export function changeList(changes, action) {
  return el("ul.changes", changes.slice(0, mostShown).map(change =>
    el("li", bdi(change.key, "strong"), difference(oldSide(change), newSide(change)), action?.(change))),
    changes.length > mostShown
      && el("li.faint", `and ${count(changes.length - mostShown, "more change", "more changes")}`));
}

export function historyView(app, store, first) {
  const target = suitePath(store.suite, "history");
  let commits = [], next, isGone = false, turn = 0;
  const filter = (name, label) => el("input",
    { type: "search", value: first.query.get(name) || "", "aria-label": label, placeholder: label, oninput: () => begin() });
  const key = filter("key", "Only this key"), by = filter("by", "Only this caller");
  const from = el("input", { size: 12 });
  const to = el("input", { size: 12, placeholder: "now" });
  const result = el("section.comparison", { "aria-label": "Comparison", hidden: true });
  const failure = alarm();
  const list = el("ol.commits");
  const more = button("Show older commits", () => load(true));
  const compareForm = el("form.compare", { onsubmit: event => { event.preventDefault(); compare(); } },
    field("From", from), field("To", to), el("button", { type: "submit" }, "Compare"),
    app.caller.may("write", store.suite) && button("Go back to From…", () => restore(from.value.trim() || "0")),
    el("p.hint", "A place is a revision, or a time such as 2026-11-20T18:00:00Z."));
  const element = el("div.scrolls", el("div.subhead", el("div.tools", key, by)),
    el("details.compare-box", el("summary", "Compare or go back to a place"), compareForm), result, failure, list, more);

  const begin = debounced(250, () => load(false));

  async function load(isMore, limit = page) {
    const mine = turn += 1;
    try {
      const { body } = await get(target, { limit, before: isMore ? next : undefined, key: key.value || undefined,
        by: by.value.trim() || undefined });
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
      key.value || by.value ? "No commit is like that." : "Nothing is kept of this suite's past."));
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
        `Compare revision ${commit.revision} with now`),
        mayUndo && [button("Undo…", () => undo(commit), `Undo revision ${commit.revision}`),
          button("Go back to here…", () => restore(commit.revision),
            `Go back to revision ${commit.revision}`)])),
      changeList(commit.changes));
  }

  async function compare() {
    element.querySelector("details").open = true;
    try {
      const { body } = await get(suitePath(store.suite, "diff"),
        { from: from.value.trim() || "0", to: to.value.trim() || undefined });
      if (isGone) return;
      const offerPutBack = ({ key, old, oldSource, secret }) => {
        const setting = store.at(key);
        return !to.value.trim() && !secret && oldSource !== "invalid" && setting.writable && button("Put back", () => {
          app.tray.propose(setting, oldSource === "stored" ? { value: old } : { remove: true });
          say(`${key} is put back, once it is committed`);
        }, `Put back ${key}`);
      };
      result.replaceChildren(el("h2", { tabindex: -1 },
        `From ${from.value.trim() || "0"} to ${to.value.trim() || "now"}: ${count(body.changes.length, "difference")}`),
        body.schemaChanged ? el("p", "The schema is another one, too.") : "", changeList(body.changes, offerPutBack),
        el("div.buttons", button("Close", () => { result.hidden = true; })));
      result.hidden = false;
      failure.tell();
      result.querySelector("h2").focus();
      result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      failure.tell(error.message);
    }
  }

  const undo = ({ revision }) =>
    putBack({ kind: "undo", body: { revision }, title: `Undo revision ${revision}`, label: "Undo" });

  function restore(place) {
    const isRevision = /^\d+$/.test(place), keys = key.value ? [key.value] : undefined;
    putBack({ kind: "restore", body: { to: isRevision ? Number(place) : place, keys }, label: "Go back",
      title: `Go back to ${isRevision ? "revision " : ""}${place}${keys ? `: ${keys}` : ""}` });
  }

  // Shows what an undo or a restore would do, and does it. One that may take more than a commit away is done on the state
  // that was shown, and on no other.
  async function putBack({ kind, body, title, label, query, notice }) {
    const target = suitePath(store.suite, kind);
    let plan;
    try {
      plan = await send("POST", target, { body, query: { ...query, dryRun: true } });
    } catch (problem) {
      const { changes = [], conflicts } = problem.body || {};
      if (problem.code === "changed_since" && !body.force) {
        notice = [el("p.notice.bad", "It was changed since. To undo it takes these later changes away, too:"),
          el("details", el("summary", count(changes.length, "later change")), changeList(changes))];
        return putBack({ kind, body: { ...body, force: true }, title, label: "Undo all the same", notice });
      }
      if (problem.code === "schema_conflict" && kind === "restore" && !query)
        return putBack({ kind, body, title, label, query: { onConflict: "skip" } });
      return failure.tell([problem.message, ...(conflicts || []).map(({ key }) => key)].join(" "));
    }
    if (isGone) return;
    const { changes, changed, skipped = [] } = plan.body;
    const note = el("input", { dir: "auto", value: title.toLowerCase() });
    const once = newKey();
    confirm(title, [notice, skipped.length > 0 && [
      el("p.notice.bad", "The schema does not allow what was stored for these; they stay as they are:"),
      el("ul.mistakes", skipped.map(({ key, errors = [] }) =>
        el("li", bdi(key, "strong"), ": ", errors.map(error => error.detail).join("; "))))],
    changed === false ? el("p", "This changes nothing: what was before is there already.")
      : [el("p", "This will be done:"), changeList(changes)], field("Note", note)],
    label, notice || skipped.length ? "danger" : "primary", async () => {
      try {
        const match = kind === "restore" || body.force ? plan.tag : undefined;
        await send("POST", target, { body, query, note: note.value.trim(), key: once, match });
        say("Done");
      } catch (problem) {
        return problem.code === "precondition_failed"
          ? "The suite changed meanwhile. Cancel, and look again at what this would do." : problem.message;
      }
    });
  }

  const again = debounced(300, () => load(false, Math.min(1000, Math.max(page, commits.length))));
  load(false);
  return {
    element,
    follow: place => {
      const [wanted, caller] = ["key", "by"].map(name => place.query.get(name) || "");
      if (wanted === key.value && caller === by.value) return;
      [key.value, by.value] = [wanted, caller];
      load(false);
    },
    change: () => again(), leave: () => { isGone = true; begin.cancel(); again.cancel(); },
  };
}
