"""What a long history costs: memory, start, and reads of the far past."""

import random
import statistics
import time

from harness.daemon import INTERVAL
from harness.http import Connection, render

from .bench import CLIENTS
from .load import LoadFailed, Wrk, write_requests
from .report import Required, absolute, megabytes, milliseconds
from .size import MEGABYTE, TIDYING_SECONDS
from .writing import revision

COMMITS, KEYS, VALUE_BYTES, VERSIONS = 1_000_000, 1000, 200, 10
READS = 200
HISTORY = {"history": {"days": 90}}


def past(bench):
    """1,000,000 commits of 200 bytes with history.days 90: memory, start, reads of the far past.

    Beside the same settings without a history. Loaded once.
    """
    puts = [render("PUT", f"/v1/suites/app/keys/key:{key:04d}", f"{version}".rjust(VALUE_BYTES - 2, "x"))
            for version in range(VERSIONS) for key in range(KEYS)]
    memory, starts, reads = {}, {}, []
    for name, commits, options in (("without", KEYS, None), ("with", COMMITS, HISTORY)):
        data = bench.path(name)
        with bench.settingsd(INTERVAL, options, data) as daemon:
            bench.progress(f"{commits:,} commits")
            write(bench, daemon, puts, commits)
            memory[name] = daemon.resident_bytes()
            if commits == COMMITS:
                reads = read(daemon, commits)
        starts[name] = []
        for _ in range(bench.rounds):
            daemon = bench.settingsd(INTERVAL, options, data)
            starts[name].append(daemon.start())
            daemon.stop()
    yield absolute("resident with 1,000,000 commits", megabytes, [memory["with"] - memory["without"]],
                   Required("<=", 100 * MEGABYTE), f"more than with {KEYS:,} commits; history.days 90, memory at its defaults")
    yield absolute("start with 1,000,000 commits", milliseconds,
                   [statistics.median(starts["with"]) - statistics.median(starts["without"])], Required("<=", 1),
                   f"longer than with {KEYS:,} commits")
    yield absolute("?at= in the far past", milliseconds, reads, Required("<=", 0.05),
                   f"a suite of {KEYS:,} keys as of any revision")
    yield absolute("?at= in the far past, slowest", milliseconds, [max(reads)], Required("<=", 0.05),
                   f"of {READS}")


def write(bench, daemon, puts, commits):
    """Has so many commits made, of settings that change each time, and waits until freed memory is given back."""
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
                    raise LoadFailed(f"{commits:,} PUTs were not done after 600 s")
            finally:
                load.kill()
        time.sleep(TIDYING_SECONDS)


def read(daemon, commits):
    """The times of reads of a suite as it was."""
    random.seed(1)
    seconds = []
    with Connection(daemon.port) as connection:
        for _ in range(READS):
            revision = random.randrange(KEYS, commits * 9 // 10)
            begun = time.monotonic()
            connection.request("GET", f"/v1/suites/app?at={revision}")
            seconds.append(time.monotonic() - begun)
    return seconds
