"""A program that serves until it is stopped."""

import collections
import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
import time


class ServiceFailed(Exception):
    """A service did not start, or did not stop, as it should have; says what it printed last."""


class Service:
    """Runs `command` and knows it ready by a line it prints, so that no caller has to guess how long starting takes.

    Everything the program prints is read by a thread, or a chatty program would block on a full pipe; the last
    lines are kept for messages. With `output`, the file at that path gets the standard output instead.
    """

    # The header fields that the program requires in each HTTP request, as pairs of name and value.
    fields = ()

    def __init__(self, name, command, ready, environment=None, output=None):
        self.name = name
        self.command = [str(part) for part in command]
        self.ready = ready
        self.environment = environment
        self.output = output
        self.process = None
        self.match = None
        self.lines = collections.deque(maxlen=60)

    @property
    def pid(self):
        return self.process.pid

    @property
    def origin(self):
        """Where requests go, if the program speaks HTTP. What has a port says so itself."""
        return f"http://127.0.0.1:{self.port}"

    def launch(self):
        """Starts the program without waiting for it to be ready."""
        self.match = None
        self._was_asked = False
        self.lines.clear()
        self._settled = threading.Event()
        self._launched = time.perf_counter()
        environment = {**os.environ, **self.environment} if self.environment else None
        with open(self.output, "ab") if self.output else contextlib.nullcontext(subprocess.PIPE) as output:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.PIPE if self.output else subprocess.STDOUT, env=environment, start_new_session=True)
        said = self.process.stderr or self.process.stdout
        self._reader = threading.Thread(target=self._read, args=(said,), daemon=True)
        self._reader.start()

    def await_ready(self, within=60):
        """Returns the seconds between launch and the line that says the program is ready."""
        if not self._settled.wait(within):
            self.kill()
            raise ServiceFailed(f"{self.name} was not ready after {within} s; it printed:\n{self.printed()}")
        if self.match is None:
            code = self.process.wait()
            raise ServiceFailed(f"{self.name} ended with {code} instead of starting; it printed:\n{self.printed()}")
        return self._ready_at - self._launched

    def start(self, within=60):
        self.launch()
        return self.await_ready(within)

    def terminate(self):
        """Asks for a clean end without waiting for it; once only, for a second time may mean more than the first."""
        if not self._was_asked:
            self._was_asked = True
            self.process.send_signal(signal.SIGTERM)

    def stop(self, within=60):
        """Asks for a clean end, unless that was done already, and returns the exit code. A program that does not end in
        time is killed and reported."""
        if self.process is None:
            return None
        self.terminate()
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceFailed(f"{self.name} did not stop within {within} s of SIGTERM") from None
        self._forget()
        return code

    def kill(self):
        """Ends the program and its children at once, as a crash would. Harmless if it has ended already."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._forget()

    def printed(self):
        return "\n".join("    " + line for line in self.lines) or "    (nothing)"

    def resident_bytes(self):
        """Resident memory of the program now, as the kernel counts it."""
        return self._status_bytes("VmRSS:")

    def peak_resident_bytes(self):
        """The most resident memory that the program had since its start or the last `forget_peak`."""
        return self._status_bytes("VmHWM:")

    def forget_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w") as references:
            references.write("5")

    def _status_bytes(self, name):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
        raise ServiceFailed(f"{self.name} has no resident memory: it has ended; it printed:\n{self.printed()}")

    def cpu_times(self):
        """Seconds of processor time, user and system, that the program and its children have used so far, as exact as the
        kernel counts them: in hundredths."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as children:
            pids = [self.pid, *children.read().split()]
        user = system = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
            user, system = user + int(fields[11]), system + int(fields[12])
        return user / os.sysconf("SC_CLK_TCK"), system / os.sysconf("SC_CLK_TCK")

    def cpu_seconds(self):
        """Processor time, user and system, that the program and its children have used so far."""
        return sum(self.cpu_times())

    def _read(self, pipe):
        for raw in pipe:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            if self.match is None:
                self.match = self.ready.search(line)
                if self.match:
                    self._ready_at = time.perf_counter()
                    self._settled.set()
        self._settled.set()

    def _forget(self):
        self._reader.join()
        (self.process.stderr or self.process.stdout).close()
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, error, *_):
        """Leaves things as they are if something went wrong, so that they can be looked at."""
        if error:
            self.kill()
        else:
            self.stop()


# Below those that the kernel gives to connections that programs open.
PORTS = iter(random.sample(range(10_000, 32_000), 22_000))


def free_port():
    """A free port, for peers that cannot pick one themselves. No connection takes it meanwhile, no other call returns it."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise ServiceFailed("no port is free")


def end_on_signals():
    """Makes SIGTERM and SIGHUP unwind like an error, so that whatever was started is ended and removed."""
    def unwind(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    signal.signal(signal.SIGHUP, unwind)
