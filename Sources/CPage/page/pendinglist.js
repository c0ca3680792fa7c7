// The list of the pending actions of all suites, in the view "Service". The `stamp` of a row is the JSON of its action.
import { bdi, el } from "./dom.js";
import { print } from "./exact.js";
import { decisionButtons, whenDue } from "./pending.js";
import { texts } from "./texts.js";
import { localTime, changeInfo } from "./words.js";

// The list shows at most `maxActions` actions, and `maxKeys` keys of each action.
const maxActions = 100, maxKeys = 8;

// The suites, as links, and the keys that an action concerns.
function scope(app, { suites = [] }) {
  return suites.flatMap(({ suite, keys = [], prefix, schema }) => [el("a", { href: app.link(suite) }, bdi(suite)), ": ",
    keys.slice(0, maxKeys).flatMap((key, index) =>
      [index > 0 && ", ", el("a", { href: app.link(suite, key) }, bdi(key))]),
    keys.length > maxKeys && texts.pending.more(keys.length - maxKeys),
    prefix !== undefined && bdi(`${prefix}*`), schema && [keys.length > 0 && ", ", texts.pending.schema],
    !keys.length && prefix === undefined && !schema && texts.pending.wholeSuite, el("br")]);
}

function row(app, action, onEnd) {
  const { deadline, until, created, by, note, suites = [] } = action;
  const label = suites.map(({ suite, keys = [] }) => `${suite} ${keys.slice(0, maxKeys).join(", ")}`).join("; ");
  const about = el("div", el("p", el("strong", whenDue(action)), el("span.faint", " · ", localTime(deadline))),
    until && el("p.faint", texts.pending.thenReverts(localTime(until))), el("p", scope(app, action)),
    el("p.facts.faint", texts.pending.made, changeInfo({ time: created, by, note })));
  return el("li", decisionButtons(app, action, { about, label, onEnd }));
}

// Returns the element of the list, and a function that shows actions. `onEnd` is called after each request to end an
// action, also if the request failed.
export function pendingList(app, onEnd) {
  const list = el("ul.changes"), rest = el("p.faint"), rows = new Map();
  const element = el("section.card", { hidden: true }, el("h2", texts.pending.title), list, rest);

  // Keeps the row of an action that did not change, and a row with a failure or an unanswered request.
  function show(actions) {
    const hasFocus = list.contains(document.activeElement);
    const shown = actions.slice(0, maxActions).map(action => [action.id, print(action), action]);
    const stamps = new Map(shown);
    for (const [id, { stamp, item }] of rows) {
      if (stamps.get(id) === stamp || item.querySelector(".error:not([hidden]), [aria-busy=true]")) continue;
      item.remove();
      rows.delete(id);
    }
    for (const [id, stamp, action] of shown) {
      if (!rows.has(id)) rows.set(id, { stamp, item: row(app, action, onEnd) });
      list.append(...(rows.get(id).item.isConnected ? [] : [rows.get(id).item]));
    }
    rest.textContent = !rows.size ? texts.pending.none
      : actions.length > maxActions ? texts.pending.more(actions.length - maxActions) : "";
    element.hidden = false;
    if (hasFocus && !list.contains(document.activeElement))
      (list.querySelector("button") || element.closest("[tabindex]")).focus();
  }

  return { element, show };
}
