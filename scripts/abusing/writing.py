"""Abuse with costly writes: large values, writes of many keys, incomplete bodies.

Each function in `ROWS` defines a row of the table of scripts/abuse; --list prints its docstring. A `Role` is a number of
connections with the same script, and the bystander is the well-behaved client whose delay is measured. `scale.pick(FULL, SHORT)`
chooses between a full and a short run.
"""

from collections.abc import Callable, Sequence

from harness.http import Connection, render

from .requests import (MB, MINIMAL, compact, fill, head, key, members, numbers, patch, pipelined, put, setting, suite,
                       wide_object)
from .row import Abuse, RowBuilder, Scale
from .swarm import Await, Role, Script, Send, Sleep, send_repeatedly

LARGE, WIDE = "large", "wide"
MERGE_PATCH, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
BODY_BYTES = 16 << 20


def send_in_sequence(requests: Sequence[bytes]) -> Callable[[], Script]:
    """Returns a script that sends the requests in order, each after the previous answer, and repeats this forever."""
    def script() -> Script:
        while True:
            for request in requests:
                yield Send(request)
                yield Await()
    return script


def _dry_runs(size: int) -> Abuse:
    """Two connections with pipelined dry runs that append to a list of `size` bytes. One of them reads no answers."""
    requests = render("PATCH", f"{setting(LARGE, 'list')}?dryRun=true", {"op": "append", "values": [0]}) * 100
    return Abuse(lambda _: [Role(send_repeatedly(requests, 100)), Role(send_repeatedly(requests, 100), read_bytes=0)],
                 lambda connection: put(connection, LARGE, "list", numbers(size)))


def dry_runs_of_10_mb(scale: Scale) -> Abuse:
    """100 pipelined dry runs of a PATCH that appends to a list of 10 MB"""
    return _dry_runs(scale.pick(10 * MB, 2 * MB))


def dry_runs_of_1_mb(scale: Scale) -> Abuse:
    """100 pipelined dry runs of a PATCH that appends to a list of 1 MB"""
    return _dry_runs(scale.pick(MB, MB // 4))


def unfinished_bodies(scale: Scale) -> Abuse:
    """150 bodies of 16 MB: the client sends 15 MB immediately, and then 1 KB every 9 seconds"""
    first_part = head("PUT", setting(LARGE, "list"), BODY_BYTES) + b" " * scale.pick(15 << 20, 15 << 18)
    next_part = b" " * 1024

    def script() -> Script:
        yield Send(first_part)
        while True:
            yield Sleep(9)
            yield Send(next_part)

    return Abuse(lambda _: [Role(script, 150)], seconds=scale.pick(15, 0))


def large_values(scale: Scale) -> Abuse:
    """20 connections, each with 10 pipelined PUTs of a value of 10 MB"""
    # `load` stores the third value. The PUTs alternate between the first two values, so that each PUT changes its key.
    values = [[first, *numbers(scale.pick(10 * MB, MB))] for first in range(3)]

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
    """4 connections with transactions of 100,000 operations and 100,000 conditions"""
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
        return [Role(send_in_sequence([transaction(number, value) for value in (2, 3)])) for number in range(4)]

    return Abuse(roles, load)


def wide_suite(scale: Scale) -> Abuse:
    """PUTs of a suite with 1,300,000 keys, and with 100,000 keys; each PUT has different values"""
    names = [f"{number:x}" for number in range(scale.pick(1_300_000, 50_000))]
    bodies = [compact(dict.fromkeys(names[:count], value)) for count in (len(names), 100_000) for value in (1, 2)]
    requests = [render("PUT", suite(WIDE), body, MINIMAL) for body in bodies]
    return Abuse(lambda _: [Role(send_in_sequence(requests))])


def removal_by_prefix(scale: Scale) -> Abuse:
    """DELETE of 1,000,000 keys by prefix, and PATCHes that store the keys again"""
    count = scale.pick(1_000_000, 50_000)
    removal = render("DELETE", f"{suite(WIDE)}?prefix=k", fields=MINIMAL)

    restores = [patch(suite(WIDE), members(range(start, min(start + 500_000, count)), 1))
                for start in range(0, count, 500_000)]
    return Abuse(lambda _: [Role(send_in_sequence([removal, *restores]))],
                 lambda connection: fill(connection, WIDE, count))


def json_patches(scale: Scale) -> Abuse:
    """JSON Patches of an object with 600,000 members: 10 moves there and back, and a dry run of 5,000 removes"""
    count = scale.pick(600_000, 20_000)
    moves = [{"op": "move", "from": f"/{key(number)}", "path": f"/moved{number}"} for number in range(10)]
    moves_back = [{"op": "move", "from": f"/moved{number}", "path": f"/{key(number)}"} for number in range(10)]
    removes = [{"op": "remove", "path": f"/{key(number)}"} for number in range(count // 120)]
    path = setting(LARGE, "object")
    requests = [patch(path, moves, JSON_PATCH), patch(path, moves_back, JSON_PATCH),
                patch(f"{path}?dryRun=true", removes, JSON_PATCH)]

    def load(connection: Connection) -> None:
        put(connection, LARGE, "object", wide_object(count))

    return Abuse(lambda _: [Role(send_in_sequence(requests))], load)


def merges(scale: Scale) -> Abuse:
    """10 connections with pipelined merge patches of one member of an object with 600,000 members"""
    path = setting(LARGE, "object")

    def requests(connection: int) -> bytes:
        return pipelined([patch(path, {key(connection): number}, MERGE_PATCH) for number in range(2)], 20)

    def load(connection: Connection) -> None:
        put(connection, LARGE, "object", wide_object(scale.pick(600_000, 20_000)))

    return Abuse(lambda _: [Role(send_repeatedly(requests(connection), 20)) for connection in range(10)], load)


def bad_bodies(scale: Scale) -> Abuse:
    """Bodies of 15 MB with an error at the end: an open array, a duplicate name, a number that is too large, a bad escape, a comma"""
    size = scale.pick(15 * MB, MB)
    bodies = [
        b"[" * 120 + b"]" * 119 + b" " * size,
        compact(wide_object(size // 12))[:-1] + b',"k000000":1}',
        compact(numbers(size))[:-1] + b",1e999]",
        b'"' + b"\\u00e9" * (size // 6) + b'\\ud800"',
        b"[0." + b"1" * size + b",]",
    ]
    requests = [render("PUT", setting(LARGE, "list"), body) for body in bodies]
    return Abuse(lambda _: [Role(send_in_sequence(requests), 4)])


def nested_arrays(scale: Scale) -> Abuse:
    """4 connections with values of 50,000 and 20,000 arrays, each nested 126 levels deep (12 MB and 5 MB)"""
    bodies = [b"[" + b",".join([b"[" * 126 + b"]" * 126] * scale.pick(count, count // 10)) + b"]"
              for count in (50_000, 20_000)]
    requests = [render("PUT", setting(LARGE, "list"), body) for body in bodies]
    return Abuse(lambda _: [Role(send_in_sequence(requests), 4)])


ROWS: list[RowBuilder] = [
    dry_runs_of_10_mb, dry_runs_of_1_mb, unfinished_bodies, large_values, large_transactions, wide_suite,
    removal_by_prefix, json_patches, merges, bad_bodies, nested_arrays,
]
