"""The flows of a person who changes settings: editors, conflicts, files, and the keyboard. `trial` has the daemon and its
API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

import base64
import json
import time

from browsing.api import eventually
from browsing.person import CTRL, FlowFailed

# The selector of the editor of the open setting.
EDITOR = ".editor"


def equal(what, found, wanted):
    """Raises FlowFailed with the words `what` if the values differ."""
    if found != wanted:
        raise FlowFailed(f"{what}: found {found!r}, not {wanted!r}")


def open_setting(person, suite, key):
    """Opens the panel of a setting by a change of the address, without a reload of the page."""
    person.evaluate(f"location.hash = '#/{suite}/' + encodeURIComponent({json.dumps(key)})")
    person.until(f"document.querySelector('.panel h2')?.textContent === {json.dumps(key)}", f"the setting {key} is open")


def editors(trial, person):
    """Each kind of schema has its own editor, and all edits become one commit with a note."""
    suite = "editors"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    open_key = lambda key: open_setting(person, suite, key)
    open_key("player.shuffle")
    person.click("Value", "input[role=switch]", EDITOR)
    open_key("player.volume")
    person.fill("Value", "1.5", EDITOR)
    person.sees("must be at most 1 (got 1.5)", EDITOR)
    person.fill("Value", "loud", EDITOR)
    person.sees("“loud” is not a number", EDITOR)
    person.fill("Value", "0.25", EDITOR)
    person.until("document.querySelector('.editor input[type=range]').value == 0.25", "the slider follows")
    open_key("look.theme")
    person.choose("Value", "light", EDITOR)
    open_key("look.greeting")
    person.fill("Value", "Hello!", EDITOR)
    person.sees("must match", EDITOR)
    person.fill("Value", "Guten Abend\nzusammen", EDITOR)
    person.sees_no("must match", EDITOR)
    open_key("look.accent")
    person.fill("Value", "#ff8800", EDITOR)
    person.until("document.querySelector('input[type=color]').value === '#ff8800'", "the colour field shows the colour")
    open_key("library.lastScan")
    person.evaluate("(each => { each.value = '2026-03-01T12:30:15'; each.dispatchEvent(new Event('input')); })(document.querySelector('input[type=datetime-local]'))")
    open_key("library.folders")
    person.click("Remove element 2", "button", EDITOR)
    person.click("Add an element", "button", EDITOR)
    person.type("/new")
    person.click("Move element 3 up", "button", EDITOR)
    open_key("library.server")
    person.fill("host (required)", "not a host", EDITOR)
    person.sees("must be a host name", EDITOR)
    person.fill("host (required)", "music.example.com", EDITOR)
    person.click("Remove port", "button", EDITOR)
    open_key("rules")
    person.fill("Value", '{"a": [1,\n 2,, 3]}', EDITOR)
    person.sees("line 2, column 4", EDITOR)
    person.fill("Value", '{"exact": [9007199254740993, 1.0]}', EDITOR)
    open_key("account.password")
    person.fill("Value", "open sesame", EDITOR)
    open_key("look.icon")
    path = trial.folder / "icon.bin"
    path.write_bytes(bytes(range(256)))
    person.choose_file("Value", path, EDITOR)
    person.sees("256 bytes", EDITOR)
    person.sees("11 edits", "#tray")
    person.press("Enter", CTRL)
    person.sees("Commit 11 changes", "dialog.review")
    if person.evaluate("document.body.innerText.includes('open sesame') || document.body.innerText.includes('correct horse')"):
        raise FlowFailed("the page shows a secret")
    person.close_dialog()
    person.commit("an evening with ☕")
    found = trial.api.send("GET", f"suites/{suite}")["values"]
    wanted = {
        "player.shuffle": False, "player.volume": 0.25, "look.theme": "light", "look.greeting": "Guten Abend\nzusammen", "look.accent": "#ff8800",
        "library.folders": ["/srv/music", "/new", "/media/usb"], "library.server": {"host": "music.example.com", "tls": False},
        "account.password": "open sesame", "look.icon": base64.b64encode(bytes(range(256))).decode()}
    for key, value in wanted.items():
        equal(key, found[key], value)
    if not found["library.lastScan"].startswith("2026-03-01T"):
        raise FlowFailed(f"library.lastScan is {found['library.lastScan']}")
    text = trial.get_body(f"/v1/suites/{suite}/keys/rules?raw")
    equal("numbers stay exact", text, '{"exact":[9007199254740993,1.0]}')
    commit = trial.api.send("GET", f"suites/{suite}/history?limit=1")["commits"][0]
    equal("the note", commit["note"], "an evening with ☕")
    equal("one commit", len(commit["changes"]), 11)


def untouched_parts(trial, person):
    """An editor keeps what a person does not change: lines of a secret, digits of a time, the text after a change of type."""
    suite = "nothing_lost"
    trial.api.send("PUT", f"suites/{suite}/schema", {"type": "object", "additionalProperties": True, "properties": {
        "key": {"type": "string", "writeOnly": True}, "time": {"type": "string", "format": "date-time"}, "size": {"type": "integer", "default": 5}}})
    trial.api.put(suite, "time", "2026-03-01T12:30:15.123456Z")
    trial.api.put(suite, "free", "words")
    person.visit(trial.origin, f"#/{suite}/key")
    secret = "-----BEGIN KEY-----\nabc\n-----END KEY-----\n"
    person.fill("Value", secret, EDITOR)
    open_setting(person, suite, "time")
    set_time = lambda change: person.evaluate(f"(each => {{ each.value = each.value.replace({change}); each.dispatchEvent(new Event('input')); }})(document.querySelector('input[type=datetime-local]'))")
    person.until("document.querySelector('input[type=datetime-local]')?.value.endsWith('15.123')", "the field shows the milliseconds")
    set_time("/:30:/, ':31:'")
    open_setting(person, suite, "free")
    for kind in ("Object", "Text"):
        person.choose("Type", kind, EDITOR)
    person.until("document.querySelector('.editor textarea').value === 'words'", "the editor has the text again")
    open_setting(person, suite, "size")
    person.fill("Value", "9223372036854775808", EDITOR)
    person.sees("between −9223372036854775808 and 9223372036854775807", EDITOR)
    person.click("Discard this edit", "button", ".panel")
    person.click("Store this value", "button", ".panel")
    person.sees("3 edits", "#tray")
    person.commit()
    equal("the secret", trial.api.value(suite, "key"), secret)
    equal("the time", trial.api.value(suite, "time"), "2026-03-01T12:31:15.123456Z")
    setting = trial.api.setting(suite, "size")
    equal("the default", [setting["value"], setting["source"]], [5, "stored"])


def suite_without_schema(trial, person):
    """A person creates a suite without a schema, with a text, a number, a switch and an object."""
    person.visit(trial.origin)
    person.click("New suite", "button", "main")
    person.type("not/a name")
    person.press("Enter")
    person.sees("does not begin with a dot", "dialog")
    person.fill("Name", "fresh", "dialog")
    person.press("Enter")
    person.sees("No settings yet")
    for key, kind, fill in [("a.text", "Text", "words"), ("a.number", "Number", "7"), ("b", "Switch", None), ("c/d", "Object", '{"x": 1}')]:
        person.click("Add a setting", "button", "main")
        person.type(key)
        person.press("Enter")
        person.until(f"document.querySelector('.panel h2')?.textContent === {json.dumps(key)}", f"{key} is open")
        if kind != "Text":
            person.choose("Type", kind, EDITOR)
        if fill:
            person.fill("Value", fill, EDITOR, "input:not([type=range]), textarea")
    person.commit()
    equal("the stored values", trial.api.send("GET", "suites/fresh?raw"), {"a.number": 7, "a.text": "words", "b": False, "c/d": {"x": 1}})
    person.until("document.querySelectorAll('.row').length >= 5", "the settings have rows")


def conflicts(trial, person):
    """Of two people who edit a setting, the person who commits later sees both values, and chooses."""
    with trial.another_person() as other:
        other.begin_flow()
        _edit_same_setting(trial, person, other)
        other.end_flow()


def _edit_same_setting(trial, person, other):
    suite = "conflicts"
    trial.api.create_sample_suite(suite)
    for each in (person, other):
        each.visit(trial.origin, f"#/{suite}/player.volume")
        each.fill("Value", "0.3" if each is person else "0.4", EDITOR)
        each.sees("1 edit", "#tray")
    other.commit("the other person")
    person.sees("1 edit, 1 conflict", "#tray")
    person.sees("Theirs\n0.4\nYours\n0.3", ".conflict")
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review .primary')?.disabled", "a conflict is not committed")
    person.click("Keep mine", "button", "dialog.review")
    person.sees_no("Theirs", "dialog.review")
    person.close_dialog()
    equal("nothing was overwritten before", trial.api.value(suite, "player.volume"), 0.4)
    person.commit()
    equal("the value of this person", trial.api.value(suite, "player.volume"), 0.3)
    # The page learns of this conflict only by the commit, because its stream is blocked.
    # The restart of the daemon ends the open stream, and the browser blocks the next stream.
    person.fill("Value", "0.6", EDITOR)
    person.sees("1 edit", "#tray")
    person.call("Network.setBlockedURLs", urls=["*observe*"])
    trial.restart()
    trial.api.put(suite, "player.volume", 0.9)
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edit can be committed")
    person.click("Commit 1 change", "button", "dialog.review")
    person.sees("Theirs\n0.9\nYours\n0.6", "dialog.review")
    person.call("Network.setBlockedURLs", urls=[])
    person.click("Take theirs", "button", "dialog.review")
    person.until("document.querySelector('#tray').hidden", "the edit is gone")
    equal("the value of the other caller", trial.api.value(suite, "player.volume"), 0.9)


def lost_answer(trial, person):
    """If the answer to a commit is lost, the stream shows the result. Without a stream, a second commit does not repeat the changes."""
    suite = "lost"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    for value, has_stream in ((0.2, True), (0.3, False)):
        if not has_stream:
            person.call("Network.setBlockedURLs", urls=["*observe*"])
            trial.restart()
        person.fill("Value", str(value), EDITOR)
        person.press("Enter", CTRL)
        person.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edit can be committed")
        person.call("Fetch.enable", patterns=[{"urlPattern": "*/v1/transaction", "requestStage": "Response"}])
        person.click("Commit 1 change", "button", "dialog.review")
        # `evaluate` makes the person handle the events of the browser.
        eventually("the daemon has answered", lambda: person.evaluate("true") and person.paused)
        person.call("Fetch.failRequest", requestId=person.paused.pop(), errorReason="ConnectionReset")
        person.call("Fetch.disable")
        equal("the committed value", trial.api.value(suite, "player.volume"), value)
        if not has_stream:
            person.sees("The answer to the commit was lost", "dialog.review")
            person.click("Commit 1 change", "button", "dialog.review")
        person.until("!document.querySelector('dialog') && document.querySelector('#tray').hidden", "the page knows that the edit is committed")
    person.call("Network.setBlockedURLs", urls=[])
    commits = trial.api.send("GET", f"suites/{suite}/history?key=player.volume&limit=3")["commits"]
    equal("each change is committed once", [commit["changes"][0]["new"] for commit in commits], [0.3, 0.2, 0.85])


def resetting(trial, person):
    """A setting is reset to its default, an edit is dropped, and a locked setting is unlocked for a single change."""
    suite = "resetting"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.click("Reset to default", "button", ".panel")
    person.sees("1 edit", "#tray")
    person.click("Discard this edit", "button", ".panel")
    person.until("document.querySelector('#tray').hidden", "the edit is dropped")
    person.until("document.querySelector('.editor input.number').value === '0.85'", "the editor has the value again")
    person.click("Reset to default", "button", ".panel")
    person.commit()
    equal("the source", trial.api.setting(suite, "player.volume")["source"], "default")
    person.sees("○ default", ".panel .facts")
    open_setting(person, suite, "installation.id")
    person.sees("The schema locks this setting", ".panel")
    person.click("Unlock for one change", "button", ".panel")
    person.fill("Value", "11111111-2222-3333-4444-555555555555", EDITOR)
    person.commit()
    equal("a locked key", trial.api.value(suite, "installation.id"), "11111111-2222-3333-4444-555555555555")
    person.sees("The schema locks this setting", ".panel")


def files(trial, person):
    """An import shows its effects before it adds edits, and an export has the stored values."""
    suite = "files"
    trial.api.create_sample_suite(suite)
    path = trial.folder / "settings.json"
    person.visit(trial.origin, f"#/{suite}")
    person.click("Import", "button", "main")
    path.write_text('{"player.volume": 0.1,\n "look.theme" "light"}')
    person.choose_file("File", path, "dialog")
    person.sees("line 2", "dialog")
    path = trial.folder / "corrected.json"
    path.write_text(json.dumps({"player.volume": 0.1, "look.theme": "dark", "library.folders": ["/a"], "account.password": "from a file"}))
    person.choose_file("File", path, "dialog")
    person.sees("3 settings to set, 0 to reset, 1 unchanged", "dialog")
    person.click("Add to the edits", "button", "dialog")
    person.sees("Commit 3 changes", "dialog.review")
    if person.evaluate("document.body.innerText.includes('from a file')"):
        raise FlowFailed("the page shows a secret")
    person.close_dialog()
    person.commit("imported")
    equal("the imported value", trial.api.value(suite, "library.folders"), ["/a"])
    person.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(trial.folder))
    person.click("Export", "button", "main")
    saved = trial.folder / f"{suite}.json"
    eventually("the file is saved", lambda: saved.exists() and saved.read_text().endswith("}"))
    equal("the exported file", json.loads(saved.read_text()), trial.api.send("GET", f"suites/{suite}?view=stored&raw"))


def exact_values(trial, person):
    """Editing and importing keep numbers, the order of members and line ends. A file that the daemon could not store exactly is refused
    with the line and the column of the reason."""
    suite, raw_value = "exactness", lambda key: trial.get_body(f"/v1/suites/exactness/keys/{key}?raw")
    text = '{"b":1,"10":1.0,"9":{"z":9007199254740993,"1":2.5}}'
    trial.api.put(suite, "whole", 1)
    trial.api.put(suite, "lines", "one\r\ntwo")
    person.visit(trial.origin, f"#/{suite}")
    person.click("Import", "button", "main")

    def choose_content(name, content):
        path = trial.folder / f"{name}.json"
        path.write_bytes(content)
        person.choose_file("File", path, "dialog")

    refused = ((b'{"a": 1,\r\n "b": 2,\r\n "a": 3}', "line 3, column 2"), (b'{"a": {"b": [1, {"c": 1, "c": 2}]}}', "line 1, column 26"),
               (b'{"a": 1,\n "b": 1e999}', "line 2, column 7"), (b'{"a": 99999999999999999999}', "line 1, column 7"),
               (b'{"a": 1,\n "b": "\xff"}', "not UTF-8: line 2"), (b'{"a":\n"\\ud800"}', "line 2, column 1"))
    for number, (content, words) in enumerate(refused):
        choose_content(f"refused{number}", content)
        person.sees(words, "dialog")
    choose_content("exact", b'{"whole": 1.0,\r\n"lines": "one\\r\\ntwo",\r\n"object": ' + text.encode() + b"}")
    person.sees("2 settings to set, 0 to reset, 1 unchanged", "dialog")
    person.click("Add to the edits", "button", "dialog")
    person.sees("Commit 2 changes", "dialog.review")
    person.close_dialog()
    person.commit()
    equal("a number", raw_value("whole"), "1.0")
    equal("an object", raw_value("object"), text)
    open_setting(person, suite, "object")
    other = text.replace("{\"z\"", "{\"0\":0,\"z\"")
    person.fill("Value", other, EDITOR)
    person.commit()
    equal("an object that was edited", raw_value("object"), other)
    person.fill("Value", '{"a": 1,\n"a": 2}', EDITOR)
    person.sees("line 2, column 1", EDITOR)
    person.click("Discard this edit", "button", ".panel")
    open_setting(person, suite, "lines")
    person.fill("Value", '"one\\r\\nthree"', EDITOR)
    person.commit()
    equal("line ends", trial.api.value(suite, "lines"), "one\r\nthree")


def keyboard(trial, person):
    """A person commits an edit with the keyboard alone."""
    suite = "keyboard"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin)
    person.press("/")
    person.until("document.activeElement.type === 'search'", "/ leads to the search")
    person.type("keyb")
    person.sees("1 of ", ".count")
    person.press("Enter")
    person.until("document.activeElement.matches('.list')", "Enter leads to the list")
    person.press("Enter")
    person.until("document.activeElement.matches('[role=tree]')", "Enter opens the suite")
    selected = "document.querySelector('[aria-selected=true]')"
    person.press("End")
    person.until(f"{selected}?.innerText.startsWith('rules')", "End selects the last setting")
    person.press("ArrowUp")
    person.press("ArrowUp")
    person.press("Space")
    person.sees("1 edit", "#tray")
    person.press("ArrowLeft")
    person.until(f"{selected}?.innerText.includes('player')", "the arrow selects the group")
    person.press("ArrowLeft")
    person.until(f"{selected}?.getAttribute('aria-expanded') === 'false'", "the group closes")
    person.press("ArrowRight")
    person.until(f"{selected}?.getAttribute('aria-expanded') === 'true'", "the group opens")
    person.press("End")
    person.press("ArrowUp")
    person.press("Enter")
    person.until("document.activeElement.matches('.editor input.number')", "Enter leads to the editor")
    person.evaluate("document.activeElement.select()")
    person.type("0.45")
    person.press("Enter")
    person.until("document.activeElement.matches('[role=tree]')", "Enter leads back")
    person.press("Enter", CTRL)
    person.until("document.activeElement.labels?.[0].textContent === 'Note'", "the review begins at the note")
    person.type("by keyboard")
    person.press("Enter")
    person.until("!document.querySelector('dialog')", "Enter commits")
    equal("the value", trial.api.value(suite, "player.volume"), 0.45)
    equal("the switch", trial.api.value(suite, "player.shuffle"), False)
    person.until("document.activeElement.matches('[role=tree]')", "the focus is in the list again")
    person.press("Escape")
    person.until("!document.querySelector('.panel:not([hidden])')", "Escape closes the setting")
    person.press("?")
    person.sees("Keyboard", "dialog")
    person.press("Escape")
    # After the last element, Tab moves the focus to the document itself, and then to the first element.
    for _ in range(40):
        person.press("Tab")
        person.until("document.activeElement.checkVisibility()", "Tab moves the focus to a visible element")
