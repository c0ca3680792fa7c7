"""Writing: beside etcd and Redis at the same durability, and how reading fares meanwhile."""

import functools
import itertools
import statistics

from harness.daemon import ALWAYS, INTERVAL
from harness.http import Connection, render

from .bench import CLIENTS, each
from .load import Load, LoadFailed, Meter, RedisSets, Wrk, redis_set, repeat, wrk, write_requests
from .peers import Etcd, Redis
from .reading import FORM, SETTING
from .report import (Required, absolute, compared, compared_loads, cost, microseconds, per_second,
                     tenths_of_microseconds)

KEYS, KEYS_PER_SUITE = 100_000, 1000
VALUE_BYTES = 8
OPERATIONS = 100
WRITERS = 16


class Writes:
    """Request files for distinct keys. A file goes over them twice, each time with a value of its own that no file
    had before: a PUT that changes nothing would be answered without being made durable."""

    def __init__(self, bench):
        self.bench = bench
        self.values = itertools.count(10 ** (VALUE_BYTES - 1))

    def file(self, request, count=KEYS):
        values = [next(self.values), next(self.values)]
        return write_requests(self.bench.path("requests"),
                              (request(number, b"%d" % value) for value in values for number in range(count)))

    def load(self, service, request, clients=CLIENTS, count=KEYS):
        """One run of wrk; the file, of `count` requests twice, is made before the clock starts and removed after."""
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
    """Sets OPERATIONS keys; transactions of different numbers have none in common."""
    first = number * OPERATIONS
    sets = [{"op": "set", "suite": f"suite-{key // KEYS_PER_SUITE:03d}", "key": f"key:{key:012d}", "value": int(value)}
            for key in range(first, first + OPERATIONS)]
    return render("POST", "/v1/transaction", {"do": sets}, fields)


