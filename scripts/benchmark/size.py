"""Benchmarks of memory and of a million settings: loading, start, snapshot, reads.

Each function yields rows of the table of scripts/bench: `compared` makes a row with the ratio of two figures of the daemon (later
and earlier, or with many and with few settings), `absolute` a row with one figure. `Required` is the limit for the ratio or for
the figure.
"""

import random
import time

from harness.daemon import ALWAYS, INTERVAL, SNAPSHOTS, snapshot_options
from harness.http import Connection, render

from .bench import CLIENTS, fill, values_of
from .load import LoadFailed, Wrk, wrk, write_requests
from .pauses import Pauses
from .report import Required, absolute, compared, cost, megabytes, milliseconds
from .writing import Writes, our_put, revision

MILLION, FEW, SUITES = 1_000_000, 1000, 100
RANDOM_REQUESTS = 100_000
MEGABYTE = 1e6

# After this number of PUTs, the history has its full length, the daemon has written snapshots (during each, it keeps the
# state of the snapshot besides the current state), and more PUTs do not fragment the heap further. The daemon returns freed
# memory to the kernel every four seconds.
REWRITES, MEMORY_RETURN_SECONDS = 1_000_000, 5

# The maximum size of the journal. A write of a larger value causes a snapshot.
JOURNAL_BYTES = 256 * 1024


def memory(bench):
    """Resident memory of a daemon that has just started with an empty directory"""
    figures = []
    for _ in range(bench.rounds):
        with bench.settingsd() as daemon:
            with Connection(daemon.port) as connection:
                connection.request("GET", "/healthz")
            figures.append(daemon.resident_bytes())
    yield absolute("resident memory, idle", megabytes, figures, Required("<=", 16 * MEGABYTE))


def rewrites(bench):
    """2,000,000 PUTs of the same 100,000 settings: resident memory after the first million and after the second million"""
    file = Writes(bench).file(our_put)
    with bench.settingsd(INTERVAL) as daemon, Connection(daemon.port) as connection:
        def resident_after_rewrites():
            bench.progress(f"{REWRITES:,} PUTs of the same settings")
            end = revision(connection) + REWRITES
            load = Wrk(daemon, "", CLIENTS, 600, file)
            try:
                while load.is_running and revision(connection) < end:
                    time.sleep(0.01)
                load.finish()
                if revision(connection) < end:
                    raise LoadFailed(f"the daemon did not process {REWRITES:,} PUTs within 600 s")
            finally:
                load.kill()
            time.sleep(MEMORY_RETURN_SECONDS)
            return daemon.resident_bytes()

        first, last = (resident_after_rewrites() for _ in range(2))
    yield compared(f"resident memory after {2 * REWRITES:,} PUTs", megabytes, [last], [first], f"after {REWRITES:,}",
                   Required("<=", 1.05), "of the same settings; measured once")


def million(bench):
    """A million settings in 100 suites: resident memory, start, latencies during a snapshot, cost of a GET

    The settings are stored once. Only the starts and the GETs run in rounds; the other figures are measured once.
    """
    data = bench.path("million")
    with bench.settingsd(data=data) as daemon:
        bench.progress("storing a million settings")
        paths = fill(daemon.port, SUITES, MILLION)
        loaded = daemon.resident_bytes()
        bench.progress("stopping; the daemon writes its last snapshot")
    yield absolute("resident memory, 1,000,000 settings", megabytes, [loaded], Required("<=", 300 * MEGABYTE),
                   f"{SUITES} suites, keys of 20 bytes, small integers and strings")

    starts, after_start = [], []
    for number in range(bench.rounds):
        bench.progress(f"start {number + 1} of {bench.rounds} with a million settings")
        daemon = bench.settingsd(data=data)
        starts.append(daemon.start())
        after_start.append(daemon.resident_bytes())
        daemon.stop()
    yield absolute("start with 1,000,000 settings", lambda value: f"{value:.2f} s", starts, Required("<=", 3))
    yield absolute("resident memory after this start", megabytes, after_start, Required("<=", 300 * MEGABYTE))

    yield from snapshot_pauses(bench, data)
    yield from get_costs(bench, data, paths)


def snapshot_pauses(bench, data):
    """The slowest PUT and GET while the daemon writes a snapshot of a million settings."""
    bench.progress("latencies during a snapshot of a million settings")
    with bench.settingsd(ALWAYS, snapshot_options(journal_bytes=JOURNAL_BYTES), data) as daemon:
        existing = set(data.glob(SNAPSHOTS))
        with Pauses(daemon.port, {
            "PUT": (render("PUT", "/v1/suites/suite-000/keys/pauses", value) for value in range(10**9)),
            "GET": (render("GET", "/v1/suites/suite-099/keys/player.volume.000001") for _ in range(10**9)),
        }) as pauses:
            with Connection(daemon.port) as connection:
                connection.request("PUT", "/v1/suites/large/keys/large", "x" * (2 * JOURNAL_BYTES))
            seconds = pauses.run_until(lambda: set(data.glob(SNAPSHOTS)) - existing, within=60)
    for name, (count, slowest) in pauses.slowest.items():
        yield absolute(f"slowest {name} during the snapshot", milliseconds, [slowest],
                       Required("<=", 0.025), f"of {count:,} in the {seconds:.2f} s of the snapshot")


def get_costs(bench, data, paths):
    """The cost of a GET of a random setting of a million, compared with a GET of a random setting of 1,000."""
    random.seed(1)
    with bench.settingsd() as small, bench.settingsd(data=data) as large:
        few = fill(small.port, SUITES, FEW)
        files = {name: write_requests(bench.path(name), [render("GET", path) for path in
                                                         random.choices(all_paths, k=RANDOM_REQUESTS)])
                 for name, all_paths in (("few", few), ("many", paths))}
        loads = bench.run_rounds(
            few=lambda: wrk(small, "", CLIENTS, bench.seconds, files["few"]),
            many=lambda: wrk(large, "", CLIENTS, bench.seconds, files["many"]))
    microseconds = {name: [1e6 / rate for rate in values_of(load, "requests_per_second")] for name, load in loads.items()}
    yield compared("cost of a GET among 1,000,000", lambda value: f"{value:.2f} us", microseconds["many"], microseconds["few"],
                   "among 1,000", Required("<=", 1.3), "random settings; the cost is the duration divided by the number of requests",
                   (cost(loads["many"]), cost(loads["few"])))
