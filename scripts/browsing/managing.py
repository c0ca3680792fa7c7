"""The flows of a person who reads a long history, or compares suites."""

from browsing.editing import equal
from browsing.person import Wrong

ROWS = "[...document.querySelectorAll('.commit')]"
ITEMS = "[...document.querySelectorAll('[role=menuitem]')].map(each => each.textContent)"


def compact_history(trial, person):
    """A commit takes one row with one menu, all changes of a large commit can be shown, and the filter takes a key or a prefix."""
    suite = "compact"
    trial.api.send("PATCH", f"suites/{suite}", {f"group.key{number:03}": number for number in range(250)}, "many")
    trial.api.put(suite, "group.key", "http://old.example/index")
    trial.api.put(suite, "group.key", "http://new.example/index")
    trial.api.put(suite, "group.key000", "x")
    trial.api.put(suite, "other", 1)
    person.visit(trial.origin, f"#/{suite}?history")
    person.until(f"{ROWS}.length === 5", "the commits are listed")
    if (height := person.evaluate(f"{ROWS}[2].getBoundingClientRect().height")) > 60:
        raise Wrong(f"the row of a change is {height} high")
    equal("the buttons of a row", person.evaluate(f"{ROWS}[2].querySelectorAll('button:not([role=menuitem])').length"), 1)
    equal("the words that differ", person.evaluate(f"[...{ROWS}[2].querySelectorAll('mark')].map(each => each.textContent)"), ["old", "new"])
    # The large commit shows some of its changes at first.
    shown = f"{ROWS}[4].querySelectorAll('.changes li:not(.more)').length"
    equal("the changes at first", person.evaluate(shown), 3)
    for button, number in (("Show 247 more changes", 103), ("Show 147 more changes", 203), ("Show 47 more changes", 250)):
        person.click(button, "button", "main")
        equal(button, person.evaluate(shown), number)
    person.until("document.activeElement.matches('.changes li')", "the focus goes to the changes that appeared last")
    # The menu is for the keyboard, too.
    person.evaluate(f"{ROWS}[1].querySelector('[aria-haspopup]').focus()")
    person.press("Enter")
    person.until("document.activeElement.textContent === 'Undo…'", "the first action has the focus")
    equal("the actions", person.evaluate(ITEMS), ["Undo…", "Go back to here…", "Compare with now"])
    person.press("ArrowUp")
    equal("the last action", person.evaluate("document.activeElement.textContent"), "Compare with now")
    person.press("Escape")
    person.until("document.activeElement.matches('[aria-haspopup]') && !document.querySelector('[role=menuitem]')", "Escape closes the menu")
    # A key is meant exactly; a star stands for any end.
    person.fill("Only this key, or player.*", "group.key", "main")
    person.until(f"{ROWS}.length === 2", "the commits of the key")
    equal("a suggestion", person.evaluate("document.querySelector('datalist option').value"), "group.key")
    person.until(f"location.hash === '#/{suite}?history&key=group.key'", "the address has the filter")
    person.fill("Only this key, or player.*", "group.*", "main")
    person.until(f"{ROWS}.length === 4", "the commits of the group")
    person.act(trial.api.setting(suite, "group.key")["revision"], "Go back to here…")
    person.shows("group.key000", "dialog")
    person.hides("other", "dialog .changes")
    person.click("Go back", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the group went back")
    equal("the group and the other key", [trial.api.value(suite, "group.key000"), trial.api.value(suite, "other")], [0, 1])


def comparing(trial, person):
    """A person compares two suites by an address, copies values from the other suite, and sees no secret."""
    for suite in ("production", "staging"):
        trial.api.player(suite)
    trial.api.put("staging", "player.volume", 0.2)
    trial.api.put("staging", "look.greeting", "Hello")
    trial.api.put("staging", "account.password", "another secret")
    trial.api.put("production", "feature.sync", True)
    schema = trial.api.send("GET", "suites/staging/schema")
    schema["properties"]["player.speed"] = {"type": "integer", "default": 1}
    trial.api.send("PUT", "suites/staging/schema", schema)
    person.visit(trial.origin, "#/production?compare")
    person.until("document.querySelector('datalist option[value=staging]')", "the suites are suggested")
    person.fill("From suite", "stagin", "main")
    person.click("Compare", "button", "main")
    person.shows("did you mean staging?", ".compare > .error")
    person.fill("From suite", "staging", "main")
    person.press("Enter")
    person.shows("staging now → production now: 5 differences", ".comparison")
    equal("the address", person.evaluate("location.hash"), "#/production?compare=staging")
    equal("the keys", person.evaluate("[...document.querySelectorAll('.comparison li a')].map(each => each.textContent)"),
          ["account.password", "feature.sync", "look.greeting", "player.speed", "player.volume"])
    person.hides("secret", ".comparison")
    person.click("The schemas differ", "summary", ".comparison")
    person.shows("− ", ".comparison .lines")
    person.shows("player.speed", ".comparison .lines")
    equal("what can be copied", person.evaluate("[...document.querySelectorAll('.comparison li button')].map(each => each.getAttribute('aria-label'))"),
          ["Copy feature.sync", "Copy look.greeting", "Copy player.speed", "Copy player.volume"])
    person.click("Copy player.volume", "button", ".comparison")
    person.shows("1 edit", "#tray")
    person.click("Copy look.greeting", "button", ".comparison")
    person.click("Copy feature.sync", "button", ".comparison")
    person.commit("from staging")
    equal("copied", [trial.api.value("production", key) for key in ("player.volume", "look.greeting", "feature.sync")], [0.2, "Hello", None])
    # The same suite at an earlier moment.
    revision = trial.api.setting("production", "player.volume")["revision"]
    person.visit(trial.origin, f"#/production?compare&from={revision - 1}")
    person.shows(f"production at {revision - 1} → production now: 3 differences", ".comparison")
    person.click("Put back all 3", "button", ".comparison")
    person.commit()
    equal("put back", [trial.api.value("production", key) for key in ("player.volume", "look.greeting", "feature.sync")], [0.85, "Good evening", True])
    person.visit(trial.origin, "#/production?compare")
    person.click("Compare", "button", "main")
    person.shows("Choose another suite, or another moment", ".compare > .error")


def undo_everywhere(trial, person):
    """A commit over two suites is undone in one of them or in both, as the person chooses, and not over later changes."""
    def commit(value):
        answer = trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": suite, "key": "a", "value": value} for suite in ("mail", "net")]})
        return answer["revision"]

    values = lambda: [trial.api.value(suite, "a") for suite in ("mail", "net")]
    commit(1)
    revision = commit(2)
    person.visit(trial.origin, "#/mail?history")
    person.act(revision, "Undo…")
    person.shows("The commit also changed net", "dialog")
    equal("only the suite is chosen at first", person.evaluate("document.querySelector('dialog input:checked').parentElement.innerText.trim()"), "Undo only in mail")
    equal("the changes of the suite", person.evaluate("document.querySelectorAll('dialog .changes li').length"), 1)
    person.click("Undo in all 2 suites", "input", "dialog")
    person.until("document.querySelectorAll('dialog .changes li').length === 2", "the changes of both suites")
    person.shows("in net", "dialog")
    person.until("document.activeElement.checked", "the choice keeps the focus")
    equal("nothing is undone yet", values(), [2, 2])
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "both suites are undone")
    equal("undone", values(), [1, 1])
    revision = commit(3)
    person.visit(trial.origin, "#/mail?history")
    person.act(revision, "Undo…")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "one suite is undone")
    equal("undone in one suite", values(), [1, 3])
    revision = commit(4)
    trial.api.put("net", "a", 5)
    person.visit(trial.origin, "#/mail?history")
    person.act(revision, "Undo…")
    person.click("Undo in all 2 suites", "input", "dialog")
    person.shows("Cannot undo this commit in all suites", ".commit .error")
    equal("nothing is undone", values(), [4, 5])
