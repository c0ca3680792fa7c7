// The history of a suite: its commits, comparison of two places, undo, and going back to a place.
import { get, newKey, persist, send } from "./api.js";
import { newSide, oldSide } from "./changes.js";
import { alarm, bdi, button, confirm, debounced, el, field, paced, say } from "./dom.js";
import { parse, print } from "./exact.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { difference, time } from "./words.js";

const page = 50;
const mostShown = 100;

// A list of changes, each with its key and both values.
export function changeList(changes, action) {
  return el("ul.changes", changes.slice(0, mostShown).map(change =>
    el("li", bdi(change.key, "strong"), difference(oldSide(change), newSide(change)), action?.(change))),
    changes.length > mostShown
      && el("li.faint", texts.history.moreChanges(changes.length - mostShown)));
}

export function historyView(app, store, first) {
  const target = suitePath(store.suite, "history");
  let commits = [], next, isGone = false, turn = 0;
  // The element of each commit. A row stays the same element, so that the focus and the pointer stay on the commit.
  const rows = new Map();
  const filter = (name, label) => el("input", { type: "search", value: first.query.get(name) || "", "aria-label": label,
    placeholder: label, oninput: () => begin() });
  const key = filter("key", texts.history.onlyKey), by = filter("by", texts.history.onlyCaller);
  const from = el("input", { size: 12 });
  const to = el("input", { size: 12, placeholder: texts.history.now });
  const result = el("section.comparison", { "aria-label": texts.history.comparison, hidden: true });
  const failure = alarm(), compareFailure = alarm("p.error");
  // The bar keeps its place while it is empty, so that a new commit moves nothing.
  const newer = button("", () => load(false), { class: "newer" });
  const list = el("ol.commits");
  const more = button(texts.history.older, () => load(true), { hidden: true });
  const compareForm = el("form.compare",
    { onsubmit: event => { event.preventDefault(); compare(compareFailure.show); } },
    field(texts.history.from, from), field(texts.history.to, to),
    el("button", { type: "submit" }, texts.history.compare),
    app.caller.may("write", store.suite)
      && button(texts.history.goBackToFrom, () => restore(from.value.trim() || "0", compareFailure.show)),
    el("p.hint", texts.history.placeHint), compareFailure);
  const element = el("div.scrolls", el("div.subhead", el("div.tools", key, by, newer)),
    el("details.compare-box", el("summary", texts.history.box), compareForm), result, failure, list,
    more);

  const begin = debounced(250, () => load(false));
  const query = () => ({ key: key.value || undefined, by: by.value.trim() || undefined });

  async function read(query) {
    try {
      return (await get(target, query)).body;
    } catch (error) {
      if (error.code === "unknown_suite") return { commits: [] };
      throw error;
    }
  }

  async function load(isMore) {
    const mine = turn += 1;
    const limit = isMore ? page : Math.min(1000, Math.max(page, commits.length));
    const body = await persist(() => read({ limit, before: isMore ? next : undefined, ...query() }), failure.tell,
      () => isGone || mine !== turn);
    if (!body) return;
    commits = isMore ? [...commits, ...body.commits] : body.commits;
    next = body.next;
    draw();
  }

  // Counts the commits that the list does not show yet.
  const lookForNewer = paced(300, async () => {
    const mine = turn;
    const body = await persist(() => read({ limit: page, ...query() }), failure.tell, () => isGone || mine !== turn);
    if (!body) return;
    const number = body.commits.filter(({ revision }) => !rows.has(revision)).length;
    if (!commits.length) return load(false);
    showNewer(number);
  });

  function showNewer(number) {
    newer.textContent = texts.history.newer(number, page);
    newer.classList.toggle("is-empty", !number);
    newer.disabled = !number;
  }

  function draw() {
    const shown = new Set(commits.map(({ revision }) => revision));
    for (const [revision, row] of rows) if (!shown.has(revision)) { row.remove(); rows.delete(revision); }
    list.querySelector(".empty")?.remove();
    commits.forEach((commit, index) => {
      if (!rows.has(commit.revision)) rows.set(commit.revision, row(commit));
      const element = rows.get(commit.revision);
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] || null);
    });
    if (!commits.length)
      list.append(el("li.empty", key.value || by.value ? texts.history.noMatch : texts.history.none));
    more.hidden = next === undefined;
    if (document.activeElement === newer) (list.querySelector("button") || key).focus();
    showNewer(0);
  }

  function row(commit) {
    const mayUndo = app.caller.may("write", store.suite);
    const title = [commit.schema && texts.common.schema, commit.dropped && texts.history.dropped,
      commit.changes.length && texts.history.changes(commit.changes.length)].filter(Boolean).join(", ")
      || texts.history.noChanges;
    const trouble = alarm("p.error");
    return el("li.commit", el("div.commit-head", el("strong", title), " ", time(commit.time),
      commit.by && [texts.common.by, bdi(commit.by)], commit.note && bdi(commit.note, "q"),
      el("span.faint", texts.history.revision(commit.revision)),
      el("span.commit-buttons",
        button(texts.history.compareWithNow, () => {
          [from.value, to.value] = [String(commit.revision), ""];
          compare(trouble.show);
        }, texts.history.compareRevision(commit.revision)),
        mayUndo && [
          button(texts.history.undoThis, () => undo(commit, trouble.show), texts.history.undoRevision(commit.revision)),
          button(texts.history.goBackHere, () => restore(commit.revision, trouble.show),
            texts.history.goBackRevision(commit.revision))])),
      trouble, commit.schema && schemaChange(commit.revision), changeList(commit.changes));
  }

  // The text of the schema at a revision; empty if the suite had no schema.
  async function schemaAt(at) {
    try {
      const { body } = await get(suitePath(store.suite, "schema"), { at }, { isText: true });
      return print(parse(body), 2);
    } catch (error) {
      if (["no_schema", "unknown_suite"].includes(error.code)) return "";
      throw error;
    }
  }

  // Shows the lines of the schema that differ between two revisions.
  async function schemaDifference(before, after) {
    const [one, other] = await Promise.all([schemaAt(before), schemaAt(after)]);
    const side = value => ({ value, source: "stored" });
    return one === other ? el("p.faint", texts.history.sameSchema) : difference(side(one), side(other));
  }

  function schemaChange(revision) {
    const content = el("div");
    return el("details", { ontoggle: async event => {
      if (!event.target.open || content.hasChildNodes()) return;
      try {
        content.replaceChildren(...[await schemaDifference(revision - 1, revision)].flat().filter(Boolean));
      } catch (error) {
        content.replaceChildren(el("p.error", error.message));
      }
    } }, el("summary", texts.history.schemaChange), content);
  }

  async function compare(fail) {
    element.querySelector("details").open = true;
    fail();
    try {
      const { body } = await get(suitePath(store.suite, "diff"),
        { from: from.value.trim() || "0", to: to.value.trim() || undefined });
      if (isGone) return;
      const offerPutBack = ({ key, old, oldSource, secret }) => {
        const setting = store.at(key);
        const mayPutBack = !to.value.trim() && !secret && oldSource !== "invalid" && setting.writable;
        return mayPutBack && button(texts.history.putBack, () => {
          app.tray.propose(setting, oldSource === "stored" ? { value: old } : { remove: true });
          say(texts.history.willPutBack(key));
        }, texts.history.putBackKey(key));
      };
      result.replaceChildren(el("h2", { tabindex: -1 },
        texts.history.differences(from.value.trim() || "0", to.value.trim() || texts.history.now, body.changes.length)),
        body.schemaChanged ? el("p", texts.history.schemasDiffer) : "", changeList(body.changes, offerPutBack),
        el("div.buttons", button(texts.common.close, () => { result.hidden = true; })));
      result.hidden = false;
      result.querySelector("h2").focus();
      result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fail(error.message);
    }
  }

  const undo = ({ revision, schema }, fail) => putBack({ kind: "undo", body: { revision },
    title: texts.history.undoRevision(revision), label: texts.history.undo, fail, schema });

  function restore(place, fail) {
    const isRevision = /^\d+$/.test(place), keys = key.value ? [key.value] : undefined;
    putBack({ kind: "restore", body: { to: isRevision ? Number(place) : place, keys }, label: texts.history.goBack,
      fail, title: texts.history.goBackTo(isRevision ? texts.history.revisionPlace(place) : place, keys) });
  }

  // Returns a plan that the daemon accepts after a refusal, or null. The dialog shows what the person agrees to.
  function agreed(plan, problem) {
    const { kind, body, query, notices = [] } = plan;
    const { changes = [], conflicts = [] } = problem.body || {};
    if (problem.code === "changed_since" && !body.force) {
      const notice = [el("p.notice.bad", texts.history.laterChanges),
        el("details", el("summary", texts.history.laterCount(changes.length)), changeList(changes))];
      return { ...plan, body: { ...body, force: true }, label: texts.history.undoAnyway,
        notices: [...notices, notice] };
    }
    if (problem.code === "schema_conflict" && kind === "restore" && !query?.onConflict)
      return { ...plan, query: { ...query, onConflict: "skip" } };
    if (problem.code === "schema_conflict" && plan.schema && !query?.onConflict) {
      const notice = [el("p.notice.bad", texts.history.becomeInvalid),
        el("ul.mistakes", conflicts.map(({ key, errors = [] }) => el("li", key && bdi(key, "strong"), ": ",
          errors.map(error => error.detail).join("; "))))];
      return { ...plan, query: { ...query, onConflict: "keep" }, notices: [...notices, notice] };
    }
    if (problem.code === "locked" && !query?.override && app.caller.may("override", store.suite)) {
      const notice = el("p.notice.bad", texts.history.locks);
      return { ...plan, query: { ...query, override: "locked" }, notices: [...notices, notice] };
    }
    return null;
  }

  // The other suites that a commit changed, as far as the caller may see them.
  async function otherSuites({ body, query }) {
    let changes;
    try {
      ({ body: { changes } } = await send("POST", "v1/undo", { body, query: { ...query, dryRun: true } }));
    } catch (problem) {
      ({ changes } = problem.body);
    }
    return [...new Set((changes || []).map(({ suite }) => suite))].filter(suite => suite && suite !== store.suite);
  }

  // Shows the effects of an undo or a restore, and makes the changes if the person agrees. The changes are made to the
  // state that was shown, and to no other state, if they may take away more than one commit.
  async function putBack(wanted) {
    const { kind, body, title, label, query, notices = [], fail, schema } = wanted;
    const target = suitePath(store.suite, kind);
    let plan, others, schemas;
    fail();
    try {
      plan = await send("POST", target, { body, query: { ...query, dryRun: true } });
      others = kind === "undo" ? await otherSuites({ body, query }) : [];
      schemas = schema && await schemaDifference(undefined, body.revision - 1);
    } catch (problem) {
      const next = agreed(wanted, problem);
      if (next) return putBack(next);
      const keys = (problem.body?.conflicts || []).map(({ key }) => key).filter(Boolean);
      const reason = `${problem.message}${keys.length > 1 ? ` (${keys.join(", ")})` : ""}`;
      return fail(kind === "undo" ? texts.history.cannotUndo(reason) : texts.history.cannotGoBack(reason));
    }
    if (isGone) return;
    const { changes, changed, skipped = [] } = plan.body;
    const note = el("input", { dir: "auto", value: title.toLowerCase() });
    const once = newKey();
    confirm(title, [notices,
      others.length > 0
        && el("p.notice.bad", texts.history.otherSuites(others, store.suite)),
      skipped.length > 0 && [
        el("p.notice.bad", texts.history.stay),
        el("ul.mistakes", skipped.map(({ key, errors = [] }) =>
          el("li", bdi(key, "strong"), ": ", errors.map(error => error.detail).join("; "))))],
      changed === false ? el("p", texts.history.nothing)
        : [el("p", texts.history.willChange), schemas && [el("h3", texts.common.schema), el("div", schemas)],
          changeList(changes)],
      field(texts.common.note, note)],
    label, notices.length || skipped.length ? "danger" : "primary", async () => {
      try {
        const match = kind === "restore" || body.force ? plan.tag : undefined;
        await send("POST", target, { body, query, note: note.value.trim(), key: once, match });
        say(texts.history.done);
        load(false);
      } catch (problem) {
        return problem.code === "precondition_failed"
          ? texts.history.changedElsewhere : problem.message;
      }
    });
  }

  showNewer(0);
  load(false);
  return {
    element,
    follow: place => {
      const [wanted, caller] = ["key", "by"].map(name => place.query.get(name) || "");
      if (wanted === key.value && caller === by.value) return;
      [key.value, by.value] = [wanted, caller];
      load(false);
    },
    change: () => lookForNewer(), leave: () => { isGone = true; begin.cancel(); lookForNewer.cancel(); },
  };
}
