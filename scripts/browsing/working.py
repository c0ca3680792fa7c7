"""The flows of daily work: the table of settings, switches in the list, the panel, forms, and the message about a commit.
`trial` has the daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample
suite."""

import base64
import json

from browsing.editing import EDITOR, equal, open_setting
from browsing.person import FlowFailed
from browsing.racing import sees_row

# The names in the rows of the list.
NAMES = "[...document.querySelectorAll('.row .name')].map(each => each.innerText.trim())"
# The numbers of the created names, neither in numeric nor in alphabetical order.
NUMBERS = [29, 3, 12, 1]


def table(trial, person):
    """The lists have rows of one line in natural order (svc3 before svc12), and headings that sort them. A long value is
    shortened, and invalid values are counted."""
    suite = "table"
    for number in NUMBERS:
        trial.api.put(suite, f"svc{number}.port", 9000 - number)
        trial.api.put(f"svc{number}", "a", 1)
    for number in (2, 10):
        trial.api.put("svc1", f"key{number}", 1)
    content = base64.b64encode(bytes(range(256)) * 8).decode()
    trial.api.put(suite, "content", content)
    trial.api.put(suite, "content", content[:-8] + "AAAAAAA=")
    person.visit(trial.origin)
    person.sees("svc29", ".list")
    equal("the order of the suites", person.evaluate(NAMES), ["svc1", "svc3", "svc12", "svc29", "table"])
    person.evaluate("document.querySelector('.headings .to-keys-count').click()")
    equal("the suites with the most settings first", person.evaluate(NAMES)[:2], ["table", "svc1"])
    equal("the outline of the list at load", person.evaluate("getComputedStyle(document.querySelector('.list')).outlineStyle"), "none")
    person.press("ArrowDown")
    person.until("getComputedStyle(document.querySelector('.row[aria-selected=true]')).outlineStyle === 'solid'", "the first arrow marks a row")
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "svc29", "8971")
    height = person.evaluate("document.querySelector('.row').getBoundingClientRect().height")
    if not 36 <= height <= 40:
        raise FlowFailed(f"a row is {height} px high")
    equal("the order of the settings", person.evaluate(NAMES), ["content", *(f"svc{number}.port" for number in sorted(NUMBERS))])
    sees_row(person, "content", "2.0 KB as base64")
    # The class of a heading is "to-" and the class of its column; "now" is the column of the values.
    sort = lambda column: person.evaluate(f"document.querySelector('.headings .to-{column}').click()")
    for column, wanted in (("now", [29, 12, 3, 1]), ("now", [1, 3, 12, 29]), ("changed", [1, 12, 3, 29]), ("name", [1, 3, 12, 29])):
        sort(column)
        equal(f"the order by {column}", [name for name in person.evaluate(NAMES) if name != "content"], [f"svc{number}.port" for number in wanted])
    sort("name")
    equal("the reversed order", person.evaluate(NAMES)[0], "svc29.port")
    person.visit(trial.origin, f"#/{suite}?history")
    person.sees("content", ".commits")
    longest = person.evaluate("Math.max(...[...document.querySelectorAll('.commits .line')].map(line => line.innerText.length))")
    if not 10 < longest < 80 or "AAAAA" not in person.evaluate("document.querySelector('.commits .lines').innerText"):
        raise FlowFailed(f"a difference has {longest} characters of base64")
    schema = {"type": "object", "additionalProperties": {"maximum": 8990, "title": "A title", "description": "and a description"}}
    trial.api.send("PUT", f"suites/{suite}/schema?onConflict=keep", schema)
    person.visit(trial.origin)
    person.sees("▲ 2 invalid", ".list")
    person.evaluate("document.querySelector('.headings .to-invalid').click()")
    equal("the suites with invalid values first", person.evaluate(NAMES)[0], suite)
    person.click("▲ 2 invalid", ".mark", ".list")
    person.sees("2 of 5 settings", ".count")
    person.choose("Show", "All settings", "main")
    person.sees("5 settings", ".count")
    person.click("▲ 2 invalid", "a", ".head")
    person.sees("2 of 5 settings", ".count")
    equal("the filtered settings", person.evaluate(NAMES), ["svc1.port", "svc3.port"])
    # The CSS class `note` is the column of the descriptions, in which `b` contains the title. Compares the colours of the title
    # and of the description with the colours that CSS variables give to another element.
    for part, color in (("b", "--text"), ("", "--faint")):
        equal(f"the colour of the description {part}", *person.evaluate(f"""(sample => {{ sample.style.color = 'var({color})';
            return [sample, document.querySelector('.row .note {part}')].map(each => getComputedStyle(each).color); }})(document.querySelector('#announcer'))"""))


