"""The growth of a value over several runs of the daemon: one line for each run, with its own intercept and a common slope."""

from collections.abc import Callable, Iterable, Sequence

from .runs import Sample

HOUR_SECONDS = 3600


def per_hour(runs: Iterable[Sequence[Sample]], value: Callable[[Sample], float], warm_up: float) -> float | None:
    """Returns the least-squares slope of the samples after the warm-up of each run, or None with too few samples."""
    numerator = denominator = 0.0
    for run in runs:
        samples = [sample for sample in run if sample.run_seconds >= warm_up]
        if len(samples) < 3:
            continue
        mean_time = sum(sample.run_seconds for sample in samples) / len(samples)
        mean = sum(map(value, samples)) / len(samples)
        numerator += sum((sample.run_seconds - mean_time) * (value(sample) - mean) for sample in samples)
        denominator += sum((sample.run_seconds - mean_time) ** 2 for sample in samples)
    return numerator / denominator * HOUR_SECONDS if denominator else None
