"""The flows in which a value, a request or a connection is not as usual."""

import json

from browsing.api import eventually
from browsing.editing import EDITOR, equal, to_setting
from browsing.person import CTRL, Wrong
from browsing.racing import row


def deep_value(trial, person):
    """The deepest value that the daemon accepts is shown, and the stream goes on after it."""
    suite, deepest = "deep", json.loads("[" * 128 + "]" * 128)
    trial.api.put(suite, "plain", 1)
    person.visit(trial.origin, f"#/{suite}")
    row(person, "plain", "1")
    trial.api.put(suite, "deepest", deepest)
    row(person, "deepest", "[[[")
    trial.api.put(suite, "plain", 2)
    row(person, "plain", "2")
    person.shows("Live", "#state")
    person.visit(trial.origin, f"#/{suite}/deepest")
    person.until("document.querySelector('.editor textarea')?.value.includes('[')", "the editor shows the value")
    to_setting(person, suite, "plain")
    person.fill("Value", "3", EDITOR, "input:not([type=range]), textarea")
    person.commit()
    equal("the setting beside it", trial.api.value(suite, "plain"), 3)
    person.visit(trial.origin, f"#/{suite}?history")
    person.shows("deepest", ".commits")
