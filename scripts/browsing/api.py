"""A client of the HTTP API of the daemon. Flows (the browser tests of the web page) use the client as a second caller beside the
page. Also the sample suite of the flows."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request

# The schema of the sample suite, which describes a music player.
SCHEMA = {
    "type": "object", "additionalProperties": False, "patternProperties": {"^feature[.]": {"type": "boolean"}},
    "properties": {
        "player.volume": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5, "description": "How loud, from silent to full"},
        "player.shuffle": {"type": "boolean", "default": False, "description": "Play in random order"},
        "player.crossfade": {"type": "integer", "minimum": 0, "maximum": 12, "default": 4, "description": "Seconds in which two tracks overlap"},
        "player.equalizer.bass": {"type": "integer", "minimum": -10, "maximum": 10, "default": 0},
        "player.equalizer.treble": {"type": "integer", "minimum": -10, "maximum": 10, "default": 0},
        "library.folders": {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True, "default": ["~/Music"], "description": "Folders that are searched for music"},
        "library.lastScan": {"type": "string", "format": "date-time", "description": "When the folders were searched last"},
        "library.server": {
            "type": "object", "description": "Where music is shared", "additionalProperties": False, "required": ["host"],
            "properties": {"host": {"type": "string", "format": "hostname"}, "port": {"type": "integer", "minimum": 1, "maximum": 65535}, "tls": {"type": "boolean"}},
            "default": {"host": "localhost", "port": 8080, "tls": False}},
        "look.theme": {"enum": ["system", "light", "dark"], "default": "system"},
        "look.accent": {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$", "default": "#3457d5", "description": "The colour of buttons"},
        "look.icon": {"type": "string", "contentEncoding": "base64"},
        "look.greeting": {"type": "string", "pattern": "^[^!]*$", "maxLength": 80, "default": "Good evening", "description": "Shown at the start"},
        "rules": {"anyOf": [{"type": "array"}, {"type": "object"}], "description": "Rules for playlists that the player fills"},
        "account.password": {"type": "string", "minLength": 8, "writeOnly": True, "description": "For the music service"},
        "installation.id": {"type": "string", "format": "uuid", "readOnly": True, "default": "7c9e6679-7425-40de-944b-e07fc1f90ae7"},
    },
}


class API:
    """Sends requests as a caller other than the page. A request that fails raises an error."""

    def __init__(self, origin, token=None):
        self.origin, self.token = origin, token

    def send(self, method, path, body=None, note=None, **deadline):
        """Returns the value of the JSON body of the answer."""
        request = urllib.request.Request(f"{self.origin}/v1/{path}", method=method, data=None if body is None else json.dumps(body).encode())
        if note:
            request.add_header("Settings-Note", note)
        # `confirm="2m"` becomes the field Settings-Confirm, `until` Settings-Until, and `effective` Settings-Effective.
        for name, span in deadline.items():
            request.add_header(f"Settings-{name.capitalize()}", span)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def put(self, suite, key, value, note=None, **deadline):
        return self.send("PUT", f"suites/{suite}/keys/{urllib.parse.quote(key, safe='')}", value, note, **deadline)

    def setting(self, suite, key):
        """Returns the setting, or the body of the daemon's refusal, for example with the code `not_set`."""
        try:
            return self.send("GET", f"suites/{suite}/keys/{urllib.parse.quote(key, safe='')}")
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def value(self, suite, key):
        return self.setting(suite, key).get("value")

    def create_sample_suite(self, suite):
        """Creates a suite of settings of a music player: a schema, and six stored values that match it. Many flows expect these
        values, and the notes "too quiet in the car", "louder still" and "easier on the eyes"."""
        self.send("PUT", f"suites/{suite}/schema", SCHEMA, "first schema")
        self.put(suite, "player.volume", 0.7, "too quiet in the car")
        self.put(suite, "player.shuffle", True)
        self.put(suite, "library.folders", ["/srv/music", "~/Music", "/media/usb"])
        self.put(suite, "look.theme", "dark", "easier on the eyes")
        self.put(suite, "account.password", "correct horse")
        self.put(suite, "feature.lyrics", True)
        self.put(suite, "player.volume", 0.85, "louder still")


def eventually(what, condition, within=15):
    """Polls until the function `condition` returns true. After `within` seconds, raises TimeoutError with `what`, which describes
    the condition."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {within} s")
        time.sleep(0.02)
