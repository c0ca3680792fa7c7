"""Benchmarks of writes, compared with etcd and Redis at the same durability, and of reads during writes.

Each function yields rows of the table of scripts/bench: `compared` makes a row with the ratio to another server, `absolute` a
row with a figure without another server. `Required` is the limit for the ratio or for the figure.
"Protected" servers check a token and write logs.
"""

import functools
import itertools
import statistics

from harness.daemon import ALWAYS, INTERVAL
from harness.http import Connection, render

from .bench import CLIENTS, values_of
from .load import Load, LoadFailed, Meter, RedisSets, Wrk, redis_set, repeat, wrk, write_requests
from .peers import Etcd, Redis
from .reading import FORM, SETTING
from .report import (Required, absolute, compared, compared_loads, cost, microseconds, per_second,
                     microseconds_with_tenths)

KEYS, KEYS_PER_SUITE = 100_000, 1000
VALUE_BYTES = 8
OPERATIONS = 100
WRITERS = 16


class Writes:
    """Makes request files for wrk with writes of distinct keys. A file writes all keys twice with different values, and no
    two files share a value, because a daemon syncs nothing for a PUT that changes nothing."""

    def __init__(self, bench):
        self.bench = bench
        self.values = itertools.count(10 ** (VALUE_BYTES - 1))

    def file(self, request, count=KEYS):
        values = [next(self.values), next(self.values)]
        return write_requests(self.bench.path("requests"),
                              (request(number, b"%d" % value) for value in values for number in range(count)))

    def load(self, service, request, clients=CLIENTS, count=KEYS):
        """Runs wrk once, with a file of two requests for each of `count` numbers. Deletes the file after the run."""
        file = self.file(functools.partial(request, fields=service.fields), count)
        try:
            return wrk(service, "", clients, self.bench.seconds, file)
        finally:
            file.unlink()


def our_put(key, value, fields=()):
    path = f"/v1/suites/suite-{key // KEYS_PER_SUITE:03d}/keys/key:{key:012d}"
    return render("PUT", path, value, fields)


def etcd_put(key, value, fields=()):
    return render("PUT", f"/v2/keys/suite-{key // KEYS_PER_SUITE:03d}/key:{key:012d}", b"value=" + value, [*FORM, *fields])


def our_transaction(number, value, fields=()):
    """Returns a transaction that sets OPERATIONS keys. Transactions with different numbers share no key."""
    first = number * OPERATIONS
    sets = [{"op": "set", "suite": f"suite-{key // KEYS_PER_SUITE:03d}", "key": f"key:{key:012d}", "value": int(value)}
            for key in range(first, first + OPERATIONS)]
    return render("POST", "/v1/transaction", {"do": sets}, fields)


