"""Digests: they follow what the agent gets and what is expected, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from build import document, json_values, steady
from hypothesis import given

from agenteval_cli import schemas
from agenteval_cli.case import filled
from agenteval_cli.digests import Digests, digest, digest_of_bytes, digests_of

BASE = """\
schema: 1
id: greet
title: A title
why: a reason
tags: [a]
metadata: {owner: support}
notes: some
variables: [{name: who, value: Ada}]
input: I am {{who}}
state: {order: {total: 129, paid: true}}
outcome: [{contains: Hello}]
"""


def digests(text: str, **files: str) -> Digests:
    return digests_of(filled(document(text).data), text.encode(), files)


def changed(before: str, after: str) -> set[str]:
    """Which of the first two digests differ between two texts."""
    assert before != after
    one, other = digests(before), digests(after)
    assert one.file != other.file
    return {name for name in ("input", "grade") if getattr(one, name) != getattr(other, name)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: A title", "title: Another"),
        ("title: A title\n", ""),
        ("why: a reason", "why: another"),
        ("tags: [a]", "tags: [b, c]"),
        ("metadata: {owner: support}", "metadata: {owner: sales, more: 1}"),
        ("notes: some", "notes: others"),
        ("id: greet", "id: greet  # a comment"),
        ("schema: 1\nid: greet", "id: greet\nschema: 1"),
        ("{total: 129, paid: true}", "{paid: true, total: 129}"),
        ("{order: {total: 129, paid: true}}", "\n  order:\n    total: 129\n    paid: true"),
        ("total: 129", "total: 129.0"),
        ("total: 129", "total: 0x81"),
        ("contains: Hello", "contains: 'Hello'"),
        ("contains: Hello", 'contains: "H\\u0065llo"'),
        ("tags: [a]", "tags: [a]\nquarantine: {reason: flaky}"),
        ("tags: [a]", "tags: [a]\nprovenance: {source: phoenix}"),
        ("tags: [a]", "tags: [a]\ntier: smoke"),
        ("tags: [a]", "tags: [a]\nattempts: 5"),
        ("tags: [a]", "tags: [a]\nexpected_output:"),
        ("value: Ada}", "value: Ada}, {name: unused, value: x}"),
    ],
)
def test_words_for_people_and_ways_of_writing_change_neither_digest(old: str, new: str) -> None:
    assert old in BASE
    assert changed(BASE, BASE.replace(old, new)) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I am {{who}}", "I am not {{who}}"),
        ("value: Ada", "value: Bob"),
        ("paid: true", "paid: false"),
        ("paid: true", "paid: 1"),
        ("total: 129", "total: '129'"),
        ("total: 129", "total: 129.5"),
    ],
)
def test_what_the_agent_gets_changes_the_input_digest_only(old: str, new: str) -> None:
    assert changed(BASE, BASE.replace(old, new)) == {"input"}


@pytest.mark.parametrize("new", ["contains: Bye", "equals: Hello", "contains: [Hello]", "contains: '{{who}}'"])
def test_what_is_expected_changes_the_grade_digest_only(new: str) -> None:
    assert changed(BASE, BASE.replace("contains: Hello", new)) == {"grade"}


SEEN = {
    "agent": "support",
    "conversation": [{"role": "user", "content": "Hi"}],
    "conversation_id": "s-1",
    "system_prompt": "Be kind.",
    "state": {"a": 1},
    "context": ["a page"],
    "tools": [{"name": "get_order"}],
    "simulation": {"user_prompt": "angry"},
    "input": "Hello!",
}
DECIDES = {
    "expected_output": "x",
    "match": "exact",
    "outcome": [{"contains": "y"}],
    "trajectory": {"only": []},
    "criteria": ["Polite."],
    "min_pass_rate": 0.5,
}
BOTH = {"limits": {"steps": 3}, "turns": [{"user": "Hi", "outcome": [{"contains": "x"}]}]}
NEITHER = {"schema", "id", "title", "why", "tier", "tags", "metadata", "provenance", "quarantine", "notes", "attempts"}
ELSEWHERE = {"variables", "files", "recording"}  # through the texts, through the digests of the files, not read yet


def with_and_without(**keys: Any) -> set[str]:
    plain = {"schema": 1, "id": "greet"}
    one, other = digests_of(plain, b"", {}), digests_of(plain | keys, b"", {})
    return {name for name in ("input", "grade") if getattr(one, name) != getattr(other, name)}


def test_every_key_of_a_case_is_known_to_count_or_not() -> None:
    assert set(schemas.load("case")["properties"]) == {*SEEN, *DECIDES, *BOTH, *NEITHER, *ELSEWHERE}


@pytest.mark.parametrize("key", sorted(SEEN))
def test_each_key_that_the_agent_sees_changes_the_input_digest(key: str) -> None:
    assert with_and_without(**{key: SEEN[key]}) == {"input"}


@pytest.mark.parametrize("key", sorted(DECIDES))
def test_each_key_that_decides_changes_the_grade_digest(key: str) -> None:
    assert with_and_without(**{key: DECIDES[key]}) == {"grade"}


@pytest.mark.parametrize("key", sorted(BOTH))
def test_limits_and_turns_are_seen_and_decide(key: str) -> None:
    assert with_and_without(**{key: BOTH[key]}) == {"input", "grade"}


def test_the_users_words_and_the_checks_of_a_turn_are_told_apart() -> None:
    base = "schema: 1\nid: greet\nturns: [{user: Hi, outcome: [{contains: x}]}]\n"
    assert changed(base, base.replace("user: Hi", "user: Bye")) == {"input"}
    assert changed(base, base.replace("contains: x", "contains: y")) == {"grade"}


def test_the_content_of_a_given_file_is_input() -> None:
    before, after = digests(BASE, **{"a.pdf": "1:aa"}), digests(BASE, **{"a.pdf": "1:bb"})
    assert (before.input != after.input, before.grade == after.grade, before.file == after.file) == (True, True, True)
    assert digests(BASE).input != before.input


def test_the_number_of_the_recipe_stands_in_front() -> None:
    found = digests(BASE)
    assert all(value.startswith("1:") and len(value) == 66 for value in (found.input, found.grade, found.file))
    assert digest_of_bytes(b"") == "1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (1e20, 10**20, True),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        ("1", 1, False),
        ([], {}, False),
        (None, "null", False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
        ("é", "e\u0301", False),
    ],
)
def test_values_have_one_digest_where_they_compare_equal(one: Any, other: Any, equal: bool) -> None:
    assert (digest(one) == digest(other)) is equal


@given(json_values)
@steady
def test_a_digest_survives_the_way_through_json(value: Any) -> None:
    assert digest(json.loads(json.dumps(value))) == digest(value)
