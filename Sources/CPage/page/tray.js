// The tray: the edits until they are committed together, each with the revision that the person saw.
import { Problem, newRequestKey, send } from "./api.js";
import { isSame, print } from "./exact.js";
import { debounced } from "./dom.js";
import { readDraft, saveDraft } from "./drafts.js";
import { isSecret, currentValue, withChange } from "./store.js";
import { texts } from "./texts.js";

const editID = (suite, key) => `${suite}/${key}`;

export class Tray {
  constructor() {
    // An edit has `value` or `remove`, or `mistake` if its text is no value yet; `seen`, the setting that the person saw;
    // `other`, a newer setting of another caller; and `overrides`, if the person unlocked the key.
    this.edits = new Map();
    this.listeners = new Set();
    // Why the daemon would refuse the edits, if the reason is not about a single edit.
    this.problem = "";
    // Why the last commit failed. It stays until the person acts, although the next dry run may succeed.
    this.failure = "";
    this.note = "";
    this.isSending = false;
    // The number of commits that were sent.
    this.commits = 0;
    // The content and the request key of a commit that has no answer yet, or whose answer was lost.
    this.lost = null;
    // True for an edit of a key on which the caller has the right `override`.
    this.mayOverride = () => true;
    this.check = debounced(250, () => this.#check());
    this.#restoreDraft();
    this.save = debounced(200, () => this.#saveDraft());
    addEventListener("pagehide", () => this.#saveDraft());
    addEventListener("beforeunload", event => { if (this.edits.size) event.preventDefault(); });
  }

  get size() { return this.edits.size; }
  get all() { return [...this.edits.values()]; }
  get overriding() { return this.all.filter(edit => edit.overrides && !edit.seen.writable); }
  // The edits of the next commit. A commit that overrides a lock requires the right `override` on each of its keys, so
  // edits of other keys wait.
  get nextEdits() { return this.overriding.length ? this.all.filter(this.mayOverride) : this.all; }
  at(suite, key) { return this.edits.get(editID(suite, key)); }
  notify() {
    this.save();
    for (const listener of this.listeners) listener();
  }

  #saveDraft() {
    const edits = this.all.filter(edit => !edit.isSecret && !edit.mistake).map(({ suite, key, seen, value, remove,
      overrides }) => ({ suite, key, seen, value, remove, overrides }));
    saveDraft("edits", edits.length ? { edits, note: this.note } : null);
  }

  #restoreDraft() {
    const draft = readDraft("edits");
    for (const edit of draft?.edits || [])
      this.edits.set(editID(edit.suite, edit.key), { ...edit, errors: [], isSecret: false });
    this.note = draft?.note || "";
  }

  // Called when the person changes the edits, and when a commit begins: the messages about the edits are then outdated. After a
  // change of the edits, the next commit does not repeat a commit whose answer was lost. While a commit is being sent, `lost`
  // has the request key of this commit.
  #forgetOutcome() {
    this.problem = this.failure = "";
    if (!this.isSending) this.lost = null;
  }

  // Takes an edit of a setting: `{ value }`, `{ remove: true }`, or `{ mistake: "…" }` for a text that is no value yet.
  // An edit that changes nothing is removed, unless `storesDefault` says that the person wants to store the default.
  edit(setting, edit) {
    const id = editID(setting.suite, setting.key);
    const old = this.edits.get(id);
    const seen = old?.seen || setting;
    const isUnchanged = !edit.mistake && !edit.remove && !edit.storesDefault && seen.source !== "invalid" && !seen.secret
      && currentValue(seen) !== undefined && isSame(currentValue(seen), edit.value);
    const isResetOfUnset = edit.remove && (seen.source === "default" || seen.source === "unset");
    if (isUnchanged || isResetOfUnset) this.edits.delete(id);
    else {
      this.edits.set(id, { suite: setting.suite, key: setting.key, seen, errors: [], isSecret: isSecret(setting),
        overrides: old?.overrides, other: old?.other, ...edit });
    }
    this.#forgetOutcome();
    this.notify();
    this.check();
  }

  remove(edit) {
    this.edits.delete(editID(edit.suite, edit.key));
    this.#forgetOutcome();
    this.notify();
    if (this.size) this.check();
  }

  clear() {
    this.check.cancel();
    this.edits.clear();
    this.note = "";
    this.#forgetOutcome();
    this.notify();
  }

  // Compares the edits with the current settings of a suite. A setting that was changed makes a conflict.
  compare(store) {
    this.store = store;
    // The stream can deliver the changes of the page's own commit before the answer to the commit, so `commit`
    // compares after the answer.
    if (this.isSending) return;
    let isChanged = false;
    for (const edit of this.edits.values()) {
      if (edit.suite !== store.suite) continue;
      const now = store.at(edit.key);
      // The schema may have changed.
      edit.isSecret ||= isSecret(now);
      if (now.revision === edit.seen.revision) edit.seen = now;
      if (now.revision === edit.seen.revision || now.revision === edit.other?.revision) continue;
      this.#compareEdit(edit, now);
      isChanged = true;
    }
    if (isChanged) this.notify();
  }