def put(bench):
    """PUTs of distinct keys with 64 clients and with one client, with durability always and interval; transactions compared with a PUT"""
    writes = Writes(bench)
    with (bench.settingsd(ALWAYS) as daemon, bench.settingsd(INTERVAL) as interval, bench.peer(Etcd) as etcd,
          bench.peer(Redis, "always") as redis, bench.peer(Redis, "everysec") as redis_everysec,
          bench.protected(ALWAYS) as protected, bench.protected(INTERVAL) as interval_protected):
        loads = bench.run_rounds(**{
            "always": lambda: writes.load(daemon, our_put),
            "always, protected": lambda: writes.load(protected, our_put),
            "etcd": lambda: writes.load(etcd, etcd_put),
            "redis always": lambda: redis_set(redis, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
            "interval": lambda: writes.load(interval, our_put),
            "interval, protected": lambda: writes.load(interval_protected, our_put),
            "redis everysec": lambda: redis_set(redis_everysec, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
            "always, one client": lambda: writes.load(daemon, our_put, 1),
            "always, protected, one client": lambda: writes.load(protected, our_put, 1),
            "redis always, one client": lambda: redis_set(redis, 1, bench.seconds, KEYS, VALUE_BYTES),
            "interval, one client": lambda: writes.load(interval, our_put, 1),
            "redis everysec, one client": lambda: redis_set(redis_everysec, 1, bench.seconds, KEYS, VALUE_BYTES),
            "always, transaction": lambda: writes.load(daemon, our_transaction, 1, KEYS // OPERATIONS),
            "interval, transaction": lambda: writes.load(interval, our_transaction, 1, KEYS // OPERATIONS),
        })
    generators = "wrk and redis-benchmark: one thread each, one request in flight for each client, no pipelining"
    for durability, peer, bound, remark in (("always", "etcd", 2, ""), ("always", "redis always", 0.7, generators),
                                            ("interval", "redis everysec", 0.7, ""),
                                            ("always, protected", "etcd", 2, ""),
                                            ("always, protected", "redis always", 0.65, ""),
                                            ("interval, protected", "redis everysec", 0.65, "")):
        yield compared_loads(f"PUT, durability {durability}", per_second, "requests_per_second", loads[durability],
                             loads[peer], peer, Required(">=", bound), remark)
    for name in ("always", "always, protected"):
        yield absolute(f"PUT {name}, user time", microseconds_with_tenths, values_of(loads[name], "user"), Required("<=", 12))
    for durability, peer, bound in (("always", "redis always", 1.5), ("always, protected", "redis always", 1.5),
                                    ("interval", "redis everysec", 2.5)):
        ours = loads[f"{durability}, one client"]
        yield compared_loads(f"PUT {durability}, one client, p50", microseconds, "p50", ours,
                             loads[f"{peer}, one client"], peer, Required("<=", bound))
        yield absolute(f"PUT {durability}, one client, user time", microseconds_with_tenths, values_of(ours, "user"),
                       Required("<=", 25))
    for durability in ("always", "interval"):
        yield compared_loads(f"{OPERATIONS} operations {durability}, p50", microseconds, "p50",
                             loads[f"{durability}, transaction"], loads[f"{durability}, one client"], "one PUT",
                             Required("<=", 15), "one client sends the transactions; user and system time are per transaction")


def mixed(bench):
    """p99 of the GETs of one client while other clients write as fast as possible, compared with Redis"""
    for durability, appendfsync in ((ALWAYS, "always"), (INTERVAL, "everysec")):
        yield reads_during_writes(bench, durability, appendfsync)


def reads_during_writes(bench, durability, appendfsync):
    writes = Writes(bench)
    # The writers run until `finish`; this is only an upper limit.
    max_seconds = 10 * bench.seconds + 60
    with (bench.settingsd(durability) as daemon, bench.peer(Redis, appendfsync) as redis,
          Connection(daemon.port) as connection):
        connection.request("PUT", SETTING, 42)
        redis.run_command("set", "launchCount", "42")

        def ours(start_writers=None):
            return time_reads(bench, daemon, render("GET", SETTING), b"HTTP/1.1 200 ", lambda: revision(connection),
                         start_writers)

        def theirs(start_writers=None):
            return time_reads(bench, redis, b"GET launchCount\r\n", b"$2\r\n42\r\n", redis.changes, start_writers)

        runs = bench.run_rounds(**{
            "ours": ours,
            "ours with writers": lambda: ours(lambda: Wrk(daemon, "", WRITERS, max_seconds, writes.file(our_put))),
            "theirs": theirs,
            "theirs with writers": lambda: theirs(lambda: RedisSets(redis, WRITERS, 10**9, KEYS, VALUE_BYTES)),
        })
    p99, rate, costs = {}, {}, {}
    for name, run in runs.items():
        loads, rates = zip(*run)
        p99[name], rate[name] = statistics.median(values_of(loads, "p99")), statistics.median(rates)
        costs[name] = cost(loads)
    ratios = {name: p99[f"{name} with writers"] / p99[name] for name in ("ours", "theirs")}
    figures = {name: f"{microseconds(p99[name])} without writers, {microseconds(p99[f'{name} with writers'])} with "
                     f"{per_second(rate[f'{name} with writers'])} writes" for name in ratios}
    return compared(f"GET during PUTs {durability}, p99", lambda ratio: f"{ratio:.1f}x without", [ratios["ours"]],
                    [ratios["theirs"]], f"redis {appendfsync}", Required("<=", 1.2),
                    f"one client reads, {WRITERS} write: {figures['ours']}; redis {figures['theirs']}",
                    (costs["ours with writers"], costs["theirs with writers"]))


def time_reads(bench, service, request, response_start, count_writes, start_writers):
    """Times the reads of one client. If `start_writers` is not None, writers run at the same time. Returns the load of the
    reads and the rate of the writes. The processor time of the load is per request, of reads and writes."""
    before = count_writes()
    writers = start_writers() if start_writers else None
    try:
        while writers and writers.is_running and count_writes() == before:
            pass
        meter, first = Meter(service), count_writes()
        latencies = repeat(service, request, response_start, bench.seconds)
        written = count_writes() - first
        costs = meter.per_request(len(latencies) + written)
        if writers and not writers.is_running:
            raise LoadFailed(f"the writers of {service.name} ended before the reads: {writers.result()}")
        if writers:
            writers.finish()
    finally:
        if writers:
            writers.kill()
    load = Load(len(latencies) / bench.seconds, latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100],
                latencies[-1], *costs)
    return load, written / bench.seconds


def revision(connection):
    """Returns the newest published revision, from the cursor that is in every answer."""
    return int(connection.request("GET", "/v1").fields["settings-cursor"].rpartition(".")[2])
