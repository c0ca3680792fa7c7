"""The flows in which another caller changes settings while the page reads keys, commits, or edits a schema. `trial` has the
daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite.
`person.holding(pattern)` delays the answers to requests of the page, and `held(n)` waits for n delayed answers."""

import json
import threading

from browsing.editing import EDITOR, equal, open_setting
from browsing.person import CTRL

# The rows of the list of settings.
ROWS = "[...document.querySelectorAll('.row')]"


def sees_row(person, name, text):
    """Waits until a row that begins with the name contains the text. In a group, a row shows the key without the name of the group."""
    person.until(f"{ROWS}.some(row => row.innerText.startsWith({json.dumps(name)}) && row.innerText.includes({json.dumps(text)}))",
                 f"the row of {name} shows {text}")


def reading(trial, person):
    """An older answer does not replace a change from the stream. If the answer about a key is lost, the key is read again."""
    suite = "reading"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    sees_row(person, "volume", "0.85")
    schema = trial.api.send("GET", f"suites/{suite}/schema")
    schema["properties"]["player.crossfade"]["default"] = 9
    with person.holding("*/keys?limit=*") as held:
        trial.api.send("PUT", f"suites/{suite}/schema", schema)
        [answer] = held(1)
        trial.api.put(suite, "player.volume", 0.11)
        trial.api.send("DELETE", f"suites/{suite}/keys/feature.lyrics")
        sees_row(person, "volume", "0.11")
        sees_row(person, "feature.lyrics", "unset")
        person.pass_on(answer)
        sees_row(person, "crossfade", "9")
    sees_row(person, "volume", "0.11")
    sees_row(person, "feature.lyrics", "unset")
    # The answers about one new key come in the wrong order.
    with person.holding("*/keys?prefix=*") as held:
        trial.api.put(suite, "feature.late", True)
        held(1)
        trial.api.put(suite, "feature.late", False)
        older, newer = held(2)
        person.pass_on(newer)
        sees_row(person, "late", "Off")
        person.pass_on(older)
    trial.api.put(suite, "feature.more", True)
    sees_row(person, "more", "On")
    sees_row(person, "late", "Off")
    with person.holding("*/keys?prefix=*") as held:
        trial.api.put(suite, "feature.lost", True)
        [answer] = held(1)
        person.call("Fetch.failRequest", requestId=answer, errorReason="ConnectionReset")
    sees_row(person, "lost", "On")


def committing(trial, person):
    """An edit that is made during a commit stays, and is based on that commit."""
    suite = "committing"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edit can be committed")
    with person.holding("*/v1/transaction") as held:
        person.click("Commit 1 change", "button", "dialog.review")
        [answer] = held(1)
        person.close_dialog()
        person.fill("Value", "0.35", EDITOR)
        person.pass_on(answer)
    person.until("document.querySelector('.panel .about').innerText.includes('just now')", "the page knows the commit")
    person.sees("1 edit", "#tray")
    person.sees_no("conflict", "#tray")
    equal("the first commit", trial.api.value(suite, "player.volume"), 0.3)
    person.until("document.querySelector('.editor input.number').value === '0.35'", "the editor has the typed value")
    person.commit()
    equal("the second commit", trial.api.value(suite, "player.volume"), 0.35)


def pressing(trial, person):
    """A message that arrives while the person presses a button does not replace the button. Otherwise the click would be lost."""
    suite = "pressing"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.sees("1 edit", "#tray")
    person.confirms_leaving = True
    with person.holding("*/v1/transaction?dryRun=true") as held:
        # After the reload the page checks the edit by a dry run.
        person.visit(trial.origin, f"#/{suite}/player.volume")
        [answer] = held(1)
        trial.api.put(suite, "player.volume", 0.2)
        person.sees("1 conflict", "#tray")
        place = person.centre_of("Keep mine", "button", ".panel")
        person.mouse("mousePressed", *place)
        person.refuse(answer, 429, json.dumps({"status": 429, "detail": "too many requests"}))
        person.sees("too many requests", ".panel .edit-state")
        person.mouse("mouseReleased", *place)
        person.sees_no("conflict", "#tray")
        person.sees_no("too many requests")
        # Waits for the dry run of the kept edit. Otherwise this dry run could be the first answer that is held below.
        held(2)
    # The buttons in a review stay, too.
    person.press("Enter", CTRL)
    trial.api.put(suite, "player.volume", 0.25)
    person.sees("0.25", "dialog.review .conflict")
    with person.holding("*/v1/transaction?dryRun=true") as held:
        person.click("Keep mine", "button", "dialog.review")
        [answer] = held(1)
        person.evaluate("document.querySelector('dialog.review .edit button').isMarked = true")
        person.refuse(answer, 429, json.dumps({"status": 429, "detail": "too many requests"}))
        person.sees("too many requests", "dialog.review")
        equal("the button is the same", person.evaluate("document.querySelector('dialog.review .edit button').isMarked"), True)
    person.click("Discard the edit of player.volume", "button", "dialog.review")
    person.until("document.querySelector('#tray').hidden", "the edit is discarded")


