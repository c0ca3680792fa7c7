"""The daemon as these programs see it: its command line, its options, its files. Nothing else here may know them."""

import json
import pathlib
import re
import subprocess

from .service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTENING = re.compile(r"listening on http://([0-9.]+):(\d+)")

ALWAYS, INTERVAL, SNAPSHOT = "always", "interval", "snapshot"
DURABILITIES = (ALWAYS, INTERVAL, SNAPSHOT)

# Exit codes of `settingsd check DIR`: sound, or with a torn tail that the next start cuts off by itself.
CHECK_SOUND, CHECK_TORN_TAIL = 0, 1

JOURNALS = "journal-*.jsonl"
SNAPSHOTS = "snapshot-*.json"


def snapshot_options(journal_bytes=None, interval=None):
    """Options that decide when a snapshot is written: after so many bytes of journal, after so many seconds."""
    chosen = {"journalBytes": journal_bytes, "intervalSeconds": interval}
    return {"snapshot": {name: value for name, value in chosen.items() if value is not None}}


def build(configuration="release", run=True, product="settingsd", options=()):
    """Returns the path of the daemon's program, or another of the package's, built first unless `run` is false."""
    swift = ["swift", "build", "-c", configuration, "--product", product, *options]
    if run:
        subprocess.run(swift, cwd=ROOT, check=True, stdout=2)
    folder = subprocess.run([*swift[:4], "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(folder.stdout.strip()) / product


class Settingsd(Service):
    """A daemon of our own over the data directory `data`, on a port of its choice unless the caller names a port. It may have no
    more than `open_files` files and sockets open, if that is given. `output` is the path of a file for the access log."""

    def __init__(self, program, data, durability=ALWAYS, options=None, address="127.0.0.1:0", open_files=None,
                 output=None):
        self.data = pathlib.Path(data)
        self.durability = durability
        command = [program, "--listen", address, "--data", self.data, "--durability", durability]
        if options:
            configuration = self.data.with_name(self.data.name + ".config.json")
            configuration.write_text(json.dumps(options))
            command += ["--config", configuration]
        if open_files:
            command = ["prlimit", f"--nofile={open_files}:{open_files}", *command]
        super().__init__("settingsd", command, LISTENING, output=output)

    @property
    def port(self):
        return int(self.match[2])


def create_token(program, tokens, name, *grants):
    """Adds a token to a token file, which is created if it does not exist. Returns the token."""
    command = [program, "token", "create", name, "--access.tokens", tokens]
    for grant in grants:
        command += ["--grant", grant]
    run = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, timeout=60)
    return run.stdout.strip()


def check(program, data):
    """Runs `settingsd check` on a directory that no daemon uses; returns its exit code and what it said."""
    run = subprocess.run([program, "check", data], capture_output=True, text=True, timeout=120)
    return run.returncode, (run.stdout + run.stderr).strip()
