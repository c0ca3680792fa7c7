// Pending actions: reverts of commits with a deadline, and scheduled writes.
import { daemonTime, newRequestKey, send } from "./api.js";
import { errorLine, bdi, button, el, toast } from "./dom.js";
import { texts } from "./texts.js";
import { exactTimes } from "./words.js";

// How often, in ms, the page asks for pending actions: the stream does not say when an action or its deadline changes.
export const pendingInterval = 3000;

// A time span in words: seconds below two minutes, minutes below two hours, and then two units.
export function durationText(milliseconds) {
  const { seconds, minutes, hours, days } = texts.pending;
  const whole = Math.max(0, Math.ceil(milliseconds / 1000));
  if (whole < 120) return seconds(whole);
  const [minute, hour] = [Math.ceil(whole / 60), Math.floor(Math.ceil(whole / 60) / 60)];
  if (minute < 120) return minutes(minute);
  return hour < 48 ? hours(hour, minute % 60) : days(Math.floor(hour / 24), hour % 24);
}

const textOf = deadline => durationText(Date.parse(deadline) - daemonTime());

// The time until a deadline, which `refreshCountdowns` updates.
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

// True if the caller has the rights to end an action. An element of `suites` without keys is a prefix or a whole suite.
export const mayEnd = ({ caller }, { suites = [] }) => suites.every(({ suite, keys, prefix = "", schema }) =>
  (keys || [prefix]).every(key => caller.may("write", suite, key)) && (!schema || caller.may("schema", suite)));

// Why the daemon did not end an action, as text and elements.
export function whyNotEnded(problem) {
  const { outcome, endedBy } = problem.body.pending || {};
  if (outcome)
    return [texts.pending.ended, texts.pending.outcomes[outcome], endedBy ? [texts.common.by, bdi(endedBy)] : "", "."];
  if (problem.code === "unknown_pending") return [texts.pending.ended, texts.pending.unknown];
  return problem.mayHaveSucceeded ? texts.pending.lost : problem.message;
}

export const hasEnded = ({ code }) => ["pending_ended", "unknown_pending"].includes(code);

// The description `about` of an action, and the buttons that end the action if the caller may end it. If the action has
// ended already, the reason replaces both. `label` is the name of the action for screen readers, if a view has several
// actions. `onEnd` gets the changes of the settings; an empty list if the request failed.
export function decisionButtons(app, action, { about, label, onEnd }) {
  const failure = errorLine("p.error");
  const requestKey = newRequestKey();

  async function end(decision) {
    if (buttons.ariaBusy === "true") return;
    buttons.ariaBusy = "true";
    failure.tell();
    let changes = [];
    try {
      const { body } = await send("POST", `v1/pending/${action.id}`, { body: { do: decision }, key: `${decision} ${requestKey}` });
      const { kept = [] } = body.pending;
      toast(el("p", el("strong", texts.pending.outcomes[body.pending.outcome], "."),
        kept.length > 0 && el("span", texts.pending.stays(kept.map(({ suite, key, reason }) =>
          `${key ?? suite}: ${reason}`).join("; ")))));
      ({ changes } = body);
    } catch (problem) {
      failure.tell(whyNotEnded(problem));
      if (hasEnded(problem)) {
        const hasFocus = element.contains(document.activeElement);
        failure.tabIndex = -1;
        element.replaceChildren(failure);
        if (hasFocus) failure.focus();
      }
    }
    buttons.ariaBusy = "false";
    onEnd(changes);
  }

  const choices = action.action === "write" ? ["cancel"] : ["confirm", "revert"];
  const buttons = el("div.buttons", {}, mayEnd(app, action) && choices.map(each => button(texts.pending.decisions[each],
    () => end(each), label && `${texts.pending.decisions[each]}: ${label}`)));
  const element = el("div.decision", about, buttons, failure);
  return element;
}
