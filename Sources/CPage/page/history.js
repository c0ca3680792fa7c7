// The history of a suite: its commits, comparison of two places, undo, and going back to a place.
import { get } from "./api.js";
import { changeList, commitList, commitRow, page } from "./commits.js";
import { alarm, button, debounced, el, field, paced, say } from "./dom.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { undoDialogs } from "./undo.js";

export function historyView(app, store, first) {
  const target = suitePath(store.suite, "history");
  let isGone = false;
  const filter = (name, label) => el("input", { type: "search", value: first.query.get(name) || "", "aria-label": label,
    placeholder: label, oninput: () => begin() });
  const key = filter("key", texts.history.onlyKey), by = filter("by", texts.history.onlyCaller);
  const from = el("input", { size: 12 });
  const to = el("input", { size: 12, placeholder: texts.history.now });
  const result = el("section.comparison", { "aria-label": texts.history.comparison, hidden: true });
  const compareFailure = alarm("p.error");
  const mayWrite = app.caller.may("write", store.suite);
  const compareForm = el("form.compare",
    { onsubmit: event => { event.preventDefault(); compare(compareFailure.show); } },
    field(texts.history.from, from), field(texts.history.to, to),
    el("button", { type: "submit" }, texts.history.compare),
    mayWrite && button(texts.history.goBackToFrom, () => restore(from.value.trim() || "0", compareFailure.show)),
    el("p.hint", texts.history.placeHint), compareFailure);
  const dialogs = undoDialogs(app, store.suite, () => isGone, () => commits.load(false));
  const restore = (place, fail) => dialogs.restore(place, key.value ? [key.value] : undefined, fail);

  const query = () => ({ key: key.value || undefined, by: by.value.trim() || undefined });

  async function read(query) {
    try {
      return (await get(target, query)).body;
    } catch (error) {
      if (error.code === "unknown_suite") return { commits: [] };
      throw error;
    }
  }

  const commits = commitList({
    row, isGone: () => isGone, none: () => key.value || by.value ? texts.history.noMatch : texts.history.none,
    read: (before, count) =>
      read({ limit: before === undefined ? Math.min(1000, Math.max(page, count)) : page, before, ...query() }),
  });
  const begin = debounced(250, () => commits.load(false));
  const lookForNewer = paced(300, () => commits.countNewer(() => read({ limit: page, ...query() })));
  const element = el("div.scrolls", el("div.subhead", el("div.tools", key, by, commits.newer)),
    el("details.compare-box", el("summary", texts.history.box), compareForm), result, commits.elements);

  function row(commit) {
    return commitRow(commit, dialogs.schemaChange, fail => [
      button(texts.history.compareWithNow, () => {
        [from.value, to.value] = [String(commit.revision), ""];
        compare(fail);
      }, texts.history.compareRevision(commit.revision)),
      mayWrite && [
        button(texts.history.undoThis, () => dialogs.undo(commit, fail), texts.history.undoRevision(commit.revision)),
        button(texts.history.goBackHere, () => restore(commit.revision, fail),
          texts.history.goBackRevision(commit.revision))]]);
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

  return {
    element,
    follow: place => {
      const [wanted, caller] = ["key", "by"].map(name => place.query.get(name) || "");
      if (wanted === key.value && caller === by.value) return;
      [key.value, by.value] = [wanted, caller];
      commits.load(false);
    },
    change: () => lookForNewer(), leave: () => { isGone = true; begin.cancel(); lookForNewer.cancel(); },
  };
}