  // Removes an edit if the setting has the edited value already. Otherwise the person chooses between the values.
  #compareEdit(edit, now) {
    const isDone = edit.remove ? ["default", "unset"].includes(now.source)
      : "value" in edit && !now.secret && now.source === "stored" && isSame(now.value, edit.value);
    if (isDone) this.edits.delete(editID(edit.suite, edit.key));
    else edit.other = now;
  }

  get conflicts() { return this.all.filter(edit => edit.other); }
  get mistakes() { return this.all.filter(edit => edit.mistake || edit.errors.length); }
  get canCommit() { return this.size > 0 && !this.isSending && !this.conflicts.length && !this.mistakes.length; }

  keepMine(edit) {
    const mine = edit.remove ? { remove: true } : { value: edit.value };
    this.edits.set(editID(edit.suite, edit.key), { ...edit, ...mine, seen: edit.other, other: undefined, errors: [] });
    this.edit(edit.other, edit.mistake ? { mistake: edit.mistake } : mine);
  }

  override(edit, isOn) {
    edit.overrides = isOn;
    this.#forgetOutcome();
    this.notify();
    this.check();
  }

  #operations(edits) {
    return edits.map(({ suite, key, remove, value }) => remove ? { op: "delete", suite, key } : { op: "set", suite, key, value });
  }

  #query(more) {
    return { ...more, override: this.overriding.length ? "locked" : undefined };
  }

  // Validates the edits of the next commit by one dry run, so that rules across keys apply, and shows the errors at the edits.
  // An edit with a mistake has no value that the daemon could check.
  async #check() {
    const edits = this.nextEdits.filter(edit => !edit.mistake);
    if (!edits.length || this.isSending) return;
    const commits = this.commits;
    let problem = null;
    try {
      await send("POST", "v1/transaction", { body: { do: this.#operations(edits) }, query: this.#query({ dryRun: true }) });
    } catch (error) {
      problem = error;
    }
    // The result of a commit is newer, and a change of an edit has started another dry run. After a lost answer, an error at an
    // edit must not prevent the repetition of the commit.
    const isOutdated = this.isSending || this.commits !== commits || this.lost;
    if (isOutdated || edits.some(edit => this.at(edit.suite, edit.key) !== edit)) return;
    this.#show(problem, edits);
    this.notify();
  }

  // Shows the errors of a refusal at the edits. An error names its edit by the pointer /do/INDEX/… into the request, or by suite
  // and key.
  #show(problem, edits) {
    for (const edit of edits) edit.errors = [];
    this.problem = "";
    if (!problem) return;
    const errors = problem.body?.errors || [];
    let isShown = false;
    for (const error of errors) {
      const match = /^\/do\/(\d+)(?:\/value)?(.*)$/.exec(error.pointer || "");
      const edit = match ? edits[Number(match[1])]
        : edits.find(each => each.suite === error.suite && each.key === error.key);
      if (!edit) continue;
      edit.errors.push({ pointer: match && match[2] !== "/key" ? match[2] : "", detail: error.detail });
      isShown = true;
    }
    const named = /^\/do\/(\d+)/.exec(problem.body?.pointer || "");
    if (!isShown && named && edits[Number(named[1])]) {
      edits[Number(named[1])].errors.push({ pointer: "", detail: problem.message });
      isShown = true;
    }
    if (!isShown) this.problem = problem.message;
  }

  // Commits the edits together. Unless a person confirms the commit within the time span `confirm`, the daemon reverts it.
  // Returns the answer, or null if `canCommit` is false or the commit failed. After a failure, `failure` or the edits say why.
  async commit(note, confirm) {
    const edits = this.nextEdits;
    if (!this.canCommit) return null;
    this.isSending = true;
    this.commits += 1;
    this.check.cancel();
    this.#forgetOutcome();
    this.notify();
    const body = {
      // An unset key has no revision, so the condition is that no value is stored.
      if: edits.map(({ suite, key, seen }) => seen.source === "unset" ? { suite, key, stored: false }
        : { suite, key, revision: seen.revision }),
      do: this.#operations(edits),
    };
    const query = this.#query({});
    // A commit whose answer was lost is repeated with the same idempotency key, so that it is not made twice.
    const content = print([body, query, note, confirm]);
    if (this.lost?.content !== content) this.lost = { content, key: newRequestKey() };
    try {
      const { body: answer } = await send("POST", "v1/transaction", { body, query, note, confirm, key: this.lost.key });
      this.lost = null;
      this.note = "";
      this.onCommit?.((answer.changes || []).map(change => ({ ...change, pending: answer.pending })));
      for (const edit of edits) {
        const newer = this.at(edit.suite, edit.key);
        if (newer === edit) this.edits.delete(editID(edit.suite, edit.key));
        else if (newer) {
          // An edit that was made during the commit is based on the committed value.
          const change = answer.changes?.find(({ suite, key }) => suite === edit.suite && key === edit.key);
          if (change) newer.seen = withChange(newer.seen, change);
        }
      }
      return answer;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.mayHaveSucceeded) {
        this.failure = texts.edits.lostAnswer;
      } else {
        this.lost = null;
        if (problem.code === "precondition_failed") this.#findConflicts(edits, problem.body.failed || []);
        else {
          this.#show(problem, edits);
          this.problem = "";
          this.failure = texts.edits.failed(problem.message);
        }
      }
      return null;
    } finally {
      this.isSending = false;
      if (this.store) this.compare(this.store);
      this.notify();
      if (this.size && !this.failure) this.check();
    }
  }

  // `failed` has the conditions that did not hold, with the current settings. A current setting without a value lacks members.
  #findConflicts(edits, failed) {
    for (const { index, current } of failed) {
      const edit = edits[index];
      const cleared = { value: undefined, stored: undefined, by: undefined, note: undefined };
      this.#compareEdit(edit, { ...edit.seen, ...cleared, ...current });
    }
    if (this.size && !this.conflicts.length) this.failure = texts.edits.changedMeanwhile;
  }
}
