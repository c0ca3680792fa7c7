"""What each group of rows needs: the programs, a folder, the number and the length of rounds, and the order of contenders."""

import itertools
import pathlib
import sys
from dataclasses import dataclass, field

from harness.daemon import ALWAYS, Settingsd, create_token
from harness.http import Connection

# Load that all rows about throughput share: enough clients to keep a server busy, each with one request in flight.
CLIENTS = 64


@dataclass
class Bench:
    """One run of the program. `setups` gathers how everybody who took part was configured."""

    program: pathlib.Path
    folder: pathlib.Path
    rounds: int
    seconds: int
    watch_load: pathlib.Path | None = None
    client_cost: pathlib.Path | None = None
    load_setup = f"wrk -t1 -c{CLIENTS} where nothing else is said"
    setups: dict = field(default_factory=dict)
    _names: itertools.count = field(default_factory=itertools.count)

    def path(self, name):
        """A new path in the temporary folder."""
        return self.folder / f"{next(self._names):03d}-{name}"

    def settingsd(self, durability=ALWAYS, options=None, data=None):
        self.setups["settingsd"] = "settingsd: release build, default options but for --durability as named"
        return Settingsd(self.program, data or self.path("settingsd"), durability, options)

    def protected(self, durability=ALWAYS):
        """A daemon with access control, an audit file and an access log. A request needs the `fields` of the daemon."""
        self.setups["protected"] = ("protected: settingsd with a token file, an audit file and an access log in the "
                                    "combined format; each request has a token")
        data = self.path("protected")
        tokens, audit = (data.with_name(f"{data.name}-{name}") for name in ("tokens.json", "audit.jsonl"))
        token = create_token(self.program, tokens, "bench", "*:read,write")
        options = {"access": {"tokens": str(tokens)}, "auditFile": str(audit), "accessLog": "combined",
                   "limits": {"requestsPerSecond": 0}}
        daemon = Settingsd(self.program, data, durability, options, output=data.with_name(f"{data.name}-access.log"))
        daemon.token = token
        daemon.fields = (("Authorization", f"Bearer {token}"),)
        return daemon

    def peer(self, kind, *arguments):
        self.setups[kind] = kind.SETUP
        return kind(self.path(kind.__name__.lower()), *arguments)

    def in_rounds(self, **contenders):
        """Runs every contender once a round, never two at a time, and returns the results of each by name.

        Every second round goes the other way, so that no contender always runs behind the same other one.
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
        """A line that overwrites itself, for people only."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def each(loads, figure):
    """One figure of every load, such as `p99`."""
    return [getattr(load, figure) for load in loads]


def fill(port, suites, keys):
    """Loads `keys` settings over `suites` suites, a suite per request; returns the paths of all settings.

    Keys are 20 bytes, values small integers and short strings by halves.
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
