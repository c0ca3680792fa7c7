"""Rows of costly schemas: rules over whole suites, patterns, schemas put onto many keys."""

from collections.abc import Callable
from typing import Any

from harness.http import Connection, render

from .requests import compact, fill, key, patch, pipelined, put_schema, setting, suite
from .row import Abuse, Build, Scale
from .swarm import Role, repeated
from .writing import one_after_the_other

SUITE = "ruled"
# Each takes 2,000 states once its repetitions are counted out; 25 of them are more than a schema may have.
WIDE_PATTERN = "^([a-z]{1,40}x){48}$"
# Every state of it stays possible at each character of a text of this one letter.
HARD_PATTERN, HARD_TEXT = "^(?:a{0,30}){50}b$", "a" * 60_000

# A rule about a few keys, and rules that ask something of every key.
WHOLE_SUITE_RULE: dict[str, Any] = {
    "additionalProperties": True,
    "minProperties": 1,
    "propertyNames": {"pattern": "^k[0-9]+$"},
    "anyOf": [{"not": {"required": ["k000001"]}}, {"required": ["k000002", "k000003"]}],
    "if": {"required": ["k000001"], "properties": {"k000001": {"minimum": 11}}},
    "then": {"required": ["k000004"], "minProperties": 2},
}


def _ruled(scale: Scale) -> Callable[[Connection], None]:
    def load(connection: Connection) -> None:
        fill(connection, SUITE, scale.pick(10_000, 5_000))
        put_schema(connection, SUITE, WHOLE_SUITE_RULE)
    return load


def _puts(connection: int, count: int) -> bytes:
    """Pipelined PUTs that all change something."""
    return pipelined([render("PUT", setting(SUITE, key(connection)), value) for value in (10, 11)], count)


def rule_over_suite(scale: Scale) -> Abuse:
    """128 pipelined PUTs to a suite with rules over all of its 10,000 keys, which are as many as may be"""
    return Abuse(lambda _: [Role(repeated(_puts(1, 128), 128))], _ruled(scale))


def rule_over_suite_20(scale: Scale) -> Abuse:
    """the same from 20 connections"""
    return Abuse(lambda _: [Role(repeated(_puts(number, 128), 128)) for number in range(20)], _ruled(scale))


def wide_patterns(scale: Scale) -> Abuse:
    """A schema of 956 kB whose patterns exceed their budget at the 25th property, beside writes of 70 kB"""
    count = scale.pick(15_700, 1_000)
    properties = {key(number): {"type": "string", "pattern": WIDE_PATTERN} for number in range(count)}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    request = render("PUT", f"{suite(SUITE)}/schema", schema)
    return Abuse(lambda _: [Role(repeated(request, 1), 2)], writes_large=True)


def hard_pattern(scale: Scale) -> Abuse:
    """60 kB of text against a pattern with many states, pipelined and from 4 connections"""
    requests = render("PUT", setting(SUITE, "text"), HARD_TEXT) * 10

    def load(connection: Connection) -> None:
        properties = {"text": {"type": "string", "pattern": HARD_PATTERN}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties})

    return Abuse(lambda _: [Role(repeated(requests, 10), scale.pick(4, 1))], load)


def hard_patterns_in_items(scale: Scale) -> Abuse:
    """Lists of 100,000 texts, each against a pattern with many states"""
    texts = [f"{'a' * 40}{number}" for number in range(scale.pick(100_000, 5_000))]
    request = render("PUT", setting(SUITE, "texts"), texts)

    def load(connection: Connection) -> None:
        properties = {"texts": {"type": "array", "uniqueItems": True, "items": {"pattern": HARD_PATTERN}}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties})

    return Abuse(lambda _: [Role(repeated(request, 1), 4)], load)


def branching_schema(scale: Scale) -> Abuse:
    """128 pipelined PUTs against a schema with two alternatives at each of 30 levels, none of which fits"""
    levels = 30
    definitions: dict[str, Any] = {
        f"level{number}": {"anyOf": [{"$ref": f"#/$defs/level{number + 1}"}, {"$ref": f"#/$defs/level{number + 1}"}]}
        for number in range(levels)}
    definitions[f"level{levels}"] = {"type": "string"}
    requests = render("PUT", setting(SUITE, "branch"), 1) * scale.pick(128, 16)

    def load(connection: Connection) -> None:
        properties = {"branch": {"$ref": "#/$defs/level0"}}
        put_schema(connection, SUITE, {"additionalProperties": True, "properties": properties, "$defs": definitions})

    return Abuse(lambda _: [Role(repeated(requests, scale.pick(128, 16)))], load)


def schema_onto_keys(scale: Scale) -> Abuse:
    """Schemas put onto 1,000,000 stored keys, one after the other"""
    schemas = [{"type": "object", "additionalProperties": {"type": "integer", "minimum": least}} for least in (0, 1)]
    requests = [render("PUT", f"{suite(SUITE)}/schema", schema) for schema in schemas]
    return Abuse(lambda _: [Role(one_after_the_other(requests))],
                 lambda connection: fill(connection, SUITE, scale.pick(1_000_000, 50_000)))


def schema_conflicts(scale: Scale) -> Abuse:
    """Schemas that fit none of 100,000 stored keys, refused or with ?onConflict=keep, and their removal"""
    schema = compact({"type": "object", "additionalProperties": {"type": "string", "pattern": HARD_PATTERN}})
    path = f"{suite(SUITE)}/schema"
    requests = [render("PUT", path, schema), render("PUT", f"{path}?onConflict=keep", schema),
                render("GET", suite(SUITE)), render("DELETE", path)]
    return Abuse(lambda _: [Role(one_after_the_other(requests))],
                 lambda connection: fill(connection, SUITE, scale.pick(100_000, 5_000)))


def many_violations(scale: Scale) -> Abuse:
    """PATCHes of a suite with 100,000 values that its schema refuses, from 4 connections"""
    request = patch(suite(SUITE), {key(number): "no" for number in range(scale.pick(100_000, 5_000))})

    def load(connection: Connection) -> None:
        put_schema(connection, SUITE, {"additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})

    return Abuse(lambda _: [Role(repeated(request, 1), 4)], load)


def suggestions(scale: Scale) -> Abuse:
    """Pipelined requests for unknown keys, for which 50,000 names are searched for near ones"""
    names = [f"player.volume.of.channel.{number:05}" for number in range(scale.pick(50_000, 5_000))]
    request = render("GET", setting(SUITE, "player.volumes.of.the.channel.00O00"))

    def load(connection: Connection) -> None:
        put_schema(connection, SUITE, {"additionalProperties": False, "properties": {name: {} for name in names}})

    return Abuse(lambda _: [Role(repeated(request * 100, 100), 4)], load)


ROWS: list[Build] = [rule_over_suite, rule_over_suite_20, wide_patterns, hard_pattern, hard_patterns_in_items,
                     branching_schema, schema_onto_keys, schema_conflicts, many_violations, suggestions]
