"""A case as a value in Python, for those who write cases with a program: made, changed, read and written.

`TestCase` names what a case file holds by the names that Python users know: `name` is the file's `title`, `timeout` its
`limits.timeout`, `actual_output` and what else was observed its `recording`. Every other key of a case file stands in
`more` by its own name, so that no case loses anything on its way through.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import string
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

from msgspec import UNSET

from agenteval_cli import schemas, yaml_reader, yaml_writer
from agenteval_cli.compare import same
from agenteval_cli.digests import canonical
from agenteval_cli.errors import UsageError
from agenteval_cli.problems import did_you_mean, shown_path
from agenteval_cli.rules import number_is_meant
from agenteval_cli.units import seconds

DEFAULT_TIMEOUT = 30.0
CASE_FORMAT = 1

# What a recording holds, and the field that holds it here.
_RECORDED: Mapping[str, str] = MappingProxyType(
    {
        "output": "actual_output",
        "messages": "messages",
        "tool_calls": "tool_calls",
        "reasoning": "reasoning",
        "retrieval_context": "retrieval_context",
        "usage": "usage",
        "cost": "cost",
        "latency_ms": "latency_ms",
        "state": "end_state",
        "model": "model",
        "trace_id": "trace_id",
    }
)
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "title": "name",
        "expected": "expected_output",
        "expectedOutput": "expected_output",
        "actual": "actual_output",
        "actualOutput": "actual_output",
        "match_type": "match",
    }
)
_OWN_KEYS = frozenset(
    ["schema", "id", "title", "tags", "metadata", "input", "expected_output", "match", "criteria", "recording"]
)
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "expected_contains": "outcome: [{contains: [...]}]",
        "expected_not_contains": "outcome: [{not_contains: [...]}]",
        "expected_schema": "outcome: [{json_schema: {...}}]",
    }
)
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?(ms|s|m|h)")
_ID_LETTERS = string.ascii_lowercase + string.digits


def _made_id() -> str:
    """`tc-` and 12 random characters; lower case, since IDs are unique ignoring case."""
    return "tc-" + "".join(secrets.choice(_ID_LETTERS) for _ in range(12))


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
    their files is (`True` is not `1`, `1` equals `1.0`); an `id` that was not given has no part in it. Every case can
    be hashed.

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
        for name, value in _settled({name: getattr(self, name) for name in _FIELDS}).items():
            object.__setattr__(self, name, value)
        if words := _fault_of(self.to_case()):
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
            raise TypeError(f"a case is a mapping, not {_a(mapping)}")
        given = _by_field(mapping)
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
            raise TypeError(f"give a YAML text or a path, not {_a(text_or_path)}")
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
            raise TypeError(f"item {index}: give a mapping or a pair (input, expected output), not {_a(item)}")
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
            **({} if self.timeout is None else {"timeout": _text_of(self.timeout)}),
        }
        recording = {key: getattr(self, name) for key, name in _RECORDED.items()}
        said = {
            "title": self.name,
            "tags": self.tags or None,
            "metadata": self.metadata or None,
            "input": self.input,
            "limits": limits or None,
            "expected_output": self.expected_output,
            "match": self.match,
            "criteria": self.criteria or None,
            "recording": {key: value for key, value in recording.items() if _is_recorded(key, value)} or None,
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
        return canonical({**self.to_case(), "id": self.id})


_FIELDS = tuple(spec.name for spec in fields(TestCase) if spec.init)


# ---- values that do not change


def json_value(
    value: Any,
    place: str,
    of_mapping: Callable[[dict[str, Any]], Any] = dict,
    of_list: Callable[[list[Any]], Any] = list,
    depth: int = 0,
) -> Any:
    """A deep copy of a JSON value, its mappings and lists (tuples are lists) made by the two functions.

    Raises TypeError for what JSON does not have; ValueError for numbers that it does not, and for endless nesting.
    """
    if depth > yaml_reader.MAX_DEPTH:
        raise ValueError(f"{place} is nested deeper than {yaml_reader.MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        keys = [_key(key, place) for key in value]
        items = zip(keys, value.values(), strict=True)
        return of_mapping({k: json_value(v, f"{place}.{k}", of_mapping, of_list, depth + 1) for k, v in items})
    if isinstance(value, list | tuple):
        found = enumerate(value)
        return of_list([json_value(v, f"{place}[{i}]", of_mapping, of_list, depth + 1) for i, v in found])
    return _scalar(value, place)


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{place}: the key {key!r} is {_a(key)}; keys are texts")
    return str.__str__(key)


def _scalar(value: Any, place: str) -> Any:
    """A text, a number, a boolean or None; of a subclass (an enum, say) what it is underneath."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise ValueError(f"{place}: {value} is not a number that JSON has")
    raise TypeError(f"{place} is {_a(value)}; give a JSON value: text, number, boolean, None, list or mapping")


def decimal_text(value: Any, place: str) -> str:
    """An amount as plain decimal text, every digit kept: a text, a Decimal, a whole number, or a float as it prints.

    Raises TypeError for what is no amount; ValueError for one that is none, below 0 or endless.
    """
    if isinstance(value, bool) or not isinstance(value, str | Decimal | int | float):
        raise TypeError(f"{place} is {_a(value)}; give a decimal text such as '0.05', or a Decimal")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{place}: {value!r} is not an amount; give a decimal text such as '0.05'") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{place}: {value!r} is not an amount of 0 or more")
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else f"{abs(amount):f}"


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("what a TestCase holds does not change; make another with replace()")


