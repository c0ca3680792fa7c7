"""The flows in which a value, a request or a connection is not as usual."""

import json
import threading
import time

from browsing.api import API
from browsing.editing import EDITOR, equal, to_setting
from browsing.person import CTRL, Wrong
from browsing.racing import row


def deep_value(trial, person):
    """The deepest value that the daemon accepts is shown, and the stream goes on after it."""
    suite, deepest = "deep", json.loads("[" * 128 + "]" * 128)
    trial.api.put(suite, "plain", 1)
    person.visit(trial.origin, f"#/{suite}")
    row(person, "plain", "1")
    trial.api.put(suite, "deepest", deepest)
    row(person, "deepest", "[[[")
    trial.api.put(suite, "plain", 2)
    row(person, "plain", "2")
    person.shows("Live", "#state")
    person.visit(trial.origin, f"#/{suite}/deepest")
    person.until("document.querySelector('.editor textarea')?.value.includes('[')", "the editor shows the value")
    to_setting(person, suite, "plain")
    person.fill("Value", "3", EDITOR, "input:not([type=range]), textarea")
    person.commit()
    equal("the setting beside it", trial.api.value(suite, "plain"), 3)
    person.visit(trial.origin, f"#/{suite}?history")
    person.shows("deepest", ".commits")


SECRET = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ" + "s3cr3t" * 20 + "\n-----END KEY-----"


def secrets(trial, person):
    """A secret is hidden wherever it could be shown: a long secret, a secret of several lines, an invalid secret."""
    suite = "secrets"
    schema = {"type": "object", "additionalProperties": False, "properties": {
        "key": {"type": "string", "writeOnly": True, "default": "s3cr3t by default"}, "plain": {"type": "integer"}}}
    trial.api.send("PUT", f"suites/{suite}/schema", schema)
    trial.api.put(suite, "key", SECRET)
    revision = trial.api.setting(suite, "key")["revision"]
    trial.api.put(suite, "key", SECRET + "2", "another key")

    def hidden(where):
        if person.evaluate("/s3cr3t|BEGIN KEY/.test(document.body.innerText + document.body.innerHTML)"):
            raise Wrong(f"{where} shows a secret")

    person.visit(trial.origin, f"#/{suite}/key")
    person.shows("another key", ".past")
    hidden("the panel")
    person.fill("Search settings", "s3cr3t", "main")
    person.shows("0 of 2", ".count")
    person.fill("Search settings", "", "main")
    person.evaluate(f"location.hash = '#/{suite}?history'")
    person.shows("another key", ".commits")
    hidden("the history")
    person.click(f"Compare revision {revision} with now", "button")
    person.shows("1 difference", ".comparison")
    hidden("the comparison")
    person.click(f"Undo revision {revision + 1}", "button")
    person.shows("Note", "dialog")
    hidden("the undo dialog")
    person.leave()
    to_setting(person, suite, "key")
    person.fill("Value", SECRET.replace("\n", " ") + "3", EDITOR)
    person.shows("1 edit", "#tray")
    person.press("Enter", CTRL)
    person.shows("Commit 1 change", "dialog.review")
    hidden("the review")
    person.leave()
    trial.api.put(suite, "key", SECRET + "4")
    person.shows("conflict", "#tray")
    hidden("the conflict")
    person.click("Take theirs", "button", ".panel")
    schema["properties"]["key"] = {"type": "string", "writeOnly": True, "maxLength": 3}
    trial.api.send("PUT", f"suites/{suite}/schema?onConflict=keep", schema)
    row(person, "key", "invalid")
    hidden("the row of an invalid value")


def lines(trial, person):
    """A value of several lines stays in its row, so that a click reaches the row under the pointer."""
    suite = "lines"
    trial.api.put(suite, "a", "\n".join(f"line {number}" for number in range(20)))
    for key in "bcd":
        trial.api.put(suite, key, key)
    person.visit(trial.origin, f"#/{suite}")
    row(person, "a", "line 0 ⏎ line 1")
    x, y = person.evaluate("(row => { const box = row.getBoundingClientRect(); const value = row.querySelector('.now').getBoundingClientRect();"
                           " return [value.x + 10, box.y + box.height / 2]; })([...document.querySelectorAll('.row')].find(row => row.innerText.startsWith('c')))")
    person.click_at(x, y)
    person.until("document.querySelector('.panel h2')?.textContent === 'c'", "the click opens the setting under the pointer")


def type_change(trial, person):
    """A change of the type is visible although both values read the same."""
    suite = "types"
    for key, values in (("a", ("Off", False)), ("b", ("[1,2]", [1, 2])), ("c", (["a", "b"], ["a, b"])), ("d", ("x " * 60, ["x " * 60]))):
        for value in values:
            trial.api.put(suite, key, value)
    person.visit(trial.origin, f"#/{suite}?history")
    for text in ('"Off"', "false", '"[1,2]"', "The type changes from text to list", "The type changes from text to true or false", '["a, b"]'):
        person.shows(text, ".commits")


