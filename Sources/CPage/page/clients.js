// The clients of a suite: the programs that report which commit of the suite they have applied.
import { get } from "./api.js";
import { alarm, bdi, el, openDialog } from "./dom.js";
import { clientInterval } from "./suite.js";
import { remaining } from "./pending.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { time } from "./words.js";

// Clients that are shown. The clients that need the attention of a person come first.
const mostClients = 500, order = ["failed", "behind", "current", "gone"];

const marks = { failed: "bad", behind: "due", current: "", gone: "faint" };

function row({ name, status, applied, missingCommits, secondsBehind, lastSeen, failure, caller, address, user, daemon }) {
  const facts = [
    applied ? texts.clients.revision(applied.split(".").pop()) : texts.clients.nothing,
    missingCommits > 0 && texts.clients.behind(missingCommits, remaining((secondsBehind ?? 0) * 1000)),
    [texts.clients.seen, time(lastSeen)], ...[caller, address, user, daemon].map(text => text && bdi(text)),
  ].filter(Boolean);
  return el("li", el("strong", bdi(name)), el("span", { class: `mark ${marks[status]}` }, texts.clients.states[status]),
    el("span.facts.faint", facts.map((fact, index) => [index > 0 && " · ", fact])),
    status === "failed" && failure?.reason && el("p.error", { dir: "auto" }, failure.reason));
}

// Shows the clients in a dialog, and reads them again until the dialog is closed.
export function showClients(suite) {
  const failure = alarm(), rest = el("p.faint");
  // A list that scrolls must be able to have the focus.
  const list = el("ul.changes.clients", { tabindex: 0, "aria-label": texts.clients.title(suite) });
  const dialog = openDialog(texts.clients.title(suite), [failure, list, rest], texts.common.close);

  async function read() {
    if (!dialog.isConnected) return;
    try {
      if (!document.hidden || !list.childElementCount) show((await get(suitePath(suite, "clients"))).body.clients);
      failure.tell();
    } catch (problem) {
      failure.tell(problem.message);
    }
    setTimeout(read, clientInterval);
  }

  function show(clients) {
    const place = ({ status }) => order.indexOf(status);
    const sorted = clients.toSorted((one, other) => place(one) - place(other));
    list.replaceChildren(...sorted.slice(0, mostClients).map(row));
    rest.textContent = !clients.length ? texts.clients.none
      : clients.length > mostClients ? texts.clients.more(clients.length - mostClients) : "";
  }

  read();
}
