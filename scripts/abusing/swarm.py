"""Many abusive connections to the daemon on one thread. The role of a connection defines its behaviour.

A role has a script, which is a generator of steps. If the daemon closes a connection, or if the script ends, the swarm
opens a new connection with the same role. Therefore the abuse continues until the swarm stops.
"""

import collections
import functools
import heapq
import itertools
import math
import select
import socket
import struct
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe

RECONNECT_SECONDS = 0.1
# The connections of a role start at intervals, because the kernel's queue of new connections has a limit.
CONNECTION_INTERVAL_SECONDS = 0.0005
MAX_READ_BYTES = 1 << 18
HOUR_SECONDS = 3600.0
# The value of SO_LINGER (on, 0 seconds) with which a close sends a reset.
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Answer:
    """The status and the header fields of an answer. The names of the fields are in lower case."""

    status: int
    fields: dict[str, str]


@dataclass(frozen=True)
class Send:
    """A step that ends when the kernel has accepted all bytes of `data`."""

    data: bytes


@dataclass(frozen=True)
class Await:
    """A step that ends when `count` more answers are complete. The script gets the last answer."""

    count: int = 1


@dataclass(frozen=True)
class Sleep:
    """A step that ends after `seconds`."""

    seconds: float


Step = Send | Await | Sleep
Script = Generator[Step, Answer | None, None]


@dataclass(frozen=True)
class Role:
    """The behaviour of a number of connections.

    `read_bytes` is the maximum size of one read; with 0, the connection never reads. `read_pause` is the number of
    seconds between two reads. `receive_buffer` and `segment` limit the receive window and the TCP segment, in bytes.
    """

    script: Callable[[], Script]
    connections: int = 1
    read_bytes: int = MAX_READ_BYTES
    read_pause: float = 0
    receive_buffer: int | None = None
    segment: int | None = None
    closes_with_reset: bool = False


def send_repeatedly(requests: bytes, count: int) -> Callable[[], Script]:
    """Returns a script that sends `requests`, which contains `count` requests, waits for all answers, and repeats this."""
    def script() -> Script:
        while True:
            yield Send(requests)
            yield Await(count)
    return script


def send_once(request: bytes) -> Callable[[], Script]:
    """Returns a script that sends a request once and keeps the connection open."""
    def script() -> Script:
        yield Send(request)
        yield Sleep(HOUR_SECONDS)
    return script


class AnswerReader:
    """Parses answers and discards their bodies. The answer of an event stream is complete when its head is complete."""

    def __init__(self) -> None:
        self._incomplete_head = b""
        self._body_bytes_left: float = 0
        self._answer: Answer | None = None

    def read(self, received: bytes) -> list[Answer]:
        """Returns the answers that are complete with the bytes `received`."""
        answers = []
        data, offset = self._incomplete_head + received, 0
        self._incomplete_head = b""
        while offset < len(data):
            if self._body_bytes_left:
                length = min(self._body_bytes_left, len(data) - offset)
                self._body_bytes_left -= length
                offset += int(length)
            elif (end := data.find(b"\r\n\r\n", offset)) < 0:
                self._incomplete_head = data[offset:]
                break
            else:
                self._parse_head(data[offset:end].decode("latin-1"))
                offset = end + 4
            if self._answer and self._body_bytes_left in (0, math.inf):
                answers.append(self._answer)
                self._answer = None
        return answers

    def _parse_head(self, head: str) -> None:
        status_line, *lines = head.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._answer = Answer(int(status_line.split(" ", 2)[1]), fields)
        # An event stream is chunked, and has no end.
        is_stream = "transfer-encoding" in fields
        self._body_bytes_left = math.inf if is_stream else int(fields.get("content-length", 0))


