"""The bystander: a well-behaved client that reads and writes small settings, and measures the latency of each request. With
`writes_large`, it also writes a large text."""

import collections
import contextlib
import functools
import gc
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe

from harness.http import Connection, render

from .processes import Child

SUITE = "bystander"
# Seconds.
READ_INTERVAL, WRITE_INTERVAL, LARGE_WRITE_INTERVAL = 0.003, 0.02, 0.2
# The daemon parses a body of this size on its parsing thread, not on an event loop.
LARGE_TEXT = "x" * 70_000
# If the bystander opens connections, one of this number of requests is sent on a new connection.
REQUESTS_PER_NEW_CONNECTION = 20
TIMEOUT_SECONDS = 60


@dataclass
class RequestStatistics:
    """The number of requests, the longest latency in seconds, and the number of refusals and failures by reason."""

    requests: int = 0
    slowest: float = 0
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)

    def record(self, seconds: float, refusal: str | None) -> None:
        self.requests += 1
        self.slowest = max(self.slowest, seconds)
        if refusal:
            self.refusals[refusal] += 1

    def add(self, other: "RequestStatistics") -> None:
        self.requests += other.requests
        self.slowest = max(self.slowest, other.slowest)
        self.refusals += other.refusals


@dataclass(frozen=True)
class Workload:
    """Requests of one kind. The bystander sends a request every `interval` seconds, and waits for each answer."""

    kind: str
    requests: Iterator[bytes]
    interval: float


def workloads(writes_large: bool) -> list[Workload]:
    """Returns the workloads of a bystander. Each runs in its own process, with its own connections."""
    path = f"/v1/suites/{SUITE}/keys"
    chosen = [
        Workload("GET", itertools.repeat(render("GET", f"{path}/steady")), READ_INTERVAL),
        Workload("PUT", (render("PUT", f"{path}/count", number) for number in itertools.count()), WRITE_INTERVAL),
    ]
    if writes_large:
        chosen.append(Workload("PUT", (render("PUT", f"{path}/text", f"{number} {LARGE_TEXT}")
                                       for number in itertools.count()), LARGE_WRITE_INTERVAL))
    return chosen


class Bystander:
    """Runs a process for each workload. The statistics of a process begin after its first answer. The start of the `with`
    block waits for the first answer of each process."""

    def __init__(self, port: int, writes_large: bool, opens_connections: bool) -> None:
        self._workloads = workloads(writes_large)
        self._children = [Child(functools.partial(_run_workload, port, workload, opens_connections))
                          for workload in self._workloads]

    def __enter__(self) -> "Bystander":
        with contextlib.ExitStack() as stack:
            for child in self._children:
                stack.enter_context(child).ask("begin")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def finish(self) -> dict[str, RequestStatistics]:
        """Waits for the pending answers. Returns the statistics of each kind of request."""
        statistics: dict[str, RequestStatistics] = {}
        for child in self._children:
            child.pipe.send("finish")
        for workload, child in zip(self._workloads, self._children):
            if not child.pipe.poll(2 * TIMEOUT_SECONDS):
                raise TimeoutError(f"the bystander's process for {workload.kind} did not end within {2 * TIMEOUT_SECONDS} s")
            statistics.setdefault(workload.kind, RequestStatistics()).add(child.pipe.recv())
        return statistics


def _run_workload(port: int, workload: Workload, opens_connections: bool, pipe: Pipe) -> None:
    """Runs in a child process. Replies to the message "begin" after the first answer. Sends requests until the message "finish",
    and replies with the statistics."""
    # A garbage collection would increase the measured latency.
    gc.disable()
    statistics = RequestStatistics()
    client = _Client(port)
    pipe.recv()
    client.exchange(next(workload.requests), on_new_connection=False)
    pipe.send(None)
    for number, request in enumerate(workload.requests):
        sent = time.monotonic()
        is_new = opens_connections and number % REQUESTS_PER_NEW_CONNECTION == 0
        refusal = client.exchange(request, on_new_connection=is_new)
        seconds = time.monotonic() - sent
        statistics.record(seconds, refusal)
        if pipe.poll(max(0, workload.interval - seconds)):
            break
    pipe.send(statistics)


class _Client:
    """An HTTP client with a keep-alive connection, which it replaces after a failure."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._keep_alive: Connection | None = None

    def exchange(self, request: bytes, on_new_connection: bool) -> str | None:
        """Sends a request. Returns None, or the status of a refusal, or the type of an error."""
        try:
            if on_new_connection:
                with Connection(self._port, TIMEOUT_SECONDS) as connection:
                    status = connection.exchange(request).status
            else:
                self._keep_alive = self._keep_alive or Connection(self._port, TIMEOUT_SECONDS)
                status = self._keep_alive.exchange(request).status
        except OSError as error:
            if not on_new_connection and self._keep_alive:
                self._keep_alive.close()
                self._keep_alive = None
            return type(error).__name__
        return None if status in (200, 201) else str(status)
