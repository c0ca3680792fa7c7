"""The load generators: wrk for HTTP and redis-benchmark for Redis. Both are written in C.

Both drive all connections from one thread. On each connection they send the next request after the response to the
previous request. Therefore both put the same load on a server: N clients, each with one request in flight.
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
    """A run has no valid figures: for example, a server refused requests, connections failed, or a generator printed no result."""


@dataclass(frozen=True)
class Load:
    """The figures of one run of a generator. Latencies, and the user and system time of the server for each request, are in
    microseconds."""

    requests_per_second: float
    p50: float
    p99: float
    slowest: float
    user: float = 0
    system: float = 0
    bytes_per_second: float = 0


class Meter:
    """Measures the processor time that a service uses from the construction of the meter on."""

    def __init__(self, service):
        self.service = service
        self.start_times = service.cpu_times()

    def per_request(self, requests):
        """Returns the user time and the system time since the construction, in microseconds per request."""
        return [(now - start) * 1e6 / requests for now, start in zip(self.service.cpu_times(), self.start_times)]


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
    """A run of wrk. wrk corrects the latencies for requests that it sent late because a response was late. `requests` is the path of a
    file for replay.lua; without it, wrk sends GETs of `path`."""

    def __init__(self, service, path, connections, seconds, requests=None):
        self.url = service.origin + path
        fields = [part for name, value in service.fields for part in ("-H", f"{name}: {value}")]
        super().__init__(service, "wrk", "-t1", f"-c{connections}", "-d", f"{seconds}s", "--timeout", "10s", *fields,
                         "-s", REPLAY, self.url, *(["--", requests] if requests else []))

    def result(self):
        """Waits for the end of the run. Returns its figures."""
        output = self.process.communicate()[0]
        line = next((line for line in output.splitlines() if line.startswith("result ")), None)
        if line is None:
            raise LoadFailed(f"wrk on {self.url} printed no result:\n{output}")
        figures = json.loads(line.removeprefix("result "))
        if figures["refused"] or figures["broken"] or not figures["requests"]:
            raise LoadFailed(f"{self.url} refused {figures['refused']} of {figures['requests']} requests; "
                             f"{figures['broken']} connections failed or timed out")
        seconds = figures["microseconds"] / 1e6
        return Load(figures["requests"] / seconds, figures["p50"], figures["p99"], figures["slowest"],
                    *self.meter.per_request(figures["requests"]), figures["bytes"] / seconds)

    def finish(self):
        """Ends the run early. Returns the figures that it has measured so far."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        return self.result()


class RedisSets(Generator):
    """A run of redis-benchmark that sends `count` SETs of random keys without pipelining."""

    def __init__(self, redis, connections, count, keys, value_bytes):
        self.count = int(count)
        super().__init__(redis, "redis-benchmark", "-h", "127.0.0.1", "-p", redis.port, "-t", "set", "-c", connections,
                         "-n", self.count, "-r", keys, "-d", value_bytes, "-P", "1", "--csv")

    def result(self):
        """Waits for the end of the run. Returns its figures."""
        output = self.process.communicate()[0]
        rows = list(csv.DictReader(line for line in output.splitlines() if line.startswith('"')))
        if self.process.returncode or not rows:
            raise LoadFailed(f"redis-benchmark ended with {self.process.returncode}:\n{output}")
        row = rows[0]
        latencies = (float(row[name]) * 1000 for name in ("p50_latency_ms", "p99_latency_ms", "max_latency_ms"))
        return Load(float(row["rps"]), *latencies, *self.meter.per_request(self.count))

    def finish(self):
        """Ends the run early. redis-benchmark prints no figures in this case."""
        self.kill()


def wrk(service, path, connections, seconds, requests=None):
    return _result(Wrk(service, path, connections, seconds, requests))


def redis_set(redis, connections, seconds, keys, value_bytes):
    """Runs SETs for about `seconds`. redis-benchmark can limit the number of requests, not the time. Therefore a short trial run
    measures the rate first. More connections have a higher rate, so their trial run has more requests."""
    trial = _result(RedisSets(redis, connections, 1000 * connections ** 0.5, keys, value_bytes))
    return _result(RedisSets(redis, connections, trial.requests_per_second * seconds, keys, value_bytes))


def _result(run):
    try:
        return run.result()
    finally:
        run.kill()


def repeat(service, request, response_start, seconds):
    """Sends `request` (bytes) repeatedly on one connection, and checks the first bytes of each response. The function times HTTP
    and Redis in the same way, which wrk and redis-benchmark do not. Returns the sorted latencies in microseconds."""
    latencies = []
    with socket.create_connection(("127.0.0.1", service.port), 60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now = time.perf_counter()
        end = now + seconds
        while now < end:
            sent = time.perf_counter()
            connection.sendall(request)
            response = connection.recv(1 << 16)
            now = time.perf_counter()
            if not response.startswith(response_start):
                raise LoadFailed(f"{service.name} answered {response[:300]} to {request}")
            latencies.append((now - sent) * 1e6)
    return sorted(latencies)


def write_requests(path, requests):
    """Writes requests (bytes) to a file in the format of replay.lua. Returns the path."""
    with open(path, "wb") as file:
        for request in requests:
            file.write(b"%d\n%b" % (len(request), request))
    return path
