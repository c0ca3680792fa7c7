"""What much costs: memory at rest, and a million settings from loading to snapshot, restart and reading."""

import random
import time

from harness.daemon import ALWAYS, INTERVAL, SNAPSHOTS, snapshot_options
from harness.http import Connection, render

from .bench import CLIENTS, each, fill
from .load import LoadFailed, Wrk, wrk, write_requests
from .pauses import Pauses
from .report import Required, absolute, compared, cost, megabytes, milliseconds
from .writing import Writes, our_put, revision

MILLION, FEW, SUITES = 1_000_000, 1000, 100
RANDOM_REQUESTS = 100_000
MEGABYTE = 1e6

# By the first figure the history has its full length, snapshots were written (the daemon holds two states meanwhile), and the
# heap has its lasting gaps. Freed memory goes back to the system every four seconds.
REWRITES, TIDYING_SECONDS = 1_000_000, 5

# A snapshot is provoked by one value larger than the journal may grow.
JOURNAL_BYTES = 256 * 1024


def memory(bench):
    """Resident memory of a daemon that has just started on an empty directory."""
    figures = []
    for _ in range(bench.rounds):
        with bench.settingsd() as daemon:
            with Connection(daemon.port) as connection:
                connection.request("GET", "/healthz")
            figures.append(daemon.resident_bytes())
    yield absolute("resident, idle", megabytes, figures, Required("<=", 16 * MEGABYTE))


def rewrites(bench):
    """1,000,000 PUTs onto the same 100,000 settings: resident memory after them and before."""
    file = Writes(bench).file(our_put)
    with bench.settingsd(INTERVAL) as daemon, Connection(daemon.port) as connection:
        def resident_after_rewrites():
            bench.progress(f"{REWRITES:,} PUTs onto the same settings")
            end = revision(connection) + REWRITES
            load = Wrk(daemon, "", CLIENTS, 600, file)
            try:
                while load.is_running and revision(connection) < end:
                    time.sleep(0.01)
                load.finish()
                if revision(connection) < end:
                    raise LoadFailed(f"{REWRITES:,} PUTs were not done after 600 s")
            finally:
                load.kill()
            time.sleep(TIDYING_SECONDS)
            return daemon.resident_bytes()

        first, last = (resident_after_rewrites() for _ in range(2))
    yield compared(f"resident after {REWRITES:,} more PUTs", megabytes, [last], [first], "before",
                   Required("<=", 1.05), f"onto the same settings, beside what it is after the first {REWRITES:,}; measured once")


def million(bench):
    """A million settings in 100 suites: resident memory, start, pauses while they are snapshotted, cost of a GET.

    Loaded once: each figure of these is one observation of something large, except for the GETs, which are measured in alternating rounds.
    """
    data = bench.path("million")
    with bench.settingsd(data=data) as daemon:
        bench.progress("loading a million settings")
        paths = fill(daemon.port, SUITES, MILLION)
        loaded = daemon.resident_bytes()
        bench.progress("stopping, with the last snapshot")
    yield absolute("resident, 1,000,000 settings", megabytes, [loaded], Required("<=", 300 * MEGABYTE),
                   f"{SUITES} suites, keys of 20 bytes, small integers and strings")

    starts, after_start = [], []
    for number in range(bench.rounds):
        bench.progress(f"start {number + 1} of {bench.rounds} with a million settings")
        daemon = bench.settingsd(data=data)
        starts.append(daemon.start())
        after_start.append(daemon.resident_bytes())
        daemon.stop()
    yield absolute("start with 1,000,000", lambda value: f"{value:.2f} s", starts, Required("<=", 3))
    yield absolute("resident after that start", megabytes, after_start, Required("<=", 300 * MEGABYTE))

    yield from snapshot_pauses(bench, data)
    yield from growth(bench, data, paths)


def snapshot_pauses(bench, data):
    """The slowest PUT and GET from when a snapshot of a million settings is provoked until it stands."""
    bench.progress("pauses while a million settings are snapshotted")
    with bench.settingsd(ALWAYS, snapshot_options(journal_bytes=JOURNAL_BYTES), data) as daemon:
        known = set(data.glob(SNAPSHOTS))
        with Pauses(daemon.port, {
            "PUT": (render("PUT", "/v1/suites/suite-000/keys/pauses", value) for value in range(10**9)),
            "GET": (render("GET", "/v1/suites/suite-099/keys/player.volume.000001") for _ in range(10**9)),
        }) as pauses:
            with Connection(daemon.port) as connection:
                connection.request("PUT", "/v1/suites/provoke/keys/large", "x" * (2 * JOURNAL_BYTES))
            seconds = pauses.until(lambda: set(data.glob(SNAPSHOTS)) - known, within=60)
    for name, (count, slowest) in pauses.slowest.items():
        yield absolute(f"slowest {name} meanwhile", milliseconds, [slowest],
                       Required("<=", 0.025), f"of {count:,} in the {seconds:.2f} s the snapshot took")


def growth(bench, data, paths):
    """GETs of settings chosen at random, from few and from a million; the same load otherwise."""
    random.seed(1)
    with bench.settingsd() as small, bench.settingsd(data=data) as large:
        few = fill(small.port, SUITES, FEW)
        files = {name: write_requests(bench.path(name), [render("GET", path) for path in
                                                         random.choices(among, k=RANDOM_REQUESTS)])
                 for name, among in (("few", few), ("many", paths))}
        loads = bench.in_rounds(
            few=lambda: wrk(small, "", CLIENTS, bench.seconds, files["few"]),
            many=lambda: wrk(large, "", CLIENTS, bench.seconds, files["many"]))
    seconds = {name: [1e6 / rate for rate in each(load, "requests_per_second")] for name, load in loads.items()}
    yield compared("cost of a GET among 1,000,000", lambda value: f"{value:.2f} us", seconds["many"], seconds["few"],
                   "among 1,000", Required("<=", 1.3), "settings at random over all suites; cost is time over requests",
                   (cost(loads["many"]), cost(loads["few"])))
