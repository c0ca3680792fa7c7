// The dialogs that undo a commit of a suite, or take the suite back to an earlier state.
import { newRequestKey, send } from "./api.js";
import { tellCommit } from "./changes.js";
import { changeList, mistakeList } from "./commits.js";
import { textDifference } from "./difference.js";
import { bdi, confirm, el, field, newID } from "./dom.js";
import { parse, print } from "./exact.js";
import { readSchema, suitePath } from "./store.js";
import { texts } from "./texts.js";

// Shows the lines that differ between two schemas. A place is `[suite, at]`; `at` is a revision, a time, or absent.
export async function schemaDifference(...places) {
  const read = async place => {
    const { text } = await readSchema(...place);
    return text && print(parse(text), 2);
  };
  const [one, other] = await Promise.all(places.map(read));
  return one === other ? el("p.faint", texts.history.sameSchema) : textDifference(one, other);
}

const nameWithSuite = (key, suite) => [bdi(key), el("span.faint", texts.edits.in, bdi(suite))];

// `onDone` is called after the daemon made the changes.
export function undoDialogs(app, suite, isGone, onDone) {
  function schemaChange(revision) {
    const content = el("div");
    return el("details", { ontoggle: async event => {
      if (!event.target.open || content.hasChildNodes()) return;
      try {
        content.replaceChildren(el("div", await schemaDifference([suite, revision - 1], [suite, revision])));
      } catch (error) {
        content.replaceChildren(el("p.error", error.message));
      }
    } }, el("summary", texts.history.schemaChange), content);
  }

  // `scope`: the other suites that the commit changed, and whether the undo includes them. `fail` shows an error; without
  // an argument, `fail` removes the error.
  async function undo(commit, fail, scope) {
    const { revision, schema } = commit;
    fail();
    const { others, isEverywhere } = scope || { others: await otherSuites(revision) };
    confirmPlan({ kind: "undo", body: { revision }, title: texts.history.undoRevision(revision), label: texts.history.undo,
      fail, schema, others, isEverywhere, isChosen: Boolean(scope),
      choose: isEverywhere => undo(commit, fail, { others, isEverywhere }) });
  }

  // Goes back to a revision or time, for all settings, for `{ key }` or for `{ prefix }`.
  function restore(place, { key, prefix } = {}, fail) {
    const isRevision = /^\d+$/.test(place);
    confirmPlan({ kind: "restore", label: texts.history.goBack, fail,
      body: { to: isRevision ? Number(place) : place, keys: key === undefined ? undefined : [key], prefix },
      title: texts.history.goBackTo(isRevision ? texts.history.revisionPlace(place) : place,
        key ?? (prefix === undefined ? "" : `${prefix}*`)) });
  }

  // A plan is an undo or a restore: the request (`kind`, `body`, `query`), the texts of the dialog (`title`, `label`),
  // `notices` about what the person must agree to, and for an undo `schema` (the commit changed the schema), `others`
  // (the other suites that the commit changed), and `isEverywhere` (the undo includes the other suites). Returns the
  // plan for another try after a refusal, or null. The plan gets a notice about what the person must agree to, except for a
  // restore with schema conflicts: the next dry run lists the skipped settings, and the dialog shows them.
  function planAfterRefusal(plan, problem) {
    const { kind, body, query, others = [], isEverywhere, notices = [] } = plan;
    const { changes = [], conflicts = [] } = problem.body || {};
    // A forced undo also undoes later changes of the settings, so the request needs a guard (see `confirmPlan`). The request
    // for an undo in several suites cannot have a guard.
    if (problem.code === "changed_since" && !body.force && !isEverywhere) {
      const notice = [el("p.notice.bad", texts.history.laterChanges),
        el("details", el("summary", texts.history.laterCount(changes.length)), changeList(changes))];
      return { ...plan, body: { ...body, force: true }, label: texts.history.undoAnyway, notices: [...notices, notice] };
    }
    if (problem.code === "schema_conflict" && kind === "restore" && !query?.onConflict)
      return { ...plan, query: { ...query, onConflict: "skip" } };
    if (problem.code === "schema_conflict" && plan.schema && !query?.onConflict) {
      const notice = [el("p.notice.bad", texts.history.becomeInvalid), mistakeList(conflicts)];
      return { ...plan, query: { ...query, onConflict: "keep" }, notices: [...notices, notice] };
    }
    const changed = isEverywhere ? [suite, ...others] : [suite];
    if (problem.code === "locked" && !query?.override && changed.every(each => app.caller.may("override", each))) {
      const notice = el("p.notice.bad", texts.history.locks);
      return { ...plan, query: { ...query, override: "locked" }, notices: [...notices, notice] };
    }
    return null;
  }

  // The other suites that a commit changed, as far as the caller may see them. With `force`, the daemon does not refuse the dry
  // run because of later changes, and lists the changes of all suites. If the daemon refuses the dry run, for example because of
  // a locked key, the list is empty, and the dialog offers the undo in this suite only.
  async function otherSuites(revision) {
    try {
      const { body } = await send("POST", "v1/undo", { body: { revision, force: true }, query: { dryRun: true } });
      return [...new Set(body.changes.map(({ suite }) => suite))].filter(each => each && each !== suite);
    } catch {
      return [];
    }
  }

  // Asks whether a commit of several suites is undone in all of them.
  function scopeChoice({ others, isEverywhere = false, isChosen, choose }, close) {
    const name = newID();
    const option = (value, label) => el("label.check", el("input", { type: "radio", name,
      checked: value === isEverywhere, autofocus: isChosen && value === isEverywhere,
      onchange: () => { close(); choose(value); } }), label);
    return el("fieldset.group", el("legend", texts.history.otherSuites(others)),
      option(false, texts.history.onlyHere(suite)), option(true, texts.history.allSuites(others.length + 1)));
  }

  // Shows the effects of an undo or a restore, and makes the changes if the person agrees. A restore and a forced undo can
  // undo more than one commit. They send the entity tag of the dry run as a guard, so that the daemon refuses the request if
  // the suite has changed since the dialog showed the effects.
  async function confirmPlan(plan) {
    const { kind, body, title, label, query, notices = [], fail, schema, others = [], isEverywhere } = plan;
    const target = isEverywhere ? "v1/undo" : suitePath(suite, kind);
    let dryRun, schemas;
    fail();
    try {
      dryRun = await send("POST", target, { body, query: { ...query, dryRun: true } });
      schemas = schema && await schemaDifference([suite], [suite, body.revision - 1]);
    } catch (problem) {
      const next = planAfterRefusal(plan, problem);
      if (next) return confirmPlan(next);
      const keys = (problem.body?.conflicts || []).map(({ key }) => key).filter(Boolean);
      const reason = `${problem.message}${keys.length > 1 ? ` (${keys.join(", ")})` : ""}`;
      return fail(isEverywhere ? texts.history.cannotUndoAll(reason)
        : kind === "undo" ? texts.history.cannotUndo(reason) : texts.history.cannotGoBack(reason));
    }
    if (isGone()) return;
    const { changes, changed, skipped = [] } = dryRun.body;
    const note = el("input", { dir: "auto", value: title.toLowerCase() });
    const requestKey = newRequestKey();
    const dialog = confirm(title, [others.length > 0 && scopeChoice(plan, () => dialog.close()), notices,
      skipped.length > 0 && [el("p.notice.bad", texts.history.stay), mistakeList(skipped)],
      changed === false ? el("p", texts.history.nothing)
        : [el("p", texts.history.willChange), schemas && [el("h3", texts.common.schema), el("div", schemas)],
          changeList(changes, { name: isEverywhere && nameWithSuite })],
      field(texts.common.note, note)],
    label, notices.length || skipped.length ? "danger" : "primary", async () => {
      try {
        const match = kind === "restore" || body.force ? dryRun.tag : undefined;
        const { body: { changed, revision } } = await send("POST", target,
          { body, query, note: note.value.trim(), key: requestKey, match });
        if (changed !== false) tellCommit(app, revision, title);
        onDone();
      } catch (problem) {
        return problem.code === "precondition_failed" ? texts.history.changedElsewhere : problem.message;
      }
    });
  }

  return { undo, restore, schemaChange };
}
