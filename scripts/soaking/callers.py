"""Callers of every kind. Each is a thread that does one thing after the other, and knows what may be answered."""

import collections
import random
import socket
import struct
import threading
import time
from collections.abc import Iterable

from harness.http import Connection, Response, render

from .lives import Lives

ANSWER_WITHIN = 30
PAUSE = 0.002


class Unprovoked(Exception):
    """An answer, or a failure, that the soak did not ask for."""


class Findings:
    """What went wrong, and how much went right, of all callers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.errors: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def error(self, text: str) -> None:
        with self._lock:
            self.errors.append(text)


class Caller(threading.Thread):
    """A caller that connects, does its work until the daemon ends, and connects again when there is another."""

    # False for a caller that does each piece of work on a connection of its own.
    keeps_connection = True

    def __init__(self, name: str, lives: Lives, findings: Findings, seed: str, token: str | None = None,
                 is_local: bool = False) -> None:
        super().__init__(name=name, daemon=True)
        self.lives = lives
        self.findings = findings
        self.chance = random.Random(f"{seed} {name}")
        self.token = token
        self.is_local = is_local
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.is_set():
            life = self.lives.await_up()
            try:
                with self.connect() as connection:
                    self.begin(connection)
                    self.work(connection)
                    while self.keeps_connection and not self.ended.is_set():
                        time.sleep(PAUSE)
                        self.work(connection)
            except Unprovoked as error:
                self.findings.error(f"{self.name}: {error}")
                time.sleep(1)
            except OSError as error:
                # The process may have ended although the kernel still reports it.
                if not self.lives.has_ended(life) and not self.ended.is_set():
                    self.findings.error(f"{self.name}: {type(error).__name__}: {error}")
                    time.sleep(1)
            except Exception as error:
                # A defect of the soak must not pass for a daemon without one.
                self.findings.error(f"{self.name} ended: {error!r}")
                raise
            time.sleep(PAUSE)

    def connect(self) -> Connection:
        path = str(self.lives.socket) if self.is_local else None
        return Connection(self.lives.port, ANSWER_WITHIN, path)

    def begin(self, connection: Connection) -> None:
        """Does what comes first on a connection, such as looking at what the last daemon left."""

    def work(self, connection: Connection) -> None:
        raise NotImplementedError

    def ask(self, connection: Connection, method: str, path: str, body: object = None,
            fields: Iterable[tuple[str, str]] = (), expect: Iterable[int] = (200, 201)) -> Response:
        fields = [*fields, *([("Authorization", f"Bearer {self.token}")] if self.token else [])]
        response = connection.exchange(render(method, path, body, fields))
        self.findings.count("requests")
        if response.status not in expect:
            raise Unprovoked(f"{method} {path} answered {response}")
        return response


class Writer(Caller):
    """A caller that alone writes to a suite, and holds what it finds there against what was acknowledged."""

    KEYS = 40

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.suite = f"/v1/suites/own.{self.name}"
        self.known: dict[str, object] = {}
        self.pending: dict[str, object] = {}
        self.number = 0

    def begin(self, connection: Connection) -> None:
        """Every write that was acknowledged is there; of those that were not answered, all or nothing."""
        response = self.ask(connection, "GET", f"{self.suite}?raw", expect=(200, 404))
        found = response.json() if response.status == 200 else {}
        after = {**self.known, **self.pending}
        for state in (self.known, after):
            if found == {key: value for key, value in state.items() if value is not None}:
                self.known, self.pending = dict(state), {}
                self.findings.count("states checked")
                return
        different = {key: (found.get(key), self.known.get(key), self.pending.get(key)) for key in {*found, *after}
                     if found.get(key) != self.known.get(key)}
        self.known, self.pending = dict(found), {}
        raise Unprovoked(f"found, acknowledged and unanswered differ: {different}")

    def work(self, connection: Connection) -> None:
        self.number += 1
        key = f"k{self.chance.randrange(self.KEYS)}"
        several = {f"k{number}": self.number for number in self.chance.sample(range(self.KEYS), 5)}
        match self.chance.choices(("put", "large", "delete", "merge", "transaction", "undo", "read"),
                                  (40, 5, 10, 10, 10, 2, 20))[0]:
            case "put":
                self.write(connection, {key: self.number}, "PUT", f"{self.suite}/keys/{key}", self.number)
            case "large":
                text = f"{self.number} " + "x" * self.chance.randrange(100, 100_000)
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
                before = {key: self.known.get(key) for key in several}
                revision = self.write(connection, several, "PATCH", self.suite, several)
                self.write(connection, before, "POST", f"{self.suite}/undo", {"revision": revision})
            case _:
                found = self.ask(connection, "GET", f"{self.suite}/keys/{key}", expect=(200, 404))
                value = found.json()["value"] if found.status == 200 else None
                if value != self.known.get(key):
                    raise Unprovoked(f"{key} reads {str(value)[:60]}, not {str(self.known.get(key))[:60]}")

    def write(self, connection: Connection, values: dict[str, object], *request: object) -> int:
        self.pending = values
        response = self.ask(connection, *request, expect=(200, 201, 404) if None in values.values() else (200, 201))
        self.known.update(values)
        self.pending = {}
        self.findings.count("acknowledged writes")
        return response.json().get("revision", 0)


class Reader(Caller):
    """A caller that reads what it may, and is refused what it may not."""

    def __init__(self, *arguments, allowed: str, refused: str, status: int, **options) -> None:
        super().__init__(*arguments, **options)
        self.allowed, self.refused, self.status = allowed, refused, status

    def work(self, connection: Connection) -> None:
        part = self.chance.choice(("", "/keys", "/history?limit=5", "/keys/k1"))
        self.ask(connection, "GET", self.allowed + part, expect=(200, 404))
        self.ask(connection, "GET", self.refused, expect=(self.status,))
        self.ask(connection, "PUT", f"{self.allowed}/keys/x", 1, expect=(401, 403))


class Watcher(Caller):
    """A watcher that waits for a change once or twice, by long poll or by stream, and goes with or without a word."""

    keeps_connection = False

    def connect(self) -> Connection:
        connection = super().connect()
        if self.chance.random() < 0.5:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return connection

    def work(self, connection: Connection) -> None:
        if self.chance.random() < 0.5:
            fields = [("Accept", "text/event-stream"), ("Authorization", f"Bearer {self.token}")]
            connection.socket.sendall(render("GET", "/v1/observe?suitePrefix=own.", fields=fields))
            begin = connection.socket.recv(1 << 16)
            if not begin:
                raise ConnectionError("the connection ended before a stream began")
            if not begin.startswith(b"HTTP/1.1 200 "):
                raise Unprovoked(f"a stream began with {begin[:300]!r}")
            ends_at = time.monotonic() + self.chance.uniform(0, 2)
            while time.monotonic() < ends_at and connection.socket.recv(1 << 16):
                pass
            self.findings.count("streams")
            return
        since = self.ask(connection, "GET", "/v1").fields["settings-cursor"]
        for _ in range(self.chance.randrange(1, 5)):
            answer = self.ask(connection, "GET", f"/v1/observe?suitePrefix=own.&since={since}&wait=2")
            since = answer.json()["cursor"]
            self.findings.count("long polls")


class BadClient(Watcher):
    """A client that sends what is none of HTTP, wrong, too much or half of it, and goes."""

    MESSAGES = (
        b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET /v1 HTTP/1.1\r\nHost: localhost\r\n",
        b"PUT /v1/suites/a/keys/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{\"a\":",
        b"PUT /v1/suites/a/keys/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /" + b"x" * 100_000,
        b"POST /v1/transaction HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        render("GET", "/v1/suites", fields=[("Authorization", "Bearer wrong")]), b"\r\n" * 5000, b"\0" * 5000,
    )

    def work(self, connection: Connection) -> None:
        try:
            connection.socket.sendall(self.chance.choice(self.MESSAGES))
            if self.chance.random() < 0.5:
                connection.socket.settimeout(self.chance.uniform(0, 0.3))
                connection.socket.recv(1 << 16)
        except OSError:
            pass  # What the daemon makes of it is its own affair, as long as it goes on.
        self.findings.count("bad clients")
