"""The flows in which the daemon refuses a request or does not answer, and in which a person leaves the page with edits."""

import json

from browsing.api import API
from browsing.editing import EDITOR, equal, to_setting
from browsing.person import CTRL, Wrong
from browsing.racing import row


def failed_commit(trial, person):
    """The reason of a failed commit stays until the person acts, and the reason of a refusal is shown at the editor."""
    suite = "failed"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edit can be committed")
    body = json.dumps({"status": 507, "title": "Insufficient storage", "code": "insufficient_storage", "detail": "the disk is full"})
    # Only the commit fails: the dry runs before and after it succeed.
    with person.answering("*/v1/transaction", 507, body):
        person.click("Commit 1 change", "button", "dialog.review")
        person.shows("The commit failed: the disk is full", "dialog.review")
    # This wait is longer than the dry run after an edit takes to begin and to end.
    person.awaits("new Promise(done => setTimeout(done, 800))")
    person.shows("The commit failed: the disk is full", "dialog.review")
    person.close_dialog()
    person.shows("the disk is full", "#tray")
    person.shows("the disk is full", ".panel")
    person.fill("Value", "0.4", EDITOR)
    person.hides("the disk is full")
    person.commit()
    # The refusal of a dry run is shown at the editor, too.
    for status, detail in ((413, "the request is too large"), (429, "too many requests")):
        with person.answering("*/v1/transaction?dryRun=true", status, json.dumps({"status": status, "detail": detail})):
            person.fill("Value", f"0.{status}", EDITOR)
            person.shows(detail, ".panel .edit-state")
    person.click("Discard this edit", "button", ".panel")


def drafts(trial, person):
    """The browser asks before a reload with edits. The edits and the text of a schema are kept, but no edit of a secret."""
    suite = "drafts"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    to_setting(person, suite, "account.password")
    person.fill("Value", "open sesame", EDITOR)
    person.shows("2 edits", "#tray")
    person.leaves = True
    person.visit(trial.origin, f"#/{suite}/player.volume")
    equal("questions before leaving", person.questions, 1)
    person.shows("1 edit", "#tray")
    person.until("document.querySelector('.editor input.number')?.value === '0.3'", "the editor has the edit")
    if "sesame" in person.evaluate("JSON.stringify(Object.entries(sessionStorage))"):
        raise Wrong("a secret is in the storage of the tab")
    trial.api.put(suite, "player.volume", 0.2)
    person.shows("1 conflict", "#tray")
    person.click("Keep mine", "button", ".panel")
    person.commit()
    equal("the edit from before the reload", trial.api.value(suite, "player.volume"), 0.3)
    person.click("Schema", "a", "nav.tabs")
    person.until("document.querySelector('textarea.code')?.value.includes('player.crossfade')", "the schema is there")
    text = '{"type": "object", "additionalProperties": {"title": "mine"}}'
    person.fill("JSON Schema", text, "main")
    person.click("Settings", "a", "nav.tabs")
    person.shows("Schema · edited", "nav.tabs")
    person.click("Schema · edited", "a", "nav.tabs")
    person.until(f"document.querySelector('textarea.code')?.value === {json.dumps(text)}", "the text is there after another view")
    person.visit(trial.origin, f"#/{suite}?schema")
    equal("questions before leaving", person.questions, 2)
    person.until(f"document.querySelector('textarea.code')?.value === {json.dumps(text)}", "the text is there after a reload")
    person.click("Revert", "button", "main")
    person.visit(trial.origin, f"#/{suite}?schema")
    equal("questions before leaving", person.questions, 2)


def unknown(trial, person):
    """A view that is opened while the daemon does not answer does not claim that there is nothing, and recovers."""
    suite = "unknown"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    row(person, "volume", "0.85")
    for part, has_recovered in (("?schema", "document.querySelector('textarea.code')?.value.includes('crossfade')"), ("?history", "document.querySelector('.commit')")):
        trial.daemon.kill()
        person.evaluate(f"location.hash = '#/{suite}{part}'")
        person.shows("The daemon does not answer", "main")
        for words in ("has no schema", "Apply schema", "No commits"):
            person.hides(words, "main")
        trial.start()
        person.until(has_recovered, f"{part} recovers")
        person.hides("The daemon does not answer", "main")
    for address, name in (("#/", suite), (f"#/{suite}", "volume")):
        person.visit(trial.origin, "#/?service")
        person.shows("Live", "#state")
        trial.daemon.kill()
        person.evaluate(f"location.hash = '{address}'")
        person.shows("The daemon does not answer", "main .notice")
        trial.start()
        person.shows(name, ".list")
    person.visit(trial.origin, f"#/{suite}")
    row(person, "volume", "0.85")
    with person.answering("*/schema", 403, json.dumps({"status": 403, "code": "forbidden", "detail": "token:x lacks the right schema"})):
        person.evaluate(f"location.hash = '#/{suite}?schema'")
        person.shows("lacks the right schema", "main")
        person.hides("has no schema", "main")
        person.hides("Apply schema", "main")


