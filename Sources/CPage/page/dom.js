// Elements, dialogs and messages for screen readers. All text becomes text nodes, so no value can become markup.

import { texts } from "./texts.js";

const svgNames = new Set(["svg", "line", "polyline"]);

// Makes an element: `el("p.note", { title: "…" }, "text", child)`. A property that begins with "on" is a listener.
export function el(kind, ...rest) {
  const isPlain = Object.getPrototypeOf(rest[0] ?? "") === Object.prototype;
  const [properties, children] = isPlain ? [rest[0], rest.slice(1)] : [{}, rest];
  const [name, ...classes] = kind.split(".");
  const element = svgNames.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  if (name === "input" || name === "textarea") {
    element.autocomplete = "off";
    element.spellcheck = false;
  }
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "selected") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// A symbol that screen readers skip.
export const sign = (text, kind = "span") => el(kind, { "aria-hidden": "true" }, text);

// A text from the daemon, such as a key. Its direction follows its letters.
export const bdi = (text, kind = "bdi") => el(kind, { dir: "auto" }, text);

// A button. `more` has properties, or is the name of the button for screen readers.
export const button = (label, onclick, more) => el("button",
  { type: "button", onclick, ...(typeof more === "string" ? { "aria-label": more } : more) }, label);

export const searchInput = (label, more) =>
  el("input", { type: "search", "aria-label": label, placeholder: label, ...more });

let lastID = 0;
export const newID = () => `id-${lastID += 1}`;

// An input with its label, a hint and a place for errors. `fail(text)` shows an error; an empty text removes the error.
export function field(label, input, hint) {
  const id = input.id || (input.id = newID());
  const errors = el("p.error", { id: `${id}-error`, hidden: true });
  const note = hint && el("p.hint", { id: `${id}-hint` }, hint);
  input.setAttribute("aria-describedby", [note && note.id, errors.id].filter(Boolean).join(" "));
  const element = el("div.field", el("label", { for: id }, label), input, note, errors);
  element.fail = text => {
    errors.textContent = text || "";
    errors.hidden = !text;
    input.setAttribute("aria-invalid", String(Boolean(text)));
  };
  return element;
}

// Has a screen reader read a message, without moving the focus.
export function announce(text) {
  const announcer = document.getElementById("announcer");
  announcer.textContent = "";
  requestAnimationFrame(() => { announcer.textContent = text; });
}

let toastTimer = 0;

// Shows a message below the view, with its buttons, for 20 seconds or until the next message. The message stays while
// the pointer is over it, a button has the focus, or it contains a deadline.
export function toast(...content) {
  const place = document.getElementById("toast");
  const close = () => { clearTimeout(toastTimer); place.replaceChildren(); };
  const leave = () => { if (place.matches(":hover, :focus-within, :has([data-deadline])")) wait(); else close(); };
  const wait = () => { clearTimeout(toastTimer); toastTimer = setTimeout(leave, 20_000); };
  place.replaceChildren(el("div.toast", content, button("✕", close, { class: "quiet", "aria-label": texts.common.close })));
  wait();
}

export function download(name, content, type = "application/octet-stream") {
  const url = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A line for an error. `tell(text)` shows the text to the person and to screen readers; no text hides the line.
export function errorLine(kind = "p.notice.bad") {
  const element = el(kind, { role: "alert", hidden: true });
  element.tell = text => {
    element.replaceChildren(...[text || ""].flat(Infinity));
    element.hidden = !text;
  };
  // Shows the text and scrolls to it, as the result of an action of the person.
  element.show = text => {
    element.tell(text);
    if (text) element.scrollIntoView({ block: "nearest" });
  };
  return element;
}

// A placeholder for content that the daemon has not sent yet.
export const loading = (kind = "p") => el(`${kind}.loading`, texts.common.loading);

// Opens a dialog. Escape and the button `closeLabel` close the dialog, and the focus returns to the element that had it.
export function openDialog(title, content, closeLabel, buttons = [], properties = {}) {
  const id = newID();
  const focused = document.activeElement;
  const dialog = el("dialog", { "aria-labelledby": id, ...properties }, el("h2", { id }, title), el("div.dialog-body", content),
    el("div.buttons", closeLabel && button(closeLabel, () => dialog.close()), buttons));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (focused?.isConnected) focused.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// Asks before an action. `act` returns an error message, or nothing if the action succeeded. `kind`: the class of the
// button.
export function confirm(title, content, label, kind, act) {
  const message = errorLine("p.error");
  const dialog = openDialog(title, [content, message], texts.common.cancel, [button(label, async event => {
    event.target.disabled = true;
    const failure = await act();
    message.tell(failure);
    event.target.disabled = false;
    if (!failure) dialog.close();
  }, { class: kind })]);
  return dialog;
}

// Asks for a text. `act` gets the text and a function that closes the dialog, and returns an error message or nothing. The
// dialog that asks for a token has no button `Cancel`, because the page is empty without a caller.
export function ask(title, label, hint, properties, act) {
  const input = el("input", properties);
  const inputField = field(label, input, hint);
  const form = el("form", { id: newID(), onsubmit: async event => {
    event.preventDefault();
    const failure = await act(input.value, () => dialog.close());
    inputField.fail(failure);
    if (failure) input.select();
  } }, inputField);
  const dialog = openDialog(title, form, properties.name === "token" ? null : texts.common.cancel,
    el("button.primary", { type: "submit", form: form.id }, texts.common.continue));
  input.focus();
  return dialog;
}

// Returns a function that calls `draw` only if an argument is another object or value than in the last call. A button
// that is replaced while the pointer is pressed on it loses the click.
export function drawnOnChange(draw) {
  let lastInputs = null;
  return (...inputs) => {
    if (lastInputs?.length === inputs.length && lastInputs.every((each, index) => Object.is(each, inputs[index]))) return;
    lastInputs = inputs;
    draw(...inputs);
  };
}

// Returns a function that runs `act` some milliseconds after the first of several calls, and again for calls that came
// meanwhile. Unlike a debounced function, it makes progress while calls never stop.
export function throttled(milliseconds, act) {
  let timer = 0, isRunning = false, isWanted = false;
  const run = async () => {
    [timer, isRunning, isWanted] = [0, true, false];
    try {
      await act();
    } finally {
      isRunning = false;
      if (isWanted) call();
    }
  };
  const call = () => {
    isWanted = true;
    if (!timer && !isRunning) timer = setTimeout(run, milliseconds);
  };
  call.cancel = () => { clearTimeout(timer); [timer, isWanted] = [0, false]; };
  return call;
}

// Returns a function that runs `act` when no call has come for some milliseconds.
export function debounced(milliseconds, act) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds, ...values);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
