"""Benchmarks of watchers: how soon they are notified, their memory and processor time, their effect on other clients.

Each function yields rows of the table of scripts/bench: `compared` makes a row with the ratio to another server, `absolute` a
row with a figure without another server. `Required` is the limit for the ratio or for the figure.
"""

import itertools
import statistics
import time
from dataclasses import dataclass

from harness.http import Connection, render

from .bench import CLIENTS, values_of
from .load import LoadFailed, wrk, write_requests
from .peers import Etcd
from .reading import SETTING
from .report import (Required, absolute, compared, compared_loads, kilobytes, microseconds, milliseconds, per_second,
                     percent)
from .watching import WATCHED, Watchers

WATCHERS = 10_000
# A row with watchers of many keys: 18 watchers for each of 1000 keys.
MANY_KEYS_WATCHERS, MANY_KEYS = 18_000, 1000
NOTIFICATIONS = 5
REPOLLING_WATCHERS = 100
VALUES = 100_000

# The default wait of a long poll. The daemon answers an idle long poll at a random time in the last tenth of the wait. A
# measurement of this length therefore includes about one answer and one new request of each watcher.
WAIT_SECONDS = 30


def observe(bench):
    """Watchers: how soon they are notified, their memory and CPU time, their effect on reads and writes"""
    yield from one_key(bench)
    yield from many_keys(bench)
    yield from reads_with_watchers(bench)
    yield from writes_with_watchers(bench)
    yield from idle(bench)


@dataclass(frozen=True)
class NotificationCost:
    """The cost of WATCHERS watchers of one key. `seconds` is the time to notify all of them. The bytes are the resident
    memory per watcher: before the first notification, and after NOTIFICATIONS notifications."""

    seconds: float
    initial_bytes: float
    final_bytes: float


def one_key(bench):
    """A PUT that notifies 10,000 watchers, compared with etcd, and the memory per watcher. Each round starts a new server,
    because freed memory stays resident."""
    def measure(name, service):
        with service, Watchers(bench, name, service.port, WATCHERS) as watchers:
            before = service.resident_bytes()
            watchers.watch()
            initial = service.resident_bytes()
            seconds = statistics.median(watchers.notify(NOTIFICATIONS))
            final = service.resident_bytes()
        return NotificationCost(seconds, (initial - before) / WATCHERS, (final - before) / WATCHERS)

    runs = bench.run_rounds(settingsd=lambda: measure("settingsd", bench.settingsd()),
                            etcd=lambda: measure("etcd", bench.peer(Etcd)))
    ours, theirs = runs["settingsd"], runs["etcd"]
    yield compared(f"PUT that notifies {WATCHERS:,} watchers", milliseconds, values_of(ours, "seconds"),
                   values_of(theirs, "seconds"), "etcd", Required("<=", 0.4),
                   f"time until the last watcher has its answer; each round takes the median of {NOTIFICATIONS}")
    peer, ours_final, peer_final = (
        kilobytes(statistics.median(values_of(series, figure)))
        for series, figure in ((theirs, "initial_bytes"), (ours, "final_bytes"), (theirs, "final_bytes")))
    yield absolute("resident memory per watcher", kilobytes, values_of(ours, "initial_bytes"), Required("<=", 2e3),
                   f"with its connection; etcd {peer}; after {NOTIFICATIONS} notifications: {ours_final}, etcd {peer_final}")


def many_keys(bench):
    """A PUT that notifies the 18 watchers of its key, while 17,982 watchers of other keys wait."""
    with bench.settingsd() as daemon, Watchers(bench, "settingsd", daemon.port, MANY_KEYS_WATCHERS,
                                              MANY_KEYS) as watchers:
        bench.progress(f"{MANY_KEYS_WATCHERS:,} watchers connect")
        watchers.watch()
        rounds = bench.run_rounds(times=lambda: [1e6 * seconds for seconds in watchers.notify(MANY_KEYS)])["times"]
    slowest = max(itertools.chain(*rounds))
    yield absolute(f"PUT that notifies {MANY_KEYS_WATCHERS // MANY_KEYS} of {MANY_KEYS_WATCHERS:,}", microseconds,
                   [statistics.median(times) for times in rounds], Required("<=", 2000),
                   f"medians of {MANY_KEYS:,} PUTs, each to another key; the slowest took {microseconds(slowest)}")


