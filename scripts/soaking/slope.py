"""Slopes of samples over several lives: each life has a level of its own, all have one slope."""

from collections.abc import Callable, Iterable, Sequence

from .lives import Sample

HOUR = 3600


def per_hour(lives: Iterable[Sequence[Sample]], value: Callable[[Sample], float], warm_up: float) -> float | None:
    """The slope by least squares, per hour, of what comes after the warm-up of each life; None with too few samples."""
    above = below = 0.0
    for life in lives:
        kept = [sample for sample in life if sample.age >= warm_up]
        if len(kept) < 3:
            continue
        age = sum(sample.age for sample in kept) / len(kept)
        mean = sum(map(value, kept)) / len(kept)
        above += sum((sample.age - age) * (value(sample) - mean) for sample in kept)
        below += sum((sample.age - age) ** 2 for sample in kept)
    return above / below * HOUR if below else None
