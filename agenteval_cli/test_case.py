"""A case as a value in Python, for those who write cases with a program: made, changed, read and written.

`TestCase` names what a case file holds by the names that Python users know: `name` is the file's `title`, `timeout` its
`limits.timeout`, `actual_output` and what else was observed its `recording`. Every other key of a case file stands in
`more` by its own name, so that no case loses anything on its way through.
"""

from __future__ import annotations

import os
import re
import secrets
import string
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from msgspec import UNSET

from agenteval_cli import schemas, yaml_reader, yaml_writer
from agenteval_cli.case_fields import RECORDED, by_field, fault_of, is_recorded, settled, timeout_text
from agenteval_cli.compare import same
from agenteval_cli.digests import canonical
from agenteval_cli.errors import UsageError
from agenteval_cli.json_values import decimal_text, json_value, kind_of
from agenteval_cli.problems import did_you_mean
from agenteval_cli.rules import number_is_meant

__all__ = ["CASE_FORMAT", "DEFAULT_TIMEOUT", "TestCase", "decimal_text", "json_value"]

DEFAULT_TIMEOUT = 30.0
CASE_FORMAT = 1
_ID_LETTERS = string.ascii_lowercase + string.digits


def _made_id() -> str:
    """`tc-` and 12 random characters; lower case, since IDs are unique ignoring case."""
    return "tc-" + "".join(secrets.choice(_ID_LETTERS) for _ in range(12))


