"""Crash test of three daemons that share three members of etcd. The test kills and pauses daemons and members during writes.

Each write adds 1 to two counters with an Idempotency-Key. The writer repeats a write at random daemons until a daemon
acknowledges the write. At the end, each counter must be equal to its number of writes, and all daemons must return the same
bytes and the same epoch. After each fault, all writers must succeed again within ten seconds.
"""

import contextlib
import http.client
import random
import signal
import threading
import time

from benchmark.cluster import members
from benchmark.bench import Bench
from harness.daemon import Settingsd
from harness.http import Connection
from harness.service import free_port

DAEMONS, WRITERS, MAX_OUTAGE_SECONDS = 3, 12, 10


class Writer(threading.Thread):
    """Adds 1 to its own counter and to a counter that all writers share, until `is_over`. `acknowledged` counts its writes."""

    def __init__(self, number, ports, seed):
        super().__init__(daemon=True)
        self.number, self.ports, self.rng = number, ports, random.Random(seed)
        self.acknowledged, self.attempts, self.is_over, self.last_success, self.failure = 0, 0, False, time.monotonic(), None

    def run(self):
        connections = {}
        try:
            while not self.is_over:
                self.write(connections, f"{self.number}-{self.acknowledged + 1}")
                self.acknowledged += 1
                self.last_success = time.monotonic()
        except Exception as error:  # The main thread reports the failure.
            self.failure = error

    def write(self, connections, name):
        """Sends a write with the Idempotency-Key `name` to random daemons until a daemon acknowledges it."""
        body = {"do": [{"op": "add", "suite": "test", "key": key, "by": 1} for key in ("all", f"own-{self.number}")]}
        while True:
            port = self.rng.choice(self.ports)
            self.attempts += 1
            try:
                if port not in connections:
                    connections[port] = Connection(port, timeout=15)
                answer = connections[port].request("POST", "/v1/transaction", body, [("Idempotency-Key", name)],
                                                   expect=(200, 503))
            except (OSError, http.client.HTTPException):
                with contextlib.suppress(KeyError):
                    connections.pop(port).close()
                time.sleep(0.05)
                continue
            if answer.status == 200:
                return
            time.sleep(0.05)


class ClusterTest:
    """The members, the daemons, and the number of faults of each kind."""

    def __init__(self, program, folder, etcd, seed):
        self.etcd, self.rng = etcd, random.Random(seed)
        options = {"etcd": {"endpoints": [service.origin for service in etcd], "prefix": "test"},
                   "snapshot": {"journalBytes": 200_000, "intervalSeconds": 2}}
        self.daemons = [Settingsd(program, folder / f"daemon-{number}", options=options,
                                  address=f"127.0.0.1:{free_port()}") for number in range(DAEMONS)]
        self.fault_counts = {}

    def cause_fault(self):
        """Causes a random fault and ends it. Returns the name of the fault."""
        kind = self.rng.choice([self.daemon_killed, self.daemon_stopped, self.daemon_paused, self.member_killed,
                                   self.member_paused, self.majority_paused, self.all_killed])
        self.fault_counts[kind.__name__] = self.fault_counts.get(kind.__name__, 0) + 1
        kind()
        return kind.__name__

    def sleep_randomly(self, max_seconds):
        time.sleep(self.rng.uniform(0, max_seconds))

    def daemon_killed(self):
        daemon = self.rng.choice(self.daemons)
        daemon.kill()
        self.sleep_randomly(1)
        daemon.start()

    def daemon_stopped(self):
        daemon = self.rng.choice(self.daemons)
        daemon.stop()
        daemon.start()

    def daemon_paused(self):
        self.pause([self.rng.choice(self.daemons)], 3)

    def member_killed(self):
        member = self.rng.choice(self.etcd)
        member.kill()
        self.sleep_randomly(3)
        member.launch()

    def member_paused(self):
        self.pause([self.rng.choice(self.etcd)], 3)

    def majority_paused(self):
        self.pause(self.rng.sample(self.etcd, 2), 6)

    def all_killed(self):
        for service in (*self.etcd, *self.daemons):
            service.kill()
        for member in self.etcd:
            member.launch()
        for daemon in self.daemons:
            daemon.launch()
        for daemon in self.daemons:
            daemon.await_ready()

    def pause(self, services, max_seconds):
        for service in services:
            service.process.send_signal(signal.SIGSTOP)
        try:
            self.sleep_randomly(max_seconds)
        finally:
            for service in services:
                service.process.send_signal(signal.SIGCONT)

    def check(self, writers):
        """Compares the counters of all daemons with the writes. Returns a list of errors."""
        errors, states = [], set()
        for daemon in self.daemons:
            with Connection(daemon.port) as connection:
                answer = connection.request("GET", "/v1/suites/test?wait=60", None, [("Settings-Fresh", "true")])
                values = answer.json()["values"]
                states.add((answer.body, answer.fields["settings-cursor"]))
                if values["all"] != sum(writer.acknowledged for writer in writers):
                    errors.append(f"the counter of all writers at {daemon.origin} is {values['all']}, not "
                                  f"{sum(writer.acknowledged for writer in writers)}")
                for writer in writers:
                    if values[f"own-{writer.number}"] != writer.acknowledged:
                        errors.append(f"the counter of writer {writer.number} at {daemon.origin} is "
                                      f"{values[f'own-{writer.number}']}, not {writer.acknowledged}")
        if len(states) != 1:
            errors.append(f"the states of the daemons differ; their cursors are {sorted(cursor for _, cursor in states)}")
        return errors


