"""The flows that test accessibility: axe-core in every view, narrow and wide screens, right-to-left text, zoom, and forced
colours. axe-core is one file of a package of PyPI. `trial` has the daemon and its API, `person` is the browser (see
__init__.py). FORMS is a schema whose values have forms: lists of objects, nested objects and maps."""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from browsing.editing import EDITOR
from browsing.person import CTRL, FlowFailed
from browsing.working import FORMS
from harness.daemon import ROOT

PACKAGE, FILE = "axe-playwright-python==0.1.8", "axe_playwright_python/axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], "resultTypes": ["violations"]}


def axe_text():
    """Returns the JavaScript text of axe-core. Downloads the text if no earlier run has downloaded it."""
    cached = ROOT / ".build/axe.min.js"
    if not cached.exists():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True, stdout=2)
            subprocess.run([f"{folder}/venv/bin/pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True, stdout=2)
            [wheel] = pathlib.Path(folder).glob("*.whl")
            text = zipfile.ZipFile(wheel).read(FILE)
        cached.parent.mkdir(exist_ok=True)
        cached.write_bytes(text)
    return cached.read_text()


def inspect(person, axe, view):
    """Raises FlowFailed with the violations that axe-core finds in the current view. `axe`: the text of axe-core; `view`: the
    name of the view in the error."""
    # Rows that fade in have other colours for a moment.
    person.evaluate("document.getAnimations().forEach(each => each.finish())")
    if not person.evaluate("'axe' in window"):
        person.evaluate(f"{axe}\n; true")
    found = person.evaluate_async(f"axe.run(document, {json.dumps(RULES)}).then(result => result.violations.map("
                          "each => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary).join('; ')}`))")
    if found:
        raise FlowFailed(f"axe-core about {view}:\n  " + "\n  ".join(found))


# The addresses of the inspected views. {0} stands for the suite that `_create_suites` returns.
ADDRESSES = ["", "#/{0}", "#/{0}/player.volume", "#/{0}/library.server", "#/{0}/library.folders", "#/{0}/rules", "#/{0}/account.password", "#/{0}?history", "#/{0}?schema", "#/{0}?compare=long", "#/{0}?compare&from=5", "#/{0}/player.volum", "#/?service", "#/none", "#/nested", "#/nested/sources", "#/nested/labels", "#/?changes", "#/?search=volume"]


def _create_suites(trial):
    """Creates suites with long values, forms, right-to-left text and an invalid value. Returns the name of the main suite."""
    suite = "accessible"
    trial.api.create_sample_suite(suite)
    trial.api.put(suite, "look.greeting", "مرحبا بك")
    trial.api.put("long", "k" * 200, "v" * 5000)
    trial.api.send("PUT", "suites/nested/schema", FORMS)
    trial.api.put("nested", "sources", [{"url": "a", "auth": {"tls": {"options": {"verify": True}}}}, {"url": "b" * 100}])
    trial.api.put("nested", "labels", {"one": 1, "x-two": "w" * 100})
    # This schema makes the value of `labels` invalid.
    labels = {**FORMS["properties"]["labels"], "maxProperties": 1}
    trial.api.send("PUT", "suites/nested/schema?onConflict=keep", {**FORMS, "properties": {**FORMS["properties"], "labels": labels}})
    return suite


def _visit(trial, person, address):
    """Opens a view on a screen of 1280 × 800, and waits for its content."""
    person.set_screen(1280, 800, less_motion=True)
    person.visit(trial.origin, address)
    person.until("document.querySelector('.list .row, .empty:not([hidden]), .commits .commit, .results .card, .comparison:not([hidden]), textarea, .curve')", f"{address} has its content")


def screen_widths(trial, person):
    """No view is wider than its screen, in either direction of text."""
    suite = _create_suites(trial)
    for address in [*ADDRESSES, "#/long", "#/long/" + "k" * 200]:
        _visit(trial, person, address.format(suite))
        for width, height in ((320, 640), (768, 1024), (3840, 2160)):
            person.set_screen(width, height)
            for direction in ("ltr", "rtl"):
                person.evaluate(f"document.documentElement.dir = '{direction}'")
                if (found := person.evaluate("document.documentElement.scrollWidth")) > width:
                    raise FlowFailed(f"{address} is {found} px wide on a screen of {width} px, {direction}")


def zoomed(trial, person):
    """At a zoom of 400 % the review can be read, and with forced colours a switch shows its state."""
    suite = _create_suites(trial)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "0.3", EDITOR)
    person.sees("1 edit", "#tray")
    # A window of 1280 × 800 pixels has 320 × 200 CSS pixels at a zoom of 400 %.
    person.set_screen(320, 200)
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review')", "the review opens")
    for part in (".edits .difference", ".buttons .primary"):
        person.until(f"""(each => {{ each.scrollIntoView(); const box = each.getBoundingClientRect();
            return box.height > 15 && each.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); }})(document.querySelector('dialog.review {part}'))""", f"{part} is visible")
    # When another view opens, the dialog of this view closes.
    person.evaluate("location.hash = '#/'")
    person.until("!document.querySelector('dialog')", "the review closes when another view opens")
    person.set_screen(1280, 800)
    person.evaluate(f"location.hash = '#/{suite}/player.shuffle'")
    person.until("document.querySelector('.editor .switch')", "the switch appears")
    person.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}, {"name": "prefers-reduced-motion", "value": "reduce"}])
    box = person.evaluate("(box => ({ x: box.x, y: box.y, width: box.width, height: box.height, scale: 1 }))(document.querySelector('.editor .switch').getBoundingClientRect())")
    pictures = set()
    for is_on in ("true", "false"):
        person.evaluate(f"document.querySelector('.editor .switch').checked = {is_on}")
        pictures.add(person.call("Page.captureScreenshot", format="png", clip=box)["data"])
    if len(pictures) != 2:
        raise FlowFailed("with forced colours a switch that is on looks like one that is off")
    person.click("Discard", "button", "#tray")
    person.click("Discard", "button", "dialog")
    person.until("document.querySelector('#tray').hidden", "the edits are gone")


