"""Any number of connections to the daemon, each of which behaves as its role says, driven by one thread.

A role has a script, a generator of steps. A connection that the daemon closes, or whose script ends, is replaced by
another in the same role, so that abuse goes on for as long as the swarm runs.
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

CONNECT_AGAIN_AFTER = 0.1
# Connections of a role begin one after the other, or the kernel's queue of new connections would overflow.
BETWEEN_CONNECTIONS = 0.0005
READ_BYTES = 1 << 18
FOREVER = 3600.0
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Answer:
    """The head of an answer. `fields` has lower-case names."""

    status: int
    fields: dict[str, str]


@dataclass(frozen=True)
class Send:
    """A step that ends when the kernel has taken all the bytes."""

    data: bytes


@dataclass(frozen=True)
class Await:
    """A step that ends when so many more answers are complete; the script gets the last of them."""

    count: int = 1


@dataclass(frozen=True)
class Sleep:
    """A step that ends after some time."""

    seconds: float


Step = Send | Await | Sleep
Script = Generator[Step, Answer | None, None]


@dataclass(frozen=True)
class Role:
    """How some connections behave.

    `reads` is how many bytes of answers are taken at once, zero for none ever, `read_pause` the seconds between two
    such reads. `receive_buffer` and `segment` bound the receive window and the size of a TCP segment, in bytes.
    `resets` has connections end by a reset.
    """

    script: Callable[[], Script]
    connections: int = 1
    reads: int = READ_BYTES
    read_pause: float = 0
    receive_buffer: int | None = None
    segment: int | None = None
    resets: bool = False


def repeated(requests: bytes, count: int) -> Callable[[], Script]:
    """A script that sends `requests`, `count` of them in a row, again and again, each time after the last answer."""
    def script() -> Script:
        while True:
            yield Send(requests)
            yield Await(count)
    return script


def held(request: bytes) -> Callable[[], Script]:
    """A script that sends something once and keeps the connection."""
    def script() -> Script:
        yield Send(request)
        yield Sleep(FOREVER)
    return script


class AnswerReader:
    """Cuts answers out of what is received, without keeping their bodies. A stream of events counts as answered once
    its head is there."""

    def __init__(self) -> None:
        self._rest = b""
        self._body_left: float = 0
        self._answer: Answer | None = None

    def read(self, received: bytes) -> list[Answer]:
        """Returns the answers that `received` completes."""
        answers = []
        data, at = self._rest + received, 0
        self._rest = b""
        while at < len(data):
            if self._body_left:
                taken = min(self._body_left, len(data) - at)
                self._body_left -= taken
                at += int(taken)
            elif (end := data.find(b"\r\n\r\n", at)) < 0:
                self._rest = data[at:]
                break
            else:
                self._begin(data[at:end].decode("latin-1"))
                at = end + 4
            if self._answer and self._body_left in (0, math.inf):
                answers.append(self._answer)
                self._answer = None
        return answers

    def _begin(self, head: str) -> None:
        status_line, *lines = head.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._answer = Answer(int(status_line.split(" ", 2)[1]), fields)
        is_stream = "transfer-encoding" in fields
        self._body_left = math.inf if is_stream else int(fields.get("content-length", 0))


class Peer:
    """One connection in its role. `step` is what its script waits for."""

    def __init__(self, role: Role, port: int) -> None:
        self.role = role
        self.script = role.script()
        self.step: Step = Send(b"")
        self.unsent = memoryview(b"")
        self.reader = AnswerReader()
        self.answers: collections.deque[Answer] = collections.deque()
        self.is_pausing = False
        self.is_open = True
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if role.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, role.receive_buffer)
        if role.segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, role.segment)
        if role.resets:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self.socket.connect_ex(("127.0.0.1", port))

    def events(self) -> int:
        """What to wait for at the socket. A close by the daemon is noticed also where nothing is read."""
        reads = select.EPOLLIN if self.role.reads and not self.is_pausing else 0
        writes = select.EPOLLOUT if isinstance(self.step, Send) else 0
        return reads | writes | select.EPOLLRDHUP

    def flush(self) -> bool:
        """Sends what the kernel takes; true once that is all."""
        try:
            while self.unsent:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            return False
        return True

    def take_awaited(self) -> Answer | None:
        """The last of the answers that the step awaits, once all are there."""
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
    """All connections of some roles, and what became of their requests in `tally`: answers by status, and `closed`,
    the connections that the daemon ended."""

    def __init__(self, port: int, roles: list[Role]) -> None:
        self.port = port
        self.tally: collections.Counter[str] = collections.Counter()
        self.peers: dict[int, Peer] = {}
        self._epoll = select.epoll()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_numbers = itertools.count()
        for role in roles:
            for number in range(role.connections):
                self._after(number * BETWEEN_CONNECTIONS, functools.partial(self._connect, role))

    def run(self, pipe: Pipe) -> None:
        """Drives the connections. Whatever arrives on the pipe is answered with the tally; None ends the run."""
        self._epoll.register(pipe, select.EPOLLIN)
        while True:
            for descriptor, events in self._epoll.poll(self._next_timer(), 1024):
                if peer := self.peers.get(descriptor):
                    self._serve(peer, events)
                elif descriptor == pipe.fileno():
                    if pipe.recv() is None:
                        return
                    pipe.send(self.tally + collections.Counter({"open": len(self.peers)}))
            self._run_timers()

    def _serve(self, peer: Peer, events: int) -> None:
        try:
            if events & select.EPOLLIN:
                self._read(peer)
            elif events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
                raise ConnectionResetError
            if peer.is_open and events & select.EPOLLOUT and peer.flush():
                self._proceed(peer, None)
        except OSError:
            self.tally["closed"] += 1
            self._end(peer)
            self._after(CONNECT_AGAIN_AFTER, functools.partial(self._connect, peer.role))
        if peer.is_open:
            self._epoll.modify(peer.socket, peer.events())

    def _read(self, peer: Peer) -> None:
        data = peer.socket.recv(peer.role.reads)
        if not data:
            raise ConnectionResetError
        for answer in peer.reader.read(data):
            self.tally[str(answer.status)] += 1
            peer.answers.append(answer)
        if isinstance(peer.step, Await) and (awaited := peer.take_awaited()):
            self._proceed(peer, awaited)
        if peer.is_open and peer.role.read_pause:
            peer.is_pausing = True
            self._after(peer.role.read_pause, functools.partial(self._read_on, peer))

    def _read_on(self, peer: Peer) -> None:
        if peer.is_open:
            peer.is_pausing = False
            self._epoll.modify(peer.socket, peer.events())

    def _proceed(self, peer: Peer, answer: Answer | None) -> None:
        """Takes steps of the script until one has to wait."""
        while True:
            try:
                peer.step = peer.script.send(answer)
            except StopIteration:
                self._end(peer)
                self._after(0, functools.partial(self._connect, peer.role))
                return
            answer = None
            match peer.step:
                case Send(data):
                    peer.unsent = memoryview(data)
                    if not peer.flush():
                        return
                case Await():
                    answer = peer.take_awaited()
                    if answer is None:
                        return
                case Sleep(seconds):
                    self._after(seconds, functools.partial(self._wake, peer))
                    return

    def _wake(self, peer: Peer) -> None:
        """Goes on after a sleep, by way of the socket's readiness, so that all errors come up in one place."""
        if peer.is_open:
            peer.step = Send(b"")
            self._epoll.modify(peer.socket, peer.events())

    def _connect(self, role: Role) -> None:
        peer = Peer(role, self.port)
        self.peers[peer.socket.fileno()] = peer
        self._epoll.register(peer.socket, peer.events())

    def _end(self, peer: Peer) -> None:
        del self.peers[peer.socket.fileno()]
        peer.close()

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._timer_numbers), action))

    def _next_timer(self) -> float:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else 1.0

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
