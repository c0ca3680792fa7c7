"""The flows in which the daemon refuses a request or does not answer, and in which a person leaves the page with edits.
`trial` has the daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample
suite."""

import json

from browsing.api import API
from browsing.editing import EDITOR, equal, open_setting
from browsing.person import CTRL, FlowFailed
from browsing.racing import sees_row


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
        person.sees("The commit failed: the disk is full", "dialog.review")
    # This wait is longer than the dry run after an edit takes to begin and to end.
    person.evaluate_async("new Promise(done => setTimeout(done, 800))")
    person.sees("The commit failed: the disk is full", "dialog.review")
    person.close_dialog()
    person.sees("the disk is full", "#tray")
    person.sees("the disk is full", ".panel")
    person.fill("Value", "0.4", EDITOR)
    person.sees_no("the disk is full")
    person.commit()
    # The refusal of a dry run is shown at the editor, too.
    for status, detail in ((413, "the request is too large"), (429, "too many requests")):
        with person.answering("*/v1/transaction?dryRun=true", status, json.dumps({"status": status, "detail": detail})):
            person.fill("Value", f"0.{status}", EDITOR)
            person.sees(detail, ".panel .edit-state")
    person.click("Discard this edit", "button", ".panel")


def drafts(trial, person):
    """The browser asks before a reload with edits. The edits and the text of a schema are kept, but no edit of a secret."""
    suite = "drafts"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    open_setting(person, suite, "account.password")
    person.fill("Value", "open sesame", EDITOR)
    person.sees("2 edits", "#tray")
    person.confirms_leaving = True
    person.visit(trial.origin, f"#/{suite}/player.volume")
    equal("questions before leaving", person.questions, 1)
    person.sees("1 edit", "#tray")
    person.until("document.querySelector('.editor input.number')?.value === '0.3'", "the editor has the edit")
    if "sesame" in person.evaluate("JSON.stringify(Object.entries(sessionStorage))"):
        raise FlowFailed("a secret is in the storage of the tab")
    trial.api.put(suite, "player.volume", 0.2)
    person.sees("1 conflict", "#tray")
    person.click("Keep mine", "button", ".panel")
    person.commit()
    equal("the edit from before the reload", trial.api.value(suite, "player.volume"), 0.3)
    person.click("Schema", "a", "nav.tabs")
    person.until("document.querySelector('textarea.code')?.value.includes('player.crossfade')", "the schema is there")
    text = '{"type": "object", "additionalProperties": {"title": "mine"}}'
    person.fill("JSON Schema", text, "main")
    person.click("Settings", "a", "nav.tabs")
    person.sees("Schema · edited", "nav.tabs")
    person.click("Schema · edited", "a", "nav.tabs")
    person.until(f"document.querySelector('textarea.code')?.value === {json.dumps(text)}", "the text is there after another view")
    person.visit(trial.origin, f"#/{suite}?schema")
    equal("questions before leaving", person.questions, 2)
    person.until(f"document.querySelector('textarea.code')?.value === {json.dumps(text)}", "the text is there after a reload")
    person.click("Revert", "button", "main")
    person.visit(trial.origin, f"#/{suite}?schema")
    equal("questions before leaving", person.questions, 2)


def unreachable(trial, person):
    """A view that is opened while the daemon does not answer says so instead of showing an empty list, and recovers."""
    suite = "unknown"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "volume", "0.85")
    for view, has_recovered in (("?schema", "document.querySelector('textarea.code')?.value.includes('crossfade')"), ("?history", "document.querySelector('.commit')")):
        trial.daemon.kill()
        person.evaluate(f"location.hash = '#/{suite}{view}'")
        person.sees("The daemon does not answer", "main")
        for words in ("has no schema", "Apply schema", "No commits"):
            person.sees_no(words, "main")
        trial.start()
        person.until(has_recovered, f"{view} recovers")
        person.sees_no("The daemon does not answer", "main")
    for address, name in (("#/", suite), (f"#/{suite}", "volume")):
        person.visit(trial.origin, "#/?service")
        person.sees("Live", "#state")
        trial.daemon.kill()
        person.evaluate(f"location.hash = '{address}'")
        person.sees("The daemon does not answer", "main .notice")
        trial.start()
        person.sees(name, ".list")
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "volume", "0.85")
    with person.answering("*/schema", 403, json.dumps({"status": 403, "code": "forbidden", "detail": "token:x lacks the right schema"})):
        person.evaluate(f"location.hash = '#/{suite}?schema'")
        person.sees("lacks the right schema", "main")
        person.sees_no("has no schema", "main")
        person.sees_no("Apply schema", "main")


