"""Runs one kind of abuse, which is a row of the printed table: starts a daemon, stores the data, runs the bystander and the
abuse, and stops the daemon during the abuse."""

import pathlib
import re
import time
from collections import Counter
from dataclasses import dataclass

from harness.daemon import Settingsd
from harness.http import Connection
from harness.service import ServiceFailed

from .bystander import SUITE, Bystander, RequestStatistics
from .processes import abuser
from .requests import fill_history, put
from .row import Abuse

LOAD_TIMEOUT_SECONDS = 120
# After stopSeconds, the daemon writes its last snapshot. The snapshot may take this long.
SNAPSHOT_SECONDS = 15
# The daemon returns freed memory to the kernel within seconds. Its memory is stable if it has not shrunk by STABLE_BYTES
# for STABLE_SECONDS. The trial waits for this at most MAX_STABLE_WAIT_SECONDS.
STABLE_SECONDS, MAX_STABLE_WAIT_SECONDS, STABLE_BYTES = 5.0, 20.0, 4 << 20
POLL_SECONDS = 0.1
# The tests store more data than the default quotas allow, so that the limits are tested with much data.
QUOTAS = {"quotas": {"suites": 1_000_000, "keysPerSuite": 10_000_000, "suiteBytes": 8 << 30, "totalBytes": 8 << 30}}


@dataclass(frozen=True)
class Stop:
    """The exit code of the daemon after SIGTERM, and the seconds from SIGTERM to its end. `code` is None if the daemon did not
    exit in time and was killed."""

    code: int | None
    seconds: float

    @property
    def is_clean(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class Outcome:
    """The results of a row. `bystander` has the statistics of each kind of request. `memory` is the peak during the abuse
    minus the memory of the stored data, in bytes. `slow_iterations` counts the iterations of event loops of more than
    20 ms. `answers` counts the answers to the abusive clients by status, and their connections."""

    bystander: dict[str, RequestStatistics]
    memory: int
    slow_iterations: int
    answers: Counter[str]
    stop: Stop


def _slow_iterations(connection: Connection) -> int:
    metrics = connection.request("GET", "/metrics").body
    found = re.search(rb"^settingsd_slow_iterations_total (\d+)$", metrics, re.MULTILINE)
    if not found:
        raise ServiceFailed("/metrics has no settingsd_slow_iterations_total")
    return int(found[1])


@dataclass(frozen=True)
class Trial:
    """Runs tests of abuse. To measure memory exactly, it fills the history first, and waits until the daemon has returned freed
    memory."""

    program: pathlib.Path
    seconds: float
    stop_seconds: int
    measures_memory_exactly: bool

    def run(self, abuse: Abuse, folder: pathlib.Path) -> Outcome:
        options = {**QUOTAS, **abuse.options, "stopSeconds": self.stop_seconds}
        daemon = Settingsd(self.program, folder / "data", options=options, open_files=abuse.open_files)
        daemon.start()
        try:
            return self._run(abuse, daemon)
        finally:
            daemon.kill()

    def _run(self, abuse: Abuse, daemon: Settingsd) -> Outcome:
        with Connection(daemon.port, LOAD_TIMEOUT_SECONDS) as connection:
            put(connection, SUITE, "steady", 1)
            if self.measures_memory_exactly:
                fill_history(connection)
            abuse.load(connection)
            roles = abuse.roles(connection)
            memory_before, slow_before = self._resident(daemon), _slow_iterations(connection)
            daemon.reset_peak()
            with abuser(daemon.port, roles) as child:
                with Bystander(daemon.port, abuse.writes_large, abuse.opens_connections) as bystander:
                    child.ask("begin")
                    self._wait(daemon, max(self.seconds, abuse.seconds))
                    statistics = bystander.finish()
                answers = child.ask("answers")
                memory = daemon.peak_resident_bytes() - memory_before
                slow_iterations = _slow_iterations(connection) - slow_before
                return Outcome(statistics, memory, slow_iterations, answers, self._stop(daemon))

    def _resident(self, daemon: Settingsd) -> int:
        """Returns the resident memory of the daemon with the stored data. If `measures_memory_exactly` is true, first waits until
        the memory is stable."""
        lowest = daemon.resident_bytes()
        start = lowest_at = time.monotonic()
        while self.measures_memory_exactly and time.monotonic() < min(
                lowest_at + STABLE_SECONDS, start + MAX_STABLE_WAIT_SECONDS):
            time.sleep(POLL_SECONDS)
            if (now := daemon.resident_bytes()) < lowest - STABLE_BYTES:
                lowest, lowest_at = now, time.monotonic()
        return daemon.resident_bytes()

    def _wait(self, daemon: Settingsd, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            time.sleep(POLL_SECONDS)
            if daemon.process.poll() is not None:
                code = daemon.process.returncode
                raise ServiceFailed(f"the daemon ended with {code}; it printed:\n{daemon.printed()}")

    def _stop(self, daemon: Settingsd) -> Stop:
        start = time.monotonic()
        try:
            code = daemon.stop(self.stop_seconds + SNAPSHOT_SECONDS)
        except ServiceFailed:
            code = None
        return Stop(code, time.monotonic() - start)
