"""The command line, the options, the exit codes and the file names of the daemon, for the scripts that run it."""

import json
import pathlib
import re
import subprocess

from .service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The line by which the daemon says that it is ready.
LISTENING = re.compile(r"listening on http://([0-9.]+):(\d+)")

ALWAYS, INTERVAL, SNAPSHOT = "always", "interval", "snapshot"
DURABILITIES = (ALWAYS, INTERVAL, SNAPSHOT)

# Exit codes of `settingsd check DIR`: the files are sound; or the newest journal ends with an incomplete line, which the
# next start removes.
CHECK_SOUND, CHECK_TORN_TAIL = 0, 1

JOURNALS = "journal-*.jsonl"
SNAPSHOTS = "snapshot-*.json"


def snapshot_options(journal_bytes=None, interval_seconds=None):
    """Returns the options that set when the daemon writes a snapshot: by the size of the journal, and by the time."""
    limits = {"journalBytes": journal_bytes, "intervalSeconds": interval_seconds}
    return {"snapshot": {name: value for name, value in limits.items() if value is not None}}


def build(configuration="release", compiles=True, product="settingsd", options=()):
    """Returns the path of a program of the package. Compiles the program first, unless `compiles` is false."""
    command = ["swift", "build", "-c", configuration, "--product", product, *options]
    if compiles:
        subprocess.run(command, cwd=ROOT, check=True, stdout=2)
    folder = subprocess.run([*command[:4], "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return pathlib.Path(folder.stdout.strip()) / product


class Settingsd(Service):
    """A daemon with the data directory `data`. Port 0 of `address` lets the kernel choose a free port. `open_files` limits
    the open files and sockets of the process. `output` is the path of a file for the standard output: the access log."""

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
    """Adds a token to the token file, creating the file if it does not exist. Returns the token."""
    command = [program, "token", "create", name, "--access.tokens", tokens]
    for grant in grants:
        command += ["--grant", grant]
    run = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, timeout=60)
    return run.stdout.strip()


def check(program, data):
    """Runs `settingsd check` on a directory that no daemon uses. Returns the exit code and the output."""
    run = subprocess.run([program, "check", data], capture_output=True, text=True, timeout=120)
    return run.returncode, (run.stdout + run.stderr).strip()
