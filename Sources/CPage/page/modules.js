// The modules that the first view does not need. The page loads a module when a person opens its view, or when the page
// is idle, so that the views also open after the daemon is gone.
import { errorLine, button, el, loading, toast } from "./dom.js";
import { texts } from "./texts.js";

// A module of the list must not import another module of the list, because browsers keep the failure of an import.
const files = ["./review.js", "./structures.js", "./formats.js", "./history.js", "./feed.js", "./compare.js",
  "./schemas.js", "./service.js", "./search.js", "./absent.js", "./manage.js",
  "./clients.js", "./transfer.js"];

// The modules that are loaded, the promises of all modules that were requested, and the numbers of failures.
const modules = new Map(), requests = new Map(), failures = new Map();

// Loads a module. Throws an error, after which the call can be repeated.
function load(file) {
  if (!requests.has(file)) requests.set(file, request(file));
  return requests.get(file);
}

async function request(file) {
  const number = failures.get(file) || 0;
  try {
    // Browsers keep the failure of an address, so a repeated request has another address.
    const module = await import(number ? `${file}?${number}` : file);
    modules.set(file, module);
    return module;
  } catch (error) {
    requests.delete(file);
    failures.set(file, number + 1);
    // A TypeError means that the browser could not fetch the module. All other errors are defects of the page.
    if (!(error instanceof TypeError)) reportError(error);
    throw new Error(texts.common.moduleFailure);
  }
}

// The functions that try again to load modules of visible parts.
const failed = new Set();

// Loads all modules, one after the other, while the page has nothing else to do. The page calls this function when the
// daemon answers, so the function first tries again to load the modules of visible parts that failed.
export function loadWhenIdle() {
  for (const begin of failed) begin();
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  const next = ([file, ...rest]) => file && idle(() => load(file).then(() => next(rest), () => {}));
  next(files);
}

// A part of the page that `make(module)` makes. Until the module is loaded, the part shows that it loads, or why it cannot
// be loaded, and remembers the last values of `set` and `fail`.
export function lazyPart(file, make, kind = "div.view") {
  if (modules.has(file)) return make(modules.get(file));
  let part = null, isGone = false, focused = null;
  const calls = new Map();
  const failure = errorLine();
  const again = button(texts.common.tryAgain, () => { focused = again; begin(); });
  const element = el(kind);
  const remember = name => (...values) => {
    if (part) return part[name](...values);
    // Without the deletion, a repeated call would keep its earlier place in the order of the calls.
    calls.delete(name);
    calls.set(name, values);
  };
  const pass = name => (...values) => part?.[name]?.(...values);

  async function begin() {
    failed.delete(begin);
    element.replaceChildren(failure, loading());
    failure.tell();
    let module;
    try {
      module = await load(file);
    } catch (problem) {
      if (isGone) return;
      failed.add(begin);
      element.replaceChildren(failure, el("div.buttons", again));
      if (focused === again) again.focus();
      return failure.tell(problem.message);
    }
    if (isGone) return;
    part = make(module);
    element.replaceWith(part.element);
    for (const [name, values] of calls) part[name](...values);
    // The person may have moved the focus meanwhile.
    const { activeElement } = document;
    if (focused && [focused, document.body].includes(activeElement)) part.focus?.();
  }

  begin();
  return {
    get element() { return part?.element ?? element; },
    focus: () => { focused = document.activeElement; part?.focus?.(); },
    set: remember("set"), fail: remember("fail"),
    follow: pass("follow"), change: pass("change"), update: pass("update"),
    leave: () => { isGone = true; failed.delete(begin); part?.leave(); },
  };
}

// Calls a function with a module, for an action of a person. If the module cannot be loaded, a message offers to try
// again.
export async function withModule(file, act) {
  try {
    if (!modules.has(file)) await load(file);
  } catch (problem) {
    return toast(el("p.error", problem.message), button(texts.common.tryAgain, () => withModule(file, act)));
  }
  act(modules.get(file));
}
