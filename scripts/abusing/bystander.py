"""A client that does nothing unusual: it reads and writes small settings, and notes how long each answer took."""

import collections
import contextlib
import functools
import gc
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe

from harness.http import Connection, render

from .processes import Child

SUITE = "bystander"
READ_EACH, WRITE_EACH, WRITE_LARGE_EACH = 0.003, 0.02, 0.2
# Such a body is parsed beside the event loops.
LARGE_TEXT = "x" * 70_000
# Every so many requests one is sent on a connection of its own.
NEW_CONNECTION_EACH = 20
PATIENCE = 60


@dataclass
class Experience:
    """What a bystander has seen: how many requests, the slowest answer in seconds, what was refused or failed."""

    requests: int = 0
    slowest: float = 0
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)

    def note(self, seconds: float, refusal: str | None) -> None:
        self.requests += 1
        self.slowest = max(self.slowest, seconds)
        if refusal:
            self.refusals[refusal] += 1

    def add(self, other: "Experience") -> None:
        self.requests += other.requests
        self.slowest = max(self.slowest, other.slowest)
        self.refusals += other.refusals


@dataclass(frozen=True)
class Habit:
    """Requests of one kind, sent every `pause` seconds or, if an answer takes longer, after it."""

    kind: str
    requests: Iterator[bytes]
    pause: float


def habits(writes_large: bool) -> list[Habit]:
    """What a bystander does at once, each on connections of its own."""
    path = f"/v1/suites/{SUITE}/keys"
    chosen = [
        Habit("GET", itertools.repeat(render("GET", f"{path}/steady")), READ_EACH),
        Habit("PUT", (render("PUT", f"{path}/count", number) for number in itertools.count()), WRITE_EACH),
    ]
    if writes_large:
        chosen.append(Habit("PUT", (render("PUT", f"{path}/text", f"{number} {LARGE_TEXT}")
                                    for number in itertools.count()), WRITE_LARGE_EACH))
    return chosen


class Bystander:
    """One process for each habit, from when all have had a first answer until `finish`."""

    def __init__(self, port: int, writes_large: bool, connects_anew: bool) -> None:
        self._habits = habits(writes_large)
        self._children = [Child(functools.partial(_live, port, habit, connects_anew)) for habit in self._habits]

    def __enter__(self) -> "Bystander":
        with contextlib.ExitStack() as stack:
            for child in self._children:
                stack.enter_context(child).ask("begin")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def finish(self) -> dict[str, Experience]:
        """Waits for the answers under way, and returns what was seen, by kind of request."""
        seen: dict[str, Experience] = {}
        for child in self._children:
            child.pipe.send("finish")
        for habit, child in zip(self._habits, self._children):
            if not child.pipe.poll(2 * PATIENCE):
                raise TimeoutError(f"the bystander's {habit.kind} did not end within {2 * PATIENCE} s")
            seen.setdefault(habit.kind, Experience()).add(child.pipe.recv())
        return seen


def _live(port: int, habit: Habit, connects_anew: bool, pipe: Pipe) -> None:
    """Sends requests until something arrives on the pipe, then says what became of them."""
    gc.disable()
    experience = Experience()
    client = _Client(port)
    pipe.recv()
    client.exchange(next(habit.requests), is_alone=False)
    pipe.send(None)
    for number, request in enumerate(habit.requests):
        sent = time.monotonic()
        refusal = client.exchange(request, is_alone=connects_anew and number % NEW_CONNECTION_EACH == 0)
        took = time.monotonic() - sent
        experience.note(took, refusal)
        if pipe.poll(max(0, habit.pause - took)):
            break
    pipe.send(experience)


class _Client:
    """A connection that is kept, and made anew after a failure."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._kept: Connection | None = None

    def exchange(self, request: bytes, is_alone: bool) -> str | None:
        """Sends a request, on a connection of its own if it is alone; returns why it was refused or failed."""
        try:
            if is_alone:
                with Connection(self._port, PATIENCE) as connection:
                    status = connection.exchange(request).status
            else:
                self._kept = self._kept or Connection(self._port, PATIENCE)
                status = self._kept.exchange(request).status
        except OSError as error:
            if not is_alone and self._kept:
                self._kept.close()
                self._kept = None
            return type(error).__name__
        return None if status in (200, 201) else str(status)
