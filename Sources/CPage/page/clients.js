// The clients of a suite: the programs that report which commit of the suite they have applied.
import { get } from "./api.js";
import { errorLine, bdi, el, openDialog } from "./dom.js";
import { clientInterval } from "./suite.js";
import { durationText } from "./pending.js";
import { suitePath } from "./store.js";
import { texts } from "./texts.js";
import { time } from "./words.js";

// The limit of the list, and its order: clients that need the attention of a person come first.
const maxClients = 500, order = ["failed", "behind", "current", "gone"];

// The CSS classes of the states.
const markClasses = { failed: "bad", behind: "due", current: "", gone: "faint" };

function row({ name, status, applied, missingCommits, secondsBehind, lastSeen, failure, caller, address, user, daemon }) {
  const facts = [
    applied ? texts.clients.revision(applied.split(".").pop()) : texts.clients.nothing,
    missingCommits > 0 && texts.clients.behind(missingCommits, durationText((secondsBehind ?? 0) * 1000)),
    [texts.clients.seen, time(lastSeen)], ...[caller, address, user, daemon].map(text => text && bdi(text)),
  ].filter(Boolean);
  return el("li", el("strong", bdi(name)), el("span", { class: `mark ${markClasses[status]}` }, texts.clients.states[status]),
    el("span.facts.faint", facts.map((fact, index) => [index > 0 && " · ", fact])),
    status === "failed" && failure?.reason && el("p.error", { dir: "auto" }, failure.reason));
}

export function showClients(suite) {
  const failure = errorLine(), rest = el("p.faint");
  // With `tabindex`, the list can have the focus, and the keyboard can then scroll the list.
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
    const rank = ({ status }) => order.indexOf(status);
    const sorted = clients.toSorted((one, other) => rank(one) - rank(other));
    list.replaceChildren(...sorted.slice(0, maxClients).map(row));
    rest.textContent = !clients.length ? texts.clients.none
      : clients.length > maxClients ? texts.clients.more(clients.length - maxClients) : "";
  }

  read();
}