def put(bench):
    """PUT of distinct keys: 64 clients, one client, synced each time or once in a while; transactions beside one PUT."""
    writes = Writes(bench)
    with (bench.settingsd(ALWAYS) as daemon, bench.settingsd(INTERVAL) as lazy, bench.peer(Etcd) as etcd,
          bench.peer(Redis, "always") as redis, bench.peer(Redis, "everysec") as lazy_redis,
          bench.protected(ALWAYS) as protected, bench.protected(INTERVAL) as lazy_protected):
        loads = bench.in_rounds(**{
            "always": lambda: writes.load(daemon, our_put),
            "always, protected": lambda: writes.load(protected, our_put),
            "etcd": lambda: writes.load(etcd, etcd_put),
            "redis always": lambda: redis_set(redis, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
            "interval": lambda: writes.load(lazy, our_put),
            "interval, protected": lambda: writes.load(lazy_protected, our_put),
            "redis everysec": lambda: redis_set(lazy_redis, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
            "always, one client": lambda: writes.load(daemon, our_put, 1),
            "always, protected, one client": lambda: writes.load(protected, our_put, 1),
            "redis always, one client": lambda: redis_set(redis, 1, bench.seconds, KEYS, VALUE_BYTES),
            "interval, one client": lambda: writes.load(lazy, our_put, 1),
            "redis everysec, one client": lambda: redis_set(lazy_redis, 1, bench.seconds, KEYS, VALUE_BYTES),
            "always, transaction": lambda: writes.load(daemon, our_transaction, 1, KEYS // OPERATIONS),
            "interval, transaction": lambda: writes.load(lazy, our_transaction, 1, KEYS // OPERATIONS),
        })
    generators = "wrk here, redis-benchmark there: one thread, one request in flight for each client, no pipelining"
    for durability, peer, bound, remark in (("always", "etcd", 2, ""), ("always", "redis always", 0.7, generators),
                                            ("interval", "redis everysec", 0.7, ""),
                                            ("always, protected", "etcd", 2, ""),
                                            ("always, protected", "redis always", 0.65, ""),
                                            ("interval, protected", "redis everysec", 0.65, "")):
        yield compared_loads(f"PUT, durability {durability}", per_second, "requests_per_second", loads[durability],
                             loads[peer], peer, Required(">=", bound), remark)
    for name in ("always", "always, protected"):
        yield absolute(f"PUT {name}, user time", tenths_of_microseconds, each(loads[name], "user"), Required("<=", 12))
    for durability, peer, bound in (("always", "redis always", 1.5), ("always, protected", "redis always", 1.5),
                                    ("interval", "redis everysec", 2.5)):
        ours = loads[f"{durability}, one client"]
        yield compared_loads(f"PUT {durability}, one client, p50", microseconds, "p50", ours,
                             loads[f"{peer}, one client"], peer, Required("<=", bound))
        yield absolute(f"PUT {durability}, one client, user time", tenths_of_microseconds, each(ours, "user"),
                       Required("<=", 25))
    for durability in ("always", "interval"):
        yield compared_loads(f"{OPERATIONS} operations {durability}, p50", microseconds, "p50",
                             loads[f"{durability}, transaction"], loads[f"{durability}, one client"], "one PUT",
                             Required("<=", 15), "one transaction of one client, user and system time of all of it")


def mixed(bench):
    """How long the slowest hundredth of one client's GETs takes while others write as fast as they can, beside Redis."""
    for durability, appendfsync in ((ALWAYS, "always"), (INTERVAL, "everysec")):
        yield reading_beside(bench, durability, appendfsync)


def reading_beside(bench, durability, appendfsync):
    writes = Writes(bench)
    most = 10 * bench.seconds + 60
    with (bench.settingsd(durability) as daemon, bench.peer(Redis, appendfsync) as redis,
          Connection(daemon.port) as connection):
        connection.request("PUT", SETTING, 42)
        redis.ask("set", "launchCount", "42")

        def ours(start_writers=None):
            return reads(bench, daemon, render("GET", SETTING), b"HTTP/1.1 200 ", lambda: revision(connection),
                         start_writers)

        def theirs(start_writers=None):
            return reads(bench, redis, b"GET launchCount\r\n", b"$2\r\n42\r\n", redis.changes, start_writers)

        runs = bench.in_rounds(**{
            "ours": ours,
            "ours beside": lambda: ours(lambda: Wrk(daemon, "", WRITERS, most, writes.file(our_put))),
            "theirs": theirs,
            "theirs beside": lambda: theirs(lambda: RedisSets(redis, WRITERS, 10**9, KEYS, VALUE_BYTES)),
        })
    p99, rate, costs = {}, {}, {}
    for name, run in runs.items():
        loads, rates = zip(*run)
        p99[name], rate[name] = statistics.median(each(loads, "p99")), statistics.median(rates)
        costs[name] = cost(loads)
    ratios = {name: p99[f"{name} beside"] / p99[name] for name in ("ours", "theirs")}
    said = {name: f"{microseconds(p99[name])} alone, {microseconds(p99[f'{name} beside'])} beside "
                  f"{per_second(rate[f'{name} beside'])}" for name in ratios}
    return compared(f"GET beside PUTs {durability}, p99", lambda times: f"{times:.1f}x alone", [ratios["ours"]],
                    [ratios["theirs"]], f"redis {appendfsync}", Required("<=", 1.2),
                    f"one client reads, {WRITERS} write: {said['ours']}; redis {said['theirs']}",
                    (costs["ours beside"], costs["theirs beside"]))


def reads(bench, service, request, begins, count_writes, start_writers):
    """One client's reads, beside writers if there are some; returns them, and the rate of writes meanwhile. The processor
    time is that of all requests, reads and writes."""
    before = count_writes()
    writers = start_writers() if start_writers else None
    try:
        while writers and writers.is_running and count_writes() == before:
            pass
        meter, first = Meter(service), count_writes()
        waits = repeat(service, request, begins, bench.seconds)
        written = count_writes() - first
        costs = meter.each(len(waits) + written)
        if writers and not writers.is_running:
            raise LoadFailed(f"those who write to {service.name} ended too soon: {writers.result()}")
        if writers:
            writers.finish()
    finally:
        if writers:
            writers.kill()
    load = Load(len(waits) / bench.seconds, waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1], *costs)
    return load, written / bench.seconds


def revision(connection):
    """The newest published revision, from the cursor that every answer carries."""
    return int(connection.request("GET", "/v1").fields["settings-cursor"].rpartition(".")[2])
