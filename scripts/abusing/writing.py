"""Rows of costly writes: large values, many keys at once, bodies that do not end."""

from collections.abc import Callable, Sequence

from harness.http import Connection, render

from .requests import (MB, MINIMAL, compact, fill, head, key, members, numbers, patch, pipelined, put, setting, suite,
                       wide_object)
from .row import Abuse, Build, Scale
from .swarm import Await, Role, Script, Send, Sleep, repeated

LARGE, WIDE = "large", "wide"
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
BODY_BYTES = 16 << 20


def one_after_the_other(requests: Sequence[bytes]) -> Callable[[], Script]:
    """A script that sends each request after the answer to the one before, then begins anew."""
    def script() -> Script:
        while True:
            for request in requests:
                yield Send(request)
                yield Await()
    return script


def _dry_runs(size: int) -> Abuse:
    """Two connections with pipelined dry runs that add to a list; one of them reads no answers."""
    requests = render("PATCH", f"{setting(LARGE, 'list')}?dryRun=true", {"op": "append", "values": [0]}) * 100
    return Abuse(lambda _: [Role(repeated(requests, 100)), Role(repeated(requests, 100), reads=0)],
                 lambda connection: put(connection, LARGE, "list", numbers(size)))


def dry_runs_of_10_mb(scale: Scale) -> Abuse:
    """100 pipelined dry-run PATCHes of 27 bytes, of a value of 10 MB"""
    return _dry_runs(scale.pick(10 * MB, 2 * MB))


