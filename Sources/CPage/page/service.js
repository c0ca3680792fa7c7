// The service: whether it is ready, its version, its writes and its watchers.
import { Problem, get, emit } from "./api.js";
import { alarm, bdi, el, sign } from "./dom.js";
import { pendingList } from "./pendinglist.js";
import { texts } from "./texts.js";
import { bytes } from "./words.js";

const interval = 2000;
const most = 90;

export function serviceView(app) {
  let isGone = false, timer = 0, last = null;
  const samples = [];
  const facts = el("dl.facts-list"), conditions = el("ul.conditions"), charts = el("div.cards"),
    daemons = el("div.card", { hidden: true });
  const pending = pendingList(app, () => readPending().catch(() => {}));
  const failure = alarm();
  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.service.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.service.title)), failure,
    el("section.cards", el("div.card", el("h2", texts.service.daemon), facts),
      el("div.card", el("h2", texts.service.readiness), conditions)),
    pending.element, charts, daemons);

  async function readPending() {
    const { body } = await get("v1/pending");
    if (!isGone) pending.show(body.pending);
  }

  async function readiness() {
    try {
      return (await get("readyz")).body;
    } catch (error) {
      if (error instanceof Problem && error.code !== "network") return { ...error.body, status: "not ready" };
      throw error;
    }
  }

  async function metrics() {
    try {
      return figures((await get("metrics")).body);
    } catch (error) {
      if (error instanceof Problem && error.status === 403) return null;
      throw error;
    }
  }

  async function tick() {
    try {
      const [service, ready, now] = await Promise.all([get("v1"), readiness(), metrics(), readPending()]);
      if (isGone) return;
      failure.tell();
      emit("status", true);
      show(service.body, ready, now);
      if (app.caller.may("metrics", "*")) showDaemons((await get("v1/cluster")).body);
    } catch (error) {
      failure.tell(error.message);
      if (error.code === "network") emit("status", false);
    }
    if (!isGone) timer = setTimeout(tick, interval);
  }

  function show(service, ready, now) {
    const rows = [[texts.common.name, service.name], [texts.service.version, service.version],
      [texts.service.revision, String(service.revision ?? service.cursor)], [texts.service.cursor, service.cursor]];
    if (now) {
      rows.push([texts.common.suites, now.get("settingsd_suites")], [texts.common.settings, now.get("settingsd_keys")],
        [texts.service.stored, bytes(now.get("settingsd_stored_bytes") || 0)],
        [texts.service.memory, bytes(now.get("process_resident_memory_bytes") || 0)],
        [texts.service.started, new Date(1000 * now.get("process_start_time_seconds")).toLocaleString()]);
    }
    facts.replaceChildren(...rows.flatMap(([name, value]) => [el("dt", name), el("dd", bdi(String(value)))]));
    conditions.replaceChildren(el("li",
      ready.status === "ready" ? word("ok", texts.service.ready) : word("", ready.detail || texts.service.notReady)),
      ...Object.entries(ready.conditions || {}).map(([name, state]) => el("li", word(state, `${name}: ${state}`))));
    if (!now) return charts.replaceChildren(el("p.notice", texts.service.noMetrics));
    const time = Date.now();
    if (last) {
      const seconds = (time - last.time) / 1000;
      const rate = name => Math.max(0, (now.get(name) - last.now.get(name)) / seconds);
      samples.push({ writes: rate("settingsd_commit_seconds_count"), watchers: now.get("settingsd_watchers") + 0 });
      if (samples.length > most) samples.shift();
    }
    last = { time, now };
    charts.replaceChildren(chart(texts.service.commits, samples.map(each => each.writes), 1),
      chart(texts.service.watchers, samples.map(each => each.watchers), 0));
  }

  function showDaemons({ members }) {
    if (!members) return;
    daemons.replaceChildren(el("h2", texts.service.daemons),
      el("ul", members.map(({ address, version, cursor, behind }) =>
      el("li", bdi(address), texts.service.place(version, cursor),
        behind ? texts.service.behind(behind) : ""))));
    daemons.hidden = false;
  }

  tick();
  return { element, focus: () => element.querySelector("h1").focus(),
    follow: place => place.suite === null && place.query.has("service"),
    leave: () => { isGone = true; clearTimeout(timer); } };
}

// A part that is off is neither good nor bad.
function word(state, text) {
  const [kind, mark] = { ok: ["good", "✓ "], off: ["faint", "– "] }[state] || ["bad", "▲ "];
  return el("span", { class: kind }, sign(mark), text);
}

// Reads the metrics without labels from the Prometheus text format.
function figures(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*) (\S+)$/.exec(line);
    if (match) found.set(match[1], Number(match[2]));
  }
  return found;
}

// The upper end of a scale: 1, 2 or 5 times a power of ten.
function ceiling(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return step * [1, 2, 5, 10].find(each => each * step >= value);
}

function chart(title, values, digits) {
  const [width, height, top] = [600, 120, ceiling(Math.max(1, ...values))];
  const now = values.at(-1)?.toFixed(digits) ?? "…";
  const minutes = most * interval / 60_000;
  const points = values.map((value, index) =>
    `${(index + most - values.length) * width / (most - 1)},${height - value / top * height}`).join(" ");
  const line = y => el("line.axis", { x1: 0, x2: width, y1: y, y2: y });
  return el("figure.card", el("figcaption", el("h2", title), el("strong", now),
    el("span.faint", texts.service.last(minutes))),
  el("div.plot", el("span", String(top)), el("span", "0"), el("svg", { viewBox: `0 -2 ${width} ${height + 4}`,
    role: "img", "aria-label": texts.service.value(title, now, top), preserveAspectRatio: "none" },
  [0, height / 2, height].map(line), el("polyline.curve", { points })),
  el("span", texts.service.ago(minutes)), el("span", texts.service.now)));
}