def reads_with_watchers(bench):
    """GETs of a setting, with and without 10,000 idle watchers of another setting."""
    with bench.settingsd() as daemon:
        with Connection(daemon.port) as connection:
            connection.request("PUT", SETTING, 42)

        def unwatched():
            await_no_watchers(daemon.port)
            return wrk(daemon, SETTING, CLIENTS, bench.seconds)

        def watched():
            with Watchers(bench, "settingsd", daemon.port, WATCHERS) as watchers:
                watchers.watch()
                return wrk(daemon, SETTING, CLIENTS, bench.seconds)

        loads = bench.run_rounds(unwatched=unwatched, watched=watched)
    yield compared_loads(f"GET with {WATCHERS:,} idle watchers", per_second, "requests_per_second", loads["watched"],
                         loads["unwatched"], "no watchers", Required(">=", 0.95))


def writes_with_watchers(bench):
    """PUTs of different values to one setting, with and without 100 watchers that ask again after each answer."""
    requests = write_requests(bench.path("requests"), (render("PUT", WATCHED, value) for value in range(VALUES)))
    with bench.settingsd() as daemon:
        def unwatched(clients):
            await_no_watchers(daemon.port)
            return wrk(daemon, "", clients, bench.seconds, requests), 0

        def watched(clients):
            with Watchers(bench, "settingsd", daemon.port, REPOLLING_WATCHERS) as watchers:
                watchers.watch()
                load = wrk(daemon, "", clients, bench.seconds, requests)
                answers = watchers.answers()
            if answers < REPOLLING_WATCHERS:
                raise LoadFailed(f"{REPOLLING_WATCHERS} watchers of a setting that changed got only {answers} answers")
            return load, answers / bench.seconds

        runs = bench.run_rounds(**{
            "unwatched": lambda: unwatched(CLIENTS), "watched": lambda: watched(CLIENTS),
            "unwatched, one client": lambda: unwatched(1), "watched, one client": lambda: watched(1)})
    loads = {name: [load for load, _ in run] for name, run in runs.items()}
    for clients, suffix in ((CLIENTS, ""), (1, ", one client")):
        answers = statistics.median(rate for _, rate in runs["watched" + suffix])
        yield compared_loads(f"PUT watched by {REPOLLING_WATCHERS}{suffix}", per_second, "requests_per_second",
                             loads["watched" + suffix], loads["unwatched" + suffix], "unwatched", Required(">=", 0.3),
                             f"answers to the watchers: {per_second(answers)}")


def idle(bench):
    """CPU time of the daemon for 10,000 idle watchers, which ask again when their long polls end."""
    with bench.settingsd() as daemon, Watchers(bench, "settingsd", daemon.port, WATCHERS,
                                              wait=WAIT_SECONDS) as watchers:
        watchers.watch()

        def measure():
            start, cpu_start = time.monotonic(), daemon.cpu_seconds()
            time.sleep(WAIT_SECONDS)
            return (daemon.cpu_seconds() - cpu_start) / (time.monotonic() - start)

        shares = bench.run_rounds(idle=measure)["idle"]
        answers = watchers.answers() / len(shares)
    if answers < 0.9 * WATCHERS:
        raise LoadFailed(f"the daemon answered only {answers:,.0f} of {WATCHERS:,} long polls of {WAIT_SECONDS} s")
    yield absolute(f"CPU for {WATCHERS:,} idle watchers", percent, shares, Required("<=", 0.01),
                   f"of one core, in periods of {WAIT_SECONDS} s, in which {answers:,.0f} long polls end and start again")


def await_no_watchers(port):
    """Waits until the daemon has detected that all watchers have disconnected."""
    deadline = time.monotonic() + 60
    with Connection(port) as connection:
        while b"\nsettingsd_watchers 0\n" not in connection.request("GET", "/metrics").body:
            if time.monotonic() > deadline:
                raise LoadFailed("the daemon still counts watchers 60 s after they disconnected")
            time.sleep(0.01)
