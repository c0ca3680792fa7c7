// The client of the HTTP API: requests, errors, and a stream of events that resumes from its cursor.
import { parse, print } from "./exact.js";
import { texts } from "./texts.js";

// The page is in the folder ui/ of the daemon, or of a proxy that serves the daemon under another path.
const root = new URL("../", document.baseURI);
const listeners = { status: [], stale: [], unauthorized: [] };
let token = sessionStorage.getItem("settingsd-token");

// True if a text can be a token. The daemon accepts only visible ASCII characters in a token.
export const isToken = text => /^[\x21-\x7e]+$/.test(text);

// Adds a listener. Events: `status` (isReachable, problem), `stale` (the seconds since the daemon last read the log in etcd, or
// null), `unauthorized` (problem).
export const on = (event, listener) => listeners[event].push(listener);
export const emit = (event, ...values) => listeners[event].forEach(listener => listener(...values));

export const hasToken = () => token !== null;

// Keeps the token until the tab is closed; null removes the token.
export function setToken(text) {
  token = text;
  if (text === null) sessionStorage.removeItem("settingsd-token");
  else sessionStorage.setItem("settingsd-token", text);
}

// Removes the advice of the daemon about query parameters and members of request bodies, which is for programs.
const withoutParameters = text => text.replace(/; [^;]*(\?\w+=|"\w+":)[^;]*/g, "");

// An error with the message of the daemon. The code is "network" if there was no answer.
export class Problem extends Error {
  constructor(status, body) {
    super(withoutParameters(body.detail || body.title || texts.common.statusFailure(status)));
    this.status = status;
    this.code = body.code || "";
    this.body = body;
  }
  // True if the same request may succeed later.
  get isTransient() { return this.code === "network" || [408, 429, 502, 503, 504].includes(this.status); }
  // True if the daemon may have carried out the request.
  get mayHaveSucceeded() { return this.code === "network" || this.body.outcome === "unknown"; }
}

export const path = (...names) => names.map(encodeURIComponent).join("/");

export function address(target, query) {
  const url = new URL(target, root);
  for (const [name, value] of Object.entries(query || {})) {
    for (const each of [].concat(value)) if (each !== undefined) url.searchParams.append(name, each);
  }
  // The daemon does not decode + in a query to a space.
  return url.href.replaceAll("+", "%20");
}

// A command that reads a target. The shell of the person replaces the token, so that the page shows no token.
export const curlCommand = target => `curl ${token ? '-H "Authorization: Bearer $TOKEN" ' : ""}'`
  + `${address(target).replaceAll("'", "%27")}'`;

// `fetch` sends a byte for each character of a header, so each byte of the UTF-8 text becomes a character.
const headerText = text => String.fromCharCode(...new TextEncoder().encode(text));

function headersOf({ note, match, noneMatch, key, confirm }) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (note) headers["Settings-Note"] = headerText(note);
  if (match) headers["If-Match"] = match;
  if (noneMatch) headers["If-None-Match"] = noneMatch;
  if (key) headers["Idempotency-Key"] = key;
  if (confirm) headers["Settings-Confirm"] = confirm;
  return headers;
}

// The milliseconds by which the clock of the daemon is ahead of the browser's. Less than 2 s counts as 0, because the
// header field `Date` has whole seconds.
let ahead = 0;

// The time by the clock of the daemon, which decides about deadlines.
export const daemonTime = () => Date.now() + ahead;

// Sends a request. Options: `query`; the body as a value (`body`) or as JSON text (`text`); `isText` if the answer stays
// a text; `note`, `match`, `noneMatch`, `key` and `confirm` for header fields (see `headersOf`). Returns the body, the
// cursor and the entity tag of the answer, or throws a Problem.
export async function send(method, target, options = {}) {
  const body = "text" in options ? options.text : "body" in options ? print(options.body) : undefined;
  let response, text;
  try {
    response = await fetch(address(target, options.query), {
      method, body, headers: headersOf(options), cache: "no-store", credentials: "same-origin",
      signal: AbortSignal.timeout(30_000),
    });
    text = await response.text();
  } catch {
    throw new Problem(0, { code: "network", detail: texts.common.networkFailure });
  }
  emit("stale", response.headers.get("Settings-Stale"));
  const difference = Date.parse(response.headers.get("Date")) - Date.now();
  ahead = Math.abs(difference) > 2000 ? difference : 0;
  const isJSON = text !== "" && /json/.test(response.headers.get("Content-Type") || "");
  let content = text;
  if (isJSON && !options.isText) content = parse(text);
  if (!response.ok) throw problemOf(response, isJSON ? parse(text) : { detail: text });
  return { body: content, cursor: response.headers.get("Settings-Cursor"), tag: response.headers.get("ETag") };
}

function problemOf(response, body) {
  const problem = new Problem(response.status, body);
  if (response.status === 401) emit("unauthorized", problem);
  return problem;
}

// Repeats a read after transient errors (`isTransient`) until the read succeeds. `fail` gets the reason of each failure, and an
// empty text after the success. Returns undefined after another Problem, or if `isGone()` returns true, because nobody needs the result
// any more. Throws any error that is not a Problem.
export async function retryRead(read, fail, isGone) {
  for (let delay = 1000; ; delay = Math.min(10_000, delay * 1.6)) {
    try {
      const result = await read();
      if (isGone()) return undefined;
      fail("");
      return result;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (isGone()) return undefined;
      fail(error.message);
      if (!error.isTransient) return undefined;
      if (error.code === "network") emit("status", false, null);
    }
    await new Promise(resolve => setTimeout(resolve, delay));
    if (isGone()) return undefined;
  }
}