def failed_commit(trial, person):
    """The reason of a failed commit stays until the person acts."""
    suite = "failed"
    trial.api.player(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.press("Enter", CTRL)
    person.until("!document.querySelector('dialog.review .primary').disabled", "the edit can be committed")
    body = json.dumps({"status": 507, "title": "Insufficient storage", "code": "insufficient_storage", "detail": "the disk is full"})
    # Only the commit fails: the dry runs before and after it succeed.
    with person.answering("*/v1/transaction", 507, body):
        person.click("Commit 1 change", "button", "dialog.review")
        person.shows("The commit failed: the disk is full", "dialog.review")
    # Longer than the dry run after an edit takes to begin and to end.
    person.awaits("new Promise(done => setTimeout(done, 800))")
    person.shows("The commit failed: the disk is full", "dialog.review")
    person.leave()
    person.shows("the disk is full", "#tray")
    person.shows("the disk is full", ".panel")
    person.fill("Value", "0.4", EDITOR)
    person.hides("the disk is full")
    person.commit()


def drafts(trial, person):
    """Edits and the text of a schema outlast a reload, after a question; a secret is never kept."""
    suite = "drafts"
    trial.api.player(suite)
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
    """A view that is opened while the daemon does not answer says what is not known, and recovers."""
    suite = "unknown"
    trial.api.player(suite)
    person.visit(trial.origin, f"#/{suite}")
    row(person, "volume", "0.85")
    for part, has_recovered in (("?schema", "document.querySelector('textarea.code').value.includes('crossfade')"), ("?history", "document.querySelector('.commit')")):
        trial.daemon.kill()
        person.evaluate(f"location.hash = '#/{suite}{part}'")
        person.shows("The daemon does not answer", "main")
        for words in ("has no schema", "Apply schema", "No commits"):
            person.hides(words, "main")
        trial.start()
        person.until(has_recovered, f"{part} recovers")
        person.hides("The daemon does not answer", "main")
    for place, has_recovered in (("#/", "suites"), (f"#/{suite}", "15 settings")):
        person.visit(trial.origin, "#/?service")
        person.shows("Live", "#state")
        trial.daemon.kill()
        person.evaluate(f"location.hash = '{place}'")
        person.shows("The daemon does not answer", "main .notice")
        trial.start()
        person.shows(suite if place == "#/" else "volume", ".list")
    person.visit(trial.origin, f"#/{suite}")
    row(person, "volume", "0.85")
    with person.answering("*/schema", 403, json.dumps({"status": 403, "code": "forbidden", "detail": "token:x lacks the right schema"})):
        person.evaluate(f"location.hash = '#/{suite}?schema'")
        person.shows("lacks the right schema", "main")
        person.hides("has no schema", "main")
        person.hides("Apply schema", "main")


def refused_undo(trial, person):
    """The reason why an undo or going back is refused stands at the commit, in view, and in words for people."""
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
    person.until("document.querySelectorAll('.commit').length > 15", "the commits are there")
    person.click(f"Undo revision {revision}", "button")
    person.until("document.querySelector('.commit .error:not([hidden])')", "the reason is there")
    text, is_seen = person.evaluate("(each => { const box = each.getBoundingClientRect(); return [each.innerText,"
                                    " box.height > 0 && box.top >= 0 && box.bottom <= innerHeight]; })(document.querySelector('.commit .error:not([hidden])'))")
    if not is_seen or "must be at most 10, but is 50" not in text or "?" in text or '"' in text:
        raise Wrong(f"the reason is {text!r}, and {'in' if is_seen else 'out of'} view")
    person.click("Compare or go back to a place", "summary", "main")
    person.fill("From", "99999", "main")
    person.click("Go back to From…", "button", "main")
    person.until("document.querySelector('.compare .error:not([hidden])')", "the reason is at the form")


def schema_undo(trial, person):
    """Undo of a commit that changed the schema shows the lines that change, and asks about values that become invalid."""
    suite = "schema_undo"
    schema = lambda limit: {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer", "maximum": limit}}}
    trial.api.send("PUT", f"suites/{suite}/schema", schema(10))
    trial.api.send("PUT", f"suites/{suite}/schema", schema(20))
    trial.api.put(suite, "n", 15)
    trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": suite, "key": "n", "value": 16}, {"op": "set", "suite": "beside", "key": "a", "value": 1}]})
    person.visit(trial.origin, f"#/{suite}?history")
    person.click("Schema change", "summary", ".commit:has([aria-label='Undo revision 2'])")
    for text in ('− "maximum": 10', '+ "maximum": 20'):
        person.until(f"document.querySelector('.commits').innerText.replace(/ +/g, ' ').includes({json.dumps(text)})", f"the history shows {text}")
    person.click("Undo revision 4", "button")
    person.shows("The commit also changed beside", "dialog")
    person.leave()
    person.click("Undo revision 2", "button")
    for text in ("must be at most 10, but is 16", '+       "maximum": 10', "16"):
        person.shows(text, "dialog")
    person.until("/from 16 → to invalid/.test(document.querySelector('dialog').innerText.replace(/\\s+/g, ' '))", "the value becomes invalid")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "it is undone")
    equal("the schema", trial.api.send("GET", f"suites/{suite}/schema"), schema(10))
    equal("the value", trial.api.setting(suite, "n")["code"], "invalid_stored")


def under_load(trial, person):
    """With ten commits a second the list of suites and the count of new commits keep up, and nothing moves under the pointer."""
    trial.api.put("busy", "n", 0)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.wait(0.1):
            number += 1
            trial.api.send("PATCH", "suites/busy", {f"key{number}": number})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        person.visit(trial.origin)
        count = "Number(document.querySelector('.row .keys-count')?.innerText.split(' ')[0])"
        person.until(f"{count} > 0", "the suite is listed")
        before = person.evaluate(count)
        person.until(f"{count} > {before}", "the list of suites keeps up", within=3)
        person.evaluate("location.hash = '#/busy?history'")
        person.until("document.querySelector('.commit')", "the history is there")
        place = "(each => [each.getAttribute('aria-label'), each.getBoundingClientRect().y])(document.querySelector('.commit-buttons button'))"
        person.evaluate("document.querySelector('.commit-buttons button').focus()")
        before = person.evaluate(place)
        person.until("/^Show [2-9]/.test(document.querySelector('.newer').innerText)", "new commits are counted", within=5)
        equal("the first commit and its place", person.evaluate(place), before)
        equal("the focus", person.evaluate("document.activeElement.getAttribute('aria-label')"), before[0])
        first = "Number(document.querySelector('.commit-head .faint').innerText.match(/revision (\\d+)/)[1])"
        revision = person.evaluate(first)
        person.evaluate("document.querySelector('.newer').click()")
        person.until(f"{first} > {revision} + 1", "the new commits are shown")
    finally:
        stop.set()
        writer.join()


def clicks(trial, person):
    """A click opens the setting under the pointer, and the list keeps its place: after a search, and after a look at the history."""
    suite = "clicks"
    trial.api.send("PATCH", f"suites/{suite}", {f"key{number:03}": number for number in range(200)})
    person.visit(trial.origin, f"#/{suite}")
    row(person, "key000", "0")

    def open_middle(where):
        name, top, x, y = person.evaluate("""(list => { const box = list.getBoundingClientRect();
            const [x, y] = [box.x + 60, box.y + box.height / 2];
            return [document.elementFromPoint(x, y).closest('.row').querySelector('.name').innerText, list.scrollTop, x, y];
        })(document.querySelector('.list'))""")
        person.click_at(x, y)
        person.until(f"document.querySelector('.panel:not([hidden]) h2')?.textContent === {json.dumps(name)}", f"the click opens {name} {where}")
        equal(f"the place of the list {where}", person.evaluate("document.querySelector('.list').scrollTop"), top)

    person.fill("Search settings", "key1", "main")
    person.shows("100 of 200", ".count")
    person.evaluate("document.querySelector('.list').scrollTop = 3000")
    person.awaits("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    open_middle("after a search")
    top = person.evaluate("document.querySelector('.list').scrollTop")
    person.click("History", "a", "nav.tabs")
    person.until("document.querySelector('.commit')", "the history is there")
    person.click("Settings", "a", "nav.tabs")
    person.until(f"document.querySelector('.list')?.scrollTop === {top}", "the list is at its place")
    equal("the search", person.evaluate("document.querySelector('input[type=search]').value"), "key1")
    open_middle("after a look at the history")


def large(trial, person):
    """A text and a list of a megabyte open within seconds."""
    trial.api.put("large", "text", "A line of text.\n" * 65_536)
    trial.api.put("large", "list", [{"number": number, "text": "words"} for number in range(30_000)])
    person.visit(trial.origin, "#/large")
    row(person, "text", "⏎")
    times = []
    for key in ("text", "list"):
        begun = time.monotonic()
        person.evaluate(f"location.hash = '#/large/{key}'")
        person.until(f"document.querySelector('.panel h2')?.textContent === '{key}' && document.querySelector('.editor textarea')?.value.length > 900_000", f"the {key} is there")
        person.awaits("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        times.append(time.monotonic() - begun)
    if max(times) > 10:
        raise Wrong(f"the values opened after {times} s")
    return "opened after " + " s and ".join(f"{seconds:.1f}" for seconds in times) + " s"


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
        equal("the border of a locked field", person.evaluate("getComputedStyle(document.querySelector('.editor :disabled')).borderStyle"), "dashed")
        for status, words in ((429, "Too many watchers"), (403, "No access")):
            with person.answering("*/observe", status, json.dumps({"status": status, "detail": "refused"})):
                person.visit(guarded.origin, "#/app")
                person.shows(words, "#state")
        person.shows("Live", "#state")
    finally:
        guarded.stop()


def times(trial, person):
    """A relative time is written anew while the page stays open."""
    trial.api.put("times", "a", 1)
    person.visit(trial.origin, "#/times?history")
    person.shows("just now", ".commit")
    person.evaluate("(now => { Date.now = () => now() + 185_000; })(Date.now)")
    person.shows("3 minutes ago", ".commit")
