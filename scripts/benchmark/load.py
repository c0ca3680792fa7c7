"""Load generators, both written in C: wrk for HTTP, redis-benchmark for Redis.

Each drives all its connections from one thread and waits for an answer before it sends the next request of that
connection, so the two put comparable load on a server: N clients, one request each in flight.
"""

import csv
import json
import pathlib
import signal
import socket
import subprocess
import time
from dataclasses import dataclass

REPLAY = pathlib.Path(__file__).with_name("replay.lua")


class LoadFailed(Exception):
    """Requests were refused or connections broke, so the figures would mean nothing."""


@dataclass(frozen=True)
class Load:
    """What one run of a generator measured. Latencies are in microseconds, and so is the processor time, user and system,
    that the service takes a request."""

    requests_per_second: float
    p50: float
    p99: float
    slowest: float
    user: float = 0
    system: float = 0
    bytes_per_second: float = 0


class Meter:
    """The processor time that a service takes from here on."""

    def __init__(self, service):
        self.service = service
        self.before = service.cpu_times()

    def each(self, requests):
        """Microseconds of user and of system time until now, for each of so many requests."""
        return [(now - then) * 1e6 / requests for now, then in zip(self.service.cpu_times(), self.before)]


class Generator:
    """A load generator that runs in the background against a service."""

    def __init__(self, service, *command):
        self.meter = Meter(service)
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @property
    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        if self.is_running:
            self.process.kill()
            self.process.communicate()


class Wrk(Generator):
    """A run of wrk. Latencies are corrected by wrk itself for answers that held up later requests."""

    def __init__(self, service, path, connections, seconds, requests=None):
        self.url = service.origin + path
        fields = [part for name, value in service.fields for part in ("-H", f"{name}: {value}")]
        super().__init__(service, "wrk", "-t1", f"-c{connections}", "-d", f"{seconds}s", "--timeout", "10s", *fields,
                         "-s", REPLAY, self.url, *(["--", requests] if requests else []))

    def result(self):
        """Waits for the end of the run."""
        said = self.process.communicate()[0]
        line = next((line for line in said.splitlines() if line.startswith("result ")), None)
        if line is None:
            raise LoadFailed(f"wrk on {self.url} gave no result:\n{said}")
        figures = json.loads(line.removeprefix("result "))
        if figures["refused"] or figures["broken"] or not figures["requests"]:
            raise LoadFailed(f"of {figures['requests']} requests to {self.url}, {figures['refused']} were refused; "
                             f"{figures['broken']} connections failed or timed out")
        seconds = figures["microseconds"] / 1e6
        return Load(figures["requests"] / seconds, figures["p50"], figures["p99"], figures["slowest"],
                    *self.meter.each(figures["requests"]), figures["bytes"] / seconds)

    def finish(self):
        """Ends the run early; what it measured until now counts."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        return self.result()


class RedisSets(Generator):
    """A run of redis-benchmark: `count` SETs of random keys without pipelining."""

    def __init__(self, redis, connections, count, keys, value_bytes):
        self.count = int(count)
        super().__init__(redis, "redis-benchmark", "-h", "127.0.0.1", "-p", redis.port, "-t", "set", "-c", connections,
                         "-n", self.count, "-r", keys, "-d", value_bytes, "-P", "1", "--csv")

    def result(self):
        """Waits for the end of the run."""
        said = self.process.communicate()[0]
        rows = list(csv.DictReader(line for line in said.splitlines() if line.startswith('"')))
        if self.process.returncode or not rows:
            raise LoadFailed(f"redis-benchmark ended with {self.process.returncode}:\n{said}")
        row = rows[0]
        latencies = (float(row[name]) * 1000 for name in ("p50_latency_ms", "p99_latency_ms", "max_latency_ms"))
        return Load(float(row["rps"]), *latencies, *self.meter.each(self.count))

    def finish(self):
        """Ends the run early; redis-benchmark says nothing then."""
        self.kill()


def wrk(service, path, connections, seconds, requests=None):
    return _whole(Wrk(service, path, connections, seconds, requests))


def redis_set(redis, connections, seconds, keys, value_bytes):
    """SETs for about so many seconds. redis-benchmark takes a number of requests, not a time, so a short run tells how
    many to ask for."""
    trial = _whole(RedisSets(redis, connections, 1000 * connections ** 0.5, keys, value_bytes))
    return _whole(RedisSets(redis, connections, trial.requests_per_second * seconds, keys, value_bytes))


def _whole(run):
    try:
        return run.result()
    finally:
        run.kill()


def repeat(service, request, begins, seconds):
    """One client that sends `request` (bytes) over and over and checks how each answer begins. Times HTTP and Redis
    alike, which wrk and redis-benchmark do not; returns the sorted waits in microseconds."""
    waits = []
    with socket.create_connection(("127.0.0.1", service.port), 60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now = time.perf_counter()
        end = now + seconds
        while now < end:
            sent = time.perf_counter()
            connection.sendall(request)
            answer = connection.recv(1 << 16)
            now = time.perf_counter()
            if not answer.startswith(begins):
                raise LoadFailed(f"{service.name} answered {answer[:300]} to {request}")
            waits.append((now - sent) * 1e6)
    return sorted(waits)


def write_requests(path, requests):
    """Writes requests (bytes) for replay.lua to replay."""
    with open(path, "wb") as file:
        for request in requests:
            file.write(b"%d\n%b" % (len(request), request))
    return path
