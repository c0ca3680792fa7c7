// Pending actions: reverts of commits with a deadline, and scheduled writes.
import { daemonTime, get, newKey, send } from "./api.js";
import { alarm, bdi, button, el, toast } from "./dom.js";
import { texts } from "./texts.js";
import { exactTimes } from "./words.js";

// How often the page asks for pending actions, because the stream does not say when an action ends or moves.
export const pendingInterval = 3000;

// A time span in words: seconds below two minutes, minutes below two hours, and then two units.
export function remaining(milliseconds) {
  const { seconds, minutes, hours, days } = texts.pending;
  const whole = Math.max(0, Math.ceil(milliseconds / 1000));
  if (whole < 120) return seconds(whole);
  const [minute, hour] = [Math.ceil(whole / 60), Math.floor(Math.ceil(whole / 60) / 60)];
  if (minute < 120) return minutes(minute);
  return hour < 48 ? hours(hour, minute % 60) : days(Math.floor(hour / 24), hour % 24);
}

const textOf = deadline => remaining(Date.parse(deadline) - daemonTime());

// The time until a deadline, which `refreshCountdowns` keeps true.
export const countdown = deadline =>
  el("span.countdown", { role: "timer", "data-deadline": deadline, title: exactTimes(deadline) }, textOf(deadline));

// What an action does, and when.
export const whenDue = ({ kind, deadline }) => texts.pending.due[kind](countdown(deadline));

export function refreshCountdowns() {
  for (const each of document.querySelectorAll("[data-deadline]")) {
    const text = textOf(each.dataset.deadline);
    if (each.textContent !== text) each.textContent = text;
  }
}

// True if the caller has the rights to end an action. A scope without keys is a prefix or a whole suite.
export const mayEnd = ({ caller }, { suites = [] }) => suites.every(({ suite, keys, prefix = "", schema }) =>
  (keys || [prefix]).every(key => caller.may("write", suite, key)) && (!schema || caller.may("schema", suite)));

// Why an action cannot be ended.
export function whyNot(problem) {
  const { outcome, endedBy } = problem.body.pending || {};
  if (outcome) return [texts.pending.ended, texts.pending.outcomes[outcome], endedBy ? [texts.common.by, bdi(endedBy)] : "", "."];
  if (problem.code === "unknown_pending") return [texts.pending.ended, texts.pending.unknown];
  return problem.isLost ? texts.pending.lost : problem.message;
}

const hasEnded = ({ code }) => ["pending_ended", "unknown_pending"].includes(code);

// A description of an action with the buttons that end the action, if the caller may end it. If the action has ended,
// the reason takes their place. `onEnd` gets the changes that the decision made.
export function decision(app, action, { about, label, onEnd }) {
  const trouble = alarm("p.error");
  const request = newKey();

  async function end(what) {
    if (buttons.ariaBusy === "true") return;
    buttons.ariaBusy = "true";
    trouble.tell();
    let changes = [];
    try {
      const { body } = await send("POST", `v1/pending/${action.id}`,
        { body: { do: what }, key: `${what} ${request}` });
      const { kept = [] } = body.pending;
      toast(el("p", el("strong", texts.pending.outcomes[body.pending.outcome], "."),
        kept.length > 0 && el("span", texts.pending.stays(kept.map(({ suite, key, reason }) =>
          `${key ?? suite}: ${reason}`).join("; ")))));
      ({ changes } = body);
    } catch (problem) {
      trouble.tell(whyNot(problem));
      if (hasEnded(problem)) {
        const hasFocus = element.contains(document.activeElement);
        trouble.tabIndex = -1;
        element.replaceChildren(trouble);
        if (hasFocus) trouble.focus();
      }
    }
    buttons.ariaBusy = "false";
    onEnd(changes);
  }

  const all = action.action === "write" ? ["cancel"] : ["confirm", "revert"];
  const buttons = el("div.buttons", {}, mayEnd(app, action) && all.map(what => button(texts.pending.decisions[what],
    () => end(what), label && `${texts.pending.decisions[what]}: ${label}`)));
  const element = el("div.decision", about, buttons, trouble);
  return element;
}

// Says that a commit will be reverted, and follows the action until it ends or another message comes.
export function tellPending(app, content, action) {
  const about = el("p", content, el("span", whenDue(action)));
  const timer = about.querySelector("[data-deadline]");
  toast(decision(app, action, { about, onEnd: changes => app.endPending?.(changes) }));
  const follow = async () => {
    if (!timer.isConnected) return;
    try {
      timer.dataset.deadline = (await get(`v1/pending/${action.id}`)).body.deadline;
    } catch (problem) {
      if (hasEnded(problem) && timer.isConnected) return toast(el("p", el("strong", whyNot(problem))));
    }
    setTimeout(follow, pendingInterval);
  };
  setTimeout(follow, pendingInterval);
}
