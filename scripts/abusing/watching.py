"""Rows of watchers: many that wait for much, resume over much, or take nothing of it."""

import itertools
from collections.abc import Callable

from harness.http import Connection, render

from .reading import SMALL_BUFFER
from .requests import cursor, fill, key, members, patch, put, suite
from .row import Abuse, Build, Scale
from .swarm import Await, Role, Script, Send, Sleep, held, repeated

SUITE = "watched"
WATCHERS_COME_WITHIN = 0.5
EVENTS = [("Accept", "text/event-stream")]


def _commits(count: int, pause: float, begin: int = 0) -> Callable[[], Script]:
    """A script that changes so many keys at once, again and again."""
    bodies = [patch(suite(SUITE), members(range(begin, begin + count), value)) for value in (2, 3)]

    def script() -> Script:
        yield Sleep(WATCHERS_COME_WITHIN)
        for request in itertools.cycle(bodies):
            yield Send(request)
            yield Await()
            yield Sleep(pause)
    return script


def _follower(since: str, query: str = "") -> Callable[[], Script]:
    """A script of long polls, each from where the last one ended."""
    def script() -> Script:
        cursor = since
        while True:
            yield Send(render("GET", f"{suite(SUITE)}/observe?since={cursor}&wait=60{query}"))
            answer = yield Await()
            cursor = answer.fields.get("settings-cursor", cursor) if answer else cursor
    return script


def _waiting_reader(name: str) -> Callable[[], Script]:
    """A script of GETs that wait for a suite to change."""
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
    """Commits of 100,000 changes with 300 streams of events that are not read"""
    count = scale.pick(100_000, 5_000)

    def roles(connection: Connection) -> list[Role]:
        stream = render("GET", f"{suite(SUITE)}/observe?since={cursor(connection)}", fields=EVENTS)
        return [Role(held(stream), 300, reads=0, receive_buffer=SMALL_BUFFER), Role(_commits(count, 0.3))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, count))


def waiting_gets(scale: Scale) -> Abuse:
    """300 GETs with ?wait of a suite of 100,000 keys, while commits change keys of it"""
    return Abuse(lambda _: [Role(_waiting_reader(SUITE), 300), Role(_commits(10, 0.1))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000), "x" * 85))


def unread_states(scale: Scale) -> Abuse:
    """300 watchers that begin with the state of a suite of 10 MB and do not read it, half of them streams"""
    request = render("GET", f"{suite(SUITE)}/observe")
    stream = render("GET", f"{suite(SUITE)}/observe", fields=EVENTS)
    return Abuse(lambda _: [Role(held(begin), 150, reads=0, receive_buffer=SMALL_BUFFER) for begin in (request, stream)]
                 + [Role(_commits(10, 0.1))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000), "x" * 85))


class _History:
    """Commits to resume over, of 50 MB in all with their old and new values; `begin` is the cursor before them."""

    def __init__(self, scale: Scale) -> None:
        self.commits = scale.pick(250, 25)
        self.begin = ""

    def load(self, connection: Connection) -> None:
        self.begin = cursor(connection)
        for number in range(self.commits):
            put(connection, SUITE, key(number % 20), f"{number} " + "x" * 100_000)


def resuming_polls(scale: Scale) -> Abuse:
    """200 watchers that resume over 50 MB of history; half of them read it, half do not"""
    history = _History(scale)

    def roles(_: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={history.begin}&wait=0")
        return [Role(repeated(request, 1), 100), Role(held(request), 100, reads=0, receive_buffer=SMALL_BUFFER)]

    return Abuse(roles, history.load)


def resuming_streams(scale: Scale) -> Abuse:
    """200 streams of events that resume over 50 MB of history; half of them read it, half do not"""
    history = _History(scale)

    def roles(_: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={history.begin}", fields=EVENTS)

        def read() -> Script:
            yield Send(request)
            yield Sleep(2)
        return [Role(read, 100), Role(held(request), 100, reads=0, receive_buffer=SMALL_BUFFER)]

    return Abuse(roles, history.load)


def different_filters(scale: Scale) -> Abuse:
    """1,000 watchers with 300 keys each, no two alike, while commits change 1,000 keys each"""
    watchers, count = scale.pick(1_000, 20), 50_000

    def filters(number: int) -> str:
        keys = ((number * 131 + step * 167) % count for step in range(300))
        return "".join(f"&key={key(which)}" for which in keys)

    def roles(connection: Connection) -> list[Role]:
        since = cursor(connection)
        followers = [Role(_follower(since, filters(number))) for number in range(watchers)]
        return [*followers, *(Role(_commits(1_000, 0.02, begin)) for begin in range(0, count, count // 5))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, count))


def watchers_that_come_and_go(scale: Scale) -> Abuse:
    """1,000 connections that begin to wait with 300 filters and close at once, as fast as they can"""
    query = "".join(f"&prefix={key(number)}" for number in range(300))

    def roles(connection: Connection) -> list[Role]:
        request = render("GET", f"{suite(SUITE)}/observe?since={cursor(connection)}&wait=300{query}")

        def script() -> Script:
            yield Send(request)
            yield Sleep(0.1)
        return [Role(script, scale.pick(1_000, 20)), Role(_commits(100, 0.05))]

    return Abuse(roles, lambda connection: fill(connection, SUITE, 1_000))


ROWS: list[Build] = [wide_commits_for_polls, wide_commits_for_streams, waiting_gets, unread_states, resuming_polls,
                     resuming_streams, different_filters, watchers_that_come_and_go]