def refused_undo(trial, person):
    """The reason why an undo is refused is shown at the commit, in view, and without request parameters. The reason why a restore
    is refused is shown at the form."""
    suite = "refused"
    schema = lambda rules: {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer", **rules}}}
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
    person.choose_action(revision, "Undo…")
    person.until("document.querySelector('.commit .error:not([hidden])')", "the reason appears at the commit")
    text, is_seen = person.evaluate("(each => { const box = each.getBoundingClientRect(); return [each.innerText,"
                                    " box.height > 0 && box.top >= 0 && box.bottom <= innerHeight]; })(document.querySelector('.commit .error:not([hidden])'))")
    if not is_seen or "must be at most 10 (got 50)" not in text or "?" in text or '"' in text:
        raise FlowFailed(f"the reason is {text!r}, and {'in' if is_seen else 'out of'} view")
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
    # The four commits have the revisions 1 to 4.
    person.visit(trial.origin, f"#/{suite}?history")
    person.click("Schema change", "summary", ".commit:has([aria-label='Actions for revision 2'])")
    for text in ('− "maximum": 10', '+ "maximum": 20'):
        person.until(f"document.querySelector('.commits').innerText.replace(/ +/g, ' ').includes({json.dumps(text)})", f"the history shows {text}")
    person.click("Schema change", "summary", ".commit:has([aria-label='Actions for revision 1'])")
    person.sees('+   "type": "object"', ".commit:has([aria-label='Actions for revision 1'])")
    person.choose_action(4, "Undo…")
    person.sees("The commit also changed beside", "dialog")
    person.close_dialog()
    person.choose_action(2, "Undo…")
    for text in ("must be at most 10 (got 16)", '+       "maximum": 10', "16"):
        person.sees(text, "dialog")
    person.until("/from 16 → to invalid/.test(document.querySelector('dialog').innerText.replace(/\\s+/g, ' '))", "the value becomes invalid")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the commit is undone")
    equal("the schema", trial.api.send("GET", f"suites/{suite}/schema"), schema(10))
    equal("the value", trial.api.setting(suite, "n")["code"], "invalid_stored")


def reader_view(trial, person):
    """A caller that may only read is offered no writes, and a stream that the daemon refuses is not called offline."""
    protected = trial.start_protected()
    try:
        API(protected.origin, protected.tokens["writer"]).put("app", "a", 1)
        person.visit(protected.origin, "#/app/a")
        person.fill("Token", protected.tokens["reader"], "dialog")
        person.press("Enter")
        person.until("document.querySelector('.row')", "the settings are there")
        names = person.evaluate("[...document.querySelectorAll('main button')].map(each => each.textContent)")
        if {"Add", "Import", "Reset to default", "Remove the value"} & set(names) or "Export" not in names:
            raise FlowFailed(f"a reader is offered {names}")
        person.until("document.querySelector('.editor :disabled')", "the editor is there")
        equal("the border of a locked field", person.evaluate("getComputedStyle(document.querySelector('.editor :disabled')).borderStyle"), "dashed")
        for status, words in ((429, "Too many watchers"), (403, "No access")):
            with person.answering("*/observe", status, json.dumps({"status": status, "detail": "refused"})):
                person.visit(protected.origin, "#/app")
                person.sees(words, "#state")
        person.sees("Live", "#state")
    finally:
        protected.stop()
