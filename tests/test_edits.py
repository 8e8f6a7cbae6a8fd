"""Edits of YAML files: the data is what was meant, and no byte outside the edited block is another."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from agenteval_cli import edits, yaml_reader, yaml_writer
from agenteval_cli.authoring import formatted, order_of_keys
from agenteval_cli.compare import same
from agenteval_cli.errors import UsageError

FILES = sorted([*(ROOT / "cases").rglob("*.yaml"), *(ROOT / "tests" / "examples" / "valid").glob("*.yaml")])
ORDER = order_of_keys()
BOM = b"\xef\xbb\xbf"

COMMENTED = """\
# yaml-language-server: $schema=x

# about the schema
schema: 1
id: commented   # the name
# why it is called so
title: 'Größe: "ok"'

# ---- what the agent gets

input: |
  two lines, with blanks at the end   \n  and an empty one below

# the checks
outcome:
- contains: "129.00"   # quoted
  # - contains: commented out
# last words
"""

steady = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
LOOK_ALIKES = (
    *(
        "no",
        "on",
        "12:30",
        "2031-02-03",
        "007",
        "1.0",
        "~",
        "",
        " a",
        "a ",
        "a: b",
        "a #b",
        "- a",
        "{a",
        "a, b",
        "'",
        '"',
    ),
    *(
        "line\nline",
        "line\n",
        "line\n\n",
        "\nline",
        "  line\nline",
        "a\n \nb",
        "a\r\nb",
        "a\tb\nc",
        "*a",
        "&a",
        "!a",
        "%a",
    ),
    *(
        "日本語　全角",
        "👩‍💻",
        "\u202eevil",
        "\ufeff",
        "\x85",
        "<<",
        "?",
        "|",
        ">",
        "@",
        "`",
        "a:",
        "null",
        "0x1F",
        ".inf",
    ),
    *("---", "...", "# a", "a\\b", "C:\\dir: x", "<<<<<<< a\n=======\n>>>>>>> b", "a\n  ", "\t", "a\n\tb"),
)
texts = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(LOOK_ALIKES)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A real case file as it is, or with Windows line ends, a byte order mark, or no line break at its end."""
    raw = draw(st.sampled_from([*(path.read_bytes() for path in FILES), COMMENTED.encode()]))
    if draw(st.booleans()):
        raw = raw.replace(b"\n", b"\r\n")
    if draw(st.booleans()):
        raw = BOM + raw
    return raw.rstrip(b"\r\n") if draw(st.booleans()) else raw


def data(raw: bytes) -> dict[str, Any]:
    reading = yaml_reader.read("case.yaml", raw)
    assert reading.document is not None, reading.problems
    read: dict[str, Any] = reading.document.data
    return read


def key_lines(raw: bytes) -> dict[str, int]:
    """Where each top-level key stands, as ruamel sees it."""
    loaded = YAML().load(io.StringIO(raw.removeprefix(BOM).decode(), newline=""))
    return {str(key): loaded.lc.key(key)[0] for key in loaded if key in loaded.lc.data}


def block(raw: bytes, key: str) -> tuple[int, int]:
    """The lines from a key to the next."""
    places = key_lines(raw)
    below = [line for line in places.values() if line > places[key]]
    return places[key], min(below, default=raw.count(b"\n") + 1)


