"""The table that scripts/abuse prints, and the limits for each of its rows. A row has the outcome of one kind of abuse."""

from collections import Counter
from dataclasses import dataclass

from .bystander import RequestStatistics
from .trial import Outcome, Stop

MIB = 1 << 20
NAME_WIDTH = 26
COLUMNS = "{:<26}  {:>10}  {:>10}  {:>10}  {:>21}  {:<16}  {:<36}  {:<36}  {}"
HEADINGS = COLUMNS.format("row", "GET", "PUT", "memory", "slow loop iterations", "stop", "bystander",
                          "answers to the abuser", "")


@dataclass(frozen=True)
class Limits:
    """The maximum latencies of the bystander (the well-behaved client) in seconds, and the maximum increase of the daemon's memory
    during the abuse in bytes."""

    get: float
    put: float
    memory: int

    def exceeded(self, outcome: Outcome) -> list[str]:
        """Returns the names of the limits that the outcome exceeds, "refused" after a refusal, and "stop" after an unclean stop."""
        is_kept = {
            "GET": outcome.bystander["GET"].slowest <= self.get,
            "PUT": outcome.bystander["PUT"].slowest <= self.put,
            "memory": outcome.memory <= self.memory,
            "refused": not refusals(outcome.bystander),
            "stop": outcome.stop.is_clean,
        }
        return [name for name in is_kept if not is_kept[name]]


def limits(slack: float) -> Limits:
    """Returns the limits. `slack`, a factor for a busy machine, multiplies the limits of latency."""
    return Limits(get=0.1 * slack, put=0.5 * slack, memory=256 * MIB)


def refusals(bystander: dict[str, RequestStatistics]) -> Counter[str]:
    return sum((statistics.refusals for statistics in bystander.values()), Counter())


def format_row(name: str, outcome: Outcome, exceeded: list[str]) -> str:
    return COLUMNS.format(
        name, milliseconds(outcome.bystander["GET"].slowest), milliseconds(outcome.bystander["PUT"].slowest),
        f"{outcome.memory / MIB:+,.0f} MiB", outcome.slow_iterations, format_stop(outcome.stop),
        format_bystander(outcome.bystander), format_answers(outcome.answers),
        "MISSED: " + ", ".join(exceeded) if exceeded else "ok")


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def format_answers(counts: Counter[str]) -> str:
    """Returns the number of answers of each status, and the numbers of closed and open connections, such as
    `200×31 503×2, 4 closed, 1 open`."""
    answers = " ".join(f"{status}×{count}" for status, count in sorted(counts.items()) if status.isdecimal())
    connections = [f"{counts[state]} {state}" for state in ("closed", "open") if counts[state]]
    return ", ".join([answers or "none", *connections])


def format_stop(stop: Stop) -> str:
    return f"none in {stop.seconds:.0f} s" if stop.code is None else f"code {stop.code}, {stop.seconds:.1f} s"


def format_bystander(bystander: dict[str, RequestStatistics]) -> str:
    requests = sum(statistics.requests for statistics in bystander.values())
    refused = " ".join(f"{reason}×{count}" for reason, count in refusals(bystander).items())
    return f"{requests} requests" + (f", {refused}" if refused else "")
