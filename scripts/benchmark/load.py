"""Load generators, both written in C: wrk for HTTP, redis-benchmark for Redis.

Each drives all its connections from one thread and waits for an answer before it sends the next request of that
connection, so the two put comparable load on a server: N clients, one request each in flight.
"""

import csv
import json
import pathlib
import signal
import subprocess
from dataclasses import dataclass

REPLAY = pathlib.Path(__file__).with_name("replay.lua")


class LoadFailed(Exception):
    """Requests were refused or connections broke, so the figures would mean nothing."""


@dataclass(frozen=True)
class Load:
    """What one run of a generator measured; latencies are in microseconds."""

    requests_per_second: float
    p50: float
    p99: float
    slowest: float
    bytes_per_second: float = 0


class Wrk:
    """A run of wrk in the background. Latencies are corrected by wrk itself for answers that held up later requests."""

    def __init__(self, url, connections, seconds, requests=None):
        self.url = url
        command = ["wrk", "-t1", f"-c{connections}", "-d", f"{seconds}s", "--timeout", "10s", "-s", REPLAY, url]
        if requests:
            command += ["--", requests]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @property
    def is_running(self):
        return self.process.poll() is None

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
                    figures["bytes"] / seconds)

    def finish(self):
        """Ends the run early; what it measured until now counts."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        return self.result()

    def kill(self):
        if self.is_running:
            self.process.kill()
            self.process.communicate()


def wrk(url, connections, seconds, requests=None):
    run = Wrk(url, connections, seconds, requests)
    try:
        return run.result()
    finally:
        run.kill()


def redis_set(port, connections, seconds, keys, value_bytes):
    """SET of random keys without pipelining. redis-benchmark takes a number of requests, not a time, so a short run
    tells how many to ask for."""
    trial = _redis_benchmark(port, connections, 1000 * connections ** 0.5, keys, value_bytes)
    return _redis_benchmark(port, connections, trial.requests_per_second * seconds, keys, value_bytes)


def _redis_benchmark(port, connections, count, keys, value_bytes):
    run = subprocess.run(
        ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-t", "set", "-c", str(connections),
         "-n", str(int(count)), "-r", str(keys), "-d", str(value_bytes), "-P", "1", "--csv"],
        capture_output=True, text=True)
    rows = list(csv.DictReader(line for line in run.stdout.splitlines() if line.startswith('"')))
    if run.returncode or not rows:
        raise LoadFailed(f"redis-benchmark ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    row = rows[0]
    return Load(float(row["rps"]), *(float(row[name]) * 1000
                                     for name in ("p50_latency_ms", "p99_latency_ms", "max_latency_ms")))


def write_requests(path, requests):
    """Writes requests (bytes) for replay.lua to replay."""
    with open(path, "wb") as file:
        for request in requests:
            file.write(b"%d\n%b" % (len(request), request))
    return path
