"""The flows of changes with a deadline: changes that the daemon reverts unless a person keeps them, and scheduled writes. `trial`
has the daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

from browsing.api import API
from browsing.axe import axe_text, inspect
from browsing.editing import EDITOR, equal, open_setting
from browsing.person import CTRL

# The number of rows of the list of settings that have the mark of a pending revert.
MARKS = "document.querySelectorAll('.row .mark.due').length"


def _pending(api):
    """Returns the identifiers of all pending actions."""
    return [each["id"] for each in api.send("GET", "pending")["pending"]]


def _change(api, suite, values, note=None, **deadline):
    """Makes a commit with a deadline, such as `confirm="100"`: the daemon reverts it after 100 seconds unless a caller confirms
    it. Returns the identifier of the pending action."""
    operations = [{"op": "set", "suite": suite, "key": key, "value": value} for key, value in values.items()]
    return api.send("POST", "transaction", {"do": operations}, note, **deadline)["pending"]["id"]


def pending_setting(trial, person):
    """A setting with a pending revert has a mark and a countdown, can be kept and reverted, and follows other callers."""
    suite, api = "due", trial.api
    api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.sees("Live", "#state")
    # Another caller makes a change with a deadline, extends the deadline, and confirms the change.
    action = _change(api, suite, {"player.volume": 0.1, "look.theme": "light"}, confirm="100")
    person.sees("unless confirmed", ".panel")
    person.sees("The buttons act on all 2 settings", ".panel")
    person.until(f"{MARKS} === 2", "both settings are marked")
    for place in (".panel .countdown", ".row .countdown"):
        text = person.evaluate(f"document.querySelector('{place}').textContent")
        person.until(f"document.querySelector('{place}').textContent !== {text!r}", f"the countdown in {place} runs")
    api.send("POST", f"pending/{action}", {"do": "extend", "deadline": "30m"})
    person.sees("30 min", ".panel")
    api.send("POST", f"pending/{action}", {"do": "confirm"})
    person.until(f"{MARKS} === 0", "the marks are gone")
    person.sees_no("unless confirmed", ".panel")
    # The person keeps one change, and reverts another.
    _change(api, suite, {"player.volume": 0.2}, until="2h")
    person.sees("Reverts in 2 h", ".panel")
    person.click("Keep", "button", ".panel")
    person.sees("The change is kept.", "#toast")
    person.sees_no("Reverts in", ".panel")
    person.until("document.activeElement.matches('.panel h2')", "the panel keeps the focus")
    equal("kept", [_pending(api), api.value(suite, "player.volume")], [[], 0.2])
    _change(api, suite, {"player.volume": 0.3}, confirm="5m")
    person.click("Revert now", "button", ".panel")
    person.sees("The change was reverted.", "#toast")
    person.until("document.querySelector('.editor input.number').value === '0.2'", "the editor has the value from before")
    person.sees_no("Reverts in", ".panel")
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
    """A person commits with a deadline, and keeps or reverts the commit with the buttons of the message. The message also says what
    another caller decided."""
    suite, api = "careful", trial.api
    api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}/player.volume")

    def commit(value, within=None):
        person.fill("Value", value, EDITOR)
        person.sees("1 edit", "#tray")
        person.press("Enter", CTRL)
        person.until("document.querySelector('dialog.review')", "the review opens")
        if within:
            person.choose("Revert unless confirmed within", within, "dialog")
        person.click("Commit 1 change", "button", "dialog")
        person.sees("Committed as revision", "#toast")

    commit("0.1")
    person.sees("Undo", "#toast")
    equal("no deadline", _pending(api), [])
    commit("0.2", "5 minutes")
    person.sees("Reverts in 5 min unless confirmed", "#toast")
    person.sees("Reverts in 5 min unless confirmed", ".panel")
    person.click("Keep", "button", "#toast")
    person.sees("The change is kept.", "#toast")
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
    person.sees("The change is kept", "#toast")
    person.sees_no("Reverts in", "#toast")


def pending_list(trial, person):
    """The service view lists pending actions with their keys, deadlines, callers and notes. A person with the rights can end them."""
    protected = trial.start_protected()
    try:
        api = API(protected.origin, protected.tokens["writer"])
        api.put("app", "a", 1)
        _change(api, "app", {"a": 2, "b": 2}, "more connections", confirm="100")
        _change(api, "app", {"c": 3}, until="3d")
        api.send("PUT", "suites/net/keys/banner", "Sale", "for the sale", effective="2h", until="5h")
        person.visit(protected.origin, "#/?service")
        person.fill("Token", protected.tokens["reader"], "dialog")
        person.press("Enter")
        for text in ("Reverts in ", " unless confirmed", "app: a, b", "by token:writer: more connections", "Reverts in 3 d", "Scheduled write in 2 h", "Then reverts at", "net: banner"):
            person.sees(text, ".view .changes")
        equal("the buttons of a reader", person.evaluate("document.querySelectorAll('.view .changes button').length"), 0)
        person.evaluate("location.hash = '#/app/a'")
        person.sees("unless confirmed", ".panel")
        person.until("document.querySelector('.panel .decision')", "the panel is there")
        equal("the buttons of a reader", person.evaluate("document.querySelectorAll('.panel .decision button').length"), 0)
        person.evaluate("sessionStorage.clear()")
        person.visit(protected.origin, "#/?service")
        person.fill("Token", protected.tokens["writer"], "dialog")
        person.press("Enter")
        person.click("Cancel: net banner", "button", ".view")
        person.sees("The scheduled write was cancelled.", "#toast")
        person.sees_no("net: banner", ".view .changes")
        person.click("Revert now: app a, b", "button", ".view")
        person.sees_no("app: a, b", ".view .changes")
        equal("reverted", api.value("app", "a"), 1)
        person.click("Keep: app c", "button", ".view")
        person.sees("No change waits for a confirmation", ".view")
        equal("kept", [_pending(api), api.value("app", "c")], [[], 3])
        # Another caller makes and ends an action.
        action = _change(api, "app", {"a": 5}, confirm="1h")
        person.sees("app: a", ".view .changes")
        api.send("POST", f"pending/{action}", {"do": "revert"})
        person.sees("No change waits for a confirmation", ".view")
    finally:
        protected.stop()


def pending_errors(trial, person):
    """The reason why an action cannot be ended is shown at the action: its outcome, or that the daemon does not answer."""
    suite, api = "late", trial.api
    api.create_sample_suite(suite)
    # `holding(listing)` keeps the page from reading the list of pending actions again.
    for place, listing, within, label in ((f"#/{suite}/player.volume", "*/v1/pending?suite=*", ".panel", "Keep"), ("#/?service", "*/v1/pending", ".view .changes", f"Keep: {suite} player.volume")):
        action = _change(api, suite, {"player.volume": 0.1 if "service" in place else 0.2}, confirm="1h")
        person.visit(trial.origin, place)
        person.sees("unless confirmed", within)
        # The browser blocks the first request, so the page gets no answer.
        person.call("Network.setBlockedURLs", urls=["*/v1/pending/*"])
        person.click(label, "button", within)
        person.sees("The daemon does not answer. Try again", within)
        person.call("Network.setBlockedURLs", urls=[])
        with person.holding(listing):
            api.send("POST", f"pending/{action}", {"do": "revert"})
            person.click(label, "button", within)
            person.sees("The change was reverted.", within)
            person.sees_no("unless confirmed", within)
            person.until("document.activeElement.innerText.includes('The change was reverted.')", "the reason has the focus")
        # The reason stays after the page reads the list again, which it does every 3 seconds.
        person.evaluate_async("new Promise(done => setTimeout(done, 3500))")
        person.sees("The change was reverted.", within)
    _change(api, suite, {"player.volume": 0.3}, confirm="1h")
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.sees("unless confirmed", ".panel")
    with person.answering("*/v1/pending/*", 404, '{"status": 404, "code": "unknown_pending", "detail": "there is no pending action"}'):
        person.click("Keep", "button", ".panel")
        person.sees("The action has already ended. The history shows the commits.", ".panel")


def pending_axe(trial, person):
    """axe-core finds no violation in the panel, the message, the review and the list of changes with a deadline, and nothing is too wide."""
    suite, api = "inspected", trial.api
    api.create_sample_suite(suite)
    _change(api, suite, {"player.volume": 0.1, "look.theme": "light"}, "a note " * 20, confirm="1h")
    api.send("PUT", f"suites/{suite}/keys/player.crossfade", 7, effective="2h", until="5h")
    for width, dark in ((1280, False), (1280, True), (320, False), (320, True)):
        person.set_screen(width, 800, dark=dark, less_motion=True)
        name = f"{width} wide, {'dark' if dark else 'light'}"

        def check_view(what):
            inspect(person, axe_text(), f"{what}, {name}")
            equal(f"the width of {what}", person.evaluate("document.documentElement.scrollWidth"), width)

        person.visit(trial.origin, "#/?service")
        person.sees("Scheduled write", "main")
        check_view("the list of pending actions")
        person.visit(trial.origin, f"#/{suite}?search=theme")
        person.until(f"{MARKS} === 1", "the mark is there")
        check_view("the list of settings")
        open_setting(person, suite, "player.equalizer.bass")
        # A value that differs in each pass.
        person.fill("Value", str(width // 320 + dark), EDITOR)
        person.sees("1 edit", "#tray")
        person.press("Enter", CTRL)
        person.until("document.querySelector('dialog.review')", "the review opens")
        person.choose("Revert unless confirmed within", "1 minute", "dialog")
        check_view("the review")
        person.click("Commit 1 change", "button", "dialog")
        person.sees("unless confirmed", "#toast")
        person.sees("unless confirmed", ".panel")
        check_view("the message and the panel")
        person.click("Keep", "button", ".panel")
        person.sees("The change is kept", "#toast")
