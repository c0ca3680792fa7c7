"""Benchmarks of three daemons that share three members of etcd, compared with a single daemon and with etcd itself.

The function `cluster` yields rows of the table of scripts/bench: `compared` and `compared_loads` make a row with the ratio to
another server. `Required` is the limit for the ratio.
"""

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
# The number of writes of each measurement of a delay.
WATCHED_WRITES = 200
READY = re.compile("serving client traffic insecurely|serving insecure client requests")


def member(folder, name, port, peer_port, peers):
    """Returns a member of etcd. It is ready after it has joined the cluster of the `peers`."""
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    service = Service("etcd", ["etcd", "--name", name, "--data-dir", folder, "--logger", "zap", "--log-level", "info",
                               "--listen-client-urls", client, "--advertise-client-urls", client,
                               "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                               "--initial-cluster", peers], READY)
    service.port = port
    return service


def members(bench, stack):
    """Starts the members of an etcd cluster. Returns them when all are ready. The exit stack kills them."""
    bench.setups["cluster"] = "cluster: three members of etcd and three daemons on this machine"
    ports = [(f"m{number}", free_port(), free_port()) for number in range(MEMBERS)]
    peers = ",".join(f"{name}=http://127.0.0.1:{peer_port}" for name, _, peer_port in ports)
    started = [member(bench.path(name), name, port, peer_port, peers) for name, port, peer_port in ports]
    for service in started:
        service.launch()
        stack.callback(service.kill)
    for service in started:
        service.await_ready()
    return started


def gateway_put(key, value, fields=()):
    """Returns a request to the JSON gateway of etcd that stores the same key and value as `our_put`."""
    texts = {"key": f"suite-{key // 1000:03d}/key:{key:012d}", "value": value.decode()}
    body = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    return render("POST", "/v3/kv/put", body, fields)


def put_to_all(bench, daemons, writes):
    """Sends PUTs to all daemons at once, with CLIENTS clients for each daemon. Returns a load with the sum of the rates."""
    files = [writes.file(our_put) for _ in daemons]
    runs = [Wrk(daemon, "", CLIENTS, bench.seconds, file) for daemon, file in zip(daemons, files)]
    try:
        loads = [run.result() for run in runs]
    finally:
        for run, file in zip(runs, files):
            run.kill()
            file.unlink()
    return replace(loads[0], requests_per_second=sum(load.requests_per_second for load in loads))


def notification_delay(port, stream_request, write, marker):
    """Returns the median time, in microseconds, from a write until a stream receives it. `write(number)` sends a write, and
    `marker(number)` returns the bytes that the stream contains after this write."""
    delays = []
    with socket.create_connection(("127.0.0.1", port), 60) as stream:
        stream.sendall(stream_request)
        stream.recv(1 << 16)
        for number in range(1, WATCHED_WRITES + 1):
            start, text = time.perf_counter(), b""
            write(number)
            while marker(number) not in text:
                text += stream.recv(1 << 16)
            delays.append((time.perf_counter() - start) * 1e6)
    return statistics.median(delays)


def our_notification_delay(reader, writer):
    """Returns the median delay of an event stream of the daemon `reader` after writes to the daemon `writer`."""
    with Connection(writer.port) as connection:
        # The values of two calls differ, so that a stream never contains the marker of an earlier call.
        base = int(time.time() * 1000) * 1000
        stream_request = render("GET", "/v1/suites/watched/observe", None, [("Accept", "text/event-stream")])
        connection.request("PUT", "/v1/suites/watched/keys/n", base)
        return notification_delay(
            reader.port, stream_request,
            lambda number: connection.request("PUT", "/v1/suites/watched/keys/n", base + number),
            lambda number: b"%d" % (base + number))


def etcd_notification_delay(reader, writer):
    """Returns the median delay of a watch of the etcd member `reader` after writes to the etcd member `writer`."""
    def encoded(text):
        return base64.b64encode(text.encode()).decode()

    with Connection(writer.port) as connection:
        base = int(time.time() * 1000) * 1000
        stream_request = render("POST", "/v3/watch", {"create_request": {"key": encoded("watched")}})
        return notification_delay(
            reader.port, stream_request,
            lambda number: connection.request(
                "POST", "/v3/kv/put", {"key": encoded("watched"), "value": encoded(str(base + number))}),
            lambda number: encoded(str(base + number)).encode())


def cluster(bench):
    """Three daemons with three members of etcd: reads, writes, watchers; compared with a single daemon and with etcd"""
    # "Gateway" is the JSON gateway of etcd, which translates HTTP requests to gRPC.
    writes = Writes(bench)
    with contextlib.ExitStack() as stack:
        etcd = members(bench, stack)
        options = {"etcd": {"endpoints": [service.origin for service in etcd]}}
        daemons = [stack.enter_context(bench.settingsd(options=options)) for _ in range(MEMBERS)]
        single = stack.enter_context(bench.settingsd())
        for daemon in (daemons[0], single):
            with Connection(daemon.port) as connection:
                connection.request("PUT", SETTING, 42)
        # The rates of single rounds differ by 10 %, but the row allows only a difference of 5 %. Therefore this row has more and
        # shorter rounds.
        read_bench = replace(bench, rounds=3 * bench.rounds, seconds=max(1, bench.seconds // 3))
        reads = read_bench.run_rounds(
            cluster=lambda: wrk(daemons[0], SETTING, CLIENTS, read_bench.seconds),
            single=lambda: wrk(single, SETTING, CLIENTS, read_bench.seconds))
        loads = bench.run_rounds(
            one_daemon=lambda: writes.load(daemons[0], our_put),
            gateway=lambda: writes.load(etcd[0], gateway_put, count=KEYS),
            three_daemons=lambda: put_to_all(bench, daemons, writes),
            gateway_with_all_clients=lambda: writes.load(etcd[0], gateway_put, clients=MEMBERS * CLIENTS, count=KEYS),
            our_watch=lambda: our_notification_delay(daemons[1], daemons[0]),
            etcd_watch=lambda: etcd_notification_delay(etcd[1], etcd[0]))
    yield compared_loads("GET on etcd", per_second, "requests_per_second", reads["cluster"], reads["single"], "single",
                         Required(">=", 0.95))
    for title, name, peer, bound in (("PUT on etcd", "one_daemon", "gateway", 1.5),
                                     ("PUT through three daemons", "three_daemons", "gateway_with_all_clients", 1)):
        yield compared_loads(title, per_second, "requests_per_second", loads[name], loads[peer], "gateway",
                             Required(">=", bound),
                             f"{CLIENTS} clients for each daemon; one etcd member with the same total of clients")
    yield compared("delay of a watcher on another daemon, p50", microseconds, loads["our_watch"], loads["etcd_watch"],
                   "watch of etcd", Required("<=", 2))
