"""Foreign text made safe for a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from build import steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.escape import for_terminal, on_one_line

any_text = st.text(st.characters())  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;https://example.org\x07", "\\x1b]8;;https://example.org\\x07"),
        ("50 %\r100 %", "50 %\\x0d100 %"),
        ("a\x08b\x7f\x00", "a\\x08b\\x7f\\x00"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("user\u202egpj.exe", "user\\u202egpj.exe"),
        ("\u2066a\u2069\u200f\u061c", "\\u2066a\\u2069\\u200f\\u061c"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("\ufeffa", "\\ufeffa"),
        ("\ud83d", "\\ud83d"),
        ("line\n\tone", "line\n\tone"),
        ("Grüße, 世界 👍🏽 e\u0301", "Grüße, 世界 👍🏽 e\u0301"),
        ("C:\\x1b", "C:\\x1b"),
    ],
)
def test_what_would_act_on_a_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert for_terminal(text) == shown


def test_on_one_line_shows_line_breaks_and_tabs_too() -> None:
    assert on_one_line("a\r\n\tb\x1b") == "a\\x0d\\n\\tb\\x1b"


@given(any_text)
@steady
def test_whatever_the_text_no_control_is_left_and_it_can_be_printed(text: str) -> None:
    shown = for_terminal(text)
    assert {unicodedata.category(char) for char in shown if char not in "\n\t"}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert not any(unicodedata.bidirectional(char) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI"} for char in shown)
    assert shown.encode().decode() == shown


@given(any_text)
@steady
def test_one_line_is_one_line(text: str) -> None:
    assert len(on_one_line(text).splitlines()) <= 1


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
@steady
def test_letters_signs_and_numbers_are_left_alone(text: str) -> None:
    assert on_one_line(text) == text
