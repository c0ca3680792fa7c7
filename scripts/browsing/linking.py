"""The flows of a person who opens links in other tabs, shares addresses, or copies values. `trial` has the daemon and its
API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

from browsing.api import API, eventually
from browsing.editing import equal, open_setting
from browsing.person import CTRL, FlowFailed


def links(trial, person):
    """The rows of the list of suites and of the list of settings are links. The browser handles a click with Ctrl, and opens another
    tab. The page handles a click and Enter, and opens the row in the same tab."""
    trial.api.create_sample_suite("links")
    person.visit(trial.origin)
    person.until("document.querySelector('a.row[href=\"#/links\"]')", "a suite is a link")
    person.evaluate("window.isFirstLoad = true")
    # Records whether the page left the last click to the browser, and then keeps the browser from opening a tab.
    person.evaluate("document.addEventListener('click', event => { window.isNative = !event.defaultPrevented; event.preventDefault(); })")

    def click_row(selector, modifiers=0):
        person.evaluate_async(f"document.querySelector({selector!r}).scrollIntoView({{ block: 'center' }}); new Promise(requestAnimationFrame)")
        x, y = person.evaluate(f"(box => [box.x + 40, box.y + box.height / 2])(document.querySelector({selector!r}).getBoundingClientRect())")
        for event in ("mousePressed", "mouseReleased"):
            person.call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1, modifiers=modifiers)

    click_row("a.row", CTRL)
    equal("the browser handles the click with Ctrl, the view stays", person.evaluate("[window.isNative, location.hash]"), [True, ""])
    click_row("a.row")
    person.until("document.querySelector('.row[href=\"#/links/player.volume\"]')", "a setting is a link")
    click_row(".row[href$=shuffle]", CTRL)
    equal("the browser handles the click with Ctrl, the view stays", person.evaluate("[window.isNative, location.hash]"), [True, "#/links"])
    click_row(".row[href$=shuffle]")
    person.sees("player.shuffle", ".panel h2")
    equal("the page was not loaded again", person.evaluate("window.isFirstLoad"), True)
    person.until("document.activeElement.matches('.list')", "the list has the focus after a click")
    person.press("ArrowDown")
    person.press("Enter")
    person.sees("player.volume", ".panel h2")


def filters(trial, person):
    """The address contains the search and the filter of a suite, and a visit to the address sets both. Both stay when a panel or
    the history opens."""
    trial.api.create_sample_suite("filters")
    person.visit(trial.origin, "#/filters")
    person.fill("Search settings", "player.", "main")
    person.choose("Show", "Stored", "main")
    person.until("location.hash === '#/filters?search=player.&show=stored'", "the address has the filters")
    address = person.evaluate("location.hash")
    person.visit(trial.origin, address)
    # The sample suite has 16 settings: 15 keys of its schema, and feature.lyrics, which the schema does not list.
    person.sees("2 of 16 settings", ".count")
    person.click("volume", ".row .name", "main")
    person.sees("player.volume", ".panel h2")
    equal("the address of the setting", person.evaluate("location.hash"), "#/filters/player.volume?search=player.&show=stored")
    person.click("History", "nav a")
    person.until("document.querySelector('.commit')", "the history is listed")
    person.click("Settings", "nav a")
    person.sees("2 of 16 settings", ".count")
    person.until(f"location.hash === '{address}'", "the address has the filters again")
    person.fill("Search settings", "", "main")
    person.until("location.hash === '#/filters?show=stored'", "an empty search is not in the address")


def copies(trial, person):
    """The panel copies the key, the value and a command without the token, but no secret."""
    protected = trial.start_protected()
    try:
        owner = API(protected.origin, protected.tokens["owner"])
        owner.create_sample_suite("app")
        person.call("Browser.grantPermissions", origin=protected.origin, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        person.visit(protected.origin, "#/app/look.theme")
        person.fill("Token", protected.tokens["owner"], "dialog")
        person.press("Enter")

        def copied(name):
            """Clicks the button and returns the text of the clipboard."""
            person.evaluate_async("navigator.clipboard.writeText('nothing')")
            person.click(name, "button", ".panel")
            read = "navigator.clipboard.readText()"
            eventually(f"{name} fills the clipboard", lambda: person.evaluate_async(read) != "nothing")
            return person.evaluate_async(read)

        person.until("!document.querySelector('dialog')", "the token is accepted")
        equal("the key", copied("Copy key"), "look.theme")
        equal("the value", copied("Copy value"), "dark")
        equal("the command", copied("Copy as curl"), f"curl -H \"Authorization: Bearer $TOKEN\" '{protected.origin}/v1/suites/app/keys/look.theme'")
        open_setting(person, "app", "account.password")
        person.until("[...document.querySelectorAll('.panel button')].some(each => each.textContent === 'Copy key')", "the panel has its buttons")
        if person.evaluate("[...document.querySelectorAll('.panel button')].some(each => each.textContent === 'Copy value' && each.getClientRects().length)"):
            raise FlowFailed("a secret can be copied")
    finally:
        protected.stop()
