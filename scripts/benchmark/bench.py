"""The parameters of a run of scripts/bench, which each benchmark gets: the programs, the folder, the rounds, the duration."""

import itertools
import pathlib
import sys
from dataclasses import dataclass, field

from harness.daemon import ALWAYS, Settingsd, create_token
from harness.http import Connection

# The benchmarks of throughput use this number of clients, which keeps a server busy. Each client has one request in flight.
CLIENTS = 64


@dataclass
class Bench:
    """One run of scripts/bench. `setups` describes the configuration of each server and load generator of the run."""

    program: pathlib.Path
    folder: pathlib.Path
    rounds: int
    seconds: int
    watch_load: pathlib.Path | None = None
    client_cost: pathlib.Path | None = None
    load_setup = f"wrk -t1 -c{CLIENTS} unless a row says otherwise"
    setups: dict = field(default_factory=dict)
    _names: itertools.count = field(default_factory=itertools.count)

    def path(self, name):
        """Returns an unused path in the temporary folder."""
        return self.folder / f"{next(self._names):03d}-{name}"

    def settingsd(self, durability=ALWAYS, options=None, data=None):
        self.setups["settingsd"] = ("settingsd: release build, default options except the durability in the row and the options that "
                                    "single benchmarks set")
        return Settingsd(self.program, data or self.path("settingsd"), durability, options)

    def protected(self, durability=ALWAYS):
        """Returns a daemon with access control, an audit file and an access log. Its `fields` contain the token."""
        self.setups["protected"] = ("protected: settingsd with a token file, an audit file and an access log in the "
                                    "combined format; each request has a token")
        data = self.path("protected")
        tokens, audit = (data.with_name(f"{data.name}-{name}") for name in ("tokens.json", "audit.jsonl"))
        token = create_token(self.program, tokens, "bench", "*:read,write")
        options = {"access": {"tokens": str(tokens)}, "auditFile": str(audit), "accessLog": "combined",
                   "limits": {"requestsPerSecond": 0}}  # 0 means no limit.
        daemon = Settingsd(self.program, data, durability, options, output=data.with_name(f"{data.name}-access.log"))
        daemon.token = token
        daemon.fields = (("Authorization", f"Bearer {token}"),)
        return daemon

    def peer(self, kind, *arguments):
        """Returns another server for a comparison. `kind` is a class of peers.py."""
        self.setups[kind] = kind.SETUP
        return kind(self.path(kind.__name__.lower()), *arguments)

    def run_rounds(self, **contenders):
        """Calls the function of every contender once in each round, one at a time. A contender is a server, or a server with another
        load. Returns the list of results of each contender.

        Every second round has the reverse order, so that no contender always runs after the same other contender.
        """
        results = {name: [] for name in contenders}
        for number in range(self.rounds):
            order = list(contenders.items())
            for name, measure in order if number % 2 == 0 else reversed(order):
                self.progress(f"round {number + 1} of {self.rounds}: {name}")
                results[name].append(measure())
        self.progress("")
        return results

    @staticmethod
    def progress(text):
        """Shows a line of progress on a terminal. It overwrites the previous line."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def values_of(loads, attribute):
    """Returns the values of one attribute, such as `p99`, of all loads."""
    return [getattr(load, attribute) for load in loads]


def fill(port, suites, keys):
    """Stores `keys` settings, evenly distributed over `suites` suites. Returns the paths of all settings.

    A key has 20 bytes. Half of the values are small integers, and half are short strings.
    """
    paths = []
    per_suite = keys // suites
    with Connection(port) as connection:
        for suite in range(suites):
            name = f"suite-{suite:03d}"
            values = {f"player.volume.{number:06d}": number if number % 2 else f"value {number}"
                      for number in range(per_suite)}
            connection.request("PATCH", f"/v1/suites/{name}", values)
            paths += [f"/v1/suites/{name}/keys/{key}" for key in values]
    return paths
