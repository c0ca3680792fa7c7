"""Measures the longest latency that clients see in a period of time.

A load generator at full load would measure the time in its own queue. Therefore these clients send one request, wait for
the answer, and sleep for a millisecond. Each client is a process, so that clients do not share a Python interpreter.
"""

import gc
import multiprocessing
import time

from harness.http import Connection

SLEEP_SECONDS = 0.001


class Pauses:
    """Client processes that measure the latency of each request. `requests` maps the name of a client to an iterator of the
    bytes of its requests."""

    def __init__(self, port, requests):
        self.port = port
        self.requests = requests
        self.clients = {}
        self.slowest = {}

    def __enter__(self):
        """Starts the clients. Returns when every client has received its first answer."""
        context = multiprocessing.get_context("fork")
        try:
            for name, requests in self.requests.items():
                our_end, client_end = context.Pipe()
                process = context.Process(target=_client, args=(self.port, requests, client_end), daemon=True)
                process.start()
                client_end.close()
                self.clients[name] = (process, our_end)
            for name in self.clients:
                self._receive(name)
        except BaseException:
            self._end()
            raise
        self.began = time.monotonic()
        return self

    def run_until(self, condition, within):
        """Waits until `condition()` is true, and stops the clients. Returns the seconds until the condition was true.

        `slowest` maps each client to the number of its requests in this time, and to their longest latency in seconds.
        """
        while not condition():
            if time.monotonic() - self.began > within:
                raise TimeoutError(f"the operation during which latencies are measured did not end within {within} s")
            for name, (_, pipe) in self.clients.items():
                if pipe.poll():
                    self._receive(name)
            # The condition is usually a new file, and the standard library cannot wait for a new file.
            time.sleep(0.005)
        ended = time.monotonic()
        for name, (_, pipe) in self.clients.items():
            pipe.send(None)
            latencies = [latency for sent, latency in self._receive(name)
                         if sent + latency >= self.began and sent <= ended]
            self.slowest[name] = (len(latencies), max(latencies))
        return ended - self.began

    def _receive(self, name):
        """Returns a message of a client. A text is the error that ended the client, and raises ConnectionError."""
        try:
            message = self.clients[name][1].recv()
        except EOFError:
            message = "its process ended"
        if isinstance(message, str):
            raise ConnectionError(f"the client that measures the latency of {name} failed: {message}")
        return message

    def _end(self):
        for process, pipe in self.clients.values():
            process.kill()
            process.join()
            pipe.close()

    def __exit__(self, *_):
        self._end()


def _client(port, requests, pipe):
    """Runs in a client process. Sends requests to the daemon until a message arrives on the pipe. Sends on the pipe: an empty
    list after the first answer; at the end, the send time and the latency of each request as a list, or the text of an error."""
    gc.disable()  # A garbage collection would increase the measured latency.
    timings = []
    try:
        with Connection(port) as connection:
            for request in requests:
                sent = time.monotonic()
                response = connection.exchange(request)
                timings.append((sent, time.monotonic() - sent))
                if response.status not in (200, 201):
                    raise ConnectionError(f"unexpected answer {response}")
                if len(timings) == 1:
                    pipe.send([])
                if pipe.poll(SLEEP_SECONDS):
                    break
        pipe.send(timings)
    except OSError as error:
        pipe.send(str(error))
