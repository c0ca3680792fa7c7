"""A simulated person at the page, with a browser. If a method does not say that it uses a script, clicks, keys and text reach
the page as from a mouse and a keyboard."""

import base64
import contextlib
import json
import time

from browser.chromium import Chromium

# The Windows key codes, which the DevTools protocol asks for.
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "Space": 32, "Delete": 46, "Home": 36, "End": 35,
        "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
# The modifier of the DevTools protocol for the key Ctrl.
CTRL = 2

# Finds a visible control by the name that a screen reader would read: its `aria-label`, its text, or the text of its labels.
FIND_CONTROL = """(name, kind, within) => [...document.querySelector(within).querySelectorAll(kind)].find(each =>
  each.getClientRects().length && !each.closest('[hidden]') && [each.getAttribute('aria-label'), each.textContent.trim(),
    [...(each.labels || [])].map(label => label.textContent.trim()).join(' ')].includes(name))"""


class FlowFailed(Exception):
    """The page did not do what the flow expects."""


class Person(Chromium):
    """A browser, and the actions of a person in it. A control is found by the name that a screen reader would read."""

    def __enter__(self):
        # `reports`: the errors of scripts, the errors in the log of the browser (for example violations of the
        # Content-Security-Policy), and the unexpected dialogs. `hosts`: the hosts that got requests of the page.
        # `paused`: the identifiers of the requests whose answers are delayed (see `holding`).
        self.reports, self.hosts, self.paused = [], set(), []
        # `confirms_leaving`: true if the person leaves the page when the browser asks. `questions`: how often the person confirmed.
        # `fixed_answer`: the answer that the page gets instead of the answer of the daemon (see `answering`).
        self.confirms_leaving, self.questions, self.fixed_answer = False, 0, None
        super().__enter__()
        self.call("Log.enable")
        self.call("DOM.enable")
        return self

    def begin_flow(self):
        """Begins a flow: discards the records of the previous flow, and resets the screen. Does not clear the storage of the browser."""
        for records in (self.reports, self.hosts, self.paused):
            records.clear()
        self.confirms_leaving, self.questions, self.fixed_answer = False, 0, None
        self.set_screen(1280, 800)

    def end_flow(self):
        """Ends a flow. Raises FlowFailed if `reports` contains an error or an unexpected dialog."""
        if self.reports:
            raise FlowFailed(f"the page reports: {self.reports}")
        self.confirms_leaving = True
        self.open("about:blank")

    def recover(self):
        """Makes the browser usable for the next flow after a failed flow."""
        self.confirms_leaving = True
        self.call("Fetch.disable")
        self.call("Network.setBlockedURLs", urls=[])
        self.open("about:blank")

    def _handle_event(self, message):
        super()._handle_event(message)
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.reports.append(details.get("exception", {}).get("description") or details["text"])
            case "Log.entryAdded" if parameters["entry"]["level"] == "error" and "Failed to load resource" not in parameters["entry"]["text"]:
                self.reports.append(parameters["entry"]["text"])
            case "Fetch.requestPaused" if self.fixed_answer:
                self.post("Fetch.fulfillRequest", requestId=parameters["requestId"], **self.fixed_answer)
            case "Fetch.requestPaused":
                self.paused.append(parameters["requestId"])
            case "Network.requestWillBeSent":
                self.hosts.add(parameters["request"]["url"].split("/")[2] if "//" in parameters["request"]["url"] else "")
            case "Page.javascriptDialogOpening" if self.confirms_leaving and parameters["type"] == "beforeunload":
                self.questions += 1
                self.post("Page.handleJavaScriptDialog", accept=True)
            case "Page.javascriptDialogOpening":
                self.reports.append(f"a dialog opened: {parameters['message']}")

    def set_screen(self, width, height, dark=False, less_motion=False):
        """Sets the size of the screen in CSS pixels, and the person's preferences for colours and motion."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if less_motion else "no-preference"}])

    def until(self, condition, what, within=15):
        """Polls until a JavaScript condition holds. After `within` seconds, raises FlowFailed with `what`, which describes the
        condition."""
        end = time.monotonic() + within
        while not self.evaluate(f"!!({condition})"):
            if time.monotonic() > end:
                shown = self.evaluate("(document.querySelector('dialog') || document.body).innerText")
                raise FlowFailed(f"{what}: not within {within} s; {self.reports}; the page shows:\n{shown[:2500]}")
            time.sleep(0.02)

    def sees(self, text, within="body"):
        """Waits until the text appears in the element that the selector `within` finds."""
        self.until(f"document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})", f"{within} shows {text!r}")

    def sees_no(self, text, within="body"):
        """Waits until the text is not in the element that the selector `within` finds."""
        self.until(f"!document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})", f"{within} no longer shows {text!r}")

    def evaluate_async(self, script):
        """Runs a script that returns a promise, waits for the promise, and returns its value."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise FlowFailed(f"the script failed: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def _find(self, name, kind, within):
        """Waits for a control that is not disabled. `kind` and `within` are selectors. Returns a JavaScript expression for it."""
        control = f"({FIND_CONTROL})({json.dumps(name)}, {json.dumps(kind)}, {json.dumps(within)})"
        self.until(f"document.querySelector({json.dumps(within)}) && {control} && !{control}.disabled", f"there is {name!r} in {within}")
        return control

    def centre_of(self, name, kind, within="body"):
        """The centre of a control. Waits until the control stays in place, because the page may still be laid out."""
        found = self._find(name, kind, within)
        centre = (f"(each => {{ each.scrollIntoView({{ block: 'nearest' }}); const box = each.getBoundingClientRect();"
                  f" return [box.x + box.width / 2, box.y + box.height / 2]; }})({found})")
        before, end = None, time.monotonic() + 15
        while (now := self.evaluate_async(f"new Promise(done => requestAnimationFrame(() => done({centre})))")) != before:
            if time.monotonic() > end:
                raise FlowFailed(f"{name!r} in {within} does not stay in place")
            before = now
        return now

    def click(self, name, kind="button, a, summary, input, .row", within="body"):
        """Clicks the control with this name. `kind` and `within` are selectors: of the control, and of an element around it."""
        self.click_at(*self.centre_of(name, kind, within))

    def choose_action(self, revision, action, suite=None):
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
        """Chooses the option with this label in the select element `name`, by a script that sets the value and sends `change`."""
        found = self._find(name, "select", within)
        self.evaluate(f"(each => {{ each.focus(); each.value = [...each.options].find(option => option.label === {json.dumps(label)}).value;"
                      f" each.dispatchEvent(new Event('change', {{ bubbles: true }})); }})({found})")

    def fill(self, name, text, within="body", kind="input, textarea"):
        """Replaces the text of a field, which a script focuses and selects."""
        self.evaluate(f"(each => {{ each.focus(); each.select(); }})({self._find(name, kind, within)})")
        self.type(text)

    def type(self, text):
        """Replaces the selected text; an empty text deletes the selection."""
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
        answers are held and returns their identifiers. `pass_on` passes an answer on to the page."""
        self.paused.clear()
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Response"}])

        def held(count):
            end = time.monotonic() + 15
            while len(self.paused) < count:
                if time.monotonic() > end:
                    raise FlowFailed(f"{len(self.paused)} answers to {pattern} came, not {count}")
                # A call handles the events of the browser, which fill `paused`.
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
        self.fixed_answer = self._problem(status, body)
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern, "requestStage": "Request"}])
        try:
            yield
        finally:
            self.fixed_answer = None
            self.call("Fetch.disable")

    def refuse(self, answer, status, body):
        """Replaces a held answer of the daemon by a refusal."""
        self.call("Fetch.fulfillRequest", requestId=answer, **self._problem(status, body))

    @staticmethod
    def _problem(status, body):
        return {"responseCode": status, "responseHeaders": [{"name": "Content-Type", "value": "application/problem+json"}],
                "body": base64.b64encode(body.encode()).decode()}

    def pass_on(self, answer):
        """Passes a held answer on to the page."""
        self.call("Fetch.continueRequest", requestId=answer)

    def choose_file(self, name, path, within="body"):
        """Chooses a file in the file field `name`."""
        found = self.call("Runtime.evaluate", expression=self._find(name, "input", within))["result"]["objectId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], objectId=found)

    def visit(self, origin, address=""):
        """Loads the page at an address, and waits for its heading or a dialog. Opens about:blank first, because a navigation to an
        address that differs only in its fragment would not load the page again."""
        self.open("about:blank")
        self.open(f"{origin}/ui/{address}")
        self.until("document.querySelector('h1, dialog')", "the page has a heading or a dialog")

    def commit(self, note="", within=15):
        """Reviews the edits and commits them: with a note by Enter, without a note by a script that clicks the button."""
        self.press("Enter", CTRL)
        self.until("document.querySelector('dialog.review')", "the review opens")
        if note:
            self.fill("Note", note, "dialog.review")
        self.until("document.querySelector('dialog.review .primary')?.disabled === false", "the edits can be committed")
        if note:
            self.press("Enter")
        else:
            self.evaluate("document.querySelector('dialog.review .primary').click()")
        self.until("!document.querySelector('dialog.review') && document.querySelector('#tray').hidden", "the edits are committed", within)

    def close_dialog(self):
        """Closes the open dialog by Escape."""
        self.press("Escape")
        self.until("!document.querySelector('dialog')", "Escape closes the dialog")

    def save_picture(self, path):
        """Writes a picture of the screen into a file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"]))
