"""The flows of clients: the programs that report which revision of a suite they have applied. `trial` has the daemon and
its API, `person` is the browser (see __init__.py). api.py has the values and notes of the sample suite."""

from browsing.axe import axe_text, inspect
from browsing.editing import equal

# The button in the head of a suite that says how many clients have its revision.
CLIENT_COUNT = "document.querySelector('.head button.mark')"


def reported_clients(trial, person):
    """The header of a suite counts the clients that have its revision, and a list of the clients follows their reports."""
    suite, api = "clients", trial.api
    api.create_sample_suite(suite)

    def cursor():
        return api.send("GET", f"suites/{suite}/clients")["cursor"]

    def report(name, **report):
        api.send("PUT", f"suites/{suite}/clients/{name}", report)

    person.visit(trial.origin, f"#/{suite}")
    person.sees("Live", "#state")
    equal("the button without clients is hidden", person.evaluate(f"{CLIENT_COUNT}.hidden"), True)
    old = cursor()
    for name in ("web1", "web2", "web3"):
        report(name, applied=old)
    # The next commit makes the page ask for clients.
    api.put(suite, "player.volume", 0.1)
    person.sees("0 of 3 clients have this revision", ".head")
    new = cursor()
    for name in ("web1", "web2"):
        report(name, applied=new)
    person.sees("2 of 3 clients have this revision", ".head")
    report("web3", failed=new, reason="port <in> use")
    person.sees("2 of 3 clients have this revision, 1 failed", ".head")
    person.click("2 of 3 clients have this revision, 1 failed", "button", ".head")
    for text in ("Clients of clients", "web1", "current", "failed", "1 commit and", "port <in> use"):
        person.sees(text, "dialog")
    equal("the first client", person.evaluate("document.querySelector('dialog li strong').textContent"), "web3")
    for width, dark in ((1280, False), (1280, True), (320, False), (320, True)):
        person.set_screen(width, 800, dark=dark, less_motion=True)
        inspect(person, axe_text(), f"the clients, {width} wide, {'dark' if dark else 'light'}")
        equal(f"the width of the page at {width}", person.evaluate("document.documentElement.scrollWidth") <= width, True)
    # The list and the button follow the reports.
    report("web3", applied=new)
    person.sees_no("failed", "dialog")
    person.click("Close", "button", "dialog")
    person.sees("3 of 3 clients have this revision", ".head")
    for dark in (True, False):
        person.set_screen(320, 800, dark=dark, less_motion=True)
        inspect(person, axe_text(), f"the button, {'dark' if dark else 'light'}")
