"""Benchmarks of reads: a small setting, a whole suite, the evaluation of a flag.

Each function yields rows of the table of scripts/bench: `compared_loads` makes a row with the ratio to another server or, for
`evaluation`, to another request of the daemon. `Required` is the limit for the ratio.
"Protected" servers check a token and write logs.
"""

from harness.http import Connection, render

from .bench import CLIENTS, fill
from .load import wrk, write_requests
from .peers import BareLoop, Etcd, Nginx, ProtectedNginx
from .report import Required, compared_loads, megabytes_per_second, per_second

SETTING = "/v1/suites/app/keys/launchCount"
FLAG = "/v1/suites/app/ofrep/v1/evaluate/flags/launchCount"
FORM = [("Content-Type", "application/x-www-form-urlencoded")]


def get(bench):
    """GET of a small setting, compared with etcd, nginx and a minimal server in C (bare loop)"""
    with bench.settingsd() as daemon, bench.protected() as protected, bench.peer(Etcd) as etcd:
        with Connection(protected.port) as connection:
            connection.request("PUT", SETTING, 42, protected.fields)
        with Connection(daemon.port) as connection:
            connection.request("PUT", SETTING, 42)
            body = connection.request("GET", SETTING).body
            connection.socket.sendall(render("GET", SETTING))
            response = connection.socket.recv(1 << 16)
        with Connection(etcd.port) as connection:
            connection.request("PUT", "/v2/keys/app/launchCount", b"value=42", FORM)
        with (bench.peer(BareLoop, response) as loop, bench.peer(Nginx, {"setting": body}) as nginx,
              bench.peer(ProtectedNginx, {"setting": body}, protected.token) as protected_nginx):
            protected_nginx.fields = protected.fields
            loads = bench.run_rounds(
                settingsd=lambda: wrk(daemon, SETTING, CLIENTS, bench.seconds),
                protected=lambda: wrk(protected, SETTING, CLIENTS, bench.seconds),
                bare_loop=lambda: wrk(loop, SETTING, CLIENTS, bench.seconds),
                nginx=lambda: wrk(nginx, "/setting", CLIENTS, bench.seconds),
                protected_nginx=lambda: wrk(protected_nginx, "/setting", CLIENTS, bench.seconds),
                etcd=lambda: wrk(etcd, "/v2/keys/app/launchCount", CLIENTS, bench.seconds))
    for name, bound, remark in (("bare_loop", 0.9, ""), ("nginx", 1.3, f"nginx serves a file of the same {len(body)} bytes"),
                                ("etcd", 2, "")):
        yield compared_loads("GET of a setting", per_second, "requests_per_second", loads["settingsd"], loads[name],
                             name.replace("_", " "), Required(">=", bound), remark)
    yield compared_loads("GET of a setting, protected", per_second, "requests_per_second", loads["protected"],
                         loads["protected_nginx"], "protected nginx", Required(">=", 1.2))
    yield compared_loads("GET of a setting, protected", per_second, "requests_per_second", loads["protected"],
                         loads["nginx"], "nginx", Required(">=", 0.85), "this nginx checks no token and writes no log")


def suite(bench):
    """GET of a suite of 1,000 settings, compared with nginx, which sends a file of the same bytes"""
    path = "/v1/suites/suite-000"
    with bench.settingsd() as daemon:
        fill(daemon.port, 1, 1000)
        with Connection(daemon.port) as connection:
            body = connection.request("GET", path).body
        with bench.peer(Nginx, {"suite": body}) as nginx:
            loads = bench.run_rounds(
                settingsd=lambda: wrk(daemon, path, CLIENTS, bench.seconds),
                nginx=lambda: wrk(nginx, "/suite", CLIENTS, bench.seconds))
    yield compared_loads("GET of a suite of 1,000", megabytes_per_second, "bytes_per_second", loads["settingsd"],
                         loads["nginx"], "nginx", Required(">=", 0.5),
                         f"nginx serves a file of the same {len(body):,} bytes")


def evaluation(bench):
    """Evaluation of an OpenFeature flag, compared with a GET of the same setting"""
    request = render("POST", FLAG, {"context": {"targetingKey": "user-123"}})
    requests = write_requests(bench.path("requests"), [request] * 1000)
    with bench.settingsd() as daemon:
        with Connection(daemon.port) as connection:
            connection.request("PUT", SETTING, 42)
        loads = bench.run_rounds(
            evaluation=lambda: wrk(daemon, "", CLIENTS, bench.seconds, requests),
            get=lambda: wrk(daemon, SETTING, CLIENTS, bench.seconds))
    yield compared_loads("evaluation of a flag", per_second, "requests_per_second", loads["evaluation"], loads["get"],
                         "GET", Required(">=", 0.9))
