"""Reading: one small setting, a whole suite."""

from harness.http import Connection

from .bench import CLIENTS, each, fill
from .load import wrk
from .peers import Etcd, Nginx
from .report import Required, compared, megabytes_per_second, per_second

SETTING = "/v1/suites/app/keys/launchCount"
FORM = [("Content-Type", "application/x-www-form-urlencoded")]


def get(bench):
    """One small setting, beside nginx with a file of the same bytes and etcd with the same value."""
    with bench.settingsd() as daemon, bench.peer(Etcd) as etcd:
        with Connection(daemon.port) as connection:
            connection.request("PUT", SETTING, 42)
            body = connection.request("GET", SETTING).body
        with Connection(etcd.port) as connection:
            connection.request("PUT", "/v2/keys/app/launchCount", b"value=42", FORM)
        with bench.peer(Nginx, {"setting": body}) as nginx:
            loads = bench.in_turns(
                settingsd=lambda: wrk(daemon.origin + SETTING, CLIENTS, bench.seconds),
                nginx=lambda: wrk(nginx.url("setting"), CLIENTS, bench.seconds),
                etcd=lambda: wrk(etcd.origin + "/v2/keys/app/launchCount", CLIENTS, bench.seconds))
    rates = {name: each(load, "requests_per_second") for name, load in loads.items()}
    yield compared("GET of a setting", per_second, rates["settingsd"], rates["nginx"], "nginx", Required(">=", 1.3),
                   f"nginx serves a file of the same {len(body)} bytes")
    yield compared("GET of a setting", per_second, rates["settingsd"], rates["etcd"], "etcd", Required(">=", 2))


def suite(bench):
    """A whole suite of 1,000 settings, beside nginx with a file of the same bytes."""
    path = "/v1/suites/suite-000"
    with bench.settingsd() as daemon:
        fill(daemon.port, 1, 1000)
        with Connection(daemon.port) as connection:
            body = connection.request("GET", path).body
        with bench.peer(Nginx, {"suite": body}) as nginx:
            loads = bench.in_turns(
                settingsd=lambda: wrk(daemon.origin + path, CLIENTS, bench.seconds),
                nginx=lambda: wrk(nginx.url("suite"), CLIENTS, bench.seconds))
    yield compared("GET of a suite of 1,000", megabytes_per_second, each(loads["settingsd"], "bytes_per_second"),
                   each(loads["nginx"], "bytes_per_second"), "nginx", Required(">=", 0.5),
                   f"nginx serves a file of the same {len(body):,} bytes")
