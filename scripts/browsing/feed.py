"""The flows of a person who looks at several suites at the same time. `trial` has the daemon and its API, `person` is the
browser (see __init__.py)."""

import concurrent.futures

from browsing.api import API
from browsing.editing import equal
from browsing.person import FlowFailed

# The suite and the revision of each listed commit, from top to bottom.
LISTED = "[...document.querySelectorAll('.commits .commit')].map(each => each.querySelector('a').textContent + ' ' + Number(/revision (\\d+)/.exec(each.innerText)[1]))"

# The vertical positions of the first filters and commits.
POSITIONS = "[...document.querySelectorAll('.tools input, .commit')].slice(0, 3).map(each => each.getBoundingClientRect().top)"


def feed(trial, person):
    """The changes of all suites are merged, newest first; filters are in the address; new commits are shown after a click."""
    for number in range(40):
        trial.api.put(f"noise{number % 10}", "a", number, "noise")
    trial.api.send("PUT", "suites/mail/schema", {"type": "object", "additionalProperties": True, "properties": {"password": {"type": "string", "writeOnly": True}}})
    trial.api.put("mail", "password", "s3cr3t", "a new password")
    trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": "mail", "key": "host/name", "value": "one"}, {"op": "set", "suite": "net", "key": "port", "value": 25}]}, "release 7")
    newest = trial.api.send("GET", "suites")["revision"]
    person.visit(trial.origin)
    person.click("Changes", "nav a")
    # 40 commits of noise, the schema, the password, and the release once in each of its two suites.
    person.until("document.querySelectorAll('.commit').length === 44", "all commits are listed")
    shown = person.evaluate(LISTED)
    equal("the newest commits", sorted(shown[:2]), [f"mail {newest}", f"net {newest}"])
    revisions = [int(each.split()[1]) for each in shown]
    equal("the order", revisions, sorted(revisions, reverse=True))
    person.sees("hidden", ".commits")
    person.sees_no("s3cr3t", "main")
    # A new commit moves no part of the list, even on a narrow screen.
    person.set_screen(320, 640)
    positions = person.evaluate(POSITIONS)
    equal("the button of new commits is not shown", person.evaluate("document.querySelector('.newer').getClientRects().length"), 0)
    trial.api.put("net", "port", 26, "too slow")
    person.sees("Show 1 new commit", ".newer")
    person.until("document.querySelector('.newer').getBoundingClientRect().bottom <= innerHeight", "the button is in view")
    equal("the list stays", [person.evaluate(LISTED), person.evaluate(POSITIONS)], [shown, positions])
    person.set_screen(1280, 800)
    person.click("Show 1 new commit", "button")
    person.sees("too slow", ".commits")
    person.choose("Time", "Last hour", "main")
    person.fill("Only notes with", "Release", "main")
    person.until("document.querySelectorAll('.commit').length === 2", "only the commits with the note are listed")
    person.until("location.hash === '#/?changes&since=hour&note=Release'", "the address has the filters")
    trial.api.put("net", "other", 1, "not wanted")
    trial.api.put("net", "other", 2, "release 8")
    person.sees("Show 1 new commit", ".newer")
    person.visit(trial.origin, "#/?changes&note=release%207")
    person.until("document.querySelectorAll('.commit').length === 2", "the address sets the filters")
    person.choose_action(newest, "Undo…", "mail")
    person.sees("The commit also changed net", "dialog")
    person.click("Undo only in mail", "input", "dialog")
    person.sees("host/name", "dialog")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the undo is done")
    equal("the problem of the setting after the undo", trial.api.setting("mail", "host/name")["code"], "not_set")
    person.click("port", "a", ".commits")
    person.sees("26", ".panel")
    person.visit(trial.origin, "#/?changes&by=nobody")
    person.sees("No commits match.", "main")


def long_feed(trial, person):
    """The feed of many suites reads the history of few suites at a time, and continues with a button."""
    with concurrent.futures.ThreadPoolExecutor(8) as callers:
        list(callers.map(lambda number: trial.api.put(f"suite{number:03}", "a", 1), range(100)))
        trial.api.put("rare", "a", 1, "rare")
        list(callers.map(lambda number: trial.api.put("busy", f"key{number}", 1), range(1500)))
    person.visit(trial.origin, "#/?changes")
    person.until("document.querySelectorAll('.commit').length === 50", "the first page is listed")
    history_requests = "performance.getEntriesByType('resource').filter(each => each.name.includes('/history')).length"
    if (requests := person.evaluate(history_requests)) > 12:
        raise FlowFailed(f"the first page took {requests} requests")
    # A second click while the page reads does not request another page, and no commit is missing.
    older = "document.querySelector('.scrolls > button:not([hidden])')"
    person.evaluate(f"{older}.click(); {older}.click()")
    person.until("document.querySelectorAll('.commit').length >= 100", "the second page is listed")
    newest = trial.api.send("GET", "suites")["revision"]
    equal("the commits of two pages", person.evaluate(LISTED), [f"busy {newest - number}" for number in range(100)])
    person.visit(trial.origin, "#/?changes&note=rare")
    person.sees("searched back to", "main")
    person.until(f"({older}?.click(), document.querySelector('.commit'))", "the feed continues until the commit", within=30)
    return f"{requests} requests for the first page"


