"""The flows of changes with a deadline: reverts that a person confirms, and scheduled writes."""

from browsing.api import API
from browsing.axe import inspect, script
from browsing.editing import EDITOR, equal, to_setting
from browsing.person import CTRL

MARKS = "document.querySelectorAll('.row .mark.due').length"


def _pending(api):
    return [each["id"] for each in api.send("GET", "pending")["pending"]]


def _change(api, suite, values, note=None, **deadline):
    """Makes a commit with a deadline. Returns the id of the pending action."""
    operations = [{"op": "set", "suite": suite, "key": key, "value": value} for key, value in values.items()]
    return api.send("POST", "transaction", {"do": operations}, note, **deadline)["pending"]["id"]


def pending_setting(trial, person):
    """A setting with a pending revert has a mark and a time that runs, can be kept and reverted, and follows other callers."""
    suite, api = "due", trial.api
    api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.shows("Live", "#state")
    # Another caller makes, moves and confirms a change.
    first = _change(api, suite, {"player.volume": 0.1, "look.theme": "light"}, confirm="100")
    person.shows("unless confirmed", ".panel")
    person.shows("The buttons act on all 2 settings", ".panel")
    person.until(f"{MARKS} === 2", "both settings are marked")
    for place in (".panel .countdown", ".row .countdown"):
        text = person.evaluate(f"document.querySelector('{place}').textContent")
        person.until(f"document.querySelector('{place}').textContent !== {text!r}", f"the time in {place} runs")
    api.send("POST", f"pending/{first}", {"do": "extend", "deadline": "30m"})
    person.shows("30 min", ".panel")
    api.send("POST", f"pending/{first}", {"do": "confirm"})
    person.until(f"{MARKS} === 0", "the marks are gone")
    person.hides("unless confirmed", ".panel")
    # The person keeps one change, and reverts another.
    _change(api, suite, {"player.volume": 0.2}, until="2h")
    person.shows("Reverts in 2 h", ".panel")
    person.click("Keep", "button", ".panel")
    person.shows("The change is kept.", "#toast")
    person.hides("Reverts in", ".panel")
    person.until("document.activeElement.matches('.panel h2')", "the panel keeps the focus")
    equal("kept", [_pending(api), api.value(suite, "player.volume")], [[], 0.2])
    _change(api, suite, {"player.volume": 0.3}, confirm="5m")
    person.click("Revert now", "button", ".panel")
    person.shows("The change was reverted.", "#toast")
    person.until("document.querySelector('.editor input.number').value === '0.2'", "the editor has the value from before")
    person.hides("Reverts in", ".panel")
    equal("reverted", [_pending(api), api.value(suite, "player.volume")], [[], 0.2])
    # The daemon reverts a change that nobody confirms. A later change ends the mark.
    _change(api, suite, {"player.volume": 0.4}, confirm="2")
    person.until("document.querySelector('.editor input.number').value === '0.4'", "the editor follows")
    person.until("document.querySelector('.editor input.number').value === '0.2'", "the editor follows the revert")
    _change(api, suite, {"player.volume": 0.5}, confirm="1h")
    person.until(f"{MARKS} === 1", "the setting is marked")
    api.put(suite, "player.volume", 0.6)
    person.until(f"{MARKS} === 0", "a setting that was changed later is not reverted")


def confirmed_commit(trial, person):
    """A person commits with a deadline, and the message keeps or reverts the commit, or says who did."""
    suite, api = "careful", trial.api
    api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")

    def commit(value, within=None):
        person.fill("Value", value, EDITOR)
        person.shows("1 edit", "#tray")
        person.press("Enter", CTRL)
        person.until("document.querySelector('dialog.review')", "the review opens")
        if within:
            person.choose("Revert unless confirmed within", within, "dialog")
        person.click("Commit 1 change", "button", "dialog")
        person.shows("Committed as revision", "#toast")

    commit("0.1")
    person.shows("Undo", "#toast")
    equal("no deadline", _pending(api), [])
    commit("0.2", "5 minutes")
    person.shows("Reverts in 5 min unless confirmed", "#toast")
    person.shows("Reverts in 5 min unless confirmed", ".panel")
    person.click("Keep", "button", "#toast")
    person.shows("The change is kept.", "#toast")
    equal("kept", [_pending(api), api.value(suite, "player.volume")], [[], 0.2])
    commit("0.3", "1 minute")
    person.click("Revert now", "button", "#toast")
    person.until("document.querySelector('.editor input.number').value === '0.2'", "the value from before is back")
    equal("reverted", [_pending(api), api.value(suite, "player.volume")], [[], 0.2])
    # Another person decides, and the message follows, also in another view.
    commit("0.4", "1 hour")
    person.click("Suites", "a", "nav")
    [action] = _pending(api)
    api.send("POST", f"pending/{action}", {"do": "confirm"})
    person.shows("The change is kept", "#toast")
    person.hides("Reverts in", "#toast")


