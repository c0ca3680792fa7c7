// The settings of a suite, kept up to date by the stream of commits.
import { Problem, Watch, get, getAll, path, retryRead } from "./api.js";
import { throttled } from "./dom.js";
import { print } from "./exact.js";
import { pendingInterval } from "./pending.js";
import { resolveRefs } from "./schema.js";

export const pageOfKeys = 5000;

export const suitePath = (suite, ...rest) => `v1/suites/${path(suite, ...rest)}`;

export class Store {
  // `onChange(keys, isReread)` is called after changes of settings; `isReread` is true if their schemas were read, too.
  constructor(suite, onChange) {
    Object.assign(this, { suite, onChange, settings: new Map(), isLoaded: false, exists: false, schemaRevision: 0, revision: 0 });
    // The times of the last changes, by key, for the mark of a changed row.
    this.fresh = new Map();
    // The revisions at which keys were removed, and the changes that arrive while `#load` reads all keys.
    this.removed = new Map();
    this.meanwhile = null;
    // Reads all keys again. Several events cause one read.
    this.reload = throttled(150, () => this.#readAgain());
    this.readPending = throttled(500, () => this.#readPending());
  }

  // Reads all keys, then follows the stream from the cursor of the answer. Throws a Problem.
  async open() {
    await this.#load();
    if (this.isClosed) return;
    this.watch = new Watch(suitePath(this.suite, "observe"), {}, this.cursor, (event, data) => this.#handleEvent(event, data));
  }

  close() {
    this.isClosed = true;
    this.reload.cancel();
    this.readPending.cancel();
    clearTimeout(this.timer);
    this.watch?.close();
  }

  async #load() {
    let settings = new Map(), cursor, newer;
    this.meanwhile = [];
    try {
      const { all, first, last } = await getAll(suitePath(this.suite, "keys"), "keys", { limit: pageOfKeys });
      settings = new Map(all.map(setting => [setting.key, setting]));
      // A stream from the first cursor has all changes since any page was read.
      cursor = first.cursor;
      this.revision = last.body.revision;
      this.exists = true;
      this.similarNames = [];
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "unknown_suite") throw error;
      cursor = null;
      this.exists = false;
      // The names of suites that the person may have meant.
      this.similarNames = error.body.didYouMean || [];
    } finally {
      newer = this.meanwhile;
      this.meanwhile = null;
    }
    this.removed.clear();
    Object.assign(this, { settings, cursor, isLoaded: true });
    this.apply(newer);
    if (this.#hasPending) this.readPending();
  }

  async #readAgain() {
    const old = this.settings;
    if (!await retryRead(() => this.#load().then(() => true), () => {}, () => this.isClosed)) return;
    const keys = new Set([...old.keys(), ...this.settings.keys()]);
    const changed = [...keys].filter(key => old.get(key)?.revision !== this.settings.get(key)?.revision);
    this.#markFresh(changed);
    this.onChange(changed, true);
  }

  #handleEvent(event, data) {
    switch (event) {
      case "missing":
        if (!this.exists) return;
        return this.reload();
      // While the suite is missing, the page opens its stream without a cursor. The stream begins with `state` if the suite exists
      // by then. Otherwise it begins with `missing`, and `reset` follows when the suite is created.
      case "state": return this.exists ? undefined : this.reload();
      case "reset": return this.reload();
      case "commit":
        if (data.schemaRevision !== undefined || data.dropped) return this.reload();
        return this.apply(data.changes);
    }
  }

  // Applies changes from the stream or from the answer to a write. A change that is older than the setting is skipped.
  apply(changes) {
    this.meanwhile?.push(...changes);
    // `toRead`: the keys of new settings and of invalid values. A change does not contain their schemas and errors, so the store
    // reads these keys again.
    const keys = [], toRead = [];
    for (const change of changes) {
      if (change.suite !== undefined && change.suite !== this.suite) continue;
      const known = this.settings.get(change.key);
      if (this.#revisionOf(change.key) >= change.revision) continue;
      keys.push(change.key);
      this.revision = Math.max(this.revision, change.revision);
      if (change.source === "unset" && !known?.schema) {
        this.settings.delete(change.key);
        this.removed.set(change.key, change.revision);
      } else if (!known || change.source === "invalid") toRead.push(change.key);
      else this.settings.set(change.key, withChange(known, change));
    }
    if (!keys.length) return;
    this.#markFresh(keys);
    this.readPending();
    if (toRead.length > 20) this.reload();
    else for (const key of toRead) this.refresh(key).catch(() => this.reload());
    this.onChange(keys, false);
  }

  get #hasPending() { return [...this.settings.values()].some(({ pending }) => pending); }

  // Reads the pending reverts of the suite, and reads them again after a while if a setting has a pending revert.
  async #readPending() {
    clearTimeout(this.timer);
    if (this.isClosed) return;
    if (!document.hidden) {
      const answer = await get("v1/pending", { suite: this.suite }).catch(() => null);
      if (this.isClosed) return;
      if (answer) this.setPending(answer.body.pending, answer.body.revision);
    }
    if (this.#hasPending) this.timer = setTimeout(() => this.readPending(), pendingInterval);
  }

  // Takes the pending actions as they were at a revision. A revert applies to a setting only if no later commit changed it.
  setPending(actions, revision) {
    const byCommit = new Map(actions.filter(({ action }) => action === "revert").map(each => [each.commit, each]));
    const keys = [];
    for (const [key, setting] of this.settings) {
      const before = setting.pending, pending = byCommit.get(setting.revision);
      if (setting.revision > revision || isSamePending(before, pending)) continue;
      this.settings.set(key, { ...setting, pending });
      keys.push(key);
    }
    if (keys.length) this.onChange(keys, false);
  }

  // Reads one key again, with its schema. Returns the setting, or undefined if there is none.
  async refresh(key) {
    const { body } = await get(suitePath(this.suite, "keys"), { prefix: key, limit: 1 });
    const setting = body.keys.find(each => each.key === key);
    // The stream may have delivered a newer change before this answer.
    if (this.#revisionOf(key) > body.revision) return this.settings.get(key);
    if (setting) this.settings.set(key, setting);
    else this.settings.delete(key);
    this.onChange([key], true);
    return setting;
  }

  // The last known revision of a key; for a removed key, the revision that removed it.
  #revisionOf(key) { return this.settings.get(key)?.revision ?? this.removed.get(key) ?? 0; }

  #markFresh(keys) {
    const now = Date.now();
    for (const key of keys.slice(0, 500)) this.fresh.set(key, now);
  }

  isFresh(key) { return Date.now() - (this.fresh.get(key) || 0) < 2500; }

  // The setting of a key. A key that does not exist has an unset setting.
  at(key) {
    const setting = this.settings.get(key);
    if (setting) return setting;
    // Returns the same object each time, because views draw again if the object is another.
    if (this.unset?.key !== key)
      this.unset = { suite: this.suite, key, value: null, source: "unset", revision: 0, writable: true, isNew: true };
    return this.unset;
  }
}

// Reads the text and the entity tag of a schema, at a revision or time, or now.
export async function readSchema(suite, at) {
  try {
    const { body, tag } = await get(suitePath(suite, "schema"), { at }, { isText: true });
    return { text: body, tag };
  } catch (error) {
    if (["no_schema", "unknown_suite"].includes(error.code)) return noSchema;
    throw error;
  }
}

export const noSchema = { text: null, tag: null };

// True if a setting has a stored value, valid or not.
export const isStored = ({ source }) => ["stored", "invalid"].includes(source);

// The value that an edit of a setting begins with: the effective value, or the stored value of an invalid setting.
// Returns undefined for an unset setting, and for a secret whose value the daemon does not return.
export const currentValue = setting =>
  setting.source === "invalid" ? setting.stored : setting.source === "unset" || setting.secret
    && setting.value === undefined ? undefined : setting.value;

// True if the page must hide the value. It hides secrets also from callers that may read them.
export const isSecret = setting => setting.secret === true || resolveRefs(setting.schema).writeOnly === true;

// A setting as one side of a change.
export const stateOf = setting =>
  ({ value: currentValue(setting), source: setting.source, isSecret: isSecret(setting) });

export const isSamePending = (one, other) => one === other || print([one]) === print([other]);

// The setting after a change of the stream or of an answer. A change has no schema, so the schema stays the known schema.
export function withChange(known, change) {
  const { key, suite, schema, writable } = known;
  const { new: value, source, revision, modified, by, note, secret, pending } = change;
  return { suite, key, value: value === undefined && !secret ? null : value, source, revision, modified, by, note,
    secret, schema, writable, pending };
}
