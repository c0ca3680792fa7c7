"""The operator's part of a soak: the options of the daemon, its tokens, and an administrator who changes them."""

import itertools
import json
import os
import pathlib
import subprocess
import time

from harness.daemon import snapshot_options
from harness.http import Connection

from .callers import Caller, Unprovoked

# So small that snapshots, and the history's bound, are met all the time, and that memory is level soon.
JOURNAL_BYTES, HISTORY_COMMITS, HISTORY_BYTES = 4 << 20, 2_000, 8 << 20
SCRUB_SECONDS = 2
GRANTS = {
    "writer": ["own.writer-*:read,write", "own.local:read"], "reader": ["own.writer-1:read"],
    "guest": ["own.*:read"], "admin": ["*:admin"],
}


class Tokens:
    """The token file, and the tokens in it."""

    def __init__(self, program: pathlib.Path, path: pathlib.Path) -> None:
        self.program, self.path = program, path
        self._texts: dict[str, str] = {}
        for name in GRANTS:
            self.create(name)

    def text(self, name: str) -> str:
        return self._texts[name]

    def create(self, name: str) -> None:
        grants = [part for grant in GRANTS[name] for part in ("--grant", grant)]
        self._texts[name] = self._run("create", name, *grants).strip()

    def revoke(self, name: str) -> None:
        self._run("revoke", name)

    def _run(self, *words: str) -> str:
        command = [self.program, "token", *words, "--access.tokens", self.path]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def options(tokens: Tokens) -> dict:
    """Access control, and everything that runs at times set to run all the time."""
    return {
        **snapshot_options(journal_bytes=JOURNAL_BYTES, interval=5), "scrubSeconds": SCRUB_SECONDS,
        "history": {"commits": HISTORY_COMMITS, "bytes": HISTORY_BYTES},
        "access": {"tokens": str(tokens.path), "users": {str(os.getuid()): ["own.local:read,write"]},
                   "anonymous": ["own.writer-0:read"]},
        "limits": {"headSeconds": 2, "bodySeconds": 2, "idleSeconds": 20},
    }


class Guest(Caller):
    """A caller whose token comes and goes."""

    def __init__(self, *arguments, tokens: Tokens, **more) -> None:
        super().__init__(*arguments, **more)
        self.tokens = tokens

    def work(self, connection: Connection) -> None:
        self.token = self.tokens.text("guest")
        self.ask(connection, "GET", "/v1/suites", expect=(200, 401))
        time.sleep(0.02)


class Administrator(Caller):
    """A caller that looks after the daemon: reloads, backups, metrics, readiness."""

    def __init__(self, *arguments, tokens: Tokens, **more) -> None:
        super().__init__(*arguments, **more)
        self.tokens = tokens
        self.configuration = self.lives.configuration
        self.deeds = itertools.cycle((self.reload, self.inspect, self.back_up, self.hang_up, self.inspect))

    def work(self, connection: Connection) -> None:
        next(self.deeds)(connection)
        time.sleep(0.2)

    def reload(self, connection: Connection) -> None:
        """Changes what a reload takes: the guest's token, limits, quotas, the level of the log."""
        is_even = self.chance.random() < 0.5
        changed = options(self.tokens)
        changed["limits"] |= {"requestsPerSecond": self.chance.choice((5_000, 20_000)), "idleSeconds": 20 + is_even}
        changed["quotas"] = {"suites": 1_000 + is_even, "totalBytes": (256 << 20) + is_even}
        changed["slowRequestMs"] = 0
        self.configuration.write_text(json.dumps(changed))
        if is_even:
            self.tokens.revoke("guest")
            try:
                self.ask(connection, "POST", "/v1/reload")
            finally:
                self.tokens.create("guest")
        self.ask(connection, "POST", "/v1/reload")
        self.findings.count("reloads")

    def hang_up(self, _: Connection) -> None:
        self.lives.hang_up()

    def inspect(self, connection: Connection) -> None:
        """The daemon is ready, and no file is damaged."""
        ready = self.ask(connection, "GET", "/readyz").json()
        if ready["conditions"]["storage"] != "ok" or ready["conditions"]["files"] != "ok":
            raise Unprovoked(f"/readyz says {ready}")
        metrics = dict(line.rsplit(" ", 1) for line in self.ask(connection, "GET", "/metrics").body.decode().split("\n")
                       if line and not line.startswith("#"))
        for name in ("settingsd_scrub_damaged_files", "settingsd_failed_syncs_total",
                     "settingsd_failed_snapshots_total"):
            if float(metrics[name]) != 0:
                raise Unprovoked(f"{name} is {metrics[name]}")
        if "settingsd_scrub_timestamp_seconds" not in metrics and self.lives.age > 10 * SCRUB_SECONDS:
            raise Unprovoked("no scrub has ended")

    def back_up(self, connection: Connection) -> None:
        self.ask(connection, "GET", "/v1/backup")
        self.findings.count("backups")