def refused_undo(trial, person):
    """The reason why an undo or a restore is refused is shown at the commit, in view, and without request parameters."""
    suite = "refused"
    schema = lambda more: {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer", **more}}}
    trial.api.send("PUT", f"suites/{suite}/schema", schema({}))
    for value in (50, 1):
        trial.api.put(suite, "n", value)
    revision = trial.api.setting(suite, "n")["revision"]
    trial.api.send("PUT", f"suites/{suite}/schema", schema({"maximum": 10}))
    for value in range(2, 10):
        trial.api.put(suite, "n", value)
        trial.api.put(suite, "n", 1)
    person.visit(trial.origin, f"#/{suite}?history")
    person.until("document.querySelectorAll('.commit').length > 15", "the commits are listed")
    person.act(revision, "Undo…")
    person.until("document.querySelector('.commit .error:not([hidden])')", "the reason appears at the commit")
    text, is_seen = person.evaluate("(each => { const box = each.getBoundingClientRect(); return [each.innerText,"
                                    " box.height > 0 && box.top >= 0 && box.bottom <= innerHeight]; })(document.querySelector('.commit .error:not([hidden])'))")
    if not is_seen or "must be at most 10 (got 50)" not in text or "?" in text or '"' in text:
        raise Wrong(f"the reason is {text!r}, and {'in' if is_seen else 'out of'} view")
    person.click("Compare", "a", "nav.tabs")
    person.fill("From moment", "99999", "main")
    person.click("Go back to From…", "button", "main")
    person.until("document.querySelector('.compare .error:not([hidden])')", "the reason appears at the form")


def schema_undo(trial, person):
    """Undo of a commit that changed the schema shows the lines that change, and asks about values that become invalid."""
    suite = "schema_undo"
    schema = lambda limit: {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer", "maximum": limit}}}
    trial.api.send("PUT", f"suites/{suite}/schema", schema(10))
    trial.api.send("PUT", f"suites/{suite}/schema", schema(20))
    trial.api.put(suite, "n", 15)
    trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": suite, "key": "n", "value": 16}, {"op": "set", "suite": "beside", "key": "a", "value": 1}]})
    person.visit(trial.origin, f"#/{suite}?history")
    person.click("Schema change", "summary", ".commit:has([aria-label='Actions for revision 2'])")
    for text in ('− "maximum": 10', '+ "maximum": 20'):
        person.until(f"document.querySelector('.commits').innerText.replace(/ +/g, ' ').includes({json.dumps(text)})", f"the history shows {text}")
    person.click("Schema change", "summary", ".commit:has([aria-label='Actions for revision 1'])")
    person.shows('+   "type": "object"', ".commit:has([aria-label='Actions for revision 1'])")
    person.act(4, "Undo…")
    person.shows("The commit also changed beside", "dialog")
    person.close_dialog()
    person.act(2, "Undo…")
    for text in ("must be at most 10 (got 16)", '+       "maximum": 10', "16"):
        person.shows(text, "dialog")
    person.until("/from 16 → to invalid/.test(document.querySelector('dialog').innerText.replace(/\\s+/g, ' '))", "the value becomes invalid")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the commit is undone")
    equal("the schema", trial.api.send("GET", f"suites/{suite}/schema"), schema(10))
    equal("the value", trial.api.setting(suite, "n")["code"], "invalid_stored")


def reader(trial, person):
    """A caller that may only read is offered no writes, and a stream that the daemon refuses is not called offline."""
    guarded = trial.guarded()
    try:
        API(guarded.origin, guarded.tokens["writer"]).put("app", "a", 1)
        person.visit(guarded.origin, "#/app/a")
        person.fill("Token", guarded.tokens["reader"], "dialog")
        person.press("Enter")
        person.until("document.querySelector('.row')", "the settings are there")
        names = person.evaluate("[...document.querySelectorAll('main button')].map(each => each.textContent)")
        if {"Add", "Import", "Reset to default", "Remove the value"} & set(names) or "Export" not in names:
            raise Wrong(f"a reader is offered {names}")
        person.until("document.querySelector('.editor :disabled')", "the editor is there")
        equal("the border of a locked field", person.evaluate("getComputedStyle(document.querySelector('.editor :disabled')).borderStyle"), "dashed")
        for status, words in ((429, "Too many watchers"), (403, "No access")):
            with person.answering("*/observe", status, json.dumps({"status": status, "detail": "refused"})):
                person.visit(guarded.origin, "#/app")
                person.shows(words, "#state")
        person.shows("Live", "#state")
    finally:
        guarded.stop()