def feed_rights(trial, person):
    """A caller sees the commits of the suites that it may read, filtered by caller, without Undo where it may not write."""
    protected = trial.start_protected()
    try:
        API(protected.origin, protected.tokens["writer"]).put("app", "a", 1)
        API(protected.origin, protected.tokens["keeper"]).put("app", "a", 2)
        API(protected.origin, protected.tokens["writer"]).put("net", "b", 3)
        person.visit(protected.origin, "#/?changes&by=token:writer")
        person.fill("Token", protected.tokens["reader"], "dialog")
        person.press("Enter")
        person.until("document.querySelectorAll('.commit').length === 2", "only the commits of one caller are listed")
        person.sees_no("token:keeper", ".commits")
        person.click("Actions for revision 1 of app", "button", "main")
        equal("the actions of a reader", person.evaluate("[...document.querySelectorAll('[role=menuitem]')].map(each => each.textContent)"), ["Compare with now"])
        API(protected.origin, protected.tokens["keeper"]).put("app", "a", 4)
        API(protected.origin, protected.tokens["writer"]).put("app", "a", 5)
        person.sees("Show 1 new commit", ".newer")
    finally:
        protected.stop()


# How many requests the page has sent for the keys of suites.
KEY_REQUESTS = "performance.getEntriesByType('resource').filter(each => each.name.includes('/keys')).length"


def search(trial, person):
    """The search finds keys, titles and descriptions in all suites, with few requests, and does not search values."""
    trial.api.create_sample_suite("player")
    trial.api.send("PUT", "suites/net/schema", {"type": "object", "additionalProperties": True, "properties": {"port": {"type": "integer", "title": "How loud the port is"}}})
    trial.api.put("net", "slash/key", "correct horse")
    for number in range(30):
        trial.api.put(f"many{number:02}", "key", "volume")
    person.visit(trial.origin)
    person.fill("Search suites", "loud", "main")
    person.click("Search settings in all suites", "button", "main")
    person.sees("2 settings found; searched all 32 suites", "main")
    equal("the settings", person.evaluate("[...document.querySelectorAll('section h2, section li')].map(each => each.querySelector('a').textContent)"), ["net", "port", "player", "player.volume"])
    equal("the address", person.evaluate("location.hash"), "#/?search=loud")
    requests = person.evaluate(KEY_REQUESTS)
    for text in ("s", "sl", "sla", "slas", "slash"):
        person.fill("Search settings in all suites", text, "main")
    person.sees("1 setting found", "main")
    equal("requests for more letters", person.evaluate(KEY_REQUESTS), requests)
    person.until("location.hash === '#/?search=slash'", "the address follows")
    person.click("slash/key", "a", "section")
    person.sees("slash/key", ".panel h2")
    person.visit(trial.origin, "#/?search=correct")
    person.sees("0 settings found; searched all 32 suites", "main")
    # The keys of a suite that changes are read again.
    person.fill("Search settings in all suites", "fresh", "main")
    person.sees("0 settings found; searched all", "main")
    trial.api.put("net", "fresh", 1)
    person.fill("Search settings in all suites", "fresh ", "main")
    person.sees("1 setting found", "main")


def long_search(trial, person):
    """A search of many suites pauses after 200 suites, shows their number, and continues with a button."""
    with concurrent.futures.ThreadPoolExecutor(8) as callers:
        list(callers.map(lambda number: trial.api.put(f"suite{number:03}", "wanted", 1), range(250)))
    person.visit(trial.origin, "#/?search=wanted")
    person.sees("200 settings found; searched 200 of 250 suites", "main")
    person.click("Continue the search", "button")
    person.sees("250 settings found; searched all 250 suites", "main")
    person.until("![...document.querySelectorAll('.scrolls > button')].some(each => each.getClientRects().length)", "a finished search has no button")
    # The page keeps at most 50,000 keys in memory. It also searches the keys that it does not keep.
    trial.api.send("PATCH", "suites/large", {f"key{number:05}": number for number in range(52_500)} | {"z.needle": 1})
    person.visit(trial.origin, "#/?search=needle")
    person.sees("z.needle", ".results")
    person.click("Continue the search", "button")
    person.sees("1 setting found; searched all 251 suites", "main")
