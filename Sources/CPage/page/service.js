// The view of the service: whether it is ready, its version, charts of its writes and watchers, the daemons that share its data,
// pending actions.
import { Problem, get, emit } from "./api.js";
import { errorLine, bdi, el, sign } from "./dom.js";
import { pendingList } from "./pendinglist.js";
import { texts } from "./texts.js";
import { sizeText } from "./words.js";

// A chart has at most `maxSamples` values, one in each interval of 2000 ms.
const refreshInterval = 2000, maxSamples = 90;

export function serviceView(app) {
  let isGone = false, timer = 0, previous = null;
  const samples = [];
  const facts = el("dl.facts-list"), conditions = el("ul.conditions"), charts = el("div.cards"),
    daemons = el("div.card", { hidden: true });
  const pending = pendingList(app, () => readPending().catch(() => {}));
  const failure = errorLine();
  const element = el("div.view.scrolls", { tabindex: 0, role: "region", "aria-label": texts.service.title },
    el("div.head", el("h1", { tabindex: -1 }, texts.service.title)), failure,
    el("section.cards", el("div.card", el("h2", texts.service.daemon), facts),
      el("div.card", el("h2", texts.service.readiness), conditions)),
    pending.element, charts, daemons);

  async function readPending() {
    const { body } = await get("v1/pending");
    if (!isGone) pending.show(body.pending);
  }

  async function readReadiness() {
    try {
      return (await get("readyz")).body;
    } catch (error) {
      if (error instanceof Problem && error.code !== "network") return { ...error.body, status: "not ready" };
      throw error;
    }
  }

  async function readMetrics() {
    try {
      return parseMetrics((await get("metrics")).body);
    } catch (error) {
      if (error instanceof Problem && error.status === 403) return null;
      throw error;
    }
  }

  async function refresh() {
    try {
      const [service, ready, now] = await Promise.all([get("v1"), readReadiness(), readMetrics(), readPending()]);
      if (isGone) return;
      failure.tell();
      emit("status", true);
      show(service.body, ready, now);
      if (app.caller.may("metrics", "*")) showDaemons((await get("v1/cluster")).body);
    } catch (error) {
      failure.tell(error.message);
      if (error.code === "network") emit("status", false);
    }
    if (!isGone) timer = setTimeout(refresh, refreshInterval);
  }

  function show(service, ready, now) {
    const rows = [[texts.common.name, service.name], [texts.service.version, service.version],
      [texts.service.revision, String(service.revision ?? service.cursor)], [texts.service.cursor, service.cursor]];
    if (now) {
      rows.push([texts.common.suites, now.get("settingsd_suites")], [texts.common.settings, now.get("settingsd_keys")],
        [texts.service.stored, sizeText(now.get("settingsd_stored_bytes") || 0)],
        [texts.service.memory, sizeText(now.get("process_resident_memory_bytes") || 0)],
        [texts.service.started, new Date(1000 * now.get("process_start_time_seconds")).toLocaleString()]);
    }
    facts.replaceChildren(...rows.flatMap(([name, value]) => [el("dt", name), el("dd", bdi(String(value)))]));
    conditions.replaceChildren(el("li", ready.status === "ready" ? conditionText("ok", texts.service.ready)
        : conditionText("", ready.detail || texts.service.notReady)),
      ...Object.entries(ready.conditions || {}).map(([name, state]) => el("li", conditionText(state, `${name}: ${state}`))));
    if (!now) return charts.replaceChildren(el("p.notice", texts.service.noMetrics));
    const time = Date.now();
    if (previous) {
      const seconds = (time - previous.time) / 1000;
      const rate = name => Math.max(0, (now.get(name) - previous.now.get(name)) / seconds);
      samples.push({ writes: rate("settingsd_commit_seconds_count"), watchers: now.get("settingsd_watchers") });
      if (samples.length > maxSamples) samples.shift();
    }
    previous = { time, now };
    charts.replaceChildren(chart(texts.service.writes, samples.map(each => each.writes), 1),
      chart(texts.service.watchers, samples.map(each => each.watchers), 0));
  }

  function showDaemons({ members }) {
    if (!members) return;
    daemons.replaceChildren(el("h2", texts.service.daemons), el("ul", members.map(({ address, version, cursor, behind }) =>
      el("li", bdi(address), texts.service.place(version, cursor), behind ? texts.service.behind(behind) : ""))));
    daemons.hidden = false;
  }

  refresh();
  return { element, focus: () => element.querySelector("h1").focus(),
    follow: place => place.suite === null && place.query.has("service"),
    leave: () => { isGone = true; clearTimeout(timer); } };
}

// A part of the daemon that is off is neither good nor bad.
function conditionText(state, text) {
  const [kind, mark] = { ok: ["good", "✓ "], off: ["faint", "– "] }[state] || ["bad", "▲ "];
  return el("span", { class: kind }, sign(mark), text);
}

// Reads the metrics without labels from the Prometheus text format.
function parseMetrics(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*) (\S+)$/.exec(line);
    if (match) found.set(match[1], Number(match[2]));
  }
  return found;
}

// The upper end of a scale: 1, 2 or 5 times a power of ten.
function scaleTop(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return step * [1, 2, 5, 10].find(each => each * step >= value);
}

// A line chart. `digits`: the decimal places of the present value.
function chart(title, values, digits) {
  const [width, height, top] = [600, 120, scaleTop(Math.max(1, ...values))];
  const now = values.at(-1)?.toFixed(digits) ?? "…";
  const minutes = maxSamples * refreshInterval / 60_000;
  const points = values.map((value, index) =>
    `${(index + maxSamples - values.length) * width / (maxSamples - 1)},${height - value / top * height}`).join(" ");
  const line = y => el("line.axis", { x1: 0, x2: width, y1: y, y2: y });
  return el("figure.card", el("figcaption", el("h2", title), el("strong", now), el("span.faint", texts.service.last(minutes))),
  el("div.plot", el("span", String(top)), el("span", "0"), el("svg", { viewBox: `0 -2 ${width} ${height + 4}`,
    role: "img", "aria-label": texts.service.value(title, now, top), preserveAspectRatio: "none" },
  [0, height / 2, height].map(line), el("polyline.curve", { points })),
  el("span", texts.service.ago(minutes)), el("span", texts.service.now)));
}
