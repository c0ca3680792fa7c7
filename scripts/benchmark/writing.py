"""Writing: beside etcd and Redis at the same durability, and how reading fares meanwhile."""

import itertools

from harness.daemon import ALWAYS, INTERVAL
from harness.http import Connection, render

from .bench import CLIENTS, each
from .load import Wrk, redis_set, wrk, write_requests
from .peers import Etcd, Redis
from .reading import FORM, SETTING
from .report import Required, compared, microseconds, per_second

KEYS, KEYS_PER_SUITE = 100_000, 1000
VALUE_BYTES = 8
WRITERS, READERS = 16, 16


class Writes:
    """Request files for distinct keys. A file goes over the keys twice, each time with a value of its own that no file
    had before: a PUT that changes nothing would be answered without being made durable."""

    def __init__(self, bench):
        self.bench = bench
        self.values = itertools.count(10 ** (VALUE_BYTES - 1))

    def file(self, request):
        values = [next(self.values), next(self.values)]
        return write_requests(self.bench.path("requests"),
                              (request(key, b"%d" % value) for value in values for key in range(KEYS)))

    def load(self, origin, request, clients=CLIENTS):
        """One run of wrk; the file is made before the clock starts and removed after."""
        file = self.file(request)
        try:
            return wrk(origin, clients, self.bench.seconds, file)
        finally:
            file.unlink()


def our_put(key, value):
    path = f"/v1/suites/suite-{key // KEYS_PER_SUITE:03d}/keys/key:{key:012d}"
    return render("PUT", path, value)


def etcd_put(key, value):
    return render("PUT", f"/v2/keys/suite-{key // KEYS_PER_SUITE:03d}/key:{key:012d}", b"value=" + value, FORM)


def put(bench):
    """PUT of distinct keys: 64 clients, one client, and synced once in a while."""
    writes = Writes(bench)
    with (bench.settingsd(ALWAYS) as daemon, bench.settingsd(INTERVAL) as lazy, bench.peer(Etcd) as etcd,
          bench.peer(Redis, "always") as redis, bench.peer(Redis, "everysec") as lazy_redis):
        loads = bench.in_turns(**{
            "settingsd": lambda: writes.load(daemon.origin, our_put),
            "etcd": lambda: writes.load(etcd.origin, etcd_put),
            "redis": lambda: redis_set(redis.port, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
            "settingsd, one client": lambda: writes.load(daemon.origin, our_put, clients=1),
            "redis, one client": lambda: redis_set(redis.port, 1, bench.seconds, KEYS, VALUE_BYTES),
            "settingsd, interval": lambda: writes.load(lazy.origin, our_put),
            "redis, everysec": lambda: redis_set(lazy_redis.port, CLIENTS, bench.seconds, KEYS, VALUE_BYTES),
        })
    rates = {name: each(load, "requests_per_second") for name, load in loads.items()}
    medians = {name: each(load, "p50") for name, load in loads.items()}
    generators = "wrk here, redis-benchmark there: one thread, one request in flight for each client, no pipelining"
    yield compared("PUT, durability always", per_second, rates["settingsd"], rates["etcd"], "etcd", Required(">=", 2))
    yield compared("PUT, durability always", per_second, rates["settingsd"], rates["redis"], "redis always",
                   Required(">=", 0.9), generators)
    yield compared("PUT always, one client, p50", microseconds, medians["settingsd, one client"],
                   medians["redis, one client"], "redis always", Required("<=", 1.5))
    yield compared("PUT, durability interval", per_second, rates["settingsd, interval"], rates["redis, everysec"],
                   "redis everysec", Required(">=", 0.9))


def mixed(bench):
    """How long the slowest hundredth of GETs takes while others write as fast as they can."""
    writes = Writes(bench)
    with bench.settingsd(ALWAYS) as daemon, Connection(daemon.port) as connection:
        connection.request("PUT", SETTING, 42)

        def alone():
            return wrk(daemon.origin + SETTING, READERS, bench.seconds)

        def beside_writers():
            file = writes.file(our_put)
            before = revision(connection)
            writers = Wrk(daemon.origin, WRITERS, 10 * bench.seconds + 60, file)
            try:
                while writers.is_running and revision(connection) == before:
                    pass
                reading = alone()
                writing = writers.finish()
            finally:
                writers.kill()
                file.unlink()
            return reading, writing

        loads = bench.in_turns(alone=alone, beside_writers=beside_writers)
    reads, puts = zip(*loads["beside_writers"])
    rate = sorted(each(puts, "requests_per_second"))[len(puts) // 2]
    yield compared("GET beside full PUT, p99", microseconds, each(reads, "p99"), each(loads["alone"], "p99"), "alone",
                   Required("<=", 3), f"{READERS} clients read, {WRITERS} write {per_second(rate)} meanwhile")


def revision(connection):
    """The newest published revision, from the cursor that every answer carries."""
    return connection.request("GET", "/v1").fields["settings-cursor"].rpartition(".")[2]
