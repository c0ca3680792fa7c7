"""Unit tests of the modules of the page that need no view: units.js, which runs in Chromium."""

import pathlib

from browsing.person import Wrong


def modules(trial, person):
    """The unit tests run at a file of the page, so that the modules come from the daemon under the policy of the page."""
    person.open(f"{trial.origin}/ui/words.js")
    script = pathlib.Path(__file__).with_suffix(".js").read_text()
    passed, failed = person.awaits(f"(async () => {{ {script} }})()")
    if failed:
        raise Wrong("\n  ".join(failed))
    return f"{passed} tests"
