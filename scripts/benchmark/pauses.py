"""Pauses as clients see them: the slowest answer in a span of time.

A generator under full load measures its own queue. These clients send one request, wait for the answer, rest for a
millisecond; each is a process of its own, so that none waits for another's interpreter.
"""

import gc
import multiprocessing
import time

from harness.http import Connection

REST = 0.001


class Pauses:
    """Clients that time every request of theirs until they are stopped. `requests` maps a name to an iterator of bytes."""

    def __init__(self, port, requests):
        self.port = port
        self.requests = requests
        self.clients = {}
        self.slowest = {}

    def __enter__(self):
        """Returns once every client has had its first answer."""
        context = multiprocessing.get_context("fork")
        try:
            for name, requests in self.requests.items():
                ours, theirs = context.Pipe()
                process = context.Process(target=_client, args=(self.port, requests, theirs), daemon=True)
                process.start()
                theirs.close()
                self.clients[name] = (process, ours)
            for name in self.clients:
                self._receive(name)
        except BaseException:
            self._end()
            raise
        self.began = time.monotonic()
        return self

    def until(self, happened, within):
        """Waits until `happened()` is true, then stops the clients; returns how long that took.

        Fills `slowest` with, by client, how many requests fell into that time and the longest wait among them.
        """
        while not happened():
            if time.monotonic() - self.began > within:
                raise TimeoutError(f"what pauses were to be measured during did not end within {within} s")
            for name, (_, pipe) in self.clients.items():
                if pipe.poll():
                    self._receive(name)
            time.sleep(0.005)  # a directory has no event to wait for in the standard library
        ended = time.monotonic()
        for name, (_, pipe) in self.clients.items():
            pipe.send(None)
            waits = [wait for sent, wait in self._receive(name) if sent + wait >= self.began and sent <= ended]
            self.slowest[name] = (len(waits), max(waits))
        return ended - self.began

    def _receive(self, name):
        """What a client has to say; text from a client is why it gave up."""
        try:
            said = self.clients[name][1].recv()
        except EOFError:
            said = "its process ended"
        if isinstance(said, str):
            raise ConnectionError(f"the {name}s that pauses are measured with failed: {said}")
        return said

    def _end(self):
        for process, pipe in self.clients.values():
            process.kill()
            process.join()
            pipe.close()

    def __exit__(self, *_):
        self._end()


def _client(port, requests, pipe):
    """Says that it has begun; sends requests until something arrives on the pipe; then says when each was sent and how
    long it waited. At the first thing wrong says what, and is done."""
    gc.disable()
    timings = []
    try:
        with Connection(port) as connection:
            for request in requests:
                sent = time.monotonic()
                response = connection.exchange(request)
                timings.append((sent, time.monotonic() - sent))
                if response.status not in (200, 201):
                    raise ConnectionError(f"answered {response}")
                if len(timings) == 1:
                    pipe.send([])
                if pipe.poll(REST):
                    break
        pipe.send(timings)
    except OSError as error:
        pipe.send(str(error))