def switches_in_list(trial, person):
    """A click on a switch in the list makes an edit and does not open the setting. A click beside the switch opens it."""
    suite = "mouse"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    person.fill("Search settings", "shuffle", "main")
    sees_row(person, "player.shuffle", "On")
    centre = """(selector => { const row = [...document.querySelectorAll('.row')].find(row => row.innerText.startsWith('player.shuffle'));
        const box = row.querySelector(selector).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })"""
    for words, is_edited in (("Off", True), ("On", False), ("Off", True)):
        person.click_at(*person.evaluate(f"{centre}('.toggle')"))
        sees_row(person, "player.shuffle", words)
        person.until(f"document.querySelector('#tray').hidden === {json.dumps(not is_edited)}", f"the edits after {words}")
    equal("the open setting", person.evaluate("document.querySelector('.panel').hidden"), True)
    person.click_at(*person.evaluate(f"{centre}('.name')"))
    person.until("document.querySelector('.panel h2')?.textContent === 'player.shuffle'", "the name opens the setting")
    person.commit()
    equal("the switch", trial.api.value(suite, "player.shuffle"), False)
    # The row of a locked switch has its value as a word.
    schema = trial.api.send("GET", f"suites/{suite}/schema")
    schema["properties"]["player.shuffle"]["readOnly"] = True
    trial.api.send("PUT", f"suites/{suite}/schema", schema)
    person.until("[...document.querySelectorAll('.row')].some(row => row.innerText.startsWith('player.shuffle') && !row.querySelector('.toggle'))", "a locked setting has no switch")


def typing(trial, person):
    """Enter in a text of several lines begins a new line. In a text of one line, Enter ends the edit. A time shows UTC when
    the pointer is over it."""
    suite = "typing"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/look.greeting")
    person.fill("Value", "one\ntwo", EDITOR)
    person.press("End")
    person.press("Enter")
    person.type("three")
    equal("the text", person.evaluate("document.querySelector('.editor textarea').value"), "one\ntwo\nthree")
    person.sees("Press Enter for a new line", EDITOR)
    person.fill("Value", "one", EDITOR)
    person.press("Enter")
    person.until("document.activeElement.matches('[role=tree]')", "Enter leads back to the list")
    instant = trial.api.setting(suite, "player.volume")["modified"]
    open_setting(person, suite, "player.volume")
    person.until("document.querySelector('.about time')", "the panel shows the time")
    if (title := person.evaluate("document.querySelector('.about time').title")).split("\n")[1] != instant.replace("T", " ").replace("Z", " UTC"):
        raise FlowFailed(f"the time shows {title!r} on hover, not {instant}")


def panel_order(trial, person):
    """The conflict and the editor come before the description, a long description is clamped, and a button closes the panel."""
    suite, long = "task", "A long description. " * 40
    trial.api.send("PUT", f"suites/{suite}/schema", {"type": "object", "additionalProperties": {"type": "integer", "description": long}})
    trial.api.put(suite, "n", 1)
    person.visit(trial.origin, f"#/{suite}/n")
    person.fill("Value", "2", EDITOR)
    person.sees("1 edit", "#tray")
    trial.api.put(suite, "n", 3)
    person.sees("Theirs", ".panel .conflict")
    tops = person.evaluate("['.conflict', '.editor', '.about'].map(each => document.querySelector(`.panel ${each}`).getBoundingClientRect().y)")
    equal("the order of the panel", tops, sorted(tops))
    height = "document.querySelector('.about .clamped, .about [dir=auto]').getBoundingClientRect().height"
    clamped = person.evaluate(height)
    person.click("Show more", "button", ".about")
    if not clamped < 100 < person.evaluate(height):
        raise FlowFailed(f"the description is {clamped} px high, and then {person.evaluate(height)} px")
    person.click("Show less", "button", ".about")
    person.click("Take theirs", "button", ".panel")
    person.click("Close the setting", "button", ".panel")
    person.until("document.querySelector('.panel').hidden && document.activeElement.matches('[role=tree]')", "the panel is closed")
    person.set_screen(320, 640)
    open_setting(person, suite, "n")
    equal("the button on a narrow screen", person.evaluate("[...document.querySelectorAll('.panel-head button')].filter(each => each.getClientRects().length).map(each => each.getAttribute('aria-label'))"),
          ["Back to the list"])


