// The frame of the page: the router, the caller, the state of the connection, and the keyboard shortcuts.
import { Caller, get, hasToken, isToken, on, retryRead, setToken } from "./api.js";
import { trayBar } from "./changes.js";
import { ask, bdi, button, el, openDialog, announce, sign } from "./dom.js";
import { lazyPart, loadWhenIdle, withModule } from "./modules.js";
import { refreshCountdowns } from "./pending.js";
import { suiteView } from "./suite.js";
import { suitesView } from "./suites.js";
import { texts } from "./texts.js";
import { Tray } from "./tray.js";
import { clock, refreshTimes } from "./words.js";

// The parts of the page share this object. The tray holds the edits that are not committed. `caller` is null until the daemon
// has said who the caller is.
const app = { tray: new Tray(), caller: null, go, link,
  review: () => withModule("./review.js", ({ openReview }) => openReview(app)) };
const main = document.getElementById("main");
// A view is `{ element, focus(), follow(route), leave() }`. `follow` returns true if the view can show the route itself.
let view = null;
const views = {
  suites: [texts.common.suites, () => suitesView(app)],
  search: [texts.search.title, route => lazyView("./search.js", "searchView", route)],
  changes: [texts.feed.title, route => lazyView("./feed.js", "feedView", route)],
  service: [texts.frame.service, route => lazyView("./service.js", "serviceView", route)],
};
const lazyView = (file, name, route) => lazyPart(file, module => module[name](app, route));
// The name in `views` of a route that is not in a suite.
const nameOf = ({ query }) => Object.keys(views).find(name => query.has(name)) || "suites";

// The address of a view: `link("app", "player.volume")`, `link("app", null, { history: "", key: undefined })`.
function link(suite, key, query) {
  const place = [suite, key].filter(name => name !== undefined && name !== null).map(encodeURIComponent).join("/");
  const parameters = Object.entries(query || {}).filter(([, value]) => value !== undefined).map(([name, value]) =>
    value === "" ? name : `${name}=${encodeURIComponent(value)}`);
  return `#/${place}${parameters.length ? `?${parameters.join("&")}` : ""}`;
}

function go(...place) {
  const hash = link(...place);
  if (location.hash === hash) return showRoute();
  location.hash = hash;
}

// The route of the address: `{ suite, key, query }`.
function readRoute() {
  const [path, parameters = ""] = location.hash.slice(1).split("?");
  let names;
  try {
    names = path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    names = [];
  }
  const [suite, ...key] = names;
  return { suite: suite || null, key: key.length && key[0] !== "" ? key.join("/") : null, query: new URLSearchParams(parameters) };
}

function showRoute() {
  if (!app.caller) return;
  if (location.hash && !location.hash.startsWith("#/")) return;
  const route = readRoute();
  // A dialog belongs to the view that opened it.
  for (const dialog of document.querySelectorAll("dialog"))
    if (!dialog.querySelector("[name=token]")) dialog.close();
  if (view?.follow?.(route)) return markRoute(route);
  view?.leave?.();
  view = route.suite !== null ? suiteView(app, route) : views[nameOf(route)][1](route);
  main.replaceChildren(view.element);
  markRoute(route);
  // The focus moves to the heading of a new view, so that a screen reader begins there. The browser announces the
  // first view.
  if (app.hasView) (view.focus ? view.focus() : main.focus());
  app.hasView = true;
}

