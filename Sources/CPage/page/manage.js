// The dialogs that clone and drop a suite.
import { get, newRequestKey, send } from "./api.js";
import { confirm, el, field } from "./dom.js";
import { tellCommit } from "./changes.js";
import { mistakeList } from "./commits.js";
import { resolveRefs } from "./schema.js";
import { isSecret, isStored, currentValue, readSchema, suitePath } from "./store.js";
import { texts } from "./texts.js";

// Asks for a name before an action. `act` returns why the action failed, or nothing.
function askForName(title, content, label, kind, nameLabel, act) {
  const input = el("input", { onkeydown: event => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    dialog.querySelector(`.${kind}`).click();
  } });
  const dialog = confirm(title, [content, field(nameLabel, input)], label, kind, () => act(input.value.trim()));
  input.focus();
}

// The contents of a clone: `values`, the stored values by key; `left`, the keys of values that the clone does not get, with reasons.
// `hasLocked`: `values` has locked keys. `hasHidden`: the schema may have defaults of secrets that the person may not read.
function planOf(app, store) {
  const values = new Map(), left = [];
  const isLocked = key => resolveRefs(store.at(key).schema).readOnly === true;
  for (const setting of store.settings.values()) {
    const { key, source } = setting;
    if (!isStored(setting)) continue;
    const reason = source === "invalid" ? texts.manage.invalid
      : isSecret(setting) && setting.value === undefined ? texts.manage.secret
        : isLocked(key) && !app.caller.may("override", store.suite, key) && texts.manage.locked;
    if (reason) left.push({ key, errors: [{ detail: reason }] });
    else values.set(key, currentValue(setting));
  }
  return { values, left, hasLocked: [...values.keys()].some(isLocked),
    hasHidden: [...store.settings.values()].some(isSecret) && !app.caller.may("secrets", store.suite) };
}

async function exists(suite) {
  try {
    await get(suitePath(suite, "keys"), { limit: 1 });
    return true;
  } catch (error) {
    if (error.code === "unknown_suite") return false;
    throw error;
  }
}

export async function cloneSuite(app, store, fail) {
  const { suite } = store;
  let schema;
  fail();
  try {
    schema = (await readSchema(suite)).text;
  } catch (error) {
    return fail(error.message);
  }
  const { values, left, hasHidden, hasLocked } = planOf(app, store);
  const note = texts.manage.cloneNote(suite);
  // The new suite gets the schema first, so that its secrets are hidden at once. An attempt has the name of the suite, a
  // request key for each commit, and the revision of the new suite: 0 until the suite has the schema.
  let attempt = {};
  askForName(texts.manage.cloneTitle(suite), [el("p", texts.manage.plan(values.size, schema !== null)),
    hasHidden && el("p.notice.bad", texts.manage.hiddenDefaults),
    left.length > 0 && [el("p.notice.bad", texts.manage.left), mistakeList(left)]],
  texts.manage.cloneNow, "primary", texts.manage.cloneName, async name => {
    try {
      if (attempt.name !== name) {
        if (await exists(name)) return texts.manage.exists;
        attempt = { name, keys: [newRequestKey(), newRequestKey()], revision: 0 };
      }
      const [schemaKey, valuesKey] = attempt.keys;
      if (!attempt.revision && schema !== null) {
        const { body } = await send("PUT", suitePath(name, "schema"), { text: schema, note, noneMatch: "*", key: schemaKey });
        attempt.revision = body.revision;
      }
      const sets = [...values].map(([key, value]) => ({ op: "set", suite: name, key, value }));
      if (sets.length) await send("POST", "v1/transaction", { note, key: valuesKey,
        body: { if: [{ suite: name, revision: attempt.revision }], do: sets },
        query: { override: hasLocked ? "locked" : undefined } });
      app.go(name);
    } catch (problem) {
      const hasSchema = attempt.revision > 0;
      // If the daemon may have made a commit, the attempt keeps its request keys: the repeated request then gets the answer to the
      // first request.
      if (!hasSchema && !problem.mayHaveSucceeded) attempt = {};
      if (hasSchema) return texts.manage.noValues(problem.message);
      return problem.code === "precondition_failed" ? texts.manage.exists : problem.message;
    }
  });
}

export async function dropSuite(app, store, fail) {
  const { suite } = store;
  let tag;
  fail();
  try {
    ({ tag } = await send("HEAD", suitePath(suite), { isText: true }));
  } catch (error) {
    return fail(error.message);
  }
  const stored = [...store.settings.values()].filter(isStored).length;
  const editsOf = () => app.tray.all.filter(edit => edit.suite === suite);
  const key = newRequestKey();
  askForName(texts.manage.dropTitle(suite), [el("p", texts.manage.dropped(stored)),
    editsOf().length > 0 && el("p.notice.bad", texts.manage.edits(editsOf().length))],
  texts.manage.dropNow, "danger", texts.manage.typeName(suite), async name => {
    if (name !== suite) return texts.manage.notTheName(suite);
    try {
      const { body } = await send("DELETE", suitePath(suite), { query: { drop: true }, match: tag, key });
      tellCommit(app, body.revision, texts.manage.wasDropped(suite));
      for (const edit of editsOf()) app.tray.remove(edit);
      app.go(suite, null, { history: "" });
    } catch (problem) {
      return problem.code === "precondition_failed" ? texts.history.changedElsewhere : problem.message;
    }
  });
}