def commit_message(trial, person):
    """After a commit, a message shows the revision and the changes of the commit, and a button undoes the commit. A view that waits for an answer shows that
    it loads."""
    suite = "committed"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.commit()
    revision = trial.api.setting(suite, "player.volume")["revision"]
    person.sees(f"Committed as revision {revision}", "#toast")
    person.sees("player.volume: 0.3", "#toast")
    person.click(f"Undo revision {revision}", "button", "#toast")
    person.sees(f"Revision {revision} is undone", "#toast")
    equal("the value", trial.api.value(suite, "player.volume"), 0.85)
    equal("the note", trial.api.setting(suite, "player.volume")["note"], f"undo revision {revision}")
    for key, value in (("player.volume", "0.4"), ("player.crossfade", "7")):
        open_setting(person, suite, key)
        person.fill("Value", value, EDITOR)
    person.commit()
    person.sees(f"2 settings in {suite}", "#toast")
    revision = trial.api.setting(suite, "player.volume")["revision"]
    # An undo of a setting that was changed since is refused, with the reason.
    trial.api.put(suite, "player.volume", 0.5)
    person.click(f"Undo revision {revision}", "button", "#toast")
    person.sees("Cannot undo this commit", "#toast")
    person.click("Close", "button", "#toast")
    person.until("!document.querySelector('#toast').hasChildNodes()", "the message is closed")
    for pattern, address, content in (("*/v1/suites?*", "", ".row"), ("*/keys?*", f"#/{suite}", ".row"), ("*/history?*", f"#/{suite}?history", ".commit"),
                                 ("*/schema", f"#/{suite}?schema", "textarea")):
        person.visit(trial.origin, "#/?service")
        person.sees("Live", "#state")
        with person.holding(pattern) as held:
            person.evaluate(f"location.hash = '{address or '#/'}'")
            [answer] = held(1)
            person.until("document.querySelector('main .loading')?.getClientRects().length", f"{address} says that it loads")
            for words in ("No suites", "No settings", "No commits", "has no schema"):
                person.sees_no(words, "main")
            person.pass_on(answer)
        person.until(f"document.querySelector('main {content}')?.getClientRects().length && !document.querySelector('main .loading')", f"{address} is loaded")


