"""The bounds that every row must keep, and the lines of the report."""

from collections import Counter
from dataclasses import dataclass

from .bystander import Experience
from .trial import Outcome, Stop

MIB = 1 << 20
NAME_WIDTH = 26
COLUMNS = "{:<26}  {:>10}  {:>10}  {:>10}  {:>10}  {:<16}  {:<36}  {:<36}  {}"
HEADINGS = COLUMNS.format("row", "GET", "PUT", "memory", "slow loops", "stop", "bystander", "answers to the abuser", "")


@dataclass(frozen=True)
class Bounds:
    """What a bystander may notice at most, in seconds, and what the abuse may take of memory, in bytes."""

    get: float
    put: float
    memory: int

    def missed(self, outcome: Outcome) -> list[str]:
        """The names of the bounds that an outcome does not keep."""
        kept = {
            "GET": outcome.seen["GET"].slowest <= self.get,
            "PUT": outcome.seen["PUT"].slowest <= self.put,
            "memory": outcome.memory <= self.memory,
            "refused": not refusals(outcome.seen),
            "stop": outcome.stop.is_clean,
        }
        return [name for name, is_kept in kept.items() if not is_kept]


def bounds(slack: float) -> Bounds:
    return Bounds(get=0.1 * slack, put=0.5 * slack, memory=256 * MIB)


def refusals(seen: dict[str, Experience]) -> Counter[str]:
    return sum((experience.refusals for experience in seen.values()), Counter())


def line(name: str, outcome: Outcome, missed: list[str]) -> str:
    return COLUMNS.format(
        name, milliseconds(outcome.seen["GET"].slowest), milliseconds(outcome.seen["PUT"].slowest),
        f"{outcome.memory / MIB:+,.0f} MiB", outcome.slow_iterations, stop(outcome.stop),
        bystander(outcome.seen), counts(outcome.tally),
        "MISSED: " + ", ".join(missed) if missed else "ok")


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def counts(tally: Counter[str]) -> str:
    """Answers by status, as in `200×31 503×2, 4 closed, 1 open`."""
    answers = " ".join(f"{status}×{count}" for status, count in sorted(tally.items()) if status.isdecimal())
    connections = [f"{tally[state]} {state}" for state in ("closed", "open") if tally[state]]
    return ", ".join([answers or "none", *connections])


def stop(ended: Stop) -> str:
    return f"none in {ended.seconds:.0f} s" if ended.code is None else f"code {ended.code}, {ended.seconds:.1f} s"


def bystander(seen: dict[str, Experience]) -> str:
    requests = sum(experience.requests for experience in seen.values())
    refused = " ".join(f"{why}×{count}" for why, count in refusals(seen).items())
    return f"{requests} requests" + (f", {refused}" if refused else "")
