"""The options and the tokens of the daemon in a soak test, and the callers that change them."""

import itertools
import json
import os
import pathlib
import subprocess
import time

from harness.daemon import snapshot_options
from harness.http import Connection

from .callers import Caller, UnexpectedAnswer

# These limits are small, so that the daemon often writes snapshots and removes history, and its memory soon stops growing.
JOURNAL_BYTES, HISTORY_COMMITS, HISTORY_BYTES = 4 << 20, 2_000, 8 << 20
SCRUB_SECONDS = 2
# The rights of each token. Only the writer NAME writes to the suite own.NAME; the writer `local` has no token, and gets
# its rights by its Unix user.
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
    """Returns options with access control, and with short intervals for snapshots and file checks."""
    return {
        **snapshot_options(journal_bytes=JOURNAL_BYTES, interval_seconds=5), "scrubSeconds": SCRUB_SECONDS,
        "history": {"commits": HISTORY_COMMITS, "bytes": HISTORY_BYTES},
        "access": {"tokens": str(tokens.path), "users": {str(os.getuid()): ["own.local:read,write"]},
                   "anonymous": ["own.writer-0:read"]},
        "limits": {"headSeconds": 2, "bodySeconds": 2, "idleSeconds": 20},
    }


class Guest(Caller):
    """A caller whose token the administrator revokes and creates again."""

    def __init__(self, *arguments, tokens: Tokens, **more) -> None:
        super().__init__(*arguments, **more)
        self.tokens = tokens

    def work(self, connection: Connection) -> None:
        self.token = self.tokens.text("guest")
        self.ask(connection, "GET", "/v1/suites", expect=(200, 401))
        time.sleep(0.02)


class Administrator(Caller):
    """A caller that reloads the configuration, takes backups, and checks metrics and readiness."""

    def __init__(self, *arguments, tokens: Tokens, **more) -> None:
        super().__init__(*arguments, **more)
        self.tokens = tokens
        self.configuration = self.runs.configuration
        self.tasks = itertools.cycle((self.reload, self.check_health, self.take_backup, self.send_sighup, self.check_health))

    def work(self, connection: Connection) -> None:
        next(self.tasks)(connection)
        time.sleep(0.2)

    def reload(self, connection: Connection) -> None:
        """Changes options and the token of the guest, and reloads the configuration."""
        # `is_changed` counts as 1 or 0 in the sums below.
        is_changed = self.rng.random() < 0.5
        changed = options(self.tokens)
        changed["limits"] |= {"requestsPerSecond": self.rng.choice((5_000, 20_000)), "idleSeconds": 20 + is_changed}
        changed["quotas"] = {"suites": 1_000 + is_changed, "totalBytes": (256 << 20) + is_changed}
        # The daemon logs each request that takes a millisecond or longer as slow.
        changed["slowRequestMs"] = 1
        self.configuration.write_text(json.dumps(changed))
        if is_changed:
            self.tokens.revoke("guest")
            try:
                self.ask(connection, "POST", "/v1/reload")
            finally:
                self.tokens.create("guest")
        self.ask(connection, "POST", "/v1/reload")
        self.findings.count("reloads")

    def send_sighup(self, _: Connection) -> None:
        self.runs.send_sighup()

    def check_health(self, connection: Connection) -> None:
        """Checks that the daemon is ready, that no file is damaged, that no sync or snapshot has failed, and that the files are checked."""
        ready = self.ask(connection, "GET", "/readyz").json()
        if ready["conditions"]["storage"] != "ok" or ready["conditions"]["files"] != "ok":
            raise UnexpectedAnswer(f"/readyz returned {ready}")
        metrics = dict(line.rsplit(" ", 1) for line in self.ask(connection, "GET", "/metrics").body.decode().split("\n")
                       if line and not line.startswith("#"))
        for name in ("settingsd_scrub_damaged_files", "settingsd_failed_syncs_total",
                     "settingsd_failed_snapshots_total"):
            if float(metrics[name]) != 0:
                raise UnexpectedAnswer(f"{name} is {metrics[name]}")
        if "settingsd_scrub_timestamp_seconds" not in metrics and self.runs.run_seconds > 10 * SCRUB_SECONDS:
            raise UnexpectedAnswer(f"the daemon did not check its files within {10 * SCRUB_SECONDS} s")

    def take_backup(self, connection: Connection) -> None:
        self.ask(connection, "GET", "/v1/backup")
        self.findings.count("backups")
