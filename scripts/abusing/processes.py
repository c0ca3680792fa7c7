"""Child processes for the clients of a test of scripts/abuse, so that the clients do not share a Python interpreter."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import Any

from .swarm import Role, Swarm

# The abuser gets a lower priority than the daemon, because both use the same cores. With the same priority, the Python
# interpreter of the abuser would delay the answers of the daemon.
ABUSER_NICENESS = 3
REPLY_TIMEOUT_SECONDS = 30


class Child:
    """A forked process that runs `work(pipe)`. The end of the `with` block kills the process."""

    def __init__(self, work: Callable[[Pipe], None]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, self._child_end = context.Pipe()
        self._process = context.Process(target=work, args=(self._child_end,), daemon=True)

    def ask(self, message: Any, within: float = REPLY_TIMEOUT_SECONDS) -> Any:
        """Sends a message to the process and returns its reply."""
        self.pipe.send(message)
        if not self.pipe.poll(within):
            raise TimeoutError(f"a child process of the test did not reply within {within} s")
        return self.pipe.recv()

    def __enter__(self) -> "Child":
        self._process.start()
        self._child_end.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def abuser(port: int, roles: list[Role]) -> Child:
    """Returns a process that starts the abuse when it receives its first message. `Swarm.run` handles the later messages."""
    def work(pipe: Pipe) -> None:
        os.nice(ABUSER_NICENESS)
        pipe.recv()
        pipe.send(None)
        Swarm(port, roles).run(pipe)
    return Child(work)