class ClientConnection:
    """A connection with its role. `step` is the current step of its script."""

    def __init__(self, role: Role, port: int) -> None:
        self.role = role
        self.script = role.script()
        self.step: Step = Send(b"")
        self.unsent = memoryview(b"")
        self.reader = AnswerReader()
        self.answers: collections.deque[Answer] = collections.deque()
        self.is_paused = False
        self.is_open = True
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if role.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, role.receive_buffer)
        if role.segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, role.segment)
        if role.closes_with_reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self.socket.connect_ex(("127.0.0.1", port))

    def events(self) -> int:
        """Returns the epoll events of the socket. EPOLLRDHUP reports a close by the daemon also if the role never reads."""
        reads = select.EPOLLIN if self.role.read_bytes and not self.is_paused else 0
        writes = select.EPOLLOUT if isinstance(self.step, Send) else 0
        return reads | writes | select.EPOLLRDHUP

    def flush(self) -> bool:
        """Sends as many bytes as the kernel accepts. Returns true if all bytes are sent."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            return False
        return True

    def pop_awaited(self) -> Answer | None:
        """Removes the answers that the current step awaits. Returns the last of them, or None if an answer is missing."""
        assert isinstance(self.step, Await)
        if len(self.answers) < self.step.count:
            return None
        for _ in range(self.step.count - 1):
            self.answers.popleft()
        return self.answers.popleft()

    def close(self) -> None:
        self.is_open = False
        self.script.close()
        self.socket.close()


class Swarm:
    """All connections of the roles. `answers` counts the answers by status, and the connections that the daemon closed."""

    def __init__(self, port: int, roles: list[Role]) -> None:
        self.port = port
        self.answers: collections.Counter[str] = collections.Counter()
        self.connections: dict[int, ClientConnection] = {}
        self._epoll = select.epoll()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_numbers = itertools.count()
        for role in roles:
            for number in range(role.connections):
                self._schedule(number * CONNECTION_INTERVAL_SECONDS, functools.partial(self._connect, role))

    def run(self, pipe: Pipe) -> None:
        """Runs the connections until the message None arrives on the pipe. Replies to every other message with the counts of
        answers, and of open connections."""
        self._epoll.register(pipe, select.EPOLLIN)
        while True:
            for descriptor, events in self._epoll.poll(self._seconds_to_next_timer(), 1024):
                if connection := self.connections.get(descriptor):
                    self._serve(connection, events)
                elif descriptor == pipe.fileno():
                    if pipe.recv() is None:
                        return
                    pipe.send(self.answers + collections.Counter({"open": len(self.connections)}))
            self._run_timers()

    def _serve(self, connection: ClientConnection, events: int) -> None:
        try:
            if events & select.EPOLLIN:
                self._read(connection)
            elif events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                raise ConnectionResetError
            if connection.is_open and events & select.EPOLLOUT and connection.flush():
                self._run_script(connection, None)
        except OSError:
            self.answers["closed"] += 1
            self._end(connection)
            self._schedule(RECONNECT_SECONDS, functools.partial(self._connect, connection.role))
        if connection.is_open:
            self._epoll.modify(connection.socket, connection.events())

    def _read(self, connection: ClientConnection) -> None:
        data = connection.socket.recv(connection.role.read_bytes)
        if not data:
            raise ConnectionResetError
        for answer in connection.reader.read(data):
            self.answers[str(answer.status)] += 1
            connection.answers.append(answer)
        if isinstance(connection.step, Await) and (awaited := connection.pop_awaited()):
            self._run_script(connection, awaited)
        if connection.is_open and connection.role.read_pause:
            connection.is_paused = True
            self._schedule(connection.role.read_pause, functools.partial(self._resume_reading, connection))

    def _resume_reading(self, connection: ClientConnection) -> None:
        if connection.is_open:
            connection.is_paused = False
            self._epoll.modify(connection.socket, connection.events())

    def _run_script(self, connection: ClientConnection, answer: Answer | None) -> None:
        """Executes steps of the script until a step has to wait."""
        while True:
            try:
                connection.step = connection.script.send(answer)
            except StopIteration:
                self._end(connection)
                self._schedule(0, functools.partial(self._connect, connection.role))
                return
            answer = None
            match connection.step:
                case Send(data):
                    connection.unsent = memoryview(data)
                    if not connection.flush():
                        return
                case Await():
                    answer = connection.pop_awaited()
                    if answer is None:
                        return
                case Sleep(seconds):
                    self._schedule(seconds, functools.partial(self._end_sleep, connection))
                    return

    def _end_sleep(self, connection: ClientConnection) -> None:
        """Ends a sleep with an empty Send. Then `_serve` continues the script, so that only `_serve` handles errors."""
        if connection.is_open:
            connection.step = Send(b"")
            self._epoll.modify(connection.socket, connection.events())

    def _connect(self, role: Role) -> None:
        connection = ClientConnection(role, self.port)
        self.connections[connection.socket.fileno()] = connection
        self._epoll.register(connection.socket, connection.events())

    def _end(self, connection: ClientConnection) -> None:
        del self.connections[connection.socket.fileno()]
        connection.close()

    def _schedule(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._timer_numbers), action))

    def _seconds_to_next_timer(self) -> float:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else 1.0

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
