"""The flows in which the page loads the modules that its first view does not need."""

from browsing.api import API
from browsing.editing import equal, to_setting
from browsing.person import CTRL

# How many modules the page has loaded since a view was opened.
LOADED = "performance.getEntriesByType('resource').filter(each => each.name.endsWith('.js')).length"


def offline_views(trial, person):
    """Each view opens after the daemon is gone, because the page has loaded its modules before."""
    suite = "offline"
    trial.api.create_sample_suite(suite)
    person.visit(trial.origin, f"#/{suite}")
    person.shows("Live", "#state")
    person.until("performance.getEntriesByType('resource').some(each => each.name.endsWith('/transfer.js'))", "the last module is requested")
    person.awaits("import('./transfer.js').then(() => true)")
    before = person.evaluate(LOADED)
    trial.daemon.stop()
    person.shows("Offline", "#state")
    to_setting(person, suite, "library.server")
    person.until("document.querySelector('.editor fieldset')", "the form is there")
    person.evaluate(f"location.hash = '#/{suite}/rules'")
    person.until("document.querySelector('.editor textarea.code')", "the editor of any value is there")
    for place, there in ((f"#/{suite}?history", "[placeholder='Only this caller']"), (f"#/{suite}?compare", "form.compare"), (f"#/{suite}?schema", ".numbered"),
                         ("#/?changes", "[name=note]"), ("#/?search=volume", "input[type=search]"), ("#/?service", ".cards")):
        person.evaluate(f"location.hash = '{place}'")
        person.until(f"document.querySelector({there!r})", f"{place} opens")
        # The comparison reads nothing before the person chooses what to compare.
        if "compare" not in place:
            person.shows("The daemon does not answer", "main")
    equal("modules loaded without the daemon", person.evaluate(LOADED), before)


def failed_modules(trial, person):
    """A module that cannot be loaded leaves a message in its view, and a second try opens the view."""
    suite = "modules"
    trial.api.create_sample_suite(suite)

    def fails(name, within, act):
        """Opens a view without its module, and then again with the module."""
        person.call("Network.setBlockedURLs", urls=[f"*/{name}.js*"])
        person.visit(trial.origin, f"#/{suite}/player.volume")
        person.shows("Live", "#state")
        act()
        for _ in range(2):
            person.shows("this part of the page cannot be loaded", within)
            person.click("Try again", "button", within)
            person.hides("Loading…", within)
        person.shows("this part of the page cannot be loaded", within)
        person.call("Network.setBlockedURLs", urls=[])
        person.click("Try again", "button", within)

    fails("history", ".part-view", lambda: person.click("History", "a", "nav.tabs"))
    person.shows("louder still", ".commits")
    person.click("Settings", "a", "nav.tabs")
    fails("structures", ".editor", lambda: to_setting(person, suite, "library.server"))
    person.until("document.querySelector('.editor fieldset textarea')?.value === 'localhost'", "the form is there")
    fails("formats", ".editor", lambda: to_setting(person, suite, "look.accent"))
    person.fill("Value", "#123456", ".editor")
    person.shows("1 edit", "#tray")
    person.commit()
    equal("the colour", trial.api.value(suite, "look.accent"), "#123456")
    fails("feed", "main", lambda: person.click("Changes", "a", "nav"))
    person.shows("louder still", ".commits")
    # Another view can be opened instead.
    person.click("Suites", "a", "nav")
    person.shows(suite, ".list")

    def edit():
        person.fill("Value", "0.3", ".panel .editor")
        person.press("Enter", CTRL)

    fails("review", "#toast", edit)
    person.until("document.querySelector('dialog.review')", "the review opens")
    person.close_dialog()
    person.commit()
    fails("absent", ".panel", lambda: person.evaluate(f"location.hash = '#/{suite}/player.volum'"))
    person.shows("Did you mean", ".panel")


def slow_module(trial, person):
    """A view whose module is slow says that it loads after a moment, and has the focus and the address of the last press."""
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
        person.let(module)
        person.shows("easier on the eyes", ".commits")
        person.hides("louder still", ".commits")
    # The page before must not request the module, too.
    person.open("about:blank")
    # A view that the person has left does not open.
    with person.holding("*/compare.js*") as held:
        person.visit(trial.origin, f"#/{suite}?compare")
        [module] = held(1)
        person.click("Schema", "a", "nav.tabs")
        person.until("document.querySelector('.numbered')", "the schema is there")
        person.let(module)
        person.awaits("import('./compare.js').then(() => true)")
        person.until("document.querySelector('.numbered') && !document.querySelector('form.compare')", "the schema stays")


def reader_menu(trial, person):
    """The menu of a suite has for a reader the actions that a reader may use."""
    guarded = trial.guarded()
    try:
        API(guarded.origin, guarded.tokens["owner"]).put("app", "a", 1)
        for name, items in (("reader", ["Compare", "Export", "Copy as curl"]),
                            ("owner", ["Compare", "Export", "Copy as curl", "Clone suite…", "Drop suite…"])):
            person.visit(guarded.origin)
            person.evaluate("sessionStorage.clear()")
            person.visit(guarded.origin, "#/app")
            person.fill("Token", guarded.tokens[name], "dialog")
            person.press("Enter")
            person.click("Actions for app", "button", "main")
            person.until("document.querySelector('[role=menuitem]')", "the menu opens")
            equal(f"the menu of the {name}", person.evaluate("[...document.querySelectorAll('[role=menuitem]')].map(each => each.textContent)"), items)
        person.call("Browser.grantPermissions", origin=guarded.origin, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        person.click("Copy as curl", "[role=menuitem]", "main")
        person.shows("Copied", "#toast")
        equal("the command", person.awaits("navigator.clipboard.readText()"), f"curl -H \"Authorization: Bearer $TOKEN\" '{guarded.origin}/v1/suites/app'")
        person.click("Actions for app", "button", "main")
        person.click("Compare", "[role=menuitem]", "main")
        person.until("document.querySelector('form.compare')", "the comparison opens")
    finally:
        guarded.stop()