def _is_made(case_id: str | None) -> bool:
    return case_id is None or re.fullmatch(r"tc-[a-z0-9]{12}", case_id) is not None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestCase:
    """One test case: immutable, equal by content, and always one that a case file can hold.

    `input` is text or any JSON value. `expected_output` compares nothing unless `match` (exact, contains, similar,
    judged) says how, or a criterion uses it. `criteria` are texts or `{text, gate, votes, …}` mappings; a single text
    is a list of one. `timeout` is in seconds, None for no limit of the case's own. `more` has what else a case file
    holds, by its names there: tier, outcome, trajectory, tools, …; an `expected_output` there is null, not absent.

    What was observed, all of it optional: `actual_output`, `messages`, `tool_calls` (`{name, arguments, result, error,
    duration_ms, id}`), `reasoning` (`{type, content, tool_call}`), `retrieval_context`, `usage` (`{input_tokens,
    output_tokens, total_tokens}`), `cost` (decimal text or a Decimal), `latency_ms`, `end_state`, `model`, `trace_id`.
    For `actual_output` and `end_state` None is a value (null); UNSET is not recorded. Where anything else is recorded,
    an `actual_output` that was not is null.

    All that is given is copied; lists and mappings inside refuse to be changed. Two cases are equal where the data of
    their files is (`True` is not `1`, `1` equals `1.0`); an `id` that was made has no part in it, so that a case is
    equal to what is read of it: none, or `tc-` and 12 lower-case letters and digits. Every case can be hashed.

    Raises TypeError for what is no JSON value, or of another kind than a field holds; ValueError for what a case file
    cannot hold.
    """

    __test__: ClassVar[bool] = False  # the name begins with Test: pytest is told that this is none of its

    input: Any
    expected_output: Any = None
    criteria: str | Sequence[str | Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    tags: Sequence[str] = ()
    timeout: float | None = DEFAULT_TIMEOUT
    _: KW_ONLY
    id: str | None = None
    match: str | None = None
    actual_output: Any = UNSET
    messages: Sequence[Mapping[str, Any]] | None = None
    tool_calls: Sequence[Mapping[str, Any]] | None = None
    reasoning: Sequence[Mapping[str, Any]] | None = None
    retrieval_context: Sequence[str] | None = None
    usage: Mapping[str, Any] | None = None
    cost: str | Decimal | None = None
    latency_ms: float | None = None
    end_state: Any = UNSET
    model: str | None = None
    trace_id: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    _id_made: str = field(init=False, default_factory=_made_id)

    def __post_init__(self) -> None:
        for name, value in settled({name: getattr(self, name) for name in _FIELDS}).items():
            object.__setattr__(self, name, value)
        if words := fault_of(self.to_case()):
            raise ValueError(words)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> TestCase:
        """The case of a mapping: the short form (the fields by name) or the data of a case file, or both mixed.

        Other names that are understood: title, expected, expectedOutput, actual, actualOutput, match_type. `timeout`
        may be a text such as "2m". The data of a whole case file (it says `schema`) has no timeout where it says none;
        the short form has the default. Raises TypeError for what is no mapping; ValueError for a key that is unknown
        or there twice.
        """
        if not isinstance(mapping, Mapping):
            raise TypeError(f"a case is a mapping, not {kind_of(mapping)}")
        given = by_field(mapping, _FIELDS)
        if "schema" in given and not same(CASE_FORMAT, given.pop("schema")):
            raise ValueError(f"schema: this version reads format {CASE_FORMAT}, not {mapping['schema']!r}")
        own = {name: given.pop(name) for name in _FIELDS if name in given}
        if "schema" in mapping:
            own.setdefault("timeout", None)
            given |= {key: None for key in ("expected_output",) if own.get(key, UNSET) is None}
        return cls(**{"input": None, **own, "more": given})

    @classmethod
    def from_yaml(cls, text_or_path: str | os.PathLike[str]) -> TestCase:
        """The case of a YAML text or file, read as strictly as every case file; see from_dict for what it may say.

        A `str` that has a line break or a ": ", or begins with "{", is YAML; any other, and every Path, names a file.
        Raises ValueError with the place of the first fault, TypeError for what is neither text nor path, and OSError
        for a file that cannot be read. Numbers that were probably meant as text are told by a UserWarning.
        """
        if not isinstance(text_or_path, str | os.PathLike):
            raise TypeError(f"give a YAML text or a path, not {kind_of(text_or_path)}")
        text = os.fspath(text_or_path)
        is_yaml = isinstance(text_or_path, str) and ("\n" in text or ": " in text or text[:1] in ("{", ""))
        file, raw = ("text", text.encode("utf-8", "surrogatepass")) if is_yaml else (text, Path(text).read_bytes())
        data = _read(file, raw)
        try:
            return cls.from_dict(data)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file}: {error}") from error

    @classmethod
    def batch_create(cls, items: Iterable[Mapping[str, Any] | Sequence[Any]]) -> list[TestCase]:
        """A case of each item: a mapping as from_dict takes it, or a pair (input, expected output).

        Raises what from_dict raises, with the item's number (from 0); TypeError for an item that is neither.
        """
        return [cls._of_item(index, item) for index, item in enumerate(items)]

    @classmethod
    def _of_item(cls, index: int, item: Any) -> TestCase:
        pair = isinstance(item, tuple | list) and len(item) == 2
        if not pair and not isinstance(item, Mapping):
            raise TypeError(f"item {index}: give a mapping or a pair (input, expected output), not {kind_of(item)}")
        try:
            return cls(*item) if pair else cls.from_dict(item)
        except TypeError as error:
            raise TypeError(f"item {index}: {error}") from error
        except ValueError as error:
            raise ValueError(f"item {index}: {error}") from error

    def replace(self, **changes: Any) -> TestCase:
        """Another case, with these fields instead. An ID that was given is kept, a made one is made anew.

        Raises TypeError for a name that is no field, and what TestCase raises.
        """
        for name in changes:
            if name not in _FIELDS:
                raise TypeError(f"a TestCase has no field '{name}'{did_you_mean(name, _FIELDS)}")
        return replace(self, **changes)

    def to_case(self) -> dict[str, Any]:
        """The data of a case file: plain dicts and lists, in the order of the documentation, the caller's to change.

        Where no ID was given it has a made one, `tc-` and 12 random characters: the same each time for this object,
        another for each object.
        """
        limits = {
            **self.more.get("limits", {}),
            **({} if self.timeout is None else {"timeout": timeout_text(self.timeout)}),
        }
        recording = {key: getattr(self, name) for key, name in RECORDED.items()}
        said = {
            "title": self.name,
            "tags": self.tags or None,
            "metadata": self.metadata or None,
            "input": self.input,
            "limits": limits or None,
            "expected_output": self.expected_output,
            "match": self.match,
            "criteria": self.criteria or None,
            "recording": {key: value for key, value in recording.items() if is_recorded(key, value)} or None,
        }
        data = {**self.more, **{key: value for key, value in said.items() if value is not None}}
        data.update(schema=CASE_FORMAT, id=self.id or self._id_made)
        return {key: json_value(data[key], key) for key in schemas.load("case")["properties"] if key in data}

    def to_dict(self) -> dict[str, Any]:
        """The counterpart of from_dict: the same as to_case."""
        return self.to_case()

    def to_yaml(self) -> str:
        """A case file that reads back as the same data, whoever reads it: what looks like another type is quoted.

        Raises ValueError for what no YAML file can carry: half of a surrogate pair, deeper nesting than is read.
        """
        data = self.to_case()
        try:
            text = yaml_writer.document(data)
        except UsageError as error:
            raise ValueError(str(error)) from error
        reading = yaml_reader.read("text", text.encode())
        if reading.document is None:
            raise ValueError(f"this cannot be written as a case file: {reading.problems[0].message}")
        if not same(data, reading.document.data):
            raise ValueError("this cannot be written as a case file without being changed")
        return text

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write `<id>.yaml` into the folder, which is made where it is missing, and give its path.

        Raises FileExistsError where the file is there already, OSError where it cannot be written, and what to_yaml
        raises. Nothing is ever overwritten.
        """
        path = Path(folder) / f"{self.id or self._id_made}.yaml"
        text = self.to_yaml()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return path

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, TestCase) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        asked = repr(self.input)
        words = {"id": self.id, "name": self.name}
        more = "".join(f", {key}={value!r}" for key, value in words.items() if value is not None)
        return f"TestCase({asked if len(asked) <= 40 else asked[:39] + '…'}{more})"

    def _content(self) -> bytes:
        return canonical({**self.to_case(), "id": None if _is_made(self.id) else self.id})


_FIELDS = tuple(spec.name for spec in fields(TestCase) if spec.init)


def _read(file: str, raw: bytes) -> Any:
    """The data of a text. Raises ValueError with the first fault and its place; warns of numbers meant as text."""
    reading = yaml_reader.read(file, raw)
    if reading.document is None:
        first, *others = [problem for problem in reading.problems if problem.severity == "error"]
        raise ValueError(f"{first}{f' (and {len(others)} more)' if others else ''}")
    for problem in reading.problems:
        if problem.path != "timeout" and not number_is_meant(problem):
            warnings.warn(str(problem), UserWarning, stacklevel=3)
    return reading.document.data
