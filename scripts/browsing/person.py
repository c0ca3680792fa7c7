"""A person at the page, in a browser of their own: clicks, keys and text as the browser would get them."""

import base64
import contextlib
import json
import time

from browser.chromium import Chromium

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "Space": 32, "Delete": 46, "Home": 36, "End": 35,
        "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
CTRL = 2

# Finds what can be clicked or filled by what a screen reader would call it.
FIND = """(name, kind, within) => [...document.querySelector(within).querySelectorAll(kind)].find(each =>
  each.getClientRects().length && !each.closest('[hidden]') && [each.getAttribute('aria-label'), each.textContent.trim(),
    [...(each.labels || [])].map(label => label.textContent.trim()).join(' ')].includes(name))"""


class Wrong(Exception):
    """The page did not do what the flow expects."""


class Person(Chromium):
    """A browser, and the actions of a person in it. A control is found by the name that a screen reader would read."""

    def __enter__(self):
        # `said`: the errors of scripts and the unexpected dialogs of the page. `hosts`: the hosts that got requests of the
        # page. `paused`: the identifiers of the requests whose answers are delayed (see `holding`).
        self.said, self.hosts, self.paused = [], set(), []
        # `leaves`: true if the person leaves the page when the browser asks. `questions`: the number of these questions of
        # the browser. `answer`: the answer that the page gets instead of the answer of the daemon (see `answering`).
        self.leaves, self.questions, self.answer = False, 0, None
        super().__enter__()
        self.call("Log.enable")
        self.call("DOM.enable")
        return self

    def begin(self):
        """Begins a flow as if the browser were new."""
        for kept in (self.said, self.hosts, self.paused):
            kept.clear()
        self.leaves, self.questions, self.answer = False, 0, None
        self.look(1280, 800)

    def end(self):
        """Ends a flow. Raises Wrong if the page reported an error of a script, or a violation of its Content-Security-Policy."""
        if self.said:
            raise Wrong(f"the page reports: {self.said}")
        self.leaves = True
        self.open("about:blank")

    def forget(self):
        """Makes the browser usable for the next flow after a failed one."""
        self.leaves = True
        self.call("Fetch.disable")
        self.call("Network.setBlockedURLs", urls=[])
        self.open("about:blank")

    def _note(self, message):
        super()._note(message)
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.said.append(details.get("exception", {}).get("description") or details["text"])
            case "Log.entryAdded" if parameters["entry"]["level"] == "error" and "Failed to load resource" not in parameters["entry"]["text"]:
                self.said.append(parameters["entry"]["text"])
            case "Fetch.requestPaused" if self.answer:
                self.post("Fetch.fulfillRequest", requestId=parameters["requestId"], **self.answer)
            case "Fetch.requestPaused":
                self.paused.append(parameters["requestId"])
            case "Network.requestWillBeSent":
                self.hosts.add(parameters["request"]["url"].split("/")[2] if "//" in parameters["request"]["url"] else "")
            case "Page.javascriptDialogOpening" if self.leaves and parameters["type"] == "beforeunload":
                self.questions += 1
                self.post("Page.handleJavaScriptDialog", accept=True)
            case "Page.javascriptDialogOpening":
                self.said.append(f"a dialog opened: {parameters['message']}")

    def look(self, width, height, dark=False, less_motion=False):
        """Sets the size of the screen in CSS pixels, and the person's preferences for colours and motion."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if less_motion else "no-preference"}])

    def until(self, condition, what, within=15):
        """Polls until a JavaScript condition holds. Raises Wrong with the words `what` after `within` seconds."""
        end = time.monotonic() + within
        while not self.evaluate(f"!!({condition})"):
            if time.monotonic() > end:
                shown = self.evaluate("(document.querySelector('dialog') || document.body).innerText")
                raise Wrong(f"{what}: not within {within} s; {self.said}; the page shows:\n{shown[:2500]}")
            time.sleep(0.02)

    def shows(self, text, within="body"):
        """Waits until the text appears in the element that the selector `within` finds."""
        self.until(f"document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})", f"{within} shows {text!r}")

    def hides(self, text, within="body"):
        """Waits until the text is not in the element that the selector `within` finds."""
        self.until(f"!document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})", f"{within} no longer shows {text!r}")

    def awaits(self, script):
        """Runs a script that returns a promise, waits for the promise, and returns its value."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Wrong(f"the script failed: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def _find(self, name, kind, within):
        found = f"({FIND})({json.dumps(name)}, {json.dumps(kind)}, {json.dumps(within)})"
        self.until(f"document.querySelector({json.dumps(within)}) && {found} && !{found}.disabled", f"there is {name!r} in {within}")
        return found

    def place(self, name, kind, within="body"):
        """The centre of a control. Waits until the control stays in place, because the page may still be laid out."""
        found = self._find(name, kind, within)
        centre = (f"(each => {{ each.scrollIntoView({{ block: 'nearest' }}); const box = each.getBoundingClientRect();"
                  f" return [box.x + box.width / 2, box.y + box.height / 2]; }})({found})")
        before, end = None, time.monotonic() + 15
        while (now := self.awaits(f"new Promise(done => requestAnimationFrame(() => done({centre})))")) != before:
            if time.monotonic() > end:
                raise Wrong(f"{name!r} in {within} does not stay in place")
            before = now
        return now

    def click(self, name, kind="button, a, summary, input, .row", within="body"):
        self.click_at(*self.place(name, kind, within))

    def act(self, revision, action, suite=None):
        """Chooses an action in the menu of a commit."""
        self.click(f"Actions for revision {revision}" + (f" of {suite}" if suite else ""), "button", "main")
        self.click(action, "[role=menuitem]", "main")

    def click_at(self, x, y):
        for event in ("mousePressed", "mouseReleased"):
            self.mouse(event, x, y)

    def mouse(self, event, x, y):
        """Presses or releases the left button of the mouse."""
        self.call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)

    def choose(self, name, label, within="body"):
        """Chooses the option with this label in the select element `name`."""
        found = self._find(name, "select", within)
        self.evaluate(f"(each => {{ each.focus(); each.value = [...each.options].find(option => option.label === {json.dumps(label)}).value;"
                      f" each.dispatchEvent(new Event('change', {{ bubbles: true }})); }})({found})")

    def fill(self, name, text, within="body", kind="input, textarea"):
        """Replaces the text of a field."""
        self.evaluate(f"(each => {{ each.focus(); each.select(); }})({self._find(name, kind, within)})")
        self.type(text)

    def type(self, text):
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.press("Delete")

    def press(self, key, modifiers=0):
        """Presses a key of KEYS, or the key of a character."""
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r", "Space": " "}.get(key, key if len(key) == 1 else None)
        event = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text and not modifiers else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    @contextlib.contextmanager
    def holding(self, pattern):
        """Holds the answers to requests whose addresses match the pattern. Yields a function that waits until a number of
        answers are held and returns their identifiers. `let` passes an answer on to the page."""
        self.paused.clear()
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"}])

        def held(count):
            end = time.monotonic() + 15
            while len(self.paused) < count:
                if time.monotonic() > end:
                    raise Wrong(f"{len(self.paused)} answers to {pattern} came, not {count}")
                self.evaluate("true")
                time.sleep(0.02)
            return self.paused[:count]

        try:
            yield held
        finally:
            self.call("Fetch.disable")

    @contextlib.contextmanager
    def answering(self, pattern, status, body):
        """Answers requests whose addresses match the pattern, so that they do not reach the daemon."""
        self.answer = self._problem(status, body)
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Request"}])
        try:
            yield
        finally:
            self.answer = None
            self.call("Fetch.disable")

    def refuse(self, answer, status, body):
        """Replaces a held answer of the daemon by a refusal."""
        self.call("Fetch.fulfillRequest", requestId=answer, **self._problem(status, body))

    @staticmethod
    def _problem(status, body):
        return {"responseCode": status, "responseHeaders": [{"name": "Content-Type", "value": "application/problem+json"}],
                "body": base64.b64encode(body.encode()).decode()}

    def let(self, answer):
        """Passes a held answer on to the page."""
        self.call("Fetch.continueRequest", requestId=answer)

    def give(self, name, path, within="body"):
        """Chooses a file in the file field `name`."""
        found = self.call("Runtime.evaluate", expression=self._find(name, "input", within))["result"]["objectId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], objectId=found)

    def visit(self, origin, address=""):
        """Loads an address of the page from the start, and waits for its heading or a dialog."""
        self.open("about:blank")
        self.open(f"{origin}/ui/{address}")
        self.until("document.querySelector('h1, dialog')", "the page has a heading or a dialog")

    def commit(self, note="", within=15):
        """Reviews the edits and commits them."""
        self.press("Enter", CTRL)
        self.until("document.querySelector('dialog.review')", "the review opens")
        if note:
            self.fill("Note", note, "dialog.review")
        self.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edits can be committed")
        self.press("Enter") if note else self.evaluate("document.querySelector('dialog.review .primary').click()")
        self.until("!document.querySelector('dialog.review') && document.querySelector('#tray').hidden", "the edits are committed", within)

    def close_dialog(self):
        """Closes a dialog."""
        self.press("Escape")
        self.until("!document.querySelector('dialog')", "Escape closes the dialog")

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"]))
