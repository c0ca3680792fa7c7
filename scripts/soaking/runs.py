"""The runs of the daemon in a soak test: from each start to the next stop, with the same data directory."""

import os
import pathlib
import signal
import threading
import time
from dataclasses import dataclass

from harness.daemon import Settingsd

MAX_DOWN_SECONDS = 60


@dataclass(frozen=True)
class Sample:
    """A measurement of the daemon: the seconds since its start, resident bytes, and open descriptors."""

    run_seconds: float
    memory: int
    descriptors: int


class DaemonRuns:
    """Starts and ends the daemon. A client whose request fails can ask whether the daemon was ended on purpose."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, port: int, options: dict) -> None:
        self.socket = folder / "socket"
        self.port = port
        self.configuration = folder / "data.config.json"
        self._daemon = Settingsd(program, folder / "data", options=options, address=f"127.0.0.1:{port}")
        self._daemon.command += ["--listen", f"unix:{self.socket}"]
        self._is_up = threading.Event()
        self._start_time = 0.0
        # The number of the current run. It grows before the process ends, so that a client sees the change after a failure.
        self.number = 0
        self.samples: list[list[Sample]] = []

    def start(self) -> float:
        """Starts the daemon. Returns the seconds from the launch until the daemon is ready."""
        seconds = self._daemon.start()
        self._start_time = time.monotonic()
        self.samples.append([])
        self._is_up.set()
        return seconds

    def kill(self) -> None:
        """Kills the process, if it runs."""
        self._mark_ended()
        self._daemon.kill()

    def stop(self) -> int:
        """Sends SIGTERM to the daemon, and waits for its end. Returns the exit code."""
        self._mark_ended()
        return self._daemon.stop()

    def send_sighup(self) -> None:
        """Sends SIGHUP, which reloads the configuration. During a start, SIGHUP would end the daemon, so it is not sent."""
        if self._is_up.is_set() and (process := self._daemon.process):
            process.send_signal(signal.SIGHUP)

    def printed(self) -> str:
        return self._daemon.printed()

    @property
    def run_seconds(self) -> float:
        return time.monotonic() - self._start_time

    def wait_until_up(self) -> int:
        """Waits until the daemon runs. Returns the number of the run."""
        if not self._is_up.wait(MAX_DOWN_SECONDS):
            raise TimeoutError(f"the daemon was not restarted within {MAX_DOWN_SECONDS} s")
        return self.number

    def has_run_ended(self, number: int) -> bool:
        return self.number != number

    def sample(self) -> None:
        """Adds a sample to the samples of the current run."""
        descriptors = len(os.listdir(f"/proc/{self._daemon.pid}/fd"))
        self.samples[-1].append(Sample(self.run_seconds, self._daemon.resident_bytes(), descriptors))

    def _mark_ended(self) -> None:
        self._is_up.clear()
        self.number += 1
