"""The Swift client: what it costs the program that uses it."""

import json
import statistics
import subprocess

from harness.daemon import ALWAYS, INTERVAL

from .load import LoadFailed
from .report import Required, Row, absolute, compared, kilobytes, microseconds, nanoseconds

READ, READ_BY_KEY = 100, 150
# Two threads at once may take so many times as long: they wait for a lock when they need the same one.
TWO_THREADS = 3
SET = 1.5
ADAPTERS, ADAPTER_BYTES = 300, 100e3
ROUNDS = 40
RUN_TIME_KEYS = 50_000
MILLISECONDS_PER_SECOND = 10
# What is measured for comparison, and what costs more to make than to look up, has nothing to reach.
BASELINE, MADE_WITH_LIMITS = "a variable of the program", "[key:], made for the read, limits"
SETUP = ("client-cost: release build, its keys in one module and its reads in another, each read a call of its own; times "
         "are medians")


def client(bench):
    """The Swift client: reads on one thread and on two, decoding, a set beside bare HTTP, memory."""
    bench.setups["client-cost"] = SETUP
    yield from reads(bench)
    yield from decoding(bench)
    yield from sets(bench)
    yield from memory(bench)
    yield from keys(bench)


def reads(bench):
    """Nanoseconds a read, alone, beside a thread that reads another key, and beside one that reads the same key.

    References to text, arrays and the like are counted by Swift. Threads that take the same one at the same time wait for
    the count, however they got to it; so for these that figure has nothing to reach.
    """
    rounds = bench.in_rounds(client=lambda: ask(bench, "reads", bench.seconds * MILLISECONDS_PER_SECOND))["client"]
    medians = {measured["read"]: {figure: statistics.median(each[number][figure] for each in rounds)
                                  for figure in ("alone", "besideOther", "besideSame")}
               for number, measured in enumerate(rounds[0])}
    counted = {measured["read"] for measured in rounds[0] if measured["isCounted"]}
    remarks = {"Defaults[\\.libraries], array":
               f"an array that is just handed out takes {said(medians.pop(BASELINE))}",
               "[key:], made for the read": f"with limits {said(medians.pop(MADE_WITH_LIMITS))}, to make the key above all"}
    for name, figures in medians.items():
        bound = READ_BY_KEY if name.startswith("[key:]") else READ
        beside = max(figures[figure] for figure in ("besideOther", "besideSame")
                     if figure != "besideSame" or name not in counted)
        yield Row(name, nanoseconds(figures["alone"]), two_threads(figures), "", f"<= {nanoseconds(bound)}",
                  figures["alone"] <= bound and beside <= TWO_THREADS * bound, remarks.get(name, ""))


def said(figures):
    return f"{nanoseconds(figures['alone'])}, on {two_threads(figures)}"


def two_threads(figures):
    return f"two threads {nanoseconds(figures['besideOther'])}, same key {nanoseconds(figures['besideSame'])}"


def decoding(bench):
    """How often a Codable value is decoded."""
    counts = bench.in_rounds(client=lambda: ask(bench, "decodes")[0])["client"]
    yield absolute("decodes of a revision", lambda value: f"{value:g}",
                   [count["decodes"] / count["revisions"] for count in counts], Required("<=", 1),
                   "of a Codable value that is read 300 times by path, as a member and by key")


def sets(bench):
    """A set that the daemon acknowledges, beside a bare exchange of the same bytes."""
    for durability in (ALWAYS, INTERVAL):
        with bench.settingsd(durability) as daemon:
            runs = bench.in_rounds(client=lambda: ask(bench, "writes", daemon.port, ROUNDS)[0])["client"]
        yield compared(f"set, durability {durability}", microseconds, [run["set"] for run in runs],
                       [run["exchange"] for run in runs], "bare HTTP", Required("<=", SET))


def memory(bench):
    """Resident memory of an adapter with a suite of its own."""
    with bench.settingsd(INTERVAL) as daemon:
        runs = bench.in_rounds(remote=lambda: ask(bench, "memory", ADAPTERS, daemon.port)[0],
                              memory=lambda: ask(bench, "memory", ADAPTERS)[0])
    for title, name in (("an adapter of a suite", "remote"), ("an adapter in memory", "memory")):
        yield absolute(title, kilobytes, [run["bytesPerAdapter"] for run in runs[name]], Required("<=", ADAPTER_BYTES),
                       f"one of {ADAPTERS}, with eleven keys read or written")


def keys(bench):
    """Keys whose names are made at run time, each made for its read."""
    runs = bench.in_rounds(client=lambda: ask(bench, "keys", RUN_TIME_KEYS)[0])["client"]
    title = f"{RUN_TIME_KEYS:,} keys made at run time"
    yield absolute(f"{title}: first reads", lambda value: f"{value:.2f} s", [run["firstReads"] for run in runs],
                   Required("<=", 1), "read once more they take "
                   f"{statistics.median(run['secondReads'] for run in runs) * 1e9 / RUN_TIME_KEYS:.0f} ns each")
    yield absolute(f"{title}: kept for each", lambda value: f"{value:.0f} B", [run["bytesPerKey"] for run in runs],
                   Required("<=", 500))


def ask(bench, *words):
    """Runs the program once; returns what it says, a line each."""
    command = [str(word) for word in (bench.client_cost, *words)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise LoadFailed(f"{' '.join(command)} ended with {run.returncode}: {run.stderr.strip()}")
    return [json.loads(line) for line in run.stdout.splitlines()]
