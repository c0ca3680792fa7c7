// The views of a suite and of a setting that do not exist. They list names that resemble the missing name, and create nothing
// before the person presses the button for creation. A view has the element and the functions that suite.js calls. `back` and
// `create` act when the person presses the buttons.
import { bdi, button, el } from "./dom.js";
import { panelHead } from "./setting.js";
import { texts } from "./texts.js";

const maxNames = 5;

// The Levenshtein distance of two texts.
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
    row = next;
  }
  return row[other.length];
}

// The names nearest to a mistyped name: few letters differ, the name contains the mistyped name, or the last part of the
// mistyped name is a part of the name. Dots separate parts. The last two rules need a text of at least three letters.
export function nearNames(name, names) {
  const wanted = name.toLowerCase(), lastPart = wanted.split(".").at(-1);
  const limit = Math.max(1, Math.floor(wanted.length / 4));
  const found = [];
  for (const each of names) {
    const text = each.toLowerCase();
    const isPart = lastPart.length > 2 && text.split(".").includes(lastPart) || wanted.length > 2 && text.includes(wanted);
    const score = Math.abs(text.length - wanted.length) > limit ? Infinity : distance(wanted, text);
    if (score <= limit || isPart) found.push([Math.min(score, isPart ? limit : Infinity), each]);
  }
  found.sort((one, other) => one[0] - other[0] || (one[1] < other[1] ? -1 : 1));
  return found.slice(0, maxNames).map(([, each]) => each);
}

function absentView(title, note, near, link, ...buttons) {
  return el("div.empty", el("h2", { tabindex: -1 }, title), note && el("p", note), near.length > 0 && [el("p", texts.absent.near),
      el("ul", near.map(name => el("li", el("a", { href: link(name) }, bdi(name)))))],
    el("div.buttons", buttons));
}

// The view of a suite that does not exist.
export function absentSuite(app, store, create) {
  const element = absentView(texts.absent.suite(store.suite), "", store.similarNames, name => app.link(name),
    el("a", { href: "#/" }, texts.absent.all),
    app.caller.may("write", store.suite) && button(texts.absent.createSuite, create));
  return { element, change() {}, leave() {} };
}

// The panel of a key that does not exist.
export function absentSetting(app, store, key, { back, create }) {
  const element = el("div.panel-body", panelHead(back), absentView(texts.absent.setting(key), texts.absent.noSetting,
    nearNames(key, store.settings.keys()), name => app.link(store.suite, name),
    el("a", { href: app.link(store.suite, null, { history: "", key }) }, texts.common.history),
    app.caller.may("write", store.suite, key) && button(texts.absent.createSetting, create)));
  return { element, update() {}, focus: () => element.querySelector("h2").focus(), leave() {} };
}
