"""JSONPath: patterns in filters mean what RFC 9485 says, and cannot hang a run."""

from __future__ import annotations

import time
from typing import Any

import jsonpath_rfc9535
import pytest
from build import steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.jsonpath import values_at
from agenteval_cli.patterns import PatternTimeoutError

NAMES = ["kettle", "ketchup", "a.b", "a\nb", "a\rb", "a\u2028b", "[x]", "", 5, None, ["kettle"], "k\u00e4se", "\\", "."]
PATTERNS = [
    "k.*",
    "ket(tle|chup)",
    "a.b",
    r"a\.b",
    "[.]",
    "[a-c]",
    "[^a-c]*",
    r"\p{L}+",
    r"\P{L}",
    r"k\p{Ll}{2}t+le",
    ".",
    "",
    r"\\\\",
    r"[\\]]",
    "(",
    "(?:k)",
    r"\d",
    "^k",
]


@pytest.mark.parametrize("name", ["match", "search"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_to_the_library(name: str, pattern: str) -> None:
    data = [{"name": value} for value in NAMES] + [{}]
    quoted = pattern.replace("\\", "\\\\").replace("'", "\\'")
    path = f"$[?{name}(@.name, '{quoted}')]"
    assert values_at(path, data) == list(jsonpath_rfc9535.find(path, data).values())


@steady
@given(st.text(alphabet="ab.[]\\^-x", max_size=6), st.text(alphabet="ab.\n\r]x", max_size=4))
def test_any_pattern_decides_as_in_the_library(pattern: str, text: str) -> None:
    data = {"pattern": pattern, "items": [text]}
    for name in ("match", "search"):
        path = f"$.items[?{name}(@, $.pattern)]"
        assert values_at(path, data) == list(jsonpath_rfc9535.find(path, data).values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("$[?match(@, '(a|aa)+')]", ["a" * 60 + "!"]),
        ("$[?search(@, '(a|aa)+$')]", ["a" * 60 + "!"]),
        ("$..[?search(@, $.evil)]", {"evil": "(x|xx)+$", "items": ["x" * 60 + "!"]}),  # the pattern is the agent's
        ("$[?match(@, '(a|aa)+')]", ["a" * 22 + "!"] * 20_000),  # each is quick, all of them are not
    ],
)
def test_a_pattern_cannot_hang_a_run(path: str, data: Any) -> None:
    began = time.monotonic()
    with pytest.raises(PatternTimeoutError, match="took more than 1 s"):
        values_at(path, data)
    assert time.monotonic() - began < 5
