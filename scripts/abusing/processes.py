"""Processes beside the script's own, so that no client of a row waits for another's interpreter."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import Any

from .swarm import Role, Swarm

# They share the cores with the daemon: a slow answer should be due to the daemon, not to the abuser's interpreter.
ABUSER_NICENESS = 3
REPLY_WITHIN = 30


class Child:
    """A forked process that runs `work(pipe)`. It ends with the `with` block, however that ends."""

    def __init__(self, work: Callable[[Pipe], None]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, self._theirs = context.Pipe()
        self._process = context.Process(target=work, args=(self._theirs,), daemon=True)

    def ask(self, message: Any, within: float = REPLY_WITHIN) -> Any:
        """Sends a message and returns the reply to it."""
        self.pipe.send(message)
        if not self.pipe.poll(within):
            raise TimeoutError(f"a process of the row did not reply within {within} s")
        return self.pipe.recv()

    def __enter__(self) -> "Child":
        self._process.start()
        self._theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def abuser(port: int, roles: list[Role]) -> Child:
    """A process that abuses the daemon from its first message on."""
    def work(pipe: Pipe) -> None:
        os.nice(ABUSER_NICENESS)
        pipe.recv()
        pipe.send(None)
        Swarm(port, roles).run(pipe)
    return Child(work)
