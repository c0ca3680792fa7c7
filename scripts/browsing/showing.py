"""The flows of a person who looks at unusual values, at changes, and at long lists. `trial` has the daemon and its
API, `person` is the browser (see __init__.py)."""

import json
import time

from browsing.editing import EDITOR, equal, open_setting
from browsing.person import CTRL, FlowFailed
from browsing.racing import sees_row


def deep_value(trial, person):
    """The page shows the deepest value that the daemon accepts, and then the changes from the event stream."""
    suite, deepest = "deep", json.loads("[" * 128 + "]" * 128)
    trial.api.put(suite, "plain", 1)
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "plain", "1")
    trial.api.put(suite, "deepest", deepest)
    sees_row(person, "deepest", "[[[")
    trial.api.put(suite, "plain", 2)
    sees_row(person, "plain", "2")
    person.sees("Live", "#state")
    person.visit(trial.origin, f"#/{suite}/deepest")
    person.until("document.querySelector('.editor textarea')?.value.includes('[')", "the editor shows the value")
    open_setting(person, suite, "plain")
    person.fill("Value", "3", EDITOR, "input:not([type=range]), textarea")
    person.commit()
    equal("the other setting", trial.api.value(suite, "plain"), 3)
    person.visit(trial.origin, f"#/{suite}?history")
    person.sees("deepest", ".commits")


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

    def check_hidden(where):
        if person.evaluate("/s3cr3t|BEGIN KEY/.test(document.body.innerText + document.body.innerHTML)"):
            raise FlowFailed(f"{where} shows a secret")

    person.visit(trial.origin, f"#/{suite}/key")
    person.sees("another key", ".past")
    check_hidden("the panel")
    person.fill("Search settings", "s3cr3t", "main")
    person.sees("0 of 2", ".count")
    person.fill("Search settings", "", "main")
    person.evaluate(f"location.hash = '#/{suite}?history'")
    person.sees("another key", ".commits")
    check_hidden("the history")
    person.choose_action(revision, "Compare with now")
    person.sees("1 difference", ".comparison")
    check_hidden("the comparison")
    person.click("History", "a", "nav.tabs")
    person.choose_action(revision + 1, "Undo…")
    person.sees("Note", "dialog")
    check_hidden("the undo dialog")
    person.close_dialog()
    open_setting(person, suite, "key")
    person.fill("Value", SECRET + "3", EDITOR)
    person.sees("1 edit", "#tray")
    person.press("Enter", CTRL)
    person.sees("Commit 1 change", "dialog.review")
    check_hidden("the review")
    person.close_dialog()
    trial.api.put(suite, "key", SECRET + "4")
    person.sees("conflict", "#tray")
    check_hidden("the conflict")
    person.click("Take theirs", "button", ".panel")
    schema["properties"]["key"] = {"type": "string", "writeOnly": True, "maxLength": 3}
    trial.api.send("PUT", f"suites/{suite}/schema?onConflict=keep", schema)
    sees_row(person, "key", "invalid")
    check_hidden("the row of an invalid value")


def multiline_values(trial, person):
    """The row of a value of several lines is as high as other rows, so that a click reaches the row under the pointer."""
    suite = "lines"
    trial.api.put(suite, "a", "\n".join(f"line {number}" for number in range(20)))
    for key in "bcd":
        trial.api.put(suite, key, key)
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "a", "line 0 ⏎ line 1")
    x, y = person.evaluate("(row => { const box = row.getBoundingClientRect(); const value = row.querySelector('.now').getBoundingClientRect();"
                           " return [value.x + 10, box.y + box.height / 2]; })([...document.querySelectorAll('.row')].find(row => row.innerText.startsWith('c')))")
    person.click_at(x, y)
    person.until("document.querySelector('.panel h2')?.textContent === 'c'", "the click opens the setting under the pointer")


def type_change(trial, person):
    """A change of the type is visible although both values have the same text."""
    suite = "types"
    for key, values in (("a", ("Off", False)), ("b", ("[1,2]", [1, 2])), ("c", (["a", "b"], ["a, b"])), ("d", ("x " * 60, ["x " * 60]))):
        for value in values:
            trial.api.put(suite, key, value)
    person.visit(trial.origin, f"#/{suite}?history")
    for text in ('"Off"', "false", '"[1,2]"', "The type changes from text to list", "The type changes from text to true or false", '["a, b"]'):
        person.sees(text, ".commits")


def clicks(trial, person):
    """A click opens the setting under the pointer, and the list does not scroll: after a search, and after a visit to the
    history."""
    suite = "clicks"
    trial.api.send("PATCH", f"suites/{suite}", {f"key{number:03}": number for number in range(200)})
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "key000", "0")

    def open_middle(where):
        name, top, x, y = person.evaluate("""(list => { const box = list.getBoundingClientRect();
            const [x, y] = [box.x + 60, box.y + box.height / 2];
            return [document.elementFromPoint(x, y).closest('.row').querySelector('.name').innerText, list.scrollTop, x, y];
        })(document.querySelector('.list'))""")
        person.click_at(x, y)
        person.until(f"document.querySelector('.panel:not([hidden]) h2')?.textContent === {json.dumps(name)}", f"the click opens {name} {where}")
        equal(f"the scroll position of the list {where}", person.evaluate("document.querySelector('.list').scrollTop"), top)

    person.fill("Search settings", "key1", "main")
    person.sees("100 of 200", ".count")
    person.evaluate("document.querySelector('.list').scrollTop = 3000")
    person.evaluate_async("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    open_middle("after a search")
    top = person.evaluate("document.querySelector('.list').scrollTop")
    person.click("History", "a", "nav.tabs")
    person.until("document.querySelector('.commit')", "the history is listed")
    person.click("Settings", "a", "nav.tabs")
    person.until(f"document.querySelector('.list')?.scrollTop === {top}", "the list has its scroll position again")
    equal("the search", person.evaluate("document.querySelector('input[type=search]').value"), "key1")
    open_middle("after a visit to the history")


def large_values(trial, person):
    """A text and a list of a megabyte each open within ten seconds."""
    trial.api.put("large", "text", "A line of text.\n" * 65_536)
    trial.api.put("large", "list", [{"number": number, "text": "words"} for number in range(30_000)])
    person.visit(trial.origin, "#/large")
    sees_row(person, "text", "⏎")
    times = []
    for key in ("text", "list"):
        begun = time.monotonic()
        person.evaluate(f"location.hash = '#/large/{key}'")
        person.until(f"document.querySelector('.panel h2')?.textContent === '{key}' && document.querySelector('.editor textarea')?.value.length > 900_000", f"the editor has the {key}")
        person.evaluate_async("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        times.append(time.monotonic() - begun)
    if max(times) > 10:
        raise FlowFailed(f"the values opened after {times} s")
    return "opened after " + " s and ".join(f"{seconds:.1f}" for seconds in times) + " s"


def relative_times(trial, person):
    """A time such as "3 minutes ago" is updated while the page stays open."""
    trial.api.put("times", "a", 1)
    person.visit(trial.origin, "#/times?history")
    person.sees("just now", ".commit")
    person.evaluate("(now => { Date.now = () => now() + 185_000; })(Date.now)")
    person.sees("3 minutes ago", ".commit")
