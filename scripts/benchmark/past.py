"""Benchmarks of a long history: memory, start, and reads of states at early revisions.

`past` yields rows of the table of scripts/bench: `absolute` makes a row with a figure without another server. `Required` is the limit
for the figure.
"""

import random
import statistics
import time

from harness.daemon import INTERVAL
from harness.http import Connection, render

from .bench import CLIENTS
from .load import LoadFailed, Wrk, write_requests
from .report import Required, absolute, megabytes, milliseconds
from .size import MEGABYTE, MEMORY_RETURN_SECONDS
from .writing import revision

# Each key gets VERSIONS different values in rotation, so that each PUT changes its key.
COMMITS, KEYS, VALUE_BYTES, VERSIONS = 1_000_000, 1000, 200, 10
READS = 200
HISTORY = {"history": {"days": 90}}


def past(bench):
    """1,000,000 commits of 200 bytes with history.days 90: memory, start, reads at early revisions

    The memory and the start are differences to a daemon with the same keys, only 1,000 commits, and no history.days. The
    commits are written once, not in each round.
    """
    # With its quotation marks, the JSON of a value has VALUE_BYTES bytes.
    puts = [render("PUT", f"/v1/suites/app/keys/key:{key:04d}", f"{version}".rjust(VALUE_BYTES - 2, "x"))
            for version in range(VERSIONS) for key in range(KEYS)]
    memory, starts, reads = {}, {}, []
    for name, commits, options in (("without", KEYS, None), ("with", COMMITS, HISTORY)):
        data = bench.path(name)
        with bench.settingsd(INTERVAL, options, data) as daemon:
            bench.progress(f"{commits:,} commits")
            write_commits(bench, daemon, puts, commits)
            memory[name] = daemon.resident_bytes()
            if commits == COMMITS:
                reads = time_reads(daemon, commits)
        starts[name] = []
        for _ in range(bench.rounds):
            daemon = bench.settingsd(INTERVAL, options, data)
            starts[name].append(daemon.start())
            daemon.stop()
    yield absolute("resident memory with 1,000,000 commits", megabytes, [memory["with"] - memory["without"]],
                   Required("<=", 100 * MEGABYTE), f"the increase over {KEYS:,} commits; history.days 90")
    yield absolute("start with 1,000,000 commits", milliseconds,
                   [statistics.median(starts["with"]) - statistics.median(starts["without"])], Required("<=", 1),
                   f"the increase over {KEYS:,} commits")
    yield absolute("GET with ?at=, early revisions", milliseconds, reads, Required("<=", 0.05),
                   f"a suite of {KEYS:,} keys at random revisions")
    yield absolute("GET with ?at=, early revisions, slowest", milliseconds, [max(reads)], Required("<=", 0.05),
                   f"of {READS} reads")


def write_commits(bench, daemon, puts, commits):
    """Sends PUTs until the daemon has made the commits, and waits until it has returned freed memory to the kernel."""
    with Connection(daemon.port) as connection:
        if commits <= len(puts):
            for put in puts[:commits]:
                connection.exchange(put)
        else:
            load = Wrk(daemon, "", CLIENTS, 600, write_requests(bench.path("requests"), puts))
            try:
                while load.is_running and revision(connection) < commits:
                    time.sleep(0.01)
                load.finish()
                if revision(connection) < commits:
                    raise LoadFailed(f"the daemon did not make {commits:,} commits within 600 s")
            finally:
                load.kill()
        time.sleep(MEMORY_RETURN_SECONDS)


def time_reads(daemon, commits):
    """Returns the seconds of each of READS reads of the suite, at random revisions in the first 90 % of the history."""
    random.seed(1)
    seconds = []
    with Connection(daemon.port) as connection:
        for _ in range(READS):
            revision_read = random.randrange(KEYS, commits * 9 // 10)
            start = time.monotonic()
            connection.request("GET", f"/v1/suites/app?at={revision_read}")
            seconds.append(time.monotonic() - start)
    return seconds
