"""Abuse with costly reads, and with clients that do not read the answers.

Each function in `ROWS` defines a row of the table of scripts/abuse; --list prints its docstring. A `Role` is a number of
connections with the same script, and the bystander is the well-behaved client whose delay is measured. `scale.pick(FULL, SHORT)`
chooses between a full and a short run.
"""

from harness.http import Connection, render

from .requests import MB, MINIMAL, KEYS_PER_PATCH, fill, key, numbers, put, put_schema, put_suite, setting, suite
from .row import Abuse, RowBuilder, Scale
from .swarm import Await, Role, Script, Send, Sleep, send_once, send_repeatedly

LARGE, WIDE = "large", "wide"
UNREAD_CONNECTIONS = 300
# Bytes. The kernel does not allow a smaller receive buffer or a smaller segment.
SMALL_BUFFER, SMALL_SEGMENT = 2304, 88


def _load_value(scale: Scale, connection: Connection) -> None:
    put(connection, LARGE, "list", numbers(scale.pick(10 * MB, MB)))


def _load_suite(scale: Scale, connection: Connection) -> None:
    """Stores a suite of about 10 MB with 100,000 keys."""
    fill(connection, WIDE, scale.pick(100_000, 10_000), "x" * 85)


def unread_values(scale: Scale) -> Abuse:
    """300 GETs of a value of 10 MB; the clients do not read the answers"""
    request = render("GET", setting(LARGE, "list"))
    return Abuse(lambda _: [Role(send_once(request), UNREAD_CONNECTIONS, read_bytes=0, receive_buffer=SMALL_BUFFER)],
                 lambda connection: _load_value(scale, connection))


def unread_queries(scale: Scale) -> Abuse:
    """300 GETs of a suite of 10 MB, each with a different query; the clients do not read the answers"""
    names = [f"{'k' * 200}{number:06}" for number in range(scale.pick(48_000, 5_000))]
    paths = [f"{suite(WIDE)}?prefix={'k' * length}&view={view}" for view in ("effective", "stored")
             for length in range(1, UNREAD_CONNECTIONS // 2 + 1)]
    return Abuse(lambda _: [Role(send_once(render("GET", path)), read_bytes=0, receive_buffer=SMALL_BUFFER)
                            for path in paths],
                 lambda connection: put_suite(connection, WIDE, dict.fromkeys(names, 1)))


def unread_suites(scale: Scale) -> Abuse:
    """300 GETs of a suite of 10 MB during writes to the suite; the clients do not read the answers"""
    def change() -> Script:
        for number in range(10**9):
            yield Send(render("PUT", setting(WIDE, key(1)), number, MINIMAL))
            yield Await()
            yield Sleep(0.02)

    # When this script ends, the connection closes, and a new connection repeats the script.
    def read() -> Script:
        yield Send(render("GET", suite(WIDE)))
        yield Sleep(5)

    return Abuse(lambda _: [Role(change), Role(read, UNREAD_CONNECTIONS, read_bytes=0, receive_buffer=SMALL_BUFFER)],
                 lambda connection: _load_suite(scale, connection))


def large_reads(scale: Scale) -> Abuse:
    """20 connections that read a suite of 10 MB, and its keys with their schemas, as fast as possible"""
    def load(connection: Connection) -> None:
        _load_suite(scale, connection)
        put_schema(connection, WIDE, {"additionalProperties": {"type": "string"}})

    return Abuse(lambda _: [Role(send_repeatedly(render("GET", suite(WIDE)), 1), 10),
                            Role(send_repeatedly(render("GET", f"{suite(WIDE)}/keys?prefix=k&limit=100000"), 1), 10)], load)


def prefixes_among_many(scale: Scale) -> Abuse:
    """Pipelined listings with ?prefix, ?after and ?limit=1 over 1,000,000 keys"""
    paths = [f"{suite(WIDE)}/keys?prefix=k&limit=1", f"{suite(WIDE)}/keys?after=k5&limit=1",
             f"{suite(WIDE)}?prefix=none"]
    requests = b"".join(render("GET", path) for path in paths) * 30
    return Abuse(lambda _: [Role(send_repeatedly(requests, 90), 10)],
                 lambda connection: fill(connection, WIDE, scale.pick(1_000_000, 50_000)))


def earlier_states(scale: Scale) -> Abuse:
    """10 connections that read a suite of 100,000 keys at revisions up to 2,000 commits ago"""
    commits = scale.pick(2_000, 200)

    def load(connection: Connection) -> None:
        _load_suite(scale, connection)
        for number in range(commits):
            put(connection, WIDE, key(number), number)

    def roles(connection: Connection) -> list[Role]:
        newest = connection.request("GET", suite(WIDE) + "?prefix=none").json()["revision"]

        def script() -> Script:
            while True:
                for revision in range(newest - commits + 1, newest, commits // 20):
                    yield Send(render("GET", f"{suite(WIDE)}?at={revision}"))
                    yield Await()
        return [Role(script, 10)]

    return Abuse(roles, load)


def many_suites(scale: Scale) -> Abuse:
    """GETs of /v1/suites and /metrics with 100,000 suites; 100 clients do not read the answers"""
    count = scale.pick(100_000, 5_000)

    def load(connection: Connection) -> None:
        # An operation has several times the length of a key and a value in a PATCH.
        for start in range(0, count, KEYS_PER_PATCH // 4):
            operations = [{"op": "set", "suite": f"suite-{number:06}", "key": "key", "value": 1}
                          for number in range(start, min(start + KEYS_PER_PATCH // 4, count))]
            connection.request("POST", "/v1/transaction", {"do": operations}, MINIMAL)

    listing, metrics = render("GET", "/v1/suites"), render("GET", "/metrics")
    return Abuse(lambda _: [Role(send_repeatedly(listing, 1), 10), Role(send_repeatedly(metrics * 50, 50), 10),
                            Role(send_once(listing), 100, read_bytes=0, receive_buffer=SMALL_BUFFER)], load)


def cheap_gets(_: Scale) -> Abuse:
    """60 connections with 5,000 pipelined GETs of a small value; 50 of them do not read the answers"""
    requests = render("GET", setting(LARGE, "small")) * 5000

    def load(connection: Connection) -> None:
        put(connection, LARGE, "small", "x" * 1000)

    return Abuse(lambda _: [Role(send_once(requests), 50, read_bytes=0), Role(send_repeatedly(requests, 5000), 10)], load)


def tiny_windows(scale: Scale) -> Abuse:
    """200 connections that read a value of 10 MB byte by byte, with the smallest windows and segments"""
    request = render("GET", setting(LARGE, "list"))
    return Abuse(lambda _: [Role(send_once(request), 200, read_bytes=1, read_pause=0.05, receive_buffer=SMALL_BUFFER,
                                 segment=SMALL_SEGMENT)],
                 lambda connection: _load_value(scale, connection))


ROWS: list[RowBuilder] = [
    unread_values, unread_queries, unread_suites, large_reads, prefixes_among_many, earlier_states, many_suites,
    cheap_gets, tiny_windows,
]
