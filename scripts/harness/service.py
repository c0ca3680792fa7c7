"""Child processes that serve until they are stopped."""

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
    """A service failed, or something that it needs, such as a free port, is missing. If the program was not ready in time or
    ended early, the message contains the last lines of its output."""


class Service:
    """Runs `command`. The service is ready when it prints a line that matches the regular expression `ready`.

    A thread reads the output of the program, because a full pipe would block the program, and keeps the last lines for
    error messages. With `output`, the file at this path gets the standard output, and the thread reads standard error.
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
        """The URL of a program that speaks HTTP, without a path. The subclass or the caller sets `port`."""
        return f"http://127.0.0.1:{self.port}"

    def launch(self):
        """Starts the program. Does not wait until the program is ready."""
        self.match = None
        self._sent_sigterm = False
        self.lines.clear()
        self._ready_or_ended = threading.Event()
        self._launched = time.perf_counter()
        environment = {**os.environ, **self.environment} if self.environment else None
        with open(self.output, "ab") if self.output else contextlib.nullcontext(subprocess.PIPE) as output:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.PIPE if self.output else subprocess.STDOUT, env=environment, start_new_session=True)
        pipe = self.process.stderr or self.process.stdout
        self._reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._reader.start()

    def await_ready(self, within=60):
        """Waits until the program is ready, at most `within` seconds. Returns the seconds from the launch to the line that
        matches `ready`."""
        if not self._ready_or_ended.wait(within):
            self.kill()
            raise ServiceFailed(f"{self.name} was not ready after {within} s; it printed:\n{self.printed()}")
        if self.match is None:
            code = self.process.wait()
            raise ServiceFailed(f"{self.name} ended with {code} instead of starting; it printed:\n{self.printed()}")
        return self._ready_at - self._launched

    def start(self, within=60):
        """Launches the program and waits until it is ready."""
        self.launch()
        return self.await_ready(within)

    def terminate(self):
        """Sends SIGTERM without waiting. Sends it only once, because a program may treat a second SIGTERM differently."""
        if not self._sent_sigterm:
            self._sent_sigterm = True
            self.process.send_signal(signal.SIGTERM)

    def stop(self, within=60):
        """Sends SIGTERM, unless `terminate` has sent it, and returns the exit code. If the program does not end within the
        limit, kills the program and raises ServiceFailed."""
        if self.process is None:
            return None
        self.terminate()
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceFailed(f"{self.name} did not stop within {within} s of SIGTERM") from None
        self._release()
        return code

    def kill(self):
        """Kills the program and its children with SIGKILL. Does nothing before a launch, and after `stop` or `kill`."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._release()

    def printed(self):
        """Returns the last lines of the output, indented."""
        return "\n".join("    " + line for line in self.lines) or "    (nothing)"

    def resident_bytes(self):
        """Returns the resident memory of the program in bytes."""
        return self._status_bytes("VmRSS:")

    def peak_resident_bytes(self):
        """Returns the maximum of the resident memory, in bytes, since the start or since the last `reset_peak`."""
        return self._status_bytes("VmHWM:")

    def reset_peak(self):
        """Makes the present resident memory the peak."""
        with open(f"/proc/{self.pid}/clear_refs", "w") as clear_refs:
            clear_refs.write("5")  # The kernel resets VmHWM, the peak of the resident memory, for the value 5.

    def _status_bytes(self, name):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
        raise ServiceFailed(f"{self.name} has no resident memory: it has ended; it printed:\n{self.printed()}")

    def cpu_times(self):
        """Returns the seconds of user time and of system time that the program and its children have used. The kernel counts
        in hundredths of a second."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as children:
            pids = [self.pid, *children.read().split()]
        user = system = 0
        for pid in pids:
            with open(f"/proc/{pid}/stat") as stat:
                # The fields after the name of the program, which is in parentheses.
                fields = stat.read().rpartition(")")[2].split()
            user, system = user + int(fields[11]), system + int(fields[12])
        return user / os.sysconf("SC_CLK_TCK"), system / os.sysconf("SC_CLK_TCK")

    def cpu_seconds(self):
        """Returns the sum of the user time and the system time that the program and its children have used."""
        return sum(self.cpu_times())

    def _read(self, pipe):
        for raw in pipe:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            if self.match is None:
                self.match = self.ready.search(line)
                if self.match:
                    self._ready_at = time.perf_counter()
                    self._ready_or_ended.set()
        self._ready_or_ended.set()

    def _release(self):
        self._reader.join()
        (self.process.stderr or self.process.stdout).close()
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, error, *_):
        """Stops the program. After an error, kills the program instead, so that its files stay as they were at the error."""
        if error:
            self.kill()
        else:
            self.stop()


# The kernel gives ports from 32,768 on to outgoing connections. A lower port stays free until a program binds it.
PORTS = iter(random.sample(range(10_000, 32_000), 22_000))


def free_port():
    """Returns a free port, for a program that cannot let the kernel choose a port. No other call returns the same port."""
    for port in PORTS:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise ServiceFailed("no port between 10,000 and 32,000 is free; end other programs that listen")


def end_on_signals():
    """Makes SIGTERM and SIGHUP raise SystemExit, so that the script ends its child processes and removes its files."""
    def unwind(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    signal.signal(signal.SIGHUP, unwind)
