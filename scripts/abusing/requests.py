"""Functions that build the requests and store the data of the tests of scripts/abuse."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

from harness.http import Connection, render

MB = 1_000_000
# This header field asks for an answer without values.
MINIMAL = [("Prefer", "return=minimal")]
# A PATCH with this number of keys and short values is smaller than the default limit of a body (16 MiB).
KEYS_PER_PATCH = 100_000
# The default of the option history.bytes.
HISTORY_BYTES = 64 << 20


def suite(name: str) -> str:
    """Returns the path of a suite."""
    return f"/v1/suites/{name}"


def setting(name: str, key: str) -> str:
    return f"{suite(name)}/keys/{key}"


def key(number: int) -> str:
    return f"k{number:06}"


def members(numbers: Iterable[int], value: Any) -> dict[str, Any]:
    return {key(number): value for number in numbers}


def fill(connection: Connection, name: str, count: int, value: Any = 1) -> None:
    """Stores `count` keys in a suite."""
    for start in range(0, count, KEYS_PER_PATCH):
        values = members(range(start, min(start + KEYS_PER_PATCH, count)), value)
        connection.request("PATCH", suite(name), values, MINIMAL)


def put(connection: Connection, name: str, key: str, value: Any) -> None:
    connection.request("PUT", setting(name, key), value, MINIMAL)


def fill_history(connection: Connection) -> None:
    """Fills the history of the daemon up to its default limit."""
    for number in range(HISTORY_BYTES // MB + 1):
        put(connection, "history", "text", f"{number} " + "x" * MB)


def put_suite(connection: Connection, name: str, values: dict[str, Any]) -> None:
    connection.request("PUT", suite(name), values, MINIMAL)


def put_schema(connection: Connection, name: str, schema: dict[str, Any]) -> None:
    connection.request("PUT", f"{suite(name)}/schema", {"type": "object", **schema}, MINIMAL)


def cursor(connection: Connection) -> str:
    """Returns the current cursor of the daemon."""
    return connection.request("GET", "/v1").fields["settings-cursor"]


def numbers(size: int) -> list[int]:
    """Returns a list of integers whose JSON has about `size` bytes: seven digits and a comma for each integer."""
    return list(range(1_000_000, 1_000_000 + size // 8))


def wide_object(count: int) -> dict[str, int]:
    """Returns an object with `count` members."""
    return members(range(count), 1)


def pipelined(requests: Iterable[bytes], count: int) -> bytes:
    """Returns the bytes of `count` requests, with the given requests in rotation."""
    return b"".join(itertools.islice(itertools.cycle(requests), count))


def head(method: str, path: str, length: int) -> bytes:
    """Returns the head of a request. The caller sends the body later."""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n".encode()


def compact(value: Any) -> bytes:
    """Returns the JSON of a value without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def patch(path: str, body: Any, content_type: str = "application/json") -> bytes:
    return render("PATCH", path, body, [("Content-Type", content_type), *MINIMAL])