def two_schemas(trial, person):
    """A schema of another caller is never replaced without a decision of the person."""
    suite = "two_schemas"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}?schema")
    person.until("document.querySelector('textarea.code')?.value.includes('player.crossfade')", "the editor has the schema")
    schema = lambda title: {"type": "object", "additionalProperties": {"title": title}}
    put_schema = lambda title: trial.api.send("PUT", f"suites/{suite}/schema", schema(title))
    stored_schema = lambda: trial.api.send("GET", f"suites/{suite}/schema")
    mine = json.dumps(schema("mine"))
    person.fill("JSON Schema", mine, "main")
    put_schema("theirs")
    for words in ("changed elsewhere while you edited it", "theirs", "mine"):
        person.sees(words, ".conflict")
    person.until("[...document.querySelectorAll('button')].find(each => each.textContent === 'Apply schema…').disabled", "a conflict cannot be applied")
    person.click("Keep my text", "button", ".conflict")
    # The stream is blocked, so that the page learns of the next schema only when it applies its own.
    # The restart of the daemon ends the open stream, and the browser blocks the next stream.
    person.call("Network.setBlockedURLs", urls=["*observe*"])
    trial.restart()
    put_schema("newer")
    person.click("Apply schema…", "button", "main")
    person.click("Apply schema", "button", "dialog")
    person.sees("The schema was changed elsewhere", "dialog")
    person.click("Apply schema", "button", "dialog")
    person.evaluate_async("new Promise(done => setTimeout(done, 300))")
    equal("their schema", stored_schema(), schema("newer"))
    person.close_dialog()
    person.sees("newer", ".conflict")
    person.call("Network.setBlockedURLs", urls=[])
    trial.api.send("DELETE", f"suites/{suite}/schema")
    person.until("/^− {/.test(document.querySelector('.conflict h3 + div').innerText) && !/[+]/.test(document.querySelector('.conflict h3 + div').innerText)", "their change is the removal")
    put_schema("newest")
    person.sees("newest", ".conflict")
    person.click("Use their schema", "button", ".conflict")
    person.until("document.querySelector('textarea.code').value.includes('newest')", "the text is their schema")
    person.fill("JSON Schema", mine, "main")
    person.click("Apply schema…", "button", "main")
    person.click("Apply schema", "button", "dialog")
    person.sees("The schema is applied", "main")
    equal("my schema", stored_schema(), schema("mine"))


def under_load(trial, person):
    """With ten commits per second, the list of suites and the count of new commits stay current. In the history, the first commit
    and the focus stay in their place until the person shows the new commits."""
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
        person.until(f"{count} > {before}", "the list of suites stays current", within=3)
        person.evaluate("location.hash = '#/busy?history'")
        person.until("document.querySelector('.commit')", "the history is listed")
        position = "(each => [each.getAttribute('aria-label'), each.getBoundingClientRect().y])(document.querySelector('.commit [aria-haspopup]'))"
        person.evaluate("document.querySelector('.commit [aria-haspopup]').focus()")
        before = person.evaluate(position)
        person.until("/^Show [2-9]/.test(document.querySelector('.newer').innerText)", "new commits are counted", within=5)
        equal("the first commit and its position", person.evaluate(position), before)
        equal("the focus", person.evaluate("document.activeElement.getAttribute('aria-label')"), before[0])
        newest_revision = "Number(document.querySelector('.commit-head .faint').innerText.match(/revision (\\d+)/)[1])"
        revision = person.evaluate(newest_revision)
        person.evaluate("document.querySelector('.newer').click()")
        person.until(f"{newest_revision} > {revision} + 1", "the new commits are shown")
    finally:
        stop.set()
        writer.join()
