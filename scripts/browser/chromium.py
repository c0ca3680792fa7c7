"""Controls headless Chromium over the pipe of its DevTools protocol: Chromium reads JSON messages from descriptor 3 and
writes JSON messages to descriptor 4. A zero byte ends each message."""

import collections
import json
import os
import select
import shutil
import subprocess
import time

# The headless shell has the same engine as Chromium, and needs less processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_or_install():
    """Returns the path of a Chromium program. Installs the package of Debian if none is installed."""
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise OSError(f"Chromium is not installed; run apt-get install {NAMES[0]}, or give the path of a program with --browser")
    subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", NAMES[0]], check=True, stdout=2)
    return NAMES[0]


class Chromium:
    """A browser process with one page."""

    def __init__(self, program, profile):
        self.program = program
        self.profile = profile
        self.last_id = 0
        self.session = None
        self.received = bytearray()
        # The requests of the page: maps the id of a request to a list of its URL and its header fields.
        self.page_requests = collections.OrderedDict()

    def __enter__(self):
        our_input, its_output = os.pipe()
        its_input, our_output = os.pipe()
        command = [self.program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
                   "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--no-proxy-server"]
        if os.geteuid() == 0:
            # The sandbox refuses to run as root. Chromium loads only pages of this test, so the sandbox is not needed.
            command.append("--no-sandbox")
        # bash redirects the pipes to the descriptors 3 and 4. dash cannot redirect from a descriptor above 9.
        shell = ["bash", "-c", f'exec "$@" 3<&{its_input} 4>&{its_output}', "bash", *map(str, command)]
        self.process = subprocess.Popen(
            shell, pass_fds=(its_input, its_output), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(its_input)
        os.close(its_output)
        self.input, self.output = our_input, our_output
        try:
            self.version = self.call("Browser.getVersion")["product"]
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def kill(self):
        """Kills the browser and its child processes."""
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass

    def __exit__(self, *_):
        self.kill()
        self.process.wait()
        os.close(self.input)
        os.close(self.output)

    def open(self, url, within=30):
        """Loads a URL, and waits until it is loaded."""
        failure = self.call("Page.navigate", url=url).get("errorText")
        if failure:
            raise ConnectionError(f"{url}: {failure}")
        end = time.monotonic() + within
        while self.evaluate("location.href + ' ' + document.readyState") != f"{url} complete":
            if time.monotonic() > end:
                raise TimeoutError(f"the browser did not load {url} within {within} s")
            time.sleep(0.05)

    def evaluate(self, script):
        """Runs a script in the page and returns the value of its last expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise ConnectionError(f"the script raised an exception in the page: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def requests(self, suffix):
        """Returns the header fields of each request of the page whose URL ends with the suffix, in the order of the requests."""
        return [fields for url, fields in self.page_requests.values() if url and url.endswith(suffix) and fields is not None]

    def post(self, method, **parameters):
        """Sends a command without waiting for its result. Returns the id of the command."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        return self.last_id

    def call(self, method, within=30, **parameters):
        """Sends a command, handles the events until its result comes, and returns the result. The limit `within` is in seconds."""
        command_id = self.post(method, **parameters)
        deadline = time.monotonic() + within
        while True:
            message = self._next_message(deadline)
            if message.get("id") == command_id:
                if "error" in message:
                    raise ConnectionError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._handle_event(message)

    def _handle_event(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self._page_request(parameters)[0] = parameters["request"]["url"]
        elif message.get("method") == "Network.requestWillBeSentExtraInfo":
            self._page_request(parameters)[1] = {name.lower(): value for name, value in parameters["headers"].items()}

    def _page_request(self, parameters):
        return self.page_requests.setdefault(parameters["requestId"], [None, None])

    def _next_message(self, deadline):
        while (end := self.received.find(0)) < 0:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium did not answer within the time limit")
            more = os.read(self.input, 1 << 16)
            if not more:
                raise ConnectionError(f"Chromium ended with the exit code {self.process.wait()}")
            self.received += more
        message = json.loads(self.received[:end])
        del self.received[:end + 1]
        return message
