"""Load from many connections on one thread.

With one thread, all events have one order: the daemon sent every answer that the thread has read before the daemon got the
next request. Therefore the checks of revisions are exact. Half of the connections pipeline several requests.
"""

import collections
import selectors
import socket
import time

from harness.http import pop_response

from . import operations
from .ledger import Broken

CONNECTIONS = 16
PIPELINE_DEPTH = 6
KEYS_PER_CLIENT = 12
ANSWER_TIMEOUT_SECONDS = 20


class Client:
    """A connection with its unanswered requests in order, at most `depth`. Only this client writes to its own suite. `last_commit`
    is the revision of its last acknowledged commit."""

    def __init__(self, number, port, depth):
        self.number = number
        self.depth = depth
        self.socket = socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.received = bytearray()
        self.unsent = bytearray()
        self.unanswered = collections.deque()
        self.last_commit = 0

    @property
    def suite(self):
        return own_suite(self.number)


def own_suite(number):
    return f"own-{number}"


class Load:
    """Sends requests to one run of the daemon. `values` yields numbers that no other write uses. `expected` maps each setting
    of a client's own suite to its value after all requests that the client has sent."""

    def __init__(self, ledger, rng, values, expected):
        self.ledger = ledger
        self.rng = rng
        self.values = values
        self.expected = expected
        # The additions with an Idempotency-Key, by key.
        self.once = {}
        self.ended = False

    def run(self, port, seconds, end):
        """Sends requests for `seconds`, calls `end`, which stops or kills the daemon, and reads all answers that still arrive."""
        selector = selectors.DefaultSelector()
        clients = [Client(number, port, PIPELINE_DEPTH if number % 2 else 1) for number in range(CONNECTIONS)]
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        try:
            for client in clients:
                self._send(client)
            ends_at = time.monotonic() + seconds
            while selector.get_map():
                left = ends_at - time.monotonic()
                if left <= 0 and not self.ended:
                    self.ended, ends_at = True, ends_at + ANSWER_TIMEOUT_SECONDS
                    end()
                elif left <= 0:
                    raise Broken(f"{len(selector.get_map())} connections are open {ANSWER_TIMEOUT_SECONDS} s after the "
                                 "daemon should have ended")
                for key, events in selector.select(max(0, left)):
                    if not self._serve(key.data, events):
                        selector.unregister(key.data.socket)
                    elif key.events != (wanted := _wanted_events(key.data)):
                        selector.modify(key.data.socket, wanted, key.data)
        finally:
            selector.close()
            for client in clients:
                client.socket.close()

    def _serve(self, client, events):
        """Reads answers and sends new requests. Returns false when the daemon has closed the connection."""
        try:
            received = client.socket.recv(1 << 18) if events & selectors.EVENT_READ else None
        except ConnectionError:
            received = b""
        if received:
            client.received += received
            closes, last_response = False, None
            while (response := pop_response(client.received)) is not None:
                last_response = response
                closes = response.fields.get("connection", "").lower() == "close"
                self._handle_response(client, response)
            if closes and not self.ended:
                raise Broken(f"the daemon closed a connection under load with the answer {last_response}")
        if received == b"":
            if not self.ended:
                raise Broken("the daemon closed a connection under load")
            return False
        if not self.ended:
            self._send(client)
        return True

    def _handle_response(self, client, response):
        if not client.unanswered:
            raise Broken(f"the daemon sent an answer without a request: {response}")
        if response.status == 503 and not self.ended:
            raise Broken(f"the daemon refused a request although it is not overloaded: {response}")
        request = client.unanswered.popleft()
        cursor = self.ledger.read_cursor(response, request.min_revision)
        request.check_response(response, self.ledger, cursor)

    def _send(self, client):
        while len(client.unanswered) < client.depth:
            for request in self._choose(client):
                request.connection = client
                request.min_revision = self.ledger.highest
                client.unanswered.append(request)
                client.unsent += request.bytes
                if isinstance(request, operations.Write):
                    self.ledger.pending[id(request)] = request
        try:
            while client.unsent:
                del client.unsent[:client.socket.send(client.unsent)]
        except (BlockingIOError, ConnectionError):
            pass

    def _choose(self, client):
        """Returns the next request of a client, or the next two."""
        rng = self.rng
        value = next(self.values)
        own = (client.suite, f"k{rng.randrange(KEYS_PER_CLIENT)}")
        shared = ("shared", f"k{rng.randrange(6)}")
        match rng.choices(KINDS, WEIGHTS)[0]:
            case "put":
                self.expected[own] = value
                return [operations.put(own, value)]
            case "repeat":
                self.expected[own] = value
                return [operations.put(own, value), operations.Repeat(own, value)]
            case "remove":
                self.expected[own] = None
                return [operations.remove(own)]
            case "read":
                return [operations.Read(own, self.expected.get(own))]
            case "put shared":
                return [operations.put(shared, value)]
            case "read shared":
                return [operations.Read(shared)]
            case "put large":
                return [operations.put(("bulk", f"b{rng.randrange(3)}"),
                                       f"{value}:" + "x" * rng.randrange(1000, 200_000))]
            case "add":
                return [operations.add(rng.choice(operations.COUNTERS))]
            case "add once":
                key = f"once-{value}"
                self.once[key] = operations.add(operations.ONCE, key=key)
                return [self.once[key]]
            case "set group":
                return [operations.set_group(value)]
            case "read group":
                return [operations.ReadGroup()]
            case "set pair":
                return [operations.set_pair(rng.randrange(4), value)]
            case _:
                return [operations.transfer(rng.randrange(1, 100))]


REQUEST_WEIGHTS = {
    "put": 30, "repeat": 4, "remove": 5, "read": 6, "put shared": 14, "read shared": 8, "put large": 0.5, "add": 12,
    "add once": 5, "set group": 5, "read group": 3, "set pair": 5, "transfer": 5}
KINDS, WEIGHTS = list(REQUEST_WEIGHTS), list(REQUEST_WEIGHTS.values())


def _wanted_events(client):
    return selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
