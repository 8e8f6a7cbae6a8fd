"""The YAML dialect: what is read as what, what is refused, and where each problem is told."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from build import document, steady
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from yaml._yaml import CParser

from agenteval_cli.yaml_plain import NotPlainError, light_document, plain_document
from agenteval_cli.yaml_reader import MAX_BYTES, MAX_DEPTH, Path, Reading, _Builder, position_of, read


def reading(text: str | bytes) -> Reading:
    return read("case.yaml", text if isinstance(text, bytes) else text.encode())


def data(text: str | bytes) -> Any:
    """What the text says; it must be without any problem."""
    found = reading(text)
    assert found.problems == ()
    assert found.document is not None
    return found.document.data


def told(text: str | bytes) -> list[str]:
    """The place and the rule of each problem."""
    return [f"{problem.line}:{problem.column} {problem.rule}" for problem in reading(text).problems]


# ---- what is read as what


LOOK_ALIKES = (
    "no No NO yes on off y n 12:30 1:20:45 2031-02-03 1_000 0b11 -0x1F 1e e3 + . .. 1.2.3 nan inf tRUE nULL 0o8 0xG ="
)


@pytest.mark.parametrize("text", [*LOOK_ALIKES.split(), "2031-02-03 10:00:00"])
def test_a_text_that_only_looks_like_something_else_stays_text(text: str) -> None:
    assert data(f"key: {text}\n") == {"key": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("0", 0),
        ("-0", 0),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-1.25", -1.25),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("Null", None),
        ("~", None),
        ("", None),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_numbers_booleans_and_null_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    found = data(f"key: {text}\n")["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["true", "12", "null", "1.50", "007", ".nan", "~", ""])
def test_quotes_and_block_scalars_keep_text_as_text(text: str) -> None:
    assert data(f"key: '{text}'\nother: \"{text}\"\n") == {"key": text, "other": text}
    assert data(f"key: |-\n  {text}\nother: ! '{text}'\n") == {"key": text, "other": text}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("007", "007 is read as the number 7; write '007' in quotes for text"),
        ("-012", "-012 is read as the number -12; write '-012' in quotes for text"),
        ("00", "00 is read as the number 0; write '00' in quotes for text"),
        ("01.5", "01.5 is read as the number 1.5; write '01.5' in quotes for text"),
        ("2.10", "2.10 is read as the number 2.1; write '2.10' in quotes for text"),
        ("1.0", "1.0 is read as the number 1.0; write '1.0' in quotes for text"),
        ("3.", "3. is read as the number 3.0; write '3.' in quotes for text"),
    ],
)
def test_a_number_that_loses_a_zero_is_read_with_a_warning(text: str, words: str) -> None:
    found = reading(f"release:\n  - {text}\n")
    assert found.document is not None
    assert [str(problem) for problem in found.problems] == [
        f"case.yaml:2:5: warning: release[0]: {words} [yaml-number]"
    ]


def test_keys_are_the_text_that_was_written() -> None:
    assert data("on: 1\n5678: 2\ntrue: 3\n1.0: 4\n~: 5\n2031-02-03: 6\n") == {
        "on": 1,
        "5678": 2,
        "true": 3,
        "1.0": 4,
        "~": 5,
        "2031-02-03": 6,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 12", "12"),
        ("!!str", ""),
        ("!!int '12'", 12),
        ("!!float 12", 12.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ("!!seq [a]", ["a"]),
        ("!!map {a: b}", {"a": "b"}),
    ],
)
def test_the_standard_tags_say_what_a_value_is(text: str, value: Any) -> None:
    found = data(f"key: {text}\n")["key"]
    assert (found, type(found)) == (value, type(value))


def test_line_breaks_of_windows_and_a_byte_order_mark_change_nothing() -> None:
    assert data(b"\xef\xbb\xbfid: greet\r\ntext: |\r\n  one\r\n  two\r\n") == {"id": "greet", "text": "one\ntwo\n"}


@pytest.mark.parametrize("end", ["---\n", "---", "--- # nothing more\n", "...\n", "...\n---\n"])
def test_a_document_mark_with_nothing_after_it_is_harmless(end: str) -> None:
    assert data(f"id: greet\n{end}") == {"id": "greet"}


def test_an_alias_repeats_its_anchor() -> None:
    assert data("a: &kettle {price: 129}\nb: *kettle\nc: [*kettle]\n") == {
        "a": {"price": 129},
        "b": {"price": 129},
        "c": [{"price": 129}],
    }


def test_a_key_can_carry_an_anchor_and_be_an_alias() -> None:
    assert data("&name kettle: 1\nproduct: *name\n") == {"kettle": 1, "product": "kettle"}
    assert data("product: &name kettle\nstock: {*name : 3}\n") == {"product": "kettle", "stock": {"kettle": 3}}


@pytest.mark.parametrize(
    ("merge", "merged"),
    [
        ("{<<: *a}", {"x": 1, "y": 2}),
        ("{<<: *a, y: 9}", {"x": 1, "y": 9}),
        ("{y: 9, <<: *a}", {"x": 1, "y": 9}),
        ("{<<: [*a, {x: 7, z: 8}]}", {"x": 1, "y": 2, "z": 8}),
        ("{<<: {}}", {}),
        ("{'<<': *a}", {"<<": {"x": 1, "y": 2}}),
    ],
)
def test_a_merge_key_fills_in_what_the_mapping_itself_does_not_say(merge: str, merged: Any) -> None:
    assert data(f"base: &a {{x: 1, y: 2}}\ncopy: {merge}\n")["copy"] == merged


# ---- what is refused


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: 1\na: 2\n", "2:1", "the key 'a' is already on line 1"),
        ("1: x\n'1': y\n", "2:1", "the key '1' is already on line 1"),
        ("true: x\n'true': y\n", "2:1", "the key 'true' is already on line 1"),
        ("a:\n  b:\n    c: 1\n    d: 2\n    c: 3\n", "5:5", "the key 'c' is already on line 3"),
        ("a:\n  - {b: 1, c: 2, b: 3}\n", "2:18", "the key 'b' is already on line 2"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n", "4:3", "the key '<<' is already on line 3"),
    ],
)
def test_a_key_given_twice_is_told_with_both_lines(text: str, place: str, words: str) -> None:
    (problem,) = reading(text).problems
    assert f"{problem.line}:{problem.column}" == place
    assert problem.message == f"{words}; only one of them can count"
    assert reading(text).document is None


def test_every_repeated_key_is_told() -> None:
    assert told("a: 1\na: 2\nb: {c: 1, c: 2}\na: 3\n") == [f"{at} yaml-duplicate-key" for at in ("2:1", "3:11", "4:1")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: !secret x\n", "1:4 yaml-tag"),
        ("a:\n  - !include [x]\n", "2:5 yaml-tag"),
        ("a: !!python/object:os.system {}\n", "1:4 yaml-tag"),
        ("a: !!timestamp 2031-02-03\n", "1:4 yaml-tag"),
        ("a: !!set {x}\n", "1:4 yaml-tag"),
        ("a: !!int twelve\n", "1:4 yaml-tag"),
        ("a: !!bool yes\n", "1:4 yaml-tag"),
        ("%TAG ! tag:example.org,2000:\n---\na: 1\n", "1:1 yaml-directive"),
        ("%YAML 1.1\n---\na: no\n", "1:1 yaml-directive"),
        ("a: {<<: [1]}\n", "1:5 yaml-merge"),
        ("a: {<<: text}\n", "1:5 yaml-merge"),
        ("!secret a: 1\n", "1:1 yaml-tag"),
        ("a: {!!python/name:os.system b: 1}\n", "1:5 yaml-tag"),
        ("a: {!!int 7: 1}\n", "1:5 yaml-tag"),
    ],
)
def test_tags_directives_and_merges_that_are_not_plain_data_are_refused(text: str, problem: str) -> None:
    assert told(text) == [problem]


@pytest.mark.parametrize("value", ["!!int [1]", "!!str {a: 1}", "!!map [1]", "!!seq {a: 1}"])
def test_a_standard_tag_on_the_wrong_kind_of_value_is_refused(value: str) -> None:
    assert told(f"a: {value}\n") == ["1:4 yaml-tag"]


def test_an_alias_bomb_is_refused_and_quickly() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    (problem,) = reading("\n".join(lines)).problems
    assert (problem.line, problem.rule) == (6, "yaml-syntax")
    assert problem.message == "not valid YAML: aliases expand to more than 200,000 values"


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: {c: *a}}\n", "&a [x, *a]\n", "a: *nobody\n"])
def test_an_alias_of_what_is_not_finished_is_refused(text: str) -> None:
    (problem,) = reading(text).problems
    assert "has no finished anchor before it (an alias cannot contain itself)" in problem.message
    assert (problem.line, problem.column) == (1, text.index("*") + 1)


def test_aliases_reach_no_deeper_than_brackets_may() -> None:
    chain = [f"a{depth}: &a{depth} [*a{depth - 1}]" for depth in range(1, 300)]
    (problem,) = reading("\n".join(["a0: &a0 []", *chain])).problems
    assert "nested deeper than 64 levels" in problem.message


def test_nesting_has_a_limit() -> None:
    assert data("[" * 64 + "]" * 64) is not None
    (problem,) = reading("[" * 65 + "]" * 65).problems
    assert (problem.column, problem.message) == (65, "not valid YAML: nested deeper than 64 levels")


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "a: 1\n...\n---\nb: 2\n", "a: 1\n---\n---\nb: 2\n"])
def test_a_second_document_is_refused_where_it_starts(text: str) -> None:
    line = text[: text.index("---")].count("\n") + 1
    assert told(text) == [f"{line}:1 yaml-documents"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: one\u2028two\n", "1:7"),
        ("a: 1\nb: 'one\u2029two'\n", "2:8"),
        ("# a note\u0085a: 1\n", "1:9"),
        ("a: 1\rb: 2\n", "1:5"),
        ("a: 1\r\nb: |\r\n  x\ry\r\n", "3:4"),
        ("a: 1\n\ufeffb: 2\n", "2:1"),
        ("a:\n\ufeffb: 2\n", "2:1"),
    ],
)
def test_an_unusual_line_separator_is_refused_even_in_quotes_and_comments(text: str, place: str) -> None:
    assert told(text) == [f"{place} yaml-separator"]
    assert reading(text).document is None


def test_a_separator_written_as_an_escape_is_fine() -> None:
    assert data('a: "one\\u2028two\\N\\r"\n') == {"a": "one\u2028two\u0085\r"}


@pytest.mark.parametrize(
    ("raw", "place", "words"),
    [
        (b"a: caf\xe9\n", "1:7", "byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("a: ü\nb: ".encode() + b"\xc3\n", "2:4", "byte 0xc3 is not UTF-8; save the file as UTF-8"),
        ("é: ".encode() + b"\xff\n", "1:4", "byte 0xff is not UTF-8; save the file as UTF-8"),
        ("a: 1\n".encode("utf-16"), "1:1", "byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"\xef\xbb\xbfa: \xff\n", "1:4", "byte 0xff is not UTF-8; save the file as UTF-8"),
    ],
)
def test_bytes_that_are_not_utf8_are_told_with_their_place(raw: bytes, place: str, words: str) -> None:
    (problem,) = reading(raw).problems
    assert (f"{problem.line}:{problem.column}", problem.message) == (place, words)


@pytest.mark.parametrize(
    ("text", "place"), [("a: 1\nb: x\x00\n", "2:5"), ("a: '\x1b[31m'\n", "1:5"), ("ü: \x08", "1:4")]
)
def test_a_control_character_is_told_with_its_place_on_one_line(text: str, place: str) -> None:
    (problem,) = reading(text).problems
    assert f"{problem.line}:{problem.column}" == place
    assert "is not allowed in YAML" in problem.message
    assert "\n" not in problem.message


@pytest.mark.parametrize("number", [".nan", ".NaN", ".inf", "-.inf", "+.INF", "1e999", "-1e999", "1" * 1001])
def test_a_number_that_json_does_not_have_is_refused(number: str) -> None:
    assert told(f"a:\n  b: {number}\n") == ["2:6 yaml-range"]
    assert data(f"a: '{number}'\n") == {"a": number}


CONFLICT = "<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> topic\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"a: 1\n{CONFLICT}", "2:1"),
        (f'a: 1\nb: "\n{CONFLICT}"\n', "3:1"),
        (f"a: 1\n{CONFLICT}".replace("\n", "\r\n"), "2:1"),
        (CONFLICT.replace("=======", "||||||| base\nb: 0\n======="), "1:1"),
        (f"a: 1\na: 2\n{CONFLICT}", "3:1"),
        (f'b: "\n{CONFLICT}"\n'.replace(" HEAD", "").replace(" topic", ""), "2:1"),
    ],
)
def test_conflict_markers_are_told_even_where_they_would_be_valid_yaml(text: str, place: str) -> None:
    assert told(text) == [f"{place} conflict-markers"]


def test_conflict_markers_can_be_meant() -> None:
    found = data(f'# agenteval: conflict-markers-intended\ninput: "\n{CONFLICT}"\n')
    assert "<<<<<<< HEAD" in found["input"]


@pytest.mark.parametrize("line", ["=======", "<<<<<<< HEAD", ">>>>>>> topic"])
def test_one_marker_alone_is_no_conflict(line: str) -> None:
    assert line in data(f"input: '\n\n{line}\n\n'\n")["input"]


def test_a_syntax_error_does_not_hide_what_was_found_before_it() -> None:
    found = reading("a: 1\na: 2\nb: .nan\nc: [1\nd: 2\n")
    assert {(problem.line, problem.rule) for problem in found.problems} == {
        (2, "yaml-duplicate-key"),
        (3, "yaml-range"),
        (5, "yaml-syntax"),
    }


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("a: b: c\n", "1:5", "quote a text that contains ': '"),
        ("a:\n\tb: 1\n", "2:1", "indent with spaces, not tabs, and quote a text that starts with @, ` or %"),
        ("a: @home\n", "1:4", "indent with spaces, not tabs, and quote a text that starts with @, ` or %"),
        ("a: [1, 2\nb: 3\n", "2:2", "close the bracket or brace, or quote the text"),
        ("a: 1\nb\nc: 3\n", "3:1", "is a colon or an indent missing on this line or the one above?"),
        ("a: 'x' y\n", "1:8", "check the indentation and the quotes of this line and the one above"),
        ('a: "x\n', "2:1", "is a closing quote missing?"),
    ],
)
def test_a_syntax_error_is_told_with_its_place_and_a_hint(text: str, place: str, hint: str) -> None:
    (problem,) = reading(text).problems
    assert (f"{problem.line}:{problem.column}", problem.rule) == (place, "yaml-syntax")
    assert problem.message.startswith("not valid YAML: ")
    assert problem.message.endswith(hint)


@pytest.mark.parametrize(("text", "place"), [("", "1:1"), ("# only a comment\n", "2:1"), ("\ufeff", "1:1")])
def test_an_empty_file_is_refused(text: str, place: str) -> None:
    assert told(text) == [f"{place} yaml-empty"]


@pytest.mark.parametrize("text", ["? [a, b]\n: 1\n", "? {a: b}\n: 1\n"])
def test_a_key_must_be_a_text(text: str) -> None:
    (problem,) = reading(text).problems
    assert problem.message == "not valid YAML: a mapping key must be a plain text"


def test_a_huge_file_is_refused_unread() -> None:
    assert told(b"a" * (MAX_BYTES + 1)) == ["1:1 yaml-size"]


@given(st.binary(max_size=60) | st.text("abn:- \n\t[]{}#&*!|>'\"%@`?,.<=~0123", max_size=40).map(str.encode))
@steady
def test_whatever_the_bytes_the_answer_is_a_document_or_an_error_with_a_place(raw: bytes) -> None:
    found = reading(raw)
    errors = [problem for problem in found.problems if problem.severity == "error"]
    assert (found.document is None) == bool(errors)
    assert all(problem.line >= 1 and problem.column >= 1 for problem in found.problems)


# ---- where things stand

PLACES = """\
# a case
id: greet
outcome:
  - contains: Hello
  - field: {path: $.a, equals: "ü", not: 1}
