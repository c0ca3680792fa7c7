"""Benchmarks of the Swift client: the time and the memory that the client takes in a program.

Each function yields rows of the table of scripts/bench: `compared` makes a row with the ratio to the same exchange without the
client, `absolute` a row with a figure of the client alone. `Required` is the limit for the ratio or for the figure. `reads` makes
its rows without these functions, because each row has several figures.
"""

import json
import statistics
import subprocess

from harness.daemon import ALWAYS, INTERVAL

from .load import LoadFailed
from .report import Required, Row, absolute, compared, kilobytes, microseconds, nanoseconds

MAX_READ_NANOSECONDS, MAX_READ_BY_KEY_NANOSECONDS = 100, 150
# A read while a second thread reads may take this multiple of the limit, because both threads may need the same lock.
TWO_THREADS_FACTOR = 3
MAX_SET_TO_EXCHANGE_RATIO = 1.5
ADAPTERS, MAX_ADAPTER_BYTES = 300, 100e3
# The number of times that client-cost measures 50 sets and then 50 exchanges.
SET_ALTERNATIONS = 40
RUN_TIME_KEYS = 50_000
# For each second of the option --seconds, each of the three measurements of a read (on one thread, while a second thread reads
# another key, while it reads the same key) takes this time.
READ_MILLISECONDS_PER_SECOND = 10
# Names of two reads in the output of client-cost that get no rows: the first is the baseline, and the second mostly measures
# the construction of the key. Remarks of other rows contain their times. "[key:]" is a read with a key object, as in
# `Defaults[key: …]`, and "limits" are the allowed values of a key.
VARIABLE, CONSTRUCTED_KEY_WITH_LIMITS = "a variable of the program", "[key:], constructed for the read, limits"
SETUP = ("client-cost: release build; the keys and the reads are in different modules, and no read is inlined; times are "
         "medians")


def client(bench):
    """The Swift client: reads on one and two threads, decoding, a set compared with bare HTTP, memory"""
    bench.setups["client-cost"] = SETUP
    yield from reads(bench)
    yield from decoding(bench)
    yield from sets(bench)
    yield from memory(bench)
    yield from keys(bench)


def reads(bench):
    """Nanoseconds per read: on one thread, while a second thread reads another key, and while it reads the same key.

    Strings and arrays have a reference count (`isCounted`). Two threads that read the same string contend for its count
    in any implementation, so the time for the same key has no limit for these types.
    """
    milliseconds = bench.seconds * READ_MILLISECONDS_PER_SECOND
    rounds = bench.run_rounds(client=lambda: run_client_cost(bench, "reads", milliseconds))["client"]
    medians = {measured["read"]: {figure: statistics.median(results[number][figure] for results in rounds)
                                  for figure in ("alone", "besideOther", "besideSame")}
               for number, measured in enumerate(rounds[0])}
    counted = {measured["read"] for measured in rounds[0] if measured["isCounted"]}
    remarks = {"Defaults[\\.libraries], array": f"a read of an array variable takes {show_all(medians.pop(VARIABLE))}",
               "[key:], constructed for the read":
                   f"for a key with limits {show_all(medians.pop(CONSTRUCTED_KEY_WITH_LIMITS))}, most of it for "
                   "constructing the key"}
    for name, figures in medians.items():
        limit = MAX_READ_BY_KEY_NANOSECONDS if name.startswith("[key:]") else MAX_READ_NANOSECONDS
        on_two_threads = max(figures[figure] for figure in ("besideOther", "besideSame")
                             if figure != "besideSame" or name not in counted)
        yield Row(name, nanoseconds(figures["alone"]), show_two_threads(figures), "", f"<= {nanoseconds(limit)}",
                  figures["alone"] <= limit and on_two_threads <= TWO_THREADS_FACTOR * limit, remarks.get(name, ""))


def show_all(figures):
    return f"{nanoseconds(figures['alone'])}, on {show_two_threads(figures)}"


def show_two_threads(figures):
    return f"two threads {nanoseconds(figures['besideOther'])}, same key {nanoseconds(figures['besideSame'])}"


def decoding(bench):
    """How often the client decodes a Codable value that the program reads repeatedly."""
    counts = bench.run_rounds(client=lambda: run_client_cost(bench, "decodes")[0])["client"]
    yield absolute("decodings per change", lambda value: f"{value:g}",
                   [count["decodes"] / count["revisions"] for count in counts], Required("<=", 1),
                   "of a Codable value; the program reads it 300 times after each change: by path, as a member and by key")


def sets(bench):
    """The time of a set until the daemon acknowledges it, compared with an HTTP exchange of the same bytes."""
    for durability in (ALWAYS, INTERVAL):
        with bench.settingsd(durability) as daemon:
            runs = bench.run_rounds(
                client=lambda: run_client_cost(bench, "writes", daemon.port, SET_ALTERNATIONS)[0])["client"]
        yield compared(f"set, durability {durability}", microseconds, [run["set"] for run in runs],
                       [run["exchange"] for run in runs], "bare HTTP", Required("<=", MAX_SET_TO_EXCHANGE_RATIO))


def memory(bench):
    """Resident memory per adapter (the object through which a program uses a suite). Each adapter has its own suite."""
    with bench.settingsd(INTERVAL) as daemon:
        runs = bench.run_rounds(remote=lambda: run_client_cost(bench, "memory", ADAPTERS, daemon.port)[0],
                                memory=lambda: run_client_cost(bench, "memory", ADAPTERS)[0])
    for title, name in (("memory of an adapter connected to the daemon", "remote"),
                        ("memory of an adapter in memory", "memory")):
        yield absolute(title, kilobytes, [run["bytesPerAdapter"] for run in runs[name]],
                       Required("<=", MAX_ADAPTER_BYTES), f"mean of {ADAPTERS}; the program has used ten keys of each")


def keys(bench):
    """Keys with names that the program builds at run time. The program constructs a key for each read."""
    runs = bench.run_rounds(client=lambda: run_client_cost(bench, "keys", RUN_TIME_KEYS)[0])["client"]
    title = f"{RUN_TIME_KEYS:,} keys constructed at run time"
    yield absolute(f"{title}: first reads", lambda value: f"{value:.2f} s", [run["firstReads"] for run in runs],
                   Required("<=", 1), "the second read of a key takes "
                   f"{statistics.median(run['secondReads'] for run in runs) * 1e9 / RUN_TIME_KEYS:.0f} ns")
    yield absolute(f"{title}: memory retained per key", lambda value: f"{value:.0f} B",
                   [run["bytesPerKey"] for run in runs], Required("<=", 500))


def run_client_cost(bench, *arguments):
    """Runs the program client-cost once. Returns its output: one JSON object for each line."""
    command = [str(word) for word in (bench.client_cost, *arguments)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise LoadFailed(f"{' '.join(command)} ended with {run.returncode}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.splitlines()]