def light(trial, person):
    """axe-core finds no violation in any view, in light colours."""
    _inspect_views(trial, person, 1280, dark=False)


def dark(trial, person):
    """axe-core finds no violation in any view, in dark colours on a narrow screen."""
    _inspect_views(trial, person, 320, dark=True)


def _inspect_views(trial, person, width, dark):
    suite = _create_suites(trial)
    for address in ADDRESSES:
        _visit(trial, person, address.format(suite))
        person.set_screen(width, 800, dark=dark, less_motion=True)
        inspect(person, axe_text(), address or "the suites")


def dialogs(trial, person):
    """axe-core finds no violation in a conflict, in the review, in menus and in dialogs, in light and in dark colours."""
    suite = _create_suites(trial)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    person.fill("Value", "2", EDITOR)
    person.sees("refused", "#tray")
    trial.api.put(suite, "player.volume", 0.2)
    person.sees("conflict", "#tray")
    for dark in (False, True):
        person.set_screen(1280, 800, dark=dark, less_motion=True)
        inspect(person, axe_text(), f"a conflict in {'dark' if dark else 'light'}")
    person.press("Enter", CTRL)
    person.until("document.querySelector('dialog.review')", "the review opens")
    inspect(person, axe_text(), "the review in dark")
    person.set_screen(1280, 800)
    inspect(person, axe_text(), "the review in light")
    person.click("Keep mine", "button", "dialog.review")
    person.close_dialog()
    person.fill("Value", "0.3", EDITOR)
    person.commit()
    for dark in (False, True):
        person.set_screen(1280, 800, dark=dark, less_motion=True)
        inspect(person, axe_text(), f"the message about a commit in {'dark' if dark else 'light'}")
    person.visit(trial.origin, f"#/{suite}?schema")
    person.until("document.querySelector('textarea.code')?.value.includes('crossfade')", "the editor has the schema")
    text = person.evaluate("document.querySelector('textarea.code').value")
    for old, new, button, result in (('"number"', '"numbr"', "Check", ".line-messages .error"),
                                    ('"maximum": 12', '"maximum": 11', "Apply schema…", "dialog .lines")):
        person.fill("JSON Schema", text.replace(old, new), "main")
        person.click(button, "button", "main")
        person.until(f"document.querySelector('{result}')", f"{result} appears")
        for dark in (False, True):
            person.set_screen(1280, 800, dark=dark, less_motion=True)
            inspect(person, axe_text(), f"{result} in {'dark' if dark else 'light'}")
    person.close_dialog()
    person.click("Revert", "button", "main")
    trial.api.send("POST", "transaction", {"do": [{"op": "set", "suite": each, "key": "feature.a", "value": True} for each in (suite, "other")]})
    person.visit(trial.origin, f"#/{suite}?history")
    revision = trial.api.setting(suite, "feature.a")["revision"]
    for opener, item, title in ((f"Actions for revision {revision}", "Undo…", "The commit also changed other"), (f"Actions for {suite}", "Clone suite…", "Name of the new suite"),
                                (f"Actions for {suite}", "Drop suite…", "to confirm")):
        for width, dark in ((1280, False), (320, True)):
            person.set_screen(width, 800, dark=dark, less_motion=True)
            person.click(opener, "button", "main")
            person.until("document.querySelector('[role=menuitem]')", "the menu is open")
            inspect(person, axe_text(), f"the menu {opener}, {width} wide")
        person.click(item, "[role=menuitem]", "main")
        person.sees(title, "dialog")
        for width, dark in ((320, True), (1280, False)):
            person.set_screen(width, 800, dark=dark, less_motion=True)
            inspect(person, axe_text(), f"the dialog {item}, {width} wide")
        person.close_dialog()
    person.set_screen(320, 640)
    person.visit(trial.origin, f"#/{suite}/player.volume")
    # A placeholder that fades in has a low contrast.
    person.until("!document.querySelector('.loading')", "the panel is loaded")
    inspect(person, axe_text(), "a narrow screen")
    person.click("Back to the list", "button", ".panel")
    person.until("document.querySelector('.list .row')?.getClientRects().length", "back leads to the list")
    person.set_screen(1280, 800)
