"""Daemons that share three members of etcd: beside a daemon alone, and beside etcd's own gateway and watch."""

import base64
import contextlib
import re
import socket
import statistics
import time
from dataclasses import replace

from harness.http import Connection, render
from harness.service import Service, free_port

from .bench import CLIENTS
from .load import Wrk, wrk
from .reading import SETTING
from .report import Required, compared, compared_loads, microseconds, per_second
from .writing import KEYS, Writes, our_put

MEMBERS = 3
READY = re.compile("serving client traffic insecurely|serving insecure client requests")


def member(folder, name, port, peer, peers):
    """A member of etcd, which is ready once it knows the others."""
    client, own = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    service = Service("etcd", ["etcd", "--name", name, "--data-dir", folder, "--logger", "zap", "--log-level", "info",
                               "--listen-client-urls", client, "--advertise-client-urls", client,
                               "--listen-peer-urls", own, "--initial-advertise-peer-urls", own,
                               "--initial-cluster", peers], READY)
    service.port = port
    return service


def members(bench, stack):
    """Starts the members; returns them once all are ready."""
    bench.setups["cluster"] = "cluster: three members of etcd and three daemons on this machine"
    ports = [(f"m{number}", free_port(), free_port()) for number in range(MEMBERS)]
    peers = ",".join(f"{name}=http://127.0.0.1:{peer}" for name, _, peer in ports)
    started = [member(bench.path(name), name, port, peer, peers) for name, port, peer in ports]
    for service in started:
        service.launch()
        stack.callback(service.kill)
    for service in started:
        service.await_ready()
    return started


def gateway_put(key, value):
    """A request to etcd's gateway for what a PUT of ours stores."""
    texts = {"key": f"suite-{key // 1000:03d}/key:{key:012d}", "value": value.decode()}
    return render("POST", "/v3/kv/put", {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()})


def through_all(bench, daemons, writes):
    """Writes through all daemons at once, with as many clients at each as one has alone; the load is their sum."""
    files = [writes.file(our_put) for _ in daemons]
    runs = [Wrk(daemon, "", CLIENTS, bench.seconds, file) for daemon, file in zip(daemons, files)]
    try:
        loads = [run.result() for run in runs]
    finally:
        for run, file in zip(runs, files):
            run.kill()
            file.unlink()
    return replace(loads[0], requests_per_second=sum(load.requests_per_second for load in loads))


def waits(port, begin, write, mark):
    """Microseconds from a write until a stream has it, sorted: the write sends the number of the round."""
    found = []
    with socket.create_connection(("127.0.0.1", port), 60) as stream:
        stream.sendall(begin)
        stream.recv(1 << 16)
        for number in range(1, 201):
            start, text = time.perf_counter(), b""
            write(number)
            while mark(number) not in text:
                text += stream.recv(1 << 16)
            found.append((time.perf_counter() - start) * 1e6)
    return statistics.median(found)


def our_wait(reader, writer):
    """The median wait of a watcher on another daemon than the one that is written to."""
    with Connection(writer.port) as connection:
        base = int(time.time() * 1000) * 1000
        begin = render("GET", "/v1/suites/heard/observe", None, [("Accept", "text/event-stream")])
        connection.request("PUT", "/v1/suites/heard/keys/n", base)
        return waits(reader.port, begin,
                     lambda number: connection.request("PUT", "/v1/suites/heard/keys/n", base + number),
                     lambda number: b"%d" % (base + number))


def etcd_wait(reader, writer):
    """The median wait of etcd's own watch at another member than the one that is written to."""
    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    with Connection(writer.port) as connection:
        base = int(time.time() * 1000) * 1000
        begin = render("POST", "/v3/watch", {"create_request": {"key": encoded("heard")}})
        return waits(reader.port, begin,
                     lambda number: connection.request(
                         "POST", "/v3/kv/put", {"key": encoded("heard"), "value": encoded(str(base + number))}),
                     lambda number: encoded(str(base + number)).encode())


def cluster(bench):
    """Daemons that share three members of etcd: reads, writes and watchers, beside one alone and etcd's own gateway."""
    writes = Writes(bench)
    with contextlib.ExitStack() as stack:
        etcd = members(bench, stack)
        options = {"etcd": {"endpoints": [service.origin for service in etcd]}}
        daemons = [stack.enter_context(bench.settingsd(options=options)) for _ in range(MEMBERS)]
        alone = stack.enter_context(bench.settingsd())
        for daemon in (daemons[0], alone):
            with Connection(daemon.port) as connection:
                connection.request("PUT", SETTING, 42)
        # Rounds of reading differ by a tenth, and the bound is a twentieth: more and shorter rounds.
        reading = replace(bench, rounds=3 * bench.rounds, seconds=max(1, bench.seconds // 3))
        reads = reading.in_rounds(
            shared=lambda: wrk(daemons[0], SETTING, CLIENTS, reading.seconds),
            alone=lambda: wrk(alone, SETTING, CLIENTS, reading.seconds))
        loads = bench.in_rounds(
            write=lambda: writes.load(daemons[0], our_put),
            gateway=lambda: writes.load(etcd[0], gateway_put, count=KEYS),
            all=lambda: through_all(bench, daemons, writes),
            many=lambda: writes.load(etcd[0], gateway_put, clients=MEMBERS * CLIENTS, count=KEYS),
            heard=lambda: our_wait(daemons[1], daemons[0]),
            watched=lambda: etcd_wait(etcd[1], etcd[0]))
    yield compared_loads("GET on etcd", per_second, "requests_per_second", reads["shared"], reads["alone"], "alone",
                         Required(">=", 0.95))
    for title, name, direct, bound in (("PUT on etcd", "write", "gateway", 1.5),
                                       ("PUT through three daemons", "all", "many", 1)):
        yield compared_loads(title, per_second, "requests_per_second", loads[name], loads[direct], "gateway",
                             Required(">=", bound),
                             f"{CLIENTS} clients at each daemon; the gateway is one member's, with as many together")
    yield compared("change heard at another daemon, p50", microseconds, loads["heard"], loads["watched"], "etcd's watch",
                   Required("<=", 2))
