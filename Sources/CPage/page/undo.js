// The dialogs that undo a commit of a suite, or take the suite back to an earlier state.
import { get, newKey, send } from "./api.js";
import { changeList } from "./commits.js";
import { bdi, confirm, el, field, say } from "./dom.js";
import { parse, print } from "./exact.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { difference } from "./words.js";

// `onDone` is called after the daemon made the changes.
export function undoDialogs(app, suite, isGone, onDone) {
  // The text of the schema at a revision; empty if the suite had no schema.
  async function schemaAt(at) {
    try {
      const { body } = await get(suitePath(suite, "schema"), { at }, { isText: true });
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

  const undo = ({ revision, schema }, fail) => putBack({ kind: "undo", body: { revision },
    title: texts.history.undoRevision(revision), label: texts.history.undo, fail, schema });

  function restore(place, keys, fail) {
    const isRevision = /^\d+$/.test(place);
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
    if (problem.code === "locked" && !query?.override && app.caller.may("override", suite)) {
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
    return [...new Set((changes || []).map(({ suite }) => suite))].filter(each => each && each !== suite);
  }

  // Shows the effects of an undo or a restore, and makes the changes if the person agrees. The changes are made to the
  // state that was shown, and to no other state, if they may take away more than one commit.
  async function putBack(wanted) {
    const { kind, body, title, label, query, notices = [], fail, schema } = wanted;
    const target = suitePath(suite, kind);
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
    if (isGone()) return;
    const { changes, changed, skipped = [] } = plan.body;
    const note = el("input", { dir: "auto", value: title.toLowerCase() });
    const once = newKey();
    confirm(title, [notices,
      others.length > 0
        && el("p.notice.bad", texts.history.otherSuites(others, suite)),
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
        onDone();
      } catch (problem) {
        return problem.code === "precondition_failed"
          ? texts.history.changedElsewhere : problem.message;
      }
    });
  }

  return { undo, restore, schemaChange };
}
