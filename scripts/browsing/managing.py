"""The flows of a person who reads a long history, compares, clones and drops suites, or mistypes a name. `trial` has the
daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

import json

from browsing.api import API
from browsing.editing import EDITOR, equal
from browsing.person import FlowFailed

# The listed commits, and the labels of an open menu.
COMMITS = "[...document.querySelectorAll('.commit')]"
MENU_ITEMS = "[...document.querySelectorAll('[role=menuitem]')].map(each => each.textContent)"


def compact_history(trial, person):
    """A commit takes one row with one menu, all changes of a large commit can be shown, and the filter takes a key or a prefix."""
    suite = "compact"
    trial.api.send("PATCH", f"suites/{suite}", {f"group.key{number:03}": number for number in range(250)}, "many")
    trial.api.put(suite, "group.key", "http://old.example/index")
    trial.api.put(suite, "group.key", "http://new.example/index")
    trial.api.put(suite, "group.key000", "x")
    trial.api.put(suite, "other", 1)
    person.visit(trial.origin, f"#/{suite}?history")
    person.until(f"{COMMITS}.length === 5", "the commits are listed")
    if (height := person.evaluate(f"{COMMITS}[2].getBoundingClientRect().height")) > 60:
        raise FlowFailed(f"the row of a change is {height} high")
    equal("the buttons of a row", person.evaluate(f"{COMMITS}[2].querySelectorAll('button:not([role=menuitem])').length"), 1)
    equal("the words that differ", person.evaluate(f"[...{COMMITS}[2].querySelectorAll('mark')].map(each => each.textContent)"), ["old", "new"])
    # The large commit shows some of its changes at first.
    shown = f"{COMMITS}[4].querySelectorAll('.changes li:not(.more)').length"
    equal("the changes at first", person.evaluate(shown), 3)
    for button, number in (("Show 247 more changes", 103), ("Show 147 more changes", 203), ("Show 47 more changes", 250)):
        person.click(button, "button", "main")
        equal(button, person.evaluate(shown), number)
    person.until("document.activeElement.matches('.changes li')", "the focus goes to the changes that appeared last")
    # The menu can be used with the keyboard.
    person.evaluate(f"{COMMITS}[1].querySelector('[aria-haspopup]').focus()")
    person.press("Enter")
    person.until("document.activeElement.textContent === 'Undo…'", "the first action has the focus")
    equal("the actions", person.evaluate(MENU_ITEMS), ["Undo…", "Go back to here…", "Compare with now"])
    person.press("ArrowUp")
    equal("the last action", person.evaluate("document.activeElement.textContent"), "Compare with now")
    person.press("Escape")
    person.until("document.activeElement.matches('[aria-haspopup]') && !document.querySelector('[role=menuitem]')", "Escape closes the menu")
    # The filter takes an exact key, or the beginning of keys and a star.
    person.fill("Only this key, or player.*", "group.key", "main")
    person.until(f"{COMMITS}.length === 2", "only the commits of the key are listed")
    equal("a suggestion", person.evaluate("document.querySelector('datalist option').value"), "group.key")
    person.until(f"location.hash === '#/{suite}?history&key=group.key'", "the address has the filter")
    person.fill("Only this key, or player.*", "group.*", "main")
    person.until(f"{COMMITS}.length === 4", "only the commits of the group are listed")
    person.choose_action(trial.api.setting(suite, "group.key")["revision"], "Go back to here…")
    person.sees("group.key000", "dialog")
    person.sees_no("other", "dialog .changes")
    person.click("Go back", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the group went back")
    equal("the group and the other key", [trial.api.value(suite, "group.key000"), trial.api.value(suite, "other")], [0, 1])


def comparing(trial, person):
    """A person compares two suites, or a suite with its earlier state, copies values, and sees no secret. The address contains the
    name of the other suite, or the earlier revision."""
    for suite in ("production", "staging"):
        trial.api.create_sample_suite(suite)
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
    person.sees("did you mean staging?", ".compare > .error")
    person.fill("From suite", "staging", "main")
    person.press("Enter")
    person.sees("staging now → production now: 5 differences", ".comparison")
    equal("the address", person.evaluate("location.hash"), "#/production?compare=staging")
    equal("the keys", person.evaluate("[...document.querySelectorAll('.comparison li a')].map(each => each.textContent)"),
          ["account.password", "feature.sync", "look.greeting", "player.speed", "player.volume"])
    person.sees_no("secret", ".comparison")
    person.click("The schemas differ", "summary", ".comparison")
    person.sees("− ", ".comparison .lines")
    person.sees("player.speed", ".comparison .lines")
    equal("the values that can be copied", person.evaluate("[...document.querySelectorAll('.comparison li button')].map(each => each.getAttribute('aria-label'))"),
          ["Copy feature.sync", "Copy look.greeting", "Copy player.speed", "Copy player.volume"])
    person.click("Copy player.volume", "button", ".comparison")
    person.sees("1 edit", "#tray")
    person.click("Copy look.greeting", "button", ".comparison")
    person.click("Copy feature.sync", "button", ".comparison")
    person.commit("from staging")
    equal("the copied values", [trial.api.value("production", key) for key in ("player.volume", "look.greeting", "feature.sync")], [0.2, "Hello", None])
    # The same suite at an earlier moment.
    revision = trial.api.setting("production", "player.volume")["revision"]
    person.visit(trial.origin, f"#/production?compare&from={revision - 1}")
    person.sees(f"production at {revision - 1} → production now: 3 differences", ".comparison")
    person.click("Put back all 3", "button", ".comparison")
    person.commit()
    equal("the values that were put back", [trial.api.value("production", key) for key in ("player.volume", "look.greeting", "feature.sync")], [0.85, "Good evening", True])
    person.visit(trial.origin, "#/production?compare")
    person.click("Compare", "button", "main")
    person.sees("Choose another suite, or another moment", ".compare > .error")


def cloning(trial, person):
    """A person clones a suite with its schema and its secrets. The dialog lists the values that the clone will lack, and
    refuses a name in use."""
    trial.api.create_sample_suite("original")
    trial.api.put("taken", "a", 1)
    schema = trial.api.send("GET", "suites/original/schema")
    schema["properties"]["player.volume"]["maximum"] = 0.5
    trial.api.send("PUT", "suites/original/schema?onConflict=keep", schema)
    stored = trial.api.send("GET", "suites/original?view=stored&raw")
    person.visit(trial.origin, "#/original")
    person.click("Actions for original", "button", "main")
    person.click("Clone suite…", "[role=menuitem]", "main")
    person.sees("gets 5 stored values and the schema", "dialog")
    person.sees("player.volume: the schema does not allow the value", "dialog .mistakes")
    person.fill("Name of the new suite", "taken", "dialog")
    person.press("Enter")
    person.sees("exists already", "dialog")
    equal("the other suite", trial.api.send("GET", "suites/taken?raw"), {"a": 1})
    # If the daemon refuses the values, the dialog says what it has created. With another name the clone starts again.
    with person.answering("*/v1/transaction", 507, json.dumps({"status": 507, "detail": "the disk is full"})):
        person.fill("Name of the new suite", "half", "dialog")
        person.press("Enter")
        person.sees("has the schema, but not the values: the disk is full. Try again", "dialog")
    equal("no values", trial.api.send("GET", "suites/half?view=stored&raw"), {})
    person.fill("Name of the new suite", "copy", "dialog")
    person.press("Enter")
    person.until("location.hash === '#/copy' && !document.querySelector('dialog')", "the clone is shown")
    person.sees("shuffle", ".list")
    equal("the values", trial.api.send("GET", "suites/copy?view=stored&raw"), {key: value for key, value in stored.items() if key != "player.volume"})
    equal("the schema", trial.api.send("GET", "suites/copy/schema"), schema)
    protected = trial.start_protected()
    try:
        owner = API(protected.origin, protected.tokens["owner"])
        owner.create_sample_suite("app")
        person.visit(protected.origin, "#/app")
        person.fill("Token", protected.tokens["owner"], "dialog")
        person.press("Enter")
        person.click("Actions for app", "button", "main")
        person.click("Clone suite…", "[role=menuitem]", "main")
        person.sees("account.password: you may not read the secret", "dialog .mistakes")
        person.close_dialog()
    finally:
        protected.stop()


def dropping(trial, person):
    """A person drops a suite after typing its name, unless the suite changed meanwhile, and undoes the drop."""
    trial.api.create_sample_suite("old")
    stored = trial.api.send("GET", "suites/old?view=stored&raw")

    def open_dialog(name):
        person.click("Actions for old", "button", "main")
        person.click("Drop suite…", "[role=menuitem]", "main")
        person.fill("Type old to confirm", name, "dialog")
        person.click("Drop suite", "button", "dialog")

    person.visit(trial.origin, "#/old/player.volume")
    person.fill("Value", "0.1", EDITOR)
    person.sees("1 edit", "#tray")
    open_dialog("other")
    person.sees("The name is not old", "dialog")
    person.sees("discards your 1 edit", "dialog")
    trial.api.put("old", "player.crossfade", 3)
    person.fill("Type old to confirm", "old", "dialog")
    person.press("Enter")
    person.sees("was changed elsewhere", "dialog")
    person.close_dialog()
    equal("a value of the suite that was not dropped", trial.api.value("old", "player.crossfade"), 3)
    open_dialog("old")
    person.until("location.hash === '#/old?history' && !document.querySelector('dialog')", "the history is shown")
    person.sees("Suite dropped", ".commits")
    person.sees("old is dropped", "#toast")
    person.until("document.querySelector('#tray').hidden", "the edits of the suite are gone")
    person.until("!document.querySelector('[aria-label=\"Actions for old\"]').getClientRects().length", "a suite that does not exist has no actions")
    equal("the suites after the drop", trial.api.send("GET", "suites")["suites"], [])
    person.click("Settings", "a", "nav.tabs")
    person.sees("There is no suite old", "main")
    person.click("History", "a", "nav.tabs")
    person.until("document.querySelector('.commit')", "the history is listed")
    revision = person.evaluate("Number(/revision (\\d+)/.exec(document.querySelector('.commit').innerText)[1])")
    person.choose_action(revision, "Undo…")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "the drop is undone")
    equal("the values after the undo", trial.api.send("GET", "suites/old?view=stored&raw"), {**stored, "player.crossfade": 3})


def missing_names(trial, person):
    """For a mistyped name of a suite or key, the page says that the name does not exist, and suggests similar names. A
    person creates a suite or a setting only by a button."""
    trial.api.create_sample_suite("com.example.player")
    for part in ("", "?schema", "?compare"):
        person.visit(trial.origin, f"#/com.exmaple.player{part}")
        person.sees("There is no suite com.exmaple.player", "main")
        for words in ("has no schema", "Add a setting"):
            person.sees_no(words, "main")
    person.click("com.example.player", "a", ".empty")
    person.until("document.querySelector('.row')", "the suggested suite opens")
    person.evaluate("location.hash = '#/com.example.player/player.volum'")
    person.sees("There is no setting player.volum", ".panel")
    equal("no editor", person.evaluate("!!document.querySelector('.editor')"), False)
    person.click("player.volume", "a", ".panel")
    person.until("document.querySelector('.editor input.number')?.value === '0.85'", "the suggested setting opens")
    person.evaluate("location.hash = '#/com.example.player/feature.fresh'")
    person.click("Create this setting", "button", ".panel")
    person.choose("Type", "Switch", EDITOR)
    person.click("Value", "input[role=switch]", EDITOR)
    person.commit()
    equal("the created setting", trial.api.value("com.example.player", "feature.fresh"), True)
    # When another caller creates the setting, its editor opens.
    person.evaluate("location.hash = '#/com.example.player/feature.later'")
    person.sees("There is no setting feature.later", ".panel")
    trial.api.put("com.example.player", "feature.later", True)
    person.until("document.querySelector('.editor [role=switch]')?.checked", "the setting opens")
    person.visit(trial.origin, "#/brandnew")
    person.click("Create this suite", "button", "main")
    person.sees("Add a setting, import a file, or write a schema", "main")
    person.visit(trial.origin, "#/brandnew2")
    person.sees("There is no suite brandnew2", "main")
    trial.api.put("brandnew2", "a", 1)
    person.until("document.querySelector('.row')", "a suite that another caller creates opens")


def undo_everywhere(trial, person):
    """A person undoes a commit of two suites in one of them or in both. Later changes are not overwritten."""
    def commit(value):
        answer = trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": suite, "key": "a", "value": value} for suite in ("mail", "net")]})
        return answer["revision"]

    values = lambda: [trial.api.value(suite, "a") for suite in ("mail", "net")]
    commit(1)
    revision = commit(2)
    person.visit(trial.origin, "#/mail?history")
    person.choose_action(revision, "Undo…")
    person.sees("The commit also changed net", "dialog")
    equal("only the suite is chosen at first", person.evaluate("document.querySelector('dialog input:checked').parentElement.innerText.trim()"), "Undo only in mail")
    equal("the changes of the suite", person.evaluate("document.querySelectorAll('dialog .changes li').length"), 1)
    person.click("Undo in all 2 suites", "input", "dialog")
    person.until("document.querySelectorAll('dialog .changes li').length === 2", "the changes of both suites")
    person.sees("in net", "dialog")
    person.until("document.activeElement.checked", "the choice keeps the focus")
    equal("nothing is undone yet", values(), [2, 2])
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "both suites are undone")
    equal("undone", values(), [1, 1])
    revision = commit(3)
    person.visit(trial.origin, "#/mail?history")
    person.choose_action(revision, "Undo…")
    person.click("Undo", "button", "dialog")
    person.until("!document.querySelector('dialog')", "one suite is undone")
    equal("undone in one suite", values(), [1, 3])
    revision = commit(4)
    trial.api.put("net", "a", 5)
    person.visit(trial.origin, "#/mail?history")
    person.choose_action(revision, "Undo…")
    person.click("Undo in all 2 suites", "input", "dialog")
    person.sees("Cannot undo this commit in all suites", ".commit .error")
    equal("nothing is undone", values(), [4, 5])
    # A later change in this suite does not hide that the commit also changed the other suite.
    revision = commit(6)
    trial.api.put("mail", "a", 7)
    person.visit(trial.origin, "#/mail?history")
    person.choose_action(revision, "Undo…")
    person.sees("The commit also changed net", "dialog")
    person.close_dialog()