"ключ": &k [1, two]
again: *k
"""


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (2, 1), (2, 1)),
        (("id",), (2, 5), (2, 1)),
        (("outcome",), (4, 3), (3, 1)),
        (("outcome", 0), (4, 5), (4, 5)),
        (("outcome", 0, "contains"), (4, 15), (4, 5)),
        (("outcome", 1, "field", "not"), (5, 42), (5, 37)),
        (("ключ", 1), (6, 16), (6, 16)),
        (("again",), (7, 8), (7, 1)),
        (("again", 1), (7, 8), (7, 1)),
        (("outcome", 0, "nothing", "here"), (4, 5), (4, 5)),
        (("nowhere",), (2, 1), (2, 1)),
    ],
)
def test_every_value_and_key_has_its_place(path: Path, value: tuple[int, int], key: tuple[int, int]) -> None:
    read_one = document(PLACES)
    assert (position_of(read_one, path), position_of(read_one, path, at_key=True)) == (value, key)


def test_a_byte_order_mark_moves_no_place() -> None:
    read_one = document("\ufeffid: greet\n")
    assert position_of(read_one, ("id",)) == (1, 5)


# ---- against other readers and writers

plain_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"), max_size=12
)
telling_texts = st.sampled_from(
    ["no", "12:30", "2031-02-03", "007", "1.10", "true", "~", "<<", "a: b", "- x", "#", "'"]
)
texts = plain_texts | telling_texts
finite = st.floats(allow_nan=False, allow_infinity=False)
keys = texts | st.integers(-9, 9999)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)


def with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    return [with_text_keys(item) for item in value] if isinstance(value, list) else value


def keys_stay_apart(value: Any) -> bool:
    """Whether no mapping in the value has both 1 and "1"."""
    if isinstance(value, dict):
        return len({str(key) for key in value}) == len(value) and all(map(keys_stay_apart, value.values()))
    return all(map(keys_stay_apart, value)) if isinstance(value, list) else True


def typed(value: Any) -> str:
    """A form in which 1, 1.0 and True differ, and the order of keys does not matter."""
    return json.dumps(value, sort_keys=True)


@given(documents.filter(keys_stay_apart))
@settings(steady, max_examples=80)
def test_what_ruamel_writes_is_read_back_as_it_was(value: Any) -> None:
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    written = io.StringIO()
    writer.dump(value, written)
    assert typed(document(written.getvalue()).data) == typed(with_text_keys(value))


@given(documents.filter(keys_stay_apart))
@steady
def test_what_json_writes_is_read_back_as_it_was(value: Any) -> None:
    for text in (json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, indent=2)):
        assert typed(document(text).data) == typed(with_text_keys(value))


# ruamel reads YAML 1.2 with some habits of 1.1 kept: signs before 0x and 0o, and dates.
HABITS = re.compile(r"[-+]0[xo].*|[-+]?\.[0-9]+[eE][0-9]+")


def as_ruamel_reads(text: str) -> Any:
    value = YAML(typ="safe", pure=True).load(f"- {text}\n")[0]
    return text if isinstance(value, dt.date) else value


@given(st.text("0123456789+-.:eExofnatrul~NFT ", min_size=1, max_size=8).map(str.strip))
@settings(steady, max_examples=300)
def test_plain_scalars_mean_what_they_mean_to_ruamel(text: str) -> None:
    found = reading(f"- {text}\n")
    assume(found.document is not None and not found.problems and not HABITS.fullmatch(text))
    assert found.document is not None
    (value,) = found.document.data
    assume(not isinstance(value, dict | list))
    try:
        expected = as_ruamel_reads(text)
    except (ValueError, YAMLError):
        reject()  # 2031-99-99 is a text here and a fault to ruamel
    assert typed(value) == typed(expected)


@pytest.mark.parametrize("quick", [plain_document, light_document])
@given(raw=st.binary(max_size=60) | st.text("abn:- \n[]{}&*!|'\"~,.<=012tT+eExo", max_size=40).map(str.encode))
@steady
def test_the_quick_ways_read_what_the_careful_one_reads(quick: Callable[..., Any], raw: bytes) -> None:
    """What a quick way takes, the careful reader gives the same for; the rest it leaves to that one."""
    try:
        data = quick(CParser(raw).get_event, MAX_DEPTH)
    except (NotPlainError, yaml.YAMLError):
        return
    builder = _Builder(raw)
    assert json.dumps(builder.document()) == json.dumps(data)
    assert builder.found == []


@given(st.text("abn:- \n[]{}&*!|'\"~,.<=012", max_size=40).map(str.encode))
@steady
def test_both_quick_ways_take_the_same_texts(raw: bytes) -> None:
    def taken(quick: Callable[..., Any]) -> str:
        try:
            return json.dumps(quick(CParser(raw).get_event, MAX_DEPTH))
        except (NotPlainError, yaml.YAMLError) as error:
            return type(error).__name__

    assert taken(light_document) == taken(plain_document)


@pytest.mark.parametrize("text", ["a: 1\n", "a: [\n", "a: &b 1\n"])
def test_after_light_events_pyyaml_is_as_it_was(text: str) -> None:
    with contextlib.suppress(NotPlainError, yaml.YAMLError):
        light_document(CParser(text.encode()).get_event, MAX_DEPTH)
    assert [type(event) for event in yaml.parse("[{a: 1}]", Loader=yaml.CLoader)] == [
        type(event) for event in yaml.parse("[{a: 1}]", Loader=yaml.Loader)
    ]