def run(program, folder, minutes, seed):
    """Runs the test for `minutes`. Prints a summary. Returns a list of errors."""
    with contextlib.ExitStack() as stack:
        # `members` runs no benchmark, so the rounds and the seconds are not used.
        etcd = members(Bench(program, folder, rounds=1, seconds=1), stack)
        test = ClusterTest(program, folder, etcd, seed)
        for daemon in test.daemons:
            daemon.start()
            stack.callback(daemon.kill)
        with Connection(test.daemons[0].port) as connection:
            names = ["all", *(f"own-{number}" for number in range(WRITERS))]
            connection.request("PATCH", "/v1/suites/test", dict.fromkeys(names, 0))
        writers = [Writer(number, [daemon.port for daemon in test.daemons], seed + number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        errors = cause_faults(test, writers, time.monotonic() + 60 * minutes)
        for writer in writers:
            writer.is_over = True
        for writer in writers:
            writer.join(60)
            if writer.is_alive():
                errors.append(f"writer {writer.number} got no answer for a minute")
            elif writer.failure and not errors:
                errors.append(f"writer {writer.number}: {writer.failure!r}")
        errors += test.check(writers)
    faults = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(test.fault_counts.items()))
    writes, attempts = sum(writer.acknowledged for writer in writers), sum(writer.attempts for writer in writers)
    print(f"{writes} writes in {attempts} attempts; {faults}; longest outage {test.longest_outage:.1f} s")
    return errors


def cause_faults(test, writers, end):
    """Causes faults until the time `end`. After each fault, waits until all writers succeed. Returns a list of errors."""
    errors, test.longest_outage = [], 0
    while time.monotonic() < end and not errors:
        fault = test.cause_fault()
        fault_end = time.monotonic()
        while any(writer.last_success < fault_end for writer in writers) and time.monotonic() < fault_end + 60:
            time.sleep(0.01)
            if failed := [writer for writer in writers if writer.failure]:
                return [f"writer {writer.number}: {writer.failure!r}" for writer in failed]
        outage = time.monotonic() - fault_end
        test.longest_outage = max(test.longest_outage, outage)
        if outage > MAX_OUTAGE_SECONDS:
            errors.append(f"after {fault}, the writers did not succeed for {outage:.1f} s")
    return errors
