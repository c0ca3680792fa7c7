"""The clients of a soak test. Each client is a thread that sends requests and checks the status and the content of the answers.

The soak test kills and restarts the daemon. A run is the time from a start to the next end. The suites of the test have names
that begin with "own.", and the grants of operating.py say who may use which suite.
"""

import collections
import random
import socket
import struct
import threading
import time
from collections.abc import Iterable

from harness.http import Connection, Response, render

from .runs import DaemonRuns

ANSWER_TIMEOUT_SECONDS = 30
PAUSE_SECONDS = 0.002


class UnexpectedAnswer(Exception):
    """An answer that the soak test did not expect."""


class Findings:
    """The errors of all callers, and the counts of requests and of operations by kind. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.errors: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()

    def count(self, operation: str, number: int = 1) -> None:
        with self._lock:
            self.counts[operation] += number

    def error(self, text: str) -> None:
        with self._lock:
            self.errors.append(text)


class Caller(threading.Thread):
    """A thread that connects to the daemon, repeats its work, and connects again after the daemon was restarted. If `is_local`, it
    connects to the Unix domain socket."""

    # If false, the caller opens a new connection for each call of `work`.
    keeps_connection = True

    def __init__(self, name: str, runs: DaemonRuns, findings: Findings, seed: str, token: str | None = None,
                 is_local: bool = False) -> None:
        super().__init__(name=name, daemon=True)
        self.runs = runs
        self.findings = findings
        self.rng = random.Random(f"{seed} {name}")
        self.token = token
        self.is_local = is_local
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            run_number = self.runs.wait_until_up()
            try:
                with self.connect() as connection:
                    self.begin(connection)
                    self.work(connection)
                    while self.keeps_connection and not self.ended.is_set():
                        time.sleep(PAUSE_SECONDS)
                        self.work(connection)
            except UnexpectedAnswer as error:
                self.findings.error(f"{self.name}: {error}")
                time.sleep(1)
            except OSError as error:
                # An error is expected if the soak test has killed the daemon.
                if not self.runs.has_run_ended(run_number) and not self.ended.is_set():
                    self.findings.error(f"{self.name}: {type(error).__name__}: {error}")
                    time.sleep(1)
            except Exception as error:
                # A defect of the soak test must not look like a success.
                self.findings.error(f"{self.name} ended with an internal error: {error!r}")
                raise
            time.sleep(PAUSE_SECONDS)

    def connect(self) -> Connection:
        path = str(self.runs.socket) if self.is_local else None
        return Connection(self.runs.port, ANSWER_TIMEOUT_SECONDS, path)

    def begin(self, connection: Connection) -> None:
        """Runs once after each connect, for example to check the state after a restart."""

    def work(self, connection: Connection) -> None:
        raise NotImplementedError

    def ask(self, connection: Connection, method: str, path: str, body: object = None,
            fields: Iterable[tuple[str, str]] = (), expect: Iterable[int] = (200, 201)) -> Response:
        fields = [*fields, *([("Authorization", f"Bearer {self.token}")] if self.token else [])]
        response = connection.exchange(render(method, path, body, fields))
        self.findings.count("requests")
        if response.status not in expect:
            raise UnexpectedAnswer(f"{method} {path} answered {response}")
        return response


class Writer(Caller):
    """The only writer of its suite. It compares the stored values with the acknowledged writes. `pending` contains the values of
    the unanswered write. None means no value."""

    KEYS = 40

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.suite = f"/v1/suites/own.{self.name}"
        self.acknowledged: dict[str, object] = {}
        self.pending: dict[str, object] = {}
        self.number = 0

    def begin(self, connection: Connection) -> None:
        """Checks that the suite has all acknowledged writes, and the unanswered write completely or not at all."""
        response = self.ask(connection, "GET", f"{self.suite}?raw", expect=(200, 404))
        found = response.json() if response.status == 200 else {}
        after = {**self.acknowledged, **self.pending}
        for state in (self.acknowledged, after):
            if found == {key: value for key, value in state.items() if value is not None}:
                self.acknowledged, self.pending = dict(state), {}
                self.findings.count("states checked")
                return
        different = {key: (found.get(key), self.acknowledged.get(key), self.pending.get(key)) for key in {*found, *after}
                     if found.get(key) != self.acknowledged.get(key)}
        self.acknowledged, self.pending = dict(found), {}
        raise UnexpectedAnswer(f"wrong values (found, acknowledged, unanswered): {different}")

    def work(self, connection: Connection) -> None:
        self.number += 1
        key = f"k{self.rng.randrange(self.KEYS)}"
        several = {f"k{number}": self.number for number in self.rng.sample(range(self.KEYS), 5)}
        match self.rng.choices(("put", "large", "delete", "merge", "transaction", "undo", "read"),
                                  (40, 5, 10, 10, 10, 2, 20))[0]:
            case "put":
                self.write(connection, {key: self.number}, "PUT", f"{self.suite}/keys/{key}", self.number)
            case "large":
                text = f"{self.number} " + "x" * self.rng.randrange(100, 100_000)
                self.write(connection, {key: text}, "PUT", f"{self.suite}/keys/{key}", text)
            case "delete":
                self.write(connection, {key: None}, "DELETE", f"{self.suite}/keys/{key}")
            case "merge":
                self.write(connection, several, "PATCH", self.suite, several)
            case "transaction":
                steps = [{"op": "set", "suite": self.suite.rpartition("/")[2], "key": key, "value": value}
                         for key, value in several.items()]
                self.write(connection, several, "POST", "/v1/transaction", {"do": steps})
            case "undo":
                before = {key: self.acknowledged.get(key) for key in several}
                revision = self.write(connection, several, "PATCH", self.suite, several)
                self.write(connection, before, "POST", f"{self.suite}/undo", {"revision": revision})
            case _:
                found = self.ask(connection, "GET", f"{self.suite}/keys/{key}", expect=(200, 404))
                value = found.json()["value"] if found.status == 200 else None
                if value != self.acknowledged.get(key):
                    expected = self.acknowledged.get(key)
                    raise UnexpectedAnswer(f"{key} is {str(value)[:60]}, expected {str(expected)[:60]}")

    def write(self, connection: Connection, values: dict[str, object], *request: object) -> int:
        self.pending = values
        # A removal is answered with 404 if the suite does not exist.
        response = self.ask(connection, *request, expect=(200, 201, 404) if None in values.values() else (200, 201))
        self.acknowledged.update(values)
        self.pending = {}
        self.findings.count("acknowledged writes")
        return response.json().get("revision", 0)


class Reader(Caller):
    """A caller that reads the suite `allowed`. The daemon must refuse its reads of `refused` with `status`, and all its writes."""

    def __init__(self, *arguments, allowed: str, refused: str, status: int, **options) -> None:
        super().__init__(*arguments, **options)
        self.allowed, self.refused, self.status = allowed, refused, status

    def work(self, connection: Connection) -> None:
        part = self.rng.choice(("", "/keys", "/history?limit=5", "/keys/k1"))
        self.ask(connection, "GET", self.allowed + part, expect=(200, 404))
        self.ask(connection, "GET", self.refused, expect=(self.status,))
        self.ask(connection, "PUT", f"{self.allowed}/keys/x", 1, expect=(401, 403))


class Watcher(Caller):
    """A watcher that uses an event stream or some long polls, and then closes or resets the connection."""

    keeps_connection = False

    def connect(self) -> Connection:
        connection = super().connect()
        if self.rng.random() < 0.5:
            # With this option, the close of the connection sends a reset.
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return connection

    def work(self, connection: Connection) -> None:
        if self.rng.random() < 0.5:
            fields = [("Accept", "text/event-stream"), ("Authorization", f"Bearer {self.token}")]
            connection.socket.sendall(render("GET", "/v1/observe?suitePrefix=own.", fields=fields))
            received = connection.socket.recv(1 << 16)
            if not received:
                raise ConnectionError("the daemon closed the connection before the first byte of an event stream")
            if not received.startswith(b"HTTP/1.1 200 "):
                raise UnexpectedAnswer(f"the answer to a request for an event stream is {received[:300]!r}")
            ends_at = time.monotonic() + self.rng.uniform(0, 2)
            while time.monotonic() < ends_at and connection.socket.recv(1 << 16):
                pass
            self.findings.count("streams")
            return
        since = self.ask(connection, "GET", "/v1").fields["settings-cursor"]
        for _ in range(self.rng.randrange(1, 5)):
            answer = self.ask(connection, "GET", f"/v1/observe?suitePrefix=own.&since={since}&wait=2")
            since = answer.json()["cursor"]
            self.findings.count("long polls")


class BadClient(Watcher):
    """A client that sends invalid, oversized or incomplete requests, and closes the connection."""

    MESSAGES = (
        # The beginning of a TLS handshake.
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n", b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n",
        b"PUT /v1/suites/a/keys/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{\"a\":",
        b"PUT /v1/suites/a/keys/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /" + b"x" * 100_000,
        b"POST /v1/transaction HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        render("GET", "/v1/suites", fields=[("Authorization", "Bearer wrong")]), b"\r\n" * 5000, b"\0" * 5000,
    )

    def work(self, connection: Connection) -> None:
        try:
            connection.socket.sendall(self.rng.choice(self.MESSAGES))
            if self.rng.random() < 0.5:
                connection.socket.settimeout(self.rng.uniform(0, 0.3))
                connection.socket.recv(1 << 16)
        except OSError:
            pass  # The daemon may answer or close the connection. It must only continue to run.
        self.findings.count("bad clients")
