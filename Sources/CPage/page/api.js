// The HTTP interface of the daemon: requests, their errors, and a stream of events that resumes by its cursor.
import { parse, print } from "./exact.js";
import { texts } from "./texts.js";

// The page lies in a folder of the daemon, or of a proxy before it.
const root = new URL("../", document.baseURI);
const listeners = { status: [], stale: [], unauthorized: [] };
let token = sessionStorage.getItem("settingsd-token");

// True if a text can be a token: a header of a browser takes nothing else.
export const isToken = text => /^[\x21-\x7e]+$/.test(text);

export const on = (event, listener) => listeners[event].push(listener);
// Tells of the state of the connection, of an answer that is behind, or of a token that is refused.
export const tell = (event, ...values) => listeners[event].forEach(listener => listener(...values));

export const hasToken = () => token !== null;

// Keeps the token for this tab; null forgets it.
export function setToken(text) {
  token = text;
  if (text === null) sessionStorage.removeItem("settingsd-token");
  else sessionStorage.setItem("settingsd-token", text);
}

// The daemon also names the request parameters that would help a program.
const withoutParameters = text => text.replace(/; [^;]*(\?\w+=|"\w+":)[^;]*/g, "");

// An error in the words of the daemon. Its code is "network" if there was no answer.
export class Problem extends Error {
  constructor(status, body) {
    super(withoutParameters(body.detail || body.title || texts.common.statusFailure(status)));
    this.status = status;
    this.code = body.code || "";
    this.body = body;
  }
  // True if the same request may succeed later.
  get isTransient() { return this.code === "network" || [408, 429, 502, 503, 504].includes(this.status); }
  get isLost() { return this.code === "network" || this.body.outcome === "unknown"; }
}

export const path = (...names) => names.map(encodeURIComponent).join("/");

function address(target, query) {
  const url = new URL(target, root);
  for (const [name, value] of Object.entries(query || {})) {
    for (const each of [].concat(value)) if (each !== undefined) url.searchParams.append(name, each);
  }
  // The daemon reads + in a query as itself.
  return url.href.replaceAll("+", "%20");
}

// A header holds bytes, so text goes as the bytes of its UTF-8.
const headerText = text => String.fromCharCode(...new TextEncoder().encode(text));

function headersOf({ note, match, noneMatch, key }) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (note) headers["Settings-Note"] = headerText(note);
  if (match) headers["If-Match"] = match;
  if (noneMatch) headers["If-None-Match"] = noneMatch;
  if (key) headers["Idempotency-Key"] = key;
  return headers;
}

// Sends a request. Returns body, cursor and tag of the answer, or throws a Problem.
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
  tell("stale", response.headers.get("Settings-Stale"));
  const isJSON = /json/.test(response.headers.get("Content-Type") || "");
  let content = text;
  if (isJSON && !options.isText) content = parse(text);
  if (!response.ok) throw refused(response, isJSON ? parse(text) : { detail: text });
  return { body: content, cursor: response.headers.get("Settings-Cursor"), tag: response.headers.get("ETag") };
}

function refused(response, body) {
  const problem = new Problem(response.status, body);
  if (response.status === 401) tell("unauthorized", problem);
  return problem;
}

// Repeats a read until it succeeds. `fail` gets the reason of each failure, and no text after the success. Returns
// undefined if the daemon refuses the read, or if the view is gone.
export async function persist(read, fail, isGone) {
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
      if (error.code === "network") tell("status", false, null);
    }
    await new Promise(resolve => setTimeout(resolve, delay));
    if (isGone()) return undefined;
  }
}

export const get = (target, query, options) => send("GET", target, { query, ...options });

export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");

const silence = 40_000;

// A watcher that follows a stream of events, over breaks and restarts, until it is closed.
// It lets go of its connection while the tab is hidden, since a browser has six of them for all tabs.
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
      clearTimeout(this.quiet);
      // A stream that failed on this side is still open, and a browser opens only six connections to a host.
      abort.abort();
      this.abort = null;
    }
    if (this.isClosed) return;
    if (!document.hidden) tell("status", false, problem);
    this.failures += 1;
    const wait = Math.min(15_000, this.delay * 1.6 ** (this.failures - 1)) * (0.7 + 0.6 * Math.random());
    this.timer = setTimeout(() => this.#connect(), wait);
  }

  async #read(abort) {
    const headers = { ...headersOf({}), Accept: "text/event-stream" };
    if (this.cursor) headers["Last-Event-ID"] = this.cursor;
    this.#listen(abort);
    const response = await fetch(address(this.target, this.query),
      { headers, cache: "no-store", signal: abort.signal });
    if (!response.ok) throw refused(response, parse(await response.text()));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      this.#listen(abort);
      tell("status", true);
      this.failures = 0;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) this.#take(block);
      // A silent stream sends lines of `id:` alone.
      if (/^id: .*\n$/.test(rest)) { this.#take(rest.trimEnd()); rest = ""; }
    }
  }

  // A connection that says nothing for long is gone without a word.
  #listen(abort) {
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => abort.abort(), silence);
  }

  #take(block) {
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

  // An event that the page cannot handle must not stop the stream, because the daemon would send the event again.
  #deliver(event, data) {
    try {
      this.onEvent(event, data ? parse(data) : {});
    } catch (error) {
      reportError(error);
      this.onEvent("reset", {});
    }
  }
}

// What a caller may do, by its grants.
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

  // True if it has a right on a suite, or on the key of it that is named.
  may(right, suite, key) {
    return this.grants.some(grant => grant.rights.includes(right) && fits(grant.suites, suite)
      && (grant.keys === undefined || key === undefined || fits(grant.keys, key)));
  }
}

const fits = (pattern, name) => pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