export const get = (target, query, options) => send("GET", target, { query, ...options });

// Reads all pages of a list. `member`: the name of the member with the elements in each body. Returns the elements, and
// the first and the last answer. A stream from the cursor of the first answer has all changes after each page was read.
export async function getAll(target, member, query) {
  const all = [];
  let first, last, after;
  do {
    last = await get(target, { ...query, after });
    first ||= last;
    all.push(...last.body[member]);
    after = last.body.next;
  } while (after !== undefined);
  return { all, first, last };
}

export const getSuites = () => getAll("v1/suites", "suites", { limit: 10_000 });

export const newRequestKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");

// In milliseconds. The daemon sends at least an `id:` line every 15 seconds.
const maxSilence = 40_000;

// Follows a stream of events until `close` is called or the daemon answers 401, and reconnects whenever the stream ends. A
// hidden tab closes its connection, because a browser opens only six connections to a host for all tabs.
export class Watch {
  constructor(target, query, cursor, onEvent) {
    Object.assign(this, { target, query, cursor, onEvent, delay: 1000, failures: 0, isClosed: false });
    this.wake = () => {
      if (document.hidden) this.abort?.abort();
      else this.#connect();
    };
    document.addEventListener("visibilitychange", this.wake);
    addEventListener("online", this.wake);
    this.#connect();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.wake);
    removeEventListener("online", this.wake);
    this.abort?.abort();
  }

  async #connect() {
    if (this.isClosed || this.abort || document.hidden) return;
    clearTimeout(this.timer);
    const abort = this.abort = new AbortController();
    let problem = null;
    try {
      await this.#read(abort);
    } catch (error) {
      if (error instanceof Problem) problem = error;
      if (problem?.status === 401) return this.close();
    } finally {
      clearTimeout(this.silenceTimer);
      // After an error of the page, the stream is still open and would occupy a connection.
      abort.abort();
      this.abort = null;
    }
    if (this.isClosed) return;
    if (!document.hidden) emit("status", false, problem);
    this.failures += 1;
    const wait = Math.min(15_000, this.delay * 1.6 ** (this.failures - 1)) * (0.7 + 0.6 * Math.random());
    this.timer = setTimeout(() => this.#connect(), wait);
  }

  async #read(abort) {
    const headers = { ...headersOf({}), Accept: "text/event-stream" };
    if (this.cursor) headers["Last-Event-ID"] = this.cursor;
    this.#restartSilenceTimer(abort);
    const response = await fetch(address(this.target, this.query), { headers, cache: "no-store", signal: abort.signal });
    if (!response.ok) throw problemOf(response, parse(await response.text()));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#restartSilenceTimer(abort);
      emit("status", true);
      this.failures = 0;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) this.#readBlock(block);
      // A stream without events sends an `id:` line every 15 seconds.
      if (/^id: .*\n$/.test(rest)) { this.#readBlock(rest.trimEnd()); rest = ""; }
    }
  }

  // Closes a connection that is silent for too long, because the network may have dropped it.
  #restartSilenceTimer(abort) {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => abort.abort(), maxSilence);
  }

  #readBlock(block) {
    let event = "", data = "", id = null;
    for (const line of block.split("\n")) {
      const at = line.indexOf(": ");
      const [name, value] = [line.slice(0, at), line.slice(at + 2)];
      if (name === "event") event = value;
      else if (name === "data") data += value;
      else if (name === "id") id = value;
      else if (name === "retry") this.delay = Math.max(250, Number(value) || 1000);
    }
    if (this.isClosed) return;
    if (event) this.#deliver(event, data);
    if (id) this.cursor = id;
  }

  // An event that the page cannot handle must not stop the stream, because the daemon would send the event again. `onEvent` gets
  // `reset` instead, because the page may lack the changes of the event.
  #deliver(event, data) {
    try {
      this.onEvent(event, data ? parse(data) : {});
    } catch (error) {
      reportError(error);
      this.onEvent("reset", {});
    }
  }
}

// The caller and its grants. A grant is `SUITES:RIGHTS` or `SUITES/KEYS:RIGHTS`. The right `admin` includes `metrics` and
// `reload`.
export class Caller {
  constructor({ name, grants, expires }) {
    Object.assign(this, { name, expires });
    this.grants = grants.map(text => {
      const at = text.lastIndexOf(":");
      const [suites, keys] = text.slice(0, at).split(/\/(.*)/s);
      const rights = text.slice(at + 1).split(",");
      if (rights.includes("admin")) rights.push("metrics", "reload");
      return { text, suites, keys, rights };
    });
  }

  // True if a grant has the right on the key or, without `key`, on at least one key of the suite.
  may(right, suite, key) {
    return this.grants.some(grant => grant.rights.includes(right) && fits(grant.suites, suite)
      && (grant.keys === undefined || key === undefined || fits(grant.keys, key)));
  }
}

const fits = (pattern, name) => pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