def with_break(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + (b"\r\n" if b"\r\n" in raw else b"\n")


def untouched(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same in both."""
    old, new = (with_break(raw).removeprefix(BOM).splitlines(keepends=True) for raw in (before, after))
    head = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    room = min(len(old), len(new)) - head
    tail = next((at for at in range(room) if old[-1 - at] != new[-1 - at]), room)
    return head, tail


# ---- for all files


@pytest.mark.slow
@steady
@given(files(), st.sampled_from(ORDER), values)
def test_setting_a_key_changes_its_block_and_nothing_else(raw: bytes, key: str, value: Any) -> None:
    before = data(raw)
    assume(not (key == "state" and b"&before" in raw))
    after = edits.with_key(raw, key, value, ORDER)
    assert same({**before, key: value}, data(after))
    head, tail = untouched(raw, after)
    lines = len(with_break(raw).splitlines())
    if key in before:
        start, end = block(raw, key)
        assert head >= start
        assert lines - tail <= end
    else:
        assert head + tail == lines, "what was there is there, in one piece before and one after the new block"
        assert edits.without_key(after, key) in (raw, with_break(raw))
    assert after.startswith(BOM) == raw.startswith(BOM)
    assert (b"\r\n" in after) == (b"\r\n" in raw)


@steady
@given(files(), st.data())
def test_removing_a_key_removes_its_block_and_nothing_else(raw: bytes, draw: st.DataObject) -> None:
    before = data(raw)
    key = draw.draw(st.sampled_from(sorted(before)))
    assume(not (key == "state" and b"&before" in raw))
    after = edits.without_key(raw, key)
    assert same({name: value for name, value in before.items() if name != key}, data(after))
    lines = with_break(raw).removeprefix(BOM).splitlines()
    head, tail = untouched(raw, after)
    start, end = block(raw, key)
    while start > 0 and (not lines[start - 1].strip() or lines[start - 1].lstrip().startswith(b"#")):
        start -= 1
    assert head >= start
    assert len(lines) - tail <= end


@pytest.mark.slow
@steady
@given(files(), st.permutations(ORDER))
def test_reordering_keeps_every_line_and_every_comment_with_its_key(raw: bytes, order: list[str]) -> None:
    if b"&before" in raw and order.index("state") > order.index("outcome"):
        with pytest.raises(UsageError, match="the anchor &before of 'state' would come after its use in 'outcome'"):
            edits.in_order(raw, order)
        return
    after = edits.in_order(raw, order)
    assert same(data(raw), data(after))
    assert list(key_lines(after)) == sorted(data(raw), key=order.index)
    assert sorted(with_break(raw).removeprefix(BOM).splitlines()) == sorted(
        with_break(after).removeprefix(BOM).splitlines()
    )
    assert comments_above(raw) == comments_above(after)
    assert edits.in_order(after, order) == after


def comments_above(raw: bytes) -> dict[str, bytes]:
    """The comment that touches each key."""
    lines = raw.removeprefix(BOM).splitlines()
    above = {key: lines[line - 1] for key, line in key_lines(raw).items() if line}
    return {key: line for key, line in above.items() if line.startswith(b"#") and b"language-server" not in line}


@steady
@given(files(), values)
def test_a_list_grows_at_its_end(raw: bytes, value: Any) -> None:
    for key in ("outcome", "tags"):
        before = data(raw)
        after = edits.with_item(raw, key, value, ORDER)
        assert same({**before, key: [*before.get(key, []), value]}, data(after))
        head, tail = untouched(raw, after)
        flow = any(line.startswith(f"{key}: [".encode()) for line in raw.splitlines())
        assert head + tail >= len(with_break(raw).splitlines()) - flow


@pytest.mark.slow
@steady
@given(files())
def test_formatting_changes_no_data_and_is_done_at_once(raw: bytes) -> None:
    after = formatted(raw)
    assert same(data(raw), data(after))
    assert formatted(after) == after
    assert after.endswith(b"\n")
    assert not after.endswith((b"\n\n", b"\n\r\n"))
    assert (b"\r\n" in after) == (b"\r\n" in with_break(raw))
    assert list(key_lines(after)) == sorted(key_lines(raw), key=ORDER.index)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.dictionaries(texts, values, min_size=1, max_size=5))
def test_what_is_written_is_read_back_as_it_was(written: dict[str, Any]) -> None:
    text = yaml_writer.document(written)
    assert same(written, data(text.encode())), text
    flow = yaml_writer.flow(written)
    assert "\n" not in flow
    assert same({"a": written}, data(f"a: {flow}\n".encode())), flow


@steady
@given(st.dictionaries(texts, texts, min_size=1, max_size=5))
def test_ruamel_reads_the_same_texts(written: dict[str, str]) -> None:
    assume("<<" not in written)
    assert dict(YAML(typ="safe", pure=True).load(yaml_writer.document(written))) == written


@pytest.mark.parametrize(
    "path", [path for path in FILES if b"\nquarantine:" not in path.read_bytes()], ids=lambda path: path.stem
)
def test_a_quarantine_comes_and_goes_without_a_trace(path: Path) -> None:
    raw = path.read_bytes()
    after = edits.with_key(raw, "quarantine", {"reason": "flaky: yes", "since": "2026-11-02"}, ORDER)
    line = b'quarantine: {reason: "flaky: yes", since: "2026-11-02"}'
    assert [new for new in after.splitlines() if new not in raw.splitlines()] == [line]
    assert edits.without_key(after, "quarantine") == raw


# ---- examples


def edited(text: str, *, key: str = "", value: Any = None, without: str = "", order: list[str] | None = None) -> str:
    raw = text.encode()
    if key:
        return edits.with_key(raw, key, value, ORDER).decode()
    return (edits.without_key(raw, without) if without else edits.in_order(raw, order or ORDER)).decode()


def test_a_new_key_comes_to_its_place_and_a_known_one_keeps_its_own() -> None:
    text = "# top\nschema: 1\nid: ab # name\n\n# gets\ninput: hi\n# end\n"
    assert (
        edited(text, key="title", value="T")
        == "# top\nschema: 1\nid: ab # name\ntitle: T\n\n# gets\ninput: hi\n# end\n"
    )
    assert edited(text, key="outcome", value=[{"contains": "x"}]).endswith(
        "input: hi\noutcome:\n  - contains: x\n# end\n"
    )
    assert edited(text, key="input", value="a: b") == text.replace("hi", '"a: b"')
    assert edited("input: hi", key="schema", value=1) == "schema: 1\ninput: hi"
    assert edited("id: ab\nodd: 1\n", key="other", value=1) == "id: ab\nodd: 1\nother: 1\n"


def test_a_key_goes_with_the_comment_that_touches_it() -> None:
    text = "id: ab\n\n# ---- set apart\n\n# of the title\ntitle: T\n  # deeper\n# of the input\ninput: hi\n"
    assert edited(text, without="title") == "id: ab\n\n# ---- set apart\n\n# of the input\ninput: hi\n"
    assert edited("id: ab\n\ntitle: T\n\ninput: hi\n", without="title") == "id: ab\n\ninput: hi\n"
    assert edited("id: ab\ntitle: T\n\ninput: hi\n", without="title") == "id: ab\n\ninput: hi\n"
    assert edited("id: ab\n\ntitle: T\n", without="title") == "id: ab\n"
    assert edited("id: ab\n\n# apart\n\ntitle: T\n# end\n", without="title") == "id: ab\n\n# apart\n\n# end\n"
    assert edited("# head\n\nid: ab\ntitle: T\n", without="id") == "# head\n\ntitle: T\n"


def test_comments_and_blank_lines_travel_with_the_key_below_them() -> None:
    text = (
        "# yaml-language-server: x\n# the checks\noutcome: [a]\n  # deeper\n\n# ---- gets\n\n"
        "input: |+\n  hi\n\n\n# number\nschema: 1\nid: ab\n# end\n"
    )
    assert edited(text) == (
        "# yaml-language-server: x\n# number\nschema: 1\nid: ab\n\n# ---- gets\n\n"
        "input: |+\n  hi\n\n\n# the checks\noutcome: [a]\n  # deeper\n# end\n"
    )


def test_the_blank_line_above_a_key_that_becomes_the_first_stays_between_the_two() -> None:
    assert edited("input: hi\n\nid: ab\n") == "id: ab\n\ninput: hi\n"


def test_an_unknown_key_stays_behind_the_key_that_it_follows() -> None:
    assert edited("input: hi\ninptu: 1\nid: ab\n") == "id: ab\ninput: hi\ninptu: 1\n"
    assert edited("odd: 1\ninput: hi\nid: ab\n") == "odd: 1\nid: ab\ninput: hi\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("input: hi\nid: ab", "id: ab\ninput: hi\n"),
        ("input: hi\r\nid: ab", "id: ab\r\ninput: hi\r\n"),
        ("\ufeffinput: hi\nid: ab\n", "\ufeffid: ab\ninput: hi\n"),
        ("id: ab  \ninput: a  \n  b\t\n\n\n", "id: ab\ninput: a\n  b\n"),
        ("id: ab\ninput: |  \n  hi  \n   \n# c  \ntags: []\n", "id: ab\n# c\ntags: []\ninput: |\n  hi  \n   \n"),
        ("input: |\n  hi\n\nid: ab\n", "id: ab\n\ninput: |\n  hi\n"),
        ("id: ab\ninput: |\n  hi\n\n\n", "id: ab\ninput: |\n  hi\n"),
        ("id: ab\ninput: |+\n  hi\n\n\n", "id: ab\ninput: |+\n  hi\n\n\n"),
        ("id: ab\ninput: |\n  hi", "id: ab\ninput: |\n  hi"),
        ('id: ab\ninput: "a \\ \n  b  \n  c"\n', 'id: ab\ninput: "a \\ \n  b\n  c"\n'),
        ("---\ninput: hi\nid: ab\n...\n", "---\nid: ab\ninput: hi\n...\n"),
        ("  input: hi\n  id: ab\n", "  id: ab\n  input: hi\n"),
        ("\"input\": hi\n'id': ab\n", "'id': ab\n\"input\": hi\n"),
        ("tags:\n- a\n-\nid: ab\n", "id: ab\ntags:\n- a\n-\n"),
        ("input:\n  größe: &g 1\nid: ab\nstate: {a: *g}\n", "id: ab\ninput:\n  größe: &g 1\nstate: {a: *g}\n"),
        ("{input: hi, id: ab}\n", None),
        ("{id: ab, input: hi}  \n\n", "{id: ab, input: hi}\n"),
        ("[a,  \n b]\n", "[a,\n b]\n"),
    ],
)
def test_a_formatted_file(text: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(UsageError, match="one mapping in braces"):
            formatted(text.encode())
    else:
        assert formatted(text.encode()).decode() == after


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {b: &x 1}\nc: *x\n", "'a' holds the anchor &x, which 'c' uses"),
        ("- a\n", "the file is not a mapping of keys"),
        ("text\n", "the file is not a mapping of keys"),
        ("{}\n", "braces"),
        ("? a\n: 1\nc: 2\n", "the key 'a' does not begin its line"),
        ("a: 1\na: 2\n", "line 2: the key 'a' is already on line 1"),
        ("a: 1\n", "'a' is the only key"),
        ("b: 1\nc: 2\n", "there is no 'a'"),
    ],
)
def test_an_edit_that_the_file_does_not_allow_is_refused_with_a_sentence(text: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        edits.without_key(text.encode(), "a")
    assert words in str(told.value)


def test_an_anchor_is_known_by_the_key_that_holds_it_when_the_alias_is_read() -> None:
    text = "c: &x 1\na: &x 2\nb: *x\n"
    assert edited(text, order=["c", "a", "b"]) == text
    assert edited(text, without="c") == "a: &x 2\nb: *x\n"
    with pytest.raises(UsageError, match="&x of 'a' would come after its use in 'b'"):
        edited(text, order=["b", "a", "c"])
    with pytest.raises(UsageError, match="'a' holds the anchor &x"):
        edited(text, key="a", value=3)
    assert edited("a: [&x 1, *x]\nb: 2\n", key="a", value=3) == "a: 3\nb: 2\n"


def test_what_a_merge_key_brings_is_not_taken_for_a_line() -> None:
    text = "state: &s {title: T}\n<<: *s\nid: ab\n"
    assert edited(text, key="title", value="U") == "state: &s {title: T}\n<<: *s\nid: ab\ntitle: U\n"
    with pytest.raises(UsageError, match="there is no 'title'"):
        edited(text, without="title")
    with pytest.raises(UsageError, match="does not allow the edit"):
        edited("state: &s {title: T}\n<<: *s\ntitle: U\n", without="title")


def test_a_text_that_ends_the_file_without_a_line_break_gets_none() -> None:
    text = "id: ab\nnotes: |\n  hi"
    assert edited(text, key="input", value="x") == "id: ab\ninput: x\nnotes: |\n  hi"
    with pytest.raises(UsageError, match="'notes' ends the file without a line break; add one"):
        edited(text, order=["notes", "id"])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a: [1, 2] # c\n", "a: [1, 2, {x: z}] # c\n"),
        ("a: [\n  1, # one\n  2, # two\n]\n", "a: [\n  1, # one\n  2, {x: z}, # two\n]\n"),
        ("a: [[1], {b: c}]\n", "a: [[1], {b: c}, {x: z}]\n"),
        ("a: []\n", "a:\n  - x: z\n"),
        ("b: 1\n", "b: 1\na:\n  - x: z\n"),
        ("a:\n- 1 # one\n\n# b\nb: 2\n", "a:\n- 1 # one\n- x: z\n\n# b\nb: 2\n"),
        (
            "a:\n    - x: 1\n      y: |\n        t\n    # later\n",
            "a:\n    - x: 1\n      y: |\n        t\n    # later\n    - x: z\n",
        ),
        ("a:\r\n  - 1", "a:\r\n  - 1\r\n  - x: z\r\n"),
    ],
)
def test_an_item_is_added_in_the_style_of_its_list(text: str, after: str) -> None:
    assert edits.with_item(text.encode(), "a", {"x": "z"}).decode() == after


def test_an_item_cannot_be_added_to_an_alias() -> None:
    with pytest.raises(UsageError, match="'a' is not written as a list here"):
        edits.with_item(b"b: &l [1]\na: *l\n", "a", 2)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain words", "plain words"),
        ("12 days, [sic]", "12 days, [sic]"),
        ("129.00", '"129.00"'),
        ('say "hi"', 'say "hi"'),
        ('"hi" is said', "'\"hi\" is said'"),
        ("it's", "it's"),
        ("a\tb", '"a\\tb"'),
        (2.0, "2"),
        (12.5, "12.5"),
        ({}, "{}"),
        ({"a": "b, c", "d": None}, '{a: "b, c", d: null}'),
        (["a", 1], "[a, 1]"),
        ("two\nlines\n", "|\n  two\n  lines"),
        ("two\n\nlines", "|-\n  two\n\n  lines"),
        ([{"contains": "a"}, {"regex": "b", "note": "c"}], "\n  - contains: a\n  - {regex: b, note: c}"),
        ({"required": ["a"]}, "\n  required: [a]"),
        ([[{"a": "x\ny"}]], "\n  -\n    - a: |-\n        x\n        y"),
    ],
)
def test_values_are_written_as_people_write_them(value: Any, written: str) -> None:
    text = yaml_writer.document({"k": value})
    assert text == f"k:{written if written.startswith(chr(10)) else ' ' + written}\n"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\udcff", {"x" * 1001: 1}])
def test_what_no_file_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        yaml_writer.document({"k": value})