def dry_runs_of_1_mb(scale: Scale) -> Abuse:
    """100 pipelined dry-run PATCHes of 27 bytes, of a value of 1 MB"""
    return _dry_runs(scale.pick(MB, MB // 4))


def unfinished_bodies(scale: Scale) -> Abuse:
    """150 bodies of which 15 of 16 MB come at once, and a kilobyte every few seconds"""
    begun = head("PUT", setting(LARGE, "list"), BODY_BYTES) + b" " * scale.pick(15 << 20, 15 << 18)
    progress = b" " * 1024

    def script() -> Script:
        yield Send(begun)
        while True:
            yield Sleep(9)
            yield Send(progress)

    return Abuse(lambda _: [Role(script, 150)], seconds=scale.pick(15, 0))


def large_values(scale: Scale) -> Abuse:
    """20 connections, each with 10 pipelined PUTs of a value of 10 MB"""
    values = [[which, *numbers(scale.pick(10 * MB, MB))] for which in range(3)]

    def script(name: str) -> Callable[[], Script]:
        requests = [render("PUT", setting(LARGE, name), value, MINIMAL) for value in values[:2]]

        def send() -> Script:
            while True:
                for request in requests * 5:
                    yield Send(request)
                yield Await(10)
        return send

    def load(connection: Connection) -> None:
        for number in range(20):
            put(connection, LARGE, key(number), values[2])

    return Abuse(lambda _: [Role(script(key(number))) for number in range(20)], load)


def large_transactions(scale: Scale) -> Abuse:
    """4 connections with transactions of 100,000 operations and as many conditions"""
    count = scale.pick(100_000, 5_000)

    def transaction(connection: int, value: int) -> bytes:
        name = f"{WIDE}-{connection}"
        operations = [{"op": "set", "suite": name, "key": key(number), "value": value} for number in range(count)]
        conditions = [{"suite": name, "key": key(number), "stored": True} for number in range(count)]
        return render("POST", "/v1/transaction", {"if": conditions, "do": operations})

    def load(connection: Connection) -> None:
        for number in range(4):
            fill(connection, f"{WIDE}-{number}", count)

    def roles(_: Connection) -> list[Role]:
        return [Role(one_after_the_other([transaction(number, value) for value in (2, 3)])) for number in range(4)]

    return Abuse(roles, load)


def wide_suite(scale: Scale) -> Abuse:
    """PUT of a suite of 1,300,000 keys, and of 100,000, which are as many as may be, each time with other values"""
    names = [f"{number:x}" for number in range(scale.pick(1_300_000, 50_000))]
    bodies = [compact(dict.fromkeys(names[:count], value)) for count in (len(names), 100_000) for value in (1, 2)]
    requests = [render("PUT", suite(WIDE), body, MINIMAL) for body in bodies]
    return Abuse(lambda _: [Role(one_after_the_other(requests))])


def removal_by_prefix(scale: Scale) -> Abuse:
    """DELETE by prefix of 1,000,000 keys, which are then put back"""
    count = scale.pick(1_000_000, 50_000)
    removal = render("DELETE", f"{suite(WIDE)}?prefix=k", fields=MINIMAL)

    back = [patch(suite(WIDE), members(range(begin, min(begin + 500_000, count)), 1))
            for begin in range(0, count, 500_000)]
    return Abuse(lambda _: [Role(one_after_the_other([removal, *back]))],
                 lambda connection: fill(connection, WIDE, count))


def json_patches(scale: Scale) -> Abuse:
    """JSON Patches of an object of 600,000 members: 10 moves, or 5,000 removes, which are more than one may have"""
    count = scale.pick(600_000, 20_000)
    moves = [{"op": "move", "from": f"/{key(number)}", "path": f"/moved{number}"} for number in range(10)]
    back = [{"op": "move", "from": f"/moved{number}", "path": f"/{key(number)}"} for number in range(10)]
    removes = [{"op": "remove", "path": f"/{key(number)}"} for number in range(count // 120)]
    path = setting(LARGE, "object")
    requests = [patch(path, moves, JSON_PATCH), patch(path, back, JSON_PATCH),
                patch(f"{path}?dryRun=true", removes, JSON_PATCH)]

    def load(connection: Connection) -> None:
        put(connection, LARGE, "object", wide_object(count))

    return Abuse(lambda _: [Role(one_after_the_other(requests))], load)


def merges(scale: Scale) -> Abuse:
    """Pipelined PATCHes of a member each, of an object of 600,000, from 10 connections"""
    path = setting(LARGE, "object")

    def requests(connection: int) -> bytes:
        return pipelined([patch(path, {key(connection): number}, MERGE_PATCH) for number in range(2)], 20)

    def load(connection: Connection) -> None:
        put(connection, LARGE, "object", wide_object(scale.pick(600_000, 20_000)))

    return Abuse(lambda _: [Role(repeated(requests(connection), 20)) for connection in range(10)], load)


def bad_bodies(scale: Scale) -> Abuse:
    """16 MB bodies that are wrong at their end: with a name twice, a number too large, a number of 15 million digits"""
    size = scale.pick(15 * MB, MB)
    bodies = [
        b"[" * 120 + b"]" * 119 + b" " * size,
        compact(wide_object(size // 12))[:-1] + b',"k000000":1}',
        compact(numbers(size))[:-1] + b",1e999]",
        b'"' + b"\\u00e9" * (size // 6) + b'\\ud800"',
        b"[0." + b"1" * size + b",]",
    ]
    requests = [render("PUT", setting(LARGE, "list"), body) for body in bodies]
    return Abuse(lambda _: [Role(one_after_the_other(requests), 4)])


def nested_arrays(scale: Scale) -> Abuse:
    """Values of 50,000 and of 20,000 arrays that are nested 126 deep, of 12 and 5 MB, from 4 connections"""
    bodies = [b"[" + b",".join([b"[" * 126 + b"]" * 126] * scale.pick(count, count // 10)) + b"]"
              for count in (50_000, 20_000)]
    requests = [render("PUT", setting(LARGE, "list"), body) for body in bodies]
    return Abuse(lambda _: [Role(one_after_the_other(requests), 4)])


ROWS: list[Build] = [dry_runs_of_10_mb, dry_runs_of_1_mb, unfinished_bodies, large_values, large_transactions,
                     wide_suite, removal_by_prefix, json_patches, merges, bad_bodies,
                     nested_arrays]
