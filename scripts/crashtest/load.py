"""Load from many connections at once, driven by one thread.

One thread sees one order of events: what it has read when it sends a request certainly was before that request. That
is what makes the checks of revisions exact. Half of the connections keep several requests in flight.
"""

import collections
import selectors
import socket
import time

from harness.http import pop_response

from . import operations
from .ledger import Broken

CONNECTIONS = 16
PIPELINED = 6
OWN_KEYS = 12
ANSWER_WITHIN = 20


class Client:
    """One connection and the requests on it, in order. Some keys only this client writes."""

    def __init__(self, number, port, depth):
        self.number = number
        self.depth = depth
        self.socket = socket.create_connection(("127.0.0.1", port), ANSWER_WITHIN)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.received = bytearray()
        self.unsent = bytearray()
        self.waiting = collections.deque()
        self.last_commit = 0

    @property
    def suite(self):
        return own_suite(self.number)


def own_suite(number):
    return f"own-{number}"


class Load:
    """Drives clients against one run of the daemon. `expected` holds the values of keys that only one client writes,
    as they stand once everything sent has taken effect."""

    def __init__(self, ledger, chance, values, expected):
        self.ledger = ledger
        self.chance = chance
        self.values = values
        self.expected = expected
        self.once = {}
        self.ended = False

    def run(self, port, seconds, end):
        """Keeps the daemon busy for `seconds`, calls `end`, then reads every answer that still arrives."""
        selector = selectors.DefaultSelector()
        clients = [Client(number, port, PIPELINED if number % 2 else 1) for number in range(CONNECTIONS)]
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        try:
            for client in clients:
                self._send(client)
            ends_at = time.monotonic() + seconds
            while selector.get_map():
                left = ends_at - time.monotonic()
                if left <= 0 and not self.ended:
                    self.ended, ends_at = True, ends_at + ANSWER_WITHIN
                    end()
                elif left <= 0:
                    open_still = len(selector.get_map())
                    raise Broken(f"{open_still} connections are still open {ANSWER_WITHIN} s after the end")
                for key, events in selector.select(max(0, left)):
                    if not self._serve(key.data, events):
                        selector.unregister(key.data.socket)
                    elif key.events != (wanted := _events(key.data)):
                        selector.modify(key.data.socket, wanted, key.data)
        finally:
            selector.close()
            for client in clients:
                client.socket.close()

    def _serve(self, client, events):
        """Reads what has arrived and sends more in its place; False once the connection is over."""
        try:
            more = client.socket.recv(1 << 18) if events & selectors.EVENT_READ else None
        except ConnectionError:
            more = b""
        if more:
            client.received += more
            closes = False
            while (response := pop_response(client.received)) is not None:
                closes = response.fields.get("connection", "").lower() == "close"
                self._answered(client, response)
            if closes and not self.ended:
                raise Broken(f"the daemon closed a connection under load with {response}")
        if more == b"":
            if not self.ended:
                raise Broken("the daemon closed a connection under load")
            return False
        if not self.ended:
            self._send(client)
        return True

    def _answered(self, client, response):
        if not client.waiting:
            raise Broken(f"an answer without a request: {response}")
        if response.status == 503 and not self.ended:
            raise Broken(f"a request was refused under a load that is no overload: {response}")
        request = client.waiting.popleft()
        cursor = self.ledger.read_cursor(response, request.floor)
        request.answered(response, self.ledger, cursor)

    def _send(self, client):
        while len(client.waiting) < client.depth:
            for request in self._choose(client):
                request.connection = client
                request.floor = self.ledger.highest
                client.waiting.append(request)
                client.unsent += request.bytes
                if isinstance(request, operations.Write):
                    self.ledger.pending[id(request)] = request
        try:
            while client.unsent:
                del client.unsent[:client.socket.send(client.unsent)]
        except (BlockingIOError, ConnectionError):
            pass

    def _choose(self, client):
        """The next request or two of a client."""
        chance = self.chance
        value = next(self.values)
        own = (client.suite, f"k{chance.randrange(OWN_KEYS)}")
        shared = ("shared", f"k{chance.randrange(6)}")
        match chance.choices(KINDS, WEIGHTS)[0]:
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
                return [operations.put(("bulk", f"b{chance.randrange(3)}"),
                                       f"{value}:" + "x" * chance.randrange(1000, 200_000))]
            case "add":
                return [operations.add(chance.choice(operations.COUNTERS))]
            case "add once":
                key = f"once-{value}"
                self.once[key] = operations.add(operations.ONCE, key=key)
                return [self.once[key]]
            case "set group":
                return [operations.set_group(value)]
            case "read group":
                return [operations.ReadGroup()]
            case "set pair":
                return [operations.set_pair(chance.randrange(4), value)]
            case _:
                return [operations.transfer(chance.randrange(1, 100))]


MIX = {"put": 30, "repeat": 4, "remove": 5, "read": 6, "put shared": 14, "read shared": 8, "put large": 0.5, "add": 12,
       "add once": 5, "set group": 5, "read group": 3, "set pair": 5, "transfer": 5}
KINDS, WEIGHTS = list(MIX), list(MIX.values())


def _events(client):
    return selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
