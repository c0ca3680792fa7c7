// Drafts that survive a reload of the tab: edits of settings, and texts of schemas. A draft must not contain a secret.
import { parse, print } from "./exact.js";

const prefix = `settingsd-draft ${new URL("../", document.baseURI).pathname} `;

export function readDraft(name) {
  try {
    return parse(sessionStorage.getItem(prefix + name));
  } catch {
    return null;
  }
}

// Stores a draft; null removes it.
export function saveDraft(name, content) {
  try {
    if (content === null) sessionStorage.removeItem(prefix + name);
    else sessionStorage.setItem(prefix + name, print(content));
  } catch {
    // The storage of the tab is full. The draft is still in the memory of the page.
  }
}

export const schemaDraftName = suite => `schema ${suite}`;

export const hasSchemaDraft = suite => sessionStorage.getItem(prefix + schemaDraftName(suite)) !== null;

// A stored draft survives a reload, but not the end of the tab, so the browser asks before it leaves the page. `Tray` makes
// the browser ask if there are edits of settings.
addEventListener("beforeunload", event => {
  if (Object.keys(sessionStorage).some(name => name.startsWith(prefix + schemaDraftName("")))) event.preventDefault();
});
