"""Abuse with watchers that wait for large commits, resume over a long history, or do not read their answers.

Each function defines a row of the table of scripts/abuse; --list prints its docstring. A `Role` is a number of connections
with the same script, and the bystander is the well-behaved client whose delay is measured. `scale.pick(FULL, SHORT)`
chooses between a full and a short run.
"""

import itertools
from collections.abc import Callable

from harness.http import Connection, render

from .reading import SMALL_BUFFER
from .requests import cursor, fill, key, members, patch, put, suite
from .row import Abuse, RowBuilder, Scale
from .swarm import Await, Role, Script, Send, Sleep, send_once, send_repeatedly

SUITE = "watched"
WATCHERS_CONNECT_SECONDS = 0.5
EVENTS = [("Accept", "text/event-stream")]


def _commits(count: int, pause: float, first: int = 0) -> Callable[[], Script]:
    """Returns a script of commits with pauses of `pause` seconds. Each commit changes `count` keys, from the key number `first`."""
    requests = [patch(suite(SUITE), members(range(first, first + count), value)) for value in (2, 3)]

    def script() -> Script:
        yield Sleep(WATCHERS_CONNECT_SECONDS)
        for request in itertools.cycle(requests):
            yield Send(request)
            yield Await()
            yield Sleep(pause)
    return script


def _follower(since: str, query: str = "") -> Callable[[], Script]:
    """Returns a script of long polls, each from the cursor of the previous answer."""
    def script() -> Script:
        cursor = since
        while True:
            yield Send(render("GET", f"{suite(SUITE)}/observe?since={cursor}&wait=60{query}"))
            answer = yield Await()
            cursor = answer.fields.get("settings-cursor", cursor) if answer else cursor
    return script


def _waiting_reader(name: str) -> Callable[[], Script]:
    """Returns a script of GETs with ?wait, each of which waits for a change of the suite."""
    def script() -> Script:
        tag = ""
        while True:
            yield Send(render("GET", f"{suite(name)}?wait=60", fields=[("If-None-Match", tag)] if tag else []))
            answer = yield Await()
            tag = answer.fields.get("etag", "") if answer else ""
    return script


def wide_commits_for_polls(scale: Scale) -> Abuse:
    """Commits of 100,000 changes while 500 long polls wait"""
    count = scale.pick(100_000, 5_000)
    return Abuse(lambda connection: [Role(_follower(cursor(connection)), 500), Role(_commits(count, 1))],
                 lambda connection: fill(connection, SUITE, count))


def wide_commits_for_streams(scale: Scale) -> Abuse:
    """Commits of 100,000 changes while 300 event streams do not read"""
    count = scale.pick(100_000, 5_000)

    def roles(connection: Connection) -> list[Role]:
        stream = render("GET", f"{suite(SUITE)}/observe?since={cursor(connection)}", fields=EVENTS)
        return [Role(send_once(stream), 300, read_bytes=0, receive_buffer=SMALL_BUFFER), Role(_commits(count, 0.3))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, count))


def waiting_gets(scale: Scale) -> Abuse:
    """300 GETs with ?wait of a suite of 100,000 keys, while commits change 10 of its keys"""
    return Abuse(lambda _: [Role(_waiting_reader(SUITE), 300), Role(_commits(10, 0.1))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000), "x" * 85))


def unread_states(scale: Scale) -> Abuse:
    """300 watchers that do not read the state of a suite of 10 MB: 150 long polls and 150 event streams"""
    poll = render("GET", f"{suite(SUITE)}/observe")
    stream = render("GET", f"{suite(SUITE)}/observe", fields=EVENTS)
    return Abuse(lambda _: [*(Role(send_once(request), 150, read_bytes=0, receive_buffer=SMALL_BUFFER)
                              for request in (poll, stream)), Role(_commits(10, 0.1))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000), "x" * 85))


class _History:
    """A history whose old and new values have 50 MB in total. `start` is the cursor before the commits."""

    def __init__(self, scale: Scale) -> None:
        self.commits = scale.pick(250, 25)
        self.start = ""

    def load(self, connection: Connection) -> None:
        self.start = cursor(connection)
        for number in range(self.commits):
            put(connection, SUITE, key(number % 20), f"{number} " + "x" * 100_000)


def resuming_polls(scale: Scale) -> Abuse:
    """200 long polls that resume at a cursor before 50 MB of history; 100 of them read the answer, 100 do not"""
    history = _History(scale)

    def roles(_: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={history.start}&wait=0")
        return [Role(send_repeatedly(request, 1), 100),
                Role(send_once(request), 100, read_bytes=0, receive_buffer=SMALL_BUFFER)]

    return Abuse(roles, history.load)


def resuming_streams(scale: Scale) -> Abuse:
    """200 event streams that resume at a cursor before 50 MB of history; 100 of them read the events, 100 do not"""
    history = _History(scale)

    def roles(_: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={history.start}", fields=EVENTS)

        def read() -> Script:
            yield Send(request)
            yield Sleep(2)
        return [Role(read, 100), Role(send_once(request), 100, read_bytes=0, receive_buffer=SMALL_BUFFER)]

    return Abuse(roles, history.load)


def different_filters(scale: Scale) -> Abuse:
    """1,000 watchers, each with a different set of 300 keys, while commits change 1,000 keys each"""
    watchers, count = scale.pick(1_000, 20), 50_000

    def filters(number: int) -> str:
        # The prime numbers distribute the keys of a watcher over all keys.
        keys = ((number * 131 + step * 167) % count for step in range(300))
        return "".join(f"&key={key(index)}" for index in keys)

    def roles(connection: Connection) -> list[Role]:
        since = cursor(connection)
        followers = [Role(_follower(since, filters(number))) for number in range(watchers)]
        return [*followers, *(Role(_commits(1_000, 0.02, first)) for first in range(0, count, count // 5))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, count))


def short_lived_watchers(scale: Scale) -> Abuse:
    """1,000 clients that start a long poll with 300 prefixes, close the connection after 0.1 s, and connect again"""
    query = "".join(f"&prefix={key(number)}" for number in range(300))

    def roles(connection: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={cursor(connection)}&wait=300{query}")

        def script() -> Script:
            yield Send(request)
            yield Sleep(0.1)
        return [Role(script, scale.pick(1_000, 20)), Role(_commits(100, 0.05))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, 1_000))


ROWS: list[RowBuilder] = [
    wide_commits_for_polls, wide_commits_for_streams, waiting_gets, unread_states, resuming_polls, resuming_streams,
    different_filters, short_lived_watchers,
]
