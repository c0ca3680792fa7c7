"""Observing: how soon watchers are woken, what it costs to have them, how everybody else fares beside them."""

import itertools
import statistics
import time
from dataclasses import dataclass

from harness.http import Connection, render

from .bench import CLIENTS, each
from .load import LoadFailed, wrk, write_requests
from .peers import Etcd
from .reading import SETTING
from .report import (Required, absolute, compared, compared_loads, kilobytes, microseconds, milliseconds, per_second,
                     percent)
from .watching import WATCHED, Watchers

MANY = 10_000
SPREAD, SPREAD_KEYS = 18_000, 1000
WAKES = 5
REPOLLING = 100
VALUES = 100_000

# The time that the daemon waits if the request does not name a time. Deadlines are drawn from its last tenth, so that each watcher asks
# again about once in this time, and a shorter measurement might see none of the requests or all.
WAIT = 30


def observe(bench):
    """Watchers: how soon they are woken, what each takes of memory and CPU, what they cost others."""
    yield from one_key(bench)
    yield from many_keys(bench)
    yield from reading_beside(bench)
    yield from writing_beside(bench)
    yield from idle(bench)


@dataclass(frozen=True)
class Woken:
    """10,000 watchers of one key at a server that had none before; bytes are resident ones for each."""

    seconds: float
    waiting_bytes: float
    woken_bytes: float


def one_key(bench):
    """A PUT that wakes 10,000, beside etcd; memory for each of them. Servers are new in each round, for what was freed
    stays resident."""
    def measure(name, service):
        with service, Watchers(bench, name, service.port, MANY) as watchers:
            before = service.resident_bytes()
            watchers.watch()
            waiting = service.resident_bytes()
            seconds = statistics.median(watchers.wake(WAKES))
            woken = service.resident_bytes()
        return Woken(seconds, (waiting - before) / MANY, (woken - before) / MANY)

    runs = bench.in_rounds(settingsd=lambda: measure("settingsd", bench.settingsd()),
                          etcd=lambda: measure("etcd", bench.peer(Etcd)))
    ours, theirs = runs["settingsd"], runs["etcd"]
    yield compared(f"PUT that wakes {MANY:,} watchers", milliseconds, each(ours, "seconds"), each(theirs, "seconds"),
                   "etcd", Required("<=", 0.4), f"until the last has its answer; in each round the median of {WAKES}")
    peer, ours_woken, peer_woken = (
        kilobytes(statistics.median(each(series, figure)))
        for series, figure in ((theirs, "waiting_bytes"), (ours, "woken_bytes"), (theirs, "woken_bytes")))
    yield absolute("resident, for each that waits", kilobytes, each(ours, "waiting_bytes"), Required("<=", 2e3),
                   f"with its connection; etcd {peer}; when each was woken {WAKES} times and waits again: {ours_woken}, "
                   f"etcd {peer_woken}")


def many_keys(bench):
    """A PUT that wakes the 18 watchers of its key among 18,000."""
    with bench.settingsd() as daemon, Watchers(bench, "settingsd", daemon.port, SPREAD, SPREAD_KEYS) as watchers:
        bench.progress(f"{SPREAD:,} watchers connect")
        watchers.watch()
        rounds = bench.in_rounds(wakes=lambda: [1e6 * seconds for seconds in watchers.wake(SPREAD_KEYS)])["wakes"]
    slowest = max(itertools.chain(*rounds))
    yield absolute(f"PUT that wakes {SPREAD // SPREAD_KEYS} of {SPREAD:,}", microseconds,
                   [statistics.median(wakes) for wakes in rounds], Required("<=", 2000),
                   f"medians of {SPREAD_KEYS:,} PUTs, each to another key; the slowest of all took "
                   f"{microseconds(slowest)}")


def reading_beside(bench):
    """GETs of an unwatched setting, with and without 10,000 idle watchers of another one."""
    with bench.settingsd() as daemon:
        with Connection(daemon.port) as connection:
            connection.request("PUT", SETTING, 42)

        def alone():
            await_unwatched(daemon.port)
            return wrk(daemon, SETTING, CLIENTS, bench.seconds)

        def beside():
            with Watchers(bench, "settingsd", daemon.port, MANY) as watchers:
                watchers.watch()
                return wrk(daemon, SETTING, CLIENTS, bench.seconds)

        loads = bench.in_rounds(alone=alone, beside=beside)
    yield compared_loads(f"GET beside {MANY:,} that wait", per_second, "requests_per_second", loads["beside"],
                         loads["alone"], "none waiting", Required(">=", 0.95))


def writing_beside(bench):
    """PUTs of one setting, each of another value, with 100 watchers who ask again at once, and without."""
    requests = write_requests(bench.path("requests"), (render("PUT", WATCHED, value) for value in range(VALUES)))
    with bench.settingsd() as daemon:
        def alone(clients):
            await_unwatched(daemon.port)
            return wrk(daemon, "", clients, bench.seconds, requests), 0

        def watched(clients):
            with Watchers(bench, "settingsd", daemon.port, REPOLLING) as watchers:
                watchers.watch()
                load = wrk(daemon, "", clients, bench.seconds, requests)
                answers = watchers.answers()
            if answers < REPOLLING:
                raise LoadFailed(f"{REPOLLING} watchers of what was put all the time had {answers} answers")
            return load, answers / bench.seconds

        runs = bench.in_rounds(**{
            "alone": lambda: alone(CLIENTS), "watched": lambda: watched(CLIENTS),
            "alone, one client": lambda: alone(1), "watched, one client": lambda: watched(1)})
    loads = {name: [load for load, _ in run] for name, run in runs.items()}
    for clients, suffix in ((CLIENTS, ""), (1, ", one client")):
        answers = statistics.median(rate for _, rate in runs["watched" + suffix])
        yield compared_loads(f"PUT watched by {REPOLLING}{suffix}", per_second, "requests_per_second",
                             loads["watched" + suffix], loads["alone" + suffix], "unwatched", Required(">=", 0.3),
                             f"the watchers have {per_second(answers)} meanwhile")


def idle(bench):
    """CPU that the daemon takes for 10,000 idle watchers; they ask again at their deadlines."""
    with bench.settingsd() as daemon, Watchers(bench, "settingsd", daemon.port, MANY, wait=WAIT) as watchers:
        watchers.watch()

        def measure():
            began, before = time.monotonic(), daemon.cpu_seconds()
            time.sleep(WAIT)
            return (daemon.cpu_seconds() - before) / (time.monotonic() - began)

        shares = bench.in_rounds(idle=measure)["idle"]
        answers = watchers.answers() / len(shares)
    if answers < 0.9 * MANY:
        raise LoadFailed(f"of {MANY:,} who waited for {WAIT} s, {answers:,.0f} were answered in that time")
    yield absolute(f"CPU for {MANY:,} that wait", percent, shares, Required("<=", 0.01),
                   f"of one core, over {WAIT} s at a time, in which {answers:,.0f} asked again at their deadlines")


def await_unwatched(port):
    """Returns when the daemon has noticed that the last watchers are gone."""
    give_up = time.monotonic() + 60
    with Connection(port) as connection:
        while b"\nsettingsd_watchers 0\n" not in connection.request("GET", "/metrics").body:
            if time.monotonic() > give_up:
                raise LoadFailed("watchers who are gone are still counted after 60 s")
            time.sleep(0.01)