function markRoute(route) {
  const name = route.suite ?? views[nameOf(route)][0];
  document.title = `${route.key !== null ? `${route.key} · ` : ""}${name} · settingsd`;
  for (const each of document.querySelectorAll("#bar nav a")) {
    const isHere = route.suite === null && each.dataset.view === nameOf(route);
    if (isHere) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
}

const state = el("span.state.connecting", { id: "state" }, texts.frame.connecting);
const updated = el("span.updated");
// `isLive` is null until the first event "status", which streams, failed reads, the search and the service view emit.
// `stale`: the seconds that the daemon is behind the other daemons; `refusal`: why the daemon refused the stream.
let isLive = null, stale = null, refusal = null;
on("status", (isReachable, problem) => {
  // A view begins its stream after it has read its content, so the loading of modules does not delay the first view.
  if (isReachable && !isLive) loadWhenIdle();
  const isBack = isReachable && isLive === false;
  [isLive, refusal] = [isReachable, problem];
  drawState();
  if (isBack && app.tray.problem) app.tray.check();
});
on("stale", seconds => { stale = seconds; drawState(); });

function drawState() {
  const wasOffline = state.classList.contains("offline");
  if (isLive) app.lastSeen = new Date();
  if (isLive === null && !stale) return;
  const text = isLive === false ? app.lastSeen ? texts.frame.asOf(reason(refusal), clock(app.lastSeen))
    : texts.frame.tryingAgain(reason(refusal)) : stale ? texts.frame.behind(stale) : texts.frame.live;
  if (text === state.firstChild.textContent) return;
  const isCurrent = text === texts.frame.live;
  state.className = `state ${isCurrent ? "live" : "offline"}`;
  state.replaceChildren(text, updated);
  drawUpdated();
  document.body.classList.toggle("is-stale", !isCurrent);
  if (isCurrent === wasOffline) announce(text);
}

// Shows how many seconds ago the page last received an answer or data of a stream, so that a person can judge "Live".
function drawUpdated() {
  updated.textContent = isLive && !stale ? texts.frame.updated(Math.round((Date.now() - app.lastSeen) / 1000)) : "";
}

setInterval(drawUpdated, 1000);
setInterval(refreshCountdowns, 1000);
setInterval(refreshTimes, 5000);

// Why the page does not receive changes, in a few words.
function reason(problem) {
  if (problem?.status === 403) return texts.frame.noAccess;
  if (problem?.status === 429) return texts.frame.tooManyWatchers;
  return problem ? texts.frame.notLive : texts.frame.offline;
}

// A stream does not say that the daemon has fallen behind the other daemons of a cluster, so the page also sends requests,
// whose answers say so (`stale`).
setInterval(() => { if (isLive && !document.hidden) get("v1").catch(() => {}); }, 15_000);

const callerButton = button("", () => showCaller(), { class: "quiet" });

function drawBar() {
  document.getElementById("bar").replaceChildren(button(texts.frame.skip, () => main.focus(), { class: "skip" }),
    el("a.brand", { href: "#/" }, sign("", "span.logo"), "settingsd"),
    el("nav", { "aria-label": texts.frame.places },
      // The suites view has a button for the search.
      Object.entries(views).filter(([name]) => name !== "search").map(([name, [label]]) => el("a", { "data-view": name,
        href: name === "suites" ? "#/" : link(null, null, { [name]: "" }) }, label))),
    state, callerButton, button("?", showKeys, { class: "quiet", "aria-label": texts.frame.keyboard }));
}

function showCaller() {
  const { name, grants, expires } = app.caller;
  const dialog = openDialog(texts.frame.you, [
    el("p", texts.frame.knownAs, bdi(name, "strong"), expires && texts.frame.until(new Date(expires).toLocaleString()), "."),
    el("ul", grants.map(({ text }) => el("li", el("code", text)))),
  ], texts.common.close, [
    hasToken() && button(texts.frame.forgetToken, () => { setToken(null); location.reload(); }),
    button(texts.frame.anotherToken, () => { dialog.close(); askForToken(""); }),
  ]);
}

function showKeys() {
  const rows = texts.frame.keys.map(([key, what]) => [el("dt", el("kbd", key)), el("dd", what)]);
  openDialog(texts.frame.keyboard, el("dl.keys", rows), texts.common.close);
}

document.addEventListener("keydown", event => {
  const isTyping = event.target.matches("input:not([type=checkbox], [type=range]), textarea, select");
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && app.tray.size && !document.querySelector("dialog")) {
    event.preventDefault();
    return app.review();
  }
  if (isTyping || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog")) return;
  if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "?") {
    event.preventDefault();
    showKeys();
  }
});

function askForToken(reason) {
  if (document.querySelector("dialog [name=token]")) return;
  const dialog = ask(texts.frame.askForToken, texts.frame.token, texts.frame.tokenHint(reason || texts.frame.noToken),
    { type: "password", name: "token" }, async (text, close) => {
      if (!isToken(text.trim()))
        return texts.frame.notAToken;
      setToken(text.trim());
      try {
        await loadCaller();
      } catch (error) {
        return error.message;
      }
      close();
      view?.leave?.();
      view = null;
      showRoute();
    });
  // The page is empty without a caller. A browser closes a dialog at the second Escape, whatever the page does.
  dialog.addEventListener("close", () => { if (!app.caller) askForToken(reason); });
}

async function loadCaller() {
  const { body } = await get("v1/caller");
  app.caller = new Caller(body);
  app.tray.mayOverride = ({ suite, key }) => app.caller.may("override", suite, key);
  callerButton.replaceChildren(bdi(body.name));
  callerButton.setAttribute("aria-label", texts.frame.youAre(body.name));
}

on("unauthorized", problem => {
  if (app.caller) askForToken(texts.frame.tokenInvalid(problem.message));
  else askForToken(hasToken() ? problem.message : "");
});

async function start() {
  drawBar();
  trayBar(app, document.getElementById("tray"));
  addEventListener("hashchange", showRoute);
  // Shows the edits from before a reload of the tab.
  app.tray.notify();
  const hasCaller = await retryRead(() => loadCaller().then(() => true), reason => {
    if (reason && !document.querySelector("dialog"))
      main.replaceChildren(el("div.empty", el("h1", texts.frame.unreachable), el("p", reason)));
  }, () => false);
  if (!hasCaller) return;
  showRoute();
  if (app.tray.size) app.tray.check();
}

start();
