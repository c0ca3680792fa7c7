// The dialogs that undo a commit of a suite, or take the suite back to an earlier state.
import { newKey, send } from "./api.js";
import { tellCommit } from "./changes.js";
import { changeList, mistakeList } from "./commits.js";
import { textDifference } from "./difference.js";
import { bdi, confirm, el, field, newID } from "./dom.js";
import { parse, print } from "./exact.js";
import { readSchema, suitePath } from "./store.js";
import { texts } from "./texts.js";

// Shows the lines of the schemas of two suites and moments that differ.
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

  // `scope` has the other suites of the commit once they are known, and whether they are undone, too.
  async function undo(commit, fail, scope) {
    const { revision, schema } = commit;
    fail();
    const { others, isEverywhere } = scope || { others: await otherSuites(revision) };
    putBack({ kind: "undo", body: { revision }, title: texts.history.undoRevision(revision), label: texts.history.undo,
      fail, schema, others, isEverywhere, isChosen: Boolean(scope),
      choose: isEverywhere => undo(commit, fail, { others, isEverywhere }) });
  }

  // Goes back with all settings, with `{ key }` or with `{ prefix }`.
  function restore(place, { key, prefix } = {}, fail) {
    const isRevision = /^\d+$/.test(place);
    putBack({ kind: "restore", label: texts.history.goBack, fail,
      body: { to: isRevision ? Number(place) : place, keys: key === undefined ? undefined : [key], prefix },
      title: texts.history.goBackTo(isRevision ? texts.history.revisionPlace(place) : place,
        key ?? (prefix === undefined ? "" : `${prefix}*`)) });
  }

  // Returns a plan that the daemon accepts after a refusal, or null. The dialog shows what the person agrees to.
  function agreed(plan, problem) {
    const { kind, body, query, others = [], isEverywhere, notices = [] } = plan;
    const { changes = [], conflicts = [] } = problem.body || {};
    // The daemon has no guard for an undo in several suites, so it must refuse the undo after a later change.
    if (problem.code === "changed_since" && !body.force && !isEverywhere) {
      const notice = [el("p.notice.bad", texts.history.laterChanges),
        el("details", el("summary", texts.history.laterCount(changes.length)), changeList(changes))];
      return { ...plan, body: { ...body, force: true }, label: texts.history.undoAnyway,
        notices: [...notices, notice] };
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

  // The other suites that a commit changed, as far as the caller may see them.
  async function otherSuites(revision) {
    let changes;
    try {
      ({ body: { changes } } = await send("POST", "v1/undo", { body: { revision }, query: { dryRun: true } }));
    } catch (problem) {
      ({ changes } = problem.body);
    }
    return [...new Set((changes || []).map(({ suite }) => suite))].filter(each => each && each !== suite);
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

  // Shows the effects of an undo or a restore, and makes the changes if the person agrees. The changes are made to the
  // state that was shown, and to no other state, if they may take away more than one commit.
  async function putBack(wanted) {
    const { kind, body, title, label, query, notices = [], fail, schema, others = [], isEverywhere } = wanted;
    const target = isEverywhere ? "v1/undo" : suitePath(suite, kind);
    let plan, schemas;
    fail();
    try {
      plan = await send("POST", target, { body, query: { ...query, dryRun: true } });
      schemas = schema && await schemaDifference([suite], [suite, body.revision - 1]);
    } catch (problem) {
      const next = agreed(wanted, problem);
      if (next) return putBack(next);
      const keys = (problem.body?.conflicts || []).map(({ key }) => key).filter(Boolean);
      const reason = `${problem.message}${keys.length > 1 ? ` (${keys.join(", ")})` : ""}`;
      return fail(isEverywhere ? texts.history.cannotUndoAll(reason)
        : kind === "undo" ? texts.history.cannotUndo(reason) : texts.history.cannotGoBack(reason));
    }
    if (isGone()) return;
    const { changes, changed, skipped = [] } = plan.body;
    const note = el("input", { dir: "auto", value: title.toLowerCase() });
    const once = newKey();
    const dialog = confirm(title, [others.length > 0 && scopeChoice(wanted, () => dialog.close()), notices,
      skipped.length > 0 && [el("p.notice.bad", texts.history.stay), mistakeList(skipped)],
      changed === false ? el("p", texts.history.nothing)
        : [el("p", texts.history.willChange), schemas && [el("h3", texts.common.schema), el("div", schemas)],
          changeList(changes, { name: isEverywhere && nameWithSuite })],
      field(texts.common.note, note)],
    label, notices.length || skipped.length ? "danger" : "primary", async () => {
      try {
        const match = kind === "restore" || body.force ? plan.tag : undefined;
        const { body: { changed, revision } } = await send("POST", target,
          { body, query, note: note.value.trim(), key: once, match });
        if (changed !== false) tellCommit(app, revision, title);
        onDone();
      } catch (problem) {
        return problem.code === "precondition_failed" ? texts.history.changedElsewhere : problem.message;
      }
    });
  }

  return { undo, restore, schemaChange };
}