class _FrozenDict(dict[str, Any]):
    """A dict that refuses to be changed."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


class _FrozenList(list[Any]):
    """A list that refuses to be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self),)


def _frozen(value: Any, place: str) -> Any:
    return json_value(value, place, _FrozenDict, _FrozenList)


# ---- from what was given to fields


def _settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a case as they are kept: copied, frozen, each of its kind."""
    kept = {name: value if value is UNSET else _frozen(value, name) for name, value in given.items() if name != "cost"}
    kept["cost"] = None if given["cost"] is None else decimal_text(given["cost"], "cost")
    kept["criteria"] = (kept["criteria"],) if isinstance(kept["criteria"], str) else kept["criteria"]
    for name in ("criteria", "tags", "messages", "tool_calls", "reasoning", "retrieval_context"):
        kept[name] = _as_tuple(kept[name], name)
    for name in ("metadata", "more"):
        if not isinstance(kept[name], dict):
            raise TypeError(f"{name} is a mapping, not {_a(given[name])}")
    for name in ("name", "id", "match"):
        if not isinstance(kept[name], str | None):
            raise TypeError(f"{name} is a text, not {_a(given[name])}")
    kept["timeout"] = _timeout(kept["timeout"])
    _check_more(kept["more"])
    if kept["actual_output"] is UNSET and any(_is_recorded(key, kept[name]) for key, name in _RECORDED.items()):
        kept["actual_output"] = None
    return kept


def _is_recorded(key: str, value: Any) -> bool:
    return value is not UNSET and (value is not None or key in ("output", "state"))


def _as_tuple(value: Any, name: str) -> tuple[Any, ...] | None:
    if not isinstance(value, list | tuple | None):
        raise TypeError(f"{name} is a list, not {_a(value)}")
    return None if value is None and name not in ("criteria", "tags") else tuple(value or ())


def _timeout(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return seconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"timeout is a number of seconds, or a text such as '2m', not {value!r}")
    if value < 0:
        raise ValueError(f"timeout: {value!r} is less than 0 seconds")
    return float(value)


def _text_of(timeout: float) -> str:
    """Seconds as a case file has them, every digit kept."""
    return f"{Decimal(int(timeout)) if timeout.is_integer() else Decimal(repr(timeout)):f}s"


def _check_more(more: Any) -> None:
    for key, value in more.items():
        if key in _OWN_KEYS and (key, value) != ("expected_output", None):
            raise ValueError(f"more: '{key}' has a field of its own")
        if key not in schemas.load("case")["properties"]:
            raise ValueError(f"more: {_unknown(key)}")
    limits = more.get("limits", {})
    if not isinstance(limits, dict):
        raise TypeError(f"more.limits is a mapping, not {_a(limits)}")
    if "timeout" in limits:
        raise ValueError("more.limits: give timeout as the field of that name")


def _unknown(key: str) -> str:
    known = ({*_FIELDS} - {"more"}) | schemas.load("case")["properties"].keys()
    if key in _INSTEAD:
        return f"unknown key '{key}'; write {_INSTEAD[key]}"
    return f"unknown key '{key}'{did_you_mean(key, known) or '; docs/cases.md has the keys of a case'}"


def _by_field(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """What a mapping says, by field; `schema`, and what else only case files say, by its own name."""
    given: dict[str, Any] = {}
    for key, value in _flat(mapping):
        name = _OTHER_NAMES.get(key, key)
        if name == "more" or (name not in _FIELDS and name not in schemas.load("case")["properties"]):
            raise ValueError(_unknown(key))
        if name in given:
            raise ValueError(f"{name} is given twice, once as '{key}'")
        given[name] = value
    return given


def _flat(mapping: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The items of a mapping, those of its recording and the timeout of its limits among them."""
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} is {_a(key)}; keys are texts")
        if key == "recording" and isinstance(value, Mapping):
            yield from ((_recorded_field(inner), item) for inner, item in value.items())
            if "output" not in value:
                raise ValueError("recording: the output is missing; null where there was no answer")
        elif key == "limits" and isinstance(value, Mapping) and "timeout" in value:
            yield "timeout", value["timeout"]
            yield from [(key, rest)] if (rest := {k: v for k, v in value.items() if k != "timeout"}) else []
        else:
            yield key, value


def _recorded_field(key: str) -> str:
    if key not in _RECORDED:
        raise ValueError(f"recording: unknown key '{key}'{did_you_mean(str(key), _RECORDED)}")
    return _RECORDED[key]


def _fault_of(data: Mapping[str, Any]) -> str | None:
    """The first reason why this is not the data of a case file, in the words of the fields; None where it is."""
    if schemas.is_valid("case", data):
        return None
    path, words, _ = next(iter(schemas.explanations("case", data)))
    match path:
        case ["title", *inner]:
            path = ["name", *inner]
        case ["recording", str(key), *inner]:
            path = [_RECORDED.get(key, key), *inner]
    return f"{shown_path(path)}: {words}" if path else words


def _a(value: Any) -> str:
    """What kind of thing a value is, with its article."""
    if value is None:
        return "None"
    name = type(value).__name__.strip("_").removeprefix("Frozen").lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


# ---- from YAML


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