FORMS = {"type": "object", "additionalProperties": False, "properties": {
    "sources": {"type": "array", "items": {"type": "object", "required": ["url"], "additionalProperties": False, "properties": {
        "url": {"type": "string"}, "auth": {"type": "object", "additionalProperties": False, "properties": {
            "tls": {"type": "object", "additionalProperties": False, "properties": {
                "options": {"type": "object", "additionalProperties": False, "properties": {"verify": {"type": "boolean"}}}}}}}}}},
    "labels": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": {"type": "integer", "maximum": 9}}}}


def forms(trial, person):
    """Lists of objects, objects of five levels and maps have forms, and JSON is the alternative for the whole value."""
    suite = "forms"
    trial.api.send("PUT", f"suites/{suite}/schema", FORMS)
    deep = {"url": "a", "auth": {"tls": {"options": {"verify": False}}}}
    trial.api.put(suite, "sources", [deep])
    trial.api.put(suite, "labels", {"one": 1})
    person.visit(trial.origin, f"#/{suite}/sources")
    person.click("verify", "input[role=switch]", EDITOR)
    person.click("Add an element", "button", EDITOR)
    person.click("Set url", "button", EDITOR)
    person.type("b")
    person.click("Edit as JSON", "button", EDITOR)
    shown = lambda: json.loads(person.evaluate("document.querySelector('.editor textarea.code').value"))
    changed = {**deep, "auth": {"tls": {"options": {"verify": True}}}}
    equal("the value as JSON", shown(), [changed, {"url": "b"}])
    person.fill("Value", json.dumps([changed, {"url": "c"}]), EDITOR)
    person.click("Edit in a form", "button", EDITOR)
    person.until("[...document.querySelectorAll('.editor textarea')].some(each => each.value === 'c')", "the form has the edited value")
    open_setting(person, suite, "labels")
    person.click("Remove one", "button", EDITOR)
    for name, value in (("two", "20"), ("x-three", "words")):
        person.fill("Name", name, EDITOR)
        person.click("Add", "button", EDITOR)
        person.until(f"document.activeElement.labels?.[0]?.textContent === {json.dumps(name)}", f"{name} has an editor with the focus")
        person.evaluate("document.activeElement.select()")
        person.type(value)
        # Waits for the message, because the message moves the button that is clicked next.
        person.sees("must be at most 9 (got 20)", EDITOR)
    person.fill("two", "2", EDITOR)
    person.fill("Name", "two", EDITOR)
    person.click("Add", "button", EDITOR)
    person.sees("has this member already", EDITOR)
    person.commit()
    equal("the list", trial.api.value(suite, "sources"), [changed, {"url": "c"}])
    equal("the map", trial.api.value(suite, "labels"), {"two": 2, "x-three": "words"})
    # A value that a form cannot show is edited as JSON.
    trial.api.send("PUT", f"suites/{suite}/schema?onConflict=keep", {**FORMS, "properties": {**FORMS["properties"], "labels": {"type": "array", "items": {"type": "string"}}}})
    person.until("document.querySelector('.editor textarea.code')?.value.includes('x-three')", "the invalid value is shown as JSON")


def schema_lines(trial, person):
    """The schema editor shows line numbers, and each mistake at its line. Before a person applies a schema, a dialog shows its
    difference from the old schema, and the stored values that do not fit."""
    suite = "schema_lines"
    trial.api.send("PUT", f"suites/{suite}/schema", {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer", "maximum": 10}}})
    trial.api.put(suite, "n", 7)
    person.visit(trial.origin, f"#/{suite}?schema")
    person.until("document.querySelector('textarea.code')?.value.includes('maximum')", "the editor has the schema")
    text = person.evaluate("document.querySelector('textarea.code').value")
    equal("the line numbers", person.evaluate("document.querySelector('.line-numbers').textContent.trim().split('\\n').length"), len(text.split("\n")))
    # The line number beside each message, and the message.
    marks = """[...document.querySelectorAll('.line-messages .error')].map(message => {
        const number = [...document.querySelectorAll('.line-numbers b')].map(each => [each.textContent, each.getBoundingClientRect()])
            .find(([, box]) => Math.abs(box.y - message.getBoundingClientRect().y) < 8);
        return [Number(number?.[0]), message.innerText]; })"""
    line_of = lambda part: text[:text.index(part)].count("\n") + 1
    for change, wanted in (((('"integer"', '"integr"'), ('10', '"ten"')), [("integer", "integr"), ("10", "ten")]), ((("10", "nope"),), [("10", "unexpected")])):
        edited = text
        for old, new in change:
            edited = edited.replace(old, new)
        person.fill("JSON Schema", edited, "main")
        person.click("Check", "button", "main")
        person.until(f"document.querySelectorAll('.line-messages .error').length === {len(wanted)}", "each mistake has a message")
        found = person.evaluate(marks)
        for (part, words), (number, message) in zip(wanted, found):
            if number != line_of(part) or words not in message:
                raise FlowFailed(f"the message {message!r} is at line {number}, not {line_of(part)}")
            equal("the number of messages with these words", person.evaluate(f"document.querySelector('main').innerText.split({json.dumps(message.strip())}).length - 1"), 1)
    person.fill("JSON Schema", text.replace("10", "5"), "main")
    person.sees_no("unexpected", "main")
    person.click("Apply schema…", "button", "main")
    for words in ("− ", '"maximum": 10', '"maximum": 5', "must be at most 5 (got 7)", "Values that do not fit"):
        person.sees(words, "dialog")
    person.click("Apply schema", "button", "dialog")
    person.sees(f"Schema of {suite}", "#toast")
    person.sees("▲ 1 invalid", ".head")
    revision = trial.api.send("GET", f"suites/{suite}/history?limit=1")["commits"][0]["revision"]
    person.click(f"Undo revision {revision}", "button", "#toast")
    person.sees("is undone", "#toast")
    equal("the limit", trial.api.send("GET", f"suites/{suite}/schema")["properties"]["n"]["maximum"], 10)
