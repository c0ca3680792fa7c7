"""Unit tests of the modules of the page, which run in Chromium without the page."""

import pathlib

from browsing.person import FlowFailed


def modules(trial, person):
    """The tests of units.js pass. The browser opens the file words.js as its document, so that `import` in the tests
    loads the modules from the daemon."""
    person.open(f"{trial.origin}/ui/words.js")
    script = pathlib.Path(__file__).with_suffix(".js").read_text()
    passed, failed = person.evaluate_async(f"(async () => {{ {script} }})()")
    if failed:
        raise FlowFailed("\n  ".join(failed))
    return f"{passed} tests"
