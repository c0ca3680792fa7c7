"""Abuse with slow connections and with very many connections.

Each function defines a row of the table of scripts/abuse; --list prints its docstring. A `Role` is a number of connections
with the same script, and the bystander is the well-behaved client whose delay is measured. `scale.pick(FULL, SHORT)`
chooses between a full and a short run.
"""

from collections.abc import Callable

from harness.http import render

from .requests import head, setting
from .row import Abuse, RowBuilder, Scale
from .swarm import Await, Role, Script, Send, Sleep, send_once

# `seconds` of an `Abuse` is its minimum duration; with 0, the option --seconds alone sets the duration.
SUITE = "slow"
GET = render("GET", setting(SUITE, "key"))


def _byte_by_byte(request: bytes, pause: float) -> Callable[[], Script]:
    def script() -> Script:
        for byte in request:
            yield Send(bytes([byte]))
            yield Sleep(pause)
        yield Await()
    return script


def slow_heads(scale: Scale) -> Abuse:
    """4,000 connections, each of which sends one byte of a request per second"""
    return Abuse(lambda _: [Role(_byte_by_byte(GET, 1), scale.pick(4_000, 500))], seconds=scale.pick(15, 0))


def slow_bodies(scale: Scale) -> Abuse:
    """2,000 connections, each of which sends 1,100 bytes of a body every 5 seconds"""
    # The daemon accepts this rate: by default, a client must send 1,024 bytes of a body in 10 seconds.
    start, part = head("PUT", setting(SUITE, "key"), 100_000), b" " * 1100

    def script() -> Script:
        yield Send(start)
        while True:
            yield Send(part)
            yield Sleep(5)

    return Abuse(lambda _: [Role(script, scale.pick(2_000, 500))], seconds=scale.pick(15, 0))


def one_byte_chunks(scale: Scale) -> Abuse:
    """100 connections that send bodies in chunks of one byte, as fast as possible"""
    request_head = f"PUT {setting(SUITE, 'key')} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    request = request_head + b"1\r\n1\r\n" + b"1\r\n \r\n" * 15_000 + b"0\r\n\r\n"

    def script() -> Script:
        while True:
            yield Send(request)
            yield Await()

    return Abuse(lambda _: [Role(script, scale.pick(100, 10))])


def closed_uploads(scale: Scale) -> Abuse:
    """200 clients that announce a body of 2 MB and reset the connection, while 20 uploads use up the memory for bodies"""
    start, part = head("PUT", setting(SUITE, "key"), 2_000_000), b" " * 100_000

    def upload() -> Script:
        yield Send(start)
        while True:
            yield Send(part)
            yield Sleep(1)

    def reset() -> Script:
        yield Send(start)
        yield Sleep(0.05)

    return Abuse(lambda _: [Role(upload, 20), Role(reset, scale.pick(200, 100), closes_with_reset=True)], open_files=1024,
                 seconds=scale.pick(0, 2))


def malformed(scale: Scale) -> Abuse:
    """200 connections with malformed requests: not HTTP, heads that are too long, two lengths"""
    requests = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 100,  # The beginning of a TLS handshake.
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
        b"GET /" + b"x" * 50_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1",
    ]
    return Abuse(lambda _: [Role(send_once(request), scale.pick(50, 10)) for request in requests])


def idle_connections(_: Scale) -> Abuse:
    """800 connections that stay open after a GET, of about 860 that the daemon accepts with a limit of 1,024 open files"""
    return Abuse(lambda _: [Role(send_once(GET), 800)], open_files=1024)


def flood(scale: Scale) -> Abuse:
    """3,000 connections, which exceed a limit of 1,024 open files; the bystander keeps its connections"""
    return Abuse(lambda _: [Role(send_once(GET), scale.pick(3_000, 2_000))], open_files=1024, opens_connections=False)


def churn(scale: Scale) -> Abuse:
    """500 clients that send GETs, close or reset the connection without reading the answers, and connect again"""
    def script() -> Script:
        yield Send(GET * 10)
        yield Sleep(0.01)

    count = scale.pick(250, 50)
    return Abuse(lambda _: [Role(script, count, read_bytes=0), Role(script, count, read_bytes=0, closes_with_reset=True)])


ROWS: list[RowBuilder] = [
    slow_heads, slow_bodies, one_byte_chunks, closed_uploads, malformed, idle_connections, flood, churn,
]
