"""The flows in which the page loads the modules that its first view does not need, and a flow with the menu of a suite.
`trial` has the daemon and its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

from browsing.api import API
from browsing.editing import equal, open_setting
from browsing.person import CTRL

# How many modules the page has loaded since its start.
LOADED = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('.js')).length"


def offline_views(trial, person):
    """Each view opens after the daemon is gone, because the page has loaded its modules before."""
    suite = "offline"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    person.sees("Live", "#state")
    person.until("performance.getEntriesByType('resource').some(each => each.name.endsWith('/transfer.js'))", "the last module is requested")
    person.evaluate_async("import('./transfer.js').then(() => true)")
    before = person.evaluate(LOADED)
    trial.daemon.stop()
    person.sees("Offline", "#state")
    open_setting(person, suite, "library.server")
    person.until("document.querySelector('.editor fieldset')", "the form is there")
    person.evaluate(f"location.hash = '#/{suite}/rules'")
    person.until("document.querySelector('.editor textarea.code')", "the JSON editor is there")
    for address, content in ((f"#/{suite}?history", "[placeholder='Only this caller']"), (f"#/{suite}?compare", "form.compare"), (f"#/{suite}?schema", ".numbered"),
                         ("#/?changes", "[name=note]"), ("#/?search=volume", "input[type=search]"), ("#/?service", ".cards")):
        person.evaluate(f"location.hash = '{address}'")
        person.until(f"document.querySelector({content!r})", f"{address} opens")
        # The comparison reads nothing before the person chooses what to compare.
        if "compare" not in address:
            person.sees("The daemon does not answer", "main")
    equal("modules loaded without the daemon", person.evaluate(LOADED), before)


def failed_modules(trial, person):
    """A module that cannot be loaded leaves a message in its place. "Try again" opens the view once the module can be loaded."""
    suite = "modules"
    trial.api.create_sample_suite(suite)

    def open_with_failure(name, within, act):
        """Opens a view with `act` while its module cannot be loaded, and then with the button "Try again" while it can be loaded."""
        person.call("Network.setBlockedURLs", urls=[f"*/{name}.js*"])
        person.visit(trial.origin, f"#/{suite}/player.volume")
        person.sees("Live", "#state")
        act()
        for _ in range(2):
            person.sees("this part of the page cannot be loaded", within)
            person.click("Try again", "button", within)
            person.sees_no("Loading…", within)
        person.sees("this part of the page cannot be loaded", within)
        person.call("Network.setBlockedURLs", urls=[])
        person.click("Try again", "button", within)

    open_with_failure("history", ".part-view", lambda: person.click("History", "a", "nav.tabs"))
    person.sees("louder still", ".commits")
    person.click("Settings", "a", "nav.tabs")
    open_with_failure("structures", ".editor", lambda: open_setting(person, suite, "library.server"))
    person.until("document.querySelector('.editor fieldset textarea')?.value === 'localhost'", "the form is there")
    open_with_failure("formats", ".editor", lambda: open_setting(person, suite, "look.accent"))
    person.fill("Value", "#123456", ".editor")
    person.sees("1 edit", "#tray")
    person.commit()
    equal("the colour", trial.api.value(suite, "look.accent"), "#123456")
    open_with_failure("feed", "main", lambda: person.click("Changes", "a", "nav"))
    person.sees("louder still", ".commits")
    # After the failure, other views still open.
    person.click("Suites", "a", "nav")
    person.sees(suite, ".list")

    def edit():
        person.fill("Value", "0.3", ".panel .editor")
        person.press("Enter", CTRL)

    open_with_failure("review", "#toast", edit)
    person.until("document.querySelector('dialog.review')", "the review opens")
    person.close_dialog()
    person.commit()
    open_with_failure("absent", ".panel", lambda: person.evaluate(f"location.hash = '#/{suite}/player.volum'"))
    person.sees("Did you mean", ".panel")


def slow_module(trial, person):
    """A view whose module is slow says after a moment that it loads, and then shows the content of the address that the person
    opened last."""
    suite = "slow"
    trial.api.create_sample_suite(suite)
    with person.holding("*/history.js*") as held:
        person.visit(trial.origin, f"#/{suite}")
        person.click("History", "a", "nav.tabs")
        [module] = held(1)
        person.until("location.hash.endsWith('?history') && document.querySelector('.part-view .loading')", "the view waits for its module")
        equal("the delay of the message", person.evaluate("document.querySelector('.part-view .loading').getAnimations()[0].effect.getTiming().delay"), 100)
        person.until("getComputedStyle(document.querySelector('.part-view .loading')).opacity === '1'", "the view says that it loads")
        person.evaluate(f"location.hash = '#/{suite}?history&key=look.theme'")
        person.pass_on(module)
        person.sees("easier on the eyes", ".commits")
        person.sees_no("louder still", ".commits")
    # Closes the page, because an idle page loads its other modules, and such a request would disturb the next steps.
    person.open("about:blank")
    # A view that the person has left does not open.
    with person.holding("*/compare.js*") as held:
        person.visit(trial.origin, f"#/{suite}?compare")
        [module] = held(1)
        person.click("Schema", "a", "nav.tabs")
        person.until("document.querySelector('.numbered')", "the schema is there")
        person.pass_on(module)
        person.evaluate_async("import('./compare.js').then(() => true)")
        person.until("document.querySelector('.numbered') && !document.querySelector('form.compare')", "the schema stays")


def reader_menu(trial, person):
    """The menu of a suite has only the actions that the caller has the rights for."""
    protected = trial.start_protected()
    try:
        API(protected.origin, protected.tokens["owner"]).put("app", "a", 1)
        for name, items in (("reader", ["Compare", "Export", "Copy as curl"]),
                            ("owner", ["Compare", "Export", "Copy as curl", "Clone suite…", "Drop suite…"])):
            person.visit(protected.origin)
            person.evaluate("sessionStorage.clear()")
            person.visit(protected.origin, "#/app")
            person.fill("Token", protected.tokens[name], "dialog")
            person.press("Enter")
            person.click("Actions for app", "button", "main")
            person.until("document.querySelector('[role=menuitem]')", "the menu opens")
            equal(f"the menu of the {name}", person.evaluate("[...document.querySelectorAll('[role=menuitem]')].map(each => each.textContent)"), items)
        person.call("Browser.grantPermissions", origin=protected.origin, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        person.click("Copy as curl", "[role=menuitem]", "main")
        person.sees("Copied", "#toast")
        equal("the command", person.evaluate_async("navigator.clipboard.readText()"), f"curl -H \"Authorization: Bearer $TOKEN\" '{protected.origin}/v1/suites/app'")
        person.click("Actions for app", "button", "main")
        person.click("Compare", "[role=menuitem]", "main")
        person.until("document.querySelector('form.compare')", "the comparison opens")
    finally:
        protected.stop()