def pending_list(trial, person):
    """The service view lists pending actions with what, when, who and why. A person cancels, keeps and reverts, with the right to it."""
    guarded = trial.guarded()
    try:
        api = API(guarded.origin, guarded.tokens["writer"])
        api.put("app", "a", 1)
        _change(api, "app", {"a": 2, "b": 2}, "more connections", confirm="100")
        _change(api, "app", {"c": 3}, until="3d")
        api.send("PUT", "suites/net/keys/banner", "Sale", "for the sale", effective="2h", until="5h")
        person.visit(guarded.origin, "#/?service")
        person.fill("Token", guarded.tokens["reader"], "dialog")
        person.press("Enter")
        for text in ("Reverts in ", " unless confirmed", "app: a, b", "by token:writer: more connections", "Reverts in 3 d", "Scheduled write in 2 h", "Then reverts at", "net: banner"):
            person.shows(text, ".view .changes")
        equal("the buttons of a reader", person.evaluate("document.querySelectorAll('.view .changes button').length"), 0)
        person.evaluate("location.hash = '#/app/a'")
        person.shows("unless confirmed", ".panel")
        person.until("document.querySelector('.panel .decision')", "the panel is there")
        equal("the buttons of a reader", person.evaluate("document.querySelectorAll('.panel .decision button').length"), 0)
        person.evaluate("sessionStorage.clear()")
        person.visit(guarded.origin, "#/?service")
        person.fill("Token", guarded.tokens["writer"], "dialog")
        person.press("Enter")
        person.click("Cancel: net banner", "button", ".view")
        person.shows("The scheduled write was cancelled.", "#toast")
        person.hides("net: banner", ".view .changes")
        person.click("Revert now: app a, b", "button", ".view")
        person.hides("app: a, b", ".view .changes")
        equal("reverted", api.value("app", "a"), 1)
        person.click("Keep: app c", "button", ".view")
        person.shows("No change waits for a confirmation", ".view")
        equal("kept", [_pending(api), api.value("app", "c")], [[], 3])
        # Another caller makes and ends an action.
        action = _change(api, "app", {"a": 5}, confirm="1h")
        person.shows("app: a", ".view .changes")
        api.send("POST", f"pending/{action}", {"do": "revert"})
        person.shows("No change waits for a confirmation", ".view")
    finally:
        guarded.stop()


def pending_errors(trial, person):
    """The reason why an action cannot be ended stands at the action: its outcome, or that the daemon does not answer."""
    suite, api = "late", trial.api
    api.create_sample_suite(suite)
    # The page does not read the list again, as if the answer came late.
    for place, listing, within, label in ((f"#/{suite}/player.volume", "*/v1/pending?suite=*", ".panel", "Keep"), ("#/?service", "*/v1/pending", ".view .changes", f"Keep: {suite} player.volume")):
        action = _change(api, suite, {"player.volume": 0.1 if "service" in place else 0.2}, confirm="1h")
        person.visit(trial.origin, place)
        person.shows("unless confirmed", within)
        # The answer is lost once.
        person.call("Network.setBlockedURLs", urls=["*/v1/pending/*"])
        person.click(label, "button", within)
        person.shows("The daemon does not answer. Try again", within)
        person.call("Network.setBlockedURLs", urls=[])
        with person.holding(listing):
            api.send("POST", f"pending/{action}", {"do": "revert"})
            person.click(label, "button", within)
            person.shows("The change was reverted.", within)
            person.hides("unless confirmed", within)
            person.until("document.activeElement.innerText.includes('The change was reverted.')", "the reason has the focus")
        # The reason stays after the next reading.
        person.awaits("new Promise(done => setTimeout(done, 3500))")
        person.shows("The change was reverted.", within)
    _change(api, suite, {"player.volume": 0.3}, confirm="1h")
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.shows("unless confirmed", ".panel")
    with person.answering("*/v1/pending/*", 404, '{"status": 404, "code": "unknown_pending", "detail": "there is no pending action"}'):
        person.click("Keep", "button", ".panel")
        person.shows("This has ended already. The history shows the commits.", ".panel")


def pending_axe(trial, person):
    """axe-core finds no violation in the panel, the message, the review and the list of changes with a deadline, and nothing is too wide."""
    suite, api = "inspected", trial.api
    api.create_sample_suite(suite)
    _change(api, suite, {"player.volume": 0.1, "look.theme": "light"}, "a note " * 20, confirm="1h")
    api.send("PUT", f"suites/{suite}/keys/player.crossfade", 7, effective="2h", until="5h")
    for width, dark in ((1280, False), (1280, True), (320, False), (320, True)):
        person.look(width, 800, dark=dark, less_motion=True)
        name = f"{width} wide, {'dark' if dark else 'light'}"

        def check(what):
            inspect(person, script(), f"{what}, {name}")
            equal(f"the width of {what}", person.evaluate("document.documentElement.scrollWidth"), width)

        person.visit(trial.origin, "#/?service")
        person.shows("Scheduled write", "main")
        check("the list of pending actions")
        person.visit(trial.origin, f"#/{suite}?search=theme")
        person.until(f"{MARKS} === 1", "the mark is there")
        check("the list of settings")
        to_setting(person, suite, "player.equalizer.bass")
        person.fill("Value", str(width // 320 + dark), EDITOR)
        person.shows("1 edit", "#tray")
        person.press("Enter", CTRL)
        person.until("document.querySelector('dialog.review')", "the review opens")
        person.choose("Revert unless confirmed within", "1 minute", "dialog")
        check("the review")
        person.click("Commit 1 change", "button", "dialog")
        person.shows("unless confirmed", "#toast")
        person.shows("unless confirmed", ".panel")
        check("the message and the panel")
        person.click("Keep", "button", ".panel")
        person.shows("The change is kept", "#toast")
