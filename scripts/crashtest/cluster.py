"""Has daemons share three members of etcd, writes to all of them, and kills and pauses both kinds again and again.

Each write adds one to a counter under an Idempotency-Key and is repeated, at any daemon, until one answers. In the end
each counter has to be what its writes make of it: none lost, none done twice. All daemons have to agree to the byte,
in one epoch. After each fault, writes have to flow again within ten seconds.
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

DAEMONS, WRITERS, FLOW_SECONDS = 3, 12, 10


class Writer(threading.Thread):
    """Adds to a counter of its own, and to one that all share."""

    def __init__(self, number, ports, seed):
        super().__init__(daemon=True)
        self.number, self.ports, self.chance = number, ports, random.Random(seed)
        self.done, self.attempts, self.is_over, self.last, self.failure = 0, 0, False, time.monotonic(), None

    def run(self):
        connections = {}
        try:
            while not self.is_over:
                self.write(connections, f"{self.number}-{self.done + 1}")
                self.done += 1
                self.last = time.monotonic()
        except Exception as error:  # the main thread reports the error
            self.failure = error

    def write(self, connections, name):
        """One write, at one daemon after the other until it is answered."""
        body = {"do": [{"op": "add", "suite": "test", "key": key, "by": 1} for key in ("all", f"own-{self.number}")]}
        while True:
            port = self.chance.choice(self.ports)
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
    """The members, the daemons, the writers, and what was done to them."""

    def __init__(self, program, folder, etcd, seed):
        self.etcd, self.chance = etcd, random.Random(seed)
        options = {"etcd": {"endpoints": [service.origin for service in etcd], "prefix": "test"},
                   "snapshot": {"journalBytes": 200_000, "intervalSeconds": 2}}
        self.daemons = [Settingsd(program, folder / f"daemon-{number}", options=options,
                                  address=f"127.0.0.1:{free_port()}") for number in range(DAEMONS)]
        self.tally = {}

    def fault(self):
        """Does something to a member or a daemon, and takes it back. Returns what it was."""
        kind = self.chance.choice([self.daemon_killed, self.daemon_stopped, self.daemon_paused, self.member_killed,
                                   self.member_paused, self.majority_paused, self.all_killed])
        self.tally[kind.__name__] = self.tally.get(kind.__name__, 0) + 1
        kind()
        return kind.__name__

    def rest(self, longest):
        time.sleep(self.chance.uniform(0, longest))

    def daemon_killed(self):
        daemon = self.chance.choice(self.daemons)
        daemon.kill()
        self.rest(1)
        daemon.start()

    def daemon_stopped(self):
        daemon = self.chance.choice(self.daemons)
        daemon.stop()
        daemon.start()

    def daemon_paused(self):
        self.pause([self.chance.choice(self.daemons)], 3)

    def member_killed(self):
        member = self.chance.choice(self.etcd)
        member.kill()
        self.rest(3)
        member.launch()

    def member_paused(self):
        self.pause([self.chance.choice(self.etcd)], 3)

    def majority_paused(self):
        self.pause(self.chance.sample(self.etcd, 2), 6)

    def all_killed(self):
        for service in (*self.etcd, *self.daemons):
            service.kill()
        for member in self.etcd:
            member.launch()
        for daemon in self.daemons:
            daemon.launch()
        for daemon in self.daemons:
            daemon.await_ready()

    def pause(self, services, longest):
        for service in services:
            service.process.send_signal(signal.SIGSTOP)
        try:
            self.rest(longest)
        finally:
            for service in services:
                service.process.send_signal(signal.SIGCONT)

    def check(self, writers):
        """Compares what all daemons have with what the writers did; returns what is wrong."""
        wrong, worlds = [], set()
        for daemon in self.daemons:
            with Connection(daemon.port) as connection:
                answer = connection.request("GET", "/v1/suites/test?wait=60", None, [("Settings-Fresh", "true")])
                values = answer.json()["values"]
                worlds.add((answer.body, answer.fields["settings-cursor"]))
                if values["all"] != sum(writer.done for writer in writers):
                    wrong.append(f"{daemon.origin} counts {values['all']} writes of all, not "
                                 f"{sum(writer.done for writer in writers)}")
                for writer in writers:
                    if values[f"own-{writer.number}"] != writer.done:
                        wrong.append(f"{daemon.origin} counts {values[f'own-{writer.number}']} writes of writer "
                                     f"{writer.number}, not {writer.done}")
        if len(worlds) != 1:
            wrong.append(f"the daemons do not agree: {sorted(world[1] for world in worlds)}")
        return wrong


def run(program, folder, minutes, seed):
    """Lets it go on for so long. Prints what happened; returns what is wrong."""
    with contextlib.ExitStack() as stack:
        etcd = members(Bench(program, folder, 1, 1), stack)
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
        wrong = rage(test, writers, time.monotonic() + 60 * minutes)
        for writer in writers:
            writer.is_over = True
        for writer in writers:
            writer.join(60)
            if writer.is_alive():
                wrong.append(f"writer {writer.number} got no answer for a minute")
        wrong += test.check(writers)
    faults = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(test.tally.items()))
    writes, attempts = sum(writer.done for writer in writers), sum(writer.attempts for writer in writers)
    print(f"{writes} writes in {attempts} attempts; {faults}; {test.slowest:.1f} s until writes flowed at the most")
    return wrong


def rage(test, writers, end):
    """Does one thing after the other until the time is over; returns what was wrong."""
    wrong, test.slowest = [], 0
    while time.monotonic() < end and not wrong:
        kind = test.fault()
        over = time.monotonic()
        while any(writer.last < over for writer in writers) and time.monotonic() < over + 60:
            time.sleep(0.01)
            if failed := [writer for writer in writers if writer.failure]:
                return [f"writer {writer.number}: {writer.failure!r}" for writer in failed]
        flow = time.monotonic() - over
        test.slowest = max(test.slowest, flow)
        if flow > FLOW_SECONDS:
            wrong.append(f"after {kind}, writes flowed again after {flow:.1f} s")
    return wrong
