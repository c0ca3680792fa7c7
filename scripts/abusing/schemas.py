"""Abuse with costly schemas: rules about all keys of a suite, patterns, schemas for many stored keys.

Each function defines a row of the table of scripts/abuse; --list prints its docstring. A `Role` is a number of connections
with the same script, and the bystander is the well-behaved client whose delay is measured. `scale.pick(FULL, SHORT)`
chooses between a full and a short run.
"""

from collections.abc import Callable
from typing import Any

from harness.http import Connection, render

from .requests import compact, fill, key, patch, pipelined, put_schema, setting, suite
from .row import Abuse, RowBuilder, Scale
from .swarm import Role, send_repeatedly
from .writing import send_in_sequence

SUITE = "validated"
# This pattern compiles to 2,000 states. A schema with 25 of these patterns exceeds the limit of states of a schema.
WIDE_PATTERN = "^([a-z]{1,40}x){48}$"
# With this text, a matcher must keep all states of this pattern at each character.
HARD_PATTERN, HARD_TEXT = "^(?:a{0,30}){50}b$", "a" * 60_000

# Rules about single keys, and rules that the daemon must check for every key of the suite.
WHOLE_SUITE_RULE: dict[str, Any] = {
    "additionalProperties": True,
    "minProperties": 1,
    "propertyNames": {"pattern": "^k[0-9]+$"},
    "anyOf": [{"not": {"required": ["k000001"]}}, {"required": ["k000002", "k000003"]}],
    "if": {"required": ["k000001"], "properties": {"k000001": {"minimum": 11}}},
    "then": {"required": ["k000004"], "minProperties": 2},
}


def _load_suite_with_rule(scale: Scale) -> Callable[[Connection], None]:
    def load(connection: Connection) -> None:
        fill(connection, SUITE, scale.pick(10_000, 5_000))
        put_schema(connection, SUITE, WHOLE_SUITE_RULE)
    return load


def _puts(key_number: int, count: int) -> bytes:
    """Returns `count` pipelined PUTs, each of which changes the value of the same key."""
    return pipelined([render("PUT", setting(SUITE, key(key_number)), value) for value in (10, 11)], count)


def rule_over_suite(scale: Scale) -> Abuse:
    """128 pipelined PUTs to a suite with rules about all of its 10,000 keys, the maximum for such rules"""
    return Abuse(lambda _: [Role(send_repeatedly(_puts(1, 128), 128))], _load_suite_with_rule(scale))


def rule_over_suite_20(scale: Scale) -> Abuse:
    """the PUTs of rule-over-suite from 20 connections, each of which changes another key"""
    return Abuse(lambda _: [Role(send_repeatedly(_puts(number, 128), 128)) for number in range(20)],
                 _load_suite_with_rule(scale))


def wide_patterns(scale: Scale) -> Abuse:
    """A schema of 956 kB whose patterns exceed the limit at the 25th property; the bystander also writes 70 kB values"""
    count = scale.pick(15_700, 1_000)
    properties = {key(number): {"type": "string", "pattern": WIDE_PATTERN} for number in range(count)}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    request = render("PUT", f"{suite(SUITE)}/schema", schema)
    return Abuse(lambda _: [Role(send_repeatedly(request, 1), 2)], writes_large=True)


def hard_pattern(scale: Scale) -> Abuse:
    """4 connections with pipelined PUTs of 60 kB of text, which the daemon matches against a pattern with many states"""
    requests = render("PUT", setting(SUITE, "text"), HARD_TEXT) * 10

    def load(connection: Connection) -> None:
        properties = {"text": {"type": "string", "pattern": HARD_PATTERN}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties})

    return Abuse(lambda _: [Role(send_repeatedly(requests, 10), scale.pick(4, 1))], load)


def hard_patterns_in_items(scale: Scale) -> Abuse:
    """4 connections with lists of 100,000 texts, which the daemon matches against a pattern with many states"""
    texts = [f"{'a' * 40}{number}" for number in range(scale.pick(100_000, 5_000))]
    request = render("PUT", setting(SUITE, "texts"), texts)

    def load(connection: Connection) -> None:
        properties = {"texts": {"type": "array", "uniqueItems": True, "items": {"pattern": HARD_PATTERN}}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties})

    return Abuse(lambda _: [Role(send_repeatedly(request, 1), 4)], load)


def branching_schema(scale: Scale) -> Abuse:
    """128 pipelined PUTs of a value that fits none of the 2^30 alternatives of a schema"""
    levels = 30
    definitions: dict[str, Any] = {
        f"level{number}": {"anyOf": [{"$ref": f"#/$defs/level{number + 1}"}, {"$ref": f"#/$defs/level{number + 1}"}]}
        for number in range(levels)}
    definitions[f"level{levels}"] = {"type": "string"}
    requests = render("PUT", setting(SUITE, "branch"), 1) * scale.pick(128, 16)

    def load(connection: Connection) -> None:
        properties = {"branch": {"$ref": "#/$defs/level0"}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties, "$defs": definitions})

    return Abuse(lambda _: [Role(send_repeatedly(requests, scale.pick(128, 16)))], load)


def schema_onto_keys(scale: Scale) -> Abuse:
    """PUTs of schemas, one after the other, to a suite with 1,000,000 stored keys"""
    schemas = [{"type": "object", "additionalProperties": {"type": "integer", "minimum": minimum}} for minimum in (0, 1)]
    requests = [render("PUT", f"{suite(SUITE)}/schema", schema) for schema in schemas]
    return Abuse(lambda _: [Role(send_in_sequence(requests))],
                 lambda connection: fill(connection, SUITE, scale.pick(1_000_000, 50_000)))


def schema_conflicts(scale: Scale) -> Abuse:
    """A schema that none of 100,000 stored values satisfies: PUT without and with ?onConflict=keep, GET of the suite, DELETE"""
    schema = compact({"type": "object", "additionalProperties": {"type": "string", "pattern": HARD_PATTERN}})
    path = f"{suite(SUITE)}/schema"
    requests = [render("PUT", path, schema), render("PUT", f"{path}?onConflict=keep", schema),
                render("GET", suite(SUITE)), render("DELETE", path)]
    return Abuse(lambda _: [Role(send_in_sequence(requests))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000)))


def many_violations(scale: Scale) -> Abuse:
    """4 connections with PATCHes of 100,000 values that the schema does not allow"""
    request = patch(suite(SUITE), {key(number): "no" for number in range(scale.pick(100_000, 5_000))})

    def load(connection: Connection) -> None:
        put_schema(connection, SUITE, {"additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})

    return Abuse(lambda _: [Role(send_repeatedly(request, 1), 4)], load)


def suggestions(scale: Scale) -> Abuse:
    """Pipelined GETs of unknown keys, for which the daemon searches 50,000 names for similar names"""
    names = [f"player.volume.of.channel.{number:05}" for number in range(scale.pick(50_000, 5_000))]
    # The name has mistakes, such as the letter O for the digit 0.
    request = render("GET", setting(SUITE, "player.volumes.of.the.channel.00O00"))

    def load(connection: Connection) -> None:
        put_schema(connection, SUITE, {"additionalProperties": False, "properties": {name: {} for name in names}})

    return Abuse(lambda _: [Role(send_repeatedly(request * 100, 100), 4)], load)


ROWS: list[RowBuilder] = [
    rule_over_suite, rule_over_suite_20, wide_patterns, hard_pattern, hard_patterns_in_items, branching_schema,
    schema_onto_keys, schema_conflicts, many_violations, suggestions,
]
