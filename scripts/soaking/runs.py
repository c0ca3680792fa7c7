"""The daemon of a soak: started again and again on one directory, and sampled while it lives."""

import os
import pathlib
import signal
import threading
import time
from dataclasses import dataclass

from harness.daemon import Settingsd

DOWN_FOR_AT_MOST = 60


@dataclass(frozen=True)
class Sample:
    """What the daemon takes at a moment: seconds since it was started, resident bytes, open descriptors."""

    age: float
    memory: int
    descriptors: int


class Lives:
    """A daemon whose process ends now and then. A client that fails asks whether that was the reason."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, port: int, options: dict) -> None:
        self.socket = folder / "socket"
        self.port = port
        self.configuration = folder / "data.config.json"
        self._daemon = Settingsd(program, folder / "data", options=options, address=f"127.0.0.1:{port}")
        self._daemon.command += ["--listen", f"unix:{self.socket}"]
        self._is_up = threading.Event()
        self._began = 0.0
        # Counts the lives. Raised before a process is ended, so that no failure comes before it.
        self.number = 0
        self.samples: list[list[Sample]] = []

    def start(self) -> float:
        """Returns the seconds that the start took."""
        took = self._daemon.start()
        self._began = time.monotonic()
        self.samples.append([])
        self._is_up.set()
        return took

    def kill(self) -> None:
        """Ends the process at once, if there is one."""
        self._end()
        self._daemon.kill()

    def stop(self) -> int:
        self._end()
        return self._daemon.stop()

    def hang_up(self) -> None:
        """Has the daemon read its configuration again, if it runs. Before it can take the signal, that would end it."""
        if self._is_up.is_set() and (process := self._daemon.process):
            process.send_signal(signal.SIGHUP)

    def printed(self) -> str:
        return self._daemon.printed()

    @property
    def age(self) -> float:
        return time.monotonic() - self._began

    def await_up(self) -> int:
        """Waits until the daemon runs; returns the number of its life."""
        if not self._is_up.wait(DOWN_FOR_AT_MOST):
            raise TimeoutError(f"the daemon was not started again within {DOWN_FOR_AT_MOST} s")
        return self.number

    def has_ended(self, life: int) -> bool:
        return self.number != life

    def sample(self) -> None:
        """Notes what the daemon takes now."""
        descriptors = len(os.listdir(f"/proc/{self._daemon.pid}/fd"))
        self.samples[-1].append(Sample(self.age, self._daemon.resident_bytes(), descriptors))

    def _end(self) -> None:
        self._is_up.clear()
        self.number += 1
