"""One row: a daemon of its own, data, a bystander, the abuse, and a stop in the middle of it."""

import pathlib
import re
import time
from collections import Counter
from dataclasses import dataclass

from harness.daemon import Settingsd
from harness.http import Connection
from harness.service import ServiceFailed

from .bystander import SUITE, Bystander, Experience
from .processes import abuser
from .requests import fill_history, put
from .row import Abuse

LOAD_WITHIN = 120
# What the last snapshot may take beyond stopSeconds.
SNAPSHOT_SECONDS = 15
# The daemon gives freed memory back within seconds.
SETTLED_AFTER, SETTLE_WITHIN, SETTLED_BYTES = 5.0, 20.0, 4 << 20
LOOK_EACH = 0.1
# The rows store more than a daemon takes by default, so that its bounds are seen on much data.
QUOTAS = {"quotas": {"suites": 1_000_000, "keysPerSuite": 10_000_000, "suiteBytes": 8 << 30, "totalBytes": 8 << 30}}


@dataclass(frozen=True)
class Stop:
    """How the daemon ended after SIGTERM. `code` is None if it did not end in time and was killed."""

    code: int | None
    seconds: float

    @property
    def is_clean(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class Outcome:
    """What a row has shown. `memory` is in bytes beyond what the loaded data takes. `slow_iterations` says how often an event
    loop needed more than 20 ms for an iteration."""

    seen: dict[str, Experience]
    memory: int
    slow_iterations: int
    tally: Counter[str]
    stop: Stop


def _slow_iterations(connection: Connection) -> int:
    metrics = connection.request("GET", "/metrics").body
    found = re.search(rb"^settingsd_slow_iterations_total (\d+)$", metrics, re.MULTILINE)
    if not found:
        raise ServiceFailed("the metrics do not have the number of slow iterations")
    return int(found[1])


@dataclass(frozen=True)
class Trial:
    """Runs rows. If memory is to be exact, the history is full before, and freed memory given back."""

    program: pathlib.Path
    seconds: float
    stop_seconds: int
    is_exact: bool

    def run(self, abuse: Abuse, folder: pathlib.Path) -> Outcome:
        options = {**QUOTAS, **abuse.options, "stopSeconds": self.stop_seconds}
        daemon = Settingsd(self.program, folder / "data", options=options, open_files=abuse.open_files)
        daemon.start()
        try:
            return self._run(abuse, daemon)
        finally:
            daemon.kill()

    def _run(self, abuse: Abuse, daemon: Settingsd) -> Outcome:
        with Connection(daemon.port, LOAD_WITHIN) as connection:
            put(connection, SUITE, "steady", 1)
            if self.is_exact:
                fill_history(connection)
            abuse.load(connection)
            roles = abuse.roles(connection)
            before, iterations_before = self._resident(daemon), _slow_iterations(connection)
            daemon.forget_peak()
            with abuser(daemon.port, roles) as child:
                with Bystander(daemon.port, abuse.writes_large, abuse.connects_anew) as bystander:
                    child.ask("begin")
                    self._wait(daemon, max(self.seconds, abuse.seconds))
                    seen = bystander.finish()
                tally = child.ask("tally")
                memory = daemon.peak_resident_bytes() - before
                slow_iterations = _slow_iterations(connection) - iterations_before
                return Outcome(seen, memory, slow_iterations, tally, self._stop(daemon))

    def _resident(self, daemon: Settingsd) -> int:
        """What the loaded data takes, once what loading it has freed went back to the system."""
        lowest = daemon.resident_bytes()
        began = lowest_at = time.monotonic()
        while self.is_exact and time.monotonic() < min(lowest_at + SETTLED_AFTER, began + SETTLE_WITHIN):
            time.sleep(LOOK_EACH)
            if (now := daemon.resident_bytes()) < lowest - SETTLED_BYTES:
                lowest, lowest_at = now, time.monotonic()
        return daemon.resident_bytes()

    def _wait(self, daemon: Settingsd, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            time.sleep(LOOK_EACH)
            if daemon.process.poll() is not None:
                code = daemon.process.returncode
                raise ServiceFailed(f"the daemon ended with {code}; it printed:\n{daemon.printed()}")

    def _stop(self, daemon: Settingsd) -> Stop:
        began = time.monotonic()
        try:
            code = daemon.stop(self.stop_seconds + SNAPSHOT_SECONDS)
        except ServiceFailed:
            code = None
        return Stop(code, time.monotonic() - began)
